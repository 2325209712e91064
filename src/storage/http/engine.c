/* One I/O thread: its exchanges, from begin to end, and its loop.  See engine.h and engine_impl.h. */
#include "storage/http/engine.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/sockios.h>

#include "base/num.h"
#include "base/os/clock.h"
#include "base/os/thread.h"
#include "storage/http/engine_impl.h"
#include "storage/http/tls.h"
#include "storage/stats.h"

#define MAX_EVENTS   64    /* in a turn; more or fewer make no difference */
/* UPLOAD_BUFFERs (curl_options.c) that one connection sends in a turn.  The limit bounds how long the other
 * connections wait. */
#define SENDS        16
/* Milliseconds between two checks of all exchanges, a quarter of stall_ms within these bounds.  A stall is
 * noticed later by at most that time.  A check is cheap. */
#define CHECK_MIN_MS  10
#define CHECK_MAX_MS  250

/* ---- exchanges ---- */

void bkt_engine_fail(struct bkt_xfer *x, const char *why)
{
    x->wire = BKT_WIRE_FATAL;
    (void)snprintf(x->why, sizeof x->why, "%s", why);
    x->done(x);
}

void bkt_engine_fail_all(struct bkt_xfer *x, const char *why)
{
    for (struct bkt_xfer *next; x; x = next) {
        next = x->next;
        bkt_engine_fail(x, why);
    }
}

static void begin(struct bkt_engine *e, struct bkt_xfer *x)
{
    struct bkt_engine_host *h = x->host;
    free(x->redirect);
    x->redirect       = NULL;
    curl_slist_free_all(x->kept_cookies);
    x->kept_cookies   = NULL;
    x->status         = 0;
    x->put_at         = 0;
    x->moved          = 0;
    x->fd             = -1;
    x->enough         = false;
    x->no_file        = false;
    x->why[0]         = 0;
    x->tls_failed     = false;
    x->retry_after_ms = 0;
    if (!x->begin(x)) {
        bkt_host_release(h, e);
        return;
    }
    CURL *easy = curl_easy_init(); /* a new handle each time: keeping used ones saves nothing */
    if (!easy) {
        bkt_host_release(h, e);
        bkt_engine_fail(x, "out of memory");
        return;
    }
    x->easy    = easy;
    x->twin    = NULL;
    x->whole   = (struct bkt_whole){.bodyless = strcmp(x->method, "HEAD") == 0};
    x->decided = false;
    x->last_ms = e->now;
    x->legs[0] = (struct bkt_leg){x, easy};
    x->legs[1] = (struct bkt_leg){NULL, NULL};
    bkt_pace_begun(h, x);
    bool ok = bkt_engine_options(e, &x->legs[0]);
    x->prev = NULL;
    x->next = e->active;
    if (e->active)
        e->active->prev = x;
    else
        e->check_at = 0;
    e->active      = x;
    uint64_t late  = bkt_min_u64(x->net->stall_ms, x->timeout_ms);
    uint64_t every = bkt_max_u64(CHECK_MIN_MS, bkt_min_u64(CHECK_MAX_MS, late / 4));
    if (every < e->check_ms || !e->check_at) {
        e->check_ms = every;
        e->check_at = e->now + every;
    }
    if (ok && curl_multi_add_handle(e->multi, easy) == CURLM_OK)
        return;
    (void)snprintf(x->why, sizeof x->why, "out of memory");
    bkt_engine_end(e, x, BKT_WIRE_FATAL);
}

static uint64_t queued(int fd)
{
    int n = 0;
    return fd >= 0 && ioctl(fd, SIOCOUTQ, &n) == 0 && n > 0 ? (uint64_t)n : 0;
}

/* Update the count of bytes that have moved.  An upload's bytes go to libcurl in pieces of 256 KiB, and to
 * the system in pieces of megabytes.  This happens long before the bytes are on a slow line.  So only bytes
 * that the other side has confirmed count: those that libcurl has sent, less those still in the socket's
 * queue. */
static void moved(struct bkt_xfer *x)
{
    curl_off_t sent = 0;
    if (!x->put_len) {
        x->moved = x->body_bytes;
        return;
    }
    (void)curl_easy_getinfo(x->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    uint64_t n     = sent > 0 ? (uint64_t)sent : 0;
    n -= bkt_min_u64(n, queued(x->fd));
    if (n > x->moved) {
        x->moved   = n;
        x->last_ms = bkt_max_u64(x->last_ms, x->engine->now);
    }
}

void bkt_engine_end(struct bkt_engine *e, struct bkt_xfer *x, enum bkt_wire wire)
{
    moved(x);
    bkt_hedge_give_up(e, x);
    bkt_pace_end(x->host, x);
    long       opened  = 0;
    curl_off_t seconds = 0;
    char      *url     = NULL;
    (void)curl_easy_getinfo(x->easy, CURLINFO_NUM_CONNECTS, &opened);
    (void)curl_easy_getinfo(x->easy, CURLINFO_RETRY_AFTER, &seconds);
    (void)curl_easy_getinfo(x->easy, CURLINFO_REDIRECT_URL, &url);
    if (opened > 0)
        bkt_stats_add(BKT_STAT(connections), (uint64_t)opened);
    x->retry_after_ms = seconds > 0 && seconds < 86400 ? (uint64_t)seconds * 1000
                        : seconds > 0                  ? 86400000
                                                       : 0;
    x->redirect       = url ? strdup(url) : NULL;
    if (x->keep_cookies)
        (void)curl_easy_getinfo(x->easy, CURLINFO_COOKIELIST, &x->kept_cookies);
    bkt_whole_fini(&x->whole);
    (void)curl_multi_remove_handle(e->multi, x->easy);
    curl_easy_cleanup(x->easy);
    x->easy = NULL;
    if (x->prev)
        x->prev->next = x->next;
    else
        e->active = x->next;
    if (x->next)
        x->next->prev = x->prev;
    x->next = x->prev = NULL;
    x->wire           = wire;
    struct bkt_engine_host *h = x->host;
    atomic_store(&h->known, true);
    atomic_store(&h->answered, true);
    bkt_host_release(h, e);
    x->done(x);
}

/* ---- the loop ---- */

/* Queue an exchange whose time has come. */
static void enqueue(struct bkt_xfer *x)
{
    struct bkt_engine_host *h = x->host;
    bkt_host_enqueue(h, x);
    bkt_engine_fail_all(bkt_host_dispatch(h), BKT_NO_THREAD);
}

/* Take the exchanges from the inbox.  True: there were some. */
static bool take_inbox(struct bkt_engine *e)
{
    (void)pthread_mutex_lock(&e->lock);
    struct bkt_xfer *x = e->in_head;
    e->in_head = e->in_tail = NULL;
    (void)pthread_mutex_unlock(&e->lock);
    bool some = x != NULL;
    for (struct bkt_xfer *next; x; x = next) {
        next = x->next;
        if (x->assigned)
            begin(e, x);
        else
            bkt_delay_add(&e->delayed, x);
    }
    return some;
}

static bool is_cancelled(const struct bkt_xfer *x) { return x->cancel && atomic_load(x->cancel); }

/* Drop cancelled exchanges in a host's queue: begin() ends them. */
static void drop_queued(struct bkt_engine_host *h)
{
    for (struct bkt_xfer *x = bkt_host_cancelled(h), *next; x; x = next) {
        next    = x->next;
        x->next = NULL;
        (void)x->begin(x);
    }
}

/* Drop the exchanges that were cancelled.  A connection in the middle of a body is lost with its exchange.
 * Reading on would take as long as the body does, up to stall_ms if the server hangs.  Requests that change
 * something on the server are left to end by themselves. */
static void drop_cancelled(struct bkt_engine *e)
{
    if (!atomic_exchange(&e->cancelled, false))
        return;
    e->look_at = 0;
    for (struct bkt_engine_host *h = atomic_load(&e->all->hosts); h; h = h->next)
        drop_queued(h);
    for (struct bkt_xfer *x = e->active, *next; x; x = next) {
        next = x->next;
        if (is_cancelled(x) && strcmp(x->method, "GET") == 0)
            bkt_engine_end(e, x, BKT_WIRE_CANCEL);
    }
}

/* A caller may set `cancel` without bkt_engine_cancelled(), so all delayed exchanges are checked now and
 * then. */
static void wake_cancelled(struct bkt_engine *e)
{
    struct bkt_delay left = {.steps = e->delayed.steps};
    e->look_at            = e->now + CHECK_MAX_MS;
    for (struct bkt_xfer *x; (x = bkt_delay_take(&e->delayed));) {
        if (!is_cancelled(x)) {
            bkt_delay_add(&left, x);
            continue;
        }
        x->not_before_ms = 0;
        enqueue(x);
    }
    e->delayed = left;
}

static void wake_delayed(struct bkt_engine *e)
{
    while (e->delayed.first && e->delayed.first->not_before_ms <= e->now) {
        struct bkt_xfer *x = bkt_delay_take(&e->delayed);
        x->not_before_ms   = 0;
        enqueue(x);
    }
    if (e->delayed.first && e->now >= e->look_at)
        wake_cancelled(e);
}

static bool is_of_tls(CURLcode code)
{
    static const CURLcode codes[] = {CURLE_SSL_CONNECT_ERROR,  CURLE_PEER_FAILED_VERIFICATION,
                                     CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM,
                                     CURLE_SSL_CIPHER,         CURLE_SSL_ISSUER_ERROR,
                                     CURLE_USE_SSL_FAILED,     CURLE_SSL_INVALIDCERTSTATUS};
    for (size_t i = 0; i < BKT_COUNT(codes); i++)
        if (codes[i] == code)
            return true;
    return false;
}

static void collect(struct bkt_engine *e)
{
    int      left;
    CURLMsg *m;
    while ((m = curl_multi_info_read(e->multi, &left))) {
        if (m->msg != CURLMSG_DONE)
            continue;
        struct bkt_leg *leg  = NULL;
        CURLcode        code = m->data.result;
        (void)curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&leg);
        struct bkt_xfer *x = leg->x;
        if (!bkt_hedge_leg_over(e, leg))
            continue;
        enum bkt_wire w = bkt_engine_wire(x, code);
        if (w != BKT_WIRE_OK && !x->why[0])
            (void)snprintf(x->why, sizeof x->why, "%s", curl_easy_strerror(code));
        size_t n = strlen(x->why);
        x->tls_failed = is_of_tls(code);
        if (code == CURLE_SSL_CONNECT_ERROR)
            bkt_tls_failed(x->net->ca_bundle, x->url);
        if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE)
            (void)snprintf(x->why + n, sizeof x->why - n, "; ca_bundle names the CAs to trust");
        bkt_engine_end(e, x, w);
    }
}

/* libcurl ran out of memory and has lost track of a connection; 7.88 even divides by zero when it meets that
 * connection again.  So all connections in use are closed. */
static void start_over(struct bkt_engine *e)
{
    for (struct bkt_xfer *x = e->active, *next; x; x = next) {
        next = x->next;
        (void)snprintf(x->why, sizeof x->why, "out of memory");
        bkt_engine_end(e, x, BKT_WIRE_RESET);
    }
}

static void act(struct bkt_engine *e, curl_socket_t fd, int what)
{
    int running;
    if (curl_multi_socket_action(e->multi, fd, what, &running) == CURLM_OUT_OF_MEMORY)
        start_over(e);
}

/* Sending a body continues as long as its socket accepts bytes.  Then a small buffer is enough, which stays
 * in the processor's cache. */
static void act_on(struct bkt_engine *e, const struct epoll_event *ev)
{
    unsigned v    = ev->events;
    int      what = (v & (EPOLLIN | EPOLLHUP) ? CURL_CSELECT_IN : 0) | (v & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
               (v & EPOLLERR ? CURL_CSELECT_ERR : 0);
    e->more = false;
    act(e, ev->data.fd, what);
    for (unsigned i = 1; i < SENDS && e->more && what == CURL_CSELECT_OUT; i++) {
        e->more = false;
        act(e, ev->data.fd, what);
    }
}

static int wait_ms(const struct bkt_engine *e)
{
    uint64_t until = e->timer_at;
    if (e->delayed.first)
        until = bkt_min_u64(until, bkt_min_u64(e->delayed.first->not_before_ms, e->look_at));
    if (e->active)
        until = bkt_min_u64(until, bkt_min_u64(e->check_at, e->hedge_at));
    if (until == UINT64_MAX)
        return -1;
    /* bounded, so that it fits an int; one check a minute costs nothing */
    return until <= e->now ? 0 : (int)bkt_min_u64(until - e->now, 60000);
}

/* Begin the exchanges that may begin.  Each step that frees a connection is followed by a check of the
 * queues. */
static void begin_all(struct bkt_engine *e)
{
    bool some = take_inbox(e);
    drop_cancelled(e);
    wake_delayed(e);
    for (bool first = true; first || some; first = false) {
        for (struct bkt_engine_host *h = atomic_load(&e->all->hosts); h; h = h->next)
            if (atomic_load(&h->queued))
                bkt_engine_fail_all(bkt_host_dispatch(h), BKT_NO_THREAD);
        some = take_inbox(e);
    }
}

static bool has_mail(struct bkt_engine *e)
{
    BKT_HOLD(&e->lock);
    return e->in_head != NULL;
}

/* End the exchanges that do not move, and those that take too long. */
static void watch(struct bkt_engine *e)
{
    for (struct bkt_xfer *x = e->active, *next; x; x = next) {
        next = x->next;
        moved(x);
        if (x->last_ms + x->net->stall_ms <= e->now) {
            (void)snprintf(x->why, sizeof x->why, "no byte for %llu ms",
                           (unsigned long long)x->net->stall_ms);
            bkt_engine_end(e, x, BKT_WIRE_STALL);
        } else if (x->begun_ms + x->timeout_ms + bkt_retry_allowance(x->moved) <= e->now) {
            (void)snprintf(x->why, sizeof x->why, "after %llu bytes", (unsigned long long)x->moved);
            bkt_engine_end(e, x, BKT_WIRE_DEADLINE);
        }
    }
}

static void turn(struct bkt_engine *e)
{
    struct epoll_event ev[MAX_EVENTS];
    begin_all(e);
    bool more = has_mail(e);
    int n  = epoll_wait(e->epoll, ev, MAX_EVENTS, more ? 0 : wait_ms(e));
    e->now = bkt_ms_now();
    for (int i = 0; i < n; i++) {
        if (ev[i].data.fd == e->wake) {
            uint64_t count;
            while (read(e->wake, &count, sizeof count) < 0 && errno == EINTR)
                continue;
            continue;
        }
        act_on(e, &ev[i]);
    }
    if (e->timer_at <= e->now) {
        e->timer_at = UINT64_MAX;
        act(e, CURL_SOCKET_TIMEOUT, 0);
    }
    while (e->decided)
        bkt_hedge_give_up(e, e->decided);
    collect(e);
    bkt_hedge_late(e);
    if (e->active && e->check_at <= e->now) {
        watch(e);
        e->check_at = e->now + e->check_ms;
    }
}

void *bkt_engine_loop(void *arg)
{
    struct bkt_engine *e = arg;
    (void)pthread_setname_np(pthread_self(), "h5bucket-io");
    for (bool stop = false; !stop;) {
        turn(e);
        (void)pthread_mutex_lock(&e->lock);
        stop = e->stop;
        (void)pthread_mutex_unlock(&e->lock);
    }
    while (e->active) {
        (void)snprintf(e->active->why, sizeof e->active->why, "storage is shutting down");
        bkt_engine_end(e, e->active, BKT_WIRE_FATAL);
    }
    return NULL;
}
