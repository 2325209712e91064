/* Selection x chunk grid: which chunks a selection touches, and the runs of elements in each.
 *
 * A run is a stretch of elements that are neighbours in the chunk and in selection order:
 *   off  where it begins in the chunk, in elements, row-major in the full chunk shape
 *   seq  its place in selection order: the number of elements selected before it
 *   len  elements
 * Runs of a chunk are numbered, in ascending off, so that a part of them can be named by two numbers. Regular
 * selections are never expanded: the n-th chunk and its r-th run are computed.  Irregular ones are cut at
 * chunk borders and sorted by chunk once.  Pure arithmetic: any thread, nothing fetched. */
#pragma once

#include <string.h>

#include "chunk/select/selection.h"

struct bkt_grid_span { /* one chunk index of one dimension, and the selected ordinals that fall into it */
    uint64_t chunk, lo, hi;
};
struct bkt_grid_piece { /* irregular: one run */
    uint64_t chunk, off, seq, len;
};
struct bkt_grid {
    unsigned rank;                /* at least 1: a scalar is one element */
    uint64_t dims[BKT_MAX_RANK], cdims[BKT_MAX_RANK];
    uint64_t n_grid[BKT_MAX_RANK]; /* chunks per dimension */
    uint64_t cstride[BKT_MAX_RANK]; /* elements of a chunk per step of each dimension */
    uint64_t n_chunks;            /* touched */
    uint64_t n_elems;             /* selected */
    uint64_t chunk_elems;         /* of a full chunk */
    bool     irregular;
    /* regular */
    uint64_t start[BKT_MAX_RANK], stride[BKT_MAX_RANK], block[BKT_MAX_RANK], n_sel[BKT_MAX_RANK];
    uint64_t sstride[BKT_MAX_RANK]; /* selected elements per step of each dimension's ordinal */
    struct bkt_grid_span *span[BKT_MAX_RANK];
    uint64_t n_span[BKT_MAX_RANK];
    /* irregular */
    struct bkt_grid_piece *piece;
    size_t   n_pieces;
    size_t  *first;               /* pieces of touched chunk k: first[k] .. first[k+1]-1 */
};

/** Find the chunks that a selection touches.  Call bkt_grid_fini() also after a failure.
 *  @param sel    selection in the dataset; borrowed for the call
 *  @param cdims  chunk shape, of sel->rank entries (one for a scalar)
 *  @return BKT_OK; BKT_EFORMAT: chunk dimension 0, or numbers that do not fit 64 bits; BKT_EINVAL: selection
 *          outside the extent; BKT_ENOMEM */
BKT_NODISCARD int bkt_grid_init(struct bkt_grid *g, const struct bkt_sel *sel, const uint64_t *cdims,
                                struct bkt_err *err);
void              bkt_grid_fini(struct bkt_grid *g); /* NULL is allowed */
/** Make a grid that touches nothing; its arrays aren't cleared. */
void              bkt_grid_none(struct bkt_grid *g);

/** Grid coordinate of the k-th touched chunk (grid order), g->rank entries. */
void bkt_grid_coord(const struct bkt_grid *g, uint64_t k, uint64_t *coord);
/** Row-major place of a coordinate in the grid of all chunks. */
uint64_t bkt_grid_linear(const struct bkt_grid *g, const uint64_t *coord);
/** Number of runs of chunk k. */
uint64_t bkt_grid_n_runs(const struct bkt_grid *g, uint64_t k);
/** Number of selected elements of chunk k. */
uint64_t bkt_grid_n_elems(const struct bkt_grid *g, uint64_t k);

struct bkt_grid_run {
    uint64_t off, seq, len;
};
struct bkt_grid_iter {
    const struct bkt_grid *g;
    uint64_t at, end;              /* runs */
    const struct bkt_grid_piece *piece; /* irregular: of run 0 */
    unsigned m;                    /* regular: the dimension whose stretches are the runs */
    uint64_t seg, n_segs;
    uint64_t lo[BKT_MAX_RANK], hi[BKT_MAX_RANK], ord[BKT_MAX_RANK],
        org[BKT_MAX_RANK];         /* org: the chunk's first coordinate */
    uint64_t base_off, base_seq;   /* of the outer dimensions' ordinals */
};
/** Runs first .. first+n-1 of chunk k (cut off at its last). */
void bkt_grid_iter(struct bkt_grid_iter *it, const struct bkt_grid *g, uint64_t k, uint64_t first,
                   uint64_t n);
/** The next run; false at the end. */
bool bkt_grid_next(struct bkt_grid_iter *it, struct bkt_grid_run *run);
/** Whether all elements of chunk k are selected, as one run. */
bool bkt_grid_is_whole(const struct bkt_grid *g, uint64_t k, struct bkt_grid_run *run);

/* ---- mem_layout.c: selection order -> place in memory ---- */
struct bkt_mem_layout {
    enum { BKT_MEM_FLAT, BKT_MEM_HYPER, BKT_MEM_RUNS } kind;
    unsigned  rank;
    uint64_t  n_elems;
    uint64_t start[BKT_MAX_RANK], stride[BKT_MAX_RANK], block[BKT_MAX_RANK], n_sel[BKT_MAX_RANK],
        mstride[BKT_MAX_RANK];
    const struct bkt_run *runs; /* borrowed from the selection */
    size_t    n_runs;
    uint64_t *before;           /* elements before each run */
};
/** Find where elements of a selection lie in memory.
 *  @param sel  NULL: contiguous from 0
 *  @return as bkt_grid_init() */
BKT_NODISCARD int bkt_mem_layout_init(struct bkt_mem_layout *m, const struct bkt_sel *sel,
                                      struct bkt_err *err);
/** As bkt_mem_layout_init(), for the selection of @p g; BKT_EINVAL: @p sel has another number of
 *  elements. */
BKT_NODISCARD int bkt_mem_layout_for(struct bkt_mem_layout *m, const struct bkt_sel *sel,
                                     const struct bkt_grid *g, struct bkt_err *err);
void              bkt_mem_layout_fini(struct bkt_mem_layout *m); /* NULL is allowed */
/** A layout that owns nothing, for bkt_mem_layout_fini(). */
void              bkt_mem_layout_none(struct bkt_mem_layout *m);
/** The place of element @p seq of the selection.  Gives how many elements from there on are contiguous (>=
 *  1).
 *  @param hint  the caller's cursor, 0 at first */
uint64_t bkt_mem_layout_at(const struct bkt_mem_layout *m, uint64_t seq, uint64_t *off, size_t *hint);

/** Copies contiguous bytes.  Most often that is one element, whose size as a constant becomes a single
 *  move. */
static inline void bkt_copy_run(unsigned char *to, const unsigned char *from, size_t n)
{
    switch (n) {
    case 1: *to = *from; break;
    case 2: memcpy(to, from, 2); break;
    case 4: memcpy(to, from, 4); break;
    case 8: memcpy(to, from, 8); break;
    default: memcpy(to, from, n);
    }
}
