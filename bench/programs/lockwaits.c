/* Counts how often a thread finds a mutex held, and how long it then waits: preloaded by bench/threads.  The
 * figures are printed to stderr when the program ends. */
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

static atomic_uint_fast64_t locks, waits, waited_ns;

static uint64_t now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

__attribute__((visibility("default"))) int pthread_mutex_lock(pthread_mutex_t *m)
{
    static int (*_Atomic real)(pthread_mutex_t *);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_mutex_lock");
    atomic_fetch_add(&locks, 1);
    int rc = pthread_mutex_trylock(m);
    if (rc == 0)
        return 0;
    uint64_t begin = now_ns();
    rc             = real(m);
    atomic_fetch_add(&waits, 1);
    atomic_fetch_add(&waited_ns, now_ns() - begin);
    return rc;
}

__attribute__((destructor)) static void print(void)
{
    fprintf(stderr, "mutexes %" PRIu64 " waits %" PRIu64 " us %" PRIu64 "\n", (uint64_t)locks, (uint64_t)waits,
            (uint64_t)waited_ns / 1000);
}
