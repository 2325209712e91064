/* Huge pages, as long as they come quickly. */
#ifndef BKT_HUGE_H
#define BKT_HUGE_H

#include <stdbool.h>
#include <stddef.h>

#define BKT_HUGE_PAGE ((size_t)2 << 20)

/** Make the BKT_HUGE_PAGE bytes at @p at present, which lie at a multiple of it, as one page where the kernel has one.
 * @return false: nothing was done, for they are not to be had, or one was dear in this process before */
bool bkt_huge_take(void *at);

/** Ask for huge pages for the rest of such memory, when it is used; @p n bytes.  Nothing happens where they are dear. */
void bkt_huge_want(void *at, size_t n);

#endif
