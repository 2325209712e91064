#include "base/random.h"

#include <stdatomic.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

bool bkt_random_bytes(void *p, size_t n) { return getrandom(p, n, 0) == (ssize_t)n; }

uint64_t bkt_random(void)
{
    static _Atomic uint64_t calls; /* two threads may meet in one nanosecond */
    uint64_t        v;
    struct timespec now;
    if (bkt_random_bytes(&v, sizeof v))
        return v;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    v = atomic_fetch_add(&calls, UINT64_C(0x9e3779b97f4a7c15)) + (uint64_t)now.tv_nsec +
        (uint64_t)now.tv_sec + ((uint64_t)getpid() << 32);
    /* each bit depends on all of them, the lowest as well */
    v ^= v >> 30, v *= UINT64_C(0xbf58476d1ce4e5b9);
    v ^= v >> 27, v *= UINT64_C(0x94d049bb133111eb);
    return v ^ (v >> 31);
}
