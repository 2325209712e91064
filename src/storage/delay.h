/* Exchanges that wait for their time: a pairing heap by not_before_ms, threaded through next (sibling) and prev (first child),
 * so that it takes no memory.  Adding one is a step, taking the first O(log n) steps on average.  Not locked. */
#ifndef BKT_DELAY_H
#define BKT_DELAY_H

#include "engine.h"

struct bkt_delay {
    struct bkt_xfer *first; /* whose time comes first; NULL: there is none */
    uint64_t         steps; /* comparisons so far; for tests */
};

/** @p x waits for its not_before_ms; it is in no other list. */
void bkt_delay_add(struct bkt_delay *d, struct bkt_xfer *x);
/** Take out the first; NULL: there is none. */
struct bkt_xfer *bkt_delay_take(struct bkt_delay *d);

#endif
