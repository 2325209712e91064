/* Checks which datasets grow, and which fit. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/num.h"
#include "tools/load/gather/gather_plan.h"
#include "tools/source/hdf5_glue.h"
#include "vol/core/filters.h"
#include "vol/copy/copier.h"
#include "vol/copy/same_value.h"

/* Attributes of the CF conventions and netCDF's user guide: "hours since 2020-01-01" isn't "hours since
 * 2020-01-02". */
static const char *const meaning[] = {"units",      "calendar",      "scale_factor", "add_offset",
                                      "_FillValue", "missing_value", "_Unsigned"};

static int append_text(hid_t attr, hid_t type, hid_t space, size_t n, struct bkt_buf *out,
                       struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char **v  = calloc(n + 1, sizeof *v);
    int                           rc = BKT_OK;
    if (!v)
        BKT_NOMEM(err);
    if (n && H5Aread(attr, type, v) < 0)
        return h5_fail(err, "reading an attribute");
    for (size_t i = 0; i < n && rc == BKT_OK; i++)
        rc = bkt_buf_add(out, v[i] ? v[i] : "", v[i] ? strlen(v[i]) + 1 : 1);
    (void)H5Treclaim(type, space, H5P_DEFAULT, v);
    return rc < 0 ? BKT_ERR(err, rc, "out of memory") : BKT_OK;
}

static int append_fixed(hid_t attr, hid_t type, size_t n, bool text, struct bkt_buf *out, struct bkt_err *err)
{
    size_t                       size = H5Tget_size(type);
    BKT_CLEANUP(bkt_freep) char *v    = calloc(n + 1, size + 1);
    if (!v)
        BKT_NOMEM(err);
    if (n && H5Aread(attr, type, v) < 0)
        return h5_fail(err, "reading an attribute");
    for (size_t i = 0; i < n; i++) {
        const char *one = v + i * size;
        size_t      len = text ? strnlen(one, size) : size;
        while (text && len && one[len - 1] == ' ')
            len--;
        if (bkt_buf_add(out, one, len) < 0 || (text && bkt_buf_add(out, "", 1) < 0))
            BKT_NOMEM(err);
    }
    return BKT_OK;
}

/* Reads text as NUL-ended strings, however it is stored, and numbers as @p as, or in their own type. */
static int value_of(hid_t obj, const char *name, hid_t *as, struct bkt_buf *out, struct bkt_err *err)
{
    BKT_CLEANUP(h5_closep) hid_t attr  = H5Aopen(obj, name, H5P_DEFAULT);
    BKT_CLEANUP(h5_closep) hid_t type  = attr < 0 ? -1 : H5Aget_type(attr);
    BKT_CLEANUP(h5_closep) hid_t space = attr < 0 ? -1 : H5Aget_space(attr);
    hssize_t                     n     = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    if (type < 0 || n < 0)
        return h5_fail(err, "reading an attribute");
    if (H5Tget_class(type) == H5T_STRING)
        return H5Tis_variable_str(type) > 0 ? append_text(attr, type, space, (size_t)n, out, err)
                                            : append_fixed(attr, type, (size_t)n, true, out, err);
    if (H5Tget_class(type) != H5T_INTEGER && H5Tget_class(type) != H5T_FLOAT)
        return BKT_OK; /* no values of these attributes: not compared */
    if (*as < 0)
        *as = H5Tcopy(type);
    return append_fixed(attr, *as, (size_t)n, false, out, err);
}

static int attrs_fit(hid_t src, hid_t dst, struct bkt_err *err)
{
    for (size_t i = 0; i < BKT_COUNT(meaning); i++) {
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf a = {0}, b = {0};
        BKT_CLEANUP(h5_closep) hid_t             as = H5I_INVALID_HID;
        htri_t has = H5Aexists(src, meaning[i]), had = H5Aexists(dst, meaning[i]);
        if (has < 0 || had < 0)
            return h5_fail(err, "looking for an attribute");
        if (has != had)
            BKT_FAIL(err, BKT_EINVAL, "attribute %s is %s", meaning[i],
                     has ? "not in the domain" : "in the domain only");
        if (!has)
            continue;
        BKT_PASS(value_of(src, meaning[i], &as, &a, err));
        BKT_PASS(value_of(dst, meaning[i], &as, &b, err));
        if (a.len != b.len || (a.len && memcmp(a.ptr, b.ptr, a.len) != 0))
            BKT_FAIL(err, BKT_EINVAL, "attribute %s differs from the domain's", meaning[i]);
    }
    return BKT_OK;
}

/* ---- datasets ---- */

/* ---- dimension scales (netCDF's dimensions): attribute DIMENSION_LIST holds, per dimension, references to
 * them ---- */

static bool is_named(const struct agg *a, hid_t obj)
{
    char        path[1024];
    ssize_t     n    = H5Iget_name(obj, path, sizeof path);
    const char *last = n > 0 && (size_t)n < sizeof path ? strrchr(path, '/') : NULL;
    return last && (strcmp(last + 1, a->name) == 0 || strcmp(path, a->name) == 0);
}

static bool list_has(const struct agg *a, hid_t src, const hvl_t *list)
{
    for (size_t k = 0; k < list->len; k++) {
        BKT_CLEANUP(h5_closep)
        hid_t scale = H5Rdereference2(src, H5P_DEFAULT, H5R_OBJECT, (const hobj_ref_t *)list->p + k);
        if (scale >= 0 && is_named(a, scale))
            return true;
    }
    return false;
}

static bool scale_dim(const struct agg *a, hid_t src, unsigned rank, unsigned *dim)
{
    BKT_CLEANUP(h5_scales_fini) struct h5_scales scales;
    bool found = false;
    if (!h5_scales_read(src, &scales))
        return false;
    for (unsigned d = 0; d < scales.n && d < rank && !found; d++)
        if (list_has(a, src, &scales.v[d])) {
            *dim = d;
            found = true;
        }
    return found;
}

bool agg_grows(const struct agg *a, hid_t src, const char *path, unsigned *dim)
{
    BKT_CLEANUP(h5_closep) hid_t space = H5Dget_space(src);
    hsize_t                      dims[BKT_MAX_RANK];
    int                          rank  = H5Sget_simple_extent_dims(space, dims, NULL);
    const char                  *last  = strrchr(path, '/');
    *dim                               = 0;
    if (a->leading)
        return H5Sget_simple_extent_type(space) != H5S_NULL;
    if (rank <= 0)
        return false;
    if (a->number != UINT_MAX) {
        *dim = a->number;
        return (unsigned)rank > a->number && dims[a->number] == a->steps;
    }
    return strcmp(last ? last + 1 : path, a->name) == 0 || scale_dim(a, src, (unsigned)rank, dim);
}

bool agg_chunk_shape(hid_t src, unsigned rank, const hsize_t *dims, uint64_t *cdims)
{
    hsize_t                      chunk[BKT_MAX_RANK];
    BKT_CLEANUP(h5_closep) hid_t dcpl    = H5Dget_create_plist(src);
    bool chunked = H5Pget_layout(dcpl) == H5D_CHUNKED && H5Pget_chunk(dcpl, BKT_MAX_RANK, chunk) == (int)rank;
    for (unsigned i = 0; i < rank; i++)
        cdims[i] = chunked ? chunk[i] : bkt_max_u64(dims[i], 1);
    return chunked;
}

/* ---- fitting ---- */

static int fit_linked(struct agg *a, struct agg_dset *d, hid_t src, unsigned rank, const hsize_t *dims,
                      struct bkt_err *err)
{
    uint64_t                     cdims[BKT_MAX_RANK];
    bool chunked = agg_chunk_shape(src, rank, dims, cdims);
    if (!chunked && !d->leading && cdims[d->dim] != d->cdims[d->dim])
        BKT_FAIL(err, BKT_EINVAL,
                 "the chunk shape differs from the domain's: its %llu steps are one piece, the domain refers "
                 "to pieces of %llu",
                 (unsigned long long)cdims[d->dim], (unsigned long long)d->cdims[d->dim]);
    for (unsigned i = 0; i < rank; i++)
        if (cdims[i] != d->cdims[i + d->leading])
            BKT_FAIL(err, BKT_EINVAL, "the chunk shape differs from the domain's");
    if (d->at % d->cdims[d->dim] != 0)
        BKT_FAIL(err, BKT_EINVAL, "step %llu is not the first of a chunk of %llu", (unsigned long long)d->at,
                 (unsigned long long)d->cdims[d->dim]);
    if (!d->leading && dims[d->dim] % cdims[d->dim] != 0)
        BKT_FAIL(err, BKT_EINVAL, "its %llu steps don't fill chunks of %llu",
                 (unsigned long long)dims[d->dim], (unsigned long long)cdims[d->dim]);
    if (!bkt_filters_agree(src, d->dst))
        BKT_FAIL(err, BKT_EINVAL, "filters or their parameters differ from the domain's");
    return agg_rows_make(a, d, src, err);
}

static int read_all(hid_t dset, hid_t type, size_t n, struct bkt_buf *out, struct bkt_err *err)
{
    size_t bytes;
    if (!bkt_mul_size(n, H5Tget_size(type), &bytes) || bkt_buf_resize(out, bytes) < 0)
        BKT_NOMEM(err);
    return n && H5Dread(dset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out->ptr) < 0
               ? h5_fail(err, "reading values")
               : BKT_OK;
}

/* Values that don't grow must be the same in all files, since those of the first file stay. */
static int same_values(const struct agg_dset *d, hid_t src, hid_t type, hid_t space, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf a = {0}, b = {0};
    hssize_t                                 n = H5Sget_simple_extent_npoints(space);
    if (n <= 0 || !bkt_copier_is_plain(type))
        return BKT_OK; /* not compared */
    BKT_PASS(read_all(src, type, (size_t)n, &a, err));
    BKT_PASS(read_all(d->dst, type, (size_t)n, &b, err));
    size_t size = H5Tget_size(type);
    for (size_t i = 0; i < (size_t)n; i++)
        if (memcmp(a.ptr + i * size, b.ptr + i * size, size) != 0 &&
            !bkt_same_value(type, a.ptr + i * size, b.ptr + i * size))
            BKT_FAIL(err, BKT_EINVAL, "values differ from the domain's, in a dataset that doesn't grow");
    return BKT_OK;
}

int agg_fit(struct agg *a, struct agg_dset *d, hid_t src, struct bkt_err *err)
{
    BKT_CLEANUP(h5_closep) hid_t type = H5Dget_type(src), theirs = H5Dget_type(d->dst);
    BKT_CLEANUP(h5_closep) hid_t space = H5Dget_space(src), grown = H5Dget_space(d->dst);
    hsize_t                      dims[BKT_MAX_RANK], have[BKT_MAX_RANK];
    int rank = H5Sget_simple_extent_dims(space, dims, NULL), r = H5Sget_simple_extent_dims(grown, have, NULL);
    if (rank < 0 || r < 0)
        return h5_fail(err, "asking for extents");
    if (H5Tequal(type, theirs) <= 0)
        BKT_FAIL(err, BKT_EINVAL, "the type differs from the domain's");
    if (r != rank + (d->leading ? 1 : 0))
        BKT_FAIL(err, BKT_EINVAL, "%d dimensions, the domain has %d", rank, r);
    for (unsigned i = 0; i < (unsigned)rank; i++)
        if ((d->leading || !d->grows || i != d->dim) && dims[i] != have[i + d->leading])
            BKT_FAIL(err, BKT_EINVAL, "dimension %u is %llu, the domain has %llu", i,
                     (unsigned long long)dims[i], (unsigned long long)have[i + d->leading]);
    BKT_PASS(attrs_fit(src, d->dst, err));
    if (!d->grows)
        return same_values(d, src, type, space, err);
    d->n = d->leading ? 1 : dims[d->dim];
    if (d->table >= 0)
        return fit_linked(a, d, src, (unsigned)rank, dims, err);
    return H5Tdetect_class(type, H5T_REFERENCE) > 0 ? BKT_ERR(err, BKT_EINVAL, "references can't be gathered")
                                                    : BKT_OK;
}
