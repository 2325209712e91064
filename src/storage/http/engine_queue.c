/* Exchanges that wait: for a connection to a server, which a thread is chosen for, or for their time.  See
 * engine_impl.h. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "storage/http/engine_impl.h"
#include "base/num.h"
#include "storage/http/tls.h"

/* TLS handshakes that may be under way before there is a session to resume.  Opening a domain needs no more
 * connections at once, and each full handshake costs both sides CPU time. */
#define FIRST_TLS 8

struct host *bkt_host_of(struct engines *all, const struct bkt_net *net)
{
    for (struct host *h = atomic_load(&all->hosts); h; h = h->next)
        if (strcmp(h->origin, net->origin) == 0)
            return h;
    struct host *made = calloc(1, sizeof *made), *h;
    if (!made || !(made->origin = strdup(net->origin))) {
        free(made);
        return NULL;
    }
    made->all = all;
    made->tls = bkt_tls_is_https(net->origin);
    bkt_pace_init(made);
    (void)pthread_mutex_lock(&all->lock);
    for (h = atomic_load(&all->hosts); h && strcmp(h->origin, net->origin) != 0; h = h->next)
        continue;
    if (!h) {
        made->next = atomic_load(&all->hosts);
        atomic_store(&all->hosts, made);
    }
    (void)pthread_mutex_unlock(&all->lock);
    if (!h)
        return made;
    (void)pthread_mutex_destroy(&made->lock); /* another thread created it first */
    free(made->origin);
    free(made);
    return h;
}

void bkt_host_enqueue(struct host *h, struct bkt_xfer *x)
{
    x->assigned = false;
    (void)pthread_mutex_lock(&h->lock);
    x->next = x->first_in_line ? h->head : NULL;
    if (!h->head)
        h->head = h->tail = x;
    else if (x->first_in_line)
        h->head = x;
    else
        h->tail = h->tail->next = x;
    h->n_waiting++;
    atomic_store(&h->queued, true);
    (void)pthread_mutex_unlock(&h->lock);
}

/* One exchange goes first until the server's name has been looked up.  Over TLS only few go until the server
 * has answered once; then all others resume a session of theirs. */
static bool may_begin(struct host *h, const struct bkt_xfer *x)
{
    bool known = atomic_load(&h->known);
    unsigned first = !known                                                      ? 1
                     : atomic_load(&h->answered) || !h->tls ? UINT_MAX
                                                                                 : FIRST_TLS;
    return h->active < first && (!known || bkt_pace_may_begin(h, x));
}

/* Prefer threads with an idle connection.  Among these, take the thread with the fewest exchanges, and this
 * thread first. */
static unsigned choose(const struct host *h, const struct bkt_xfer *x)
{
    const struct engine *self = bkt_engine_current();
    unsigned n = x->net->io_threads, best = 0, least = UINT_MAX;
    for (unsigned i = 0; i < n; i++) {
        bool idle = atomic_load(&h->at[i].kept) > h->at[i].active;
        unsigned cost = 2 * h->at[i].active + (self && self->all == h->all && self->index == i ? 0 : 1) +
                        (idle ? 0 : UINT_MAX / 2);
        if (cost < least) {
            least = cost;
            best = i;
        }
    }
    return best;
}

/* Assign the first exchange to a thread, if it may begin; NULL: it may not, or none waits.  The host is
 * locked. */
static struct bkt_xfer *take(struct host *h)
{
    struct bkt_xfer *x = h->head;
    if (!x || !may_begin(h, x))
        return NULL;
    if (!(h->head = x->next))
        h->tail = NULL;
    h->n_waiting--;
    unsigned i = choose(h, x);
    x->engine = &h->all->at[i];
    x->assigned = true;
    if (h->active == 0)
        h->moved_ms = bkt_engine_now();
    h->active++;
    h->at[i].active++;
    return x;
}

struct bkt_xfer *bkt_host_dispatch(struct host *h)
{
    struct bkt_xfer *given = NULL, **end = &given, *next, *left = NULL;
    (void)pthread_mutex_lock(&h->lock);
    for (struct bkt_xfer *x; (x = take(h)); end = &x->next)
        *end = x;
    *end = NULL;
    atomic_store(&h->queued, h->head != NULL);
    (void)pthread_mutex_unlock(&h->lock);
    for (struct bkt_xfer *x = given; x; x = next) {
        next = x->next;
        if (bkt_engine_hand_over(x->engine, x))
            continue;
        bkt_host_release(h, x->engine);
        x->next = left;
        left = x;
    }
    return left;
}

void bkt_host_release(struct host *h, const struct engine *e)
{
    (void)pthread_mutex_lock(&h->lock);
    h->active--;
    h->at[e->index].active--;
    (void)pthread_mutex_unlock(&h->lock);
}

struct bkt_xfer *bkt_host_cancelled(struct host *h)
{
    struct bkt_xfer *gone = NULL, **end = &gone;
    (void)pthread_mutex_lock(&h->lock);
    h->tail = NULL;
    for (struct bkt_xfer **at = &h->head; *at;) {
        struct bkt_xfer *x = *at;
        if (!x->cancel || !atomic_load(x->cancel)) {
            h->tail = x;
            at = &x->next;
            continue;
        }
        *at = x->next;
        h->n_waiting--;
        *end = x;
        end = &x->next;
    }
    *end = NULL;
    atomic_store(&h->queued, h->head != NULL);
    (void)pthread_mutex_unlock(&h->lock);
    return gone;
}

struct bkt_xfer *bkt_host_empty(struct host *h)
{
    (void)pthread_mutex_lock(&h->lock);
    struct bkt_xfer *x = h->head;
    h->head = h->tail = NULL;
    h->n_waiting = 0;
    atomic_store(&h->queued, false);
    (void)pthread_mutex_unlock(&h->lock);
    return x;
}

/* ---- exchanges that wait for their time ---- */

/* One heap becomes the other's first child; if both have the same time, @p a stays above.  Neither has
 * siblings. */
static struct bkt_xfer *meld(struct bkt_delay *d, struct bkt_xfer *a, struct bkt_xfer *b)
{
    if (!a || !b)
        return a ? a : b;
    d->steps++;
    struct bkt_xfer *up = b->not_before_ms < a->not_before_ms ? b : a, *down = up == a ? b : a;
    down->next          = up->prev;
    up->prev            = down;
    return up;
}

void bkt_delay_add(struct bkt_delay *d, struct bkt_xfer *x)
{
    x->next = x->prev = NULL;
    d->first          = meld(d, d->first, x);
}

/* Meld the children in pairs, then the pairs from the last to the first.  This order makes the cost O(log
 * n). */
struct bkt_xfer *bkt_delay_take(struct bkt_delay *d)
{
    struct bkt_xfer *x = d->first, *pairs = NULL;
    if (!x)
        return NULL;
    for (struct bkt_xfer *a = x->prev, *b, *rest; a; a = rest) {
        b    = a->next;
        rest = b ? b->next : NULL;
        a->next = NULL;
        if (b)
            b->next = NULL;
        struct bkt_xfer *pair = meld(d, a, b);
        pair->next            = pairs;
        pairs                 = pair;
    }
    d->first = NULL;
    while (pairs) {
        struct bkt_xfer *pair = pairs;
        pairs                 = pair->next;
        pair->next            = NULL;
        d->first              = meld(d, pair, d->first);
    }
    x->next = x->prev = NULL;
    return x;
}
