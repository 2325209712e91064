/* One dataset's part of a bkt_write_datasets(). */
#pragma once

#include "chunk/write/write_cache.h"

struct bkt_write_plan {
    const struct bkt_write *w;
    struct bkt_dsetio *io;
    struct bkt_grid grid;
    struct bkt_mem_layout mem; /* fixed-size types */
    struct bkt_wset *ws;
};

/** Plan a write, after checking it.  bkt_write_plan_fini() in any case. */
BKT_NODISCARD int bkt_write_plan_init(struct bkt_write_plan *p, const struct bkt_write *w,
                                      struct bkt_err *err);
void bkt_write_plan_fini(struct bkt_write_plan *p);
/** Check that the dataset can be written; BKT_EUNSUP gives the reason. */
BKT_NODISCARD int bkt_write_check(const struct bkt_dsetio *io, struct bkt_err *err);
/** Make touched chunk k, at @p coord, in @p dst: the selected elements, and the fill value where no element
 * can ever be inside the dataset.  All others must be selected. */
BKT_NODISCARD int bkt_write_plan_gather(const struct bkt_write_plan *p, uint64_t k, const uint64_t *coord,
                                        unsigned char *dst, struct bkt_err *err);
/** Copy a run of elements from the caller's memory.  @p hint: as in bkt_mem_layout_at() */
void bkt_write_plan_copy(const struct bkt_write_plan *p, struct bkt_grid_run run, size_t *hint,
                         unsigned char *to);
/** The whole chunk in the caller's memory; NULL: it doesn't lie there in one piece. */
const unsigned char *bkt_write_plan_whole(const struct bkt_write_plan *p, uint64_t k);
/** Drop readers' cached copies of a chunk, since they are outdated. */
void bkt_write_drop_cached(struct bkt_dsetio *io, const uint64_t *coord);
/** Put the fill value into n elements. */
BKT_NODISCARD int bkt_wchunk_fill_var(struct bkt_wchunk *c, uint64_t off, uint64_t n, struct bkt_err *err);
/** Put one variable-size element in stored form into a chunk; lock held (overlay.c).  BKT_EINVAL: the
 * bytes are not one element */
BKT_NODISCARD int bkt_wchunk_put_element(struct bkt_wchunk *c, uint64_t off, const struct bkt_slice *s,
                                         struct bkt_err *err);
/** Put variable-size elements into a chunk; lock held (overlay.c). */
BKT_NODISCARD int bkt_wchunk_put_var(struct bkt_wchunk *c, const struct bkt_write_plan *p, uint64_t k,
                                     struct bkt_err *err);

/** The writes of one bkt_write_datasets() that don't pass the cache. */
struct bkt_uncached_write {
    struct bkt_window window; /* tasks under way; its lock guards the members below */
    int rc;                   /* of the first failure */
    struct bkt_err err;
    atomic_bool cancel;
    struct bkt_domain *dom; /* domain of the last task started */
};

/** Prepare @p r.  Nothing is under way yet; at most @p limit bytes will be. */
void bkt_uncached_write_init(struct bkt_uncached_write *r, uint64_t limit);
/** Store touched chunk k, all of which is selected.  Waits only for room.
 *  @param started  false: the caller has to put the chunk into the cache */
BKT_NODISCARD int bkt_uncached_write_start(struct bkt_uncached_write *r, const struct bkt_write_plan *p,
                                           uint64_t k, const uint64_t *coord, bool *started,
                                           struct bkt_err *err);
void bkt_uncached_write_wait(struct bkt_uncached_write *r); /* waits for all tasks under way */
/** Wait for all tasks, and give the first failure.  Frees what bkt_uncached_write_init() made. */
BKT_NODISCARD int bkt_uncached_write_finish(struct bkt_uncached_write *r, struct bkt_err *err);
