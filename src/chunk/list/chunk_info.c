/* Chunks one by one: H5Dget_chunk_info, H5Dchunk_iter, H5Dread_chunk, H5Dget_storage_size. */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "chunk/dataset/chunk_list.h"
#include "chunk/read/references.h"
#include "chunk/write/write.h"
#include "chunk/write/write_cache.h"

static int table_walk(struct bkt_dsetio *io, uint64_t *grid, bkt_chunk_fn *each, void *arg,
                      struct bkt_err *err);

static int usable(const struct bkt_dsetio *io, struct bkt_err *err)
{
    return io->bad.code ? bkt_err_copy(err, io->bad.code, &io->bad) : BKT_OK;
}

static int check_coord(const struct bkt_dsetio *io, const uint64_t *coord, struct bkt_err *err)
{
    uint64_t grid[BKT_MAX_RANK];
    BKT_PASS(usable(io, err));
    bool ok = bkt_dsetio_grid(io, grid);
    for (unsigned d = 0; ok && d < io->rank; d++)
        ok = coord[d] < grid[d];
    BKT_FAIL_IF(err, !ok, BKT_EINVAL, "%s is outside the extent", bkt_chunk_label(io, coord).text);
    return BKT_OK;
}

static int locate_one(struct bkt_dsetio *io, const uint64_t *coord, struct bkt_reference *loc,
                      struct bkt_err *err)
{
    struct bkt_references_find q = {.io = io, .coords = coord, .n = 1, .out = loc};
    return bkt_references_find(&q, 1, err);
}

int bkt_chunk_locate(struct bkt_dsetio *io, const uint64_t *coord, struct bkt_chunk_info *out,
                     struct bkt_err *err)
{
    *out = (struct bkt_chunk_info){0};
    BKT_PASS(check_coord(io, coord, err));
    if (io->where != BKT_AT_OBJECTS) {
        struct bkt_reference loc;
        BKT_PASS(locate_one(io, coord, &loc, err));
        if (loc.file)
            *out = (struct bkt_chunk_info){true, loc.off, loc.size, loc.mask, loc.file->uri};
        return BKT_OK;
    }
    struct bkt_chunk_list one = {.rank = io->rank};
    int rc = bkt_chunk_list_add(coord, &(struct bkt_chunk_info){.exists = true, .offset = BKT_WHOLE}, &one);
    if (rc == BKT_OK)
        rc = bkt_chunk_list_look(io, bkt_chunk_list_op(io), &one, 0, err);
    if (rc == BKT_OK && bkt_chunk_list_at(&one, 0)->info.exists)
        *out = bkt_chunk_list_at(&one, 0)->info;
    bkt_buf_fini(&one.v);
    if (rc == BKT_ENOMEM)
        BKT_NOMEM(err);
    return rc;
}

int bkt_chunk_read_raw(struct bkt_dsetio *io, const uint64_t *coord, struct bkt_buf *out,
                       uint32_t *filter_mask, struct bkt_err *err)
{
    struct bkt_reference loc = {0};
    BKT_PASS(check_coord(io, coord, err));
    bkt_buf_clear(out);
    *filter_mask = 0;
    if (io->where == BKT_AT_OBJECTS) {
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
        BKT_PASS_MEM(err, bkt_chunk_key(&io->obj->id, &io->ds->layout, coord, &key));
        BKT_PASS(bkt_chunks_flush_dataset(io->dom, &io->obj->id, err));
        BKT_TRY(err, bkt_store_get(bkt_domain_store(io->dom), bkt_buf_str(&key), 0, BKT_WHOLE, out, err),
                "%s", bkt_chunk_label(io, coord).text);
        size_t head = io->hdf5 && io->pipe.n ? bkt_chunk_object_head(out->ptr, out->len, filter_mask) : 0;
        if (head) {
            memmove(out->ptr, out->ptr + head, out->len - head);
            bkt_buf_cut(out, out->len - head);
        }
        return head ? BKT_OK : bkt_chunk_object_as_hdf5(io, out, filter_mask, err);
    }
    BKT_PASS(locate_one(io, coord, &loc, err));
    BKT_FAIL_IF(err, !loc.file, BKT_ENOENT, "%s is not allocated", bkt_chunk_label(io, coord).text);
    *filter_mask = loc.mask;
    BKT_TRY(err, bkt_store_get(loc.file->store, loc.file->key, loc.off, loc.size, out, err), "%s",
            bkt_chunk_label(io, coord).text);
    return BKT_OK;
}

/* ---- all of them ---- */

static int iter_listed(struct bkt_dsetio *io, const uint64_t *grid, bkt_chunk_fn *each, void *arg)
{
    const struct bkt_layout *l    = &io->ds->layout;
    const unsigned           rank = io->rank;
    for (size_t i = 0; i < l->n_chunks; i++) {
        const uint64_t             *coord  = l->chunk_coords + i * rank;
        const struct bkt_chunk_ref *c      = &l->chunks[i];
        struct bkt_chunk_info info = {true, c->offset, c->size, bkt_reference_mask(io, c->mask, c->size),
                                      l->file_uri};
        bool                        inside = info.size != 0;
        struct bkt_err              why    = {.n = 0};
        for (unsigned d = 0; d < rank; d++)
            inside &= coord[d] < grid[d];
        if (inside && io->bad_place && bkt_reference_check(io, coord, info.offset, info.size, &why) < 0) {
            io->bad_place(coord, &why, io->bad_arg);
            inside = false;
        }
        if (inside)
            BKT_PASS(each(coord, &info, arg));
    }
    return BKT_OK;
}

int bkt_chunk_iter(struct bkt_dsetio *io, bkt_chunk_fn *each, void *arg, struct bkt_err *err)
{
    uint64_t grid[BKT_MAX_RANK];
    BKT_PASS(usable(io, err));
    if (!bkt_dsetio_grid(io, grid))
        return BKT_OK;
    switch (io->where) {
    case BKT_AT_NONE: return BKT_OK;
    case BKT_AT_OBJECTS:
        return bkt_chunk_objects_each(io, grid, true, each, arg, err);
    case BKT_AT_CHUNKS: return iter_listed(io, grid, each, arg);
    case BKT_AT_CONTIGUOUS:
    case BKT_AT_TABLE: break;
    }
    return table_walk(io, grid, each, arg, err);
}

struct usage {
    uint64_t bytes, n;
};

static int add_usage(const uint64_t *coord, const struct bkt_chunk_info *info, void *arg)
{
    struct usage *u = arg;
    (void)coord;
    u->n++;
    if (!bkt_add_u64(u->bytes, info->size, &u->bytes))
        u->bytes = UINT64_MAX;
    return BKT_OK;
}

int bkt_dsetio_storage_size(struct bkt_dsetio *io, uint64_t *bytes, uint64_t *n_chunks, struct bkt_err *err)
{
    struct usage u = {0, 0};
    uint64_t     grid[BKT_MAX_RANK];
    if (io->where == BKT_AT_OBJECTS &&
        bkt_write_cache_knows(io)) { /* earlier lists are outdated by the writes */
        BKT_PASS(bkt_chunks_flush_dataset(io->dom, &io->obj->id, err));
        if (bkt_dsetio_grid(io, grid))
            BKT_PASS(bkt_chunk_objects_each(io, grid, false, add_usage, &u, err));
    } else if (io->where == BKT_AT_OBJECTS) {
        struct bkt_err why = {.n = 0};
        int            rc  = bkt_domain_chunk_usage(io->dom, io->obj, bytes, n_chunks, &why);
        if (rc != BKT_EUNSUP || !bkt_dsetio_grid(io, grid)) /* bkt_domain_chunk_usage() gives up early, as it
                                                       only counts */
            return rc < 0 ? bkt_err_copy(err, rc, &why) : BKT_OK;
        BKT_PASS(bkt_chunk_objects_each(io, grid, false, add_usage, &u, err));
    } else {
        BKT_PASS(bkt_chunk_iter(io, add_usage, &u, err));
    }
    if (bytes)
        *bytes = u.bytes;
    if (n_chunks)
        *n_chunks = u.n;
    return BKT_OK;
}

/* All chunks in a chunk table, in grid order.  A table of many rows may be as sparse as the dataset.  So only
 * rows in the table's own stored chunks are read: the work depends on what is stored, and never on the
 * grid. */

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
    BKT_FAIL_IF(err, !t->zero_fill, BKT_EUNSUP,
                "dataset %s: chunk table %s has rows that aren't stored, with a fill value, and too many of "
                "them to be "
                "listed",
                io->obj->id.text, t->obj->id.text);
    BKT_PASS(bkt_chunks_flush_dataset(t->dom, &t->obj->id, err));
    for (unsigned d = 0; d < w->rank; d++) {
        w->shape[d] = t->cdims[d];
        grid[d]     = bkt_ceil_div(w->grid[d], t->cdims[d]);
    }
    return t->where == BKT_AT_OBJECTS ? bkt_chunk_objects_each(t, grid, false, keep_box, w, err)
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

/* Locates a batch of chunks; *n: their number; 0 at the end. */
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
    BKT_NEED(err, coords && locs);
    while (n)
        BKT_PASS(each_located(io, w, coords, locs, &n, each, arg, err));
    return BKT_OK;
}

static int walk_sorted(struct bkt_dsetio *io, struct walk *w, bkt_chunk_fn *each, void *arg,
                       struct bkt_err *err)
{
    struct bkt_chunk_list c = {.rank = io->rank};
    int rc = walk_all(io, w, bkt_chunk_list_add, &c, err);
    if (rc == BKT_OK)
        rc = bkt_chunk_list_each(&c, each, arg);
    bkt_buf_fini(&c.v);
    return rc;
}

/* All chunks of a dataset that isn't stored as objects, in grid order.  @p grid: chunks per dimension; it is
 *  changed. */
static int table_walk(struct bkt_dsetio *io, uint64_t *grid, bkt_chunk_fn *each, void *arg,
                      struct bkt_err *err)
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
