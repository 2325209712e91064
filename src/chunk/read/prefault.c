/* Memory that a read is about to fill, made present while its first answers are on their way.
 *
 * Fresh memory of the caller has no pages yet.  The kernel hands them out one by one as they are written,
 * mostly on the I/O thread and so while other transfers wait for it.  The calling thread is idle at that
 * time, and before the first byte comes.  The content doesn't change; memory that has pages already is left
 * alone.  Huge pages are made present faster, where the system provides them quickly
 * (base/os/scratch_pool.c). */
#include "chunk/read/prefault.h"

#include <sys/mman.h>

#include "base/num.h"
#include "base/os/scratch_pool.h"
#include "chunk/read/fetch_task.h"

#define PAGE     ((uintptr_t)4096)
#define STEP     ((uintptr_t)1 << 20) /* bytes: a finished chunk waits for this thread until a step has
                                         ended */
#define MIN_FILL (8U << 20)           /* bytes: smaller reads gain nothing */

void bkt_prefault_init(struct bkt_prefault *p, const struct bkt_target *t)
{
    uint64_t bytes;
    *p = (struct bkt_prefault){0};
    if (!t->dst || t->slices || t->mem.kind != BKT_MEM_FLAT ||
        !bkt_mul_u64(t->grid.n_elems, t->out_size, &bytes) || bytes < MIN_FILL || bytes > SIZE_MAX / 2)
        return;
    p->at  = ((uintptr_t)t->dst + PAGE - 1) & ~(PAGE - 1);
    p->end = ((uintptr_t)t->dst + (uintptr_t)bytes) & ~(PAGE - 1);
    unsigned char there = 0;
    if (mincore((void *)p->at, PAGE, &there) < 0 || (there & 1)) {
        p->end = p->at;
        return;
    }
    p->huge = true;
}

bool bkt_prefault_step(struct bkt_prefault *p)
{
    if (p->at >= p->end)
        return false;
    if (p->huge && p->at % BKT_HUGE_PAGE == 0 && p->end - p->at >= BKT_HUGE_PAGE) {
        p->huge = bkt_huge_take((void *)p->at);
        p->at += p->huge ? BKT_HUGE_PAGE : 0;
        return true;
    }
    uintptr_t to_huge =
        BKT_HUGE_PAGE - p->at % BKT_HUGE_PAGE; /* small ones up to the place of the next huge one */
    uintptr_t n       = bkt_min_u64(bkt_min_u64(STEP, to_huge), p->end - p->at);
    p->at             = madvise((void *)p->at, n, BKT_MADV_POPULATE) == 0 ? p->at + n : p->end;
    return true;
}
