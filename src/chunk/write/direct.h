/* Whole chunks of a large request, from the caller's memory into the store.  Inside src/chunk. */
#ifndef BKT_WRITE_DIRECT_H
#define BKT_WRITE_DIRECT_H

#include "chunk/write/plan.h"

struct bkt_direct_task;

/** The direct writes of one bkt_write_datasets(). */
struct bkt_direct {
    struct bkt_window window;            /* tasks under way or ready; its lock guards the members below */
    struct bkt_direct_task *next, *last; /* ready tasks: begun as soon as there is room, by the thread that
                                            makes it.  Their bytes are not yet counted */
    size_t n_next;
    int             rc; /* of the first failure */
    struct bkt_err  err;
    atomic_bool     cancel;
    struct bkt_domain *dom; /* domain of the last task started */
};

/** Prepare @p r, with nothing under way and at most @p limit bytes to be. */
void bkt_direct_init(struct bkt_direct *r, uint64_t limit);
/** Store touched chunk k, all of which is selected.  Waits only for room.  @p started: false: the cache has
 *  to store it. */
BKT_NODISCARD int bkt_direct_start(struct bkt_direct *r, const struct bkt_write_plan *p, uint64_t k,
                                   const uint64_t *coord, bool *started, struct bkt_err *err);
bool bkt_direct_is_busy(struct bkt_direct *r);
void bkt_direct_wait(struct bkt_direct *r); /* waits for all tasks under way */
/** Wait for all tasks, and give the first failure.  Frees what bkt_direct_init() made. */
BKT_NODISCARD int bkt_direct_finish(struct bkt_direct *r, struct bkt_err *err);

#endif
