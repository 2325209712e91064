#include "storage/stats.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N_COUNTERS (sizeof(struct bkt_stats) / sizeof(uint64_t))

static _Atomic uint64_t counters[N_COUNTERS];
static pthread_once_t   stats_once = PTHREAD_ONCE_INIT;
static pid_t            stats_owner; /* a forked child does not print its parent's counts */

void bkt_stats_add(size_t counter, uint64_t n)
{
    atomic_fetch_add_explicit(&counters[counter], n, memory_order_relaxed);
}

void bkt_stats_get(struct bkt_stats *out)
{
    uint64_t v[N_COUNTERS] = {0};
    for (size_t i = 0; i < N_COUNTERS; i++)
        v[i] = atomic_load_explicit(&counters[i], memory_order_relaxed);
    memcpy(out, v, sizeof *out);
}

static void print_stats(void)
{
    struct bkt_stats s;
    bkt_stats_get(&s);
    (void)fprintf(stderr,
                  "h5bucket: GET %" PRIu64 " HEAD %" PRIu64 " PUT %" PRIu64 " DELETE %" PRIu64
                  " LIST %" PRIu64 " attempts %" PRIu64 " retries %" PRIu64 " failures %" PRIu64
                  " in %" PRIu64 " out %" PRIu64 " connections %" PRIu64 " hedges %" PRIu64 " ahead %" PRIu64
                  "+%" PRIu64 " credentials %" PRIu64 "\n",
                  s.get, s.head, s.put, s.del, s.list, s.attempts, s.retries, s.failures, s.bytes_in,
                  s.bytes_out, s.connections, s.hedges, s.ahead_used, s.ahead_unused,
                  s.cred_requests);
}

static void at_exit(void)
{
    if (getpid() == stats_owner)
        print_stats();
}

static void arrange(void)
{
    stats_owner = getpid();
    (void)atexit(at_exit); /* in a shared object glibc runs it at dlclose() at the latest */
}

void bkt_stats_at_exit(void) { (void)pthread_once(&stats_once, arrange); }
