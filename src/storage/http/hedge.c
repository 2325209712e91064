/* A late exchange is sent a second time.  The first leg that answers is the exchange from then on, so only
 * one body is ever received.  If a body gets stuck or crawls, its rest is requested again over another
 * connection.  pace.c decides which exchanges are late or slow.  See engine_impl.h; all functions run
 * on the exchange's I/O thread. */
#include "storage/http/engine_impl.h"
#include "base/num.h"
#include "storage/stats.h"
#include "base/trace.h"

static void hedge(struct engine *e, struct bkt_xfer *x)
{
    if (!bkt_pace_spend(x->host, x, true))
        return;
    CURL *easy = curl_easy_init();
    if (!easy) {
        bkt_pace_untwin(x->host);
        return;
    }
    bkt_trace(BKT_TRACE_HTTP, "%s %s: no answer for %llu ms, sent again", x->method, x->host->origin,
              (unsigned long long)(e->now - x->begun_ms));
    x->twin    = easy;
    x->legs[1] = (struct bkt_leg){x, easy};
    bkt_stats_add(BKT_STAT(hedges), 1);
    if (!bkt_engine_options(e, &x->legs[1]) || curl_multi_add_handle(e->multi, easy) != CURLM_OK)
        bkt_hedge_give_up(e, x);
}

static void resume(struct engine *e, struct bkt_xfer *x)
{
    if (!bkt_pace_spend(x->host, x, false))
        return;
    bkt_trace(BKT_TRACE_HTTP, "%s %s: %llu bytes in %llu ms, the rest is requested again", x->method,
              x->host->origin, (unsigned long long)x->body_bytes, (unsigned long long)(e->now - x->first_ms));
    x->resumed = true;
    bkt_stats_add(BKT_STAT(hedges), 1);
    bkt_engine_end(e, x, BKT_WIRE_SLOW);
}

/* The next time when an exchange may be late; UINT64_MAX: no check is needed. */
static uint64_t look_at(const struct engine *e)
{
    uint64_t at = UINT64_MAX;
    for (struct host *h = atomic_load(&e->all->hosts); h; h = h->next)
        at = bkt_min_u64(at, bkt_pace_look_at(h, e->now));
    return at;
}

void bkt_hedge_late(struct engine *e)
{
    if (!e->active || (e->hedge_at != UINT64_MAX && e->hedge_at > e->now))
        return;
    if (e->hedge_at == UINT64_MAX && (e->hedge_at = look_at(e)) == UINT64_MAX)
        return; /* the time of answers is not known, or no hedge may be spent */
    for (struct bkt_xfer *x = e->active, *next; x; x = next) {
        next = x->next;
        if (bkt_pace_is_late(x->host, x, e->now))
            hedge(e, x);
        else if (bkt_pace_is_slow(x->host, x, e->now) && x->can_resume(x))
            resume(e, x);
    }
    e->hedge_at = look_at(e);
}

void bkt_hedge_give_up(struct engine *e, struct bkt_xfer *x)
{
    struct bkt_xfer **at = &e->decided;
    if (!x->twin)
        return;
    while (*at && *at != x)
        at = &(*at)->next_decided;
    if (*at)
        *at = x->next_decided;
    (void)curl_multi_remove_handle(e->multi, x->twin);
    curl_easy_cleanup(x->twin);
    bkt_pace_untwin(x->host);
    x->twin    = NULL;
    x->decided = false;
}

bool bkt_hedge_leg_over(struct engine *e, struct bkt_leg *leg)
{
    struct bkt_xfer *x = leg->x;
    if (!x->twin)
        return leg->easy == x->easy;
    if (!x->decided && leg->easy == x->easy) { /* this leg failed without an answer: the other leg is left */
        x->easy = x->twin;
        x->twin = leg->easy;
    }
    bool over = leg->easy == x->easy;
    bkt_hedge_give_up(e, x);
    x->why[0] = 0;
    return over;
}
