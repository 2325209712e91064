/* All chunks in a chunk table, in grid order.  A table of many rows may be as sparse as the dataset.  So only
 * rows in the table's own stored chunks are read: the work depends on what is stored, and never on the
 * grid. */
#include <stdlib.h>
#include <string.h>

#include "chunk/write/write_cache.h"
#include "chunk/list/chunk_list.h"
#include "chunk/read/references.h"
#include "base/num.h"
#include "chunk/write/write.h"

/* Rows read at once, 4 MiB of a table: fewer take longer, more take more memory. */
#define TABLE_BATCH 262144u
/* Rows, 16 MiB, that are read without a list of the stored ones, which saves a request. */
#define FEW_ROWS (UINT64_C(1) << 20)

/* Boxes of the grid, one behind the other, row by row. */
struct walk {
    unsigned        rank;
    const uint64_t *grid;
    uint64_t        shape[BKT_MAX_RANK]; /* of a box */
    struct bkt_buf  boxes;               /* their coordinates, in boxes */
    size_t          box;                 /* the next one */
    uint64_t        lo[BKT_MAX_RANK], end[BKT_MAX_RANK], at[BKT_MAX_RANK];
    bool            inside;              /* `at` is the next chunk */
};

static bool enter(struct walk *w)
{
    const size_t n = w->boxes.len / (w->rank * sizeof *w->lo);
    for (w->inside = false; !w->inside && w->box < n; w->box++) {
        uint64_t box[BKT_MAX_RANK];
        memcpy(box, w->boxes.ptr + w->box * w->rank * sizeof *box, w->rank * sizeof *box);
        w->inside = true;
        for (unsigned d = 0; d < w->rank; d++) {
            w->lo[d] = w->at[d] = box[d] * w->shape[d];
            w->end[d] =
                bkt_min_u64(w->grid[d], w->shape[d] > w->grid[d] ? w->grid[d] : w->lo[d] + w->shape[d]);
            w->inside &= w->lo[d] < w->end[d];
        }
    }
    return w->inside;
}

static bool take(struct walk *w, uint64_t *coord)
{
    if (!w->inside && !enter(w))
        return false;
    memcpy(coord, w->at, w->rank * sizeof *coord);
    w->inside = false;
    for (unsigned d = w->rank; d-- > 0 && !w->inside;) {
        w->inside = ++w->at[d] < w->end[d];
        if (!w->inside)
            w->at[d] = w->lo[d];
    }
    return true;
}

/* Whether the chunks of all boxes come in grid order: behind the dimension that divides the grid, boxes must
 * reach through it. */
static bool is_ordered(const struct walk *w)
{
    unsigned d = 0;
    while (d + 1 < w->rank && w->shape[d] == 1)
        d++;
    for (d++; d < w->rank; d++)
        if (w->shape[d] < w->grid[d])
            return false;
    return true;
}

static int keep_box(const uint64_t *coord, const struct bkt_chunk_info *info, void *arg)
{
    struct walk *w = arg;
    (void)info;
    return bkt_buf_add(&w->boxes, coord, w->rank * sizeof *coord);
}

/* Lists the table's own chunks that are stored. */
static int stored_boxes(struct bkt_dsetio *io, struct walk *w, struct bkt_err *err)
{
    struct bkt_dsetio *t = io->table;
    uint64_t           grid[BKT_MAX_RANK];
    if (t->bad.code)
        return bkt_err_copy(err, t->bad.code, &t->bad);
    if (!t->zero_fill)
        BKT_FAIL(err, BKT_EUNSUP,
                 "dataset %s: chunk table %s has rows that aren't stored, with a fill value, and too many of "
                 "them to be "
                 "listed",
                 io->obj->id.text, t->obj->id.text);
    BKT_PASS(bkt_chunks_flush_dataset(t->dom, &t->obj->id, err));
    for (unsigned d = 0; d < w->rank; d++) {
        w->shape[d] = t->cdims[d];
        grid[d]     = bkt_ceil_div(w->grid[d], t->cdims[d]);
    }
    return t->where == BKT_AT_OBJECTS ? bkt_chunk_list(t, grid, keep_box, w, err)
                                      : bkt_chunk_iter(t, keep_box, w, err);
}

static int begin(struct bkt_dsetio *io, struct walk *w, struct bkt_err *err)
{
    static const uint64_t zero[BKT_MAX_RANK];
    uint64_t              n = 1;
    bool                  few = true;
    for (unsigned d = 0; d < w->rank; d++)
        few = few && bkt_mul_u64(n, w->grid[d], &n) && n <= FEW_ROWS;
    if (!few && io->where == BKT_AT_TABLE && !io->found)
        return stored_boxes(io, w, err);
    memcpy(w->shape, w->grid, w->rank * sizeof *w->shape);
    return bkt_buf_add(&w->boxes, zero, w->rank * sizeof *zero);
}

/* Locates a batch of chunks; *n: their number, 0: there are no more. */
static int each_located(struct bkt_dsetio *io, struct walk *w, uint64_t *coords, struct bkt_reference *locs,
                        size_t *n, bkt_chunk_fn *each, void *arg, struct bkt_err *err)
{
    struct bkt_references_find q = {.io = io, .coords = coords, .out = locs};
    while (q.n < TABLE_BATCH && take(w, coords + q.n * io->rank))
        q.n++;
    *n = q.n;
    BKT_PASS(bkt_references_find(&q, 1, err));
    for (size_t i = 0; i < q.n; i++)
        if (locs[i].file) {
            struct bkt_chunk_info info = {true, locs[i].off, locs[i].size, locs[i].mask, locs[i].file->uri};
            BKT_PASS(each(coords + i * io->rank, &info, arg));
        }
    return BKT_OK;
}

static int walk_all(struct bkt_dsetio *io, struct walk *w, bkt_chunk_fn *each, void *arg, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) uint64_t *coords = malloc(TABLE_BATCH * bkt_max_u64(io->rank, 1) * sizeof *coords);
    BKT_CLEANUP(bkt_freep) struct bkt_reference *locs   = malloc(TABLE_BATCH * sizeof *locs);
    size_t                                 n      = 1;
    if (!coords || !locs)
        BKT_NOMEM(err);
    while (n)
        BKT_PASS(each_located(io, w, coords, locs, &n, each, arg, err));
    return BKT_OK;
}

/* ---- put into grid order ---- */

struct kept {
    unsigned       rank;
    struct bkt_buf v; /* coordinates and struct bkt_chunk_info, one after the other */
};

static int keep(const uint64_t *coord, const struct bkt_chunk_info *info, void *arg)
{
    struct kept *k = arg;
    BKT_PASS(bkt_buf_add(&k->v, coord, k->rank * sizeof *coord));
    return bkt_buf_add(&k->v, info, sizeof *info);
}

static int by_coord(const void *a, const void *b, void *rank)
{
    const uint64_t *x = a, *y = b;
    for (unsigned d = 0; d < *(const unsigned *)rank; d++)
        if (x[d] != y[d])
            return x[d] < y[d] ? -1 : 1;
    return 0;
}

static int walk_sorted(struct bkt_dsetio *io, struct walk *w, bkt_chunk_fn *each, void *arg,
                       struct bkt_err *err)
{
    struct kept  k    = {.rank = io->rank};
    const size_t size = io->rank * sizeof(uint64_t) + sizeof(struct bkt_chunk_info);
    int          rc   = walk_all(io, w, keep, &k, err);
    size_t       n    = k.v.len / size;
    if (rc == BKT_OK && n)
        qsort_r(k.v.ptr, n, size, by_coord, &k.rank);
    for (size_t i = 0; rc == BKT_OK && i < n; i++) {
        const unsigned char *p = k.v.ptr + i * size;
        rc = each((const uint64_t *)(const void *)p,
                  (const struct bkt_chunk_info *)(const void *)(p + io->rank * sizeof(uint64_t)), arg);
    }
    bkt_buf_fini(&k.v);
    return rc;
}

int bkt_table_walk(struct bkt_dsetio *io, uint64_t *grid, bkt_chunk_fn *each, void *arg, struct bkt_err *err)
{
    struct walk w    = {.rank = io->rank, .grid = grid};
    bool        some = true;
    int         rc   = BKT_OK;
    if (io->where == BKT_AT_TABLE && !io->found)
        BKT_PASS(bkt_reference_table_clip(io, grid, &some, err));
    if (some)
        rc = begin(io, &w, err);
    if (rc == BKT_OK && some)
        rc = (is_ordered(&w) ? walk_all : walk_sorted)(io, &w, each, arg, err);
    bkt_buf_fini(&w.boxes);
    return rc;
}
