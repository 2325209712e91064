/* .zattrs as HDF5 attributes: numbers, texts and flat lists of them.  Others become texts: their JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/map.h"
#include "tools/kerchunk/load_kerchunk.h"
#include "tools/kerchunk/zarray.h"
#include "tools/source/hdf5_glue.h"
#include "vol/core/hid.h"

/* Those that netCDF's conventions want in the variable's own type. */
static const char *const as_variable[] = {"_FillValue",  "missing_value", "valid_min", "valid_max",
                                          "valid_range", "flag_values",   "flag_masks"};

static bool is_one_of(const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i], name) == 0)
            return true;
    return false;
}

bool kerchunk_attr_is_reserved(const char *name)
{
    static const char *const reserved[] = {"_ARRAY_DIMENSIONS",   "CLASS",          "NAME",
                                           "DIMENSION_LIST",      "REFERENCE_LIST", "_Netcdf4Dimid",
                                           "_Netcdf4Coordinates", "_NCProperties",  "_nc3_strict"};
    return is_one_of(name, reserved, BKT_COUNT(reserved));
}

/* The value of a new attribute. */
struct attr_value {
    hid_t stored, mem; /* types: of the attribute, and of the elements at `v` */
    hid_t space;
    const void *v; /* NULL: nothing is written */
};

/* @p what: for the error */
static int put_as(hid_t object, const char *name, const struct attr_value *value, const char *what,
                  struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep)
    hid_t attr = H5Acreate2(object, name, value->stored, value->space, H5P_DEFAULT, H5P_DEFAULT);
    if (attr < 0 || (value->v && H5Awrite(attr, value->mem, value->v) < 0))
        return h5_fail(err, what);
    return BKT_OK;
}

static int put(hid_t object, const char *name, hid_t type, hid_t space, const void *value,
               struct bkt_err *err)
{
    return put_as(object, name, &(struct attr_value){type, type, space, value}, "making an attribute", err);
}

static bool is_ascii(const char *s)
{
    while (*s && (unsigned char)*s < 0x80)
        s++;
    return !*s;
}

/* A text as netCDF-4 stores one: of its own length. */
static int put_text(hid_t object, const char *name, const char *text, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    size_t n = strlen(text);
    if (H5Tset_size(type, n ? n : 1) < 0 ||
        H5Tset_cset(type, is_ascii(text) ? H5T_CSET_ASCII : H5T_CSET_UTF8) < 0)
        return h5_fail(err, "making an attribute's type");
    return put(object, name, type, space, text, err);
}

static int put_texts(hid_t object, const char *name, const struct kerchunk_doc *list, struct bkt_err *err)
{
    const hsize_t n = list->n;
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate_simple(1, &n, NULL);
    BKT_CLEANUP(bkt_freep) const char **v = calloc(list->n + 1, sizeof *v);
    size_t i = 0;
    BKT_NEED(err, v);
    for (const struct kerchunk_doc *d = list->first; d; d = d->next)
        v[i++] = d->text;
    if (H5Tset_size(type, H5T_VARIABLE) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0)
        return h5_fail(err, "making an attribute's type");
    return put(object, name, type, space, v, err);
}

static bool is_number(const struct kerchunk_doc *d)
{
    return d->kind == KERCHUNK_INT || d->kind == KERCHUNK_REAL || d->kind == KERCHUNK_BOOL;
}

/* Every value fits the type; values of 8 bytes at most. */
static bool all_fit(hid_t type, const struct kerchunk_doc *first, const struct kerchunk_doc *end,
                    unsigned char *out)
{
    size_t size = H5Tget_size(type), i = 0;
    for (const struct kerchunk_doc *d = first; d != end; d = d->next)
        if (!kerchunk_type_number(type, d, out + size * i++))
            return false;
    return true;
}

/* A number or a flat list of numbers, in the first type that holds all of them. */
static int put_numbers(hid_t object, const char *name, const struct kerchunk_doc *d, hid_t own,
                       struct bkt_err *err)
{
    const hsize_t n = d->kind == KERCHUNK_LIST ? d->n : 1;
    const struct kerchunk_doc *first = d->kind == KERCHUNK_LIST ? d->first : d,
                              *end = d->kind == KERCHUNK_LIST ? NULL : d->next;
    BKT_CLEANUP(bkt_freep) unsigned char *v = calloc((size_t)n + 1, 8);
    BKT_CLEANUP(bkt_hid_closep)
    hid_t space = d->kind == KERCHUNK_LIST ? H5Screate_simple(1, &n, NULL) : H5Screate(H5S_SCALAR);
    bool real = false, flag = true;
    BKT_NEED(err, v);
    for (const struct kerchunk_doc *m = first; m != end; m = m->next)
        real |= m->kind == KERCHUNK_REAL, flag &= m->kind == KERCHUNK_BOOL;
    const hid_t types[] = {own, flag ? H5T_STD_I8LE : H5I_INVALID_HID, real ? H5I_INVALID_HID : H5T_STD_I64LE,
                           real ? H5I_INVALID_HID : H5T_STD_U64LE, H5T_IEEE_F64LE};
    for (size_t i = 0; i < BKT_COUNT(types); i++)
        if (types[i] >= 0 && all_fit(types[i], first, end, v))
            return put(object, name, types[i], space, v, err);
    BKT_FAIL(err, BKT_EFORMAT, "numbers beyond 64 bits");
}

static int put_json(hid_t object, const char *name, const struct kerchunk_doc *d, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf text = {0};
    BKT_PASS_MEM(err, kerchunk_doc_write(d, &text));
    return put_text(object, name, bkt_buf_str(&text), err);
}

/* The variable's type for attributes that want it. */
static hid_t own_type(const char *name, const struct kerchunk_type *type)
{
    H5T_class_t cls = type ? H5Tget_class(type->h5) : H5T_NO_CLASS;
    bool yes = (cls == H5T_INTEGER || cls == H5T_FLOAT) && H5Tget_size(type->h5) <= 8;
    return yes && is_one_of(name, as_variable, BKT_COUNT(as_variable)) ? type->h5 : H5I_INVALID_HID;
}

static int put_value(hid_t object, const char *name, const struct kerchunk_doc *d,
                     const struct kerchunk_type *type, struct bkt_err *err)
{
    bool numbers = d->kind == KERCHUNK_LIST && d->n, texts = numbers;
    for (const struct kerchunk_doc *m = d->kind == KERCHUNK_LIST ? d->first : NULL; m; m = m->next) {
        numbers &= is_number(m);
        texts &= m->kind == KERCHUNK_TEXT;
    }
    if (is_number(d) || numbers)
        return put_numbers(object, name, d, own_type(name, type), err);
    if (d->kind == KERCHUNK_TEXT)
        return put_text(object, name, d->text, err);
    if (texts)
        return put_texts(object, name, d, err);
    if (d->kind == KERCHUNK_LIST && !d->n) {
        BKT_CLEANUP(bkt_hid_closep) hid_t space = H5Screate(H5S_NULL);
        return put(object, name, H5T_IEEE_F64LE, space, NULL, err);
    }
    return put_json(object, name, d, err);
}

/* CF's units of datetime64 and timedelta64. */
static int put_time(struct kerchunk_load *k, hid_t object, const char *path,
                    const struct kerchunk_doc *zattrs, const struct kerchunk_type *type, struct bkt_err *err)
{
    char text[64];
    if (!type->units) {
        load_report(k->l, path, "numbers of a unit of time that CF lacks");
        return BKT_OK;
    }
    if (kerchunk_doc_get(zattrs, "units"))
        return BKT_OK;
    (void)snprintf(text, sizeof text, "%s%s", type->units, type->datetime ? " since 1970-01-01" : "");
    BKT_PASS(put_text(object, "units", text, err));
    return type->datetime && !kerchunk_doc_get(zattrs, "calendar")
               ? put_text(object, "calendar", "proleptic_gregorian", err)
               : BKT_OK;
}

int kerchunk_attrs(struct kerchunk_load *k, hid_t object, const char *path, const struct kerchunk_doc *zattrs,
                   const struct kerchunk_type *type, struct bkt_err *err)
{
    BKT_FAIL_IF(err, zattrs && zattrs->kind != KERCHUNK_OBJECT, BKT_EFORMAT, ".zattrs: not an object");
    for (const struct kerchunk_doc *d = zattrs ? zattrs->first : NULL; d; d = d->next) {
        if (kerchunk_attr_is_reserved(d->key) || kerchunk_doc_get(zattrs, d->key) != d)
            continue;
        BKT_TRY(err,
                *d->key ? put_value(object, d->key, d, type, err)
                        : BKT_ERR(err, BKT_EFORMAT, "an empty name"),
                "attribute %.100s", d->key);
    }
    return type && (type->units || type->datetime) ? put_time(k, object, path, zattrs, type, err) : BKT_OK;
}

/* ---- dimension scales ---- */

/* _ARRAY_DIMENSIONS as HDF5's dimension scales, named and marked as netCDF-4 does.
 *
 * A dimension is a scale in the array's group or one above it: the 1-D array of its name and length.  If
 * no array fits, a dataset without values is made beside the array.
 * https://docs.unidata.ucar.edu/nug/current/file_format_specifications.html */

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
    struct kerchunk_load *k;
    const struct kerchunk_named *v;
    size_t n_arrays;
    struct scale *s;
    size_t n, cap;
    struct bkt_map *by_path; /* index + 1 */
    struct user *users;
    size_t n_users, cap_users;
};

void kerchunk_named_fini(struct kerchunk_named *v, size_t n)
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
    BKT_PASS_MEM(err, bkt_list_room(&s->s, s->n, &s->cap, sizeof *s->s));
    s->s[s->n] = (struct scale){strdup(path), size, usable, false};
    if (!s->s[s->n++].path || bkt_map_set_number(&s->by_path, path, strlen(path), (intptr_t)s->n) < 0)
        BKT_NOMEM(err);
    return BKT_OK;
}

static int take_arrays(struct scales *s, struct bkt_err *err)
{
    for (size_t i = 0; i < s->n_arrays; i++) {
        const struct kerchunk_named *a = &s->v[i];
        bool usable = a->rank == 1 && a->names && strcmp(a->names[0], bkt_base_name(a->path)) == 0;
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
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5Screate_simple(1, &n, NULL);
    BKT_CLEANUP(bkt_hid_closep)
    hid_t dset = H5Dcreate2(s->k->l->dst, path, H5T_IEEE_F32BE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (dset < 0)
        return h5_fail(err, "making a dimension");
    return add_scale(s, path, size, true, err);
}

static int settle(struct scales *s, size_t array, unsigned d, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf at = {0};
    const struct kerchunk_named *a = &s->v[array];
    const char *name = a->names[d], *slash = strrchr(a->path, '/');
    size_t i = find(s, a->path, name, a->dims[d], &at);
    if (i == SIZE_MAX) {
        bkt_buf_clear(&at);
        BKT_PASS_MEM(err, bkt_buf_addf(&at, "%.*s%s", slash ? (int)(slash - a->path) + 1 : 0, a->path, name));
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
    BKT_PASS_MEM(err, bkt_list_room(&s->users, s->n_users, &s->cap_users, sizeof *s->users));
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

#define MAKING "making a dimension scale"

static int put_name(hid_t dset, const char *name, const char *text, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    if (H5Tset_size(type, strlen(text) + 1) < 0)
        return h5_fail(err, MAKING);
    return put_as(dset, name, &(struct attr_value){type, type, space, text}, MAKING, err);
}

static int entry_types(hid_t *file, hid_t *mem, struct bkt_err *err)
{
    *file = H5Tcreate(H5T_COMPOUND, sizeof(hobj_ref_t) + 4);
    *mem = H5Tcreate(H5T_COMPOUND, sizeof(struct list_entry));
    if (H5Tinsert(*file, "dataset", 0, H5T_STD_REF_OBJ) < 0 ||
        H5Tinsert(*file, "dimension", sizeof(hobj_ref_t), H5T_STD_I32LE) < 0 ||
        H5Tinsert(*mem, "dataset", HOFFSET(struct list_entry, ref), H5T_STD_REF_OBJ) < 0 ||
        H5Tinsert(*mem, "dimension", HOFFSET(struct list_entry, dim), H5T_NATIVE_INT32) < 0)
        return h5_fail(err, MAKING);
    return BKT_OK;
}

static int put_users(struct scales *s, hid_t dset, const struct user *u, size_t n, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) struct list_entry *v = calloc(n + 1, sizeof *v);
    BKT_CLEANUP(bkt_hid_closep) hid_t file = H5I_INVALID_HID, mem = H5I_INVALID_HID;
    const hsize_t count = n;
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5Screate_simple(1, &count, NULL);
    BKT_NEED(err, v);
    for (size_t i = 0; i < n; i++) {
        v[i].dim = (int32_t)u[i].dim;
        BKT_PASS(ref_to(s, s->v[u[i].array].path, &v[i].ref, err));
    }
    BKT_PASS(entry_types(&file, &mem, err));
    return put_as(dset, "REFERENCE_LIST", &(struct attr_value){file, mem, space, v}, MAKING, err);
}

static int put_scale(struct scales *s, size_t i, int id, const struct user *u, size_t n, struct bkt_err *err)
{
    const struct scale *c = &s->s[i];
    BKT_CLEANUP(bkt_hid_closep) hid_t dset = H5Dopen2(s->k->l->dst, c->path, H5P_DEFAULT);
    BKT_CLEANUP(bkt_hid_closep) hid_t one = H5Screate(H5S_SCALAR);
    char name[96];
    (void)snprintf(name, sizeof name, "This is a netCDF dimension but not a netCDF variable.%10llu",
                   (unsigned long long)c->size);
    if (dset < 0)
        return h5_fail(err, "opening a dimension");
    BKT_PASS(put_name(dset, "CLASS", "DIMENSION_SCALE", err));
    BKT_PASS(put_name(dset, "NAME", i < s->n_arrays ? bkt_base_name(c->path) : name, err));
    struct attr_value dimid = {H5T_STD_I32LE, H5T_NATIVE_INT, one, &id};
    BKT_PASS(put_as(dset, "_Netcdf4Dimid", &dimid, MAKING, err));
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
    const struct kerchunk_named *a = &s->v[u->array];
    const hsize_t rank = a->rank;
    hvl_t v[BKT_MAX_RANK];
    hobj_ref_t refs[BKT_MAX_RANK];
    BKT_CLEANUP(bkt_hid_closep)
    hid_t type = H5Tvlen_create(H5T_STD_REF_OBJ), space = H5Screate_simple(1, &rank, NULL);
    BKT_CLEANUP(bkt_hid_closep) hid_t dset = H5Dopen2(s->k->l->dst, a->path, H5P_DEFAULT);
    memset(v, 0, sizeof v);
    if (dset < 0)
        return h5_fail(err, "opening an array");
    for (size_t i = 0; i < n; i++) {
        BKT_PASS(ref_to(s, s->s[u[i].scale].path, &refs[u[i].dim], err));
        v[u[i].dim] = (hvl_t){1, &refs[u[i].dim]};
    }
    return put_as(dset, "DIMENSION_LIST", &(struct attr_value){type, type, space, v}, MAKING, err);
}

int kerchunk_scales(struct kerchunk_load *k, const struct kerchunk_named *v, size_t n, struct bkt_err *err)
{
    BKT_CLEANUP(scales_fini) struct scales s = {.k = k, .v = v, .n_arrays = n};
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
