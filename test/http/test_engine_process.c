/* The I/O thread and the process: idling, threads of the program, fork, shutdown.  Time is made here
 * (helpers/virtual_clock.c). */
#include <dirent.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helpers/sanitizer.h"
#include "http/helpers/ranges.h"

static atomic_bool silent; /* the server does not answer */

static void handle(const struct seen *r, struct answer *a, void *arg)
{
    (void)arg;
    answer_object(r, a, data, SIZE, "\"e\"");
    if (atomic_load(&silent))
        a->silent = true, a->after = STALL;
}

static size_t count_dir(const char *path)
{
    size_t n = 0;
    DIR   *d = opendir(path);
    while (d && readdir(d))
        n++;
    if (d)
        (void)closedir(d);
    return n;
}

/* Processor time and wake-ups of threads during a second without requests.  Other causes in a process
 * (threads that end, a sanitizer's own) may show in nine seconds of ten. */
static bool is_idle(long *us, long *wake_ups)
{
    for (int i = 0; i < 10; i++) {
        struct rusage a, b;
        (void)getrusage(RUSAGE_SELF, &a);
        (void)usleep(1000000);
        (void)getrusage(RUSAGE_SELF, &b);
        *us = (b.ru_utime.tv_sec + b.ru_stime.tv_sec - a.ru_utime.tv_sec - a.ru_stime.tv_sec) * 1000000L + b.ru_utime.tv_usec +
              b.ru_stime.tv_usec - a.ru_utime.tv_usec - a.ru_stime.tv_usec;
        *wake_ups = b.ru_nvcsw - a.ru_nvcsw;
        if (*us < 50000 && *wake_ups < 100)
            return true;
    }
    return false;
}

/* Kept connections and idle threads take no processor time. */
static void idle_is_idle(struct server *s)
{
    size_t            n = 64, len = 300;
    unsigned char    *dst = malloc(n * len);
    struct bkt_store *st  = open_store(server_url(s), "connections=64");
    struct bkt_req   *r   = ranges(n, len, dst);
    long              us = 0, wake_ups = 0;
    CHECK(bkt_store_perform(st, r, n, NULL) == BKT_OK, "64 requests");
    check_ranges("before idling", r, n, len, dst);
    CHECK(is_idle(&us, &wake_ups), "%ld us of processor time, %ld wake-ups in a second of idling", us, wake_ups);
    bkt_store_close(st);
    free(r);
    free(dst);
}

static void shutdown_leaves_nothing_and_starts_again(struct server *s)
{
    unsigned char dst[1000];
    bkt_store_shutdown();
    size_t fds = count_dir("/proc/self/fd"), threads = count_dir("/proc/self/task");
    for (int i = 0; i < 5; i++) {
        struct bkt_store *st = open_store(server_url(s), "");
        struct bkt_req   *r  = ranges(1, sizeof dst, dst);
        CHECK(bkt_store_perform(st, r, 1, NULL) == BKT_OK, "round %d", i);
        check_ranges("after a shutdown", r, 1, sizeof dst, dst);
        free(r);
        bkt_store_close(st);
        bkt_store_shutdown();
    }
    bkt_store_shutdown();
    for (int i = 0; i < 6000 && count_dir("/proc/self/fd") > fds; i++) /* the server closes its ends a little later */
        (void)usleep(10000);
    CHECK(count_dir("/proc/self/fd") <= fds, "%zu descriptors, were %zu", count_dir("/proc/self/fd"), fds);
    CHECK(count_dir("/proc/self/task") <= threads + 5, "%zu threads, were %zu", count_dir("/proc/self/task"), threads);
}

static struct bkt_store *stubborn_store;
static atomic_int        stubborn_ends;

/* Starts its request again whenever that fails, four times. */
static void start_again(struct bkt_req *req)
{
    CHECK(req->rc < 0, "a request after the shutdown began: %d", req->rc);
    if (atomic_fetch_add(&stubborn_ends, 1) < 4)
        bkt_store_start(stubborn_store, req);
}

static void nothing_begins_while_it_shuts_down(struct server *s)
{
    struct bkt_req req = {.op = BKT_GET, .key = "o", .len = 20, .done = start_again};
    bkt_store_shutdown();
    size_t threads = count_dir("/proc/self/task");
    atomic_store(&silent, true);
    stubborn_store = open_store(server_url(s), "retries=0;test.hedge=0");
    bkt_store_start(stubborn_store, &req);
    (void)usleep(50000);
    bkt_store_shutdown();
    CHECK(atomic_load(&stubborn_ends) == 5, "done %d times", atomic_load(&stubborn_ends));
    CHECK(count_dir("/proc/self/task") <= threads + 1, "%zu threads, were %zu", count_dir("/proc/self/task"), threads); /* the server's */
    bkt_req_fini(&req);
    bkt_store_close(stubborn_store);
    atomic_store(&silent, false);
}

static int forked = -1;

static void fork_once(struct bkt_req *req)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(req->rc < 0 ? 7 : 8);
    CHECK(pid > 0 && waitpid(pid, &forked, 0) == pid, "fork in done()");
}

/* The callback may do anything that done() may: no lock of ours is held. */
static void __attribute__((unused)) no_thread_can_be_started(struct server *s)
{
    struct bkt_req    req = {.op = BKT_GET, .key = "o", .len = 20, .done = fork_once};
    struct bkt_store *st  = open_store(server_url(s), "retries=0");
    struct rlimit     was, none;
    bkt_store_shutdown();
    (void)getrlimit(RLIMIT_NOFILE, &was);
    none = (struct rlimit){0, was.rlim_max};
    (void)setrlimit(RLIMIT_NOFILE, &none);
    bkt_store_start(st, &req);
    (void)setrlimit(RLIMIT_NOFILE, &was);
    CHECK(WIFEXITED(forked) && WEXITSTATUS(forked) == 7, "done() without a thread: %d", forked);
    bkt_req_fini(&req);
    bkt_store_close(st);
}

static void __attribute__((unused)) child_works_beside_its_parent(struct server *s)
{
    unsigned char     dst[1000];
    struct bkt_store *st = open_store(server_url(s), "");
    struct bkt_req   *r  = ranges(1, sizeof dst, dst);
    CHECK(bkt_store_perform(st, r, 1, NULL) == BKT_OK, "before fork");
    unsigned conns = server_connections(s);
    size_t   files = count_dir("/proc/self/fd");
    pid_t    pid   = fork();
    if (pid == 0) {
        if (count_dir("/proc/self/fd") + 3 > files) /* two of the I/O thread's, and the connection */
            _exit(2);
        bkt_req_fini(&r[0]);
        int rc = bkt_store_perform(st, r, 1, NULL);
        bkt_store_close(st);
        bkt_store_shutdown();
        _exit(rc == BKT_OK && memcmp(dst, data + r[0].off, sizeof dst) == 0 ? 0 : 1);
    }
    int status = -1;
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "the child ended with %d", status);
    CHECK(server_connections(s) == conns + 1, "the child opened %u connections", server_connections(s) - conns);
    (void)stats_since();
    for (int i = 0; i < 3; i++)
        CHECK(bkt_store_perform(st, r, 1, NULL) == BKT_OK, "after fork");
    CHECK(stats_since().connections == 0, "the parent's connection is gone");
    check_ranges("after fork", r, 1, sizeof dst, dst);
    free(r);
    bkt_store_close(st);
}

struct many {
    struct bkt_store *st;
    size_t            bad;
};

static void *run_many(void *arg)
{
    struct many *m = arg;
    for (int i = 0; i < 20; i++) {
        unsigned char  *dst = malloc(20 * 100);
        struct bkt_req *r   = ranges(20, 100, dst);
        (void)bkt_store_perform(m->st, r, 20, NULL);
        for (int k = 0; k < 20; k++) {
            m->bad += r[k].rc != BKT_OK || memcmp(dst + (ptrdiff_t)k * 100, data + r[k].off, 100) != 0;
            bkt_req_fini(&r[k]);
        }
        free(r);
        free(dst);
    }
    return NULL;
}

static void many_threads_share_a_store(struct server *s)
{
    struct bkt_store *st = open_store(server_url(s), "connections=8");
    struct many       m[8];
    pthread_t         t[8];
    for (size_t i = 0; i < 8; i++) {
        m[i] = (struct many){st, 0};
        (void)pthread_create(&t[i], NULL, run_many, &m[i]);
    }
    for (size_t i = 0; i < 8; i++) {
        (void)pthread_join(t[i], NULL);
        CHECK(m[i].bad == 0, "thread %zu: %zu wrong", i, m[i].bad);
    }
    bkt_store_close(st);
}

int main(void)
{
    data             = pattern(SIZE);
    struct server *s = server_start(handle, NULL);
    if (!s || !data)
        return 1;
    idle_is_idle(s);
    many_threads_share_a_store(s);
#if !UNDER_TSAN /* its runtime cannot start threads in the child of a threaded process */
    child_works_beside_its_parent(s);
    no_thread_can_be_started(s);
#endif
    nothing_begins_while_it_shuts_down(s);
    shutdown_leaves_nothing_and_starts_again(s);
    server_stop(s);
    free(data);
    return failures != 0;
}
