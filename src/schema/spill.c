/* Changes within bounds: a program that makes a million objects without a flush must not keep them all in memory.
 *
 * When changes take up more than setting meta_cache, new objects that nobody holds are stored, those first that were touched
 * longest ago: a group that is just being filled isn't written again and again.  Nothing stored leads to them before the
 * group that links them is flushed, so no reader sees a difference, and a writer that is killed leaves orphans.  What is
 * left in memory is changes of objects that were stored already, and groups with all their links, which are one object each. */
#include <stdlib.h>
#include <string.h>

#include "edit_impl.h"
#include "num.h"
#include "object.h"
#include "trace.h"

#define LIMIT_MIN (1u << 20)

static bool is_spillable(struct bkt_domain *d, const struct bkt_change *c)
{
    uint64_t links = 0;
    if (!c->is_new || c->tried || c->removed || strcmp(c->id.text, d->doc.root.text) == 0 || bkt_object_refs(c->obj) > 2)
        return false; /* held beside the cache and the change */
    return c->keep || c->obj->extra_refs || (bkt_domain_link_count(d, &c->id, &links, NULL) == BKT_OK && links > 0);
}

static int by_age(const void *a, const void *b)
{
    const struct bkt_change *const *x = a, *const *y = b;
    return (*x)->serial < (*y)->serial ? -1 : (*x)->serial > (*y)->serial;
}

void bkt_edit_spill(struct bkt_domain *d)
{
    struct bkt_edits *e     = d->edits;
    uint64_t          limit = bkt_max_u64(d->set.meta_cache, LIMIT_MIN);
    const void       *key;
    size_t            pos = 0, len, n = 0;
    void             *val;
    if (e->dirty_bytes <= limit || e->dirty_bytes < e->spill_at)
        return;
    BKT_CLEANUP(bkt_freep) struct bkt_change **v = calloc(bkt_map_count(e->changes) + 1, sizeof(void *));
    while (v && bkt_map_next(e->changes, &pos, &key, &len, &val))
        if (is_spillable(d, val))
            v[n++] = val;
    if (n) {
        struct bkt_err err = {.n = 0};
        qsort((void *)v, n, sizeof(void *), by_age);
        n           = n / 2 + n % 2;
        e->spilling = true;
        if (bkt_flush_some(d, v, n, &e->clash, &err) < 0)
            bkt_trace(BKT_TRACE_SCHEMA, "%s: new objects can't be stored yet: %s", d->name, err.n ? err.frame[0].msg : "");
        e->spilling = false;
    }
    bkt_trace(BKT_TRACE_SCHEMA, "%s: %zu new objects are stored early", d->name, n);
    e->spill_at = e->dirty_bytes + limit / 4;
}
