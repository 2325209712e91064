/* Lists of named things, in two orders: by name to find them, by time as they were created. */
#include <stdlib.h>
#include <string.h>

#include "parse.h"

struct placed {
    const char *name;
    double      created;
    size_t      place; /* before sorting */
};

static int by_name(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static int by_time(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    if (x->created < y->created || x->created > y->created)
        return x->created < y->created ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

int bkt_named_sort(void *v, size_t n, size_t size, const double *created, uint32_t **order)
{
    BKT_CLEANUP(bkt_freep) struct placed *p    = calloc(n + 1, sizeof *p);
    BKT_CLEANUP(bkt_freep) uint32_t      *rank = calloc(n + 1, sizeof *rank);
    BKT_CLEANUP(bkt_freep) char          *old  = calloc(n + 1, size);
    *order                                     = calloc(n + 1, sizeof **order);
    if (!p || !rank || !old || !*order || n >= UINT32_MAX)
        return BKT_ENOMEM;
    memcpy(old, v, n * size);
    for (size_t i = 0; i < n; i++) {
        char *name;
        memcpy(&name, old + i * size, sizeof name);
        p[i] = (struct placed){name, created[i], i};
    }
    qsort(p, n, sizeof *p, by_name);
    for (size_t i = 0; i < n; i++) {
        memcpy((char *)v + i * size, old + p[i].place * size, size);
        rank[p[i].place] = (uint32_t)i;
    }
    qsort(p, n, sizeof *p, by_time);
    for (size_t i = 0; i < n; i++)
        (*order)[i] = rank[p[i].place];
    return BKT_OK;
}

const void *bkt_named_find(const void *v, size_t n, size_t size, const char *name)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t      mid  = lo + (hi - lo) / 2;
        const char *elem = (const char *)v + mid * size, *its;
        memcpy(&its, elem, sizeof its);
        int cmp = strcmp(name, its);
        if (cmp == 0)
            return elem;
        if (cmp < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return NULL;
}
