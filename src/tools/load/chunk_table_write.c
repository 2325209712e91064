/* Chunk tables: datasets of {offset, size[, file_uri][, file_etag][, filter_mask]}, chunked and compressed,
 * without a link.  HSDS finds the first three fields by their places. */
#include <stdlib.h>
#include <string.h>

#include "vol/dataset/extent_blocks.h"
#include "schema/edit/edit.h"
#include "tools/source/hdf5_glue.h"
#include "tools/load/load_domain.h"
#include "base/num.h"
#include "vol/core/token.h"

/* ROWS_PER_CHUNK: rows of a chunk of the table; more make the chunk that a reader needs longer if offsets
 * don't compress. */
#define SLAB_ROWS      ((uint64_t)1 << 17) /* rows that are written at once; more take more memory, and no
                                              less time */
#define CHUNK_BYTES    ((uint64_t)1 << 20) /* bytes of a chunk at most, for rows with long names of files */
#define ROWS_PER_CHUNK 16384u

struct table {
    size_t   uri_size, etag_size; /* 0: no such field */
    bool     long_size, has_mask;
    size_t   row;                 /* bytes of a row */
    size_t   at_uri, at_etag, at_mask;
    hid_t    type, dset;
    unsigned rank;
    uint64_t chunk[BKT_MAX_RANK];
};

static void table_fini(struct table *t)
{
    h5_closep(&t->dset);
    h5_closep(&t->type);
}

static void measure(struct table *t, const struct load_rows *rows)
{
    for (size_t i = 0; i < rows->n; i++) {
        struct load_row r;
        rows->get(rows->arg, i, &r);
        size_t u = r.uri ? strlen(r.uri) : 0, e = r.etag ? strlen(r.etag) : 0;
        t->uri_size  = u > t->uri_size ? u : t->uri_size;
        t->etag_size = e > t->etag_size ? e : t->etag_size;
        t->long_size |= r.size > INT32_MAX;
        t->has_mask |= r.mask != 0;
    }
}

static herr_t insert_text(hid_t type, const char *name, size_t at, size_t size)
{
    BKT_CLEANUP(h5_closep) hid_t text = H5Tcopy(H5T_C_S1);
    if (H5Tset_size(text, size) < 0 || H5Tset_strpad(text, H5T_STR_NULLPAD) < 0)
        return -1;
    return H5Tinsert(type, name, at, text);
}

static int make_type(struct table *t, struct bkt_err *err)
{
    size_t at  = 8 + (t->long_size ? 8 : 4);
    t->at_uri  = at, at += t->uri_size;
    t->at_etag = at, at += t->etag_size;
    t->at_mask = at, at += t->has_mask ? 4 : 0;
    t->row     = at;
    t->type    = H5Tcreate(H5T_COMPOUND, at);
    if (t->type < 0 || H5Tinsert(t->type, "offset", 0, H5T_STD_I64LE) < 0 ||
        H5Tinsert(t->type, "size", 8, t->long_size ? H5T_STD_I64LE : H5T_STD_I32LE) < 0 ||
        (t->uri_size && insert_text(t->type, "file_uri", t->at_uri, t->uri_size) < 0) ||
        (t->etag_size && insert_text(t->type, "file_etag", t->at_etag, t->etag_size) < 0) ||
        (t->has_mask && H5Tinsert(t->type, "filter_mask", t->at_mask, H5T_STD_U32LE) < 0))
        return h5_fail(err, "making a chunk table's type");
    return BKT_OK;
}

/* The last dimensions whole, as far as they fit. */
static void choose_chunk(struct table *t, const uint64_t *grid, const uint64_t *maxgrid)
{
    uint64_t left = bkt_max_u64(bkt_min_u64(ROWS_PER_CHUNK, CHUNK_BYTES / t->row), 1);
    for (unsigned d = t->rank; d-- > 0;) {
        t->chunk[d] = bkt_max_u64(maxgrid[d] == BKT_UNLIMITED ? left : bkt_min_u64(grid[d], left), 1);
        left        = bkt_max_u64(left / t->chunk[d], 1);
    }
}

static int create(struct load *l, struct table *t, const uint64_t *grid, const uint64_t *maxgrid,
                  struct bkt_err *err)
{
    hsize_t dims[BKT_MAX_RANK], max[BKT_MAX_RANK], chunk[BKT_MAX_RANK];
    for (unsigned d = 0; d < t->rank; d++) {
        dims[d]  = grid[d];
        max[d]   = maxgrid[d] == BKT_UNLIMITED ? H5S_UNLIMITED : maxgrid[d];
        chunk[d] = t->chunk[d];
        if (max[d] != H5S_UNLIMITED && max[d] < chunk[d])
            chunk[d] = max[d] ? max[d] : 1;
    }
    BKT_CLEANUP(h5_closep) hid_t space = H5Screate_simple((int)t->rank, dims, max);
    BKT_CLEANUP(h5_closep) hid_t dcpl  = H5Pcreate(H5P_DATASET_CREATE);
    if (space < 0 || dcpl < 0 || H5Pset_chunk(dcpl, (int)t->rank, chunk) < 0 || H5Pset_shuffle(dcpl) < 0 ||
        H5Pset_deflate(dcpl, 4) < 0)
        return h5_fail(err, "making a chunk table");
    t->dset = H5Dcreate_anon(l->dst, t->type, space, dcpl, H5P_DEFAULT);
    return t->dset < 0 ? h5_fail(err, "making a chunk table") : BKT_OK;
}

static void put_row(const struct table *t, const struct load_row *r, unsigned char *to)
{
    bkt_put_le(to, 8, r->off);
    bkt_put_le(to + 8, t->long_size ? 8 : 4, r->size);
    if (t->uri_size && r->uri)
        memcpy(to + t->at_uri, r->uri, strlen(r->uri));
    if (t->etag_size && r->etag)
        memcpy(to + t->at_etag, r->etag, strlen(r->etag));
    if (t->has_mask)
        bkt_put_le(to + t->at_mask, 4, r->mask);
}

/* Rows in the order of the blocks they lie in; 16 bytes for each. */
struct placed_row {
    uint64_t block;
    size_t   row;
};

static int by_block(const void *a, const void *b)
{
    const struct placed_row *x = a, *y = b;
    return x->block != y->block ? (x->block < y->block ? -1 : 1) : x->row < y->row ? -1 : x->row > y->row;
}

static void place_of(const struct bkt_blocks *b, uint64_t index, hsize_t *at)
{
    for (unsigned d = b->rank; d-- > 0; index /= b->dims[d])
        at[d] = index % b->dims[d];
}

/* One block of the table, whose rows are those of @p p, @p n of them. */
static int fill_block(const struct table *t, const struct bkt_blocks *b, const struct load_rows *rows,
                      const struct placed_row *p, size_t n, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) unsigned char *buf   = calloc((size_t)b->n, t->row);
    BKT_CLEANUP(h5_closep) hid_t          space = H5Dget_space(t->dset);
    const hsize_t                         all   = b->n;
    BKT_CLEANUP(h5_closep) hid_t          mem   = H5Screate_simple(1, &all, NULL);
    BKT_NEED(err, buf);
    for (size_t i = 0; i < n; i++) {
        struct load_row r;
        hsize_t         at[BKT_MAX_RANK];
        uint64_t        to = 0;
        rows->get(rows->arg, p[i].row, &r);
        place_of(b, r.index, at);
        for (unsigned d = 0; d < b->rank; d++)
            to = to * b->count[d] + (at[d] - b->at[d]);
        put_row(t, &r, buf + to * t->row);
    }
    if (H5Sselect_hyperslab(space, H5S_SELECT_SET, b->at, NULL, b->count, NULL) < 0 ||
        H5Dwrite(t->dset, t->type, mem, space, H5P_DEFAULT, buf) < 0)
        return h5_fail(err, "writing a chunk table");
    return BKT_OK;
}

/* Writes blocks of whole chunks of the table, only those with rows: a grid may be far larger than the number
 * of its chunks. */
static int fill(const struct table *t, const uint64_t *grid, const struct load_rows *rows,
                struct bkt_err *err)
{
    struct bkt_blocks b;
    hsize_t           dims[BKT_MAX_RANK], chunk[BKT_MAX_RANK], at[BKT_MAX_RANK];
    uint64_t          all = 1;
    for (unsigned d = 0; d < t->rank; d++) {
        dims[d]  = grid[d];
        chunk[d] = t->chunk[d];
        BKT_FAIL_IF(err, !bkt_mul_u64(all, grid[d], &all), BKT_EINVAL,
                    "a chunk table of more than 2^64 rows");
    }
    if (!rows->n)
        return BKT_OK;
    BKT_CLEANUP(bkt_freep) struct placed_row *p = calloc(rows->n, sizeof *p);
    BKT_NEED(err, p);
    bkt_blocks_begin(&b, t->rank, dims, chunk, SLAB_ROWS);
    bool in_order = true;
    for (size_t i = 0; i < rows->n; i++) {
        struct load_row r;
        rows->get(rows->arg, i, &r);
        place_of(&b, r.index, at);
        p[i]     = (struct placed_row){bkt_blocks_number(&b, at), i};
        in_order = in_order && (i == 0 || p[i].block >= p[i - 1].block);
    }
    if (!in_order)
        qsort(p, rows->n, sizeof *p, by_block);
    for (size_t i = 0, n; i < rows->n; i += n) {
        for (n = 1; i + n < rows->n && p[i + n].block == p[i].block;)
            n++;
        bkt_blocks_goto(&b, p[i].block);
        BKT_PASS(fill_block(t, &b, rows, p + i, n, err));
    }
    return BKT_OK;
}

static int begin(struct load *l, struct table *t, const uint64_t *grid, const uint64_t *maxgrid,
                 const struct load_rows *rows, struct bkt_id *out, struct bkt_err *err)
{
    measure(t, rows);
    BKT_PASS(make_type(t, err));
    choose_chunk(t, grid, maxgrid);
    BKT_PASS(create(l, t, grid, maxgrid, err));
    *out = load_vobj(t->dset)->obj->id;
    return bkt_edit_keep(l->file->dom, out, err);
}

int load_table(struct load *l, unsigned rank, const uint64_t *grid, const uint64_t *maxgrid,
               const struct load_rows *rows, struct bkt_id *out, struct bkt_err *err)
{
    BKT_CLEANUP(table_fini) struct table t = {.type = -1, .dset = -1, .rank = rank};
    BKT_PASS(begin(l, &t, grid, maxgrid, rows, out, err));
    return fill(&t, grid, rows, err);
}

static void get_widest(void *arg, size_t i, struct load_row *out)
{
    (void)i;
    *out = *(const struct load_row *)arg;
}

int load_table_empty(struct load *l, unsigned rank, const uint64_t *grid, const uint64_t *maxgrid,
                     const char *uri, const char *etag, struct bkt_id *out, hid_t *dset, struct bkt_err *err)
{
    BKT_CLEANUP(table_fini) struct table t      = {.type = -1, .dset = -1, .rank = rank};
    struct load_row                      widest = {.mask = 1, .uri = uri, .etag = etag};
    struct load_rows                     rows   = {1, get_widest, &widest};
    BKT_PASS(begin(l, &t, grid, maxgrid, &rows, out, err));
    *dset  = t.dset;
    t.dset = H5I_INVALID_HID;
    return BKT_OK;
}

int load_open_id(struct load *l, const struct bkt_id *id, hid_t *out, struct bkt_err *err)
{
    H5O_token_t token;
    bkt_token_of(id, &token);
    *out = H5Oopen_by_token(l->dst, token);
    return *out < 0 ? h5_fail(err, "opening a chunk table") : BKT_OK;
}
