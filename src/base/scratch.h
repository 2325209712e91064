/* Memory for a moment, handed from one use to the next: a chunk of 1 MiB that comes fresh from the system for every
 * decoding costs 256 page faults, about 0.1 ms of the 1 ms that decoding it takes.
 *
 * One pool per process, not per thread (the library may be unloaded while threads live on); any thread. */
#ifndef BKT_SCRATCH_H
#define BKT_SCRATCH_H

#include <stddef.h>

/** At least @p n bytes, contents undefined; NULL: out of memory. */
void *bkt_scratch_take(size_t n);
void  bkt_scratch_give(void *p); /* NULL is fine */
/** Give it all back to the system; what is taken stays valid. */
void  bkt_scratch_shutdown(void);

#endif
