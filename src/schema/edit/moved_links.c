/* Objects whose new links aren't stored yet: links that lead to them in the store stay.
 *
 * [B2] A moved object keeps its old link in the store until the new link is there.  The new link may have to
 *      wait for another writer's entry of that name to go, or for the move of the object in whose place it
 *      comes.  So groups that lose links are stored in turns: each turn stores what depends on nothing any
 *      more.  Objects that have exchanged their places depend on each other, and are stored in one turn.
 *
 * An object may have moved into a new group.  Then it waits for the links to that group. */
#include <string.h>

#include "schema/edit/edit_impl.h"

/* ---- objects that a link leads to, and those that have moved into new groups below it ---- */

static int add_members(struct bkt_domain *d, const struct bkt_id *id, struct bkt_ids *out,
                       struct bkt_err *err)
{
    BKT_CLEANUP(bkt_object_releasep) const struct bkt_object *o = NULL;
    const struct bkt_link *l;
    if (bkt_id_kind(id) != BKT_GROUP || !bkt_links_count_is_own(d->links, id))
        return BKT_OK;
    BKT_PASS(bkt_objects_find(d->objects, id, &o, err));
    for (size_t i = 0; o && (l = bkt_object_next_hard(o, &i));)
        if (bkt_id_kind(&l->id) == BKT_GROUP || !bkt_links_count_is_unseen(d->links, &l->id))
            BKT_PASS_MEM(err, bkt_ids_add(out, &l->id));
    return BKT_OK;
}

int bkt_moved_add(struct bkt_domain *d, struct bkt_map **set, const struct bkt_id *to, void *by,
                  struct bkt_err *err)
{
    BKT_CLEANUP(bkt_ids_fini) struct bkt_ids all = {0};
    BKT_PASS_MEM(err, bkt_ids_add(&all, to));
    for (size_t i = 0; i < all.n; i++) {
        struct bkt_id id = all.v[i]; /* the list may move */
        void *was = bkt_map_get(*set, id.text, BKT_ID_LEN);
        if (was == by || was == d->edits)
            continue;
        BKT_PASS_MEM(err, bkt_map_set(set, id.text, BKT_ID_LEN, was ? d->edits : by, NULL));
        BKT_PASS(add_members(d, &id, &all, err));
    }
    return BKT_OK;
}

/* ---- which links are still to be stored ---- */

static int note_new_group(struct bkt_domain *d, const struct bkt_change *c, struct bkt_err *err)
{
    const struct bkt_link *l;
    for (size_t i = 0; (l = bkt_object_next_hard(c->obj, &i));)
        BKT_PASS(bkt_moved_add(d, &d->edits->unmoved, &l->id, d->edits, err));
    return BKT_OK;
}

static bool is_kept(const struct bkt_change *c, const struct bkt_map_at *at, enum bkt_kept why)
{
    return bkt_map_number(c->kept_links, at->key, at->n) == (intptr_t)why;
}

static const struct bkt_link *hard_link(const struct bkt_change *c, const char *name)
{
    const struct bkt_link *l = bkt_links_find(&c->obj->group.links, name);
    return l && l->cls == BKT_L_HARD ? l : NULL;
}

/* @param losing  groups that lose links: a single one stores all of its links by one PUT */
static int note_gains(struct bkt_domain *d, struct bkt_change *c, size_t losing, bool at_once,
                      struct bkt_err *err)
{
    bool comes = bkt_change_loses_links(c);
    for (struct bkt_map_at at = {0}; bkt_map_walk(c->links, &at);) {
        const struct bkt_link *l = hard_link(c, at.key);
        if (l && (!comes || (at_once ? is_kept(c, &at, BKT_KEPT_CLASH) : losing > 1)))
            BKT_PASS(bkt_moved_add(d, &d->edits->unmoved, &l->id, c, err));
    }
    return BKT_OK;
}

static bool is_group(const struct bkt_change *c)
{
    return !c->removed && c->obj->kind == BKT_GROUP;
}

/* The id of the stored link's target; NULL: it isn't known. */
static const struct bkt_id *old_target(const struct bkt_change *c, const struct bkt_map_at *at)
{
    const struct bkt_old_entry *old = bkt_map_get(c->old_links, at->key, at->n);
    return old ? &old->id : NULL;
}

/* ---- links that have to stay in the store ---- */

bool bkt_unmoved_has(const struct bkt_domain *d, const struct bkt_change *c, const char *id)
{
    const void *by = id ? bkt_map_get(d->edits->unmoved, id, strlen(id)) : NULL;
    return by && by != c;
}

/* Collect the objects that have left groups which were removed afterwards. */
static int find_left(const struct bkt_domain *d, struct bkt_ids *out)
{
    for (struct bkt_map_at at = {0}; bkt_map_walk(d->edits->changes, &at);) {
        const struct bkt_change *gone = at.value;
        for (struct bkt_map_at k = {0}; gone->removed && bkt_map_walk(gone->old_links, &k);) {
            const struct bkt_id *id = &((const struct bkt_old_entry *)k.value)->id;
            if (id->text[0])
                BKT_PASS(bkt_ids_add(out, id));
        }
    }
    return BKT_OK;
}

/* Such a group stays, and with it everything else that is to be removed.  Also if memory is short. */
bool bkt_unmoved_left_removed(const struct bkt_domain *d, const struct bkt_change *c)
{
    BKT_CLEANUP(bkt_ids_fini) struct bkt_ids found = {0};
    const struct bkt_edits *e = d->edits;
    if (!e->unmoved && !c->taken)
        return false;
    if (!e->left_known && find_left(d, &found) < 0)
        return true;
    const struct bkt_ids *left = e->left_known ? &e->left : &found;
    for (size_t i = 0; i < left->n; i++)
        if (bkt_unmoved_has(d, c, left->v[i].text) || bkt_map_get(c->taken, left->v[i].text, BKT_ID_LEN))
            return true;
    return false;
}

/* Whether a link has to wait for that, with bkt_unmoved_note(at_once).
 * @param old  the stored link's target; NULL or "": not known, or not an object */
static bool is_blocked(const struct bkt_domain *d, const struct bkt_change *c, const struct bkt_id *old)
{
    if (!old || !old->text[0])
        return false;
    const struct bkt_change *to = bkt_map_get(d->edits->changes, old->text, strlen(old->text));
    return bkt_map_get(d->edits->unmoved, old->text, BKT_ID_LEN) ||
           (to && to->removed && bkt_unmoved_left_removed(d, c));
}

/* A link waits for the object in whose place it comes, and so does its own target. */
static int note_places(struct bkt_domain *d, struct bkt_change *c, bool *more, struct bkt_err *err)
{
    struct bkt_map **set = &d->edits->unmoved;
    for (struct bkt_map_at at = {0}; bkt_map_walk(c->links, &at);) {
        const struct bkt_link *l = hard_link(c, at.key);
        if (!l || bkt_map_get(*set, l->id.text, BKT_ID_LEN) || !is_blocked(d, c, old_target(c, &at)))
            continue;
        BKT_PASS(bkt_moved_add(d, set, &l->id, d->edits, err));
        *more = true;
    }
    return BKT_OK;
}

void bkt_unmoved_clear(struct bkt_edits *e)
{
    bkt_map_clear(&e->unmoved, NULL);
    bkt_ids_fini(&e->left);
    e->left_known = false;
}

int bkt_unmoved_note(struct bkt_domain *d, bool at_once, struct bkt_err *err)
{
    struct bkt_edits *e = d->edits;
    size_t losing = 0;
    bkt_unmoved_clear(e);
    BKT_PASS_MEM(err, find_left(d, &e->left));
    e->left_known = true;
    for (struct bkt_map_at at = {0}; bkt_map_walk(e->changes, &at);)
        losing += is_group(at.value) && bkt_change_loses_links(at.value);
    for (struct bkt_map_at at = {0}; losing && bkt_map_walk(e->changes, &at);) {
        struct bkt_change *c = at.value;
        if (is_group(c) && !c->is_new)
            BKT_PASS(note_gains(d, c, losing, at_once, err));
        else if (is_group(c) && e->absent)
            BKT_PASS(note_new_group(d, c, err));
    }
    for (bool more = at_once; more;) {
        more = false;
        for (struct bkt_map_at at = {0}; bkt_map_walk(e->changes, &at);)
            if (is_group(at.value))
                BKT_PASS(note_places(d, at.value, &more, err));
    }
    return BKT_OK;
}

/* ---- turns ---- */

size_t bkt_unmoved_count(const struct bkt_domain *d, bool *waits)
{
    size_t n = 0;
    *waits = false;
    for (struct bkt_map_at at = {0}; bkt_map_walk(d->edits->changes, &at);) {
        const struct bkt_change *c = at.value;
        n += c->removed ? 0 : bkt_map_count(c->links);
        for (struct bkt_map_at k = {0}; !c->removed && bkt_map_walk(c->links, &k);)
            *waits |= is_kept(c, &k, BKT_KEPT_WAITS);
    }
    return n;
}

/* The stored link of that name is a soft or external one, which waits in its own group only. */
static bool is_soft(const struct bkt_change *c, const struct bkt_map_at *at)
{
    const struct bkt_id *old = old_target(c, at);
    return old && !old->text[0];
}

bool bkt_unmoved_all_blocked(const struct bkt_domain *d)
{
    for (struct bkt_map_at at = {0}; bkt_map_walk(d->edits->changes, &at);) {
        const struct bkt_change *c = at.value;
        for (struct bkt_map_at k = {0}; is_group(c) && bkt_map_walk(c->links, &k);)
            if (is_kept(c, &k, BKT_KEPT_WAITS) && !is_blocked(d, c, old_target(c, &k)) && !is_soft(c, &k))
                return false;
    }
    return true;
}
