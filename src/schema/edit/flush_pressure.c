/* Bounds for changes: a program that makes or changes a million objects without a flush must not keep them
 * all in memory.
 *
 * If changes exceed setting meta_cache, those of objects that nobody holds are stored, least recently touched
 * ones first.  So a group that is just being filled isn't written again and again.
 *
 *   new objects       nothing stored leads to them before the group that links them is flushed.  So readers
 *                     see no difference, and a killed writer leaves orphans
 *   stored objects    attributes, comments and counts: no other object has to be stored before
 *   links, extents    in the order of a flush only, chunks first: the layer that knows the chunks calls
 *                     bkt_domain_flush_early() if bkt_domain_is_full() returns true
 *
 * Held objects stay in memory, as do groups with all their links, which are one object each. */
#include <stdlib.h>
#include <string.h>

#include "base/trace.h"
#include "schema/edit/edit_impl.h"
#include "schema/model/object_life.h"

/* Whether it has references besides those of the cache and the change, or is to be removed. */
static bool is_held(const struct bkt_change *c) { return c->removed || bkt_object_refs(c->obj) > 2; }

static bool is_wanted(struct bkt_domain *d, const struct bkt_change *c)
{
    uint64_t links = 0;
    return c->keep || c->obj->extra_refs || c->obj->uses > 0 ||
           (bkt_domain_link_count(d, &c->id, &links, NULL) == BKT_OK && links > 0);
}

/* Whether something was kept: then only a flush helps. */
static bool has_kept(const struct bkt_change *c)
{
    return c->kept_links || c->kept_attrs || c->reread;
}

static bool is_ordered(const struct bkt_change *c)
{
    return !c->is_new && (bkt_map_count(c->links) || c->extent);
}

static bool is_spillable(struct bkt_domain *d, const struct bkt_change *c)
{
    if (is_held(c) || is_ordered(c) || has_kept(c))
        return false;
    if (c->is_new)
        return !c->tried && strcmp(c->id.text, d->doc.root.text) != 0 && is_wanted(d, c) &&
               !bkt_edit_links_others(d, c->obj);
    return bkt_map_count(c->attrs) || c->comment || c->refs || c->uses || c->numbers;
}

static int by_age(const void *a, const void *b)
{
    const struct bkt_change *const *x = a, *const *y = b;
    return (*x)->serial < (*y)->serial ? -1 : (*x)->serial > (*y)->serial;
}

/* Changes that can be stored now; the caller's, free().  NULL: out of memory.
 * @param ordered  receives the bytes that only a flush could release */
static struct bkt_change **spillable(struct bkt_domain *d, size_t *n, uint64_t *ordered)
{
    struct bkt_map     *changes = d->edits->changes;
    struct bkt_change **v       = calloc(bkt_map_count(changes) + 1, sizeof(void *));
    for (struct bkt_map_at at = {0}; v && bkt_map_walk(changes, &at);) {
        struct bkt_change *c = at.value;
        if (is_spillable(d, c))
            v[(*n)++] = c;
        else if (!is_held(c) && is_ordered(c))
            *ordered += c->bytes;
    }
    return v;
}

void bkt_edit_spill(struct bkt_domain *d)
{
    struct bkt_edits *e       = d->edits;
    uint64_t limit = bkt_edits_limit(d), ordered = 0;
    size_t            n       = 0;
    if (e->agreed || e->dirty_bytes < e->spill_at || bkt_edits_foreign(d))
        return;
    BKT_CLEANUP(bkt_freep) struct bkt_change **v = spillable(d, &n, &ordered);
    if (v && n) {
        struct bkt_err err = {.n = 0};
        qsort((void *)v, n, sizeof(void *), by_age);
        n           = n / 2 + n % 2;
        e->spilling = true;
        if (bkt_flush_some(d, v, n, false, &err) < 0)
            bkt_trace(BKT_TRACE_SCHEMA, "%s: changes can't be stored yet: %s", d->name,
                      bkt_err_reason(&err, err.code));
        e->spilling = false;
    }
    bkt_trace(BKT_TRACE_SCHEMA, "%s: %zu objects are stored early", d->name, n);
    /* a quarter of the limit: less takes longer, more takes more memory */
    e->spill_at = e->dirty_bytes + limit / 4;
    /* below half the limit, the next spills still make room by themselves; above, each would find less than
     * it leaves */
    e->ordered  = ordered >= limit / 2;
}
