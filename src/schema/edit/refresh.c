/* Refresh: other writers' changes are read, and this process's unstored changes are dropped on request. */
#include <string.h>

#include "schema/edit/edit_impl.h"
#include "schema/model/object_life.h"
#include "schema/json/schema_json.h"

/* Entries that were added here, and that the store has: from now on they are stored ones, so that their
 * removal is a change.  Attributes of committed types wait for a flush, which corrects the types' uses. */
static int take_equal(struct bkt_change *c, const struct bkt_req *r, struct bkt_err *err)
{
    struct bkt_object *parsed = NULL;
    if (!c->links && !c->attrs)
        return BKT_OK;
    BKT_PASS(bkt_object_parse(r->body.ptr, r->body.len, &c->id, &parsed, err));
    BKT_CLEANUP(bkt_object_releasep) const struct bkt_object *o = parsed;
    for (struct bkt_map_at at = {0}; bkt_map_walk(c->links, &at);)
        if ((enum bkt_delta)(uintptr_t)at.value == BKT_DELTA_ADD &&
            !bkt_map_get(c->kept_links, at.key, at.n) && bkt_links_find(&o->group.links, at.key))
            (void)bkt_map_del(c->links, at.key, at.n);
    for (struct bkt_map_at at = {0}; bkt_map_walk(c->attrs, &at);) {
        const struct bkt_attr *a = bkt_attrs_find(&o->attrs, at.key);
        if ((enum bkt_delta)(uintptr_t)at.value != BKT_DELTA_ADD ||
            bkt_map_get(c->kept_attrs, at.key, at.n) || !a || !a->type || a->type->committed.text[0])
            continue;
        bkt_renamed_forget(c, at.key);
        (void)bkt_map_del(c->attrs, at.key, at.n);
    }
    return BKT_OK;
}

static int merge_fresh(struct bkt_domain *d, struct bkt_change *c, const struct bkt_req *r,
                       struct bkt_err *err)
{
    BKT_CLEANUP(bkt_json_decrefp) json_t *j = NULL;
    struct bkt_space stored = {.rank = 0};
    c->foreign = true;
    BKT_PASS(bkt_json_load(r->body.ptr, r->body.len, &j, err));
    if (c->extent)
        BKT_PASS(bkt_space_parse(json_object_get(j, "shape"), &stored, err));
    BKT_PASS(bkt_replay(d, c, j, false, err));
    bkt_buf_clear(&c->text);
    BKT_PASS(bkt_json_dump(j, &c->text, err));
    BKT_PASS(bkt_change_adopt(d, c, r->etag, err));
    bkt_extent_seen(c, &stored);
    BKT_PASS(take_equal(c, r, err));
    bkt_buf_fini(&c->text);
    bkt_buf_fini(&c->obj->stored);
    BKT_NEED(err, bkt_object_set_etag(c->obj, r->etag) >= 0 &&
                      bkt_buf_add(&c->obj->stored, r->body.ptr, r->body.len) >= 0);
    return BKT_OK;
}

int bkt_domain_refresh(struct bkt_domain *d, const struct bkt_id *id, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    struct bkt_change *c = bkt_map_get(d->edits->changes, id->text, BKT_ID_LEN);
    struct bkt_change  clean = {.id = *id};
    if (c && (c->is_new || c->removed))
        return BKT_OK;
    BKT_CLEANUP(bkt_object_releasep) const struct bkt_object *o = NULL;
    BKT_PASS(bkt_domain_get(d, id, &o, err));
    clean.obj = (struct bkt_object *)(uintptr_t)o;
    BKT_PASS_MEM(err, bkt_id_key(id, &key));
    BKT_CLEANUP(bkt_req_fini)
    struct bkt_req r  = {.op = BKT_GET, .key = bkt_buf_str(&key), .len = BKT_WHOLE, .if_none_match = o->etag};
    int rc = bkt_store_perform(d->store, &r, 1, err);
    if (rc == BKT_ENOTMOD) {
        bkt_err_clear(err);
        return BKT_OK;
    }
    BKT_PASS(rc);
    bkt_objects_unshare(d->objects, id);
    rc = merge_fresh(d, c ? c : &clean, &r, err);
    bkt_buf_fini(&clean.text);
    return rc;
}

void bkt_domain_discard(struct bkt_domain *d)
{
    for (struct bkt_map_at at = {0}; bkt_map_walk(d->edits->changes, &at);) {
        struct bkt_change *c = at.value;
        bkt_objects_drop(d->objects, &c->id, false);
        bkt_change_forget(d, c);
    }
    bkt_moves_clear(d->edits);
    d->edits->fresh       = false;
    d->edits->dirty_bytes = 0;
    memset(&d->edits->old_root, 0, sizeof d->edits->old_root);
    bkt_links_count_forget(d->links, false);
}
