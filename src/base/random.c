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

void bkt_random_pause(unsigned losses, double seconds)
{
    double most = (seconds > 0.001 ? seconds : 0.001) * (1U << (losses < 3 ? losses : 3));
    uint64_t longest = (uint64_t)(1e9 * (most < 5 ? most : 5));
    uint64_t ns = longest ? bkt_random() % longest : 0;
    struct timespec t = {(time_t)(ns / 1000000000U), (long)(ns % 1000000000U)};
    (void)nanosleep(&t, NULL);
}
