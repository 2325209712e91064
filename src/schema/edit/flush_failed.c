/* In a flush where some objects fail, only changes that depend on the failed objects wait.
 *
 * [B1] No stored link leads to an object that isn't stored.  Links to new objects that failed wait, and
 *      groups that were just stored with such a link are stored once more without it.
 * [B2] A moved object keeps its old link in the store until the new link is there. */
#include <stdlib.h>
#include <string.h>

#include "schema/edit/edit_impl.h"
#include "base/list.h"

void bkt_absent_clear(struct bkt_edits *e)
{
    bkt_map_clear(&e->absent, NULL);
    bkt_map_clear(&e->unmoved, NULL);
}

static int add_id(struct bkt_map **set, const struct bkt_id *id)
{
    return bkt_map_set(set, id->text, BKT_ID_LEN, set, NULL);
}

/* ---- [B1] ---- */

struct dangling {
    struct bkt_id group;
    char *name;
};
struct dangles {
    const struct bkt_map *absent;
    struct dangling *v;
    size_t n, cap;
};

static void dangles_fini(struct dangles *x)
{
    for (size_t i = 0; i < x->n; i++)
        free(x->v[i].name);
    free(x->v);
}

static int find_dangling(const struct bkt_object *o, void *arg)
{
    struct dangles *x = arg;
    const struct bkt_links *l = o->kind == BKT_GROUP ? bkt_links_settle(&o->group.links) : NULL;
    for (size_t i = 0; l && i < l->n; i++) {
        if (l->v[i].cls != BKT_L_HARD || !bkt_map_get(x->absent, l->v[i].id.text, BKT_ID_LEN))
            continue;
        BKT_PASS(bkt_list_room(&x->v, x->n, &x->cap, sizeof *x->v));
        x->v[x->n] = (struct dangling){o->id, strdup(l->v[i].name)};
        if (!x->v[x->n++].name)
            return BKT_ENOMEM;
    }
    return BKT_OK;
}

int bkt_absent_note(struct bkt_domain *d, struct bkt_err *err)
{
    BKT_CLEANUP(dangles_fini) struct dangles x = {.n = 0};
    struct bkt_edits *e = d->edits;
    for (struct bkt_map_at at = {0}; bkt_map_walk(e->changes, &at);) {
        const struct bkt_change *c = at.value;
        if (c->is_new && !c->removed && add_id(&e->absent, &c->id) < 0)
            BKT_NOMEM(err);
    }
    if (!e->absent)
        return BKT_OK;
    x.absent = e->absent;
    if (bkt_objects_each(d->objects, find_dangling, &x) < 0)
        BKT_NOMEM(err);
    for (size_t i = 0; i < x.n; i++)
        BKT_PASS(bkt_change_note_link(d, &x.v[i].group, x.v[i].name, err));
    return BKT_OK;
}

/* ---- [B2] ---- */

static int note_new_group(struct bkt_edits *e, const struct bkt_change *c)
{
    const struct bkt_links *l = bkt_links_settle(&c->obj->group.links);
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].cls == BKT_L_HARD)
            BKT_PASS(add_id(&e->unmoved, &l->v[i].id));
    return BKT_OK;
}

/* Note links that are still to be stored: all of a group whose turn is over, only kept ones of a group whose
 * turn comes. */
static int note_gains(struct bkt_edits *e, const struct bkt_change *c)
{
    bool turn_comes = bkt_change_loses_links(c);
    for (struct bkt_map_at at = {0}; bkt_map_walk(c->links, &at);) {
        const struct bkt_link *l = bkt_links_find(&c->obj->group.links, at.key);
        if (l && l->cls == BKT_L_HARD && (!turn_comes || bkt_map_get(c->kept_links, at.key, at.n)))
            BKT_PASS(add_id(&e->unmoved, &l->id));
    }
    return BKT_OK;
}

int bkt_unmoved_note(struct bkt_domain *d, struct bkt_err *err)
{
    int rc = BKT_OK;
    for (struct bkt_map_at at = {0}; rc == BKT_OK && bkt_map_walk(d->edits->changes, &at);) {
        const struct bkt_change *c = at.value;
        if (c->removed || c->obj->kind != BKT_GROUP)
            continue;
        rc = !c->is_new ? note_gains(d->edits, c) : d->edits->absent ? note_new_group(d->edits, c) : BKT_OK;
    }
    if (rc < 0)
        BKT_NOMEM(err);
    return BKT_OK;
}
