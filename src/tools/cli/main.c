/* h5bucket VERB …: finds the verb's row, reads options and settings, runs it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/pool.h"
#include "base/files.h"
#include "base/trace.h"
#include "bkt_config.h"
#include "schema/domain/domain.h"
#include "storage/stats.h"
#include "storage/store.h"
#include "tools/cli/help.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/progress.h"
#include "tools/share/processes.h"
#include "tools/share/share.h"

/* Joins the processes of an mpirun, before there are threads. */
static int join(const struct bkt_verb *v, struct bkt_err *err)
{
    if (!v->shared)
        return BKT_OK;
    BKT_PASS(bkt_processes_join(err));
    interrupt_also(bkt_share_step);
    if (!bkt_processes_first())
        progress_leave_to_another();
    return BKT_OK;
}

static int run(const struct bkt_verb *v, int argc, char **argv)
{
    struct bkt_tool t;
    const int failed = v->trouble ? v->trouble : BKT_EXIT_FAIL;
    int rc = bkt_tool_init(&t, v, argc, argv);
    if (rc < 0 && (bkt_trace_set(t.set.trace, &t.err) < 0 || join(v, &t.err) < 0))
        rc = bkt_tool_error(&t, NULL, &t.err);
    rc = rc == BKT_EXIT_FAIL ? failed : rc;
    if (rc < 0) {
        if (t.set.stats)
            bkt_stats_at_exit();
        bkt_pool_size(t.set.workers);
        rc = v->run(&t);
        if (rc < 0) {
            (void)bkt_tool_error(&t, t.n_args ? t.args[0] : NULL, &t.err);
            rc = failed;
        }
        bkt_domain_forget_probe();
        bkt_store_shutdown();
        bkt_pool_shutdown();
        rc = rc && interrupt_status() ? interrupt_status() : rc;
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        (void)bkt_tool_fail(&t, "the standard output can't be written");
        rc = rc > failed ? rc : failed;
    }
    if (bkt_processes_several()) {
        rc = bkt_processes_leave(rc);
        interrupt_ignore(); /* mpirun ends the others as soon as one has ended with a failure */
    }
    bkt_tool_fini(&t);
    return rc;
}

static char *connector;

const char *bkt_tool_connector(void) { return connector; }

/* Removes HDF5_VOL_CONNECTOR from the environment.  If it named this connector, HDF5 would load the plugin
 * beside the connector in this program, perhaps in another version.  The settings in the variable are used
 * all the same. */
static void leave_plugin(void)
{
    const char *env = getenv("HDF5_VOL_CONNECTOR"); /* NOLINT(concurrency-mt-unsafe): no other thread yet */
    if (!env)
        return;
    connector = strdup(env);
    size_t n  = strcspn(env, " ");
    if (n == strlen(BKT_CONNECTOR_NAME) && strncmp(env, BKT_CONNECTOR_NAME, n) == 0)
        bkt_tool_set_info(env[n] ? env + n + 1 : NULL);
    (void)unsetenv("HDF5_VOL_CONNECTOR"); /* NOLINT(concurrency-mt-unsafe) */
}

/* Whether all output was written. */
static int printed(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return BKT_EXIT_OK;
    fputs("h5bucket: the standard output can't be written\n", stderr);
    return BKT_EXIT_FAIL;
}

int main(int argc, char **argv)
{
    bkt_stdfd_take();
    leave_plugin();
    const struct bkt_verb *v = argc > 1 ? bkt_verb_find(argv[1]) : NULL;
    if (v)
        return run(v, argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        puts("h5bucket " BKT_VERSION);
        return printed();
    }
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        bkt_help_program(stdout);
        return printed();
    }
    if (argc > 1)
        fprintf(stderr, "h5bucket: unknown verb '%s'\n", argv[1]);
    bkt_help_program(stderr);
    return BKT_EXIT_USAGE;
}
