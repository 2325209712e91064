/* Whole chunks of a large request, from the caller's memory into the store.  Inside src/chunk. */
#ifndef BKT_WRITE_DIRECT_H
#define BKT_WRITE_DIRECT_H

#include "chunk/write/plan.h"

struct bkt_direct_task;

/** The direct writes of one bkt_dataset_write(). */
struct bkt_direct {
    pthread_mutex_t lock;
    pthread_cond_t  wake;
    size_t          n; /* tasks under way or ready */
    struct bkt_direct_task *next, *last; /* ready tasks: begun as soon as there is room, by the thread that
                                            makes it */
    size_t          n_next;
    uint64_t        in_flight, n_events; /* bytes under way; counts how often there was room for more */
    int             rc; /* of the first failure */
    struct bkt_err  err;
    atomic_bool     cancel;
    struct bkt_domain *dom; /* domain of the last task started */
};

/** Prepare @p r, with nothing under way. */
void bkt_direct_init(struct bkt_direct *r);
/** Store touched chunk k, all of which is selected.  Waits only for room.  @p started: false: the cache has
 *  to store it. */
BKT_NODISCARD int bkt_direct_start(struct bkt_direct *r, const struct bkt_wplan *p, uint64_t k, const uint64_t *coord, bool *started,
                                   struct bkt_err *err);
bool bkt_direct_is_busy(struct bkt_direct *r);
void bkt_direct_wait(struct bkt_direct *r); /* waits for all tasks under way */
/** Wait for all tasks, and give the first failure.  Frees what bkt_direct_init() made. */
BKT_NODISCARD int bkt_direct_finish(struct bkt_direct *r, struct bkt_err *err);

#endif
