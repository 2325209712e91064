/* Exchanges that wait for their time: a pairing heap (struct bkt_delay). */
#include "storage/http/engine_impl.h"

/* One heap becomes the other's first child; if both have the same time, @p a stays above.  Neither has
 * siblings. */
static struct bkt_xfer *meld(struct bkt_delay *d, struct bkt_xfer *a, struct bkt_xfer *b)
{
    if (!a || !b)
        return a ? a : b;
    d->steps++;
    struct bkt_xfer *up = b->not_before_ms < a->not_before_ms ? b : a, *down = up == a ? b : a;
    down->next = up->prev;
    up->prev = down;
    return up;
}

void bkt_delay_add(struct bkt_delay *d, struct bkt_xfer *x)
{
    x->next = x->prev = NULL;
    d->first = meld(d, d->first, x);
}

/* Meld the children in pairs, then the pairs from the last to the first.  This order makes the cost O(log
 * n). */
struct bkt_xfer *bkt_delay_take(struct bkt_delay *d)
{
    struct bkt_xfer *x = d->first, *pairs = NULL;
    if (!x)
        return NULL;
    for (struct bkt_xfer *a = x->prev, *b, *rest; a; a = rest) {
        b = a->next;
        rest = b ? b->next : NULL;
        a->next = NULL;
        if (b)
            b->next = NULL;
        struct bkt_xfer *pair = meld(d, a, b);
        pair->next = pairs;
        pairs = pair;
    }
    d->first = NULL;
    while (pairs) {
        struct bkt_xfer *pair = pairs;
        pairs = pair->next;
        pair->next = NULL;
        d->first = meld(d, pair, d->first);
    }
    x->next = x->prev = NULL;
    return x;
}
