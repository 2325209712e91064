/* A huge page that the machine has at hand takes 0.2 ms, and 512 small ones take 0.5 to 0.9 ms.  But a virtual machine that hands
 * free memory back to its host has to get it again first, 4 to 7 ms for each: 256 MiB take up to 0.6 s of CPU then, instead of
 * 0.03 s, or of 0.11 s in small ones, which the kernel takes from what was just freed.  So they are asked for one by one where
 * that is possible, and no more in this process once one was dear. */
#include "huge.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; before that it is an error, and nothing happens */
#endif
#define DEAR_US 2000 /* of CPU: more than 512 small ones take on any machine, half of what a cold one takes */

static atomic_bool dear;

static uint64_t cpu_us(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

bool bkt_huge_take(void *at)
{
    if (atomic_load(&dear))
        return false;
    uint64_t begin = cpu_us();
    if (madvise(at, BKT_HUGE_PAGE, MADV_HUGEPAGE) < 0 || madvise(at, BKT_HUGE_PAGE, MADV_POPULATE_WRITE) < 0)
        return false;
    if (cpu_us() - begin > DEAR_US)
        atomic_store(&dear, true);
    return true;
}

void bkt_huge_want(void *at, size_t n)
{
    if (n >= BKT_HUGE_PAGE && !atomic_load(&dear))
        (void)madvise(at, n - n % BKT_HUGE_PAGE, MADV_HUGEPAGE);
}
