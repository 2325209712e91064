/* Checks which datasets grow, and which fit. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/files.h"
#include "base/num.h"
#include "tools/cli/interrupt.h"
#include "tools/load/gather/gather_plan.h"
#include "tools/source/hdf5_glue.h"
#include "vol/convert/convert.h"
#include "vol/copy/copier.h"
#include "vol/copy/same_value.h"
#include "vol/core/filters.h"
#include "vol/core/hid.h"

/* ---- by reference: making the rows ---- */

void gather_rows_free(struct gather_dset *d)
{
    free(d->rows.v);
    d->rows = (struct gather_rows){.v = NULL};
}

/* @p uris: names of the source's parts in the domain */
static int put(const struct gather_dset *d, const struct source *src, const struct bkt_strs *uris,
               const struct bkt_file_chunk *c, struct bkt_err *err)
{
    const struct load_fields *f = &d->fields;
    const struct source_part *p = source_part_of(src, c->offset, c->size);
    BKT_FAIL_IF(err, !p, BKT_EINVAL,
                "a chunk lies in two files, but a row of a chunk table can name only one");
    const char *uri = uris->v[p - src->parts];
    BKT_FAIL_IF(err, strlen(uri) > f->uri_n, BKT_EINVAL,
                "its name is longer than the %zu bytes that the chunk table has for it; "
                "gather the files again",
                f->uri_n);
    BKT_FAIL_IF(err, c->size > (f->size_n > 4 ? INT64_MAX : INT32_MAX), BKT_EINVAL,
                "a chunk has more bytes than the chunk table can record");
    BKT_FAIL_IF(err, c->mask && !f->mask_n, BKT_EINVAL,
                "a chunk skips a filter, but the chunk table has no filter masks");
    if (f->etag_n && strlen(p->etag) > f->etag_n) /* without the ETag, bytes of another version would be
                                                     accepted */
        BKT_FAIL(err, BKT_EINVAL, "its ETag is longer than the %zu bytes that the chunk table has for it; "
                 "gather the files again",
                 f->etag_n);
    load_put_row(f, &(struct load_row){0, c->offset - p->start, c->size, c->mask, uri, p->etag},
                 d->rows.v + c->index * f->row);
    return BKT_OK;
}

static int put_all(struct gather_plan *a, struct gather_dset *d, const struct survey *s, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_strs_fini) struct bkt_strs uris = {0};
    const struct source *src = a->l->src;
    BKT_PASS(load_part_uris(a->l, src, &uris, err));
    if (s->kind == BKT_MAP_CONTIGUOUS)
        BKT_PASS(put(d, src, &uris, &(struct bkt_file_chunk){.offset = s->addr, .size = s->size}, err));
    for (size_t i = 0; i < s->n_chunks; i++)
        BKT_PASS(put(d, src, &uris, &s->chunks[i], err));
    return BKT_OK;
}

static const char *const cannot[] = {
    [BKT_MAP_COMPACT]  = "it is compact: references can't lead into an object header",
    [BKT_MAP_EXTERNAL] = "its data are in external files, which a chunk table can't name",
    [BKT_MAP_VIRTUAL]  = "it is virtual: a chunk table needs stored chunks",
};

/* Make the rows that refer to a file's dataset: d->rows.  BKT_EINVAL, BKT_EUNSUP: no row can refer to it. */
static int gather_rows_make(struct gather_plan *a, struct gather_dset *d, hid_t src, struct bkt_err *err)
{
    BKT_CLEANUP(survey_fini) struct survey s = {0};
    struct gather_rows *r = &d->rows;
    uint64_t                               n = 1;
    size_t                                 bytes;
    BKT_PASS(survey_dataset(a->l->src, src, &s, err));
    BKT_FAIL_IF(err, (size_t)s.kind < BKT_COUNT(cannot) && cannot[s.kind], BKT_EINVAL, "%s", cannot[s.kind]);
    gather_rows_free(d);
    r->rank = s.rank + d->leading;
    for (unsigned i = 0; i < r->rank; i++) {
        r->count[i] = d->leading && i == 0 ? 1 : bkt_ceil_div(s.dims[i - d->leading], d->cdims[i]);
        BKT_FAIL_IF(err, !bkt_mul_u64(n, r->count[i], &n), BKT_EINVAL, "chunk grid: more than 2^64 chunks");
    }
    if (n > SIZE_MAX || !bkt_mul_size((size_t)n, d->fields.row, &bytes) || !(r->v = calloc(bytes + 1, 1)))
        BKT_NOMEM(err);
    r->n_chunks = s.n_chunks;
    return s.kind == BKT_MAP_NONE ? BKT_OK : put_all(a, d, &s, err);
}

/* ---- writing them ---- */

/* Makes room in the table for the block.  The table grows by halves, so that many files need few changes. */
static int make_room(struct gather_dset *d, uint64_t need, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5Dget_space(d->table);
    hsize_t                      dims[BKT_MAX_RANK];
    if (need <= d->room)
        return BKT_OK;
    if (H5Sget_simple_extent_dims(space, dims, NULL) < 0)
        return h5_fail(err, "asking for the chunk table's extent");
    d->room = dims[d->dim] = bkt_max_u64(need, d->room + d->room / 2 + 16);
    return H5Dset_extent(d->table, dims) < 0 ? h5_fail(err, "growing the chunk table") : BKT_OK;
}

int gather_link(struct gather_plan *a, struct gather_dset *d, struct bkt_err *err)
{
    const struct gather_rows *r = &d->rows;
    hsize_t                start[BKT_MAX_RANK] = {0};
    start[d->dim]                              = d->at / d->cdims[d->dim];
    BKT_PASS(make_room(d, start[d->dim] + r->count[d->dim], err));
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Dget_type(d->table), space = H5Dget_space(d->table);
    BKT_CLEANUP(bkt_hid_closep) hid_t mem = H5Screate_simple((int)r->rank, r->count, NULL);
    if (H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, r->count, NULL) < 0 ||
        H5Dwrite(d->table, type, mem, space, H5P_DEFAULT, r->v) < 0)
        return h5_fail(err, "writing to the chunk table");
    a->l->n_linked++;
    progress_add(a->l->progress, 0, r->n_chunks, 0);
    return BKT_OK;
}

/* ---- by copy ---- */

struct copy {
    const struct gather_dset *d;
    hid_t                  src, type, from, to; /* to: the grown dataset's space */
    unsigned               rank;                /* of the source */
    hsize_t                dims[BKT_MAX_RANK];
};

/* Rows @p at .. +@p m of the source's first dimension; the whole of a scalar. */
static int copy_block(const struct copy *c, hsize_t at, hsize_t m, void *buf, struct bkt_err *err)
{
    hsize_t start[BKT_MAX_RANK] = {0}, count[BKT_MAX_RANK], to[BKT_MAX_RANK] = {0}, size[BKT_MAX_RANK];
    memcpy(count, c->dims, sizeof count);
    start[0] = at;
    if (c->rank)
        count[0] = m;
    for (unsigned i = 0; i < c->rank; i++)
        to[i + c->d->leading] = start[i], size[i + c->d->leading] = count[i];
    if (c->d->leading)
        size[0] = 1;
    to[c->d->dim] += c->d->at;
    if (c->rank && H5Sselect_hyperslab(c->from, H5S_SELECT_SET, start, NULL, count, NULL) < 0)
        return h5_fail(err, "selecting values");
    BKT_CLEANUP(bkt_hid_closep)
    hid_t mem = c->rank ? H5Screate_simple((int)c->rank, count, NULL) : H5Screate(H5S_SCALAR);
    if (H5Dread(c->src, c->type, mem, c->from, H5P_DEFAULT, buf) < 0) {
        (void)h5_fail(err, "its values can't be read");
        return BKT_EINVAL;
    }
    int rc = BKT_OK;
    if (H5Sselect_hyperslab(c->to, H5S_SELECT_SET, to, NULL, size, NULL) < 0 ||
        H5Dwrite(c->d->dst, c->type, mem, c->to, H5P_DEFAULT, buf) < 0)
        rc = h5_fail(err, "appending values");
    if (bkt_convert_is_var(c->type))
        (void)H5Treclaim(c->type, mem, H5P_DEFAULT, buf);
    return rc;
}

int gather_copy(struct gather_plan *a, struct gather_dset *d, hid_t src, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep)
    hid_t type = H5Dget_type(src),
          space = H5Dget_space(src), grown = H5Dget_space(d->dst);
    struct copy                  c    = {.d = d, .src = src, .type = type, .from = space, .to = grown};
    int                          rank = H5Sget_simple_extent_dims(space, c.dims, NULL);
    uint64_t                     row  = H5Tget_size(type);
    if (rank < 0 || grown < 0)
        return h5_fail(err, "asking for an extent");
    c.rank = (unsigned)rank;
    for (int i = 1; i < rank; i++)
        row *= c.dims[i]; /* HDF5 has checked it */
    hsize_t n = rank ? c.dims[0] : 1,
            step = bkt_min_u64(bkt_max_u64(BKT_TOOL_BLOCK / bkt_max_u64(row, 1), 1), n);
    if (n == 0 || row == 0)
        return BKT_OK;
    BKT_CLEANUP(bkt_freep) void *buf = calloc((size_t)step, (size_t)row);
    BKT_NEED(err, buf);
    for (hsize_t at = 0; at < n; at += step) {
        BKT_PASS(interrupt_check(err));
        BKT_PASS(copy_block(&c, at, bkt_min_u64(step, n - at), buf, err));
    }
    a->l->n_copied++;
    return BKT_OK;
}

int gather_copy_values(struct gather_plan *a, struct gather_dset *d, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep)
    hid_t type = H5Dget_type(d->dst),
          to = H5Dget_space(d->dst), mem = H5I_INVALID_HID;
    hsize_t start[BKT_MAX_RANK] = {0}, size[BKT_MAX_RANK] = {0};
    int rank = to < 0 ? -1 : H5Sget_simple_extent_dims(to, size, NULL);
    uint64_t bytes = H5Tget_size(type);
    if (rank <= 0)
        return h5_fail(err, "asking for an extent");
    start[d->dim] = d->at;
    size[d->dim] = d->n;
    for (int i = 0; i < rank; i++)
        BKT_FAIL_IF(err, !bkt_mul_u64(bytes, size[i], &bytes), BKT_EFORMAT, "values of more than 2^64 bytes");
    BKT_FAIL_IF(err, bytes != d->n_values, BKT_EFORMAT, "values of another process have another size");
    mem = H5Screate_simple(rank, size, NULL);
    if (bytes && (H5Sselect_hyperslab(to, H5S_SELECT_SET, start, NULL, size, NULL) < 0 ||
                  H5Dwrite(d->dst, type, mem, to, H5P_DEFAULT, d->values) < 0))
        return h5_fail(err, "appending values");
    a->l->n_copied++;
    return BKT_OK;
}

/* Attributes of the CF conventions and netCDF's user guide: "hours since 2020-01-01" isn't "hours since
 * 2020-01-02". */
static const char *const meaning[] = {"units",      "calendar",      "scale_factor", "add_offset",
                                      "_FillValue", "missing_value", "_Unsigned"};

static int append_text(hid_t attr, hid_t type, hid_t space, size_t n, struct bkt_buf *out,
                       struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char **v  = calloc(n + 1, sizeof *v);
    int                           rc = BKT_OK;
    BKT_NEED(err, v);
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
    BKT_NEED(err, v);
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
    BKT_CLEANUP(bkt_hid_closep) hid_t attr = H5Aopen(obj, name, H5P_DEFAULT);
    BKT_CLEANUP(bkt_hid_closep) hid_t type = attr < 0 ? -1 : H5Aget_type(attr);
    BKT_CLEANUP(bkt_hid_closep) hid_t space = attr < 0 ? -1 : H5Aget_space(attr);
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
        BKT_CLEANUP(bkt_hid_closep) hid_t as = H5I_INVALID_HID;
        htri_t has = H5Aexists(src, meaning[i]), had = H5Aexists(dst, meaning[i]);
        if (has < 0 || had < 0)
            return h5_fail(err, "looking for an attribute");
        BKT_FAIL_IF(err, has != had, BKT_EINVAL, "attribute %s is %s", meaning[i],
                    has ? "not in the domain" : "in the domain only");
        if (!has)
            continue;
        BKT_PASS(value_of(src, meaning[i], &as, &a, err));
        BKT_PASS(value_of(dst, meaning[i], &as, &b, err));
        BKT_FAIL_IF(err, a.len != b.len || (a.len && memcmp(a.ptr, b.ptr, a.len) != 0), BKT_EINVAL,
                    "attribute %s differs from the domain's", meaning[i]);
    }
    return BKT_OK;
}

/* ---- datasets ---- */

/* ---- dimension scales (netCDF's dimensions): attribute DIMENSION_LIST holds, per dimension, references to
 * them ---- */

static bool is_named(const struct gather_plan *a, hid_t obj)
{
    char        path[1024];
    ssize_t     n    = H5Iget_name(obj, path, sizeof path);
    const char *last = n > 0 && (size_t)n < sizeof path ? strrchr(path, '/') : NULL;
    return last && (strcmp(last + 1, a->name) == 0 || strcmp(path, a->name) == 0);
}

static bool list_has(const struct gather_plan *a, hid_t src, const hvl_t *list)
{
    for (size_t k = 0; k < list->len; k++) {
        BKT_CLEANUP(bkt_hid_closep)
        hid_t scale = H5Rdereference2(src, H5P_DEFAULT, H5R_OBJECT, (const hobj_ref_t *)list->p + k);
        if (scale >= 0 && is_named(a, scale))
            return true;
    }
    return false;
}

static bool scale_dim(const struct gather_plan *a, hid_t src, unsigned rank, unsigned *dim)
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

bool gather_grows(const struct gather_plan *a, hid_t src, const char *path, unsigned *dim)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5Dget_space(src);
    hsize_t                      dims[BKT_MAX_RANK];
    int                          rank  = H5Sget_simple_extent_dims(space, dims, NULL);
    *dim                               = 0;
    if (a->leading)
        return H5Sget_simple_extent_type(space) != H5S_NULL;
    if (rank <= 0)
        return false;
    if (a->number != UINT_MAX) {
        *dim = a->number;
        return (unsigned)rank > a->number && dims[a->number] == a->steps;
    }
    return strcmp(bkt_base_name(path), a->name) == 0 || scale_dim(a, src, (unsigned)rank, dim);
}

bool gather_chunk_shape(hid_t src, unsigned rank, const hsize_t *dims, uint64_t *cdims)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl = H5Dget_create_plist(src);
    bool chunked = H5Pget_layout(dcpl) == H5D_CHUNKED && H5Pget_chunk(dcpl, BKT_MAX_RANK, cdims) == (int)rank;
    for (unsigned i = 0; i < rank && !chunked; i++)
        cdims[i] = bkt_max_u64(dims[i], 1);
    return chunked;
}

/* ---- fitting ---- */

static int fit_linked(struct gather_plan *a, struct gather_dset *d, hid_t src, unsigned rank,
                      const hsize_t *dims, struct bkt_err *err)
{
    uint64_t                     cdims[BKT_MAX_RANK];
    bool chunked = gather_chunk_shape(src, rank, dims, cdims);
    BKT_FAIL_IF(err, !chunked && !d->leading && cdims[d->dim] != d->cdims[d->dim], BKT_EINVAL,
                "the chunk shape differs from the domain's: its %llu steps are one piece, the domain refers "
                "to pieces of %llu",
                (unsigned long long)cdims[d->dim], (unsigned long long)d->cdims[d->dim]);
    for (unsigned i = 0; i < rank; i++)
        BKT_FAIL_IF(err, cdims[i] != d->cdims[i + d->leading], BKT_EINVAL,
                    "the chunk shape differs from the domain's");
    BKT_FAIL_IF(err, d->at % d->cdims[d->dim] != 0, BKT_EINVAL,
                "step %llu is not the first of a chunk of %llu", (unsigned long long)d->at,
                (unsigned long long)d->cdims[d->dim]);
    BKT_FAIL_IF(err, !d->leading && dims[d->dim] % cdims[d->dim] != 0, BKT_EINVAL,
                "its %llu steps don't fill chunks of %llu", (unsigned long long)dims[d->dim],
                (unsigned long long)cdims[d->dim]);
    const int agree = bkt_filters_agree(src, d->dst, err);
    BKT_PASS(agree);
    BKT_FAIL_IF(err, !agree, BKT_EINVAL, "filters or their parameters differ from the domain's");
    return gather_rows_make(a, d, src, err);
}

static int read_all(hid_t dset, hid_t type, size_t n, struct bkt_buf *out, struct bkt_err *err)
{
    size_t bytes;
    BKT_NEED(err, bkt_mul_size(n, H5Tget_size(type), &bytes) && bkt_buf_resize(out, bytes) >= 0);
    return n && H5Dread(dset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out->ptr) < 0
               ? h5_fail(err, "reading values")
               : BKT_OK;
}

/* Values that don't grow must be the same in all files, since those of the first file stay. */
static int same_values(const struct gather_dset *d, hid_t src, hid_t type, hid_t space, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf a = {0}, b = {0};
    hssize_t                                 n = H5Sget_simple_extent_npoints(space);
    if (n <= 0 || bkt_convert_has_pointers(type))
        return BKT_OK; /* not compared */
    BKT_PASS(read_all(src, type, (size_t)n, &a, err));
    BKT_PASS(read_all(d->dst, type, (size_t)n, &b, err));
    size_t size = H5Tget_size(type);
    for (size_t i = 0; i < (size_t)n; i++)
        BKT_FAIL_IF(err,
                    memcmp(a.ptr + i * size, b.ptr + i * size, size) != 0 &&
                        !bkt_same_value(type, a.ptr + i * size, b.ptr + i * size),
                    BKT_EINVAL, "values differ from the domain's, in a dataset that doesn't grow");
    return BKT_OK;
}

int gather_fit(struct gather_plan *a, struct gather_dset *d, hid_t src, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Dget_type(src), theirs = H5Dget_type(d->dst);
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5Dget_space(src), grown = H5Dget_space(d->dst);
    hsize_t                      dims[BKT_MAX_RANK], have[BKT_MAX_RANK];
    int rank = H5Sget_simple_extent_dims(space, dims, NULL), r = H5Sget_simple_extent_dims(grown, have, NULL);
    if (rank < 0 || r < 0)
        return h5_fail(err, "asking for extents");
    BKT_FAIL_IF(err, H5Tequal(type, theirs) <= 0, BKT_EINVAL, "the type differs from the domain's");
    BKT_FAIL_IF(err, r != rank + (d->leading ? 1 : 0), BKT_EINVAL, "%d dimensions, the domain has %d", rank,
                r);
    for (unsigned i = 0; i < (unsigned)rank; i++)
        BKT_FAIL_IF(err, (d->leading || !d->grows || i != d->dim) && dims[i] != have[i + d->leading],
                    BKT_EINVAL, "dimension %u is %llu, the domain has %llu", i, (unsigned long long)dims[i],
                    (unsigned long long)have[i + d->leading]);
    BKT_PASS(attrs_fit(src, d->dst, err));
    if (!d->grows)
        return same_values(d, src, type, space, err);
    d->n = d->leading ? 1 : dims[d->dim];
    if (d->table >= 0)
        return fit_linked(a, d, src, (unsigned)rank, dims, err);
    return H5Tdetect_class(type, H5T_REFERENCE) > 0 ? BKT_ERR(err, BKT_EINVAL, "references can't be gathered")
                                                    : BKT_OK;
}
