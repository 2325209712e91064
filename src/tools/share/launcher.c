#include "tools/share/launcher.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bkt_config.h"
#include "vol/parallel/adapter_file.h"
#include "vol/parallel/group.h"

#define CHOICE "H5BUCKET_MPI"
#define REMEDY "with " CHOICE "=no each process works for itself"

/* The environment of a launched process.  The first row that fits counts. */
struct launcher {
    const char *size;    /* variable with the number of processes */
    const char *sign;    /* another one that is set, too; NULL: none */
    const char *mpis[2]; /* the adapters that may serve */
};
static const struct launcher launchers[] = {
    {"OMPI_COMM_WORLD_SIZE", NULL, {"openmpi", NULL}},           /* Open MPI's mpirun */
    {"PMI_SIZE", "SLURM_STEP_ID", {"mpich", "openmpi"}},         /* srun --mpi=pmi2 */
    {"PMI_SIZE", NULL, {"mpich", NULL}}, /* mpiexec of MPICH and of MPIs made from it */
    {"SLURM_STEP_NUM_TASKS", "PMIX_RANK", {"openmpi", "mpich"}}, /* srun --mpi=pmix */
};
static const struct {
    const char *name, *mpi;
} mpis[] = {{"openmpi", "Open MPI"}, {"mpich", "MPICH"}};

static const char *variable(const char *name)
{
    const char *v = getenv(name); /* NOLINT(concurrency-mt-unsafe): no other thread changes the environment */
    return v && *v ? v : NULL;
}

/* NULL: no launcher, or one process. */
static const struct launcher *find_launcher(unsigned long *size)
{
    for (size_t i = 0; i < BKT_COUNT(launchers); i++) {
        const struct launcher *l = &launchers[i];
        const char *n = variable(l->size);
        if (!n || (l->sign && !variable(l->sign)))
            continue;
        *size = strtoul(n, NULL, 10);
        return *size > 1 ? l : NULL;
    }
    return NULL;
}

#define FOLDERS 3

/* The plugin's folder of an installation, the one of Debian's packages for that MPI, and that of a build, as
 * this program's own place leads to them. */
static void plugin_folders(const char *mpi, char folders[FOLDERS][PATH_MAX])
{
    char exe[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", exe, sizeof exe - 1);
    exe[len < 0 ? 0 : len] = 0;
    char *slash = strrchr(exe, '/');
    if (slash)
        *slash = 0;
    const bool whole = BKT_PLUGIN_DIR[0] == '/';
    const char *from = whole ? "" : exe, *up = whole ? "" : "/../";
    int n[FOLDERS] = {snprintf(folders[0], PATH_MAX, "%s%s" BKT_PLUGIN_DIR, from, up),
                      snprintf(folders[1], PATH_MAX, "%s%s" BKT_PLUGIN_DIR "/../%s/plugins", from, up, mpi),
                      snprintf(folders[2], PATH_MAX, "%s/../plugin", exe)};
    for (size_t i = 0; i < FOLDERS; i++)
        if (n[i] >= PATH_MAX)
            folders[i][0] = 0;
}

static const char *full_name(const char *name)
{
    for (size_t i = 0; i < BKT_COUNT(mpis); i++)
        if (strcmp(mpis[i].name, name) == 0)
            return mpis[i].mpi;
    return NULL;
}

/* Two MPIs have functions of the same names. */
static int check_program(const char *name, struct bkt_err *err)
{
    const char *has = bkt_group_program_mpi();
    if (has && strcmp(has, name) != 0)
        BKT_FAIL(err, BKT_EUNSUP,
                 "the HDF5 of this h5bucket was built with %s, so h5bucket can't run under %s; use the other "
                 "mpirun, or an h5bucket with an HDF5 without MPI",
                 full_name(has), full_name(name));
    return BKT_OK;
}

/* The first error counts. */
static int load(const char *const *names, size_t n, const struct bkt_comm_ops **out, struct bkt_err *err)
{
    char found[FOLDERS][PATH_MAX];
    const char *const folders[] = {found[0], found[1], found[2], NULL};
    int first = BKT_EUNSUP;
    for (size_t i = 0; i < n && names[i]; i++) {
        struct bkt_err why = {.n = 0};
        plugin_folders(names[i], found);
        struct bkt_adapter a = {names[i], full_name(names[i]), folders, true};
        int rc = check_program(names[i], &why);
        rc = rc < 0 ? rc : bkt_adapter_load(&a, out, &why);
        if (rc == BKT_OK)
            return rc;
        if (i == 0)
            first = bkt_err_copy(err, rc, &why);
    }
    return first;
}

static int begin(const struct bkt_comm_ops *ops, unsigned long size, struct bkt_comm **out,
                 struct bkt_err *err)
{
    BKT_PASS(ops->world(out, err));
    if ((*out)->size == size)
        return BKT_OK;
    unsigned n = (*out)->size;
    bkt_comm_close(*out);
    *out = NULL;
    BKT_FAIL(
        err, BKT_EINVAL,
        "the launcher started %lu processes, but %s knows %u of them; start h5bucket with this MPI's own "
        "mpirun, or name the launcher's MPI by " CHOICE "; " REMEDY,
        size, ops->library, n);
}

int bkt_launcher_join(struct bkt_comm **out, struct bkt_err *err)
{
    unsigned long size = 1;
    const char *choice = variable(CHOICE);
    const struct bkt_comm_ops *ops = NULL;
    *out = NULL;
    if (choice && strcmp(choice, "no") == 0)
        return BKT_OK;
    if (choice && !full_name(choice))
        BKT_FAIL(err, BKT_EINVAL, CHOICE "=%s: one of openmpi, mpich, no is expected", choice);
    const struct launcher *l = find_launcher(&size);
    if (!l)
        return BKT_OK;
    int rc = choice ? load(&choice, 1, &ops, err) : load(l->mpis, BKT_COUNT(l->mpis), &ops, err);
    if (rc < 0 || !ops)
        BKT_FAIL(err, rc, "%lu processes were started, which need the adapter to share the work; " REMEDY,
                 size);
    return begin(ops, size, out, err);
}
