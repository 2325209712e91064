/* Several writers made an object by one name at once.
 *
 * The later writer finds the name taken in the stored group.  Both writers may have made the object while
 * they had the domain open, and the two may be equal but for possible additions (attributes, links, elements,
 * a larger extent).  Then the earlier object stands for the later one:
 *
 *   elements                     are put into the earlier object, as by any writer of a part of them
 *                                (struct bkt_edit_hooks)
 *   attributes, links, a larger extent
 *                                become changes of the earlier object, which may collide there in turn
 *   holders of the later object  hold the earlier one: its struct gets another id
 *   mentions of the later object become mentions of the earlier one (id_alias.c)
 *
 * When all that is stored, the later object, which nothing leads to, is deleted.  In all other cases the
 * later writer keeps its object, and each of its flushes fails. */
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/num.h"
#include "base/trace.h"
#include "schema/edit/edit_impl.h"
#include "schema/json/documents.h"
#include "schema/json/schema_json.h"
#include "schema/model/object_life.h"

/* A name that two objects have. */
struct rival {
    struct bkt_id group, ours, theirs;
    char *name;
    bool settled;
};
struct rivals {
    struct rival *v;
    struct bkt_reqs reqs; /* for theirs */
    size_t n, cap;
};

static void rivals_fini(struct rivals *r)
{
    for (size_t i = 0; i < r->n; i++)
        free(r->v[i].name);
    free(r->v);
    bkt_reqs_fini(&r->reqs);
}

/* ---- which there are ---- */

static int add_rival(struct rivals *r, const struct bkt_change *c, const char *name,
                     const struct bkt_id *theirs)
{
    const struct bkt_link *l = bkt_links_find(&c->obj->group.links, name);
    if (!l || l->cls != BKT_L_HARD || bkt_id_kind(&l->id) != bkt_id_kind(theirs))
        return BKT_OK;
    BKT_PASS(bkt_list_room(&r->v, r->n, &r->cap, sizeof *r->v));
    struct rival *one = &r->v[r->n++];
    *one = (struct rival){.group = c->id, .ours = l->id, .theirs = *theirs, .name = strdup(name)};
    return one->name ? BKT_OK : BKT_ENOMEM;
}

static int find_rivals(struct bkt_domain *d, struct rivals *r)
{
    for (struct bkt_map_at at = {0}; bkt_map_walk(d->edits->changes, &at);) {
        const struct bkt_change *c = at.value;
        for (struct bkt_map_at name = {0}; !c->removed && bkt_map_walk(c->theirs, &name);)
            if (bkt_map_get(c->kept_links, name.key, name.n)) /* it wasn't taken back since */
                BKT_PASS(add_rival(r, c, name.key, name.value));
    }
    return BKT_OK;
}

static int fetch(struct bkt_domain *d, struct rivals *r, struct bkt_err *err)
{
    BKT_PASS_MEM(err, bkt_reqs_init(&r->reqs, r->n));
    for (size_t i = 0; i < r->n; i++) {
        r->reqs.v[i] = (struct bkt_req){.op = BKT_GET, .len = BKT_WHOLE};
        BKT_PASS_MEM(err, bkt_id_key(&r->v[i].theirs, &r->reqs.keys[i]));
    }
    bkt_reqs_perform(d->store, &r->reqs);
    return BKT_OK;
}

/* ---- whether they are equal ---- */

/* Keys that are an object's own, or that writers may add to it. */
static const char *const own_keys[] = {
    "id",         "root",       "created", "lastModified", "attributes", "links",  "h5links",   "h5nextlink",
    "h5nextattr", "h5refcount", "h5refby", "h5uses",       "h5useby",    "h5trim", "h5written", "h5comment"};

static int essence(const void *text, size_t n, json_t **out)
{
    BKT_PASS(bkt_json_load(text, n, out, NULL));
    for (size_t i = 0; i < BKT_COUNT(own_keys); i++)
        (void)json_object_del(*out, own_keys[i]);
    return BKT_OK;
}

/* If both may grow in the same way, one of them may have grown already. */
static bool spaces_agree(const struct bkt_space *a, const struct bkt_space *b)
{
    if (a->cls != b->cls || a->rank != b->rank)
        return false;
    for (unsigned i = 0; a->cls == BKT_S_SIMPLE && i < a->rank; i++)
        if (a->maxdims[i] != b->maxdims[i])
            return false;
    return true;
}

static bool are_equal(const struct bkt_domain *d, const struct bkt_object *ours,
                      const struct bkt_object *theirs, const struct bkt_req *r)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf text = {0};
    BKT_CLEANUP(bkt_json_decrefp) json_t *a = NULL;
    BKT_CLEANUP(bkt_json_decrefp) json_t *b = NULL;
    if (ours->kind != theirs->kind ||
        (ours->kind == BKT_DATASET && !spaces_agree(&ours->dset.space, &theirs->dset.space)))
        return false;
    if (bkt_object_emit(ours, &text, NULL) < 0)
        return false;
    (void)bkt_edit_name_theirs(d, text.ptr, text.len);
    if (essence(text.ptr, text.len, &a) < 0 || essence(r->body.ptr, r->body.len, &b) < 0)
        return false;
    if (ours->kind == BKT_DATASET) {
        (void)json_object_del(a, "shape");
        (void)json_object_del(b, "shape");
    }
    return json_equal(a, b);
}

/* ---- links and values that name this process's object ---- */

struct mention {
    struct bkt_id obj;
    bool link;
    char *name;
};
struct mentions {
    const struct bkt_id *of, *group;
    const char *except; /* the link in `group`, which is settled anyway */
    struct mention *v;
    size_t n, cap, n_links;
    bool fixed; /* in a fill value, which can't be changed */
};

static void mentions_fini(struct mentions *m)
{
    for (size_t i = 0; i < m->n; i++)
        free(m->v[i].name);
    free(m->v);
}

static int add_mention(struct mentions *m, const struct bkt_object *o, bool link, const char *name)
{
    BKT_PASS(bkt_list_room(&m->v, m->n, &m->cap, sizeof *m->v));
    m->v[m->n] = (struct mention){o->id, link, strdup(name)};
    m->n_links += link;
    return m->v[m->n++].name ? BKT_OK : BKT_ENOMEM;
}

static bool mentions_id(const struct bkt_buf *value, const struct bkt_id *id)
{
    return value->len >= BKT_ID_LEN && memmem(value->ptr, value->len, id->text, BKT_ID_LEN);
}

static int find_in_attrs(const struct bkt_object *o, struct mentions *m)
{
    const struct bkt_attrs *a = bkt_attrs_settle(&o->attrs);
    for (size_t i = 0; i < a->n; i++)
        if (mentions_id(&a->v[i].value, m->of))
            BKT_PASS(add_mention(m, o, false, a->v[i].name));
    return BKT_OK;
}

static int find_mentions(const struct bkt_object *o, void *arg)
{
    struct mentions *m = arg;
    const struct bkt_link *l;
    bool same = strcmp(o->id.text, m->group->text) == 0;
    m->fixed |= o->kind == BKT_DATASET && mentions_id(&o->dset.fill, m->of);
    for (size_t i = 0; (l = bkt_object_next_hard(o, &i));)
        if (strcmp(l->id.text, m->of->text) == 0 && !(same && strcmp(l->name, m->except) == 0))
            BKT_PASS(add_mention(m, o, true, l->name));
    return find_in_attrs(o, m);
}

/* Stored attributes of objects that the cache may have evicted since. */
static int find_in_namers(struct bkt_domain *d, struct mentions *m, struct bkt_err *err)
{
    for (struct bkt_map_at at = {0}; bkt_map_walk(d->edits->namers, &at);) {
        BKT_CLEANUP(bkt_object_releasep) const struct bkt_object *o = NULL;
        struct bkt_id id = {{0}};
        memcpy(id.text, at.key, BKT_ID_LEN);
        BKT_PASS(bkt_objects_find(d->objects, bkt_alias_of(d, &id), &o, err));
        if (o)
            BKT_PASS_MEM(err, find_in_attrs(o, m));
    }
    return BKT_OK;
}

/* Links and values that name this process's object, stored or not, are stored again with the other writer's
 * id. */
static int mention_theirs(struct bkt_domain *d, const struct mentions *m, const struct bkt_id *theirs,
                          struct bkt_err *err)
{
    for (size_t i = 0; i < m->n; i++) {
        struct bkt_change *c;
        const struct mention *x = &m->v[i];
        BKT_PASS(bkt_change_of(d, &x->obj, &c, err));
        BKT_PASS(bkt_change_note_again(d, &x->obj, x->link, x->name, err));
        if (x->link) {
            struct bkt_link *l = (struct bkt_link *)(uintptr_t)bkt_links_find(&c->obj->group.links, x->name);
            l->id = *theirs;
            BKT_NEED(err, bkt_links_count_change(d->links, m->of, -1) >= 0 &&
                              bkt_links_count_change(d->links, theirs, 1) >= 0);
        } else { /* here too, since its JSON may be base64 */
            struct bkt_attr *a = (struct bkt_attr *)(uintptr_t)bkt_attrs_find(&c->obj->attrs, x->name);
            if (a)
                (void)bkt_edit_name_theirs(d, a->value.ptr, a->value.len);
        }
    }
    return BKT_OK;
}

/* ---- the other writer's object stands for this process's ---- */

/* Attributes and links of this process's object become changes of the other writer's object. */
static int move_attrs(struct bkt_domain *d, struct bkt_change *c, struct bkt_attrs *from, struct bkt_err *err)
{
    while (bkt_attrs_settle(from)->n) {
        BKT_CLEANUP(bkt_attr_fini) struct bkt_attr one = {0}, theirs = {0};
        BKT_CLEANUP(bkt_freep) char *name = strdup(from->v[0].name);
        BKT_NEED(err, name && bkt_attrs_remove(from, name, &one) >= 0);
        if (bkt_attrs_find(&c->obj->attrs, name))
            BKT_PASS_MEM(err, bkt_attrs_remove(&c->obj->attrs, name, &theirs));
        BKT_PASS(bkt_edit_attr(d, &c->id, &one, err));
    }
    return BKT_OK;
}

static int move_links(struct bkt_domain *d, struct bkt_change *c, struct bkt_links *from, struct bkt_err *err)
{
    while (bkt_links_settle(from)->n) {
        BKT_CLEANUP(bkt_link_fini) struct bkt_link one = {0}, theirs = {0};
        BKT_CLEANUP(bkt_freep) char *name = strdup(from->v[0].name);
        BKT_NEED(err, name && bkt_links_remove(from, name, &one) >= 0);
        if (bkt_links_find(&c->obj->group.links, name))
            BKT_PASS_MEM(err, bkt_links_remove(&c->obj->group.links, name, &theirs));
        if (theirs.cls == BKT_L_HARD && theirs.id.text[0])
            BKT_PASS_MEM(err, bkt_links_count_change(d->links, &theirs.id, -1));
        if (one.cls == BKT_L_HARD) /* this process's link led there */
            BKT_PASS_MEM(err, bkt_links_count_change(d->links, &one.id, -1));
        BKT_PASS(bkt_edit_link(d, &c->id, &one, err));
    }
    return BKT_OK;
}

/* @param was  the contents of this process's object */
static int add_ours(struct bkt_domain *d, const struct bkt_id *theirs, struct bkt_object *was,
                    struct bkt_err *err)
{
    struct bkt_change *c;
    BKT_PASS(bkt_change_of(d, theirs, &c, err));
    c->reread = true; /* where both are equal, the times are the other writer's */
    BKT_PASS(move_attrs(d, c, &was->attrs, err));
    if (was->kind == BKT_GROUP)
        BKT_PASS(move_links(d, c, &was->group.links, err));
    if (was->kind == BKT_DATATYPE && was->uses > 0)
        BKT_PASS(bkt_edit_use(d, theirs, (int)was->uses, err));
    if (was->comment && *was->comment)
        BKT_PASS(bkt_edit_comment(d, theirs, was->comment, err));
    if (was->extra_refs)
        BKT_PASS(bkt_edit_refcount(d, theirs, (int)was->extra_refs, err));
    uint64_t dims[BKT_MAX_RANK];
    bool larger = false;
    for (unsigned i = 0;
         was->kind == BKT_DATASET && was->dset.space.cls == BKT_S_SIMPLE && i < was->dset.space.rank; i++) {
        larger |= was->dset.space.dims[i] > c->obj->dset.space.dims[i];
        dims[i] = bkt_max_u64(was->dset.space.dims[i], c->obj->dset.space.dims[i]);
    }
    return larger ? bkt_edit_extent(d, theirs, dims, err) : BKT_OK;
}

/* The struct of this process's object becomes the other writer's object.
 * @param o  the other writer's object as it is stored; gets the former contents of this process's object */
static int take_place(struct bkt_domain *d, const struct rival *r, struct bkt_object *mine,
                      struct bkt_object *o, struct bkt_err *err)
{
    int rc = bkt_objects_rename(d->objects, &r->ours, &r->theirs);
    BKT_FAIL_IF(err, rc == BKT_EBUSY, rc, "another writer's object %s is open as well; close it",
                r->theirs.text);
    BKT_PASS_MEM(err, rc);
    struct bkt_change *c = bkt_map_del(d->edits->changes, r->ours.text, BKT_ID_LEN);
    struct bkt_links none = {.n = 0};
    if (c) { /* all that this process's object has becomes a change of the other one */
        c->id = r->theirs;
        bkt_change_forget(d, c);
    }
    struct bkt_id *alias = bkt_map_make(&d->alias, r->ours.text, BKT_ID_LEN, sizeof *alias);
    BKT_NEED(err, alias);
    *alias = r->theirs;
    bkt_object_swap(mine, o);
    (void)bkt_map_del(d->edits->loose, r->ours.text, BKT_ID_LEN);
    if (mine->kind == BKT_GROUP && bkt_links_count_merge(d->links, &none, &mine->group.links) < 0)
        BKT_NOMEM(err);
    return BKT_OK;
}

/* In the group that has both, the link leads to theirs, as in the store. */
static int settle_link(struct bkt_domain *d, const struct rival *r, struct bkt_err *err)
{
    struct bkt_change *c = bkt_map_get(d->edits->changes, r->group.text, BKT_ID_LEN);
    struct bkt_link *l = (struct bkt_link *)(uintptr_t)bkt_links_find(&c->obj->group.links, r->name);
    size_t n = strlen(r->name);
    l->id = r->theirs;
    BKT_NEED(err, bkt_links_count_change(d->links, &r->ours, -1) >= 0 &&
                      bkt_links_count_change(d->links, &r->theirs, 1) >= 0);
    (void)bkt_map_del(c->links, r->name, n);
    (void)bkt_map_del(c->kept_links, r->name, n);
    free(bkt_map_del(c->old_links, r->name, n));
    c->reread = true; /* its time and number are theirs */
    return BKT_OK;
}

static int adopt(struct bkt_domain *d, const struct rival *r, const struct bkt_req *q,
                 struct bkt_object *mine, struct bkt_object *theirs, const struct mentions *m,
                 struct bkt_err *err)
{
    struct bkt_edits *e = d->edits;
    struct bkt_space stored;
    if (mine->kind == BKT_DATASET && e->hooks) {
        stored = theirs->dset.space;
        for (unsigned i = 0; stored.cls == BKT_S_SIMPLE && i < stored.rank; i++)
            theirs->dset.space.dims[i] = bkt_max_u64(stored.dims[i], mine->dset.space.dims[i]);
        int rc = e->hooks->adopt(d, mine, theirs, err);
        theirs->dset.space = stored;
        BKT_PASS(rc);
    }
    BKT_PASS(take_place(d, r, mine, theirs, err));
    BKT_PASS(bkt_edit_use_all(d, theirs, -1, err)); /* the uses by this process's object */
    BKT_NEED(err, bkt_object_set_etag(mine, q->etag) >= 0 &&
                      bkt_buf_add(&mine->stored, q->body.ptr, q->body.len) >= 0);
    mine->json_bytes = q->body.len;
    BKT_PASS(settle_link(d, r, err));
    BKT_PASS(mention_theirs(d, m, &r->theirs, err));
    BKT_PASS(add_ours(d, &r->theirs, theirs, err));
    e->unnamed = true;
    bkt_alias_doom(d, theirs);
    bkt_trace(BKT_TRACE_SCHEMA, "%s: %s was made by another writer as well: %s replaces %s", d->name,
              r->name, r->theirs.text, r->ours.text);
    return BKT_OK;
}

/* Whether this process's object can be given up: made here, stored, and without a link or value that isn't
 * known. */
static bool may_go(struct bkt_domain *d, const struct rival *r, const struct mentions *m)
{
    const struct bkt_change *c = bkt_map_get(d->edits->changes, r->ours.text, BKT_ID_LEN);
    return bkt_links_count_is_own(d->links, &r->ours) && !m->fixed && !(c && (c->is_new || c->removed)) &&
           bkt_links_count_known(d->links, &r->ours) == m->n_links + 1;
}

static int settle(struct bkt_domain *d, struct rival *r, const struct bkt_req *q, struct bkt_err *err)
{
    BKT_CLEANUP(mentions_fini) struct mentions m = {.of = &r->ours, .group = &r->group, .except = r->name};
    struct bkt_object *parsed = NULL;
    if (q->rc == BKT_ENOENT) /* it is being deleted */
        return BKT_OK;
    if (q->rc < 0)
        return bkt_err_copy(err, q->rc, q->err);
    BKT_PASS_MEM(err, bkt_objects_each(d->objects, find_mentions, &m));
    if (!may_go(d, r, &m))
        return BKT_OK;
    BKT_PASS(find_in_namers(d, &m, err));
    BKT_PASS(bkt_object_parse(q->body.ptr, q->body.len, &r->theirs, &parsed, err));
    BKT_CLEANUP(bkt_object_releasep) const struct bkt_object *theirs = parsed, *ours = NULL;
    BKT_PASS(bkt_domain_get(d, &r->ours, &ours, err));
    if (!are_equal(d, ours, theirs, q))
        return BKT_OK;
    BKT_PASS(adopt(d, r, q, (struct bkt_object *)(uintptr_t)ours, parsed, &m, err));
    r->settled = true;
    return BKT_OK;
}

int bkt_rivals_adopt(struct bkt_domain *d, bool *any, struct bkt_err *err)
{
    BKT_CLEANUP(rivals_fini) struct rivals r = {.n = 0};
    int first = BKT_OK;
    BKT_PASS_MEM(err, find_rivals(d, &r));
    if (!r.n)
        return BKT_OK;
    BKT_PASS(fetch(d, &r, err));
    /* an object that names another one may be equal once the other one has been settled */
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < r.n && first == BKT_OK; i++) {
            if (r.v[i].settled)
                continue;
            first = settle(d, &r.v[i], &r.reqs.v[i], err);
            more |= r.v[i].settled;
        }
        *any |= more;
    }
    return first;
}

/* ---- rivals that stay ---- */

static int name_path(struct bkt_domain *d, const struct bkt_change *c, const char *name, bool link,
                     struct bkt_buf *out)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf path = {0};
    BKT_PASS(bkt_domain_path_of(d, &c->id, &path));
    if (link)
        return bkt_link_path(bkt_buf_str(&path), name, out);
    const char *old = bkt_map_get(c->renamed, name, strlen(name));
    BKT_PASS(bkt_buf_addf(out, "attribute %s of %s", name, bkt_buf_str(&path)));
    return old ? bkt_buf_addf(out, ", renamed from %s", old) : BKT_OK;
}

static int name_clashes(struct bkt_domain *d, const struct bkt_change *c, bool links,
                        struct bkt_message_names *out)
{
    const struct bkt_map *kept = links ? c->kept_links : c->kept_attrs;
    for (struct bkt_map_at at = {0}; bkt_map_walk(kept, &at);) {
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf text = {0};
        if ((enum bkt_kept)(uintptr_t)at.value != BKT_KEPT_CLASH)
            continue;
        BKT_PASS(name_path(d, c, at.key, links, &text));
        bkt_message_names_add(out, bkt_buf_str(&text));
    }
    return BKT_OK;
}

int bkt_rivals_report(struct bkt_domain *d, struct bkt_err *err)
{
    struct bkt_message_names names = {.n = 0};
    for (struct bkt_map_at at = {0}; bkt_map_walk(d->edits->changes, &at);) {
        const struct bkt_change *c = at.value;
        if (!c->removed && (name_clashes(d, c, true, &names) < 0 || name_clashes(d, c, false, &names) < 0))
            BKT_NOMEM(err);
    }
    if (!names.n)
        return BKT_OK;
    BKT_FAIL(err, BKT_EEXIST,
             "%s: not stored, since another writer made something else with the same name: %s; delete or "
             "rename %s, or "
             "end the program to abandon %s",
             d->name, names.text, names.n == 1 ? "it" : "them", names.n == 1 ? "it" : "them");
}
