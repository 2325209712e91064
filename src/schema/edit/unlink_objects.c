/* Removing objects from memory when the last link goes.  The next flush deletes them (delete_stored.c). */
#include <stdlib.h>
#include <string.h>

#include "base/trace.h"
#include "schema/edit/edit_impl.h"
#include "schema/json/documents.h"
#include "schema/model/object_life.h"

/* Objects asked for ahead of the one that is looked at: members of a group that is removed. */
#define AHEAD      256

/* ---- in memory ---- */

int bkt_edit_loosen(struct bkt_domain *d, const struct bkt_id *id, struct bkt_err *err)
{
    BKT_PASS_MEM(err, bkt_map_set(&d->edits->loose, id->text, BKT_ID_LEN, d, NULL));
    return BKT_OK;
}

/* The members of a removed group lose a link each.  Another version of the group may have been counted: it
 * was evicted, and was read again with another writer's changes.  Then all links are counted again. */
static int loosen_members(struct bkt_domain *d, const struct bkt_change *c, struct bkt_err *err)
{
    const struct bkt_object *o = c->obj;
    const struct bkt_link *l;
    bool counted = o->kind != BKT_GROUP || c->is_new || !bkt_links_count_is_stale(d->links, &o->id, o->etag);
    if (!counted)
        bkt_links_count_forget(d->links, true);
    for (size_t i = 0; (l = bkt_object_next_hard(o, &i));) {
        BKT_PASS_MEM(err, bkt_links_count_change(d->links, &l->id, counted ? -1 : 0));
        BKT_PASS(bkt_edit_loosen(d, &l->id, err));
    }
    return BKT_OK;
}

static int remove_now(struct bkt_domain *d, const struct bkt_id *id, struct bkt_err *err)
{
    struct bkt_change *c;
    BKT_PASS(bkt_change_of(d, id, &c, err));
    BKT_PASS(loosen_members(d, c, err));
    BKT_PASS(bkt_edit_use_all(d, c->obj, -1, err));
    if (d->edits->hooks)
        d->edits->hooks->removed(d, id);
    bool stored = !c->is_new || c->tried ||
                  c->obj->kind == BKT_DATASET; /* chunks may be written before their dataset is */
    bkt_objects_drop(d->objects, id, stored);
    /* the chunks of a version 1 dataset can't be listed: deleting them needs its layout */
    if (c->obj->kind != BKT_DATASET || bkt_id_is_v2(id) || !stored) {
        bkt_object_release(c->obj);
        c->obj = NULL;
    }
    c->removed = true;
    if (!stored)
        bkt_change_forget(d, c);
    return BKT_OK;
}

enum fate { FATE_STAYS, FATE_HELD, FATE_GOES };

static int fate_of(struct bkt_domain *d, const struct bkt_id *id, enum fate *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_object_releasep) const struct bkt_object *o = NULL;
    struct bkt_change *c = bkt_map_get(d->edits->changes, id->text, BKT_ID_LEN);
    uint64_t n;
    *out = FATE_STAYS;
    if (c && (c->removed || c->keep))
        return BKT_OK;
    BKT_PASS(bkt_domain_link_count(d, id, &n, err));
    if (n)
        return BKT_OK;
    BKT_PASS(bkt_objects_find(d->objects, id, &o, err));
    if (!o)
        return BKT_OK;
    bool used = o->kind == BKT_DATATYPE && o->uses != 0; /* an unknown count may mean uses */
    if (!o->extra_refs && !used) /* references of the cache, of this function, and of a change */
        *out = bkt_object_refs(o) > (c ? 3U : 2U) ? FATE_HELD : FATE_GOES;
    return BKT_OK;
}

/* Take all loose ones; the map is empty afterwards. */
static int take_loose(struct bkt_edits *e, struct bkt_ids *out)
{
    out->n = 0;
    BKT_PASS(bkt_ids_add_keys(out, e->loose));
    bkt_map_clear(&e->loose, NULL);
    return BKT_OK;
}

/* Whether the object may be removed, as far as that is known without reading it. */
static bool may_go(struct bkt_domain *d, const struct bkt_id *id)
{
    uint64_t n;
    return !bkt_map_get(d->edits->changes, id->text, BKT_ID_LEN) &&
           bkt_domain_link_count(d, id, &n, NULL) == BKT_OK && n == 0;
}

/* One round: removals may loosen other objects.  Held objects stay on the list @p held. */
static int sweep_round(struct bkt_domain *d, const struct bkt_ids *round, struct bkt_map **held,
                       struct bkt_err *err)
{
    size_t ahead = 0;
    int    rc    = BKT_OK;
    for (size_t i = 0; i < round->n; i++) {
        const struct bkt_id *id   = &round->v[i];
        enum fate            fate = FATE_HELD;
        for (; rc == BKT_OK && ahead < round->n && ahead < i + AHEAD; ahead++)
            if (may_go(d, &round->v[ahead]))
                bkt_domain_prefetch(d, &round->v[ahead], 1);
        if (rc == BKT_OK)
            rc = fate_of(d, id, &fate, err);
        if (rc == BKT_OK && fate == FATE_GOES)
            rc = remove_now(d, id, err);
        if (fate == FATE_HELD && bkt_map_set(held, id->text, BKT_ID_LEN, d, NULL) < 0 && rc == BKT_OK)
            rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
    }
    return rc;
}

/* Groups are nested without limit, so this works in rounds, without recursion. */
int bkt_edit_sweep(struct bkt_domain *d, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_ids_fini) struct bkt_ids round = {0};
    struct bkt_edits *e  = d->edits;
    int               rc = BKT_OK;
    if (bkt_map_count(e->loose) == 0)
        return BKT_OK;
    bkt_siblings_free(d->siblings); /* references of a walk alone don't count as held */
    d->siblings          = NULL;
    struct bkt_map *held = NULL;
    while (rc == BKT_OK && bkt_map_count(e->loose) > 0) {
        if (take_loose(e, &round) < 0)
            rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
        else
            rc = sweep_round(d, &round, &held, err);
    }
    for (struct bkt_map_at at = {0}; bkt_map_walk(held, &at);)
        if (bkt_map_set(&e->loose, at.key, at.n, at.value, NULL) < 0 && rc == BKT_OK)
            rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
    bkt_map_free(held, NULL);
    return rc;
}

void bkt_edit_released(struct bkt_domain *d, const struct bkt_id *id)
{
    const struct bkt_change *c = bkt_map_get(d->edits->changes, id->text, BKT_ID_LEN);
    uint64_t                 n = 1;
    if (d->edits->agreed) /* others may still hold it: a flush looks */
        return;
    bool counted = (c && c->is_new) || bkt_map_get(d->edits->loose, id->text, BKT_ID_LEN); /* reads nothing */
    int  rc = counted && !bkt_edits_foreign(d) ? bkt_domain_link_count(d, id, &n, NULL) : BKT_OK;
    if (rc == BKT_OK && n == 0 && bkt_edit_loosen(d, id, NULL) == BKT_OK)
        rc = bkt_edit_sweep(d, NULL);
    if (rc < 0)
        bkt_trace(BKT_TRACE_SCHEMA, "%s: objects without a link are looked for by the next flush", d->name);
}

/* ---- before removed objects are deleted: those that another writer has linked since are kept ----
 *
 * This program may have read a group's links hours ago.  One LIST of the domain's groups shows, by their
 * ETags, which groups have changed since they were counted (link_count.c).  These are read.  An object that
 * one of them links stays, and so do objects that only it leads to.  Links made between this check and the
 * end of the flush are not seen. */

#define A_PAGE       1000 /* keys in an answer of S3: more groups are listed in parts, side by side */
#define SHARDS       16
#define CLOCKS_DIFFER 3.0 /* seconds by which times of the store may differ from this machine's */

struct spare {
    struct bkt_domain *d;
    struct bkt_map *gone; /* id -> struct bkt_change of the objects to be deleted */
    /* kept types -> uses that their forgotten change had taken away, as a negative number */
    struct bkt_map *unused;
    double since;           /* by the store's clock: bkt_links_count_since() */
    struct bkt_ids changed; /* groups to be read */
    struct bkt_ids stays;   /* objects that are kept; nothing is done about them before all are known */
    struct bkt_ids uses;    /* committed types of these objects, once for each use */
};

static void spare_fini(struct spare *s)
{
    bkt_map_free(s->gone, NULL);
    bkt_map_free(s->unused, NULL);
    bkt_ids_fini(&s->changed);
    bkt_ids_fini(&s->stays);
    bkt_ids_fini(&s->uses);
}

/* Collect the objects to be deleted that other writers may know. */
static int collect_gone(struct spare *s, struct bkt_err *err)
{
    for (struct bkt_map_at at = {0}; bkt_map_walk(s->d->edits->changes, &at);) {
        const struct bkt_change *c = at.value;
        if (c->removed && !c->is_new && bkt_map_set(&s->gone, at.key, at.n, at.value, NULL) < 0)
            BKT_NOMEM(err);
    }
    return BKT_OK;
}

/* ---- their targets ---- */

static int spare_one(struct spare *s, const struct bkt_id *id)
{
    if (!bkt_map_del(s->gone, id->text, BKT_ID_LEN))
        return BKT_OK;
    bkt_trace(BKT_TRACE_SCHEMA, "%s: %s stays, since another writer has linked it", s->d->name, id->text);
    return bkt_ids_add(&s->stays, id);
}

/* Links that are known here already, since their group was read again after the object was removed. */
static int spare_counted(struct spare *s)
{
    BKT_CLEANUP(bkt_ids_fini) struct bkt_ids ids = {0};
    BKT_PASS(bkt_ids_add_keys(&ids, s->gone));
    for (size_t i = 0; i < ids.n; i++)
        if (bkt_links_count_known(s->d->links, &ids.v[i]) > 0)
            BKT_PASS(spare_one(s, &ids.v[i]));
    return BKT_OK;
}

/* Other writers' links that this process's links hide aren't counted, and the group's version may be a
 * counted one. */
static int spare_hidden(struct spare *s)
{
    for (struct bkt_map_at at = {0}; bkt_map_walk(s->d->edits->changes, &at);) {
        const struct bkt_change *c = at.value;
        for (struct bkt_map_at k = {0}; !c->removed && bkt_map_walk(c->theirs, &k);)
            BKT_PASS(spare_one(s, k.value));
    }
    return BKT_OK;
}

/* Keep targets of hard links of a stored object, unless this flush takes the links away.  A kept object gets
 * back all of its links: the changes of a removed object are forgotten. */
static int spare_members(const struct bkt_object *o, void *arg)
{
    struct spare *s = arg;
    const struct bkt_change *c = bkt_map_get(s->d->edits->changes, o->id.text, BKT_ID_LEN);
    const struct bkt_link *l;
    for (size_t i = 0; (l = bkt_object_next_hard(o, &i));)
        if (!c || c->removed || !bkt_replay_takes_link(c, l))
            BKT_PASS(spare_one(s, &l->id));
    return BKT_OK;
}

/* Keep the types of a kept object and, if it is a group, its members, which get back the links that its
 * removal took away. */
static int keep_what_it_needs(const struct bkt_object *o, void *arg)
{
    struct spare *s = arg;
    const struct bkt_link *l;
    const struct bkt_id *type;
    size_t pos = 0;
    for (size_t i = 0; (l = bkt_object_next_hard(o, &i));)
        BKT_PASS(bkt_links_count_change(s->d->links, &l->id, 1));
    while ((type = bkt_object_next_type(o, &pos))) {
        BKT_PASS(spare_one(s, type));
        BKT_PASS(bkt_ids_add(&s->uses, type));
    }
    return spare_members(o, s);
}

/* ---- groups that have changed since they were counted ---- */

/* Groups that nobody has counted: those changed since this program made its first object are looked at. */
static int look_at_recent(struct spare *s, const struct bkt_listed *e, const struct bkt_id *id)
{
    BKT_CLEANUP(bkt_object_releasep) const struct bkt_object *o = bkt_objects_cached(s->d->objects, id);
    size_t n = 0, n_listed = 0;
    const char *etag = bkt_etag_bare(o && o->etag ? o->etag : "", &n),
               *listed = bkt_etag_bare(e->etag, &n_listed);
    bool known = n && n == n_listed && memcmp(etag, listed, n) == 0;
    return known ? spare_members(o, s) : bkt_ids_add(&s->changed, id);
}

static int on_listed(const struct bkt_listed *e, void *arg)
{
    struct spare *s = arg;
    struct bkt_id id;
    if (!bkt_id_of_key(&s->d->doc.root, e->key, &id) || bkt_map_get(s->gone, id.text, BKT_ID_LEN))
        return BKT_OK;
    if (bkt_links_count_is_stale(s->d->links, &id, e->etag))
        return bkt_ids_add(&s->changed, &id);
    return s->since > 0 && e->stored >= s->since ? look_at_recent(s, e, &id) : BKT_OK;
}

static int list_groups(struct spare *s, struct bkt_err *err)
{
    char prefix[SHARDS + 1][40];
    const char *prefixes[SHARDS + 1];
    const char *root = s->d->doc.root.text + 2;
    size_t n = 0;
    s->since = bkt_links_count_since(s->d->links);
    if (s->since > 0) /* S3 lists whole seconds, and clocks are compared in whole seconds */
        s->since += (double)bkt_store_ahead(s->d->store) - CLOCKS_DIFFER;
    bool many = bkt_links_count_groups(s->d->links) > A_PAGE;
    (void)snprintf(prefix[n++], sizeof prefix[0], "db/%.17s/.group.json", root);
    for (unsigned i = 0; i < (many ? SHARDS : 1); i++)
        (void)snprintf(prefix[n++], sizeof prefix[0], many ? "db/%.17s/g/%x" : "db/%.17s/g/", root, i);
    for (size_t i = 0; i < n; i++)
        prefixes[i] = prefix[i];
    return bkt_store_list_each(s->d->store, prefixes, n, on_listed, s, err);
}

/* ---- undoing the removal ---- */

static int set_unused(struct spare *s, const struct bkt_id *type, intptr_t n)
{
    return bkt_map_set_number(&s->unused, type->text, BKT_ID_LEN, n);
}

/* Undo removals.  The members of a removed group have lost a link each, so its counted links aren't right. */
static void put_back(struct spare *s)
{
    for (size_t i = 0; i < s->stays.n; i++) {
        const struct bkt_id *id = &s->stays.v[i];
        struct bkt_change *c = bkt_map_get(s->d->edits->changes, id->text, BKT_ID_LEN);
        if (c->uses < 0 && set_unused(s, id, (intptr_t)c->uses) < 0)
            bkt_trace(BKT_TRACE_SCHEMA, "%s: uses of %s aren't counted: out of memory", s->d->name, id->text);
        bkt_objects_drop(s->d->objects, id, false);
        bkt_change_forget(s->d, c);
        bkt_links_count_version(s->d->links, id, "");
    }
    bkt_links_count_forget(s->d->links, false);
}

/* A removal has taken away a use of the type, in a change of the type, or in one that was forgotten since. */
static int use_again(struct spare *s, const struct bkt_id *type, struct bkt_err *err)
{
    intptr_t n = bkt_map_number(s->unused, type->text, BKT_ID_LEN);
    if (!n)
        return bkt_edit_use(s->d, type, 1, err);
    BKT_PASS_MEM(err, set_unused(s, type, n + 1));
    return BKT_OK;
}

/* Other objects that used a kept type are deleted: take these uses away. */
static int use_less(struct spare *s, struct bkt_err *err)
{
    for (struct bkt_map_at at = {0}; bkt_map_walk(s->unused, &at);) {
        struct bkt_id type = {{0}};
        memcpy(type.text, at.key, BKT_ID_LEN);
        if (at.value)
            BKT_PASS(bkt_edit_use(s->d, &type, (int)(intptr_t)at.value, err));
    }
    return BKT_OK;
}

static int find_all(struct spare *s, struct bkt_err *err)
{
    BKT_PASS_MEM(err, spare_counted(s));
    BKT_PASS_MEM(err, spare_hidden(s));
    BKT_PASS(list_groups(s, err));
    /* the cache doesn't have removed objects any more */
    BKT_PASS(bkt_edit_read_stored(s->d, &s->changed, false, spare_members, s, err));
    return bkt_edit_read_stored(s->d, &s->stays, false, keep_what_it_needs, s, err);
}

int bkt_edit_spare(struct bkt_domain *d, struct bkt_err *err)
{
    BKT_CLEANUP(spare_fini) struct spare s = {.d = d};
    if (d->edits->fresh || !bkt_id_is_v2(&d->doc.root) || strcmp(d->set.writers, "one") == 0)
        return BKT_OK;
    BKT_PASS(collect_gone(&s, err));
    if (bkt_map_count(s.gone) == 0)
        return BKT_OK;
    BKT_TRY(err, find_all(&s, err), "%s: can't look for other writers' links to removed objects", d->name);
    if (!s.stays.n)
        return BKT_OK;
    put_back(&s);
    for (size_t i = 0; i < s.uses.n; i++)
        BKT_PASS(use_again(&s, &s.uses.v[i], err));
    return use_less(&s, err);
}
