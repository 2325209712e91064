/* Appending one file's dataset: rows of the chunk table, or the values themselves. */
#include <stdlib.h>
#include <string.h>

#include "agg.h"
#include "edit.h"
#include "h5.h"
#include "num.h"
#include "tree_impl.h"

/* ---- by reference ---- */

struct block { /* the part of the table that the file fills */
    unsigned rank;
    hsize_t  start[BKT_MAX_RANK], count[BKT_MAX_RANK];
    uint64_t n;
};

static int block_of(const struct agg_dset *d, const struct survey *s, struct block *b, struct bkt_err *err)
{
    b->rank = s->rank + d->leading;
    b->n    = 1;
    for (unsigned i = 0; i < b->rank; i++) {
        bool grows  = i == d->dim;
        b->start[i] = grows ? d->at / d->cdims[i] : 0;
        b->count[i] = d->leading && i == 0 ? 1 : bkt_ceil_div(s->dims[i - d->leading], d->cdims[i]);
        if (!bkt_mul_u64(b->n, b->count[i], &b->n))
            BKT_FAIL(err, BKT_EINVAL, "a chunk grid of more than 2^64 chunks");
    }
    return BKT_OK;
}

/* Room in the table for the block: grown by halves, so that ten thousand files don't mean ten thousand changes. */
static int make_room(struct agg_dset *d, const struct block *b, struct bkt_err *err)
{
    BKT_CLEANUP(h5_closep) hid_t space = H5Dget_space(d->table);
    hsize_t                      dims[BKT_MAX_RANK];
    uint64_t                     need = b->start[d->dim] + b->count[d->dim];
    if (need <= d->room)
        return BKT_OK;
    if (H5Sget_simple_extent_dims(space, dims, NULL) < 0)
        return h5_fail(err, "asking for the chunk table's extent");
    d->room = dims[d->dim] = bkt_max_u64(need, d->room + d->room / 2 + 16);
    return H5Dset_extent(d->table, dims) < 0 ? h5_fail(err, "growing the chunk table") : BKT_OK;
}

struct fields {
    size_t off, size, uri, etag, mask, uri_n, etag_n, size_n, row;
    bool   has_etag, has_mask;
};

static int fields_of(hid_t type, struct fields *f, struct bkt_err *err)
{
    int u = H5Tget_member_index(type, "file_uri"), e = H5Tget_member_index(type, "file_etag"), m = H5Tget_member_index(type, "filter_mask");
    (void)H5Eclear2(H5E_DEFAULT);
    if (u < 0)
        BKT_FAIL(err, BKT_EUNSUP, "the chunk table names no files: it isn't one that grows");
    BKT_CLEANUP(h5_closep) hid_t ut = H5Tget_member_type(type, (unsigned)u), et = e < 0 ? -1 : H5Tget_member_type(type, (unsigned)e);
    BKT_CLEANUP(h5_closep) hid_t st = H5Tget_member_type(type, 1);
    *f = (struct fields){.off      = H5Tget_member_offset(type, 0),
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

static int put(const struct agg *a, const struct fields *f, uint64_t addr, uint64_t size, uint32_t mask, const char *uri, unsigned char *to,
               struct bkt_err *err)
{
    const struct source_part *p = source_part_of(a->l->src, addr, size);
    if (!p)
        BKT_FAIL(err, BKT_EUNSUP, "a chunk over two files can't be aggregated by reference");
    size_t n = strlen(uri);
    if (n > f->uri_n || size > (f->size_n > 4 ? INT64_MAX : INT32_MAX) || (mask && !f->has_mask))
        BKT_FAIL(err, BKT_EUNSUP, "its name, a chunk's size or a filter mask has no room in the chunk table");
    bkt_put_le(to + f->off, 8, addr - p->start);
    bkt_put_le(to + f->size, (unsigned)f->size_n, size);
    memcpy(to + f->uri, uri, n); /* NOLINT(bugprone-not-null-terminated-result): padded by zeros */
    n = strlen(p->etag);
    if (f->has_etag && n <= f->etag_n)
        memcpy(to + f->etag, p->etag, n);
    if (f->has_mask)
        bkt_put_le(to + f->mask, 4, mask);
    return BKT_OK;
}

static int put_rows(struct agg *a, const struct survey *s, const struct fields *f, unsigned char *rows, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *uri = NULL;
    if (a->l->src->n_parts != 1)
        BKT_FAIL(err, BKT_EUNSUP, "a file of several parts can't be aggregated by reference");
    BKT_PASS(load_file_uri(a->l, a->l->src->parts[0].uri, &uri, err));
    if (s->kind == SURVEY_CONTIGUOUS)
        return put(a, f, s->addr, s->size, 0, uri, rows, err);
    for (size_t i = 0; i < s->n_chunks; i++)
        BKT_PASS(put(a, f, s->chunks[i].addr, s->chunks[i].size, s->chunks[i].mask, uri, rows + s->chunks[i].index * f->row, err));
    return BKT_OK;
}

int agg_link(struct agg *a, struct agg_dset *d, hid_t src, struct bkt_err *err)
{
    BKT_CLEANUP(survey_fini) struct survey s    = {0};
    BKT_CLEANUP(h5_closep) hid_t           type = H5Dget_type(d->table);
    struct fields                          f;
    struct block                           b;
    BKT_PASS(survey_dataset(a->l->src, src, &s, err));
    if (s.kind != SURVEY_NONE && s.kind != SURVEY_CHUNKED && s.kind != SURVEY_CONTIGUOUS)
        BKT_FAIL(err, BKT_EUNSUP, "its storage can't be referred to from a chunk table");
    BKT_PASS(fields_of(type, &f, err));
    BKT_PASS(block_of(d, &s, &b, err));
    BKT_PASS(make_room(d, &b, err));
    BKT_CLEANUP(bkt_freep) unsigned char *rows  = calloc((size_t)b.n, f.row);
    BKT_CLEANUP(h5_closep) hid_t          space = H5Dget_space(d->table), mem = H5Screate_simple((int)b.rank, b.count, NULL);
    if (!rows)
        BKT_NOMEM(err);
    if (s.kind != SURVEY_NONE)
        BKT_PASS(put_rows(a, &s, &f, rows, err));
    if (H5Sselect_hyperslab(space, H5S_SELECT_SET, b.start, NULL, b.count, NULL) < 0 ||
        H5Dwrite(d->table, type, mem, space, H5P_DEFAULT, rows) < 0)
        return h5_fail(err, "writing to the chunk table");
    a->l->n_linked++;
    progress_add(a->l->progress, 0, s.n_chunks, 0);
    return BKT_OK;
}

/* ---- by copy ---- */

int agg_copy(struct agg *a, struct agg_dset *d, hid_t src, struct bkt_err *err)
{
    BKT_CLEANUP(h5_closep) hid_t type = H5Dget_type(src), space = H5Dget_space(src), grown = H5Dget_space(d->dst);
    hsize_t                      dims[BKT_MAX_RANK], count[BKT_MAX_RANK], start[BKT_MAX_RANK] = {0};
    int                          rank = H5Sget_simple_extent_dims(grown, dims, NULL);
    hssize_t                     n    = H5Sget_simple_extent_npoints(space);
    if (rank <= 0 || n < 0)
        return h5_fail(err, "asking for an extent");
    if (H5Tdetect_class(type, H5T_REFERENCE) > 0)
        BKT_FAIL(err, BKT_EUNSUP, "references can't be aggregated");
    memcpy(count, dims, sizeof count);
    count[d->dim] = d->n;
    start[d->dim] = d->at;
    if (n == 0)
        return BKT_OK;
    BKT_CLEANUP(h5_closep) hid_t mem = H5Screate_simple(rank, count, NULL);
    BKT_CLEANUP(bkt_freep) void *buf = calloc((size_t)n, H5Tget_size(type));
    if (!buf)
        BKT_NOMEM(err);
    if (H5Dread(src, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, buf) < 0 ||
        H5Sselect_hyperslab(grown, H5S_SELECT_SET, start, NULL, count, NULL) < 0 ||
        H5Dwrite(d->dst, type, mem, grown, H5P_DEFAULT, buf) < 0)
        return h5_fail(err, "appending values");
    if (tree_is_var(type))
        (void)H5Treclaim(type, mem, H5P_DEFAULT, buf);
    a->l->n_copied++;
    return BKT_OK;
}
