/* Making memory present that a read is about to fill; for read.c only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct bkt_target; /* segments.h */

/** Memory that is made present, from `at` on. */
struct bkt_prefault {
    uintptr_t at, end;
    bool      huge; /* may be in huge pages */
};

/** Prepare to give pages to the memory that a read fills, if it is fresh and large enough; otherwise the
 *  first step is the last one. */
void bkt_prefault_init(struct bkt_prefault *p, const struct bkt_target *t);
/** Give pages to some more of the memory.  False: all of it has pages. */
bool bkt_prefault_step(struct bkt_prefault *p);
