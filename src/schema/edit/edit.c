/* Changes of objects: made in the object at once, and noted for the next flush. */
#include "schema/edit/edit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "base/os/clock.h"
#include "base/trace.h"
#include "schema/edit/edit_impl.h"
#include "schema/json/schema_json.h"

/* ---- whether the domain may be changed, and room for that ---- */

static bool has_changes(const struct bkt_edits *e)
{
    return e->fresh || e->old_root.text[0] || e->gone.n || e->stayed.n || e->unnamed || e->n_doomed ||
           e->n_moves || bkt_map_count(e->changes) > 0;
}

bool bkt_edits_foreign(const struct bkt_domain *d)
{
    const struct bkt_edits *e = d->edits;
    return e && e->pid && e->pid != getpid() && has_changes(e);
}

bool bkt_domain_is_dirty(struct bkt_domain *d)
{
    return has_changes(d->edits) && !bkt_edits_foreign(d);
}

int bkt_domain_may_write(struct bkt_domain *d, unsigned acl_need, struct bkt_err *err)
{
    BKT_PASS(bkt_store_need_writable(d->store, err));
    BKT_FAIL_IF(err, bkt_edits_foreign(d), BKT_EACCES,
                "%s can't be changed here: process %ld, which this one was forked from, had changes that "
                "were not flushed; flush before fork(), or open the file in the new process",
                d->name, (long)d->edits->pid);
    d->edits->pid = getpid();
    return bkt_domain_check_acl(d, acl_need, err);
}

static bool exceeds_limit(const struct bkt_domain *d)
{
    return d->edits->dirty_bytes > bkt_edits_limit(d);
}

/* Call before a change is held, since changes that are stored are forgotten. */
static void make_room(struct bkt_domain *d)
{
    if (exceeds_limit(d))
        bkt_edit_spill(d);
}

bool bkt_domain_is_full(struct bkt_domain *d)
{
    make_room(d);
    return d->edits->ordered && exceeds_limit(d) && !bkt_edits_foreign(d);
}

/* ---- keeping track ---- */

static struct bkt_edits *edits_new(void)
{
    return calloc(1, sizeof(struct bkt_edits));
}

static void change_free(struct bkt_domain *d, struct bkt_change *c)
{
    d->edits->dirty_bytes -= bkt_min_u64(d->edits->dirty_bytes, c->bytes);
    if (c->obj) {
        bkt_objects_pin(d->objects, &c->id, false);
        bkt_object_release(c->obj);
    }
    bkt_map_free(c->links, NULL);
    bkt_map_free(c->attrs, NULL);
    bkt_map_free(c->kept_links, NULL);
    bkt_map_free(c->kept_attrs, NULL);
    bkt_map_free(c->old_links, free);
    bkt_map_free(c->old_attrs, free);
    bkt_map_free(c->theirs, free);
    bkt_map_free(c->taken, NULL);
    bkt_map_free(c->renamed, free);
    bkt_map_free(c->held, NULL);
    bkt_map_free(c->equal, NULL);
    bkt_buf_fini(&c->text);
    free(c->extent);
    free(c->etag);
    free(c);
}

void bkt_change_forget(struct bkt_domain *d, struct bkt_change *c)
{
    (void)bkt_map_del(d->edits->changes, c->id.text, BKT_ID_LEN);
    change_free(d, c);
}

static void edits_free(struct bkt_domain *d)
{
    struct bkt_edits *e = d->edits;
    if (!e)
        return;
    if (e->counted)
        bkt_registry_count_fresh(-1);
    for (struct bkt_map_at at = {0}; bkt_map_walk(e->changes, &at);)
        change_free(d, at.value);
    bkt_map_free(e->changes, NULL);
    bkt_map_free(e->loose, NULL);
    bkt_map_free(e->namers, NULL);
    bkt_alias_free_doomed(e);
    bkt_ids_fini(&e->disowned);
    bkt_ids_fini(&e->regained);
    bkt_absent_clear(e);
    bkt_moves_clear(e);
    for (size_t i = 0; i < e->n_folders; i++)
        free(e->folders[i]);
    free(e->folders);
    free(e->old_etag);
    free(e);
    d->edits = NULL;
}

static int held(const struct bkt_domain *d, struct bkt_ids *out)
{
    BKT_PASS(bkt_ids_add_keys(out, d->edits->changes));
    return bkt_ids_add_keys(out, d->edits->loose);
}

const struct bkt_edit_ops bkt_edit_ops = {
    .make = edits_new, .free = edits_free, .foreign = bkt_edits_foreign, .held = held};

double bkt_edit_now(struct bkt_edits *e)
{
    if (e->agreed)
        return e->clock += 1e-6;
    double now = bkt_time_of_day();
    e->clock   = now > e->clock ? now : e->clock + 1e-6;
    return e->clock;
}

/* New entries must sort behind all existing ones, even if another machine's clock made those. */
static void follow_clock(struct bkt_edits *e, const struct bkt_object *o)
{
    const struct bkt_attrs *a = bkt_attrs_settle(&o->attrs);
    double latest = a->n ? a->v[a->order[a->n - 1]].created : 0;
    if (o->kind == BKT_GROUP && bkt_links_settle(&o->group.links)->n) {
        const struct bkt_links *l = &o->group.links;
        double                  t = l->v[l->order[l->n - 1]].created;
        latest                    = t > latest ? t : latest;
    }
    double day = bkt_edit_now(e) + 86400; /* a clock that is off by more is wrong, and isn't followed */
    if (latest > e->clock && latest < day)
        e->clock = latest;
}

static void count_bytes(struct bkt_domain *d, struct bkt_change *c, uint64_t n)
{
    c->bytes += n;
    d->edits->dirty_bytes += n;
}

static int begin(struct bkt_domain *d, const struct bkt_id *id, struct bkt_change **out, struct bkt_err *err)
{
    const struct bkt_object *o = NULL;
    BKT_PASS(bkt_objects_get(d->objects, id, &o, err));
    struct bkt_change *c = bkt_map_make(&d->edits->changes, id->text, BKT_ID_LEN, sizeof *c);
    if (!c) {
        bkt_object_release(o);
        BKT_NOMEM(err);
    }
    c->id  = *id;
    c->obj = (struct bkt_object *)(uintptr_t)o; /* constant for all other code */
    bkt_objects_pin(d->objects, id, true);
    follow_clock(d->edits, o);
    count_bytes(d, c,
                sizeof *c + sizeof *o + o->json_bytes + o->stored.len +
                    1024); /* not counted by the cache any more */
    *out = c;
    return BKT_OK;
}

static struct bkt_change *change_there(const struct bkt_domain *d, const struct bkt_id *id)
{
    return bkt_map_get(d->edits->changes, id->text, BKT_ID_LEN);
}

int bkt_change_of(struct bkt_domain *d, const struct bkt_id *id, struct bkt_change **out, struct bkt_err *err)
{
    BKT_PASS(bkt_domain_may_write(d, 0, err));
    id = d->alias ? bkt_alias_of(d, id) : id;
    *out = change_there(d, id);
    BKT_FAIL_IF(err, *out && (*out)->removed, BKT_ENOENT, "object %s has been removed", id->text);
    if (!*out)
        BKT_PASS(begin(d, id, out, err));
    (*out)->serial = ++d->edits->serial;
    return BKT_OK;
}

/* All changes of a name between two flushes become one delta. */
static int note(struct bkt_change *c, struct bkt_map **deltas, const char *name, enum bkt_delta what)
{
    size_t n = strlen(name);
    struct bkt_map **kept = deltas == &c->links ? &c->kept_links : &c->kept_attrs;
    if (c->is_new && !c->tried)
        return BKT_OK; /* written whole */
    enum bkt_delta was = (enum bkt_delta)bkt_map_number(*deltas, name, n);
    bool kept_back = bkt_map_get(*kept, name, n) != NULL;
    if (was == BKT_DELTA_ADD && what == BKT_DELTA_REMOVE && (!c->tried || kept_back)) {
        (void)bkt_map_del(*deltas, name, n);
        c->reread |= kept_back; /* another writer's entry may be stored by that name */
        (void)bkt_map_del(*kept, name, n);
        return BKT_OK;
    }
    if ((was == BKT_DELTA_REMOVE && what == BKT_DELTA_ADD) ||
        (was == BKT_DELTA_ADD && what == BKT_DELTA_REPLACE))
        what = was == BKT_DELTA_ADD ? was : BKT_DELTA_REPLACE;
    if (what == BKT_DELTA_VALUE && was != BKT_DELTA_NONE)
        what = was;
    return bkt_map_set_number(deltas, name, n, what);
}

static enum bkt_delta noted(struct bkt_map *deltas, const char *name)
{
    return (enum bkt_delta)bkt_map_number(deltas, name, strlen(name));
}

/* Note a stored entry that is removed or replaced.  Its time distinguishes it from an entry that another
 * writer makes under that name.
 * @param target  of a hard link; else "" */
static int note_old(struct bkt_change *c, bool link, const char *name, double created,
                    const struct bkt_id *target)
{
    struct bkt_old_entry *old =
        bkt_map_make(link ? &c->old_links : &c->old_attrs, name, strlen(name), sizeof *old);
    if (old)
        *old = (struct bkt_old_entry){.id = *target, .created = created};
    return old ? BKT_OK : BKT_ENOMEM;
}

/* Before a change of an entry that was added here: if a failed PUT may have stored it, it counts as a stored
 * one from now on.  Else what that PUT has stored would be taken for another writer's entry, or another
 * writer's entry for this one. */
static int note_tried(struct bkt_change *c, struct bkt_map **deltas, const char *name, double created,
                      const struct bkt_id *target)
{
    bool link = deltas == &c->links;
    size_t n = strlen(name);
    if (c->is_new || !c->tried || created <= 0 || noted(*deltas, name) != BKT_DELTA_ADD ||
        bkt_map_get(link ? c->kept_links : c->kept_attrs, name, n))
        return BKT_OK;
    BKT_PASS(note_old(c, link, name, created, target));
    return bkt_map_set_number(deltas, name, n, BKT_DELTA_REPLACE);
}

/* Note that an entry, made at @p created, is removed.
 * @param target  as for note_old() */
static int note_removal(struct bkt_change *c, struct bkt_map **deltas, const char *name, double created,
                        const struct bkt_id *target)
{
    BKT_PASS(note_tried(c, deltas, name, created, target));
    enum bkt_delta was = noted(*deltas, name);
    bool is_stored = was == BKT_DELTA_NONE || was == BKT_DELTA_VALUE || was == BKT_DELTA_REMOVE;
    if (is_stored && !c->is_new && created > 0)
        BKT_PASS(note_old(c, deltas == &c->links, name, created, target));
    return note(c, deltas, name, BKT_DELTA_REMOVE);
}

int bkt_change_note_link(struct bkt_domain *d, const struct bkt_id *group, const char *name,
                         struct bkt_err *err)
{
    struct bkt_change *c;
    BKT_PASS(bkt_change_of(d, group, &c, err));
    return c->is_new || noted(c->links, name) ? BKT_OK : note(c, &c->links, name, BKT_DELTA_ADD);
}

int bkt_change_note_again(struct bkt_domain *d, const struct bkt_id *obj, bool link, const char *name,
                          struct bkt_err *err)
{
    struct bkt_change *c;
    BKT_PASS(bkt_change_of(d, obj, &c, err));
    const struct bkt_link *l = link ? bkt_links_find(&c->obj->group.links, name) : NULL;
    const struct bkt_attr *a = link ? NULL : bkt_attrs_find(&c->obj->attrs, name);
    struct bkt_map **deltas = link ? &c->links : &c->attrs;
    double created = l ? l->created : a ? a->created : 0;
    BKT_PASS_MEM(err, note_tried(c, deltas, name, created, l ? &l->id : &(struct bkt_id){""}));
    return BKT_MADE(err, note(c, deltas, name, BKT_DELTA_REPLACE) >= 0);
}

/* Undo note(), since the change itself could not be made.  A delta without a change would store something
 * else. */
static void note_back(struct bkt_map *deltas, const char *name, enum bkt_delta was)
{
    size_t n = strlen(name);
    if (was == BKT_DELTA_NONE)
        (void)bkt_map_del(deltas, name, n);
    else if (bkt_map_put_number(deltas, name, n, was) < 0)
        bkt_trace(BKT_TRACE_SCHEMA, "out of memory: the change of '%s' is not stored", name);
}

/* ---- objects ---- */

static int complete_object(struct bkt_domain *d, struct bkt_object *o, struct bkt_err *err)
{
    const struct bkt_id *root = &d->doc.root;
    BKT_PASS(bkt_domain_may_write(d, 0, err));
    BKT_FAIL_IF(err,
                !o->id.text[0] &&
                    bkt_id_new(root, o->kind, d->edits->agreed ? &d->edits->ids : NULL, &o->id) < 0,
                BKT_EIO, "%s: no id can be made: the system gives no random numbers", d->name);
    o->root     = *root;
    o->created  = o->created > 0 ? o->created : bkt_edit_now(d->edits);
    o->modified = o->modified > 0 ? o->modified : o->created;
    if (o->kind == BKT_DATATYPE && o->type)
        o->type->committed = o->id;
    return BKT_OK;
}

/* An object is given an attribute.  One with references may name an object that another writer's comes to
 * stand for. */
static int note_namer(struct bkt_edits *e, const struct bkt_id *obj, const struct bkt_attr *a,
                      struct bkt_err *err)
{
    if (!e->fresh && a->type && bkt_type_has_refs(a->type))
        BKT_PASS_MEM(err, bkt_map_set(&e->namers, obj->text, BKT_ID_LEN, e, NULL));
    return BKT_OK;
}

/* Takes the reference over only on success. */
static int add_change(struct bkt_domain *d, struct bkt_object *o, struct bkt_err *err)
{
    BKT_PASS(bkt_objects_add(d->objects, o, err));
    struct bkt_change *c = bkt_map_make(&d->edits->changes, o->id.text, BKT_ID_LEN, sizeof *c);
    if (!c) {
        bkt_objects_drop(d->objects, &o->id, false);
        BKT_NOMEM(err);
    }
    c->id     = o->id;
    c->is_new = true;
    c->serial = ++d->edits->serial;
    c->obj = o;
    count_bytes(d, c, sizeof *c + sizeof *o + 1024);
    return BKT_OK;
}

int bkt_edit_add(struct bkt_domain *d, struct bkt_object *o, struct bkt_id *id, struct bkt_err *err)
{
    int rc = complete_object(d, o, err);
    make_room(d);
    if (rc == BKT_OK)
        rc = add_change(d, o, err);
    if (rc < 0) {
        bkt_object_release(o);
        return rc;
    }
    if (id)
        *id = o->id;
    for (size_t i = 0; i < bkt_attrs_settle(&o->attrs)->n; i++)
        BKT_PASS(note_namer(d->edits, &o->id, &o->attrs.v[i], err));
    BKT_PASS_MEM(err, bkt_links_count_add(d->links, o, !d->edits->fresh));
    return bkt_edit_use_all(d, o, 1, err);
}

void bkt_edit_hook(struct bkt_domain *d, const struct bkt_edit_hooks *hooks)
{
    d->edits->hooks = hooks;
}

struct bkt_object *bkt_edit_new_object(struct bkt_domain *d, const struct bkt_id *id)
{
    struct bkt_change *c = change_there(d, id);
    return c && c->is_new && !c->tried ? c->obj : NULL;
}

int bkt_edit_keep(struct bkt_domain *d, const struct bkt_id *obj, struct bkt_err *err)
{
    struct bkt_change *c;
    BKT_PASS(bkt_change_of(d, obj, &c, err));
    c->keep = true;
    return BKT_OK;
}

/* ---- links ---- */

static int group_of(struct bkt_domain *d, const struct bkt_id *id, struct bkt_change **out,
                    struct bkt_err *err)
{
    BKT_PASS(bkt_change_of(d, id, out, err));
    BKT_FAIL_IF(err, (*out)->obj->kind != BKT_GROUP, BKT_EINVAL, "%s is not a group, so it has no links",
                id->text);
    return BKT_OK;
}

int bkt_edit_link(struct bkt_domain *d, const struct bkt_id *group, struct bkt_link *l, struct bkt_err *err)
{
    struct bkt_change *c;
    struct bkt_id      target = l->id;
    bool               hard   = l->cls == BKT_L_HARD;
    BKT_PASS(group_of(d, group, &c, err));
    BKT_FAIL_IF(err, !l->name || !*l->name || strchr(l->name, '/'), BKT_EINVAL,
                "'%s' is not a valid link name", l->name ? l->name : "");
    BKT_FAIL_IF(err, hard && !bkt_id_valid(target.text), BKT_EINVAL, "link '%s' does not lead to an object",
                l->name);
    BKT_FAIL_IF(err, bkt_links_find(&c->obj->group.links, l->name), BKT_EEXIST, "link '%s' exists already",
                l->name);
    if (l->created <= 0)
        l->created = bkt_edit_now(d->edits);
    count_bytes(d, c, 3 * sizeof *l + 2 * strlen(l->name));
    enum bkt_delta was = noted(c->links, l->name);
    if (hard && bkt_links_count_change(d->links, &target, 1) < 0)
        BKT_NOMEM(err);
    bool has_note = note(c, &c->links, l->name, BKT_DELTA_ADD) == BKT_OK;
    if (has_note && bkt_links_add(&c->obj->group.links, l) == BKT_OK)
        return BKT_OK;
    if (has_note)
        note_back(c->links, l->name, was);
    if (hard && bkt_links_count_change(d->links, &target, -1) <
                    0) /* its entry is there: nothing has to be allocated */
        bkt_trace(BKT_TRACE_SCHEMA, "links of %s are miscounted", target.text);
    BKT_NOMEM(err);
}

/* A link that exists is taken out of its group.  Its target may be without a link then. */
static int take_link(struct bkt_domain *d, struct bkt_change *c, const char *name, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_link_fini) struct bkt_link out = {0};
    const struct bkt_link *l = bkt_links_find(&c->obj->group.links, name);
    struct bkt_id target = l->id;
    bool hard = l->cls == BKT_L_HARD;
    enum bkt_delta was = noted(c->links, name);
    c->numbers |= c->obj->track_order & 1;
    BKT_PASS_MEM(err, note_removal(c, &c->links, name, l->created, &target));
    if ((hard && bkt_links_count_change(d->links, &target, -1) < 0) ||
        bkt_links_remove(&c->obj->group.links, name, &out) < 0) {
        note_back(c->links, name, was);
        BKT_NOMEM(err);
    }
    return BKT_OK;
}

int bkt_edit_drop_link(struct bkt_domain *d, const struct bkt_id *group, const char *name,
                       struct bkt_err *err)
{
    struct bkt_change *c;
    BKT_PASS(group_of(d, group, &c, err));
    return bkt_links_find(&c->obj->group.links, name) ? take_link(d, c, name, err) : BKT_OK;
}

int bkt_edit_unlink(struct bkt_domain *d, const struct bkt_id *group, const char *name, struct bkt_err *err)
{
    struct bkt_change *c;
    uint64_t n;
    BKT_PASS(group_of(d, group, &c, err));
    const struct bkt_link *l = bkt_links_find(&c->obj->group.links, name);
    BKT_FAIL_IF(err, !l, BKT_ENOENT, "no link '%s'", name);
    struct bkt_id target = l->id;
    bool hard = l->cls == BKT_L_HARD;
    if (hard) /* may have to read other groups: before anything is changed */
        BKT_PASS(bkt_domain_link_count(d, &target, &n, err));
    BKT_PASS(take_link(d, c, name, err));
    if (!hard)
        return BKT_OK;
    BKT_PASS(bkt_edit_loosen(d, &target, err));
    return bkt_edit_sweep(d, err);
}

/* ---- attributes ---- */

static int add_attr(struct bkt_domain *d, struct bkt_change *c, struct bkt_attr *a, struct bkt_err *err)
{
    BKT_FAIL_IF(err, bkt_attrs_find(&c->obj->attrs, a->name), BKT_EEXIST, "attribute '%s' exists already",
                a->name);
    if (a->created <= 0)
        a->created = bkt_edit_now(d->edits);
    BKT_PASS(bkt_edit_use(d, &a->type->committed, 1, err));
    enum bkt_delta was = noted(c->attrs, a->name);
    BKT_PASS_MEM(err, note(c, &c->attrs, a->name, BKT_DELTA_ADD));
    if (bkt_attrs_add(&c->obj->attrs, a) == BKT_OK)
        return BKT_OK;
    note_back(c->attrs, a->name, was);
    BKT_NOMEM(err);
}

/* A value that could not be read again is not stored. */
static int check_size(const struct bkt_attr *a, uint64_t bytes, struct bkt_err *err)
{
    uint64_t n = 0;
    BKT_PASS(bkt_space_count(&a->space, &n, err));
    BKT_FAIL_IF(err, (!a->type->is_var && !bkt_mul_u64(n, a->type->size, &bytes)) || bytes > BKT_VALUE_MAX,
                BKT_EUNSUP, "attribute '%s': larger than the limit of %u MiB", a->name, BKT_VALUE_MAX >> 20);
    return BKT_OK;
}

int bkt_edit_attr_value(struct bkt_domain *d, const struct bkt_id *obj, const char *name,
                        struct bkt_buf *value, struct bkt_err *err)
{
    struct bkt_change *c;
    make_room(d);
    BKT_PASS(bkt_change_of(d, obj, &c, err));
    struct bkt_attr *a = (struct bkt_attr *)(uintptr_t)bkt_attrs_find(&c->obj->attrs, name);
    BKT_FAIL_IF(err, !a, BKT_ENOENT, "no attribute '%s'", name);
    BKT_PASS(check_size(a, value->len, err));
    BKT_PASS(note_namer(d->edits, &c->id, a, err));
    count_bytes(d, c, 512 + value->len);
    BKT_PASS_MEM(err, note_tried(c, &c->attrs, name, a->created, &(struct bkt_id){""}));
    BKT_PASS_MEM(err, note(c, &c->attrs, name, BKT_DELTA_VALUE));
    bkt_buf_move(&a->value, value);
    free(a->bad);
    a->bad       = NULL;
    a->has_value = true;
    a->unwritten = false;
    return BKT_OK;
}

int bkt_edit_attr(struct bkt_domain *d, const struct bkt_id *obj, struct bkt_attr *a, struct bkt_err *err)
{
    struct bkt_change *c;
    BKT_FAIL_IF(err, !a->name || !a->type, BKT_EINVAL, "attribute: it has no name or no type");
    BKT_PASS(check_size(a, a->value.len, err));
    make_room(d);
    BKT_PASS(bkt_change_of(d, obj, &c, err));
    BKT_PASS(note_namer(d->edits, &c->id, a, err));
    count_bytes(d, c, 512 + a->value.len);
    return add_attr(d, c, a, err);
}

int bkt_edit_attr_delete(struct bkt_domain *d, const struct bkt_id *obj, const char *name,
                         struct bkt_err *err)
{
    struct bkt_change *c;
    BKT_CLEANUP(bkt_attr_fini) struct bkt_attr out = {0};
    BKT_PASS(bkt_change_of(d, obj, &c, err));
    const struct bkt_attr *a = bkt_attrs_find(&c->obj->attrs, name);
    BKT_FAIL_IF(err, !a, BKT_ENOENT, "no attribute '%s'", name);
    enum bkt_delta was = noted(c->attrs, name);
    BKT_PASS_MEM(err, note_removal(c, &c->attrs, name, a->created, &a->type->committed));
    if (bkt_attrs_remove(&c->obj->attrs, name, &out) < 0) {
        note_back(c->attrs, name, was);
        BKT_NOMEM(err);
    }
    bkt_renamed_forget(c, name);
    c->numbers |= c->obj->attr_track_order & 1;
    BKT_PASS(bkt_edit_use(d, &out.type->committed, -1, err));
    return bkt_edit_sweep(d, err);
}

int bkt_edit_attr_rename(struct bkt_domain *d, const struct bkt_id *obj, const char *from, const char *to,
                         struct bkt_err *err)
{
    struct bkt_change *c;
    BKT_PASS(bkt_change_of(d, obj, &c, err));
    if (strcmp(from, to) == 0)
        return bkt_attrs_find(&c->obj->attrs, from) ? BKT_OK
                                                    : BKT_ERR(err, BKT_ENOENT, "no attribute '%s'", from);
    BKT_FAIL_IF(err, bkt_attrs_find(&c->obj->attrs, to), BKT_EEXIST, "attribute '%s' exists already", to);
    const struct bkt_attr *a = bkt_attrs_find(&c->obj->attrs, from);
    BKT_FAIL_IF(err, !a, BKT_ENOENT, "no attribute '%s'", from);
    char          *name = strdup(to), *old_name = NULL;
    enum bkt_delta was_to = noted(c->attrs, to), was_from = noted(c->attrs, from);
    if (!name || note(c, &c->attrs, to, BKT_DELTA_ADD) < 0 ||
        note_removal(c, &c->attrs, from, a->created, &(struct bkt_id){""}) < 0 ||
        bkt_named_rename(&c->obj->attrs.list, sizeof *c->obj->attrs.v, from, name, &old_name) < 0) {
        note_back(c->attrs, to, was_to);
        note_back(c->attrs, from, was_from);
        free(name);
        BKT_NOMEM(err);
    }
    free(old_name);
    return BKT_MADE(err, bkt_renamed_note(c, from, to) >= 0);
}

/* ---- other parts of an object ---- */

int bkt_edit_number(struct bkt_domain *d, const struct bkt_id *obj, bool links, int64_t number,
                    struct bkt_err *err)
{
    struct bkt_change *c;
    BKT_PASS(bkt_change_of(d, obj, &c, err));
    uint32_t *next = links ? &c->obj->group.links.next : &c->obj->attrs.next;
    if ((links && c->obj->kind != BKT_GROUP) || number <= (int64_t)*next || number > BKT_NUMBER_MAX)
        return BKT_OK;
    *next      = (uint32_t)number;
    c->numbers = true;
    return BKT_OK;
}

int bkt_edit_comment(struct bkt_domain *d, const struct bkt_id *obj, const char *text, struct bkt_err *err)
{
    struct bkt_change *c;
    BKT_CLEANUP(bkt_freep) char *copy = text && *text ? strdup(text) : NULL;
    BKT_NEED(err, copy || !text || !*text);
    BKT_PASS(bkt_change_of(d, obj, &c, err));
    free(c->obj->comment);
    c->obj->comment = BKT_TAKE(copy);
    c->comment      = true;
    return BKT_OK;
}

void bkt_domain_touched(struct bkt_domain *d)
{
    d->edits->touched = true;
}
