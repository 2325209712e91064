/* Exchanges that wait for their time: a pairing heap by not_before_ms, threaded through next (sibling) and
 * prev (first child), so that it allocates no memory.  Adding an exchange is one step, taking the first O(log
 * n) steps on average.  Not locked. */
#ifndef BKT_DELAY_H
#define BKT_DELAY_H

#include "storage/http/engine.h"

struct bkt_delay {
    struct bkt_xfer *first; /* the exchange whose time comes first; NULL: the heap is empty */
    uint64_t         steps; /* comparisons so far; for tests */
};

/** Add @p x, which waits for its not_before_ms and is in no other list. */
void bkt_delay_add(struct bkt_delay *d, struct bkt_xfer *x);
/** Remove and return the first exchange; NULL: the heap is empty. */
struct bkt_xfer *bkt_delay_take(struct bkt_delay *d);

#endif
