/* Memory for a short time, handed from one use to the next.  Memory that comes fresh from the system for
 * every decoding costs page faults, a considerable part of the time that decoding takes.
 *
 * One pool per process, not per thread (the library may be unloaded while threads live on); any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/** At least @p n bytes with undefined contents, to be released with bkt_scratch_give().  NULL: out of
 * memory. */
void *bkt_scratch_take(size_t n);
void  bkt_scratch_give(void *p); /* NULL is allowed */
/** Return all unused memory to the system; memory that is in use stays valid. */
void  bkt_scratch_shutdown(void);

/* ---- huge pages, as long as the system provides them quickly ---- */

#define BKT_HUGE_PAGE ((size_t)2 << 20)
/** MADV_POPULATE_WRITE of Linux 5.14; before that it is an error, and nothing happens. */
#define BKT_MADV_POPULATE 23

/** Make the BKT_HUGE_PAGE bytes at @p at present, as one page where the kernel has one.
 * @param at  a multiple of BKT_HUGE_PAGE
 * @return false: nothing was done, since huge pages are not available, or one was expensive in this process
 *     before */
bool bkt_huge_take(void *at);

/** Ask for huge pages for further memory, used later.
 * @param at  behind memory for which bkt_huge_take() returned true
 * @param n   bytes; if huge pages were expensive in this process, nothing happens */
void bkt_huge_want(void *at, size_t n);
