/* _ARRAY_DIMENSIONS as HDF5's dimension scales, named and marked as netCDF-4 does.
 *
 * A dimension is a scale in the array's group or one above it: the 1-D array of its name and length.  If
 * no array fits, a dataset without values is made beside the array.
 * https://docs.unidata.ucar.edu/nug/current/file_format_specifications.html */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/num.h"
#include "tools/kerchunk/load_kerchunk.h"
#include "tools/source/hdf5_glue.h"

struct scale {
    char *path;
    uint64_t size;
    bool usable; /* 1-D, along itself; otherwise its name is taken */
    bool used;
};
struct user { /* a dimension of an array, and its scale */
    size_t scale;
    size_t array;
    unsigned dim;
};
struct scales {
    struct kc_load *k;
    const struct kc_named *v;
    size_t n_arrays;
    struct scale *s;
    size_t n, cap;
    struct bkt_map *by_path; /* index + 1 */
    struct user *users;
    size_t n_users, cap_users;
};

void kc_named_fini(struct kc_named *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (unsigned d = 0; v[i].names && d < v[i].rank; d++)
            free(v[i].names[d]);
        free(v[i].names);
        free(v[i].path);
    }
    free(v);
}

static void scales_fini(struct scales *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->s[i].path);
    free(s->s);
    free(s->users);
    bkt_map_free(s->by_path, NULL);
}

/* ---- the scale of a dimension ---- */

static int add_scale(struct scales *s, const char *path, uint64_t size, bool usable, struct bkt_err *err)
{
    if (bkt_list_room(&s->s, s->n, &s->cap, sizeof *s->s) < 0)
        BKT_NOMEM(err);
    s->s[s->n] = (struct scale){strdup(path), size, usable, false};
    if (!s->s[s->n++].path || bkt_map_put_number(s->by_path, path, strlen(path), (intptr_t)s->n) < 0)
        BKT_NOMEM(err);
    return BKT_OK;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int take_arrays(struct scales *s, struct bkt_err *err)
{
    for (size_t i = 0; i < s->n_arrays; i++) {
        const struct kc_named *a = &s->v[i];
        bool usable = a->rank == 1 && a->names && strcmp(a->names[0], base_name(a->path)) == 0;
        BKT_PASS(add_scale(s, a->path, a->rank ? a->dims[0] : 0, usable, err));
    }
    return BKT_OK;
}

/* Looks in the group of @p path and in those above; SIZE_MAX: none has it. */
static size_t find(const struct scales *s, const char *path, const char *name, uint64_t size,
                   struct bkt_buf *at)
{
    const char *slash = strrchr(path, '/');
    for (size_t n = slash ? (size_t)(slash - path) : 0;;) {
        bkt_buf_clear(at);
        if (bkt_buf_addf(at, "%.*s%s%s", (int)n, path, n ? "/" : "", name) < 0)
            return SIZE_MAX;
        intptr_t i = bkt_map_number(s->by_path, at->ptr, at->len);
        if (i && s->s[i - 1].usable && s->s[i - 1].size == size)
            return i - 1;
        if (!n)
            return SIZE_MAX;
        const char *up = memrchr(path, '/', n);
        n = up ? (size_t)(up - path) : 0;
    }
}

/* A dimension without a variable. */
static int make(struct scales *s, const char *path, uint64_t size, struct bkt_err *err)
{
    const hsize_t n = size;
    BKT_CLEANUP(h5_closep) hid_t space = H5Screate_simple(1, &n, NULL);
    BKT_CLEANUP(h5_closep)
    hid_t dset = H5Dcreate2(s->k->l->dst, path, H5T_IEEE_F32BE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (dset < 0)
        return h5_fail(err, "making a dimension");
    return add_scale(s, path, size, true, err);
}

static int settle(struct scales *s, size_t array, unsigned d, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf at = {0};
    const struct kc_named *a = &s->v[array];
    const char *name = a->names[d], *slash = strrchr(a->path, '/');
    size_t i = find(s, a->path, name, a->dims[d], &at);
    if (i == SIZE_MAX) {
        bkt_buf_clear(&at);
        if (bkt_buf_addf(&at, "%.*s%s", slash ? (int)(slash - a->path) + 1 : 0, a->path, name) < 0)
            BKT_NOMEM(err);
        bool sound = *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
        if (!sound || H5Lexists(s->k->l->dst, bkt_buf_str(&at), H5P_DEFAULT) != 0) {
            (void)H5Eclear2(H5E_DEFAULT);
            progress_note(s->k->l->progress, "%s: no dimension scale %.100s: %s", a->path, name,
                          sound ? "another object or length has the name" : "not a name of HDF5");
            return BKT_OK;
        }
        BKT_PASS(make(s, bkt_buf_str(&at), a->dims[d], err));
        i = s->n - 1;
    }
    s->s[i].used = true;
    if (i == array) /* an array is its own scale */
        return BKT_OK;
    if (bkt_list_room(&s->users, s->n_users, &s->cap_users, sizeof *s->users) < 0)
        BKT_NOMEM(err);
    s->users[s->n_users++] = (struct user){i, array, d};
    return BKT_OK;
}

/* ---- HDF5's attributes for them (as H5DS writes them) ---- */

struct list_entry {
    hobj_ref_t ref;
    int32_t dim;
};

static int ref_to(const struct scales *s, const char *path, hobj_ref_t *out, struct bkt_err *err)
{
    return H5Rcreate(out, s->k->l->dst, path, H5R_OBJECT, H5I_INVALID_HID) < 0
               ? h5_fail(err, "making a reference")
               : BKT_OK;
}

static int put(hid_t dset, const char *name, hid_t type, hid_t mem, hid_t space, const void *value,
               struct bkt_err *err)
{
    BKT_CLEANUP(h5_closep) hid_t attr = H5Acreate2(dset, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    return attr < 0 || H5Awrite(attr, mem, value) < 0 ? h5_fail(err, "making a dimension scale") : BKT_OK;
}

static int put_text(hid_t dset, const char *name, const char *text, struct bkt_err *err)
{
    BKT_CLEANUP(h5_closep) hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    if (H5Tset_size(type, strlen(text) + 1) < 0)
        return h5_fail(err, "making a dimension scale");
    return put(dset, name, type, type, space, text, err);
}

static int entry_types(hid_t *file, hid_t *mem, struct bkt_err *err)
{
    *file = H5Tcreate(H5T_COMPOUND, sizeof(hobj_ref_t) + 4);
    *mem = H5Tcreate(H5T_COMPOUND, sizeof(struct list_entry));
    if (H5Tinsert(*file, "dataset", 0, H5T_STD_REF_OBJ) < 0 ||
        H5Tinsert(*file, "dimension", sizeof(hobj_ref_t), H5T_STD_I32LE) < 0 ||
        H5Tinsert(*mem, "dataset", HOFFSET(struct list_entry, ref), H5T_STD_REF_OBJ) < 0 ||
        H5Tinsert(*mem, "dimension", HOFFSET(struct list_entry, dim), H5T_NATIVE_INT32) < 0)
        return h5_fail(err, "making a dimension scale");
    return BKT_OK;
}

static int put_users(struct scales *s, hid_t dset, const struct user *u, size_t n, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) struct list_entry *v = calloc(n + 1, sizeof *v);
    BKT_CLEANUP(h5_closep) hid_t file = H5I_INVALID_HID, mem = H5I_INVALID_HID;
    const hsize_t count = n;
    BKT_CLEANUP(h5_closep) hid_t space = H5Screate_simple(1, &count, NULL);
    if (!v)
        BKT_NOMEM(err);
    for (size_t i = 0; i < n; i++) {
        v[i].dim = (int32_t)u[i].dim;
        BKT_PASS(ref_to(s, s->v[u[i].array].path, &v[i].ref, err));
    }
    BKT_PASS(entry_types(&file, &mem, err));
    return put(dset, "REFERENCE_LIST", file, mem, space, v, err);
}

static int put_scale(struct scales *s, size_t i, int id, const struct user *u, size_t n, struct bkt_err *err)
{
    const struct scale *c = &s->s[i];
    BKT_CLEANUP(h5_closep) hid_t dset = H5Dopen2(s->k->l->dst, c->path, H5P_DEFAULT);
    BKT_CLEANUP(h5_closep) hid_t one = H5Screate(H5S_SCALAR);
    char name[96];
    (void)snprintf(name, sizeof name, "This is a netCDF dimension but not a netCDF variable.%10llu",
                   (unsigned long long)c->size);
    if (dset < 0)
        return h5_fail(err, "opening a dimension");
    BKT_PASS(put_text(dset, "CLASS", "DIMENSION_SCALE", err));
    BKT_PASS(put_text(dset, "NAME", i < s->n_arrays ? base_name(c->path) : name, err));
    BKT_PASS(put(dset, "_Netcdf4Dimid", H5T_STD_I32LE, H5T_NATIVE_INT, one, &id, err));
    return n ? put_users(s, dset, u, n, err) : BKT_OK;
}

static int by_scale(const void *x, const void *y)
{
    const struct user *a = x, *b = y;
    if (a->scale != b->scale)
        return a->scale < b->scale ? -1 : 1;
    if (a->array != b->array)
        return a->array < b->array ? -1 : 1;
    return a->dim < b->dim ? -1 : a->dim > b->dim;
}

static int put_scales(struct scales *s, struct bkt_err *err)
{
    int id = 0;
    if (s->n_users)
        qsort(s->users, s->n_users, sizeof *s->users, by_scale);
    for (size_t i = 0, at = 0, n; i < s->n; i++, at += n) {
        for (n = 0; at + n < s->n_users && s->users[at + n].scale == i;)
            n++;
        if (s->s[i].used)
            BKT_TRY(err, put_scale(s, i, id++, s->users + at, n, err), "%s", s->s[i].path);
    }
    return BKT_OK;
}

/* DIMENSION_LIST of one array; @p u: its dimensions that have scales. */
static int put_list(struct scales *s, const struct user *u, size_t n, struct bkt_err *err)
{
    const struct kc_named *a = &s->v[u->array];
    const hsize_t rank = a->rank;
    hvl_t v[BKT_MAX_RANK];
    hobj_ref_t refs[BKT_MAX_RANK];
    BKT_CLEANUP(h5_closep)
    hid_t type = H5Tvlen_create(H5T_STD_REF_OBJ), space = H5Screate_simple(1, &rank, NULL);
    BKT_CLEANUP(h5_closep) hid_t dset = H5Dopen2(s->k->l->dst, a->path, H5P_DEFAULT);
    memset(v, 0, sizeof v);
    if (dset < 0)
        return h5_fail(err, "opening an array");
    for (size_t i = 0; i < n; i++) {
        BKT_PASS(ref_to(s, s->s[u[i].scale].path, &refs[u[i].dim], err));
        v[u[i].dim] = (hvl_t){1, &refs[u[i].dim]};
    }
    return put(dset, "DIMENSION_LIST", type, type, space, v, err);
}

int kc_scales(struct kc_load *k, const struct kc_named *v, size_t n, struct bkt_err *err)
{
    BKT_CLEANUP(scales_fini) struct scales s = {.k = k, .v = v, .n_arrays = n, .by_path = bkt_map_new()};
    if (!s.by_path)
        BKT_NOMEM(err);
    BKT_PASS(take_arrays(&s, err));
    for (size_t i = 0; i < n; i++)
        for (unsigned d = 0; v[i].names && d < v[i].rank; d++)
            BKT_TRY(err, settle(&s, i, d, err), "%s", v[i].path);
    for (size_t at = 0, m; at < s.n_users; at += m) { /* still by array */
        for (m = 1; at + m < s.n_users && s.users[at + m].array == s.users[at].array;)
            m++;
        BKT_TRY(err, put_list(&s, s.users + at, m, err), "%s", v[s.users[at].array].path);
    }
    return put_scales(&s, err);
}
