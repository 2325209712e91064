#include "vol/parallel/adapter_file.h"

#include <dlfcn.h>
#include <hdf5.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/trace.h"

static const char here; /* lies in the plugin, or in the tool */

/* @p why: gets the reason why an adapter that is there can't be loaded, of @p size bytes */
static void *open_in(const char *dir, const struct bkt_adapter *a, char *why, size_t size)
{
    static const char *const below[] = {"h5bucket/", ""};
    char path[4096];
    void *lib = NULL;
    for (size_t i = 0; !lib && i < BKT_COUNT(below); i++)
        if (snprintf(path, sizeof path, "%s/%sh5bucket_mpi-%s.so", dir, below[i], a->name) <
                (int)sizeof path &&
            access(path, F_OK) == 0 &&
            !(lib = dlopen(path, RTLD_NOW | (a->shares_mpi ? RTLD_GLOBAL : RTLD_LOCAL))))
            (void)snprintf(why, size, "%s", dlerror());
    return lib;
}

/* Beside the plugin, or in a directory of HDF5's plugin path, since a copy of the plugin has no directory
 * (src/loader). */
static void *find(const struct bkt_adapter *a, char *why, size_t size)
{
    char dir[4096];
    Dl_info me;
    unsigned n = 0;
    void *lib = NULL;
    for (size_t i = 0; !lib && a->dirs && a->dirs[i]; i++)
        lib = open_in(a->dirs[i], a, why, size);
    if (!lib && dladdr(&here, &me) && me.dli_fname && strrchr(me.dli_fname, '/') &&
        snprintf(dir, sizeof dir, "%.*s", (int)(strrchr(me.dli_fname, '/') - me.dli_fname), me.dli_fname) <
            (int)sizeof dir)
        lib = open_in(dir, a, why, size);
    if (H5PLsize(&n) < 0)
        n = 0;
    for (unsigned i = 0; !lib && i < n; i++) {
        ssize_t len = H5PLget(i, dir, sizeof dir);
        if (len > 0 && (size_t)len < sizeof dir)
            lib = open_in(dir, a, why, size);
    }
    return lib;
}

int bkt_adapter_load(const struct bkt_adapter *a, const struct bkt_comm_ops **out, struct bkt_err *err)
{
    bkt_comm_adapter_fn *entry;
    char why[300] = "";
    void *lib = find(a, why, sizeof why);
    BKT_FAIL_IF(err, !lib && *why, BKT_EUNSUP,
                "the adapter for %s can't be loaded: %s; build the connector where mpicc is this MPI's, and "
                "install it",
                a->mpi, why);
    BKT_FAIL_IF(err, !lib, BKT_EUNSUP,
                "the program runs under %s, but h5bucket/h5bucket_mpi-%s.so is not beside the plugin; build "
                "the connector "
                "where mpicc is this MPI's, and install it",
                a->mpi, a->name);
    void *p = dlsym(lib, BKT_COMM_ENTRY);
    memcpy(&entry, &p, sizeof entry);
    const struct bkt_comm_ops *ops = p ? entry() : NULL;
    BKT_FAIL_IF(err, !ops || ops->version != BKT_COMM_VERSION, BKT_EUNSUP,
                "h5bucket_mpi-%s.so is of another version of the connector; install both from one build",
                a->name);
    bkt_trace(BKT_TRACE_VOL, "adapter for %s is loaded", ops->library);
    *out = ops;
    return BKT_OK;
}
