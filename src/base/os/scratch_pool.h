/* Memory for a short time, handed from one use to the next.  Memory that comes fresh from the system for
 * every decoding costs page faults, a considerable part of the time that decoding takes.
 *
 * One pool per process, not per thread (the library may be unloaded while threads live on); any thread. */
#ifndef BKT_SCRATCH_H
#define BKT_SCRATCH_H

#include <stddef.h>

/** At least @p n bytes with undefined contents, to be released with bkt_scratch_give().  NULL: out of
 * memory. */
void *bkt_scratch_take(size_t n);
void  bkt_scratch_give(void *p); /* NULL is allowed */
/** Return all unused memory to the system; memory that is in use stays valid. */
void  bkt_scratch_shutdown(void);

#endif
