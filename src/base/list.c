#include "base/list.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST 64 /* elements of the first allocation; saves the first calls of realloc() */

int bkt_list_room(void *vp, size_t n, size_t *cap, size_t size)
{
    void *old, *new;
    if (n < *cap)
        return BKT_OK;
    size_t more = *cap ? *cap * 2 : FIRST;
    if (*cap > SIZE_MAX / 2 || more > SIZE_MAX / size)
        return BKT_ENOMEM;
    memcpy(&old, vp, sizeof old); /* a pointer of any type */
    new = realloc(old, more * size);
    if (!new)
        return BKT_ENOMEM;
    memcpy(vp, &new, sizeof new);
    *cap = more;
    return BKT_OK;
}

int bkt_strs_take(struct bkt_strs *l, char *text)
{
    if (!text || bkt_list_room(&l->v, l->n, &l->cap, sizeof(char *)) < 0) {
        free(text);
        return BKT_ENOMEM;
    }
    l->v[l->n++] = text;
    return BKT_OK;
}

int bkt_strs_add(struct bkt_strs *l, const char *text) { return bkt_strs_take(l, strdup(text)); }

static int by_bytes(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

void bkt_strs_sort(struct bkt_strs *l)
{
    if (l->n)
        qsort(l->v, l->n, sizeof(char *), by_bytes);
}

void bkt_strs_fini(struct bkt_strs *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i]);
    free(l->v);
    *l = (struct bkt_strs){NULL, 0, 0};
}
