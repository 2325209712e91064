/* Attributes and dimension scales as .zattrs. */
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/num.h"
#include "base/text/utf8.h"
#include "tools/kerchunk/export/export.h"
#include "tools/kerchunk/zarray.h"
#include "tools/source/hdf5_glue.h"
#include "vol/core/hid.h"

#define ATTR_MAX ((size_t)64 << 20) /* bytes of an attribute's values */

struct attrs {
    struct zarr_export *x;
    const char *path;
    struct bkt_buf *out;
    struct bkt_err *err;
    int rc;
    bool some;
};

/* ---- one value ---- */

struct value {
    hid_t type; /* of an element; borrowed */
    unsigned char *v;
    bool var; /* v holds char pointers of HDF5's */
    size_t size, n;
};

/* Text up to its NUL or, if padded by blanks, without them.  False: not UTF-8. */
static bool text_of(const struct value *v, size_t i, const char **p, size_t *n)
{
    const unsigned char *at = v->v + i * v->size;
    if (v->var) {
        memcpy(p, at, sizeof *p);
        *p = *p ? *p : "";
        *n = strlen(*p);
    } else {
        *p = (const char *)at;
        *n = strnlen(*p, v->size);
        while (H5Tget_strpad(v->type) == H5T_STR_SPACEPAD && *n && (*p)[*n - 1] == ' ')
            --*n;
    }
    return bkt_utf8_is(*p, *n);
}

static int put_element(struct attrs *a, const struct value *v, size_t i)
{
    const char *p;
    size_t n;
    if (H5Tget_class(v->type) != H5T_STRING) {
        bool flag = H5Tget_class(v->type) == H5T_ENUM; /* of bool */
        if (flag)
            return bkt_buf_add_str(a->out, v->v[i] ? "true" : "false");
        return zarr_number(v->type, v->v + i * v->size, false, a->out, a->err);
    }
    (void)text_of(v, i, &p, &n);
    return bkt_utf8_quote(a->out, p, n);
}

/* Nested lists of the space's dimensions. */
static int put_list(struct attrs *a, const struct value *v, const hsize_t *dims, unsigned rank, size_t *at)
{
    if (rank == 0)
        return put_element(a, v, (*at)++);
    BKT_PASS(bkt_buf_add_str(a->out, "["));
    for (hsize_t i = 0; i < dims[0]; i++) {
        if (i)
            BKT_PASS(bkt_buf_add_str(a->out, ", "));
        BKT_PASS(put_list(a, v, dims + 1, rank - 1, at));
    }
    return bkt_buf_add_str(a->out, "]");
}

static bool all_text(const struct value *v)
{
    const char *p;
    size_t n;
    for (size_t i = 0; H5Tget_class(v->type) == H5T_STRING && i < v->n; i++)
        if (!text_of(v, i, &p, &n))
            return false;
    return true;
}

/* The reason why JSON can't have a type's values; NULL: it can. */
static const char *why_not(hid_t type)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf dtype = {0};
    BKT_CLEANUP(bkt_hid_closep) hid_t mem = H5I_INVALID_HID;
    const char *why = NULL;
    H5T_class_t cls = H5Tget_class(type);
    if (zarr_dtype(type, &dtype, &mem, &why, NULL) <= 0)
        return why ? why : "a type that can't be expressed";
    if (cls == H5T_INTEGER || cls == H5T_FLOAT || cls == H5T_STRING ||
        (cls == H5T_ENUM && strcmp(bkt_buf_str(&dtype), "\"|b1\"") == 0))
        return NULL;
    return "JSON has no such values";
}

static int read_value(hid_t attr, struct value *v, hid_t space, struct bkt_err *err)
{
    hssize_t n = H5Sget_simple_extent_npoints(space);
    size_t bytes;
    v->var = H5Tis_variable_str(v->type) > 0;
    v->size = v->var ? sizeof(char *) : H5Tget_size(v->type);
    v->n = n < 0 ? 0 : (size_t)n;
    if (n < 0)
        return h5_fail(err, "asking for an attribute");
    BKT_FAIL_IF(err, !bkt_mul_size(v->n, v->size, &bytes) || bytes > ATTR_MAX, BKT_EUNSUP,
                "attribute: more than %zu bytes", ATTR_MAX);
    v->v = calloc(1, bytes + 16);
    BKT_NEED(err, v->v);
    return v->n && H5Aread(attr, v->type, v->v) < 0 ? h5_fail(err, "reading an attribute") : BKT_OK;
}

static void end_value(struct value *v, hid_t space)
{
    if (v->v && v->var && v->n)
        (void)H5Treclaim(v->type, space, H5P_DEFAULT, v->v);
    free(v->v);
}

static int put_attr(struct attrs *a, hid_t attr, const char *name)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5Aget_space(attr), stored = H5Aget_type(attr);
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Tcopy(stored); /* a committed type belongs to its file */
    struct value v = {.type = type};
    hsize_t dims[H5S_MAX_RANK];
    int rank = H5Sget_simple_extent_dims(space, dims, NULL);
    bool null = H5Sget_simple_extent_type(space) == H5S_NULL;
    const char *why = rank < 0 ? "a dataspace of an unknown kind" : why_not(type);
    size_t at = 0;
    int rc = why ? BKT_OK : read_value(attr, &v, space, a->err);
    if (rc == BKT_OK && !why && !all_text(&v))
        why = "text that is not UTF-8";
    if (rc == BKT_OK && why) {
        zarr_left_out(a->x, a->path, name, why);
    } else if (rc == BKT_OK) {
        rc = a->some ? bkt_buf_add_str(a->out, ", ") : BKT_OK;
        a->some = true;
        rc = rc ? rc : bkt_utf8_quote(a->out, name, strlen(name));
        rc = rc ? rc : bkt_buf_add_str(a->out, ": ");
        if (rc == BKT_OK)
            rc = null   ? bkt_buf_add_str(a->out, H5Tget_class(type) == H5T_STRING ? "\"\"" : "[]")
                 : !v.n ? bkt_buf_add_str(a->out, "[]") /* its other dimensions may have any size */
                        : put_list(a, &v, dims, (unsigned)rank, &at);
    }
    end_value(&v, space);
    return rc;
}

static herr_t visit(hid_t object, const char *name, const H5A_info_t *info, void *arg)
{
    struct attrs *a = arg;
    (void)info;
    if (kerchunk_attr_is_reserved(name)) /* _ARRAY_DIMENSIONS stands for them */
        return 0;
    if (!bkt_utf8_is(name, strlen(name))) {
        zarr_left_out(a->x, a->path, "(a name)", "its name is not UTF-8");
        return 0;
    }
    BKT_CLEANUP(bkt_hid_closep) hid_t attr = H5Aopen(object, name, H5P_DEFAULT);
    a->rc = attr < 0 ? h5_fail(a->err, name) : put_attr(a, attr, name);
    return a->rc < 0 ? -1 : 0;
}

/* ---- dimensions ---- */

static bool has_text(hid_t object, const char *name, const char *begin)
{
    BKT_CLEANUP(bkt_hid_closep)
    hid_t attr = H5Aexists(object, name) > 0 ? H5Aopen(object, name, H5P_DEFAULT) : -1;
    BKT_CLEANUP(bkt_hid_closep) hid_t type = attr < 0 ? -1 : H5Aget_type(attr);
    BKT_CLEANUP(bkt_hid_closep) hid_t space = attr < 0 ? -1 : H5Aget_space(attr);
    size_t n =
        type < 0 || H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) > 0 ? 0 : H5Tget_size(type);
    BKT_CLEANUP(bkt_freep)
    char *v = n && n < 4096 && H5Sget_simple_extent_npoints(space) == 1 ? calloc(1, n + 1) : NULL;
    bool yes = v && H5Aread(attr, type, v) >= 0 && strncmp(v, begin, strlen(begin)) == 0;
    (void)H5Eclear2(H5E_DEFAULT);
    return yes;
}

bool zarr_is_bare_dimension(hid_t dset)
{
    return has_text(dset, "CLASS", "DIMENSION_SCALE") &&
           has_text(dset, "NAME", "This is a netCDF dimension but not a netCDF variable");
}

/* The last part of the scale's path. */
static char *name_of(hid_t object)
{
    char name[1024];
    ssize_t n = H5Iget_name(object, name, sizeof name);
    return n > 0 && (size_t)n < sizeof name ? strdup(bkt_base_name(name)) : NULL;
}

/* The names of attached scales; those without one stay NULL. */
static void scale_names(hid_t dset, int rank, char **names)
{
    BKT_CLEANUP(h5_scales_fini) struct h5_scales s;
    if (!h5_scales_read(dset, &s) || s.n != (unsigned)rank)
        return;
    for (int d = 0; d < rank; d++) {
        BKT_CLEANUP(bkt_hid_closep)
        hid_t scale = s.v[d].len ? H5Rdereference2(dset, H5P_DEFAULT, H5R_OBJECT, s.v[d].p) : -1;
        names[d] = scale < 0 ? NULL : name_of(scale);
    }
}

/* A name for a dimension without a scale: the same for the same length, as netCDF has it. */
static int phony(struct zarr_export *x, const uint64_t *dims, int d, struct bkt_buf *out, struct bkt_err *err)
{
    uint64_t key[2] = {dims[d], 0};
    for (int i = 0; i < d; i++)
        key[1] += dims[i] == dims[d];
    intptr_t n = bkt_map_number(x->phony, key, sizeof key);
    if (!n) {
        n = (intptr_t)bkt_map_count(x->phony) + 1;
        BKT_PASS_MEM(err, bkt_map_set_number(&x->phony, key, sizeof key, n));
    }
    return BKT_MADE(err, bkt_buf_addf(out, "phony_dim_%llu", (unsigned long long)(n - 1)) >= 0);
}

static int put_dimensions(struct attrs *a, hid_t dset, int rank, const uint64_t *dims)
{
    char *names[H5S_MAX_RANK] = {NULL};
    int rc = bkt_buf_add_str(a->out, a->some ? ", \"_ARRAY_DIMENSIONS\": [" : "\"_ARRAY_DIMENSIONS\": [");
    if (rank == 1 && has_text(dset, "CLASS", "DIMENSION_SCALE"))
        names[0] = name_of(dset);
    else if (rank)
        scale_names(dset, rank, names);
    for (int d = 0; d < rank; d++) {
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name = {0};
        if (rc == BKT_OK)
            rc = names[d] && bkt_utf8_is(names[d], strlen(names[d])) ? bkt_buf_add_str(&name, names[d])
                                                                     : phony(a->x, dims, d, &name, a->err);
        if (rc == BKT_OK && d)
            rc = bkt_buf_add_str(a->out, ", ");
        rc = rc ? rc : bkt_utf8_quote(a->out, bkt_buf_str(&name), name.len);
        free(names[d]);
    }
    return rc == BKT_OK ? bkt_buf_add_str(a->out, "]") : rc;
}

int zarr_attrs(struct zarr_export *x, hid_t object, const char *path, int rank, const uint64_t *dims,
               struct bkt_buf *out, struct bkt_err *err)
{
    struct attrs a = {x, path, out, err, BKT_OK, false};
    hsize_t at = 0;
    BKT_PASS_MEM(err, bkt_buf_add_str(out, "{"));
    if (H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, &at, visit, &a) < 0)
        return a.rc < 0 ? a.rc : h5_fail(err, "going through the attributes");
    int rc = rank >= 0 ? put_dimensions(&a, object, rank, dims) : BKT_OK;
    rc = rc ? rc : bkt_buf_add_str(out, "}");
    return rc == BKT_ENOMEM ? BKT_ERR(err, rc, "out of memory") : rc;
}
