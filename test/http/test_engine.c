/* The I/O thread and its requests: bounds, batches, deadlines, cancelling.  Time is made here
 * (helpers/virtual_clock.c). */
#include <pthread.h>
#include <unistd.h>

#include "http/helpers/ranges.h"
#include "storage/http/engine.h"

#define SLOTS 64
enum mode { PLAIN, TOGETHER, TWICE, SILENT, BUSY, LATE, NARROW, HANGS, STUCK, CRAWLS, GIVES_UP };
static _Atomic int      mode;
static _Atomic unsigned n_late, n_refused, n_stuck, n_rests;

/* Answers 8 requests in 20 ms, as if it bore 8 at once, and refuses the others. */
static void narrow(struct answer *a)
{
    static uint64_t begun[8];
    static size_t   at;
    uint64_t        now = server_clock(); /* whole milliseconds: a difference of seconds() is 20 ms or a little less, by chance */
    if (now < begun[at % 8] + 20) {
        a->status = 503, a->len = 0;
        atomic_fetch_add(&n_refused, 1);
        return;
    }
    begun[at++ % 8] = now;
    a->delay_ms     = 20;
}

/* On a busy machine the rest of a body may be late itself and be requested twice, like any other request: it
 * counts once. */
static void count_rest(const char *range)
{
    static char known[64][48];
    unsigned    n = atomic_load(&n_rests), i = 0;
    while (i < n && i < 64 && strcmp(known[i], range) != 0)
        i++;
    if (i < n)
        return;
    if (n < 64)
        (void)snprintf(known[n], sizeof known[n], "%s", range);
    atomic_fetch_add(&n_rests, 1);
}

/* One body in a hundred gets stuck halfway, or comes at 2 KB/s. */
static void stick(const struct seen *r, struct answer *a, bool crawls)
{
    if (*seen_header(r, "If-Match")) {
        count_rest(seen_header(r, "Range"));
    } else if (atomic_fetch_add(&n_late, 1) % 100 == 77) {
        atomic_fetch_add(&n_stuck, 1);
        a->cut     = crawls ? a->cut : a->len / 2;
        a->after   = crawls ? KEEP : STALL;
        a->slow_ms = crawls ? 50 : 0;
        a->piece   = 100;
    }
}

static atomic_bool cancel;
static double      cancelled_at;

/* Busy; and after some requests the program no longer wants the answers. */
static void give_up(const struct seen *r, struct answer *a)
{
    a->status = 503, a->len = 0;
    if (atomic_load(&cancel))
        return;
    cancelled_at = seconds();
    atomic_store(&cancel, r->index > 0);
}

static void handle(const struct seen *r, struct answer *a, void *arg)
{
    (void)arg;
    answer_object(r, a, data, SIZE, "\"e\"");
    switch (atomic_load(&mode)) {
    case TOGETHER: a->until = r->index / SLOTS * SLOTS + SLOTS; break;
    case TWICE: a->until = 2 * SLOTS; break;
    case SILENT: a->silent = true, a->after = STALL; break;
    case BUSY: a->status = 503, a->len = 0; break;
    case NARROW: narrow(a); break;
    case GIVES_UP: give_up(r, a); break;
    case HANGS: a->cut = a->len / 2, a->after = STALL; break;
    case LATE: a->delay_ms = atomic_fetch_add(&n_late, 1) % 100 == 77 ? 3000 : 5; break;
    case STUCK: stick(r, a, false); break;
    case CRAWLS: stick(r, a, true); break;
    default: break;
    }
}

static void connections_are_bounded_and_kept(struct server *s)
{
    size_t            n = 512, len = 3000;
    unsigned char    *dst = malloc(n * len);
    struct bkt_store *st  = open_store(server_url(s), "connections=64;test.hedge=0");
    struct bkt_req   *r   = ranges(1, len, dst);
    struct bkt_err    err = {0};
    CHECK(bkt_store_perform(st, r, 1, &err) == BKT_OK, "%s", first_line(&err)); /* the first goes alone */
    check_ranges("the first", r, 1, len, dst);
    free(r);
    server_reset(s);
    atomic_store(&mode, TOGETHER);
    r = ranges(n, len, dst);
    (void)stats_since();
    CHECK(bkt_store_perform(st, r, n, &err) == BKT_OK, "%s", first_line(&err));
    struct bkt_stats d = stats_since();
    check_ranges("512 at once", r, n, len, dst);
    CHECK(d.attempts == n && d.get == n && d.retries == 0, "%lu attempts", (unsigned long)d.attempts);
    CHECK(d.bytes_in == n * len, "%lu bytes", (unsigned long)d.bytes_in);
    CHECK(server_most_connections(s) == SLOTS && d.connections == SLOTS - 1 && bkt_engine_most_sockets() == SLOTS,
          "%u connections open at once, %lu opened besides the first", server_most_connections(s), (unsigned long)d.connections);
    atomic_store(&mode, PLAIN);
    free(r);
    r = ranges(64, len, dst);
    CHECK(bkt_store_perform(st, r, 64, &err) == BKT_OK, "%s", first_line(&err));
    check_ranges("64 more", r, 64, len, dst);
    d = stats_since();
    CHECK(d.connections == 0, "%lu connections opened again", (unsigned long)d.connections);
    free(r);
    free(dst);
    bkt_store_close(st);
}

/* Requests that are known to be small, to a server that has only answered once: none is answered before all
 * 128 have come. */
static void small_ones_have_twice_as_many(void)
{
    size_t            n = 2 * SLOTS, len = 3000;
    unsigned char    *dst = malloc(n * len);
    struct server    *s   = server_start(handle, NULL);
    struct bkt_store *st  = open_store(server_url(s), "test.hedge=0");
    struct bkt_req   *r   = ranges(1, len, dst);
    struct bkt_err    err = {0};
    CHECK(bkt_store_perform(st, r, 1, &err) == BKT_OK, "%s", first_line(&err));
    check_ranges("the first", r, 1, len, dst);
    free(r);
    server_reset(s);
    atomic_store(&mode, TWICE);
    r = ranges(n, len, dst);
    for (size_t i = 0; i < n; i++)
        r[i].small = true;
    (void)stats_since();
    CHECK(bkt_store_perform(st, r, n, &err) == BKT_OK, "%s", first_line(&err));
    check_ranges("128 small ones", r, n, len, dst);
    CHECK(stats_since().connections == n - 1, "all at once");
    atomic_store(&mode, PLAIN);
    free(r);
    free(dst);
    bkt_store_close(st);
    bkt_store_shutdown();
    server_stop(s);
}

/* One answer in a hundred comes 3 s late: a second request avoids the wait, within the budget; hedge=0 does
 * not. */
static void late_answers_are_hedged(struct server *s)
{
    size_t            n = 600, len = 3000;
    unsigned char    *dst = malloc(n * len);
    struct bkt_store *st  = open_store(server_url(s), "connections=16;test.hedge=5;deadline_ms=20000");
    struct bkt_req   *r   = ranges(n, len, dst);
    struct bkt_err    err = {0};
    atomic_store(&mode, LATE);
    (void)stats_since();
    CHECK(bkt_store_perform(st, r, n, &err) == BKT_OK, "%s", first_line(&err));
    struct bkt_stats d = stats_since();
    check_ranges("600 with late ones", r, n, len, dst);
    CHECK(d.hedges >= 5 && d.hedges <= n / 20 + 16, "%lu sent a second time", (unsigned long)d.hedges);
    CHECK(d.get == n && d.attempts == n && d.retries == 0, "%lu attempts", (unsigned long)d.attempts);
    bkt_store_close(st);
    free(r);
    st = open_store(server_url(s), "test.hedge=0;deadline_ms=1500;retries=0");
    r  = ranges(150, len, dst);
    CHECK(bkt_store_perform(st, r, 150, &err) == BKT_ETIME && stats_since().hedges == 0, "hedge=0");
    for (size_t i = 0; i < 150; i++)
        bkt_req_fini(&r[i]);
    atomic_store(&mode, PLAIN);
    free(r);
    free(dst);
    bkt_store_close(st);
}

/* Bodies that stick, or crawl, are given up, and exactly their rest is requested. */
static void stuck_bodies_are_resumed(struct server *s, enum mode m)
{
    size_t            n = 600, len = 9000;
    unsigned char    *dst = malloc(n * len);
    struct bkt_store *st  = open_store(server_url(s), "connections=16;test.hedge=5;deadline_ms=20000;test.stall_ms=20000");
    struct bkt_req   *r   = ranges(n, len, dst);
    struct bkt_err    err = {0};
    atomic_store(&n_late, 0);
    atomic_store(&n_stuck, 0);
    atomic_store(&n_rests, 0);
    atomic_store(&mode, m);
    unsigned before = server_count(s);
    double   t0     = seconds();
    (void)stats_since();
    CHECK(bkt_store_perform(st, r, n, &err) == BKT_OK, "%s", first_line(&err));
    struct bkt_stats d = stats_since();
    check_ranges("600 with stuck ones", r, n, len, dst);
    unsigned stuck = atomic_load(&n_stuck), rests = atomic_load(&n_rests);
    CHECK(stuck == 6 && rests >= 4 && rests <= n / 20, "%u stuck, %u rests asked for", stuck, rests);
    CHECK(m == CRAWLS || rests >= stuck, "%u stuck, %u rests asked for", stuck, rests);
    CHECK(d.get == n && d.attempts == n + rests && d.retries == 0, "%lu attempts", (unsigned long)d.attempts);
    CHECK(d.hedges >= rests && server_count(s) - before == n + d.hedges, "%u requests", server_count(s) - before);
    CHECK(d.bytes_in == n * len, "%lu bytes", (unsigned long)d.bytes_in);
    CHECK(seconds() - t0 < 15, "took %.2f s", seconds() - t0);
    atomic_store(&mode, PLAIN);
    free(r);
    free(dst);
    bkt_store_close(st);
}

struct chain {
    struct bkt_store *st;
    struct bkt_req    req;
    int               left;
    pthread_mutex_t   lock;
    pthread_cond_t    done;
    bool              over;
};

static void next_link(struct bkt_req *req)
{
    struct chain *c = req->arg;
    if (req->rc == BKT_OK && --c->left > 0) {
        bkt_store_start(c->st, req);
        return;
    }
    (void)pthread_mutex_lock(&c->lock);
    c->over = true;
    (void)pthread_cond_signal(&c->done);
    (void)pthread_mutex_unlock(&c->lock);
}

/* done() that starts the next request, on the network and, without a stack growing, in memory */
static void requests_can_be_chained(const char *uri, int n)
{
    struct chain c = {.st = open_store(uri, ""), .left = n, .lock = PTHREAD_MUTEX_INITIALIZER,
                      .done = PTHREAD_COND_INITIALIZER};
    if (!bkt_store_is_readonly(c.st)) {
        struct bkt_req put = {.op = BKT_PUT, .key = "o", .put = data, .put_len = SIZE};
        CHECK(bkt_store_perform(c.st, &put, 1, NULL) == BKT_OK, "put");
        bkt_req_fini(&put);
    }
    c.req = (struct bkt_req){.op = BKT_GET, .key = "o", .off = 10, .len = 20, .done = next_link, .arg = &c};
    bkt_store_start(c.st, &c.req);
    (void)pthread_mutex_lock(&c.lock);
    while (!c.over)
        (void)pthread_cond_wait(&c.done, &c.lock);
    (void)pthread_mutex_unlock(&c.lock);
    CHECK(c.left == 0 && c.req.rc == BKT_OK && c.req.n == 20, "%s: %d links left, %s", uri, c.left,
          bkt_err_text(c.req.rc));
    bkt_req_fini(&c.req);
    bkt_store_close(c.st);
}

static void deadline_ends_a_request(struct server *s, enum mode m, const char *settings, double after, int want)
{
    struct bkt_store *st  = open_store(server_url(s), settings);
    struct bkt_buf    out = {0};
    struct bkt_err    err = {0};
    atomic_store(&mode, m);
    double t0 = seconds();
    int    rc = bkt_store_get(st, "o", 0, BKT_WHOLE, &out, &err);
    double t  = (double)(long)((seconds() - t0) * 1000 + 0.5) / 1000; /* time is made of whole milliseconds */
    /* the deadline may end the last try */
    CHECK(rc == want || rc == BKT_ETIME, "%s: %s (%s)", settings, bkt_err_text(rc), first_line(&err));
    CHECK((t >= after || rc == want) && t < after + 0.2, "%s: took %.2f s", settings, t);
    atomic_store(&mode, PLAIN);
    bkt_store_close(st);
}

static void *cancel_soon(void *server)
{
    while (!server_count(server)) /* some are under way */
        (void)usleep(1000);
    atomic_store(&cancel, true);
    bkt_store_cancelled();
    return NULL;
}

static void cancel_ends_what_waits(struct server *s)
{
    struct bkt_store  *st  = open_store(server_url(s), "test.backoff_ms=60000;retries=100;connections=1");
    struct bkt_req     r[20];
    struct bkt_err     err = {0};
    memset(r, 0, sizeof r);
    for (size_t i = 0; i < BKT_COUNT(r); i++)
        r[i] = (struct bkt_req){.op = BKT_GET, .key = "o", .len = BKT_WHOLE, .cancel = &cancel};
    atomic_store(&cancel, false);
    atomic_store(&mode, GIVES_UP);
    int rc = bkt_store_perform(st, r, BKT_COUNT(r), &err);
    CHECK(rc == BKT_ECANCEL, "%s (%s)", bkt_err_text(rc), first_line(&err));
    CHECK(seconds() - cancelled_at < 0.5, "took %.2f s", seconds() - cancelled_at);
    for (size_t i = 0; i < BKT_COUNT(r); i++)
        bkt_req_fini(&r[i]);
    atomic_store(&mode, PLAIN);
    unsigned before = server_count(s);
    rc = bkt_store_perform(st, r, 1, NULL);
    CHECK(rc == BKT_ECANCEL && server_count(s) == before, "a cancelled request is not sent");
    bkt_req_fini(&r[0]);
    bkt_store_close(st);
}

/* If a caller cancels a request whose body never ends, the end does not take the time of a stall. */
static void cancel_ends_what_is_under_way(struct server *s)
{
    static unsigned char dst[8][3000];
    struct bkt_store    *st = open_store(server_url(s), "test.stall_ms=60000;deadline_ms=60000;test.hedge=0");
    struct bkt_req       r[8];
    pthread_t            t;
    memset(r, 0, sizeof r);
    server_reset(s);
    atomic_store(&cancel, false);
    for (size_t i = 0; i < BKT_COUNT(r); i++)
        r[i] = (struct bkt_req){.op = BKT_GET, .key = "o", .off = i, .len = sizeof dst[i], .dst = dst[i], .cancel = &cancel};
    atomic_store(&mode, HANGS);
    double t0 = seconds();
    (void)pthread_create(&t, NULL, cancel_soon, s);
    int rc = bkt_store_perform(st, r, BKT_COUNT(r), NULL);
    CHECK(rc == BKT_ECANCEL && seconds() - t0 < 30, "%s after %.2f s", bkt_err_text(rc), seconds() - t0);
    (void)pthread_join(t, NULL);
    atomic_store(&mode, PLAIN);
    for (size_t i = 0; i < BKT_COUNT(r); i++) {
        CHECK(r[i].rc == BKT_ECANCEL, "request %zu: %s", i, bkt_err_text(r[i].rc));
        bkt_req_fini(&r[i]);
        r[i].cancel = NULL;
    }
    CHECK(bkt_store_perform(st, r, BKT_COUNT(r), NULL) == BKT_OK, "afterwards");
    for (size_t i = 0; i < BKT_COUNT(r); i++) {
        CHECK(memcmp(dst[i], data + i, sizeof dst[i]) == 0, "request %zu", i);
        bkt_req_fini(&r[i]);
    }
    bkt_store_close(st);
}

/* It gets no more requests at once than it answers, except for a try now and then. */
static void a_busy_server_gets_less(struct server *s)
{
    size_t            n = 400, len = 300;
    unsigned char    *dst = malloc(n * len);
    struct bkt_store *st  = open_store(server_url(s), "connections=64;test.hedge=0;retries=50");
    struct bkt_req   *r   = ranges(n, len, dst);
    struct bkt_err    err = {0};
    atomic_store(&mode, NARROW);
    atomic_store(&n_refused, 0);
    CHECK(bkt_store_perform(st, r, n, &err) == BKT_OK, "%s", first_line(&err));
    atomic_store(&mode, PLAIN);
    check_ranges("from a busy server", r, n, len, dst);
    CHECK(atomic_load(&n_refused) > 0 && atomic_load(&n_refused) < n / 2, "%u of %zu refused", atomic_load(&n_refused), n);
    bkt_store_close(st);
    free(r);
    free(dst);
}

static void dead_server_is_reported_soon(void)
{
    char              url[64];
    int               fd  = server_nobody(url, sizeof url);
    struct bkt_store *st  = open_store(url, "");
    struct bkt_buf    out = {0};
    struct bkt_err    err = {0};
    double            t0  = seconds();
    (void)stats_since();
    int rc = bkt_store_get(st, "o", 0, BKT_WHOLE, &out, &err);
    CHECK(rc == BKT_ENET && strstr(first_line(&err), "cannot connect"), "%s (%s)", bkt_err_text(rc), first_line(&err));
    CHECK(stats_since().attempts == 3, "attempts");
    CHECK(seconds() - t0 < 2, "took %.2f s", seconds() - t0);
    bkt_store_close(st);
    (void)close(fd);
}

int main(void)
{
    data             = pattern(SIZE);
    struct server *s = server_start(handle, NULL);
    if (!s || !data)
        return 1;
    connections_are_bounded_and_kept(s);
    small_ones_have_twice_as_many();
    requests_can_be_chained(server_url(s), 200);
    requests_can_be_chained("mem:chain", 200000);
    deadline_ends_a_request(s, SILENT, "deadline_ms=400;test.stall_ms=100;test.backoff_ms=10;retries=100", 0.4, BKT_ETIME);
    deadline_ends_a_request(s, SILENT, "deadline_ms=300;test.stall_ms=10000", 0.3, BKT_ETIME);
    deadline_ends_a_request(s, BUSY, "deadline_ms=400;test.backoff_ms=100;retries=100", 0.4, BKT_EBUSY);
    cancel_ends_what_waits(s);
    cancel_ends_what_is_under_way(s);
    a_busy_server_gets_less(s);
    late_answers_are_hedged(s);
    stuck_bodies_are_resumed(s, STUCK);
    stuck_bodies_are_resumed(s, CRAWLS);
    dead_server_is_reported_soon();
    bkt_store_shutdown();
    server_stop(s);
    free(data);
    return failures != 0;
}
