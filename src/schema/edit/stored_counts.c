/* Counts that are stored: references beside the links, and uses of committed types. */
#include <stdio.h>

#include "base/random.h"
#include "base/trace.h"
#include "schema/edit/edit_impl.h"

/* An id distinguishes a change of a count from other writers' changes. */
static int sign_counts(struct bkt_domain *d, struct bkt_change *c, struct bkt_err *err)
{
    struct bkt_edits *e = d->edits;
    if (c->refs_id[0])
        return BKT_OK;
    BKT_FAIL_IF(err, !e->writer && !bkt_random_bytes(&e->writer, sizeof e->writer), BKT_EIO,
                "%s: no id can be made: the system gives no random numbers", d->name);
    (void)snprintf(c->refs_id, sizeof c->refs_id, "%0*llx%06llx", BKT_REFS_WHO,
                   (unsigned long long)(e->writer & 0xffffffffff),
                   (unsigned long long)(++e->n_counts & 0xffffff));
    return BKT_OK;
}

int bkt_edit_refcount(struct bkt_domain *d, const struct bkt_id *obj, int by, struct bkt_err *err)
{
    struct bkt_change *c;
    BKT_PASS(bkt_change_of(d, obj, &c, err));
    int64_t refs = (int64_t)c->obj->extra_refs + by;
    if (refs < 0) { /* H5Odecr_refcount() can't take away links */
        BKT_FAIL(err, BKT_EINVAL, "object %s has only %u references beside its links", obj->text,
                 c->obj->extra_refs);
    }
    BKT_PASS(sign_counts(d, c, err));
    c->obj->extra_refs = (uint32_t)refs;
    c->refs += by;
    BKT_PASS(bkt_edit_loosen(d, obj, err));
    return bkt_edit_sweep(d, err);
}

static int count_use(struct bkt_domain *d, const struct bkt_id *type, int by, bool *changed,
                     struct bkt_err *err)
{
    struct bkt_change *c;
    struct bkt_err why = {.n = 0};
    *changed = false;
    if (!type->text[0])
        return BKT_OK;
    int rc = bkt_change_of(d, type, &c, &why);
    if (rc == BKT_ENOENT) /* the type is gone; its users hold a copy */
        return BKT_OK;
    if (rc < 0)
        return bkt_err_copy(err, rc, &why);
    if (c->obj->kind != BKT_DATATYPE || c->obj->uses < 0 || c->obj->uses + by < 0)
        return BKT_OK;
    BKT_PASS(sign_counts(d, c, err));
    c->obj->uses += by;
    c->uses += by;
    *changed = true;
    return BKT_OK;
}

int bkt_edit_use(struct bkt_domain *d, const struct bkt_id *type, int by, struct bkt_err *err)
{
    bool changed;
    BKT_PASS(count_use(d, type, by, &changed, err));
    return changed && by < 0 ? bkt_edit_loosen(d, bkt_alias_of(d, type), err) : BKT_OK;
}

void bkt_edit_equal(struct bkt_domain *d, const struct bkt_change *c)
{
    if (c->unclear)
        return;
    for (struct bkt_map_at at = {0}; bkt_map_walk(c->equal, &at);) {
        const struct bkt_attr *a = bkt_attrs_find(&c->obj->attrs, at.key);
        if (a && bkt_ids_add(&d->edits->disowned, &a->type->committed) < 0)
            bkt_trace(BKT_TRACE_SCHEMA, "out of memory: type %s counts one too many",
                      a->type->committed.text);
    }
}

static int count_each(struct bkt_domain *d, struct bkt_ids *l, int by, bool *any, struct bkt_err *err)
{
    for (bool changed; l->n; l->n--) {
        BKT_PASS(count_use(d, &l->v[l->n - 1], by, &changed, err));
        *any |= changed;
    }
    return BKT_OK;
}

/* The other writer's attribute is of the type, so the object keeps using it. */
int bkt_edit_disown(struct bkt_domain *d, bool *any, struct bkt_err *err)
{
    BKT_PASS(count_each(d, &d->edits->disowned, -1, any, err));
    return count_each(d, &d->edits->regained, 1, any, err);
}

int bkt_edit_use_all(struct bkt_domain *d, const struct bkt_object *o, int by, struct bkt_err *err)
{
    const struct bkt_id *type;
    size_t pos = 0;
    while ((type = bkt_object_next_type(o, &pos)))
        BKT_PASS(bkt_edit_use(d, type, by, err));
    return BKT_OK;
}
