/* See engine.h.  Threads: `lock` guards the pointer to the engine, its inbox, `stop` and the table of sockets;
 * all else belongs to the I/O thread. */
#include "engine.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "engine_impl.h"
#include "num.h"
#include "stats.h"
#include "thread.h"
#include "tls.h"

#define MAX_CONNECTS 1024L /* the highest value of setting connections; so many idle ones are kept, of all servers together */
#define MAX_EVENTS   64    /* in a turn; 20,000 small GETs over 256 connections take the same time with 16 and 256 */
/* Of UPLOAD_BUFFER (engine_curl.c) on one connection, in a turn: 1 MiB, which bounds how long the others wait, 0.3 ms each.  256 MiB in
 * PUTs of 1 MiB take 0.22 to 0.24 s at 30 ms and 0.08 s of CPU with 1, 2, 8, 16, 32 and 128. */
#define SENDS        16
/* Handshakes without a session at first.  What opens a domain asks for no more at once; each takes 1 ms of either side's processor. */
#define FIRST_TLS    8
/* Between looks at all that is under way, a quarter of stall_ms: it is noticed that much too late.  A look is cheap: the same
 * 20,000 GETs take as much CPU when there is one each 10 ms. */
#define SCAN_MIN_MS  10
#define SCAN_MAX_MS  250

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct engine  *engine;
static struct engine  *abandoned; /* the parent's, in a forked child: kept reachable, never touched */
static int             sockets[2048]; /* a forked child keeps its copies of more than these open */
static size_t          n_sockets, most_sockets;
static _Thread_local bool is_io_thread;

uint64_t bkt_engine_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000 + 1;
}

static void curl_start(void) { (void)curl_global_init(CURL_GLOBAL_DEFAULT); }
void        bkt_engine_curl_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, curl_start);
}

int bkt_net_init(struct bkt_net *net, const char *origin, const struct bkt_settings *set, struct bkt_err *err)
{
    struct stat sb; /* libcurl would wait for a FIFO, on the thread that all wait for, and never come to the end of /dev/zero */
    *net = (struct bkt_net){0};
    if (set->ca_bundle && stat(set->ca_bundle, &sb) == 0 && !S_ISREG(sb.st_mode))
        BKT_FAIL(err, BKT_EINVAL, "ca_bundle %.300s: it is not a file; name a file of CA certificates", set->ca_bundle);
    *net = (struct bkt_net){.origin      = strdup(origin),
                            .ca_bundle   = set->ca_bundle ? strdup(set->ca_bundle) : NULL,
                            .connections = (unsigned)bkt_max_u64(1, bkt_min_u64(set->connections, MAX_CONNECTS)),
                            .hedge       = (unsigned)bkt_min_u64(set->hedge, 100),
                            .pace        = calloc(1, sizeof *net->pace),
                            .connect_ms  = set->connect_ms,
                            .stall_ms    = set->stall_ms};
    if (net->origin && net->pace && (net->ca_bundle || !set->ca_bundle))
        return BKT_OK;
    bkt_net_fini(net);
    BKT_NOMEM(err);
}

void bkt_net_fini(struct bkt_net *net)
{
    free(net->origin);
    free(net->ca_bundle);
    free(net->pace);
    net->origin = net->ca_bundle = NULL;
    net->pace                    = NULL;
}

void bkt_engine_track(int fd, bool open)
{
    (void)pthread_mutex_lock(&lock);
    if (open && n_sockets < BKT_COUNT(sockets))
        sockets[n_sockets++] = fd;
    for (size_t i = 0; !open && i < n_sockets; i++)
        if (sockets[i] == fd) {
            sockets[i] = sockets[--n_sockets];
            break;
        }
    most_sockets = n_sockets > most_sockets ? n_sockets : most_sockets;
    (void)pthread_mutex_unlock(&lock);
}

size_t bkt_engine_most_sockets(void)
{
    (void)pthread_mutex_lock(&lock);
    size_t most  = most_sockets;
    most_sockets = n_sockets;
    (void)pthread_mutex_unlock(&lock);
    return most;
}

/* ---- exchanges ---- */

static void fail(struct bkt_xfer *x, const char *why)
{
    x->wire = BKT_WIRE_FATAL;
    (void)snprintf(x->why, sizeof x->why, "%s", why);
    x->done(x);
}

static void begin(struct engine *e, struct bkt_xfer *x)
{
    struct host *h = x->host;
    free(x->redirect);
    x->redirect       = NULL;
    x->status         = 0;
    x->put_at         = 0;
    x->moved          = 0;
    x->fd             = -1;
    x->enough         = false;
    x->no_file        = false;
    x->why[0]         = 0;
    x->retry_after_ms = 0;
    h->active++;
    if (!x->begin(x)) {
        h->active--;
        return;
    }
    CURL *easy = curl_easy_init(); /* keeping used ones saves nothing that can be measured */
    if (!easy) {
        h->active--;
        fail(x, "out of memory");
        return;
    }
    x->easy    = easy;
    x->twin    = NULL;
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
        e->scan_at = 0;
    e->active      = x;
    uint64_t every = bkt_max_u64(SCAN_MIN_MS, bkt_min_u64(SCAN_MAX_MS, bkt_min_u64(x->net->stall_ms, x->timeout_ms) / 4));
    if (every < e->scan_ms || !e->scan_at) {
        e->scan_ms = every;
        e->scan_at = e->now + every;
    }
    if (ok && curl_multi_add_handle(e->multi, easy) == CURLM_OK)
        return;
    (void)snprintf(x->why, sizeof x->why, "out of memory");
    bkt_engine_end(e, x, BKT_WIRE_FATAL);
}

/* Until a server's name was looked up one exchange goes first, and until it has answered once few go over TLS: then all others
 * resume a session of theirs. */
static bool may_begin(struct host *h, const struct bkt_xfer *x)
{
    unsigned first = !h->known ? 1 : h->answered || !bkt_tls_is_https(h->origin) ? UINT_MAX : FIRST_TLS;
    return h->active < first && (!h->known || bkt_pace_may_begin(h, x));
}

static void pump(struct engine *e, struct host *h)
{
    struct bkt_xfer *x;
    while ((x = h->head) && may_begin(h, x)) {
        if (!(h->head = x->next))
            h->tail = NULL;
        begin(e, x);
    }
}

void bkt_engine_end(struct engine *e, struct bkt_xfer *x, enum bkt_wire wire)
{
    bkt_engine_moved(x);
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
    x->retry_after_ms = seconds > 0 && seconds < 86400 ? (uint64_t)seconds * 1000 : seconds > 0 ? 86400000 : 0;
    x->redirect       = url ? strdup(url) : NULL;
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
    struct host *h    = x->host;
    h->active--;
    h->known = h->answered = true;
    x->done(x);
}

/* ---- the loop ---- */

static struct host *host_of(struct engine *e, const struct bkt_net *net)
{
    for (struct host *h = e->hosts; h; h = h->next)
        if (strcmp(h->origin, net->origin) == 0)
            return h;
    struct host *h = calloc(1, sizeof *h);
    if (!h || !(h->origin = strdup(net->origin))) {
        free(h);
        return NULL;
    }
    h->engine = e;
    h->next   = e->hosts;
    e->hosts  = h;
    bkt_pace_init(h);
    return h;
}

static void enqueue(struct engine *e, struct bkt_xfer *x)
{
    if (x->not_before_ms > e->now) {
        bkt_delay_add(&e->delayed, x);
        return;
    }
    struct host *h = host_of(e, x->net);
    if (!h) {
        fail(x, "out of memory");
        return;
    }
    x->host = h;
    x->next = NULL;
    if (x->first_in_line) {
        x->next = h->head;
        h->head = x;
        h->tail = h->tail ? h->tail : x;
        return;
    }
    if (h->head)
        h->tail->next = x;
    else
        h->head = x;
    h->tail = x;
}

static void take_inbox(struct engine *e)
{
    (void)pthread_mutex_lock(&lock);
    struct bkt_xfer *x = e->in_head;
    e->in_head = e->in_tail = NULL;
    (void)pthread_mutex_unlock(&lock);
    while (x) {
        struct bkt_xfer *next = x->next;
        enqueue(e, x);
        x = next;
    }
}

static bool is_cancelled(const struct bkt_xfer *x) { return x->cancel && atomic_load(x->cancel); }

/* Queued ones of a host: begin() tells them. */
static void drop_queued(struct host *h)
{
    struct bkt_xfer **at = &h->head, *gone = NULL;
    h->tail = NULL;
    while (*at) {
        struct bkt_xfer *x = *at;
        if (!is_cancelled(x)) {
            h->tail = x;
            at      = &x->next;
            continue;
        }
        *at     = x->next;
        x->next = gone;
        gone    = x;
    }
    while (gone) {
        struct bkt_xfer *x = gone;
        gone               = x->next;
        x->next            = NULL;
        (void)x->begin(x);
    }
}

/* What nobody waits for any more.  A connection in the middle of a body is lost with it; to read on would take as long as the
 * body does, up to stall_ms where the server hangs.  What changes something on the server is left to end by itself. */
static void drop_cancelled(struct engine *e)
{
    if (!atomic_exchange(&e->cancelled, false))
        return;
    e->look_at = 0;
    for (struct host *h = e->hosts; h; h = h->next)
        drop_queued(h);
    for (struct bkt_xfer *x = e->active, *next; x; x = next) {
        next = x->next;
        if (is_cancelled(x) && strcmp(x->method, "GET") == 0)
            bkt_engine_end(e, x, BKT_WIRE_CANCEL);
    }
}

/* Somebody may set `cancel` and not say so: all are looked through now and then. */
static void wake_cancelled(struct engine *e)
{
    struct bkt_delay left = {.steps = e->delayed.steps};
    e->look_at            = e->now + SCAN_MAX_MS;
    for (struct bkt_xfer *x; (x = bkt_delay_take(&e->delayed));) {
        if (!is_cancelled(x)) {
            bkt_delay_add(&left, x);
            continue;
        }
        x->not_before_ms = 0;
        enqueue(e, x);
    }
    e->delayed = left;
}

static void wake_delayed(struct engine *e)
{
    while (e->delayed.first && e->delayed.first->not_before_ms <= e->now) {
        struct bkt_xfer *x = bkt_delay_take(&e->delayed);
        x->not_before_ms   = 0;
        enqueue(e, x);
    }
    if (e->delayed.first && e->now >= e->look_at)
        wake_cancelled(e);
}

static void collect(struct engine *e)
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
        if (code == CURLE_SSL_CONNECT_ERROR)
            bkt_tls_failed(x->net->ca_bundle, x->url);
        if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE)
            (void)snprintf(x->why + n, sizeof x->why - n, "; ca_bundle names the CAs to trust");
        bkt_engine_end(e, x, w);
    }
}

/* Libcurl ran out of memory and has lost track of a connection; 7.88 even divides by zero when it meets that one again.  So all that
 * are in use are closed. */
static void start_over(struct engine *e)
{
    for (struct bkt_xfer *x = e->active, *next; x; x = next) {
        next = x->next;
        (void)snprintf(x->why, sizeof x->why, "out of memory");
        bkt_engine_end(e, x, BKT_WIRE_RESET);
    }
}

static void act(struct engine *e, curl_socket_t fd, int what)
{
    int running;
    if (curl_multi_socket_action(e->multi, fd, what, &running) == CURLM_OUT_OF_MEMORY)
        start_over(e);
}

/* A body goes on as long as its socket takes it: its buffer, which can be small then, stays in the processor's cache. */
static void act_on(struct engine *e, const struct epoll_event *ev)
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

static int wait_ms(const struct engine *e)
{
    uint64_t until = e->timer_at;
    if (e->delayed.first)
        until = bkt_min_u64(until, bkt_min_u64(e->delayed.first->not_before_ms, e->look_at));
    if (e->active)
        until = bkt_min_u64(until, bkt_min_u64(e->scan_at, e->hedge_at));
    if (until == UINT64_MAX)
        return -1;
    return until <= e->now ? 0 : (int)bkt_min_u64(until - e->now, 60000); /* fits an int; a look a minute costs nothing */
}

static void turn(struct engine *e)
{
    struct epoll_event ev[MAX_EVENTS];
    take_inbox(e);
    drop_cancelled(e);
    wake_delayed(e);
    for (struct host *h = e->hosts; h; h = h->next)
        pump(e, h);
    (void)pthread_mutex_lock(&lock);
    bool more = e->in_head != NULL;
    (void)pthread_mutex_unlock(&lock);
    int n  = epoll_wait(e->epoll, ev, MAX_EVENTS, more ? 0 : wait_ms(e));
    e->now = bkt_engine_now();
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
    if (e->active && e->scan_at <= e->now) {
        bkt_engine_watch(e);
        e->scan_at = e->now + e->scan_ms;
    }
}

static void fail_all(struct engine *e)
{
    take_inbox(e);
    while (e->active) {
        (void)snprintf(e->active->why, sizeof e->active->why, "storage is shutting down");
        bkt_engine_end(e, e->active, BKT_WIRE_FATAL);
    }
    for (struct bkt_xfer *x; (x = bkt_delay_take(&e->delayed));)
        fail(x, "storage is shutting down");
    for (struct host *h = e->hosts; h; h = h->next)
        while (h->head) {
            struct bkt_xfer *x = h->head;
            h->head            = x->next;
            fail(x, "storage is shutting down");
        }
}

static void *run(void *arg)
{
    struct engine *e = arg;
    is_io_thread     = true;
    (void)pthread_setname_np(pthread_self(), "h5bucket-io");
    for (bool stop = false; !stop;) {
        turn(e);
        (void)pthread_mutex_lock(&lock);
        stop = e->stop;
        (void)pthread_mutex_unlock(&lock);
    }
    fail_all(e);
    return NULL;
}

/* ---- start and end ---- */

static void free_engine(struct engine *e)
{
    if (!e)
        return;
    if (e->multi)
        (void)curl_multi_cleanup(e->multi);
    if (e->share)
        (void)curl_share_cleanup(e->share);
    if (e->epoll >= 0)
        (void)close(e->epoll);
    if (e->wake >= 0)
        (void)close(e->wake);
    for (struct host *h = e->hosts, *next; h; h = next) {
        next = h->next;
        free(h->origin);
        free(h);
    }
    free(e);
}

static bool set_up(struct engine *e)
{
    struct epoll_event ev = {.events = EPOLLIN};
    bkt_engine_curl_init();
    e->epoll = epoll_create1(EPOLL_CLOEXEC);
    e->wake  = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    e->multi = curl_multi_init();
    e->share = curl_share_init();
    if (e->epoll < 0 || e->wake < 0 || !e->multi || !e->share)
        return false;
    ev.data.fd = e->wake;
    if (epoll_ctl(e->epoll, EPOLL_CTL_ADD, e->wake, &ev) < 0)
        return false;
    /* one thread uses the share: it needs no locks */
    (void)curl_share_setopt(e->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    (void)curl_multi_setopt(e->multi, CURLMOPT_SOCKETFUNCTION, bkt_engine_on_socket);
    (void)curl_multi_setopt(e->multi, CURLMOPT_SOCKETDATA, e);
    (void)curl_multi_setopt(e->multi, CURLMOPT_TIMERFUNCTION, bkt_engine_on_timer);
    (void)curl_multi_setopt(e->multi, CURLMOPT_TIMERDATA, e);
    (void)curl_multi_setopt(e->multi, CURLMOPT_MAXCONNECTS, MAX_CONNECTS);
    (void)curl_multi_setopt(e->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
    e->now      = bkt_engine_now();
    e->timer_at = e->hedge_at = UINT64_MAX;
    e->scan_ms  = SCAN_MAX_MS;
    return true;
}

static struct engine *start(void)
{
    struct engine *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->epoll = e->wake = -1;
    if (set_up(e) && bkt_thread_start(&e->thread, run, e) == 0)
        return e;
    free_engine(e);
    return NULL;
}

static void wake(const struct engine *e)
{
    uint64_t one = 1;
    while (write(e->wake, &one, sizeof one) < 0 && errno == EINTR)
        continue;
}

void bkt_engine_submit(struct bkt_xfer *x)
{
    x->next = x->prev = NULL;
    (void)pthread_mutex_lock(&lock);
    if (!engine)
        engine = start();
    struct engine *e = engine;
    if (e) {
        bool first = !e->in_head;
        if (first)
            e->in_head = x;
        else
            e->in_tail->next = x;
        e->in_tail = x;
        if (first && !pthread_equal(pthread_self(), e->thread))
            wake(e);
    }
    (void)pthread_mutex_unlock(&lock);
    if (!e)
        fail(x, "the I/O thread cannot be started");
}

void bkt_engine_cancelled(void)
{
    (void)pthread_mutex_lock(&lock);
    if (engine && !atomic_exchange(&engine->cancelled, true) && !is_io_thread)
        wake(engine);
    (void)pthread_mutex_unlock(&lock);
}

void bkt_engine_shutdown(void)
{
    (void)pthread_mutex_lock(&lock);
    struct engine *e = engine;
    engine           = NULL;
    if (e) {
        e->stop = true;
        wake(e);
    }
    (void)pthread_mutex_unlock(&lock);
    if (!e)
        return;
    (void)pthread_join(e->thread, NULL);
    free_engine(e);
}

void bkt_engine_before_fork(void) { (void)pthread_mutex_lock(&lock); }
void bkt_engine_after_fork_parent(void) { (void)pthread_mutex_unlock(&lock); }

/* The child has none of the parent's threads.  Closing its copies of the descriptors leaves the parent's
 * connections alone, as no byte is sent. */
void bkt_engine_after_fork_child(void)
{
    for (size_t i = 0; i < n_sockets; i++)
        (void)close(sockets[i]);
    n_sockets = 0;
    if (engine) {
        (void)close(engine->epoll);
        (void)close(engine->wake);
        abandoned = engine;
        engine    = NULL;
    }
    (void)pthread_mutex_unlock(&lock);
}
