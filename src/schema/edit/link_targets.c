/* Objects that other writers delete while links to them are made here.
 *
 * [L1] No link is stored to an object that another writer has deleted before the flush: the link is dropped,
 *      and the flush reports the object.  An object that is deleted during the flush isn't noticed.  If an
 *      outage leaves open whether an object exists, the flush fails, and the next one asks again. */
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/num.h"
#include "base/trace.h"
#include "schema/edit/edit_impl.h"

/* BKT_OK: it has; else the HEAD's failure. */
static int find_document(struct bkt_domain *d, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    BKT_PASS_MEM(err, bkt_domain_doc_key(d->path, &key));
    return bkt_store_head(d->store, bkt_buf_str(&key), NULL, err);
}

/* In this order: if the store comes back between the two requests, the object isn't taken for missing. */
bool bkt_object_is_gone(struct bkt_domain *d, const struct bkt_id *id)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    return find_document(d, NULL) == BKT_OK && bkt_id_key(id, &key) == BKT_OK &&
           bkt_store_head(d->store, bkt_buf_str(&key), NULL, NULL) == BKT_ENOENT;
}

/* ---- new links whose targets other writers may have deleted ---- */

#define WAVE 1024 /* requests at once */

struct new_link {
    struct bkt_id group, target;
    char *name;
};

struct new_links {
    struct new_link *v;
    size_t n, cap;
    struct bkt_map *targets; /* id -> nothing, or the address of this struct if it is deleted */
};

static void new_links_fini(struct new_links *x)
{
    for (size_t i = 0; i < x->n; i++)
        free(x->v[i].name);
    free(x->v);
    bkt_map_free(x->targets, NULL);
}

bool bkt_edit_is_unseen(struct bkt_domain *d, const struct bkt_id *id)
{
    const struct bkt_change *c = bkt_map_get(d->edits->changes, id->text, BKT_ID_LEN);
    return (c && c->is_new) || bkt_links_count_is_unseen(d->links, id);
}

bool bkt_edit_has_others(const struct bkt_domain *d)
{
    return !d->edits->fresh && strcmp(d->set.writers, "one") != 0;
}

bool bkt_edit_links_others(struct bkt_domain *d, const struct bkt_object *o)
{
    const struct bkt_link *l;
    if (!bkt_edit_has_others(d))
        return false;
    for (size_t i = 0; (l = bkt_object_next_hard(o, &i));)
        if (!bkt_edit_is_unseen(d, &l->id))
            return true;
    return false;
}

static int add(struct bkt_domain *d, const struct bkt_id *group, const struct bkt_link *l,
               struct new_links *x)
{
    if (!l || l->cls != BKT_L_HARD || bkt_edit_is_unseen(d, &l->id))
        return BKT_OK;
    BKT_PASS(bkt_list_room(&x->v, x->n, &x->cap, sizeof *x->v));
    x->v[x->n] = (struct new_link){*group, l->id, strdup(l->name)};
    return x->v[x->n++].name ? bkt_map_set(&x->targets, l->id.text, BKT_ID_LEN, NULL, NULL) : BKT_ENOMEM;
}

static int collect(struct bkt_domain *d, const struct bkt_change *c, struct new_links *x)
{
    const struct bkt_link *l;
    for (size_t i = 0; c->is_new && (l = bkt_object_next_hard(c->obj, &i));)
        BKT_PASS(add(d, &c->id, l, x));
    for (struct bkt_map_at at = {0}; !c->is_new && bkt_map_walk(c->links, &at);)
        BKT_PASS(add(d, &c->id, bkt_links_find(&c->obj->group.links, at.key), x));
    return BKT_OK;
}

/* A refused HEAD says nothing, and isn't asked for again: the object counts as present. */
static int take_answer(struct new_links *x, const struct bkt_id *id, const struct bkt_req *r,
                       struct bkt_err *err)
{
    if (bkt_edit_is_outage(r->rc))
        return bkt_err_copy(err, r->rc, r->err);
    if (r->rc == BKT_ENOENT)
        BKT_PASS_MEM(err, bkt_map_set(&x->targets, id->text, BKT_ID_LEN, x, NULL));
    return BKT_OK;
}

static int look(struct bkt_domain *d, struct new_links *x, const struct bkt_ids *ids, size_t from, size_t n,
                struct bkt_err *err)
{
    BKT_CLEANUP(bkt_reqs_fini) struct bkt_reqs reqs = {.n = 0};
    BKT_PASS_MEM(err, bkt_reqs_init(&reqs, n));
    for (size_t i = 0; i < n; i++) {
        reqs.v[i] = (struct bkt_req){.op = BKT_HEAD};
        BKT_PASS_MEM(err, bkt_id_key(&ids->v[from + i], &reqs.keys[i]));
    }
    bkt_reqs_perform(d->store, &reqs);
    for (size_t i = 0; i < n; i++)
        BKT_PASS(take_answer(x, &ids->v[from + i], &reqs.v[i], err));
    return BKT_OK;
}

/* The document is asked for first: without it the whole store may be out of reach, and nothing is known. */
static int look_at_all(struct bkt_domain *d, struct new_links *x, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_ids_fini) struct bkt_ids ids = {0};
    struct bkt_err why = {.n = 0};
    int rc = find_document(d, &why);
    if (rc < 0)
        return bkt_edit_is_outage(rc) ? bkt_err_copy(err, rc, &why) : BKT_OK;
    BKT_PASS_MEM(err, bkt_ids_add_keys(&ids, x->targets));
    for (size_t i = 0; i < ids.n; i += WAVE)
        BKT_PASS(look(d, x, &ids, i, bkt_min_u64(ids.n - i, WAVE), err));
    return BKT_OK;
}

static int drop(struct bkt_domain *d, const struct new_link *l, struct bkt_err *err)
{
    BKT_PASS(bkt_edit_drop_link(d, &l->group, l->name, err));
    bkt_objects_drop(d->objects, &l->target, false);
    bkt_trace(BKT_TRACE_SCHEMA, "%s: link %s of %s: another writer has deleted %s", d->name, l->name,
              l->group.text, l->target.text);
    bkt_message_names_add(&d->edits->gone, l->target.text);
    return BKT_OK;
}

int bkt_edit_check_targets(struct bkt_domain *d, bool only_new, struct bkt_err *err)
{
    BKT_CLEANUP(new_links_fini) struct new_links x = {.n = 0};
    if (!bkt_edit_has_others(d) || d->edits->doubt)
        return BKT_OK;
    for (struct bkt_map_at at = {0}; bkt_map_walk(d->edits->changes, &at);) {
        const struct bkt_change *c = at.value;
        if (!c->removed && c->obj->kind == BKT_GROUP && (c->is_new || !only_new))
            BKT_PASS_MEM(err, collect(d, c, &x));
    }
    if (!x.n)
        return BKT_OK;
    int rc = look_at_all(d, &x, err);
    d->edits->out_of_reach = bkt_edit_is_outage(rc);
    BKT_TRY(err, rc, "%s: whether the targets of new links still exist isn't known; nothing is written yet",
            d->name);
    for (size_t i = 0; i < x.n; i++)
        if (bkt_map_get(x.targets, x.v[i].target.text, BKT_ID_LEN))
            BKT_PASS(drop(d, &x.v[i], err));
    return BKT_OK;
}
