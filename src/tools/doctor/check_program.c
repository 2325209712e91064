/* Checks of a program's surroundings: HDF5, the plugin, HDF5_VOL_CONNECTOR, settings. */
#include <dlfcn.h>
#include <hdf5.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/doctor/findings.h"
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

void check_program(struct findings *f, const struct bkt_tool *t)
{
    check_hdf5(f);
    check_plugin(f);
    check_connector(f);
    check_settings(f, t);
}
