/* Numbers in the order of creation, in an object's JSON (keys of ours).
 *
 * HDF5 numbers links and attributes as they are made, and removed ones leave gaps.  HSDS knows only the
 * sequence, from their times.  So an entry has a number only if that isn't the previous one plus 1.  An
 * object has the next number only if that isn't the last one plus 1.  Additions and removals by writers that
 * don't know of this shift numbers, nothing worse. */
#include <stdlib.h>

#include "schema/json/schema_json.h"

uint32_t bkt_order_said(const json_t *entry)
{
    uint64_t n = 0;
    const json_t *said = bkt_json_get(entry, "h5order");
    return said && bkt_json_u64(said, "h5order", BKT_NUMBER_MAX, &n, NULL) == BKT_OK ? (uint32_t)n
                                                                                     : BKT_UNNUMBERED;
}

uint32_t bkt_order_next(const json_t *j, const char *key)
{
    uint64_t n = 0;
    const json_t *said = bkt_json_get(j, key);
    return said && bkt_json_u64(said, key, BKT_NUMBER_MAX, &n, NULL) == BKT_OK ? (uint32_t)n : 0;
}

int bkt_order_say(json_t *entry, uint32_t number)
{
    return bkt_json_set(entry, "h5order", json_integer(number));
}

int bkt_order_follow(json_t *entry, uint32_t number, uint32_t *expected)
{
    bool said = number != *expected;
    *expected = number + 1;
    return said ? bkt_order_say(entry, number) : BKT_OK;
}

/* ---- all of an object's ---- */

struct entry {
    json_t *j;
    double  created;
    size_t  place;
};

static int by_time(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->created < y->created || x->created > y->created)
        return x->created < y->created ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* Entries of the lists (NULL: none), in the order of creation; the caller's, free().  NULL: out of memory. */
static struct entry *sorted(json_t *const *lists, size_t n_lists, size_t *n)
{
    size_t all = 0;
    bool   mixed = false;
    for (size_t i = 0; i < n_lists; i++)
        all += json_object_size(lists[i]);
    struct entry *v = calloc(all + 1, sizeof *v);
    *n = 0;
    for (size_t i = 0; v && i < n_lists; i++)
        for (void *it = json_object_iter(lists[i]); it; it = json_object_iter_next(lists[i], it)) {
            json_t *j = json_object_iter_value(it);
            v[*n]     = (struct entry){j, bkt_json_seconds(j, "created"), *n};
            mixed |= *n && v[*n].created < v[*n - 1].created;
            (*n)++;
        }
    if (mixed)
        qsort(v, *n, sizeof *v, by_time);
    return v;
}

/* Whether an entry declares a number beyond @p number, which is the previous entry's plus 1 and its own
 * otherwise. */
static bool leaps(const json_t *j, uint32_t *number)
{
    uint32_t said = bkt_order_said(j);
    if (said == BKT_UNNUMBERED || said <= *number)
        return false;
    *number = said;
    return true;
}

int bkt_order_spell(json_t *const *lists, size_t n_lists, uint32_t *next)
{
    size_t                                n = 0;
    uint32_t                              number = 0;
    BKT_CLEANUP(bkt_freep) struct entry *v = sorted(lists, n_lists, &n);
    if (!v)
        return BKT_ENOMEM;
    for (size_t i = 0; i < n; i++, number++) {
        (void)leaps(v[i].j, &number);
        if (json_is_object(v[i].j))
            BKT_PASS(bkt_order_say(v[i].j, number));
    }
    if (n && *next < number)
        *next = number;
    return BKT_OK;
}

int bkt_order_abridge(json_t *const *lists, size_t n_lists, json_t *obj, const char *key, uint32_t next)
{
    size_t                                n = 0;
    uint32_t                              number = 0;
    BKT_CLEANUP(bkt_freep) struct entry *v = sorted(lists, n_lists, &n);
    if (!v)
        return BKT_ENOMEM;
    for (size_t i = 0; i < n; i++, number++)
        if (!leaps(v[i].j, &number))
            (void)json_object_del(v[i].j, "h5order");
    (void)json_object_del(obj, key);
    return n && next > number ? bkt_json_set(obj, key, json_integer(next)) : BKT_OK;
}
