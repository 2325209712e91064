/* A huge page is cheaper than 512 small pages if the machine has it at hand.  A virtual machine that gave
 * free memory back to its host has to get it again first, which costs far more than small pages.  So huge
 * pages are requested one by one where that is possible.  After one expensive page, this process requests no
 * more. */
#include "base/os/huge_pages.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; before that it is an error, and nothing happens */
#endif
#define DEAR_US 2000 /* us of CPU: more than 512 small pages take, less than a page that the host has to
                        provide */

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
