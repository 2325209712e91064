/* Huge pages, as long as the system provides them quickly. */
#ifndef BKT_HUGE_H
#define BKT_HUGE_H

#include <stdbool.h>
#include <stddef.h>

#define BKT_HUGE_PAGE ((size_t)2 << 20)

/** Make the BKT_HUGE_PAGE bytes at @p at present, as one page where the kernel has one.
 * @param at  a multiple of BKT_HUGE_PAGE
 * @return false: nothing was done, since huge pages are not available, or one was expensive in this process
 *     before */
bool bkt_huge_take(void *at);

/** Ask for huge pages for further memory, used later.
 * @param at  behind memory for which bkt_huge_take() returned true
 * @param n   bytes; if huge pages were expensive in this process, nothing happens */
void bkt_huge_want(void *at, size_t n);

#endif
