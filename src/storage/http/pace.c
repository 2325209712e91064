/* Lessons from a server's answers: how many connections it gets, and when a request is late.  Measurements
 * are in bench/tuning.md.
 *
 * Connections: START_CONNECTIONS at first.  More connections help only if requests are small and mostly wait;
 * a few connections with large bodies fill the line.  So the number doubles while more requests are queued
 * than under way and bodies take less than half as long as their first bytes.  If first bytes take twice as
 * long afterwards, the number is halved again, for good.  (The time of connecting
 * doesn't count, nor do answers that arrive while other connections are made: many handshakes at once take
 * long on any server.)  Requests that are known to be small (JSON) have twice as many connections from the
 * start, until more are seen not to help.
 *
 * Uploads are treated likewise, by the time in which their bodies are sent.  But the system accepts bytes
 * long before they are sent, and on a full line twice the connections wait twice as long.  So for uploads the
 * number is halved again when a whole PUT takes 1.6 times as long.  Uploaded chunks also have twice as many
 * connections from the start: their bodies are sent while the server delays its first answers.  Setting
 * in_flight bounds their bytes.
 *
 * Over https a connection is opened only if it saves more time than its handshake takes of this processor.
 *
 * A server that answers 503 or 429 (S3: SlowDown) gets no more requests at once than it was answering then.
 * The limit rises by one request after every two rounds of answers.  The same happens if the process may open
 * no more files.
 *
 * Hedging: about one answer in a hundred of an object store is late by a second or more.  A GET whose first
 * byte is later than 1.5 times the 95th percentile of recent ones is sent a second time.  The first leg that
 * answers is the exchange from then on, so only one body is ever received; the other leg is given up.  A
 * server with uneven answer times gets some requests twice in vain, but never more than the budget allows.
 *
 * A body is slow if it takes longer than twice the time that 95 of 100 bodies of that size take, plus a late
 * first byte's time.  A slow body is broken off, and its rest is requested again over another connection,
 * once, unless it is about to end.  The budget for both is knob hedge, in per cent of the requests. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/os/clock.h"
#include "base/os/thread.h"
#include "base/trace.h"
#include "storage/http/engine_impl.h"
#include "storage/stats.h"

#define HANDSHAKE_US      1000.0 /* us of processor time for a TLS connection that resumes a session */
#define USUAL_MS          30.0   /* time of a request, before the first answer */
#define START_CONNECTIONS 64u
#define MORE_TIMES        2u
#define OPENING           4u /* connections are being opened while one answer in four has a new one */
/* Limits of hedging.  Their exact values matter little. */
#define MIN_SAMPLES       16
#define SLACK_MS          10   /* timers and scheduling */
#define LATE_HALVES       3    /* a first byte is late after this many halves of the 95th percentile */
#define MAX_TOKENS        16.0 /* hedges at once, after a time without hedges */
/* Limits for slow bodies. */
#define SLOW_HALVES       4   /* a body is slow after this many halves of the 95th percentile */
#define SLOW_MIN_MS       200 /* a body that ends within this time is never slow */
#define SHORT_BODY        (256u << 10) /* shorter bodies do not show the throughput */

void bkt_pace_init(struct bkt_engine_host *h)
{
    (void)pthread_mutex_init(&h->lock, NULL);
    h->limit = START_CONNECTIONS;
    h->most  = UINT_MAX / 2;
}

/* The server can take the other requests under way, or even fewer: their refusals count too.  Nothing
 * replaces a refused request at once, since that would be refused as quickly. */
static void slow_down(struct bkt_engine_host *h)
{
    double others = h->active > 2 ? h->active - 1 : 1;
    if (h->window <= 0 || others < h->window)
        h->window = others;
}

/* The limit of connections for small requests and chunks. */
static uint64_t highest(const struct bkt_engine_host *h)
{
    return h->most >= UINT_MAX / 2 ? MORE_TIMES * (uint64_t)h->limit : h->limit;
}

static void speed_up(struct bkt_engine_host *h)
{
    if (h->window > 0)
        h->window += 0.5 / h->window;
    if (h->window >= (double)highest(h))
        h->window = 0;
}

/* A running mean over about 16 answers; much shorter and much longer means were slower. */
static double smooth(double old, double x) { return old > 0 ? old + (x - old) / 16 : x; }

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Record one sample.  Every 32 samples, *limit becomes the 95th percentile times @p halves / 2. */
static void note(uint32_t *samples, size_t *n_samples, uint64_t x, unsigned halves, uint64_t *limit)
{
    uint32_t v[BKT_PACE_SAMPLES];
    samples[(*n_samples)++ % BKT_PACE_SAMPLES] = (uint32_t)bkt_min_u64(x, UINT32_MAX / 4);
    if (*n_samples != MIN_SAMPLES && *n_samples % 32)
        return;
    size_t n = bkt_min_u64(*n_samples, BKT_PACE_SAMPLES);
    memcpy(v, samples, n * sizeof *v);
    qsort(v, n, sizeof *v, by_value);
    *limit = (uint64_t)v[n * 95 / 100] * halves / 2;
}

void bkt_pace_first_byte(struct bkt_engine_host *h, struct bkt_xfer *x)
{
    if (x->first_ms)
        return;
    x->first_ms = bkt_ms_now();
    uint64_t took = x->first_ms - bkt_min_u64(x->asked_ms ? x->asked_ms : x->begun_ms, x->first_ms);
    atomic_store(&h->answered, true);
    if (!x->waiting)
        return;
    x->waiting = false;
    BKT_HOLD(&h->lock);
    h->waiting--;
    h->gets.first_ms = smooth(h->gets.first_ms, (double)took);
    note(h->samples, &h->n_samples, took + SLACK_MS / 2, LATE_HALVES, &h->late_ms);
}

/* More connections did not help. */
static void go_back(struct bkt_engine_host *h)
{
    if (h->limit / 2 > START_CONNECTIONS / 2)
        h->limit /= 2;
    h->most        = h->limit;
    h->gets.before = h->puts.before = 0;
}

/* The time that is compared with its value before the connections were doubled. */
static double cost(const struct bkt_engine_host *h, const struct bkt_engine_lane *l)
{
    return l == &h->gets ? l->first_ms : l->first_ms + l->body_ms;
}

/* Double the connections if that may help, or return to fewer if it did not. */
static void adapt(struct bkt_engine_host *h, struct bkt_engine_lane *l)
{
    double bearable = (l == &h->gets ? 2 : 1.6) * l->before + SLACK_MS;
    if (++l->rounds < h->limit || l->first_ms <= 0)
        return;
    bool fits    = l->before <= 0 || cost(h, l) <= bearable;
    bool opening = l->opened > h->limit / OPENING;
    l->rounds = l->opened = 0;
    h->wanted = fits && h->limit < h->most && l->body_ms < l->first_ms / 2;
    if (!fits && !opening)
        go_back(h);
}

/* Record an upload and its answer, which has hardly a body.  Connecting is not counted. */
static void sent(struct bkt_engine_host *h, const struct bkt_xfer *x)
{
    if (!x->upload_ms || !x->sent_ms || !x->first_ms)
        return;
    h->puts.first_ms = smooth(h->puts.first_ms, (double)(x->first_ms - bkt_min_u64(x->sent_ms, x->first_ms)));
    h->puts.body_ms  = smooth(h->puts.body_ms, (double)(x->sent_ms - x->upload_ms));
    h->puts.opened += x->opened;
    adapt(h, &h->puts);
}

static uint64_t units(uint64_t bytes) { return bkt_max_u64(1, bytes / SHORT_BODY); }

static void received(struct bkt_engine_host *h, const struct bkt_xfer *x)
{
    uint64_t now = bkt_ms_now(), took = now - bkt_min_u64(x->first_ms, now);
    if (!x->first_ms)
        return;
    note(h->body_samples, &h->n_body_samples, 1000 * took / units(x->body_bytes) + 1, SLOW_HALVES,
         &h->slow_us);
    h->gets.body_ms = smooth(h->gets.body_ms, (double)took);
    h->gets.opened += x->opened;
    if (x->body_bytes >= SHORT_BODY)
        h->rate = smooth(h->rate, (double)x->body_bytes / ((double)took / 1000 + 0.0005));
    if (x->net->pace) {
        atomic_store(&x->net->pace->first_us, (uint64_t)(h->gets.first_ms * 1000));
        atomic_store(&x->net->pace->bytes_per_s, (uint64_t)h->rate);
    }
    adapt(h, &h->gets);
}

static void ended(struct bkt_engine_host *h, struct bkt_xfer *x)
{
    h->moved_ms = bkt_ms_now();
    h->reading -= !x->put_len;
    h->waiting -= x->waiting;
    x->waiting = false;
    if (x->status == 503 || x->status == 429 || x->no_file)
        slow_down(h);
    if (x->status < 200 || x->status >= 300)
        return;
    speed_up(h);
    if (!x->put_len)
        received(h, x);
    else if (strcmp(x->method, "PUT") == 0) /* not a POST: it takes as long as the server works, e.g. deletes
                                               250 objects or joins parts */
        sent(h, x);
}

void bkt_pace_end(struct bkt_engine_host *h, struct bkt_xfer *x)
{
    BKT_HOLD(&h->lock);
    ended(h, x);
}

/* The limit of connections for such a request. */
static unsigned limit_of(const struct bkt_engine_host *h, const struct bkt_xfer *x)
{
    bool more = x->small || x->put_len >= SHORT_BODY;
    return (unsigned)bkt_min_u64(more ? highest(h) : h->limit, x->net->connections);
}

static bool has_idle(const struct bkt_engine_host *h)
{
    unsigned kept = 0;
    for (size_t i = 0; i < BKT_COUNT(h->at); i++)
        kept += atomic_load(&h->at[i].kept);
    return kept > h->active + h->twins;
}

/* With a connections, n requests of time T take n * T / a.  One more connection saves n * T / (a * (a + 1)),
 * and costs a handshake.  If no request has ended for longer than T, the server has become slower. */
static bool saves_its_handshake(const struct bkt_engine_host *h, const struct bkt_xfer *x)
{
    const struct bkt_engine_lane *l = x->put_len ? &h->puts : &h->gets;
    double             took = l->first_ms > 0 ? l->first_ms + l->body_ms : USUAL_MS;
    double             a = h->active + h->twins, n = h->active + h->n_waiting;
    uint64_t now = bkt_ms_now();
    double             still = (double)(now - bkt_min_u64(h->moved_ms, now));
    took                     = still > took ? still : took;
    return a * (a + 1) * HANDSHAKE_US <= n * took * 1000;
}

bool bkt_pace_may_begin(struct bkt_engine_host *h, const struct bkt_xfer *x)
{
    if (h->tls && !has_idle(h) && !saves_its_handshake(h, x))
        return false;
    unsigned active = h->active + h->twins;
    if (h->window > 0 && active >= (unsigned)h->window)
        return false;
    if (active < limit_of(h, x))
        return true;
    if (!h->wanted || h->limit >= x->net->connections)
        return false;
    h->wanted      = false;
    h->gets.before = cost(h, &h->gets);
    h->puts.before = cost(h, &h->puts);
    h->limit       = (unsigned)bkt_min_u64(2 * (uint64_t)h->limit, h->most);
    return active < limit_of(h, x);
}

void bkt_pace_begun(struct bkt_engine_host *h, struct bkt_xfer *x)
{
    x->begun_ms = bkt_ms_now();
    x->asked_ms   = x->first_ms = 0;
    x->opened     = false;
    x->upload_ms  = x->sent_ms = 0;
    x->body_bytes = 0;
    x->waiting    = !x->put_len;
    if (x->put_len)
        return;
    BKT_HOLD(&h->lock);
    h->reading++;
    h->waiting++;
    h->tokens += (double)x->net->hedge / 100;
    if (h->tokens > MAX_TOKENS)
        h->tokens = MAX_TOKENS;
}

/* The time when the first byte is late.  Connecting takes two more round trips, and
 * over https a handshake. */
static uint64_t late_at(const struct bkt_engine_host *h, const struct bkt_xfer *x)
{
    uint64_t from = x->asked_ms ? x->asked_ms : x->begun_ms;
    return from + (x->opened && !x->asked_ms ? 3 : 1) * h->late_ms;
}

static bool is_late(const struct bkt_engine_host *h, const struct bkt_xfer *x, uint64_t now)
{
    return h->late_ms && h->tokens >= 1 && !x->legs[1].x && x->net->hedge &&
           h->active + h->twins < x->net->connections && strcmp(x->method, "GET") == 0 && x->waiting &&
           now >= late_at(h, x);
}

/* Whether the body is stuck or crawls, so that its rest would arrive sooner after a new request. */
static bool is_slow(const struct bkt_engine_host *h, const struct bkt_xfer *x, uint64_t now)
{
    curl_off_t all = -1;
    if (!h->slow_us || !h->late_ms || h->tokens < 1 || x->resumed || !x->net->hedge || x->put_len ||
        !x->first_ms || !x->can_resume || now < x->first_ms + SLOW_MIN_MS)
        return false;
    (void)curl_easy_getinfo(x->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &all);
    if (all < 0 || (uint64_t)all <= x->body_bytes)
        return false;
    uint64_t took = now - x->first_ms, limit = units((uint64_t)all) * h->slow_us / 1000 + h->late_ms;
    bool     stuck = now > x->last_ms + bkt_max_u64(h->late_ms, SLOW_MIN_MS);
    double   to_come = (double)took * (double)((uint64_t)all - x->body_bytes) / (double)(x->body_bytes + 1);
    return took > limit && (stuck || to_come > (double)limit);
}

static bool holds(bool (*is)(const struct bkt_engine_host *h, const struct bkt_xfer *x, uint64_t now),
                  const struct bkt_engine *e, const struct bkt_xfer *x)
{
    BKT_HOLD(&x->host->lock);
    return is(x->host, x, e->now);
}

/* ---- hedging; on the exchange's I/O thread ---- */

/* Spend one hedge of the budget that all threads share.  With @p twin also count the second leg, until
 * untwin(), if a connection is allowed for it.  False: no hedge or connection is left. */
static bool spend(struct bkt_engine_host *h, const struct bkt_xfer *x, bool twin)
{
    BKT_HOLD(&h->lock);
    bool may = h->tokens >= 1 && (!twin || h->active + h->twins < x->net->connections);
    if (may) {
        h->tokens -= 1;
        h->twins += twin;
    }
    return may;
}

static void untwin(struct bkt_engine_host *h)
{
    BKT_HOLD(&h->lock);
    h->twins--;
}

static void hedge(struct bkt_engine *e, struct bkt_xfer *x)
{
    if (!spend(x->host, x, true))
        return;
    CURL *easy = curl_easy_init();
    if (!easy) {
        untwin(x->host);
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

static void resume(struct bkt_engine *e, struct bkt_xfer *x)
{
    if (!spend(x->host, x, false))
        return;
    bkt_trace(BKT_TRACE_HTTP, "%s %s: %llu bytes in %llu ms, the rest is requested again", x->method,
              x->host->origin, (unsigned long long)x->body_bytes, (unsigned long long)(e->now - x->first_ms));
    x->resumed = true;
    bkt_stats_add(BKT_STAT(hedges), 1);
    bkt_engine_end(e, x, BKT_WIRE_SLOW);
}

/* The next time when an exchange may be late, in ms; UINT64_MAX: no check is needed.  Lateness is noticed
 * after at most an eighth of late_ms, or 5 ms. */
static uint64_t look_at(const struct bkt_engine *e)
{
    uint64_t at = UINT64_MAX;
    for (struct bkt_engine_host *h = atomic_load(&e->all->hosts); h; h = h->next) {
        (void)pthread_mutex_lock(&h->lock);
        if (h->late_ms && h->reading && h->tokens >= 1)
            at = bkt_min_u64(at, e->now + bkt_max_u64(5, h->late_ms / 8));
        (void)pthread_mutex_unlock(&h->lock);
    }
    return at;
}

void bkt_hedge_late(struct bkt_engine *e)
{
    if (!e->active || (e->hedge_at != UINT64_MAX && e->hedge_at > e->now))
        return;
    if (e->hedge_at == UINT64_MAX && (e->hedge_at = look_at(e)) == UINT64_MAX)
        return; /* the time of answers is not known, or no hedge may be spent */
    for (struct bkt_xfer *x = e->active, *next; x; x = next) {
        next = x->next;
        if (holds(is_late, e, x))
            hedge(e, x);
        else if (holds(is_slow, e, x) && x->can_resume(x))
            resume(e, x);
    }
    e->hedge_at = look_at(e);
}

void bkt_hedge_give_up(struct bkt_engine *e, struct bkt_xfer *x)
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
    untwin(x->host);
    x->twin    = NULL;
    x->decided = false;
}

bool bkt_hedge_leg_over(struct bkt_engine *e, struct bkt_leg *leg)
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
