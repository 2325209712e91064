/* Lists of named entries (links or attributes), in two orders: by name for lookups, by time of creation.
 *
 * [N1] A list that was only read is sorted by name; order[] has the places by time.
 * [N2] A list under change may be unsettled: new entries are at its end, removed ones leave holes (name
 *      NULL), and a map finds names.  Code that walks through the list settles it first: it takes out
 *      holes and sorts.
 * [N3] Numbers (seq) grow with the time.  As in HDF5, a number that was given stays: a removed entry
 *      leaves a gap, and a new entry gets the list's next number; an empty list begins again.  If the JSON
 *      has no number, it is the previous one plus 1.
 * So n entries are added in any sequence of names in O(n log n), and a list that is only read costs nothing
 * more. */
#include "schema/model/name_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "schema/model/model.h"

/* Removals in a row that are done at once; after so many, holes are made. */
#define DIRECT_REMOVALS 32

_Static_assert(offsetof(struct bkt_attr, name) == offsetof(struct bkt_named, name) &&
                   offsetof(struct bkt_attr, created) == offsetof(struct bkt_named, created) &&
                   offsetof(struct bkt_attr, seq) == offsetof(struct bkt_named, seq) &&
                   offsetof(struct bkt_attr, name_utf8) == offsetof(struct bkt_named, name_utf8) &&
                   offsetof(struct bkt_link, name) == offsetof(struct bkt_named, name) &&
                   offsetof(struct bkt_link, created) == offsetof(struct bkt_named, created) &&
                   offsetof(struct bkt_link, seq) == offsetof(struct bkt_named, seq) &&
                   offsetof(struct bkt_link, name_utf8) == offsetof(struct bkt_named, name_utf8),
               "named entries begin alike");

struct bkt_named_edit {
    struct bkt_map *index; /* name -> place + 1, while unsettled; else NULL */
    size_t          used, cap; /* of v, holes included; cap also of order */
    unsigned        removals;  /* since the list was walked through */
};

static struct bkt_named *at(const struct bkt_named_list *l, size_t size, size_t i)
{
    return (struct bkt_named *)(void *)((char *)l->v + i * size);
}


/* ---- sorting ---- */

static int by_name(const void *a, const void *b)
{
    const struct bkt_named *x = a, *y = b;
    return strcmp(x->name, y->name);
}

struct placed {
    double   created;
    uint32_t place;
};

static int by_time(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    if (x->created < y->created || x->created > y->created)
        return x->created < y->created ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

static bool is_sorted(const struct bkt_named_list *l, size_t size, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (strcmp(at(l, size, i - 1)->name, at(l, size, i)->name) > 0)
            return false;
    return true;
}

struct ranking {
    const struct bkt_named_list *l;
    size_t                       size;
};
static int by_seq(const void *a, const void *b, void *arg)
{
    const struct ranking *r = arg;
    uint32_t x = at(r->l, r->size, *(const uint32_t *)a)->seq,
             y = at(r->l, r->size, *(const uint32_t *)b)->seq;
    return x < y ? -1 : x > y;
}

/* order[] from seq. */
static void rank(const struct bkt_named_list *l, size_t size)
{
    struct ranking r = {l, size};
    for (size_t i = 0; i < l->n; i++)
        l->order[i] = (uint32_t)i;
    qsort_r(l->order, l->n, sizeof *l->order, by_seq, &r);
}

/* Number entries without a number, in the order of time; a declared number counts if it fits behind the
 * previous one. */
static uint32_t number(const struct bkt_named_list *l, size_t size)
{
    uint32_t seq = 0;
    for (size_t i = 0; i < l->n; i++, seq++) {
        struct bkt_named *one = at(l, size, l->order[i]);
        if (one->seq > seq && one->seq <= BKT_NUMBER_MAX)
            seq = one->seq;
        one->seq = seq;
    }
    return l->n && l->next > seq && l->next <= BKT_NUMBER_MAX ? l->next : seq;
}

int bkt_named_sort(struct bkt_named_list *l, size_t size)
{
    size_t                             n = l->n;
    BKT_CLEANUP(bkt_freep) struct placed *p = calloc(n + 1, sizeof *p);
    l->order                             = calloc(n + 1, sizeof *l->order);
    bool in_time                         = true;
    if (!p || !l->order || n >= BKT_NUMBER_MAX)
        return BKT_ENOMEM;
    for (size_t i = 0; i < n; i++)
        p[i] = (struct placed){at(l, size, i)->created, (uint32_t)i};
    for (size_t i = 1; i < n && in_time; i++)
        in_time = p[i - 1].created <= p[i].created;
    if (!in_time)
        qsort(p, n, sizeof *p, by_time);
    for (size_t i = 0; i < n; i++)
        l->order[i] = p[i].place;
    l->next = number(l, size);
    if (is_sorted(l, size, n))
        return BKT_OK;
    qsort(l->v, n, size, by_name);
    rank(l, size);
    return BKT_OK;
}

size_t bkt_named_place(const struct bkt_named_list *l, size_t size, uint32_t seq)
{
    size_t lo = 0, hi = l->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (at(l, size, l->order[mid])->seq < seq)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

void bkt_named_settle(const struct bkt_named_list *list, size_t size)
{
    struct bkt_named_list *l  = (struct bkt_named_list *)(uintptr_t)list;
    struct bkt_named_edit *e  = l->edit;
    size_t to = 0;
    e->removals = 0;
    if (!e->index)
        return;
    bkt_map_clear(&e->index, NULL);
    for (size_t i = 0; i < e->used; i++) {
        if (!at(l, size, i)->name)
            continue;
        if (to != i)
            memcpy(at(l, size, to), at(l, size, i), size);
        to++;
    }
    l->n = e->used = to;
    if (!is_sorted(l, size, to))
        qsort(l->v, to, size, by_name);
    rank(l, size);
}

/* ---- finding ---- */

/* The place of a name in a settled list, or the place where it belongs. */
static size_t search(const struct bkt_named_list *l, size_t size, const char *name, bool *found)
{
    size_t lo = 0, hi = l->n;
    *found = false;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int    cmp = strcmp(name, at(l, size, mid)->name);
        if (cmp == 0) {
            *found = true;
            return mid;
        }
        if (cmp < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

static struct bkt_named *find(const struct bkt_named_list *l, size_t size, const char *name)
{
    bool   found;
    size_t i;
    if (l->edit && l->edit->index) {
        i     = (size_t)bkt_map_number(l->edit->index, name, strlen(name));
        found = i-- != 0;
    } else {
        i = search(l, size, name, &found);
    }
    return found ? at(l, size, i) : NULL;
}

const void *bkt_named_find(const struct bkt_named_list *l, size_t size, const char *name)
{
    return find(l, size, name);
}

/* ---- changing ---- */

void bkt_named_fini(struct bkt_named_list *l)
{
    if (l->edit)
        bkt_map_free(l->edit->index, NULL);
    free(l->edit);
    free(l->v);
    free(l->order);
    memset(l, 0, sizeof *l);
}

size_t bkt_named_used(const struct bkt_named_list *l) { return l->edit ? l->edit->used : l->n; }

size_t bkt_named_edit_bytes(const struct bkt_named_list *l, size_t size)
{
    const size_t                 in_index = 96; /* a name, copied, and its place in the map */
    const struct bkt_named_edit *e        = l->edit;
    return e ? sizeof *e + (e->cap - e->used) * (size + sizeof(uint32_t)) +
                   (e->index ? e->used * in_index : 0)
             : 0;
}

static int note(struct bkt_named_edit *e, const char *name, size_t place)
{
    return bkt_map_put_number(e->index, name, strlen(name), (intptr_t)place + 1);
}

static int unsettle(const struct bkt_named_list *l, size_t size, struct bkt_named_edit *e)
{
    if (e->index)
        return BKT_OK;
    e->index = bkt_map_new();
    for (size_t i = 0; e->index && i < l->n; i++)
        if (note(e, at(l, size, i)->name, i) < 0) {
            bkt_map_free(e->index, NULL);
            e->index = NULL;
        }
    return e->index ? BKT_OK : BKT_ENOMEM;
}

static int begin(struct bkt_named_list *l, size_t size)
{
    struct bkt_named_edit *e = l->edit;
    if (!e) {
        if (!(e = calloc(1, sizeof *e)))
            return BKT_ENOMEM;
        l->edit = e;
        e->used = e->cap = l->n;
    }
    if (e->used < e->cap && l->order)
        return BKT_OK;
    size_t    cap   = e->cap < 8 ? 16 : e->cap * 2;
    void     *v     = cap < UINT32_MAX ? realloc(l->v, cap * size) : NULL;
    uint32_t *order = NULL;
    if (v) {
        l->v  = v;
        order = realloc(l->order, cap * sizeof *order);
    }
    if (!order)
        return BKT_ENOMEM;
    l->order = order;
    e->cap   = cap;
    return BKT_OK;
}

int bkt_named_add(struct bkt_named_list *l, size_t size, void *what)
{
    const struct bkt_named *one = what;
    BKT_PASS(begin(l, size));
    struct bkt_named_edit *e      = l->edit;
    bool behind = !e->index && (l->n == 0 || strcmp(at(l, size, l->n - 1)->name, one->name) < 0);
    if (!behind) {
        BKT_PASS(unsettle(l, size, e));
        BKT_PASS(note(e, one->name, e->used));
    }
    memcpy(at(l, size, e->used), what, size);
    at(l, size, e->used)->seq = l->next++;
    memset(what, 0, size);
    if (behind)
        l->order[l->n] = (uint32_t)l->n;
    e->used++;
    l->n++;
    return BKT_OK;
}

/* Remove from a settled list, which stays settled. */
static void remove_at(struct bkt_named_list *l, size_t size, size_t i)
{
    size_t place = bkt_named_place(l, size, at(l, size, i)->seq);
    l->n--;
    l->edit->used--;
    memmove(at(l, size, i), at(l, size, i + 1), (l->n - i) * size);
    memmove(l->order + place, l->order + place + 1, (l->n - place) * sizeof *l->order);
    for (size_t k = 0; k < l->n; k++)
        l->order[k] -= l->order[k] > i;
}

int bkt_named_remove(struct bkt_named_list *l, size_t size, const char *name, void *out)
{
    BKT_PASS(begin(l, size));
    struct bkt_named_edit *e = l->edit;
    if (!e->index && e->removals++ >= DIRECT_REMOVALS)
        BKT_PASS(unsettle(l, size, e));
    struct bkt_named *one = find(l, size, name);
    if (!one)
        return BKT_ENOENT;
    memcpy(out, one, size);
    if (!e->index) {
        remove_at(l, size, (size_t)((char *)one - (char *)l->v) / size);
    } else {
        (void)bkt_map_del(e->index, name, strlen(name));
        memset(one, 0, size);
        l->n--;
    }
    if (l->n == 0)
        l->next = 0;
    return BKT_OK;
}

int bkt_named_rename(struct bkt_named_list *l, size_t size, const char *from, char *to, char **was)
{
    BKT_PASS(begin(l, size));
    BKT_PASS(unsettle(l, size, l->edit));
    struct bkt_named *one = find(l, size, from);
    if (!one)
        return BKT_ENOENT;
    BKT_PASS(note(l->edit, to, (size_t)((char *)one - (char *)l->v) / size));
    (void)bkt_map_del(l->edit->index, from, strlen(from));
    *was      = one->name;
    one->name = to;
    return BKT_OK;
}
