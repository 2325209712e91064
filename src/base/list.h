/* Arrays that grow, and the commonest of them: a list of strings. */
#ifndef BKT_LIST_H
#define BKT_LIST_H

#include <stddef.h>

#include "err.h"

/** Room for one more element of an array on the heap.
 * @param vp    address of the array's pointer (an empty array is NULL)
 * @param n     elements in use
 * @param cap   elements there is room for; changed with the array
 * @param size  bytes of an element
 * @return BKT_OK; BKT_ENOMEM: the array is as it was */
BKT_NODISCARD int bkt_list_room(void *vp, size_t n, size_t *cap, size_t size);

/** Strings of the list's own.  A zeroed one is empty. */
struct bkt_strs {
    char **v;
    size_t n, cap;
};
BKT_NODISCARD int bkt_strs_add(struct bkt_strs *l, const char *text); /* a copy of it */
/** @p text becomes the list's (it is freed when memory is short); NULL: BKT_ENOMEM. */
BKT_NODISCARD int bkt_strs_take(struct bkt_strs *l, char *text);
void              bkt_strs_sort(struct bkt_strs *l); /* by bytes */
void              bkt_strs_fini(struct bkt_strs *l); /* empty afterwards */

#endif
