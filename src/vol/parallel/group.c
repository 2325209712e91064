#include "vol/parallel/group.h"

#include <H5FDdevelop.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "vol/core/h5err.h"
#include "vol/core/hid.h"
#include "vol/parallel/adapter_file.h"

#define HINT "h5bucket_"

/* The functions of MPI's users, in the program's libhdf5 and in the MPI that it needs.  A serial HDF5 lacks
 * them. */
static void *symbol(const char *name)
{
    static void *libhdf5;
    Dl_info where;
    if (!libhdf5 && dladdr(&H5E_ERR_CLS_g, &where) && where.dli_fname)
        libhdf5 = dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    void *found = libhdf5 ? dlsym(libhdf5, name) : NULL;
    return found ? found : dlsym(RTLD_DEFAULT, name);
}

/* Drivers of parallel programs: the first has a file, the second has one for each of some processes.  A
 * domain has neither.  HDF5 1.14 has a function for a driver's id, HDF5 2 a variable. */
static struct driver {
    const char *function_name, *id_name;
    H5FD_class_value_t value; /* 0: the id may be asked for before anybody has used the driver */
    bool looked;              /* each transfer asks */
    void *function;
    const hid_t *id;
} drivers[] = {
    {.function_name = "H5FD_mpio_init", .id_name = "H5FD_MPIO_id_g"},
    {.function_name = "H5FD_subfiling_init", .id_name = "H5FD_SUBFILING_id_g", .value = H5_VFD_SUBFILING},
};

static hid_t id_of(struct driver *d)
{
    hid_t (*init)(void);
    if (d->value && H5FDis_driver_registered_by_value(d->value) <= 0)
        return H5I_INVALID_HID;
    if (!d->looked) {
        d->function = symbol(d->function_name);
        d->id = symbol(d->id_name);
        d->looked = true;
    }
    memcpy(&init, &d->function, sizeof init);
    return init ? init() : d->id ? *d->id : H5I_INVALID_HID;
}

static bool names(hid_t fapl, struct driver *d)
{
    hid_t driver = H5I_INVALID_HID, wanted = fapl == H5P_DEFAULT ? H5I_INVALID_HID : id_of(d);
    if (wanted < 0)
        return false;
    (void)BKT_PASS_H5(NULL, driver = H5Pget_driver(fapl), "H5Pget_driver");
    return driver >= 0 && driver == wanted;
}

bool bkt_group_is_wanted(hid_t fapl)
{
    return names(fapl, &drivers[0]) || names(fapl, &drivers[1]);
}

bool bkt_group_is_subfiled(const char *name, hid_t fapl)
{
    struct stat st;
    return names(fapl, &drivers[1]) && stat(name, &st) == 0 && S_ISREG(st.st_mode);
}

/* ---- the adapter ---- */

struct mpi {
    const char *name, *mark; /* of its adapter; a part of what MPI_Get_library_version() returns */
};
static const struct mpi mpis[] = {
    {"openmpi", "Open MPI"},
    {"mpich", "MPICH"},
    {"mpich", "Intel(R) MPI"},
    {"mpich", "MVAPICH"},
};

/* @p text: gets the MPI's own description, of @p size bytes */
static const struct mpi *which_mpi(char *text, size_t size)
{
    char all[8192] = ""; /* MPI_MAX_LIBRARY_VERSION_STRING is 8192 in MPICH */
    int n = 0;
    int (*version)(char *, int *);
    void *p = symbol("MPI_Get_library_version");
    (void)snprintf(text, size, "an unknown MPI");
    if (!p)
        return NULL;
    memcpy(&version, &p, sizeof version);
    if (version(all, &n) != 0)
        return NULL;
    (void)snprintf(text, size, "%.*s", (int)strcspn(all, ",\n"), all);
    for (size_t i = 0; i < BKT_COUNT(mpis); i++)
        if (strstr(all, mpis[i].mark))
            return &mpis[i];
    return NULL;
}

const char *bkt_group_program_mpi(void)
{
    char text[200];
    const struct mpi *m = which_mpi(text, sizeof text);
    return m ? m->name : NULL;
}

static int load_adapter(const struct bkt_comm_ops **out, struct bkt_err *err)
{
    static const struct bkt_comm_ops *loaded;
    char mpi[200];
    if ((*out = loaded))
        return BKT_OK;
    const struct mpi *m = which_mpi(mpi, sizeof mpi);
    BKT_FAIL_IF(err, !m, BKT_EUNSUP,
                "the program runs under %s, for which the connector has no adapter; use Open MPI or MPICH",
                mpi);
    struct bkt_adapter a = {.name = m->name, .mpi = mpi};
    BKT_PASS(bkt_adapter_load(&a, &loaded, err));
    *out = loaded;
    return BKT_OK;
}

int bkt_group_open(hid_t fapl, struct bkt_comm **out, struct bkt_err *err)
{
    const struct bkt_comm_ops *ops;
    void (*params)(void);
    void *p = NULL;
    *out = NULL;
    if (!bkt_group_is_wanted(fapl))
        return BKT_OK;
    BKT_PASS(load_adapter(&ops, err));
    BKT_FAIL_IF(err, !(p = symbol("H5Pget_mpi_params")), BKT_EUNSUP,
                "HDF5 has no H5Pget_mpi_params(); 1.12 or newer is needed for the mpio driver");
    memcpy(&params, &p, sizeof params);
    return ops->open(params, fapl, out, err);
}

int bkt_group_take_out(hid_t fapl, const struct bkt_comm *c, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t copy = H5Pcopy(fapl);
    herr_t (*h5pset)(hid_t, const char *, const void *) = H5Pset;
    void (*set)(void);
    memcpy(&set, &h5pset, sizeof set);
    BKT_NEED_H5(err, copy >= 0 && H5Pset_fapl_sec2(copy) >= 0, "copying the file access list");
    BKT_PASS(c->ops->take_out(set, copy, err));
    return bkt_hid_give(&copy, out);
}

int bkt_group_put_in(struct bkt_comm *c, hid_t fapl, struct bkt_err *err)
{
    void (*set)(void);
    void *p = symbol("H5Pset_fapl_mpio");
    BKT_FAIL_IF(err, !p, BKT_EUNSUP, "HDF5 has no H5Pset_fapl_mpio(); use one that was built with MPI");
    memcpy(&set, &p, sizeof set);
    return c->ops->put_in(c, set, fapl, err);
}

int bkt_group_hints(struct bkt_comm *c, struct bkt_settings *set, struct bkt_err *err)
{
    char key[256], value[1024];
    for (unsigned i = 0; c && c->ops->hint(c, i, key, sizeof key, value, sizeof value); i++)
        if (strncmp(key, HINT, strlen(HINT)) == 0)
            BKT_PASS(bkt_settings_set(set, key + strlen(HINT), value, "MPI_Info", err));
    return BKT_OK;
}
