#include "tools/load/load_processes.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "tools/cli/interrupt.h"
#include "tools/load/parts.h"
#include "tools/share/share.h"

struct board { /* shared by all processes */
    atomic_int next, good, bad;
};

static void work(const struct load_crowd *c, struct board *b)
{
    for (int i; interrupt_check(NULL) == BKT_OK && (i = atomic_fetch_add(&b->next, 1)) < c->n;)
        atomic_fetch_add(c->one(c->arg, i) == 0 ? &b->good : &b->bad, 1);
}

static void show(const struct load_crowd *c, const struct board *b, time_t began)
{
    int done = atomic_load(&b->good) + atomic_load(&b->bad);
    if (isatty(STDERR_FILENO) <= 0 || done == 0)
        return;
    long long left = (long long)(time(NULL) - began) * (c->n - done) / done;
    (void)fprintf(stderr, "\r\033[K%s: %d of %d files, %lld:%02lld to go", c->what, done, c->n, left / 60,
                  left % 60);
}

/* Waits until all processes have ended; the entry of an ended process becomes -1. */
static void watch(const struct load_crowd *c, const struct board *b, pid_t *pids, int n)
{
    const struct timespec pause = {.tv_nsec = 100000000};
    time_t                began = time(NULL);
    bool                  told  = false;
    while (n > 0) {
        int i = 0;
        while (pids[i] && (pids[i] < 0 || waitpid(pids[i], NULL, WNOHANG) == 0))
            i++;
        if (pids[i]) {
            pids[i] = -1;
            n--;
            continue;
        }
        if (!told && interrupt_status() == 128 + SIGTERM) { /* Ctrl-C has reached them, too */
            for (i = 0; pids[i]; i++)
                if (pids[i] > 0)
                    (void)kill(pids[i], SIGTERM);
            told = true;
        }
        show(c, b, began);
        (void)nanosleep(&pause, NULL);
    }
    if (isatty(STDERR_FILENO) > 0)
        (void)fputs("\r\033[K", stderr);
}

int load_crowd(const struct load_crowd *c, unsigned jobs, int *failed)
{
    struct board *b    = mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t        *pids = calloc(jobs + 1, sizeof *pids);
    int           n = 0, left = -1;
    for (; b != MAP_FAILED && pids && n < (int)jobs && n < c->n; n++) {
        pids[n] = fork();
        if (pids[n] == 0) {
            free(pids);
            work(c, b);
            exit(0);
        }
        if (pids[n] < 0) {
            pids[n] = 0;
            break;
        }
    }
    if (n > 0) {
        watch(c, b, pids, n);
        int begun = atomic_load(&b->next) < c->n ? atomic_load(&b->next) : c->n;
        *failed   = begun - atomic_load(&b->good);
        left      = c->n - begun;
    }
    if (b != MAP_FAILED)
        (void)munmap(b, sizeof *b);
    free(pids);
    return left;
}

/* ---- among the processes of an mpirun ---- */

#define EVERY 5.0 /* seconds between two lines of progress: a launcher's output is not a terminal */

struct among {
    const struct load_crowd *c;
    int done, failed;
    double shown;
};

static int work_among(void *arg, struct bkt_rd *unit, struct bkt_buf *result, struct bkt_err *err)
{
    const struct among *a = arg;
    uint64_t i = bkt_rd_le(unit, 4);
    if (!unit->ok || i >= (uint64_t)a->c->n)
        BKT_FAIL(err, BKT_EFORMAT, "a malformed unit of work");
    bool good = a->c->one(a->c->arg, (int)i) == 0;
    if (!good)
        BKT_PASS(interrupt_check(err)); /* it was stopped: that is the reason */
    return parts_say(result, err, "1", good);
}

static int take_among(void *arg, struct bkt_rd *result, struct bkt_err *err)
{
    struct among *a = arg;
    a->failed += !bkt_rd_le(result, 1);
    a->done++;
    if (!result->ok)
        BKT_FAIL(err, BKT_EFORMAT, "a malformed result");
    if (bkt_clock_now() - a->shown < EVERY)
        return BKT_OK;
    a->shown = bkt_clock_now();
    (void)fprintf(stderr, "%s: %d of %d files\n", a->c->what, a->done, a->c->n);
    return BKT_OK;
}

int load_among(const struct load_crowd *c, int *failed, int *left, struct bkt_err *err)
{
    struct among a = {.c = c, .shown = bkt_clock_now()};
    struct bkt_share s = {
        .work = work_among, .take = take_among, .arg = &a, .most = SIZE_MAX, .check = interrupt_check};
    int rc = bkt_share_begin(&s, err);
    for (int i = 0; i < c->n && rc == BKT_OK; i++) {
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf unit = {0};
        rc = parts_say(&unit, err, "4", (uint64_t)i);
        rc = rc ? rc : bkt_share_put(&s, &unit, err);
    }
    rc = bkt_share_finish(&s, rc, err);
    *failed = a.failed;
    *left = c->n - a.done;
    return rc;
}

int load_among_serve(const struct load_crowd *c, struct bkt_err *err)
{
    struct among a = {.c = c};
    struct bkt_share_other o = {.work = work_among, .arg = &a};
    return bkt_share_serve(&o, err);
}
