/* h5bucket doctor: checks of the installation, of the settings and of a store. */
#include <dlfcn.h>
#include <hdf5.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/list.h"
#include "bkt_config.h"
#include "tools/doctor/findings.h"
#include "tools/show/show.h"
#include "vol/core/h5err.h"

#define PLUGIN "libhdf5_vol_bucket.so"

/* Packages for systems without HDF5 1.14 link it into the tool.  No plugin can use such an HDF5. */
static bool hdf5_inside;

static void check_hdf5(struct findings *f)
{
    unsigned major = 0, minor = 0, release = 0;
    Dl_info where;
    const void *here = dlsym(RTLD_NEXT, "H5open"); /* this program may have a stub of it */
    if (H5get_libversion(&major, &minor, &release) < 0) {
        finding_add(f, "HDF5", FINDING_BAD, "HDF5 does not start");
        return;
    }
    if (!here || !dladdr(here, &where)) {
        hdf5_inside = true;
        finding_add(f, "HDF5", FINDING_OK,
                    "%u.%u.%u, inside this tool; other programs use their own (`ldd PROGRAM`)", major, minor,
                    release);
        return;
    }
    finding_add(f, "HDF5", FINDING_OK, "%u.%u.%u, %s; another program may use another HDF5 (`ldd PROGRAM`)",
                major, minor, release, where.dli_fname);
}

/* ---- the plugin ---- */

/* The plugin's file in the folders that HDF5 searches: those of HDF5_PLUGIN_PATH, else its own default. */
static bool find_plugin(char *path, size_t size, struct bkt_buf *folders)
{
    unsigned n = 0;
    bool found = false;
    if (H5PLsize(&n) < 0)
        return false;
    for (unsigned i = 0; i < n && !found; i++) {
        char dir[PATH_MAX];
        struct stat st;
        ssize_t len = H5PLget(i, dir, sizeof dir);
        if (len <= 0 || (size_t)len >= sizeof dir)
            continue;
        if (bkt_buf_addf(folders, "%s%s", i ? ":" : "", dir) < 0)
            return false;
        found = snprintf(path, size, "%s/" PLUGIN, dir) < (int)size && stat(path, &st) == 0;
    }
    return found;
}

/* In the child: HDF5 loads the plugin as it does in any program.  Messages go to stderr, which is a pipe. */
static void load_plugin(void)
{
    char why[BKT_ERR_MSG];
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    if (H5VLregister_connector_by_name("bucket", H5P_DEFAULT) >= 0)
        _exit(0);
    bkt_h5err_innermost(why);
    (void)fprintf(stderr, "%s\n", why);
    (void)fflush(stderr);
    _exit(1);
}

/* Whether HDF5 loads the plugin, in a child process: this process has the connector already.
 * @p text  gets messages of plugin, dynamic linker and HDF5 */
static bool plugin_loads(char *text, size_t size)
{
    int ends[2], status = 0;
    size_t have = 0;
    text[0] = 0;
    if (pipe(ends) < 0)
        return false;
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(ends[1], STDERR_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        load_plugin();
    }
    (void)close(ends[1]);
    for (ssize_t n = 1; child > 0 && n > 0 && have + 1 < size; have += n > 0 ? (size_t)n : 0)
        n = read(ends[0], text + have, size - 1 - have);
    text[have] = 0;
    (void)close(ends[0]);
    text[strcspn(text, "\n")] = 0;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void check_plugin(struct findings *f)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf folders = {0};
    char path[PATH_MAX], why[1024];
    bool found = find_plugin(path, sizeof path, &folders);
    if (!found) {
        finding_add(f, "plugin", FINDING_BAD, "no " PLUGIN " in HDF5's plugin path (%s)",
                    bkt_buf_str(&folders));
        finding_remedy(f, "set HDF5_PLUGIN_PATH to the folder of " PLUGIN);
    } else if (hdf5_inside) {
        finding_add(f, "plugin", FINDING_OK, "%s is there; other programs try it", path);
    } else if (!plugin_loads(why, sizeof why)) {
        finding_add(f, "plugin", FINDING_BAD, "%s does not load: %s", path, why);
        finding_remedy(f, "install the plugin for this version of HDF5");
    } else {
        finding_add(f, "plugin", FINDING_OK, "%s loads", path);
    }
}

static void check_connector(struct findings *f)
{
    const char *want = bkt_tool_connector();
    if (!want || !*want) {
        finding_add(f, "connector", FINDING_WARN,
                    "HDF5_VOL_CONNECTOR is not set: programs open domains, but create plain files");
        finding_remedy(f, "to create domains: export HDF5_VOL_CONNECTOR=bucket");
    } else if (strncmp(want, "bucket", 6) != 0 || (want[6] && want[6] != ' ')) {
        finding_add(f, "connector", FINDING_WARN, "HDF5_VOL_CONNECTOR names another connector: %.*s",
                    (int)strcspn(want, " "), want);
        finding_remedy(f, "export HDF5_VOL_CONNECTOR=bucket");
    } else {
        finding_add(f, "connector", FINDING_OK, "HDF5_VOL_CONNECTOR is bucket%s",
                    want[6] ? ", with settings" : "");
    }
}

/* ---- settings ---- */

static int add_changed(const struct bkt_setting_row *row, void *arg)
{
    struct bkt_buf *b = arg;
    if (row->is_default)
        return BKT_OK;
    return bkt_buf_addf(b, "%s%s=%s", b->len ? ", " : "", row->name, row->value);
}

static void check_settings(struct findings *f, const struct bkt_tool *t)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    if (bkt_settings_each(&t->set, add_changed, &b) < 0)
        f->short_of_memory = true;
    else
        finding_add(f, "settings", FINDING_OK, "%s", b.len ? bkt_buf_str(&b) : "all as by default");
}

/* HDF5, the plugin that it loads, HDF5_VOL_CONNECTOR, settings.  Forks: call it before anything starts a
 * thread. */
static void check_program(struct findings *f, const struct bkt_tool *t)
{
    check_hdf5(f);
    check_plugin(f);
    check_connector(f);
    check_settings(f, t);
}

/* ---- findings ---- */

void findings_fini(struct findings *f)
{
    for (size_t i = 0; i < f->n; i++) {
        bkt_buf_fini(&f->v[i].text);
        bkt_buf_fini(&f->v[i].remedy);
    }
    free(f->v);
    *f = (struct findings){.n = 0};
}

__attribute__((format(printf, 3, 0))) static void fill(struct findings *f, struct bkt_buf *b, const char *fmt,
                                                       va_list args)
{
    BKT_CLEANUP(bkt_freep) char *text = bkt_vtext(fmt, args);
    if (!text || bkt_buf_add_str(b, text) < 0)
        f->short_of_memory = true;
}

void finding_add(struct findings *f, const char *about, enum finding_state state, const char *fmt, ...)
{
    va_list args;
    if (bkt_list_room(&f->v, f->n, &f->cap, sizeof *f->v) < 0) {
        f->short_of_memory = true;
        return;
    }
    f->v[f->n] = (struct finding){.about = about, .state = state};
    va_start(args, fmt);
    fill(f, &f->v[f->n++].text, fmt, args);
    va_end(args);
}

void finding_remedy(struct findings *f, const char *fmt, ...)
{
    va_list args;
    if (!f->n)
        return;
    va_start(args, fmt);
    fill(f, &f->v[f->n - 1].remedy, fmt, args);
    va_end(args);
}

void finding_failed(struct findings *f, const char *about, enum finding_state state,
                    const struct bkt_err *err)
{
    finding_add(f, about, state, "%s", bkt_err_reason(err, err->code));
}

/* ---- the verb ---- */

static const char *const states[] = {
    [FINDING_OK] = "ok", [FINDING_NOTE] = "note", [FINDING_WARN] = "warning", [FINDING_BAD] = "fault"};

static void print_json(const struct findings *f, struct bkt_jout *j)
{
    bkt_jout_open(j, NULL, '{');
    bkt_jout_str(j, "version", BKT_VERSION);
    bkt_jout_open(j, "checks", '[');
    for (size_t i = 0; i < f->n; i++)
        bkt_jout_object(j, "about:s state:s found:s remedy:s", f->v[i].about, states[f->v[i].state],
                        bkt_buf_str(&f->v[i].text),
                        f->v[i].remedy.len ? bkt_buf_str(&f->v[i].remedy) : NULL);
    bkt_jout_close(j);
    bkt_jout_close(j);
}

/* Text from a server can hold what a terminal obeys. */
static void print_safe(const char *before, const struct bkt_buf *text)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    bkt_show_url(&b, bkt_buf_str(text));
    printf("%s%s\n", before, bkt_buf_str(&b));
}

static void print_text(const struct findings *f)
{
    unsigned todo = 0;
    printf("vol-bucket  %s\n", BKT_VERSION);
    for (size_t i = 0; i < f->n; i++) {
        char before[40];
        (void)snprintf(before, sizeof before, "%-11s %-8s ", f->v[i].about, states[f->v[i].state]);
        print_safe(before, &f->v[i].text);
    }
    for (size_t i = 0; i < f->n; i++) {
        char before[80];
        if (!f->v[i].remedy.len)
            continue;
        if (!todo++)
            printf("\nWhat to do:\n");
        (void)snprintf(before, sizeof before, "%3u. %s: ", todo, f->v[i].about);
        print_safe(before, &f->v[i].remedy);
    }
    if (!todo)
        printf("\nNothing has to be done.\n");
}

static int run(struct bkt_tool *t)
{
    struct findings f = {.n = 0};
    int code = BKT_EXIT_OK;
    check_program(&f, t);
    for (int i = 0; i < t->n_args; i++)
        check_store(&f, t, t->args[i], !bkt_tool_has(t, "read-only"));
    if (t->json)
        print_json(&f, &t->j);
    else
        print_text(&f);
    for (size_t i = 0; i < f.n; i++)
        code = f.v[i].state == FINDING_BAD ? BKT_EXIT_FAIL : code;
    if (f.short_of_memory)
        code = bkt_tool_fail(t, "out of memory");
    findings_fini(&f);
    return code;
}

static const struct bkt_opt opts[] = {
    {'r', "read-only", NULL, "try no writing", NULL},
};
const struct bkt_verb bkt_verb_doctor = {
    .name = "doctor",
    .args = "[NAME...]",
    .max_args = -1,
    .help = "check HDF5, the plugin, settings, and how a store answers; print what to do",
    .text = "Without a NAME only this machine is looked at. With a name (a bucket, folder, domain or plain\n"
            "HDF5 file, in a store or a folder) its store is asked: credentials, region, TLS, latency,\n"
            "clock, rate, and whether conditional PUTs work. For that two small objects and one of 16 MiB\n"
            "are stored below the name, and deleted; --read-only leaves that out. No secret is printed:\n"
            "the output can go into a report of a fault.\n\n"
            "Exit code 1: something prevents programs from working.\n\n"
            "JSON: {\"version\", \"checks\": [{\"about\", \"state\": ok, note, warning or fault, \"found\",\n"
            "\"remedy\": or null}]}.",
    .opts = opts,
    .n_opts = BKT_COUNT(opts),
    .json = true,
    .run = run,
};
