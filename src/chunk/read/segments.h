/* The parts of one bkt_read_now(): targets (the datasets that are read), segments (bytes of files that serve
 * them), and the copying between chunks and the caller's memory. */
#pragma once

#include "chunk/read/references.h"
#include "chunk/select/grid.h"

/** One dataset's read. */
struct bkt_target {
    struct bkt_read   *rd;
    struct bkt_dsetio *io;
    struct bkt_grid    grid;
    struct bkt_mem_layout  mem;
    unsigned char     *dst;
    size_t             out_size; /* bytes of an element there */
    const struct bkt_overlay *over; /* elements that are not yet stored; NULL: there are no such elements */
    struct bkt_slice  *slices; /* variable-size types */
    /* variable-size types: the chunk that slices point into, per touched chunk */
    struct bkt_cache_entry **held;
};
/** Compute grid and memory of one read; @p rd is borrowed until bkt_target_fini().  BKT_EINVAL: the
 *  selections don't match; BKT_ENOMEM. */
BKT_NODISCARD int bkt_target_init(struct bkt_target *t, struct bkt_read *rd, struct bkt_err *err);
void              bkt_target_fini(struct bkt_target *t);
/** Row-major place of the k-th touched chunk in the grid; chunks are cached under it. */
uint64_t          bkt_target_linear(const struct bkt_target *t, uint64_t k);

/** Bytes of a file, and their purpose: a whole filtered chunk, or runs of an unfiltered one. */
struct bkt_read_segment {
    struct bkt_target     *t;
    struct bkt_chunk_file *file;
    uint64_t               k;          /* touched chunk of the target's grid */
    uint64_t               off, len;   /* in the file */
    uint64_t               chunk_off;  /* where the chunk begins in the file */
    uint64_t               run, n_runs;
    uint64_t               skip, take; /* elements of a run that was cut; take 0: whole runs */
    uint32_t               mask;
    bool                   filtered;
};
struct bkt_read_segments {
    struct bkt_read_segment *v;
    size_t          n, cap;
    struct bkt_chunk_file **own; /* chunk objects that are read in part */
    size_t          n_own, cap_own;
};
/** Release the list.  The chunks that segments point to belong to the target. */
void bkt_read_segments_fini(struct bkt_read_segments *s);
struct bkt_limits {
    uint64_t part, merge, gap; /* bytes */
    uint64_t far_gap;          /* gap between ranges that are at least as long themselves: the bytes that a
                                  round trip is worth */
    bool     keep;             /* results go to the caches */
    bool     blind;            /* the read has no destination and only fills the caches */
};
/** Add the segments of chunk k of the target, from its place. */
BKT_NODISCARD int bkt_read_segments_add(struct bkt_read_segments *s, struct bkt_target *t, uint64_t k,
                                        const struct bkt_reference *loc, const struct bkt_limits *lim,
                                        struct bkt_err *err);
/** Bytes: a chunk object no larger than this is fetched whole.  Its other elements are likely to be wanted,
 *  and cost less than a round trip. */
#define BKT_SLICE_MIN (128u << 10)
/** Add slices of a chunk object whose bytes are the elements, if they are far less than all of it.
 *  *added: false: better fetch it whole. */
BKT_NODISCARD int bkt_read_segments_add_slice(struct bkt_read_segments *s, struct bkt_target *t, uint64_t k,
                                              const struct bkt_limits *lim, bool *added, struct bkt_err *err);
/** Whether bkt_read_segments_add_slice() certainly takes slices of each of the target's chunk objects, unless
 * half of the object or more is wanted.  So at most twice the wanted bytes are fetched. */
bool bkt_target_in_slices(const struct bkt_target *t);
/** Number of segments from i on that are fetched as one range, and the range's length. */
size_t bkt_read_segments_span(const struct bkt_read_segments *s, size_t i, const struct bkt_limits *lim,
                              uint64_t *len);

/** Segments that are fetched together, and the bytes that are fetched for them. */
struct bkt_range {
    struct bkt_read_segment *segs; /* n_segs of them; the needed bytes begin with segs[0] */
    size_t          n_segs, n_filtered;
    uint64_t        need_end; /* in the file */
    uint64_t        off, len; /* fetched: with the bytes around, where neighbours are expected */
    uint64_t        block;    /* length to which small ranges grow; 0: no bytes around are fetched */
    uint64_t        before;   /* bytes that the cache held right before it */
    bool            keep;     /* the fetched bytes go to the cache */
};
struct bkt_ranges {
    struct bkt_range *v; /* owned by the caller, to be freed by free(); they point into the segments */
    size_t            n;
};
/** Sort the segments and decide which ranges are merged, widened and kept.  Call it before any segment is
 * fetched, since it looks into the cache.  BKT_ENOMEM. */
BKT_NODISCARD int bkt_ranges_plan(struct bkt_ranges *out, struct bkt_read_segments *segs,
                                  const struct bkt_limits *lim, struct bkt_err *err);
/** The memory to which the bytes of segs[0..n) can go unchanged; NULL: they can't. */
unsigned char *bkt_scatter_direct(const struct bkt_read_segment *segs, size_t n);

/* ---- decode_task.c ---- */
/** Copy or convert a segment's elements to their places in memory.  @p src: its bytes from s->off on. */
void bkt_scatter_segment(const struct bkt_read_segment *s, const unsigned char *src);
/** Make slices into @p e, which the target holds from now on (takes the reference over). */
void bkt_scatter_var(struct bkt_target *t, uint64_t k, struct bkt_cache_entry *e);
/** Memory of the whole chunk k if all of it is selected and goes to one place; else NULL. */
unsigned char *bkt_scatter_whole(const struct bkt_target *t, uint64_t k);
