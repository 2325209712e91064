/* Groups that are moved here, while another writer moves their new places into them.
 *
 * [B3] Each of two writers may move a group into the other writer's group: /a into /b, and /b into /a.  Both
 *      moves together take both groups out of reach.  So a flush looks at the way from the root to the new
 *      place, as it is stored.  If a link on the way is gone, and the moved group itself leads to its new
 *      place, the later move is void:
 *
 *      - Before old links are removed, the group is given its old link again, and loses the new one.
 *      - Afterwards the group only gets its old link back: another writer may have removed links at the same
 *        time.  Of all writers, the last one that has removed a link sees what the others did.  Nothing is
 *        removed then, so what other writers have seen stays true.
 *
 * A group that a program itself moves into its own member gets out of reach, as in HDF5. */
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/trace.h"
#include "schema/edit/edit_impl.h"

struct bkt_group_move {
    struct bkt_id group, to; /* to: the group that has its new link */
    char *name;              /* of the new link */
    /* the group that had its old link; "": that isn't known, since it was removed */
    struct bkt_id from;
    char *old_name; /* NULL: as `from` */
    double created; /* of the old link */
    bool lost;      /* it has lost a link */
};

static void move_fini(struct bkt_group_move *m)
{
    free(m->name);
    free(m->old_name);
}

static void drop_move(struct bkt_edits *e, size_t i)
{
    move_fini(&e->moves[i]);
    e->moves[i] = e->moves[--e->n_moves];
}

void bkt_moves_clear(struct bkt_edits *e)
{
    for (size_t i = 0; i < e->n_moves; i++)
        move_fini(&e->moves[i]);
    free(e->moves);
    e->moves = NULL;
    e->n_moves = e->moves_cap = 0;
    bkt_map_clear(&e->ways, free);
}

/* Whether the old link is still to be removed from the store: an earlier flush may have stored the new link
 * and failed before that. */
static bool is_pending(const struct bkt_domain *d, const struct bkt_group_move *m)
{
    const struct bkt_change *c = bkt_map_get(d->edits->changes, m->from.text, BKT_ID_LEN);
    if (!m->old_name || !c || c->removed)
        return false;
    const struct bkt_old_entry *old = bkt_map_get(c->old_links, m->old_name, strlen(m->old_name));
    const struct bkt_link *l = bkt_links_find(&c->obj->group.links, m->old_name);
    return old && strcmp(old->id.text, m->group.text) == 0 &&
           !(l && l->cls == BKT_L_HARD && strcmp(l->id.text, m->group.text) == 0);
}

static void drop_done(struct bkt_domain *d)
{
    for (size_t i = d->edits->n_moves; i-- > 0;)
        if (!is_pending(d, &d->edits->moves[i]))
            drop_move(d->edits, i);
}

/* ---- groups in memory ---- */

/* Groups below one, in the order in which they are found, without a request. */
struct below {
    struct bkt_ids found;
    struct bkt_map *by; /* id -> its place in `found`, and one; of the group that has led to it */
};

static void below_fini(struct below *b)
{
    bkt_ids_fini(&b->found);
    bkt_map_free(b->by, NULL);
}

static int find_members(struct bkt_domain *d, struct below *b, size_t at)
{
    BKT_CLEANUP(bkt_object_releasep)
    const struct bkt_object *o = bkt_objects_cached(d->objects, &b->found.v[at]);
    const struct bkt_link *l;
    for (size_t i = 0; o && (l = bkt_object_next_hard(o, &i));) {
        if (bkt_id_kind(&l->id) != BKT_GROUP || bkt_map_get(b->by, l->id.text, BKT_ID_LEN))
            continue;
        BKT_PASS(bkt_map_set_number(&b->by, l->id.text, BKT_ID_LEN, (intptr_t)at + 1));
        BKT_PASS(bkt_ids_add(&b->found, &l->id));
    }
    return BKT_OK;
}

static int find_below(struct bkt_domain *d, const struct bkt_id *start, struct below *out)
{
    BKT_PASS(bkt_ids_add(&out->found, start));
    BKT_PASS(bkt_map_set_number(&out->by, start->text, BKT_ID_LEN, 1));
    for (size_t i = 0; i < out->found.n; i++)
        BKT_PASS(find_members(d, out, i));
    return BKT_OK;
}

/* ---- which groups have moved ---- */

static int add_move(struct bkt_domain *d, const struct bkt_change *c, const struct bkt_link *l,
                    struct bkt_map **by)
{
    struct bkt_edits *e = d->edits;
    if (!l || l->cls != BKT_L_HARD || bkt_id_kind(&l->id) != BKT_GROUP || bkt_edit_is_unseen(d, &l->id) ||
        bkt_map_get(*by, l->id.text, BKT_ID_LEN))
        return BKT_OK;
    BKT_PASS(bkt_list_room(&e->moves, e->n_moves, &e->moves_cap, sizeof *e->moves));
    e->moves[e->n_moves] = (struct bkt_group_move){.group = l->id, .to = c->id, .name = strdup(l->name)};
    if (!e->moves[e->n_moves].name)
        return BKT_ENOMEM;
    return bkt_map_set_number(by, l->id.text, BKT_ID_LEN, (intptr_t)++e->n_moves);
}

static int add_gains(struct bkt_domain *d, const struct bkt_change *c, struct bkt_map **by)
{
    const struct bkt_link *l;
    for (size_t i = 0; c->is_new && (l = bkt_object_next_hard(c->obj, &i));)
        BKT_PASS(add_move(d, c, l, by));
    for (struct bkt_map_at at = {0}; !c->is_new && bkt_map_walk(c->links, &at);)
        BKT_PASS(add_move(d, c, bkt_links_find(&c->obj->group.links, at.key), by));
    return BKT_OK;
}

/* Note the group that has lost a link to a moved group. */
static int add_losses(struct bkt_edits *e, const struct bkt_change *c, const struct bkt_map *by)
{
    for (struct bkt_map_at at = {0}; bkt_map_walk(c->old_links, &at);) {
        const struct bkt_old_entry *old = at.value;
        size_t k = (size_t)bkt_map_number(by, old->id.text, strlen(old->id.text));
        const struct bkt_link *l = c->removed ? NULL : bkt_links_find(&c->obj->group.links, at.key);
        if (!k || (l && l->cls == BKT_L_HARD && strcmp(l->id.text, old->id.text) == 0))
            continue;
        struct bkt_group_move *m = &e->moves[k - 1];
        m->lost = true;
        if (c->removed || m->old_name)
            continue;
        m->from = c->id;
        m->created = old->created;
        if (!(m->old_name = strdup(at.key)))
            return BKT_ENOMEM;
    }
    return BKT_OK;
}

/* Moves whose new links an earlier flush has stored, so that no change shows them any more. */
static int add_pending(struct bkt_domain *d, struct bkt_map **by)
{
    struct bkt_edits *e = d->edits;
    bkt_map_clear(&e->ways, free);
    drop_done(d);
    for (size_t i = e->n_moves; i-- > 0;) {
        const struct bkt_group_move *m = &e->moves[i];
        BKT_CLEANUP(bkt_object_releasep)
        const struct bkt_object *o = bkt_objects_cached(d->objects, &m->to);
        const struct bkt_link *l = o ? bkt_links_find(&o->group.links, m->name) : NULL;
        if (o && (!l || l->cls != BKT_L_HARD || strcmp(l->id.text, m->group.text) != 0))
            drop_move(e, i);
    }
    for (size_t i = 0; i < e->n_moves; i++)
        BKT_PASS(bkt_map_set_number(by, e->moves[i].group.text, BKT_ID_LEN, (intptr_t)i + 1));
    return BKT_OK;
}

/* A removed group takes its members' links along. */
static bool removes_groups(const struct bkt_edits *e)
{
    for (struct bkt_map_at at = {0}; bkt_map_walk(e->changes, &at);) {
        const struct bkt_change *c = at.value;
        if (c->removed && bkt_id_kind(&c->id) == BKT_GROUP)
            return true;
    }
    return false;
}

/* Note the way to a group: whose links lead on, up to the root. */
static int note_way(struct bkt_domain *d, const struct below *all, const struct bkt_id *to)
{
    for (size_t at;
         (at = (size_t)bkt_map_number(all->by, to->text, BKT_ID_LEN)) &&
         strcmp(to->text, d->doc.root.text) != 0 && !bkt_map_get(d->edits->ways, to->text, BKT_ID_LEN);
         to = &all->found.v[at - 1]) {
        struct bkt_id *parent = bkt_map_make(&d->edits->ways, to->text, BKT_ID_LEN, sizeof *parent);
        if (!parent)
            return BKT_ENOMEM;
        *parent = all->found.v[at - 1];
    }
    return BKT_OK;
}

/* Whether the program has put the new place below the group itself. */
static int is_own_ring(struct bkt_domain *d, const struct below *all, const struct bkt_group_move *m,
                       bool *is)
{
    BKT_CLEANUP(below_fini) struct below b = {.by = NULL};
    *is = false;
    if (bkt_map_get(all->by, m->to.text, BKT_ID_LEN))
        return BKT_OK;
    BKT_PASS(find_below(d, &m->group, &b));
    *is = bkt_map_get(b.by, m->to.text, BKT_ID_LEN) != NULL;
    return BKT_OK;
}

static int note_ways(struct bkt_domain *d)
{
    BKT_CLEANUP(below_fini) struct below all = {.by = NULL};
    struct bkt_edits *e = d->edits;
    bkt_objects_await(d->objects, &d->doc.root);
    BKT_PASS(find_below(d, &d->doc.root, &all));
    for (size_t i = e->n_moves; i-- > 0;) {
        bool own;
        BKT_PASS(is_own_ring(d, &all, &e->moves[i], &own));
        if (own)
            drop_move(e, i);
        else
            BKT_PASS(note_way(d, &all, &e->moves[i].to));
    }
    return BKT_OK;
}

static int note_moves(struct bkt_domain *d)
{
    struct bkt_edits *e = d->edits;
    BKT_CLEANUP(bkt_map_freep) struct bkt_map *by = NULL;
    BKT_PASS(add_pending(d, &by));
    for (struct bkt_map_at at = {0}; bkt_map_walk(e->changes, &at);) {
        const struct bkt_change *c = at.value;
        if (!c->removed && c->obj->kind == BKT_GROUP)
            BKT_PASS(add_gains(d, c, &by));
    }
    for (struct bkt_map_at at = {0}; by && bkt_map_walk(e->changes, &at);)
        BKT_PASS(add_losses(e, at.value, by));
    bool any_removed = by && removes_groups(e);
    for (size_t i = any_removed ? 0 : e->n_moves; i-- > 0;)
        if (!e->moves[i].lost)
            drop_move(e, i);
    return e->n_moves ? note_ways(d) : BKT_OK;
}

int bkt_moves_note(struct bkt_domain *d, struct bkt_err *err)
{
    if (bkt_edit_has_others(d))
        BKT_PASS_MEM(err, note_moves(d));
    else
        bkt_moves_clear(d->edits);
    return BKT_OK;
}

/* ---- how the store has them ---- */

struct look {
    struct bkt_domain *d;
    struct bkt_map *intact; /* groups whose link on the way is stored */
    struct bkt_ids below;   /* the groups that a moved group leads to */
    struct bkt_map *seen;   /* the same */
};

static void look_fini(struct look *x)
{
    bkt_map_free(x->intact, NULL);
    bkt_map_free(x->seen, NULL);
    bkt_ids_fini(&x->below);
}

static int find_intact(const struct bkt_object *o, void *arg)
{
    struct look *x = arg;
    const struct bkt_link *l;
    for (size_t i = 0; (l = bkt_object_next_hard(o, &i));) {
        const struct bkt_id *parent = bkt_map_get(x->d->edits->ways, l->id.text, BKT_ID_LEN);
        if (parent && strcmp(parent->text, o->id.text) == 0)
            BKT_PASS(bkt_map_set(&x->intact, l->id.text, BKT_ID_LEN, x, NULL));
    }
    return BKT_OK;
}

static int look_at_ways(struct look *x, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_map_freep) struct bkt_map *parents = NULL;
    BKT_CLEANUP(bkt_ids_fini) struct bkt_ids ids = {0};
    for (struct bkt_map_at at = {0}; bkt_map_walk(x->d->edits->ways, &at);)
        BKT_PASS_MEM(err, bkt_map_set(&parents, ((struct bkt_id *)at.value)->text, BKT_ID_LEN, x, NULL));
    BKT_PASS_MEM(err, bkt_ids_add_keys(&ids, parents));
    return bkt_edit_read_stored(x->d, &ids, true, find_intact, x, err);
}

static bool is_intact(const struct look *x, const struct bkt_id *to)
{
    const struct bkt_map *ways = x->d->edits->ways;
    while (to && strcmp(to->text, x->d->doc.root.text) != 0) {
        if (!bkt_map_get(x->intact, to->text, BKT_ID_LEN))
            return false;
        to = bkt_map_get(ways, to->text, BKT_ID_LEN);
    }
    return to != NULL;
}

static int add_below(struct look *x, const struct bkt_id *id)
{
    if (bkt_id_kind(id) != BKT_GROUP || bkt_map_get(x->seen, id->text, BKT_ID_LEN))
        return BKT_OK;
    BKT_PASS(bkt_map_set(&x->seen, id->text, BKT_ID_LEN, x, NULL));
    return bkt_ids_add(&x->below, id);
}

static int add_all_below(const struct bkt_object *o, void *arg)
{
    const struct bkt_link *l;
    for (size_t i = 0; (l = bkt_object_next_hard(o, &i));)
        BKT_PASS(add_below(arg, &l->id));
    return BKT_OK;
}

/* Whether a moved group is out of reach by its new link: a link of the way to the new place is gone, and the
 * group leads to it.  If the way isn't in memory, since the place was opened by a reference, all groups below
 * the moved one are read. */
static int is_cut_off(struct look *x, const struct bkt_group_move *m, bool *is, struct bkt_err *err)
{
    *is = false;
    if (is_intact(x, &m->to))
        return BKT_OK;
    bkt_map_clear(&x->seen, NULL);
    x->below.n = 0;
    BKT_PASS_MEM(err, add_below(x, &m->group));
    BKT_PASS(bkt_edit_read_stored(x->d, &x->below, false, add_all_below, x, err));
    *is = bkt_map_get(x->seen, m->to.text, BKT_ID_LEN) != NULL;
    return BKT_OK;
}

/* ---- a group gets its old link back ---- */

static bool has_name(struct bkt_domain *d, const struct bkt_id *group, const char *name)
{
    const struct bkt_change *c = bkt_map_get(d->edits->changes, group->text, BKT_ID_LEN);
    BKT_CLEANUP(bkt_object_releasep) const struct bkt_object *o = NULL;
    return (c && c->removed) || bkt_domain_get(d, group, &o, NULL) < 0 ||
           bkt_links_find(&o->group.links, name);
}

/* If its old place is gone, the group becomes a member of the root. */
static int link_again(struct bkt_domain *d, const struct bkt_group_move *m, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf group = {0}, path = {0};
    const struct bkt_id *at = &m->from;
    const char *name = m->old_name;
    bool there = name && !has_name(d, at, name);
    if (!there) {
        at = &d->doc.root;
        name = has_name(d, at, m->name) ? m->group.text : m->name;
    }
    struct bkt_link l = {
        .name = strdup(name), .cls = BKT_L_HARD, .id = m->group, .created = there ? m->created : 0};
    for (const char *s = name; *s; s++)
        l.name_utf8 |= *s & 0x80;
    int rc = l.name ? bkt_edit_link(d, at, &l, err) : BKT_ERR(err, BKT_ENOMEM, "out of memory");
    free(l.name);
    BKT_PASS(rc);
    BKT_PASS_MEM(err, bkt_domain_path_of(d, at, &group));
    BKT_PASS_MEM(err, bkt_link_path(bkt_buf_str(&group), name, &path));
    bkt_trace(BKT_TRACE_SCHEMA, "%s: another writer has moved the new place of %s into it", d->name,
              bkt_buf_str(&path));
    bkt_message_names_add(&d->edits->stayed, bkt_buf_str(&path));
    return BKT_OK;
}

/* @param keep  the new links stay */
static int undo_each(struct bkt_domain *d, bool keep, bool *any, struct bkt_err *err)
{
    BKT_CLEANUP(look_fini) struct look x = {.d = d};
    struct bkt_edits *e = d->edits;
    *any = false;
    if (!e->n_moves)
        return BKT_OK;
    BKT_PASS(look_at_ways(&x, err));
    for (size_t i = 0; i < e->n_moves; i++) {
        const struct bkt_group_move *m = &e->moves[i];
        bool is;
        BKT_PASS(is_cut_off(&x, m, &is, err));
        if (is)
            BKT_PASS(link_again(d, m, err));
        if (is && !keep)
            BKT_PASS(bkt_edit_drop_link(d, &m->to, m->name, err));
        *any |= is;
    }
    return BKT_OK;
}

static int undo(struct bkt_domain *d, bool keep, bool *any, struct bkt_err *err)
{
    int rc = undo_each(d, keep, any, err);
    d->edits->out_of_reach |= bkt_edit_is_outage(rc);
    BKT_TRY(err, rc, "%s: can't look for other writers' moves", d->name);
    return BKT_OK;
}

int bkt_moves_undo(struct bkt_domain *d, bool *any, struct bkt_err *err)
{
    BKT_PASS(undo(d, false, any, err));
    return *any ? bkt_moves_note(d, err) : BKT_OK;
}

int bkt_moves_settle(struct bkt_domain *d, bool *any, struct bkt_err *err)
{
    BKT_PASS(undo(d, true, any, err));
    drop_done(d);
    return BKT_OK;
}
