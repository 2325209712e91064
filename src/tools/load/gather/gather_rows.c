/* Appending one file's dataset: rows of the chunk table, or the values themselves. */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "schema/edit/edit.h"
#include "tools/cli/interrupt.h"
#include "tools/load/gather/gather_plan.h"
#include "tools/source/hdf5_glue.h"
#include "vol/copy/copier.h"

/* ---- by reference: making the rows ---- */

int agg_fields_of(struct agg_dset *d, struct bkt_err *err)
{
    BKT_CLEANUP(h5_closep) hid_t type = H5Dget_type(d->table);
    int u = H5Tget_member_index(type, "file_uri"), e = H5Tget_member_index(type, "file_etag"),
        m = H5Tget_member_index(type, "filter_mask");
    (void)H5Eclear2(H5E_DEFAULT);
    if (u < 0)
        BKT_FAIL(err, BKT_EUNSUP, "the chunk table has no files' names, so it can't grow");
    BKT_CLEANUP(h5_closep)
    hid_t ut = H5Tget_member_type(type, (unsigned)u),
          et = e < 0 ? -1 : H5Tget_member_type(type, (unsigned)e);
    BKT_CLEANUP(h5_closep) hid_t st = H5Tget_member_type(type, 1);
    d->fields = (struct agg_fields){.off      = H5Tget_member_offset(type, 0),
                                    .size     = H5Tget_member_offset(type, 1),
                                    .size_n   = H5Tget_size(st),
                                    .uri      = H5Tget_member_offset(type, (unsigned)u),
                                    .uri_n    = H5Tget_size(ut),
                                    .etag     = e < 0 ? 0 : H5Tget_member_offset(type, (unsigned)e),
                                    .etag_n   = e < 0 ? 0 : H5Tget_size(et),
                                    .mask     = m < 0 ? 0 : H5Tget_member_offset(type, (unsigned)m),
                                    .row      = H5Tget_size(type),
                                    .has_etag = e >= 0,
                                    .has_mask = m >= 0};
    return BKT_OK;
}

void agg_rows_free(struct agg_dset *d)
{
    free(d->rows.v);
    d->rows = (struct agg_rows){.v = NULL};
}

struct maker {
    const struct agg_dset *d;
    const struct source   *src;
    char                 **uris; /* names of the source's parts in the domain */
};

static int put(const struct maker *m, const struct survey_chunk *c, struct bkt_err *err)
{
    const struct agg_fields  *f = &m->d->fields;
    const struct source_part *p = source_part_of(m->src, c->addr, c->size);
    if (!p)
        BKT_FAIL(err, BKT_EINVAL, "a chunk lies in two files, but a row of a chunk table can name only one");
    const char    *uri = m->uris[p - m->src->parts];
    unsigned char *to  = m->d->rows.v + c->index * f->row;
    size_t         n   = strlen(uri);
    if (n > f->uri_n)
        BKT_FAIL(err, BKT_EINVAL, "its name is longer than the %zu bytes that the chunk table has for it; "
                 "gather the files again", f->uri_n);
    if (c->size > (f->size_n > 4 ? INT64_MAX : INT32_MAX))
        BKT_FAIL(err, BKT_EINVAL, "a chunk has more bytes than the chunk table can record");
    if (c->mask && !f->has_mask)
        BKT_FAIL(err, BKT_EINVAL, "a chunk skips a filter, but the chunk table has no filter masks");
    bkt_put_le(to + f->off, 8, c->addr - p->start);
    bkt_put_le(to + f->size, (unsigned)f->size_n, c->size);
    memcpy(to + f->uri, uri, n); /* NOLINT(bugprone-not-null-terminated-result): padded by zeros */
    n = strlen(p->etag);
    if (f->has_etag && n > f->etag_n) /* without the ETag, bytes of another version would be accepted */
        BKT_FAIL(err, BKT_EINVAL, "its ETag is longer than the %zu bytes that the chunk table has for it; "
                 "gather the files again",
                 f->etag_n);
    if (f->has_etag)
        memcpy(to + f->etag, p->etag, n);
    if (f->has_mask)
        bkt_put_le(to + f->mask, 4, c->mask);
    return BKT_OK;
}

static int put_all(struct agg *a, struct agg_dset *d, const struct survey *s, struct bkt_err *err)
{
    const struct source *src  = a->l->src;
    char               **uris = calloc(src->n_parts + 1, sizeof *uris);
    struct maker         m    = {d, src, uris};
    int                  rc   = uris ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory");
    for (size_t k = 0; k < src->n_parts && rc == BKT_OK; k++)
        rc = load_file_uri(a->l, src->parts[k].uri, &uris[k], err);
    if (rc == BKT_OK && s->kind == BKT_MAP_CONTIGUOUS)
        rc = put(&m, &(struct survey_chunk){.addr = s->addr, .size = s->size}, err);
    for (size_t i = 0; i < s->n_chunks && rc == BKT_OK; i++)
        rc = put(&m, &s->chunks[i], err);
    for (size_t k = 0; uris && k < src->n_parts; k++)
        free(uris[k]);
    free(uris);
    return rc;
}

static const char *const cannot[] = {
    [BKT_MAP_COMPACT]  = "it is compact: references can't lead into an object header",
    [BKT_MAP_EXTERNAL] = "its data are in external files, which a chunk table can't name",
    [BKT_MAP_VIRTUAL]  = "it is virtual: a chunk table needs stored chunks",
};

int agg_rows_make(struct agg *a, struct agg_dset *d, hid_t src, struct bkt_err *err)
{
    BKT_CLEANUP(survey_fini) struct survey s = {0};
    struct agg_rows                       *r = &d->rows;
    uint64_t                               n = 1;
    size_t                                 bytes;
    BKT_PASS(survey_dataset(a->l->src, src, &s, err));
    if ((size_t)s.kind < BKT_COUNT(cannot) && cannot[s.kind])
        BKT_FAIL(err, BKT_EINVAL, "%s", cannot[s.kind]);
    agg_rows_free(d);
    r->rank = s.rank + d->leading;
    for (unsigned i = 0; i < r->rank; i++) {
        r->count[i] = d->leading && i == 0 ? 1 : bkt_ceil_div(s.dims[i - d->leading], d->cdims[i]);
        if (!bkt_mul_u64(n, r->count[i], &n))
            BKT_FAIL(err, BKT_EINVAL, "a chunk grid of more than 2^64 chunks");
    }
    if (n > SIZE_MAX || !bkt_mul_size((size_t)n, d->fields.row, &bytes) || !(r->v = calloc(bytes + 1, 1)))
        BKT_NOMEM(err);
    r->n_chunks = s.n_chunks;
    return s.kind == BKT_MAP_NONE ? BKT_OK : put_all(a, d, &s, err);
}

/* ---- writing them ---- */

/* Makes room in the table for the block.  The table grows by halves, so that many files need few changes. */
static int make_room(struct agg_dset *d, uint64_t need, struct bkt_err *err)
{
    BKT_CLEANUP(h5_closep) hid_t space = H5Dget_space(d->table);
    hsize_t                      dims[BKT_MAX_RANK];
    if (need <= d->room)
        return BKT_OK;
    if (H5Sget_simple_extent_dims(space, dims, NULL) < 0)
        return h5_fail(err, "asking for the chunk table's extent");
    d->room = dims[d->dim] = bkt_max_u64(need, d->room + d->room / 2 + 16);
    return H5Dset_extent(d->table, dims) < 0 ? h5_fail(err, "growing the chunk table") : BKT_OK;
}

int agg_link(struct agg *a, struct agg_dset *d, struct bkt_err *err)
{
    const struct agg_rows *r                   = &d->rows;
    hsize_t                start[BKT_MAX_RANK] = {0};
    start[d->dim]                              = d->at / d->cdims[d->dim];
    BKT_PASS(make_room(d, start[d->dim] + r->count[d->dim], err));
    BKT_CLEANUP(h5_closep) hid_t type = H5Dget_type(d->table), space = H5Dget_space(d->table);
    BKT_CLEANUP(h5_closep) hid_t mem = H5Screate_simple((int)r->rank, r->count, NULL);
    if (H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, r->count, NULL) < 0 ||
        H5Dwrite(d->table, type, mem, space, H5P_DEFAULT, r->v) < 0)
        return h5_fail(err, "writing to the chunk table");
    a->l->n_linked++;
    progress_add(a->l->progress, 0, r->n_chunks, 0);
    return BKT_OK;
}

/* ---- by copy ---- */

struct copy {
    const struct agg_dset *d;
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
    BKT_CLEANUP(h5_closep)
    hid_t mem = c->rank ? H5Screate_simple((int)c->rank, count, NULL) : H5Screate(H5S_SCALAR);
    if (H5Dread(c->src, c->type, mem, c->from, H5P_DEFAULT, buf) < 0) {
        (void)h5_fail(err, "its values can't be read");
        return BKT_EINVAL;
    }
    int rc = BKT_OK;
    if (H5Sselect_hyperslab(c->to, H5S_SELECT_SET, to, NULL, size, NULL) < 0 ||
        H5Dwrite(c->d->dst, c->type, mem, c->to, H5P_DEFAULT, buf) < 0)
        rc = h5_fail(err, "appending values");
    if (bkt_copier_is_var(c->type))
        (void)H5Treclaim(c->type, mem, H5P_DEFAULT, buf);
    return rc;
}

int agg_copy(struct agg *a, struct agg_dset *d, hid_t src, struct bkt_err *err)
{
    BKT_CLEANUP(h5_closep)
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
    if (!buf)
        BKT_NOMEM(err);
    for (hsize_t at = 0; at < n; at += step) {
        BKT_PASS(interrupt_check(err));
        BKT_PASS(copy_block(&c, at, bkt_min_u64(step, n - at), buf, err));
    }
    a->l->n_copied++;
    return BKT_OK;
}

int agg_copy_values(struct agg *a, struct agg_dset *d, struct bkt_err *err)
{
    BKT_CLEANUP(h5_closep) hid_t type = H5Dget_type(d->dst), to = H5Dget_space(d->dst), mem = H5I_INVALID_HID;
    hsize_t start[BKT_MAX_RANK] = {0}, size[BKT_MAX_RANK] = {0};
    int rank = to < 0 ? -1 : H5Sget_simple_extent_dims(to, size, NULL);
    uint64_t bytes = H5Tget_size(type);
    if (rank <= 0)
        return h5_fail(err, "asking for an extent");
    start[d->dim] = d->at;
    size[d->dim] = d->n;
    for (int i = 0; i < rank; i++)
        if (!bkt_mul_u64(bytes, size[i], &bytes))
            BKT_FAIL(err, BKT_EFORMAT, "values of more than 2^64 bytes");
    if (bytes != d->n_values)
        BKT_FAIL(err, BKT_EFORMAT, "values of another process have another size");
    mem = H5Screate_simple(rank, size, NULL);
    if (bytes && (H5Sselect_hyperslab(to, H5S_SELECT_SET, start, NULL, size, NULL) < 0 ||
                  H5Dwrite(d->dst, type, mem, to, H5P_DEFAULT, d->values) < 0))
        return h5_fail(err, "appending values");
    a->l->n_copied++;
    return BKT_OK;
}
