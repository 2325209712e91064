/* Memory that a read is about to fill, made present while its first answers are on their way.
 *
 * Fresh memory of the caller's has no pages yet.  For 256 MiB the kernel takes 0.11 s to hand them out, one by one as they are
 * written, which is mostly on the I/O thread and so while others wait for it.  The calling thread has nothing to do at that
 * time, nor before the first byte comes.  None of this changes what is there; memory that has pages already is left alone.
 *
 * In huge pages (setting huge_pages) it is 0.03 s, where the machine has them at hand: 0.2 ms for each of 2 MiB, and 0.5 to 0.9 ms
 * as 512 small ones.  A virtual machine that hands free memory back to its host has to get it again first, 4 to 7 ms for each: then
 * the 256 MiB take up to 0.6 s, three times the CPU of all else.  So they are asked for one by one, and no more once one was dear. */
#include <sys/mman.h>
#include <time.h>

#include "num.h"
#include "task.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; before that it is an error, and nothing happens */
#endif
#define PAGE     ((uintptr_t)4096)
#define HUGE_PAGE ((uintptr_t)2 << 20)
#define STEP     ((uintptr_t)1 << 20) /* 0.3 ms: as long as a finished chunk may wait for this thread */
#define MIN_FILL (8U << 20)
#define DEAR_US  2000 /* of CPU, for one huge page: more than small ones take on any machine, half of what a cold one takes */

static atomic_bool dear; /* they were once in this process */

static uint64_t cpu_us(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

void bkt_populate_init(struct bkt_populate *p, const struct bkt_target *t)
{
    uint64_t bytes;
    *p = (struct bkt_populate){0};
    if (!t->dst || t->slices || t->mem.kind != BKT_MEM_FLAT || !bkt_mul_u64(t->grid.n_elems, t->out_size, &bytes) ||
        bytes < MIN_FILL || bytes > SIZE_MAX / 2)
        return;
    p->at  = ((uintptr_t)t->dst + PAGE - 1) & ~(PAGE - 1);
    p->end = ((uintptr_t)t->dst + (uintptr_t)bytes) & ~(PAGE - 1);
    unsigned char there = 0;
    if (mincore((void *)p->at, PAGE, &there) < 0 || (there & 1)) {
        p->end = p->at;
        return;
    }
    p->huge = t->io->set->huge_pages;
}

/* The next one; false: none, or not here. */
static bool huge_step(struct bkt_populate *p)
{
    if (!p->huge || p->at % HUGE_PAGE || p->end - p->at < HUGE_PAGE || atomic_load(&dear))
        return false;
    uint64_t begin = cpu_us();
    if (madvise((void *)p->at, HUGE_PAGE, MADV_HUGEPAGE) < 0 || madvise((void *)p->at, HUGE_PAGE, MADV_POPULATE_WRITE) < 0)
        return p->huge = false;
    p->at += HUGE_PAGE;
    if (cpu_us() - begin > DEAR_US)
        atomic_store(&dear, true);
    return true;
}

bool bkt_populate_step(struct bkt_populate *p)
{
    if (p->at >= p->end)
        return false;
    if (huge_step(p))
        return true;
    uintptr_t to_huge = HUGE_PAGE - p->at % HUGE_PAGE; /* small ones up to the place of the next huge one */
    uintptr_t n       = bkt_min_u64(bkt_min_u64(STEP, to_huge), p->end - p->at);
    p->at             = madvise((void *)p->at, n, MADV_POPULATE_WRITE) == 0 ? p->at + n : p->end;
    return true;
}
