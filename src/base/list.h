/* Growing arrays, and the most common of them: a list of strings. */
#pragma once

#include <stddef.h>

#include "base/err.h"

/** Make room for one more element of an array on the heap.
 * @param vp    address of the array's pointer (an empty array is NULL)
 * @param n     elements in use
 * @param cap   elements allocated; changed with the array
 * @param size  bytes of an element
 * @return BKT_OK; BKT_ENOMEM: the array is as it was */
BKT_NODISCARD int bkt_list_room(void *vp, size_t n, size_t *cap, size_t size);

/** A list that owns its strings.  A zeroed list is empty. */
struct bkt_strs {
    char **v;
    size_t n, cap;
};
BKT_NODISCARD int bkt_strs_add(struct bkt_strs *l, const char *text); /* adds a copy */
/** Add @p text itself.  The list frees it, also if memory is short.  NULL is reported as BKT_ENOMEM. */
BKT_NODISCARD int bkt_strs_take(struct bkt_strs *l, char *text);
void              bkt_strs_sort(struct bkt_strs *l); /* sorts by bytes */
void              bkt_strs_fini(struct bkt_strs *l); /* the list is empty afterwards */
