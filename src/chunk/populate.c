/* Memory that a read is about to fill, made present while its first answers are on their way.
 *
 * Fresh memory of the caller's has no pages yet.  For 256 MiB the kernel takes 0.11 s to hand them out, one by one as they are
 * written, which is mostly on the I/O thread and so while others wait for it.  The calling thread has nothing to do at that
 * time, nor before the first byte comes.  In huge pages, which are asked for where all of them will be written (setting
 * huge_pages), it is 0.03 s.  None of this changes what is there; memory that has pages already is left alone. */
#include <sys/mman.h>

#include "num.h"
#include "task.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; before that it is an error, and nothing happens */
#endif
#define PAGE     ((uintptr_t)4096)
#define HUGE_PAGE ((uintptr_t)2 << 20)
#define STEP     ((uintptr_t)1 << 20) /* 0.3 ms: as long as a finished chunk may wait for this thread */
#define MIN_FILL (8U << 20)

void bkt_populate_init(struct bkt_populate *p, const struct bkt_target *t)
{
    uint64_t bytes;
    *p = (struct bkt_populate){0, 0};
    if (!t->dst || t->slices || t->mem.kind != BKT_MEM_FLAT || !bkt_mul_u64(t->grid.n_elems, t->io->elem_size, &bytes) ||
        bytes < MIN_FILL || bytes > SIZE_MAX / 2)
        return;
    p->at  = ((uintptr_t)t->dst + PAGE - 1) & ~(PAGE - 1);
    p->end = ((uintptr_t)t->dst + (uintptr_t)bytes) & ~(PAGE - 1);
    unsigned char there = 0;
    if (mincore((void *)p->at, PAGE, &there) < 0 || (there & 1)) {
        p->end = p->at;
        return;
    }
    uintptr_t from = (p->at + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1), to = p->end & ~(HUGE_PAGE - 1);
    if (t->io->set->huge_pages && from < to)
        (void)madvise((void *)from, to - from, MADV_HUGEPAGE);
}

bool bkt_populate_step(struct bkt_populate *p)
{
    if (p->at >= p->end)
        return false;
    uintptr_t n = bkt_min_u64(STEP, p->end - p->at);
    p->at       = madvise((void *)p->at, n, MADV_POPULATE_WRITE) == 0 ? p->at + n : p->end;
    return true;
}
