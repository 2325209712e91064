/* Files and collections that are open for reading.  Their content comes from outside. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "samples/repository.h"
#include "vol/core/hid.h"

#define DEEPEST 8 /* levels of a compound type */

int bkt_open_item_get(struct bkt_map **in, const void *key, size_t n, uint64_t call,
                      const struct bkt_open_item_kind *kind, const void *arg, void **out, struct bkt_err *err)
{
    struct bkt_open_item *k = bkt_map_get(*in, key, n);
    if (k && k->failed && k->call != call) {
        kind->free(bkt_map_del(*in, key, n));
        k = NULL;
    }
    if (!k) {
        struct bkt_err why;
        bkt_err_clear(&why);
        k = calloc(1, kind->size);
        BKT_NEED(err, k);
        k->call = call;
        int rc = kind->open(k, arg, &why);
        k->failed = rc < 0 ? bkt_err_dup(&why) : NULL;
        if ((rc < 0 && !k->failed) || bkt_map_set(in, key, n, k, NULL) < 0) {
            kind->free(k);
            BKT_NOMEM(err);
        }
    }
    *out = k;
    return k->failed ? bkt_err_copy(err, k->failed->code, k->failed) : BKT_OK;
}

static void dset_free(void *p)
{
    struct bkt_sample_dset *d = p;
    bkt_hid_closep(&d->type);
    bkt_hid_closep(&d->space);
    bkt_hid_closep(&d->id);
    free(d->head.failed);
    free(d);
}

void bkt_sample_file_free(void *p)
{
    struct bkt_sample_file *f = p;
    if (!f)
        return;
    bkt_map_free(f->dsets, dset_free);
    bkt_hid_closep(&f->id);
    free(f->head.failed);
    free(f->name);
    free(f);
}

/* HDF5 waits twice as long before each attempt, from a nanosecond on; by default it would try 100 times. */
#define ATTEMPTS 28

static hid_t open_swmr(const char *name, hid_t fapl)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t patient = H5Pcopy(fapl);
    if (patient < 0 || H5Pset_metadata_read_attempts(patient, ATTEMPTS) < 0)
        return H5I_INVALID_HID;
    return H5Fopen(name, H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, patient);
}

/* A complete plain file of this machine is read like one in a store: by one plan,
 * decoded by all processors. */
static hid_t open_through(const char *name, hid_t fapl)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf full = {0};
    BKT_CLEANUP(bkt_freep) char *path = realpath(strncmp(name, "file://", 7) == 0 ? name + 7 : name, NULL);
    struct stat st;
    if (!path || stat(path, &st) != 0 || !S_ISREG(st.st_mode) ||
        bkt_buf_addf(&full, "hsds+file://%s", path) < 0)
        return H5I_INVALID_HID;
    return H5Fopen(bkt_buf_str(&full), H5F_ACC_RDONLY, fapl);
}

/* A local plain file may be open for SWMR writing by another process, or its writer was killed: HDF5's own
 * drivers open it then, and see the rows that are added. */
static int open_any(const char *name, hid_t fapl, bool local, hid_t *out, struct bkt_err *err)
{
    struct bkt_err why = {.n = 0};
    *out = local ? open_through(name, fapl) : H5I_INVALID_HID;
    if (*out < 0)
        *out = H5Fopen(name, H5F_ACC_RDONLY, fapl);
    if (*out >= 0)
        return BKT_OK;
    int rc = bkt_h5err_capture(&why, name);
    *out = local ? open_swmr(name, fapl) : H5I_INVALID_HID;
    return *out < 0 ? bkt_err_copy(err, rc, &why) : BKT_OK;
}

int bkt_sample_file_open(struct bkt_sample_file *f, const char *name, hid_t fapl, bool local,
                         struct bkt_err *err)
{
    free(f->name);
    f->name = strdup(name);
    BKT_NEED(err, f->name);
    return open_any(name, fapl, local, &f->id, err);
}

/* Whether elements are numbers: a hostile file must not make HDF5 deliver pointers. */
static bool has_only_numbers(hid_t type, int level)
{
    H5T_class_t class = H5Tget_class(type);
    if (class == H5T_INTEGER || class == H5T_FLOAT || class == H5T_ENUM)
        return true;
    int n = class == H5T_COMPOUND && level < DEEPEST ? H5Tget_nmembers(type) : 0;
    for (int i = 0; i < n; i++) { /* complex numbers */
        BKT_CLEANUP(bkt_hid_closep) hid_t member = H5Tget_member_type(type, (unsigned)i);
        if (member < 0 || !has_only_numbers(member, level + 1))
            return false;
    }
    return n > 0;
}

struct place {
    const struct bkt_sample_file *file;
    uint32_t number;
};

static int dset_open(void *item, const void *arg, struct bkt_err *err)
{
    struct bkt_sample_dset *d = item;
    const struct place *at = arg;
    const struct bkt_sample_file *f = at->file;
    char name[16], what[BKT_ERR_MSG / 2];
    (void)snprintf(name, sizeof name, "/%u", at->number);
    (void)snprintf(what, sizeof what, "%.200s: collection %u", f->name, at->number);
    d->id = H5Dopen2(f->id, name, H5P_DEFAULT);
    d->type = d->id < 0 ? H5I_INVALID_HID : H5Dget_type(d->id);
    d->space = d->type < 0 ? H5I_INVALID_HID : H5Dget_space(d->id);
    BKT_NEED_H5(err, d->space >= 0, what);
    d->rank = H5Sget_simple_extent_type(d->space) == H5S_SIMPLE
                  ? H5Sget_simple_extent_dims(d->space, d->dims, NULL)
                  : 0;
    d->elem = H5Tget_size(d->type);
    BKT_FAIL_IF(err, d->rank < 1 || !d->elem || !has_only_numbers(d->type, 0), BKT_EFORMAT,
                "%s: dataset %u is not a collection of samples: no rows of numbers", f->name, at->number);
    return BKT_OK;
}

int bkt_sample_file_dset(struct bkt_sample_file *f, uint32_t number, struct bkt_sample_dset **out,
                         struct bkt_err *err)
{
    static const struct bkt_open_item_kind kind = {sizeof **out, dset_open, dset_free};
    void *d = NULL;
    int rc = bkt_open_item_get(&f->dsets, &number, sizeof number, f->used, &kind, &(struct place){f, number},
                               &d, err);
    if (rc == BKT_OK)
        *out = d;
    return rc;
}

bool bkt_sample_file_numbers(const struct bkt_sample_file *f, const char *name, int64_t *out, hssize_t n)
{
    if (H5Aexists(f->id, name) <= 0)
        return false;
    BKT_CLEANUP(bkt_hid_closep) hid_t attr = H5Aopen(f->id, name, H5P_DEFAULT);
    BKT_CLEANUP(bkt_hid_closep) hid_t space = attr < 0 ? H5I_INVALID_HID : H5Aget_space(attr);
    BKT_CLEANUP(bkt_hid_closep) hid_t type = attr < 0 ? H5I_INVALID_HID : H5Aget_type(attr);
    return space >= 0 && type >= 0 && H5Sget_simple_extent_npoints(space) == n &&
           H5Tget_class(type) == H5T_INTEGER && H5Aread(attr, H5T_NATIVE_INT64, out) >= 0;
}
