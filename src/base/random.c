#include "base/random.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

bool bkt_random_bytes(void *p, size_t n) { return getrandom(p, n, 0) == (ssize_t)n; }

uint64_t bkt_random(void)
{
    uint64_t        v;
    struct timespec now;
    if (bkt_random_bytes(&v, sizeof v))
        return v;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return ((uint64_t)now.tv_nsec << 34) ^ ((uint64_t)getpid() << 17) ^ (uint64_t)now.tv_sec;
}
