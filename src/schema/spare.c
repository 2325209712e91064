/* Before removed objects are deleted: those that another writer has linked since stay.
 *
 * What this program knows of a group's links may be hours old.  One LIST of the domain's groups tells by their ETags which are not
 * as they were counted (links.c); these are read, and an object that one of them leads to is removed no more, nor what only that
 * leads to.  What somebody links between this look and the end of the flush is not seen. */
#include <stdlib.h>
#include <string.h>

#include "edit_impl.h"
#include "list.h"
#include "object.h"
#include "parse.h"
#include "trace.h"

#define WAVE     256  /* groups read at once, as many as there are connections */
#define A_PAGE   1000 /* keys in an answer of S3: where there are more groups, several lists go side by side */
#define SHARDS   16

struct ids {
    struct bkt_id *v;
    size_t         n, cap;
};

struct spare {
    struct bkt_domain *d;
    struct bkt_map    *gone;    /* id -> struct bkt_change of what is to be deleted */
    struct bkt_map    *unused;  /* types that stay after all -> uses that their forgotten change took away, as a negative number */
    struct ids         changed; /* groups to be read */
    struct ids         stays;   /* objects that were to go */
};

static int push(struct ids *l, const struct bkt_id *id)
{
    if (bkt_list_room(&l->v, l->n, &l->cap, sizeof *l->v) < 0)
        return BKT_ENOMEM;
    l->v[l->n++] = *id;
    return BKT_OK;
}

static void spare_fini(struct spare *s)
{
    bkt_map_free(s->gone, NULL);
    bkt_map_free(s->unused, NULL);
    free(s->changed.v);
    free(s->stays.v);
}

/* What may be known to others. */
static int collect_gone(struct spare *s, struct bkt_err *err)
{
    const void *key;
    size_t      pos = 0, n;
    void       *v;
    s->gone   = bkt_map_new();
    s->unused = bkt_map_new();
    if (!s->gone || !s->unused)
        BKT_NOMEM(err);
    while (bkt_map_next(s->d->edits->changes, &pos, &key, &n, &v)) {
        const struct bkt_change *c = v;
        if (c->removed && !c->is_new && bkt_map_put(s->gone, key, n, v, NULL) < 0)
            BKT_NOMEM(err);
    }
    return BKT_OK;
}

/* ---- which groups are not as they were counted ---- */

/* db/<root>/.group.json, db/<root>/g/<rest of the id>/.group.json */
static bool group_of_key(const struct bkt_id *root, const char *key, struct bkt_id *out)
{
    static const char file[] = "/.group.json";
    const char       *at     = key + strlen("db/") + 17;
    char              text[BKT_ID_LEN + 1];
    if (strlen(key) < strlen("db/") + 17 + strlen(file))
        return false;
    if (strcmp(at, file) == 0) {
        *out = *root;
        return true;
    }
    if (strlen(at) != strlen("/g/") + 18 + strlen(file) || strcmp(at + strlen("/g/") + 18, file) != 0)
        return false;
    (void)snprintf(text, sizeof text, "g-%.17s-%.18s", root->text + 2, at + strlen("/g/"));
    return bkt_id_set(out, text);
}

static int on_listed(const struct bkt_listed *e, void *arg)
{
    struct spare *s = arg;
    struct bkt_id id;
    if (!group_of_key(&s->d->doc.root, e->key, &id) || bkt_map_get(s->gone, id.text, BKT_ID_LEN) ||
        !bkt_links_count_is_stale(s->d->links, &id, e->etag))
        return BKT_OK;
    return push(&s->changed, &id);
}

static int list_groups(struct spare *s, struct bkt_err *err)
{
    char        prefix[SHARDS + 1][40];
    const char *prefixes[SHARDS + 1];
    const char *root = s->d->doc.root.text + 2;
    size_t      n    = 0;
    bool        many = bkt_links_count_groups(s->d->links) > A_PAGE;
    (void)snprintf(prefix[n++], sizeof prefix[0], "db/%.17s/.group.json", root);
    for (unsigned i = 0; i < (many ? SHARDS : 1); i++)
        (void)snprintf(prefix[n++], sizeof prefix[0], many ? "db/%.17s/g/%x" : "db/%.17s/g/", root, i);
    for (size_t i = 0; i < n; i++)
        prefixes[i] = prefix[i];
    return bkt_store_list_each(s->d->store, prefixes, n, on_listed, s, err);
}

/* ---- what they lead to ---- */

/* A number in place of a pointer. */
static int set_unused(struct spare *s, const struct bkt_id *type, intptr_t n)
{
    return bkt_map_put(s->unused, type->text, BKT_ID_LEN, (void *)n, NULL); /* NOLINT(performance-no-int-to-ptr) */
}

/* It is as if it had never been removed; that it is used by others, and uses types, is seen to later. */
static int spare_one(struct spare *s, const struct bkt_id *id, struct bkt_err *err)
{
    struct bkt_change *c = bkt_map_del(s->gone, id->text, BKT_ID_LEN);
    if (!c)
        return BKT_OK;
    struct bkt_id own = *id;
    if ((c->uses < 0 && set_unused(s, &own, (intptr_t)c->uses) < 0) || push(&s->stays, &own) < 0)
        BKT_NOMEM(err);
    bkt_trace(BKT_TRACE_SCHEMA, "%s: %s stays, others have linked it", s->d->name, own.text);
    bkt_objects_drop(s->d->objects, &own, false);
    bkt_change_forget(s->d, c);
    return BKT_OK;
}

static bool loses(const struct bkt_change *c, const char *name)
{
    enum bkt_delta is = c && c->links ? (enum bkt_delta)(uintptr_t)bkt_map_get(c->links, name, strlen(name)) : BKT_DELTA_NONE;
    return is == BKT_DELTA_REMOVE || is == BKT_DELTA_REPLACE;
}

/* Hard links of a group as it is stored, but for those that this flush takes away. */
static int spare_members(struct spare *s, const struct bkt_object *o, struct bkt_err *err)
{
    const struct bkt_change *c = bkt_map_get(s->d->edits->changes, o->id.text, BKT_ID_LEN);
    const struct bkt_links  *l = bkt_links_settle(&o->group.links);
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].cls == BKT_L_HARD && !loses(c, l->v[i].name))
            BKT_PASS(spare_one(s, &l->v[i].id, err));
    return BKT_OK;
}

static int look_at(struct spare *s, const struct bkt_id *id, const struct bkt_req *r, struct bkt_err *err)
{
    struct bkt_object *o = NULL;
    if (r->rc == BKT_ENOENT)
        return BKT_OK;
    if (r->rc < 0)
        return bkt_err_copy(err, r->rc, r->err);
    BKT_PASS(bkt_object_parse(r->body.ptr, r->body.len, id, &o, err));
    int rc = o->kind == BKT_GROUP ? spare_members(s, o, err) : BKT_OK;
    bkt_object_release(o);
    return rc;
}

static int read_wave(struct spare *s, const struct bkt_id *ids, size_t n, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) struct bkt_req *reqs = calloc(n, sizeof *reqs);
    BKT_CLEANUP(bkt_freep) struct bkt_buf *keys = calloc(n, sizeof *keys);
    int rc = reqs && keys ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory");
    for (size_t i = 0; rc == BKT_OK && i < n; i++) {
        if (bkt_id_key(&ids[i], &keys[i]) < 0)
            rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
        reqs[i] = (struct bkt_req){.op = BKT_GET, .key = bkt_buf_str(&keys[i]), .len = BKT_WHOLE};
    }
    if (rc == BKT_OK)
        (void)bkt_store_run(s->d->store, reqs, n, NULL);
    for (size_t i = 0; reqs && keys && i < n; i++) {
        if (rc == BKT_OK)
            rc = look_at(s, &ids[i], &reqs[i], err);
        bkt_req_fini(&reqs[i]);
        bkt_buf_fini(&keys[i]);
    }
    return rc;
}

/* ---- what they need ---- */

typedef int on_type(struct spare *s, const struct bkt_type *t, struct bkt_err *err);
typedef int on_object(struct spare *s, const struct bkt_object *o, struct bkt_err *err);

static int each_type(struct spare *s, const struct bkt_object *o, on_type *each, struct bkt_err *err)
{
    if (o->kind == BKT_DATASET)
        BKT_PASS(each(s, o->dset.type, err));
    const struct bkt_attrs *a = bkt_attrs_settle(&o->attrs);
    for (size_t i = 0; i < a->n; i++)
        BKT_PASS(each(s, a->v[i].type, err));
    return BKT_OK;
}

static int keep_type(struct spare *s, const struct bkt_type *t, struct bkt_err *err)
{
    return t && t->committed.text[0] ? spare_one(s, &t->committed, err) : BKT_OK;
}

/* Removing the object took away a use: in a change of the type's, or in one that is forgotten. */
static int use_again(struct spare *s, const struct bkt_type *t, struct bkt_err *err)
{
    intptr_t n = t && t->committed.text[0] ? (intptr_t)bkt_map_get(s->unused, t->committed.text, BKT_ID_LEN) : 0;
    if (!n)
        return bkt_edit_use(s->d, t, 1, err);
    if (set_unused(s, &t->committed, n + 1) < 0)
        BKT_NOMEM(err);
    return BKT_OK;
}

static int for_each_that_stays(struct spare *s, on_object *fn, struct bkt_err *err)
{
    int rc = BKT_OK;
    for (size_t i = 0, ahead = 0; rc == BKT_OK && i < s->stays.n; i++) { /* the list grows */
        const struct bkt_object *o   = NULL;
        struct bkt_err           why = {.n = 0};
        if (ahead <= i) {
            ahead = s->stays.n < i + WAVE ? s->stays.n : i + WAVE;
            bkt_domain_prefetch(s->d, s->stays.v + i, ahead - i);
        }
        struct bkt_id id = s->stays.v[i];
        int           is = bkt_objects_get(s->d->objects, &id, &o, &why);
        if (is == BKT_ENOENT)
            continue;
        rc = is < 0 ? bkt_err_copy(err, is, &why) : fn(s, o, err);
        if (is == BKT_OK)
            bkt_object_release(o);
    }
    return rc;
}

static int keep_what_it_leads_to(struct spare *s, const struct bkt_object *o, struct bkt_err *err)
{
    BKT_PASS(each_type(s, o, keep_type, err));
    return o->kind == BKT_GROUP ? spare_members(s, o, err) : BKT_OK;
}

static int use_its_types(struct spare *s, const struct bkt_object *o, struct bkt_err *err) { return each_type(s, o, use_again, err); }

int bkt_edit_spare(struct bkt_domain *d, struct bkt_err *err)
{
    BKT_CLEANUP(spare_fini) struct spare s = {.d = d};
    if (d->edits->fresh || !bkt_id_is_v2(&d->doc.root) || strcmp(d->set.writers, "one") == 0)
        return BKT_OK;
    BKT_PASS(collect_gone(&s, err));
    if (bkt_map_count(s.gone) == 0)
        return BKT_OK;
    BKT_TRY(err, list_groups(&s, err), "%s: whether others have linked what is removed can't be seen", d->name);
    for (size_t i = 0; i < s.changed.n && bkt_map_count(s.gone) > 0; i += WAVE)
        BKT_TRY(err, read_wave(&s, s.changed.v + i, s.changed.n - i < WAVE ? s.changed.n - i : WAVE, err),
                "%s: whether others have linked what is removed can't be seen", d->name);
    if (!s.stays.n)
        return BKT_OK;
    bkt_links_count_forget(d->links);
    BKT_PASS(for_each_that_stays(&s, keep_what_it_leads_to, err));
    return for_each_that_stays(&s, use_its_types, err);
}
