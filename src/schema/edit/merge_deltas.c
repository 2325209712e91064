/* Deltas put on top of an object as it is stored, whoever wrote it; unknown keys are kept. */
#include <stdlib.h>
#include <string.h>

#include "schema/edit/edit_impl.h"
#include "schema/json/schema_json.h"

/* The member @p key of @p j, an object; made if it is missing. */
static int member(json_t *j, const char *key, json_t **out)
{
    *out = json_object_get(j, key);
    if (json_is_object(*out))
        return BKT_OK;
    *out = json_object();
    return bkt_json_set(j, key, *out);
}

/* Whether two entries are equal, apart from their times and numbers. */
static bool says_same(const json_t *a, const json_t *b)
{
    static const char *const except[] = {"created", "h5order"};
    BKT_CLEANUP(bkt_json_decrefp)
    json_t *x = json_copy((json_t *)(uintptr_t)a),
           *y = json_copy((json_t *)(uintptr_t)b);
    for (size_t i = 0; x && y && i < BKT_COUNT(except); i++) {
        (void)json_object_del(x, except[i]);
        (void)json_object_del(y, except[i]);
    }
    return x && y && json_equal(x, y);
}

/* The entry of that name in the list @p list ("links", …) of a stored object; NULL: none. */
static int stored_entry(const json_t *stored, const char *list, const char *name, json_t **out)
{
    json_t *in = json_object_get(stored, list);
    *out = NULL;
    return in ? bkt_json_get_named(in, name, out) : BKT_OK;
}

/* ---- entries that were removed here, and perhaps made again ----
 *
 * [R2] A removal concerns the entry that was there.  An entry of that name that another writer has made since
 *      stays.  It collides with an entry that was made again here. */

static struct bkt_old_entry *old_entry(const struct bkt_map *olds, const char *name)
{
    return bkt_map_get(olds, name, strlen(name));
}

static bool was_made_since(const struct bkt_old_entry *old, double created)
{
    return old && created > 0 && created != old->created && created != old->tried;
}

bool bkt_replay_takes_link(const struct bkt_change *c, const struct bkt_link *stored)
{
    enum bkt_delta is = (enum bkt_delta)bkt_map_number(c->links, stored->name, strlen(stored->name));
    return (is == BKT_DELTA_REMOVE || is == BKT_DELTA_REPLACE) &&
           !was_made_since(old_entry(c->old_links, stored->name), stored->created);
}

/* @param value  the entry to be stored; NULL: none */
static bool is_theirs(const json_t *stored, const json_t *value, struct bkt_old_entry *old)
{
    double t = stored && old ? bkt_json_seconds(stored, "created") : 0;
    if (old && t > 0 && t == old->tried)
        old->created = t; /* that PUT has stored it, so this entry is replaced now */
    return was_made_since(old, t) &&
           (!value || (t != bkt_json_seconds(value, "created") && !says_same(stored, value)));
}

/* @param size  of an entry of @p now, which begins as a struct bkt_named */
static void note_tried(const struct bkt_map *olds, const struct bkt_named_list *now, size_t size, bool lost)
{
    for (struct bkt_map_at at = {0}; bkt_map_walk(olds, &at);) {
        struct bkt_old_entry *old = at.value;
        const struct bkt_named *one = bkt_named_find(now, size, at.key);
        if (one && (!lost || old->tried <= 0))
            old->tried = one->created;
    }
}

void bkt_replay_tried(const struct bkt_change *c, bool lost)
{
    const struct bkt_object *o = c->obj;
    if (o->kind == BKT_GROUP)
        note_tried(c->old_links, &o->group.links.list, sizeof *o->group.links.v, lost);
    note_tried(c->old_attrs, &o->attrs.list, sizeof *o->attrs.v, lost);
}

static bool numbers_links(const struct bkt_object *o) { return o->kind == BKT_GROUP && (o->track_order & 1); }
static bool numbers_attrs(const struct bkt_object *o) { return o->attr_track_order & 1; }

/* Apply one delta.  An entry to be added may be there already and equal, from a PUT whose answer was lost or
 * from another writer: that is as good.  Returns a failure, or enum bkt_kept.
 * @param number  its number here; BKT_UNNUMBERED: no order is tracked
 * @param was     the entry that was removed here; NULL: none */
static int apply(struct bkt_change *c, json_t *in, const char *name, enum bkt_delta delta, json_t *value,
                 uint32_t number, struct bkt_old_entry *was)
{
    json_t *old = NULL;
    BKT_PASS(bkt_json_get_named(in, name, &old));
    if (is_theirs(old, value, was))
        return delta == BKT_DELTA_REMOVE ? BKT_KEPT_THEIRS : BKT_KEPT_CLASH;
    if (delta == BKT_DELTA_REMOVE) {
        c->same &= !old;
        return bkt_json_del_named(in, name);
    }
    if (old && delta == BKT_DELTA_ADD)
        return says_same(old, value) ? BKT_KEPT_NOT : BKT_KEPT_CLASH;
    c->same = false;
    if (number != BKT_UNNUMBERED)
        BKT_PASS(bkt_order_put(value, number));
    /* an existing entry keeps its place; one that was removed and made again goes to the end */
    if (old && bkt_json_seconds(old, "created") != bkt_json_seconds(value, "created"))
        BKT_PASS(bkt_json_del_named(in, name));
    return bkt_json_set_named(in, name, json_incref(value));
}

static bool is_in(const struct bkt_map *ids, const json_t *link)
{
    const char *id = json_string_value(json_object_get(link, "id"));
    return id && bkt_map_get(ids, id, strlen(id));
}

/* The target of a link, as text: an id, or a file and a path. */
static int target_of(const json_t *link, struct bkt_buf *out)
{
    const char *id = json_string_value(json_object_get(link, "id"));
    const char *file = json_string_value(json_object_get(link, "h5domain"));
    const char *path = json_string_value(json_object_get(link, "h5path"));
    return id ? bkt_buf_add_str(out, id) : bkt_buf_addf(out, "%s\n%s", file ? file : "", path ? path : "");
}

/* Also if memory is short: then the link stays. */
static bool is_target_in(const struct bkt_map *targets, const json_t *link)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf to = {0};
    return targets && link && (target_of(link, &to) < 0 || bkt_map_get(targets, to.ptr, to.len));
}

/* Whether a stored link has to stay: its target has moved, and the new link isn't stored.  Or its target was
 * removed, and such an object was in there. */
static bool keeps_place(struct bkt_domain *d, const struct bkt_change *c, const json_t *old)
{
    const char *id = json_string_value(json_object_get(old, "id"));
    if (bkt_unmoved_has(d, c, id) || is_target_in(c->taken, old))
        return true;
    const struct bkt_change *to = id ? bkt_map_get(d->edits->changes, id, strlen(id)) : NULL;
    bool held = to && to->removed && bkt_id_kind(&to->id) == BKT_GROUP && bkt_unmoved_left_removed(d, c);
    d->edits->held |= held;
    return held;
}

/* Whether a delta has to wait: it adds a link to an object that isn't stored, or it removes the only stored
 * link to a moved object.  A group that was stored with the former kind of link loses it again. */
static int link_waits(struct bkt_domain *d, struct bkt_change *c, json_t *in, const char *name,
                      enum bkt_delta delta, const json_t *value, bool *waits)
{
    json_t *old = NULL;
    BKT_PASS(bkt_json_get_named(in, name, &old));
    if (is_theirs(old, value, old_entry(c->old_links, name)))
        return BKT_OK; /* apply() finds that */
    *waits = is_in(d->edits->absent, value);
    if (*waits && is_in(d->edits->absent, old)) {
        c->same = false;
        return bkt_json_del_named(in, name);
    }
    *waits |= delta != BKT_DELTA_ADD && keeps_place(d, c, old);
    return BKT_OK;
}

/* Whether the name of a link is another writer's in the stored object: of a link that isn't equal.  1: it is;
 * 0; BKT_ENOMEM. */
static int is_taken(const struct bkt_change *c, const json_t *stored, const struct bkt_link *l,
                    enum bkt_delta delta, const json_t *value, const struct bkt_buf *to)
{
    static const char *const lists[] = {"h5links", "links"};
    for (size_t i = 0; i < BKT_COUNT(lists); i++) {
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf theirs = {0};
        json_t *old;
        BKT_PASS(stored_entry(stored, lists[i], l->name, &old));
        if (!old)
            continue;
        if (delta == BKT_DELTA_REPLACE)
            return is_theirs(old, value, old_entry(c->old_links, l->name));
        BKT_PASS(target_of(old, &theirs));
        return i == 0 || strcmp(bkt_buf_str(&theirs), bkt_buf_str(to)) != 0;
    }
    return 0;
}

/* Whether a link comes in the place of a stored link that has to stay.  1: it does; 0; BKT_ENOMEM. */
static int comes_in_place(struct bkt_domain *d, const struct bkt_change *c, const json_t *stored,
                          const char *name)
{
    json_t *old;
    BKT_PASS(stored_entry(stored, "links", name, &old));
    return keeps_place(d, c, old);
}

static int note_taken(struct bkt_domain *d, struct bkt_change *c, const json_t *stored,
                      const struct bkt_link *l, enum bkt_delta delta, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_json_decrefp) json_t *value = NULL;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf to = {0};
    BKT_PASS(bkt_link_emit(l, &value, err));
    BKT_PASS(target_of(value, &to));
    if (bkt_map_get(c->taken, to.ptr, to.len))
        return BKT_OK;
    int taken = is_taken(c, stored, l, delta, value, &to);
    if (!taken && delta != BKT_DELTA_ADD)
        taken = comes_in_place(d, c, stored, l->name);
    if (taken <= 0)
        return taken;
    return l->cls == BKT_L_HARD ? bkt_moved_add(d, &c->taken, &l->id, c, err)
                                : bkt_map_set(&c->taken, to.ptr, to.len, c, NULL);
}

/* A link that was renamed within a group, and can't have its new name, keeps its old one.  So does a link
 * whose new name such a link keeps, and so on. */
static int find_taken(struct bkt_domain *d, struct bkt_change *c, const json_t *stored, struct bkt_err *err)
{
    bkt_map_clear(&c->taken, NULL);
    if (!bkt_change_loses_links(c))
        return BKT_OK;
    for (bool more = true; more;) {
        size_t n = bkt_map_count(c->taken);
        for (struct bkt_map_at at = {0}; bkt_map_walk(c->links, &at);) {
            const struct bkt_link *l = bkt_links_find(&c->obj->group.links, at.key);
            if (l && l->cls <= BKT_L_EXTERNAL)
                BKT_PASS(note_taken(d, c, stored, l, (enum bkt_delta)(uintptr_t)at.value, err));
        }
        more = bkt_map_count(c->taken) > n;
    }
    return BKT_OK;
}

/* The name may be in the other of the two lists of links. */
static int replay_other(struct bkt_change *c, json_t *other, const char *name, enum bkt_delta delta,
                        struct bkt_old_entry *was)
{
    json_t *there = NULL;
    if (other)
        BKT_PASS(bkt_json_get_named(other, name, &there));
    if (!there)
        return BKT_KEPT_NOT;
    if (is_theirs(there, NULL, was))
        return delta == BKT_DELTA_REMOVE ? BKT_KEPT_THEIRS : BKT_KEPT_CLASH;
    if (delta == BKT_DELTA_ADD)
        return BKT_KEPT_CLASH;
    c->same = false;
    return bkt_json_del_named(other, name);
}

static int note_theirs(struct bkt_change *c, json_t *in, const char *name)
{
    json_t *old = NULL;
    struct bkt_id id;
    BKT_PASS(bkt_json_get_named(in, name, &old));
    const char *to = json_string_value(json_object_get(old, "id"));
    if (!to || !bkt_id_set(&id, to))
        return BKT_OK;
    struct bkt_id *theirs = bkt_map_make(&c->theirs, name, strlen(name), sizeof id);
    if (theirs)
        *theirs = id;
    return theirs ? BKT_OK : BKT_ENOMEM;
}

static int replay_link(struct bkt_domain *d, struct bkt_change *c, const char *name, enum bkt_delta delta,
                       json_t *stored, struct bkt_err *err)
{
    const struct bkt_link *l = bkt_links_find(&c->obj->group.links, name);
    BKT_CLEANUP(bkt_json_decrefp) json_t *value = NULL;
    json_t *in = NULL;
    bool user = l && l->cls == BKT_L_USER, waits = false;
    if (l && delta != BKT_DELTA_REMOVE)
        BKT_PASS(bkt_link_emit(l, &value, err));
    BKT_PASS(member(stored, user ? "h5links" : "links", &in));
    if (d->edits->absent || d->edits->unmoved || c->taken)
        BKT_PASS(link_waits(d, c, in, name, delta, value, &waits));
    if (waits)
        return BKT_KEPT_WAITS;
    struct bkt_old_entry *was = old_entry(c->old_links, name);
    int rc = replay_other(c, json_object_get(stored, user ? "links" : "h5links"), name, delta, was);
    if (rc != BKT_OK)
        return rc;
    rc = apply(c, in, name, value ? delta : BKT_DELTA_REMOVE, value,
               l && numbers_links(c->obj) ? l->seq : BKT_UNNUMBERED, was);
    return rc == BKT_KEPT_CLASH && note_theirs(c, in, name) < 0 ? BKT_ENOMEM : rc;
}

/* @param all  the whole entry; else only its keys about the value */
static int attr_value(const struct bkt_domain *d, const struct bkt_attr *a, bool all, json_t **out,
                      struct bkt_err *err)
{
    BKT_PASS(bkt_attr_emit(a, all, out, err));
    return d->alias ? bkt_alias_json(d, out, err) : BKT_OK;
}

/* Whether a new attribute of the object in memory can be stored by its name: @p stored has no attribute of
 * that name, or an equal one.  Also true for an attribute that isn't new. */
static int compare_new(struct bkt_domain *d, struct bkt_change *c, const char *name, const json_t *stored,
                       bool *fits, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_json_decrefp) json_t *value = NULL;
    const struct bkt_attr *a = bkt_attrs_find(&c->obj->attrs, name);
    json_t *old;
    *fits = true;
    enum bkt_delta is = (enum bkt_delta)bkt_map_number(c->attrs, name, strlen(name));
    if (!a || (is != BKT_DELTA_ADD && is != BKT_DELTA_REPLACE))
        return BKT_OK;
    BKT_PASS(stored_entry(stored, "attributes", name, &old));
    if (!old)
        return BKT_OK;
    BKT_PASS(attr_value(d, a, true, &value, err));
    *fits =
        is == BKT_DELTA_ADD ? says_same(old, value) : !is_theirs(old, value, old_entry(c->old_attrs, name));
    return BKT_OK;
}

/* ---- renamed attributes whose new names another writer has given to other attributes ----
 *
 * [R1] The store has such an attribute by its old name until it can have its new one.  A change of the old
 *      name waits, even if that name belongs to another attribute by now. */

void bkt_renamed_forget(struct bkt_change *c, const char *name)
{
    free(bkt_map_del(c->renamed, name, strlen(name)));
}

int bkt_renamed_note(struct bkt_change *c, const char *from, const char *to)
{
    size_t n = strlen(from);
    char *first = bkt_map_del(c->renamed, from, n); /* it was renamed before */
    void *was = NULL;
    if (!first && !bkt_map_get(c->attrs, from, n)) /* it was made here, or will be stored whole */
        return BKT_OK;
    if (!first && !(first = strdup(from)))
        return BKT_ENOMEM;
    if (strcmp(first, to) == 0) {
        free(first);
        return BKT_OK;
    }
    if (bkt_map_set(&c->renamed, to, strlen(to), first, &was) < 0) {
        free(first);
        return BKT_ENOMEM;
    }
    free(was);
    return BKT_OK;
}

void bkt_renamed_prune(struct bkt_change *c)
{
    for (struct bkt_map_at at = {0}; bkt_map_walk(c->renamed, &at);)
        if (!bkt_map_get(c->kept_attrs, at.key, at.n))
            free(bkt_map_del(c->renamed, at.key, at.n));
}

/* Fill in c->held, the attributes that have to wait.  First come those by the old name of an attribute that
 * has no place, then those that lose their new names to the former, and so on. */
static int hold_renamed(struct bkt_domain *d, struct bkt_change *c, const json_t *stored, struct bkt_err *err)
{
    bkt_map_clear(&c->held, NULL);
    for (bool first = true, more = c->renamed && c->attrs; more; first = false) {
        more = false;
        for (struct bkt_map_at at = {0}; bkt_map_walk(c->renamed, &at);) {
            bool stays = bkt_map_get(c->held, at.key, at.n) != NULL, same = true;
            if (bkt_map_get(c->held, at.value, strlen(at.value)))
                continue;
            if (first && !stays)
                BKT_PASS(compare_new(d, c, at.key, stored, &same, err));
            if (!stays && same)
                continue;
            BKT_PASS(bkt_map_set(&c->held, at.value, strlen(at.value), c, NULL));
            more = true;
        }
    }
    return BKT_OK;
}

/* ---- attributes ---- */

/* This process's attribute is recognised by its time: it may be there from a PUT whose answer was lost. */
static int note_equal(struct bkt_change *c, json_t *in, const char *name, const struct bkt_attr *a,
                      const json_t *value)
{
    json_t *old = NULL;
    BKT_PASS(bkt_json_get_named(in, name, &old));
    if (!old || !a->type->committed.text[0] || !says_same(old, value) ||
        bkt_json_seconds(old, "created") == bkt_json_seconds(value, "created"))
        return BKT_OK;
    return bkt_map_set(&c->equal, name, strlen(name), c, NULL);
}

/* Values that were set replace whole attributes, from now on.  In a version that the object wasn't read from,
 * an attribute of the same name and time may have another type: HSDS keeps the time when it replaces one. */
static int replace_whole(struct bkt_change *c)
{
    for (struct bkt_map_at at = {0}; bkt_map_walk(c->attrs, &at);)
        if ((enum bkt_delta)(uintptr_t)at.value == BKT_DELTA_VALUE)
            BKT_PASS(bkt_map_put_number(c->attrs, at.key, at.n, BKT_DELTA_REPLACE));
    return BKT_OK;
}

/* The stored attribute if it is still the one whose value was set: it has the same time. */
static int same_attr(const json_t *stored, const struct bkt_attr *a, json_t **out)
{
    *out = NULL;
    if (!a || a->created <= 0)
        return BKT_OK;
    BKT_PASS(stored_entry(stored, "attributes", a->name, out));
    if (*out && bkt_json_seconds(*out, "created") != a->created)
        *out = NULL;
    return BKT_OK;
}

/* Replace the value alone: type, shape and unknown keys stay. */
static int replay_value(struct bkt_domain *d, struct bkt_change *c, const struct bkt_attr *a, json_t *entry,
                        struct bkt_err *err)
{
    BKT_CLEANUP(bkt_json_decrefp) json_t *value = NULL;
    BKT_PASS(attr_value(d, a, false, &value, err));
    (void)json_object_del(entry, "encoding");
    (void)json_object_del(entry, "h5null");
    c->same = false;
    return json_object_update(entry, value) == 0 ? BKT_OK : BKT_ENOMEM;
}

/* Another writer has deleted the attribute, too, and both have counted that: its type counts too few uses. */
static int regain(struct bkt_domain *d, const struct bkt_change *c, const char *name, const json_t *stored)
{
    struct bkt_old_entry *was = old_entry(c->old_attrs, name);
    json_t *old = NULL;
    if (!was || !was->id.text[0] || c->unclear)
        return BKT_OK;
    BKT_PASS(stored_entry(stored, "attributes", name, &old));
    if (old && !was_made_since(was, bkt_json_seconds(old, "created")))
        return BKT_OK;
    BKT_PASS(bkt_ids_add(&d->edits->regained, &was->id));
    was->id.text[0] = 0;
    return BKT_OK;
}

static int replay_attr(struct bkt_domain *d, struct bkt_change *c, const char *name, enum bkt_delta delta,
                       json_t *stored, struct bkt_err *err)
{
    const struct bkt_attr *a     = bkt_attrs_find(&c->obj->attrs, name);
    BKT_CLEANUP(bkt_json_decrefp) json_t *value = NULL;
    json_t *in = NULL, *same = NULL;
    if (bkt_map_get(c->held, name, strlen(name)))
        return BKT_KEPT_WAITS;
    BKT_PASS(regain(d, c, name, stored));
    if (delta == BKT_DELTA_VALUE)
        BKT_PASS(same_attr(stored, a, &same));
    if (same)
        return replay_value(d, c, a, same, err);
    if (a && delta != BKT_DELTA_REMOVE)
        BKT_PASS(attr_value(d, a, true, &value, err));
    BKT_PASS(member(stored, "attributes", &in));
    if (value && delta == BKT_DELTA_ADD)
        BKT_PASS(note_equal(c, in, name, a, value));
    return apply(c, in, name, value ? delta : BKT_DELTA_REMOVE, value,
                 a && numbers_attrs(c->obj) ? a->seq : BKT_UNNUMBERED, old_entry(c->old_attrs, name));
}

typedef int replay_fn(struct bkt_domain *d, struct bkt_change *c, const char *name, enum bkt_delta delta,
                      json_t *stored, struct bkt_err *err);

static int replay_names(struct bkt_domain *d, struct bkt_change *c, bool links, replay_fn *fn, json_t *stored,
                        struct bkt_err *err)
{
    struct bkt_map *deltas = links ? c->links : c->attrs, *olds = links ? c->old_links : c->old_attrs;
    struct bkt_map **kept = links ? &c->kept_links : &c->kept_attrs;
    bkt_map_clear(kept, NULL);
    for (struct bkt_map_at at = {0}; bkt_map_walk(deltas, &at);) {
        int rc = fn(d, c, at.key, (enum bkt_delta)(uintptr_t)at.value, stored, err);
        if (rc == BKT_KEPT_THEIRS) { /* there is nothing to be removed, and theirs comes back in memory */
            c->reread = true;
            free(bkt_map_del(olds, at.key, at.n));
            (void)bkt_map_del(deltas, at.key, at.n);
        } else if (rc > 0) {
            rc = bkt_map_set_number(kept, at.key, at.n, rc);
        }
        if (rc < 0)
            return rc;
    }
    return BKT_OK;
}

static int replay_own(struct bkt_change *c, json_t *stored)
{
    c->same &= !c->comment && !c->refs_id[0] && !c->numbers;
    if (c->comment) {
        (void)json_object_del(stored, "h5comment");
        if (c->obj->comment)
            BKT_PASS(bkt_json_set(stored, "h5comment", bkt_json_new_str(c->obj->comment)));
    }
    return c->refs_id[0] ? bkt_replay_counts(c, stored) : BKT_OK;
}

/* ---- numbers in the order of creation: stored numbers stay, new ones follow ---- */

struct numbers {
    uint32_t link, attr; /* the next ones, as stored */
};

static int spell_numbers(const struct bkt_object *o, json_t *stored, struct numbers *n)
{
    json_t *links[] = {json_object_get(stored, "links"), json_object_get(stored, "h5links")};
    json_t *attrs   = json_object_get(stored, "attributes");
    n->link         = bkt_order_next(stored, "h5nextlink");
    n->attr         = bkt_order_next(stored, "h5nextattr");
    if (numbers_links(o))
        BKT_PASS(bkt_order_number_all(links, BKT_COUNT(links), &n->link));
    return numbers_attrs(o) ? bkt_order_number_all(&attrs, 1, &n->attr) : BKT_OK;
}

/* A writer that changes the version it knows has the right number; another writer's version may be ahead. */
static uint32_t next_of(const struct bkt_change *c, uint32_t stored, uint32_t ours)
{
    return c->foreign && stored > ours ? stored : ours;
}

static int abridge_numbers(const struct bkt_change *c, json_t *stored, const struct numbers *n)
{
    const struct bkt_object *o       = c->obj;
    json_t                  *links[] = {json_object_get(stored, "links"), json_object_get(stored, "h5links")};
    json_t                  *attrs   = json_object_get(stored, "attributes");
    if (numbers_links(o))
        BKT_PASS(bkt_order_drop_needless(links, BKT_COUNT(links), stored, "h5nextlink",
                                         next_of(c, n->link, o->group.links.next)));
    return numbers_attrs(o)
               ? bkt_order_drop_needless(&attrs, 1, stored, "h5nextattr", next_of(c, n->attr, o->attrs.next))
               : BKT_OK;
}

static int replay_new_link(struct bkt_domain *d, struct bkt_change *c, const char *name, enum bkt_delta delta,
                           json_t *stored, struct bkt_err *err)
{
    return delta == BKT_DELTA_ADD ? replay_link(d, c, name, delta, stored, err) : BKT_OK;
}

static int replay_deltas(struct bkt_domain *d, struct bkt_change *c, json_t *stored, bool new_links,
                         struct bkt_err *err)
{
    struct numbers n;
    c->same = true;
    bkt_map_clear(&c->theirs, free);
    BKT_PASS(spell_numbers(c->obj, stored, &n));
    if (c->obj->kind == BKT_GROUP && !new_links)
        BKT_PASS(find_taken(d, c, stored, err));
    if (c->obj->kind == BKT_GROUP)
        BKT_PASS(replay_names(d, c, true, new_links ? replay_new_link : replay_link, stored, err));
    if (!new_links) {
        bkt_map_clear(&c->equal, NULL);
        BKT_PASS(hold_renamed(d, c, stored, err));
        BKT_PASS(replay_names(d, c, false, replay_attr, stored, err));
    }
    BKT_PASS(abridge_numbers(c, stored, &n));
    if (!new_links && c->extent && !c->extent->waits) {
        c->same = false;
        BKT_PASS(bkt_replay_extent(c, stored, err));
    }
    return new_links ? BKT_OK : replay_own(c, stored);
}

int bkt_replay(struct bkt_domain *d, struct bkt_change *c, json_t *stored, bool new_links,
               struct bkt_err *err)
{
    int rc = c->foreign ? replace_whole(c) : BKT_OK;
    if (rc == BKT_OK)
        rc = replay_deltas(d, c, stored, new_links, err);
    if (rc == BKT_OK && !c->same)
        rc = bkt_json_set(stored, "lastModified", bkt_json_new_real(bkt_edit_now(d->edits)));
    if (rc == BKT_ENOMEM)
        BKT_NOMEM(err);
    return rc;
}
