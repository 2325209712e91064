/* Several I/O threads: connections, the budget of hedges and the pace of a server are counted over all of
 * them.  Connections stay warm, and a callback waits for no other thread's.  Time is real here, and no check
 * depends on a short one. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helpers/store_testing.h"
#include "helpers/sanitizer.h"
#include "http/helpers/server.h"

#define THREADS 4
#define SIZE    1000
#define BURST   64

enum mode { PLAIN, TOGETHER, NARROW, LATE, HANGS };
static _Atomic int mode;
static _Atomic unsigned n_asked;
static unsigned char *data;

static void handle(const struct seen *r, struct answer *a, void *arg)
{
    (void)arg;
    answer_object(r, a, data, SIZE, "\"e\"");
    switch (atomic_load(&mode)) {
    case TOGETHER:
        a->until = r->index / BURST * BURST + BURST;
        break;
    case NARROW:
        a->delay_ms = 5;
        break;
    case LATE:
        a->delay_ms = atomic_fetch_add(&n_asked, 1) % 50 == 27 ? 1000 : 5;
        break;
    case HANGS:
        a->silent = true, a->after = STALL;
        break;
    default:
        break;
    }
}

/* ---- requests ---- */

struct all {
    struct bkt_req req[400];
    unsigned char to[400][SIZE];
    pthread_mutex_t lock;
    pthread_cond_t over;
    size_t left;
    pthread_t thread[400]; /* that ended it */
    bool meet;             /* done() of the first two wait for each other */
    unsigned met;
};

/* Forbidden for a program: it shows whether another thread goes on meanwhile. */
static void meet(struct all *a)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 20;
    a->met++;
    (void)pthread_cond_broadcast(&a->over);
    while (a->met < 2 && pthread_cond_timedwait(&a->over, &a->lock, &until) == 0)
        continue;
}

static void done(struct bkt_req *req)
{
    struct all *a = req->arg;
    (void)pthread_mutex_lock(&a->lock);
    a->thread[req - a->req] = pthread_self();
    if (a->meet)
        meet(a);
    a->left--;
    (void)pthread_cond_broadcast(&a->over);
    (void)pthread_mutex_unlock(&a->lock);
}

static struct all *begin(struct bkt_store *st, size_t n, const atomic_bool *cancel)
{
    struct all *a = calloc(1, sizeof *a);
    if (!a)
        exit(1);
    (void)pthread_mutex_init(&a->lock, NULL);
    (void)pthread_cond_init(&a->over, NULL);
    a->left = n;
    a->meet = n == 2;
    for (size_t i = 0; i < n; i++) {
        a->req[i] = (struct bkt_req){.op = BKT_GET,
                                     .key = "o",
                                     .len = SIZE,
                                     .dst = a->to[i],
                                     .cancel = cancel,
                                     .done = done,
                                     .arg = a};
        bkt_store_start(st, &a->req[i]);
    }
    return a;
}

/* Waits; gives back how many threads there were. */
static size_t end(struct all *a, size_t n, int want)
{
    size_t bad = 0, threads = 0;
    (void)pthread_mutex_lock(&a->lock);
    while (a->left)
        (void)pthread_cond_wait(&a->over, &a->lock);
    (void)pthread_mutex_unlock(&a->lock);
    for (size_t i = 0; i < n; i++) {
        size_t j = 0;
        bad += a->req[i].rc != want || (want == BKT_OK && memcmp(a->to[i], data, SIZE) != 0);
        while (j < i && !pthread_equal(a->thread[j], a->thread[i]))
            j++;
        threads += j == i;
        bkt_req_fini(&a->req[i]);
    }
    CHECK(bad == 0, "%zu of %zu are wrong", bad, n);
    (void)pthread_cond_destroy(&a->over);
    (void)pthread_mutex_destroy(&a->lock);
    free(a);
    return threads;
}

/* ---- tests ---- */

static void spread_and_warm(struct server *s)
{
    struct bkt_store *st = open_store(server_url(s), "test.io_threads=4;test.hedge=0;connections=64");
    (void)stats_since();
    for (int i = 0; i < 10; i++)
        (void)end(begin(st, 1, NULL), 1, BKT_OK);
    CHECK(stats_since().connections == 1, "one after the other, over several connections");
    server_reset(s);
    atomic_store(&mode, TOGETHER);
    size_t threads = end(begin(st, BURST, NULL), BURST, BKT_OK);
    CHECK(threads == THREADS, "%zu threads", threads);
    CHECK(stats_since().connections == BURST - 1, "not each over a connection, or not all kept");
    for (int i = 0; i < 5; i++)
        (void)end(begin(st, BURST, NULL), BURST, BKT_OK);
    uint64_t more = stats_since().connections;
    CHECK(more == 0, "%u connections more for as many requests at once as before", (unsigned)more);
    atomic_store(&mode, PLAIN);
    bkt_store_close(st);
}

static void bounded(void)
{
    struct server *s = server_start(handle, NULL);
    if (!s)
        exit(1);
    struct bkt_store *st = open_store(server_url(s), "test.io_threads=4;test.hedge=0;connections=8");
    atomic_store(&mode, NARROW);
    (void)end(begin(st, 200, NULL), 200, BKT_OK);
    CHECK(server_most_connections(s) <= 8, "%u connections", server_most_connections(s));
    atomic_store(&mode, PLAIN);
    bkt_store_close(st);
    bkt_store_shutdown();
    server_stop(s);
}

static void no_callback_waits(struct server *s)
{
    struct bkt_store *st = open_store(server_url(s), "test.io_threads=2;test.hedge=0");
    struct all *a = begin(st, 2, NULL);
    double t = seconds();
    size_t n = end(a, 2, BKT_OK);
    CHECK(n == 2 && seconds() - t < 15, "%zu threads, one waited %.1f s for the other's callback", n,
          seconds() - t);
    bkt_store_close(st);
}

/* 5 % of the requests, and the saved-up budget, whichever threads have them. */
static void hedges_have_one_budget(struct server *s)
{
    bkt_store_shutdown();
    struct bkt_store *st = open_store(server_url(s), "test.io_threads=4;test.hedge=5;connections=16");
    unsigned n = 0;
    atomic_store(&mode, LATE);
    (void)stats_since();
    for (int i = 0; i < 3; i++, n += 400)
        (void)end(begin(st, 400, NULL), 400, BKT_OK);
    uint64_t hedges = stats_since().hedges;
    CHECK(hedges > 0 && hedges <= n * 5 / 100, "%u hedges of %u requests", (unsigned)hedges, n);
    atomic_store(&mode, PLAIN);
    bkt_store_close(st);
}

static void deadlines_and_cancelling(struct server *s)
{
    struct bkt_store *st = open_store(server_url(s), "test.io_threads=4;test.hedge=0;retries=0;deadline_ms=300");
    atomic_bool cancel = false;
    (void)end(begin(st, 1, NULL), 1, BKT_OK);
    atomic_store(&mode, HANGS);
    (void)end(begin(st, 32, NULL), 32, BKT_ETIME);
    bkt_store_close(st);
    st = open_store(server_url(s), "test.io_threads=4;test.hedge=0;connections=16");
    struct all *a = begin(st, 64, &cancel);
    while (server_count(s) < 16)
        (void)usleep(1000);
    atomic_store(&cancel, true);
    bkt_store_cancelled();
    (void)end(a, 64, BKT_ECANCEL);
    atomic_store(&mode, PLAIN);
    bkt_store_close(st);
}

#if !UNDER_TSAN /* its runtime cannot start threads in the child of a threaded process */
/* A child has none of the threads, and starts its own. */
static void forked(struct server *s)
{
    struct bkt_store *st = open_store(server_url(s), "test.io_threads=4;test.hedge=0");
    (void)end(begin(st, 8, NULL), 8, BKT_OK);
    pid_t pid = fork();
    if (pid == 0) {
        (void)end(begin(st, 8, NULL), 8, BKT_OK);
        bkt_store_shutdown();
        _exit(failures != 0);
    }
    int status = -1;
    (void)waitpid(pid, &status, 0);
    CHECK(status == 0, "the child: %d", status);
    (void)end(begin(st, 8, NULL), 8, BKT_OK);
    bkt_store_close(st);
}
#endif

int main(void)
{
    data = pattern(SIZE);
    struct server *s = server_start(handle, NULL);
    if (!s)
        return 1;
    spread_and_warm(s);
    bounded();
    no_callback_waits(s);
    hedges_have_one_budget(s);
    server_reset(s);
    deadlines_and_cancelling(s);
#if !UNDER_TSAN
    forked(s);
#endif
    bkt_store_shutdown();
    server_stop(s);
    free(data);
    return failures != 0;
}
