#include "storage/http/retry_policy.h"

#include <stddef.h>

#include "base/err.h"
#include "base/num.h"

#define FEW         2     /* retries of class BKT_RETRY_FEW: a dead server should be reported soon */
#define BACKOFF_MAX 10000 /* ms */

/* Statuses that S3's clients retry: timeout, too many requests, and server errors.  From 520 on those of
 * Cloudflare, in front of R2 and of others' servers, when the server behind it gives no answer. */
static const long statuses[] = {408, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524};

/* The others aren't repeated. */
static const enum bkt_retry_class wires[BKT_WIRE_FATAL + 1] = {
    [BKT_WIRE_RESET] = BKT_RETRY_YES, [BKT_WIRE_SHORT] = BKT_RETRY_YES,  [BKT_WIRE_STALL] = BKT_RETRY_YES,
    [BKT_WIRE_SLOW] = BKT_RETRY_YES,  [BKT_WIRE_CONNECT] = BKT_RETRY_FEW, [BKT_WIRE_CROWDED] = BKT_RETRY_YES,
};

enum bkt_retry_class bkt_retry_classify(enum bkt_wire wire, long status)
{
    if (wire != BKT_WIRE_OK && wire != BKT_WIRE_STOPPED)
        return wires[wire];
    for (size_t i = 0; i < BKT_COUNT(statuses); i++)
        if (statuses[i] == status)
            return BKT_RETRY_YES;
    return BKT_RETRY_NO;
}

uint64_t bkt_retry_time(const struct bkt_retry_policy *p, const struct bkt_retry *r)
{
    return p->deadline_ms + bkt_retry_allowance(r->moved);
}

bool bkt_retry_next(const struct bkt_retry_policy *p, struct bkt_retry *r, enum bkt_retry_class class,
                    uint64_t retry_after_ms, uint64_t now_ms, uint64_t rnd, uint64_t *wait_ms)
{
    if (class == BKT_RETRY_NO || r->tries >= p->retries || (class == BKT_RETRY_FEW && r->few >= FEW))
        return false;
    /* full jitter: a random wait up to the doubled step, so that clients that failed together do not return
     * together */
    unsigned shift = r->tries < 20 ? r->tries : 20;
    uint64_t cap   = bkt_min_u64(p->backoff_ms << shift, BACKOFF_MAX);
    uint64_t wait  = bkt_max_u64(cap ? rnd % (cap + 1) : 0, retry_after_ms);
    uint64_t spent = now_ms - r->started_ms, limit = bkt_retry_time(p, r);
    if (spent >= limit || wait >= limit - spent || wait >= p->deadline_ms)
        return false;
    r->tries++;
    r->few += class == BKT_RETRY_FEW;
    *wait_ms = wait;
    return true;
}
