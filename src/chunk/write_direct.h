/* Whole chunks of a large request, from the caller's memory into the store.  Inside src/chunk. */
#ifndef BKT_WRITE_DIRECT_H
#define BKT_WRITE_DIRECT_H

#include "write_plan.h"

struct bkt_direct_task;

/** One bkt_dataset_write()'s. */
struct bkt_direct {
    pthread_mutex_t lock;
    pthread_cond_t  wake;
    size_t          n; /* under way, or ready for it */
    struct bkt_direct_task *next, *last; /* ready: begun as soon as there is room, by the thread that makes it */
    size_t          n_next;
    uint64_t        in_flight, n_events; /* bytes; how often there has been room for more */
    int             rc; /* of the first failure */
    struct bkt_err  err;
    atomic_bool     cancel;
    struct bkt_domain *dom; /* that the last one started is for */
};

/** Nothing is under way. */
void bkt_direct_init(struct bkt_direct *r);
/** Store touched chunk k, all of which is selected; waits for room only.  @p started: false, the cache has to do it. */
BKT_NODISCARD int bkt_direct_start(struct bkt_direct *r, const struct bkt_wplan *p, uint64_t k, const uint64_t *coord, bool *started,
                                   struct bkt_err *err);
bool bkt_direct_is_busy(struct bkt_direct *r);
void bkt_direct_wait(struct bkt_direct *r); /* for all that is under way */
/** Wait for all; the first failure.  Frees what init made. */
BKT_NODISCARD int bkt_direct_finish(struct bkt_direct *r, struct bkt_err *err);

#endif
