#include "tools/load/load_processes.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools/cli/interrupt.h"

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
