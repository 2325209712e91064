/* Walking a domain; see walk.h. */
#include "tools/bucket/walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/list.h"
#include "base/map.h"
#include "chunk/dataset/dataset.h"

/* Objects requested at once, two batches at a time.  More than a prefetch takes
 * (schema/domain/object_cache.c) would be fetched one by one. */
#define AHEAD 1024

/* 1: new, 0: was there, negative: memory */
static int id_note_new(struct bkt_map **m, const struct bkt_id *id)
{
    if (bkt_map_number(*m, id->text, BKT_ID_LEN))
        return 0;
    return bkt_map_set_number(m, id->text, BKT_ID_LEN, 1) < 0 ? BKT_ENOMEM : 1;
}

/* ---- fetching ahead ---- */

/* Requests the objects from v[i] on when a batch begins there. */
static void prefetch_batch(struct bkt_domain *d, const struct bkt_id *v, size_t i, size_t n)
{
    if (i == 0)
        bkt_domain_prefetch(d, v, n < 2 * AHEAD ? n : 2 * AHEAD);
    else if (i % AHEAD == 0 && i + AHEAD < n)
        bkt_domain_prefetch(d, v + i + AHEAD, n - i - AHEAD < AHEAD ? n - i - AHEAD : AHEAD);
}

static int add_members(const struct bkt_object *o, struct bkt_map **seen, struct bkt_ids *to)
{
    for (size_t i = 0; o->kind == BKT_GROUP && i < o->group.links.n; i++) {
        const struct bkt_link *l = &o->group.links.v[i];
        if (l->cls != BKT_L_HARD)
            continue;
        int rc = id_note_new(seen, &l->id);
        BKT_PASS(rc > 0 ? bkt_ids_add(to, &l->id) : rc);
    }
    return BKT_OK;
}

int bkt_walk_note(struct bkt_map **met, const void *key, size_t n, const char *path, struct bkt_err *err)
{
    char *keep = strdup(path);
    if (keep && bkt_map_set(met, key, n, keep, NULL) == BKT_OK)
        return BKT_OK;
    free(keep);
    BKT_NOMEM(err);
}

struct walk {
    struct bkt_domain *d;
    unsigned           levels;
    int (*each)(const struct bkt_step *s, void *arg);
    void           *arg;
    struct bkt_err *err;
    struct bkt_map *met;  /* id -> path, owned */
    struct bkt_map *warm; /* ids fetched ahead */
};

/* Fetches ahead level by level from @p start, until half of the cache is full: objects fetched ahead must
 * still be in the cache when the walk comes to them. */
static int warm_up(struct walk *w, const struct bkt_id *start, unsigned levels)
{
    BKT_CLEANUP(bkt_ids_fini) struct bkt_ids a = {0}, b = {0};
    uint64_t left = bkt_domain_settings(w->d)->meta_cache / 2;
    bkt_map_clear(&w->warm, NULL);
    BKT_PASS(id_note_new(&w->warm, start));
    BKT_PASS(bkt_ids_add(&a, start));
    for (bool full = false; a.n && !full && levels > 0; levels--) {
        b.n = 0;
        for (size_t i = 0; i < a.n && !full; i++) {
            const struct bkt_object *o;
            prefetch_batch(w->d, a.v, i, a.n);
            if (bkt_domain_get(w->d, &a.v[i], &o, NULL) < 0)
                continue; /* reported when the walk comes to it */
            int    rc   = add_members(o, &w->warm, &b);
            size_t size = bkt_object_bytes(o);
            full        = size > left;
            left -= full ? 0 : size;
            bkt_object_release(o);
            BKT_PASS(rc);
        }
        struct bkt_ids t = a;
        a                = b;
        b                = t;
    }
    bkt_domain_prefetch(w->d, a.v, a.n < AHEAD ? a.n : AHEAD);
    return BKT_OK;
}

/* ---- by name ---- */

static int visit(struct walk *w, const struct bkt_id *id, const char *path, const struct bkt_link *link,
                 unsigned depth);

static int visit_members(struct walk *w, const struct bkt_object *o, const char *path, unsigned depth)
{
    const struct bkt_links *links = &o->group.links;
    for (size_t i = 0; i < links->n; i++) {
        const struct bkt_link                   *l   = &links->v[i];
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf sub = {0};
        BKT_PASS_MEM(w->err, bkt_link_path(path, l->name, &sub));
        if (l->cls == BKT_L_HARD) {
            BKT_PASS(visit(w, &l->id, bkt_buf_str(&sub), l, depth + 1));
            continue;
        }
        struct bkt_step s = {.path = bkt_buf_str(&sub), .link = l};
        BKT_PASS(w->each(&s, w->arg));
    }
    return BKT_OK;
}

static int visit_object(struct walk *w, const struct bkt_object *o, const char *path,
                        const struct bkt_link *link, unsigned depth)
{
    struct bkt_step s = {
        .path = path, .link = link, .obj = o, .same = bkt_map_get(w->met, o->id.text, BKT_ID_LEN)};
    BKT_PASS(w->each(&s, w->arg));
    if (s.same)
        return BKT_OK;
    BKT_PASS(bkt_walk_note(&w->met, o->id.text, BKT_ID_LEN, path, w->err));
    if (o->kind != BKT_GROUP || depth >= w->levels)
        return BKT_OK;
    if (depth >= BKT_WALK_DEPTH)
        return BKT_ERR(w->err, BKT_EUNSUP, "groups are nested deeper than %d: %s", BKT_WALK_DEPTH, path);
    if (!bkt_map_get(w->warm, o->id.text, BKT_ID_LEN) && warm_up(w, &o->id, w->levels - depth) < 0)
        return BKT_ERR(w->err, BKT_ENOMEM, "out of memory");
    return visit_members(w, o, path, depth);
}

/* Apart from visit(), so that the error's room isn't on the stack at every level. */
static __attribute__((noinline)) int fetch(struct walk *w, const struct bkt_id *id, const char *path,
                     const struct bkt_link *link, const struct bkt_object **out)
{
    struct bkt_err why = {.n = 0};
    *out               = NULL;
    if (bkt_domain_get(w->d, id, out, &why) == BKT_OK)
        return BKT_OK;
    struct bkt_step s = {.path = path, .link = link, .why = &why};
    *out = NULL;
    return w->each(&s, w->arg);
}

static int visit(struct walk *w, const struct bkt_id *id, const char *path, const struct bkt_link *link,
                 unsigned depth)
{
    const struct bkt_object *o;
    int                      rc = fetch(w, id, path, link, &o);
    if (rc < 0 || !o)
        return rc;
    rc = visit_object(w, o, path, link, depth);
    bkt_object_release(o);
    return rc;
}

int bkt_walk(struct bkt_domain *d, const struct bkt_id *start, const char *path, unsigned levels,
             int (*each)(const struct bkt_step *s, void *arg), void *arg, struct bkt_err *err)
{
    struct walk w  = {.d = d, .levels = levels, .each = each, .arg = arg, .err = err};
    int         rc = visit(&w, start, path, NULL, 0);
    bkt_map_free(w.met, free);
    bkt_map_free(w.warm, NULL);
    return rc;
}

/* ---- all that is reachable ---- */

static int type_ids(const struct bkt_type *t, int (*each)(const struct bkt_id *id, void *arg), void *arg)
{
    if (!t)
        return BKT_OK;
    if (t->committed.text[0])
        BKT_PASS(each(&t->committed, arg));
    for (size_t i = 0; i < t->n_fields; i++)
        BKT_PASS(type_ids(t->fields[i].type, each, arg));
    return type_ids(t->base, each, arg);
}

struct wait { /* an object to be visited: the object that needs it, and its path */
    struct bkt_id from;
    char         *path;
};
struct reach {
    struct bkt_map *seen;
    struct bkt_ids  now, next;
    struct wait    *now_by, *next_by; /* beside the ids */
    size_t          next_cap;
    const struct bkt_object *from;
    const char     *path;
};

static int push(struct reach *r, const struct bkt_id *id, const struct bkt_id *from, const char *path)
{
    int rc = id_note_new(&r->seen, id);
    if (rc <= 0)
        return rc;
    if (bkt_list_room(&r->next_by, r->next.n, &r->next_cap, sizeof *r->next_by) < 0)
        return BKT_ENOMEM;
    char *copy = strdup(path);
    if (!copy || bkt_ids_add(&r->next, id) < 0) {
        free(copy);
        return BKT_ENOMEM;
    }
    r->next_by[r->next.n - 1] = (struct wait){*from, copy};
    return BKT_OK;
}

static int push_type(const struct bkt_id *id, void *arg)
{
    struct reach *r = arg;
    return push(r, id, &r->from->id, "");
}

/* Adds the objects that an object needs. */
static int push_all(struct reach *r, const struct bkt_object *o, const char *path)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf sub = {0};
    r->from = o;
    for (size_t i = 0; o->kind == BKT_GROUP && i < o->group.links.n; i++) {
        const struct bkt_link *l = &o->group.links.v[i];
        if (l->cls != BKT_L_HARD)
            continue;
        bkt_buf_clear(&sub);
        BKT_PASS(bkt_link_path(path, l->name, &sub));
        BKT_PASS(push(r, &l->id, &o->id, bkt_buf_str(&sub)));
    }
    for (size_t i = 0; i < o->attrs.n; i++)
        BKT_PASS(type_ids(o->attrs.v[i].type, push_type, r));
    if (o->kind == BKT_DATASET) {
        BKT_PASS(type_ids(o->dset.type, push_type, r));
        if (o->dset.layout.chunk_table.text[0])
            BKT_PASS(push(r, &o->dset.layout.chunk_table, &o->id, ""));
    }
    return BKT_OK;
}

int bkt_reach_also(const struct bkt_reached *r, const struct bkt_id *id)
{
    int rc = push(r->walk, id, &r->id, "");
    return rc < 0 ? rc : BKT_OK;
}

static int reach_one(struct bkt_domain *d, struct reach *r, size_t i,
                     int (*each)(const struct bkt_reached *, void *), void *arg, struct bkt_err *err)
{
    struct bkt_err     why = {.n = 0};
    struct bkt_reached at = {
        .id = r->now.v[i], .from = r->now_by[i].from, .path = r->now_by[i].path, .walk = r};
    const struct bkt_object *o = NULL;
    if (bkt_domain_get(d, &at.id, &o, &why) < 0)
        at.why = &why;
    at.obj = o;
    int rc = each(&at, arg);
    if (rc >= 0 && o && push_all(r, o, at.path) < 0)
        rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
    bkt_object_release(o);
    free(r->now_by[i].path);
    r->now_by[i].path = NULL;
    return rc;
}

static void reach_fini(struct reach *r)
{
    for (size_t i = 0; r->now_by && i < r->now.n; i++)
        free(r->now_by[i].path);
    for (size_t i = 0; r->next_by && i < r->next.n; i++)
        free(r->next_by[i].path);
    bkt_ids_fini(&r->now);
    bkt_ids_fini(&r->next);
    free(r->now_by);
    free(r->next_by);
    bkt_map_free(r->seen, NULL);
}

static const struct bkt_id nobody;

static int reach_all(struct bkt_domain *d, struct reach *r,
                     int (*each)(const struct bkt_reached *r, void *arg), void *arg, struct bkt_err *err)
{
    while (r->next.n) {
        bkt_ids_fini(&r->now);
        free(r->now_by);
        r->now = r->next, r->now_by = r->next_by;
        r->next = (struct bkt_ids){0};
        r->next_by = NULL;
        r->next_cap = 0;
        for (size_t i = 0; i < r->now.n; i++) {
            prefetch_batch(d, r->now.v, i, r->now.n);
            BKT_PASS(reach_one(d, r, i, each, arg, err));
        }
    }
    return BKT_OK;
}

int bkt_reach(struct bkt_domain *d, int (*each)(const struct bkt_reached *r, void *arg), void *arg,
              struct bkt_err *err)
{
    BKT_CLEANUP(reach_fini) struct reach r = {.seen = NULL};
    BKT_PASS_MEM(err, push(&r, bkt_domain_root(d), &nobody, "/"));
    return reach_all(d, &r, each, arg, err);
}

int bkt_reach_kept(struct bkt_domain *d, const struct bkt_ids *among,
                   int (*each)(const struct bkt_reached *r, void *arg), void *arg, struct bkt_err *err)
{
    BKT_CLEANUP(reach_fini) struct reach r = {.seen = NULL};
    for (size_t i = 0; i < among->n; i++) {
        const struct bkt_object *o = NULL;
        prefetch_batch(d, among->v, i, among->n);
        int rc = bkt_domain_get(d, &among->v[i], &o, NULL);
        bool kept =
            rc == BKT_OK ? o->extra_refs > 0 : rc != BKT_ENOENT && rc != BKT_EFORMAT && rc != BKT_EUNSUP;
        bkt_object_release(o);
        if (kept)
            BKT_PASS_MEM(err, push(&r, &among->v[i], &nobody, ""));
    }
    return reach_all(d, &r, each, arg, err);
}

/* ---- keys, object by object ---- */

struct keys {
    struct bkt_domain *d;
    const struct bkt_ids *without;
    int (*each)(const struct bkt_listed_key *s, void *arg);
    void *arg;
    const struct bkt_object *o; /* the current one */
    struct bkt_err *err;
};

static int pass_key(const struct keys *k, const struct bkt_listed_key *s, const struct bkt_buf *key,
                    uint64_t size)
{
    const struct bkt_listed entry = {.key = bkt_buf_str(key), .size = size, .etag = ""};
    struct bkt_listed_key all = *s;
    all.id = k->o->id;
    all.entry = &entry;
    return k->each(&all, k->arg);
}

static int pass_chunk(const uint64_t *coord, const struct bkt_chunk_info *info, void *arg)
{
    /* the tail is version 2's, whose folder of a dataset has a name of one length */
    static const struct bkt_id any = {"d-00000000-00000000-0000-000000-000000"};
    static const size_t folder = sizeof "db/00000000-00000000/d/0000-000000-000000/" - 1;
    struct keys *k = arg;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0}, v2 = {0};
    BKT_NEED(k->err, bkt_chunk_key(&k->o->id, &k->o->dset.layout, coord, &key) >= 0 &&
                         bkt_chunk_key(&any, &k->o->dset.layout, coord, &v2) >= 0);
    const char *tail = bkt_buf_str(&v2) + folder;
    struct bkt_listed_key s = {.what = BKT_KEY_CHUNK, .chunk = bkt_base_name(tail), .tail = tail};
    return pass_key(k, &s, &key, info->size);
}

static int pass_object(const struct bkt_reached *r, void *arg)
{
    struct keys *k = arg;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    BKT_CLEANUP(bkt_dsetio_closep) struct bkt_dsetio *io = NULL;
    struct bkt_listed_key s = {.what = BKT_KEY_OBJECT};
    if (!r->obj)
        return bkt_err_copy(k->err, r->why->code, r->why);
    k->o = r->obj;
    BKT_PASS_MEM(k->err, bkt_id_key(&r->id, &key));
    BKT_PASS(pass_key(k, &s, &key, r->obj->json_bytes));
    if (r->obj->kind != BKT_DATASET || r->obj->dset.layout.cls != BKT_D_CHUNKED ||
        bkt_ids_have(k->without, &r->id))
        return BKT_OK;
    BKT_PASS(bkt_dsetio_open(k->d, r->obj, NULL, &io, k->err));
    return bkt_chunk_iter(io, pass_chunk, k, k->err);
}

int bkt_reach_keys(struct bkt_domain *d, const struct bkt_ids *without,
                   int (*each)(const struct bkt_listed_key *s, void *arg), void *arg, struct bkt_err *err)
{
    struct keys k = {.d = d, .without = without, .each = each, .arg = arg, .err = err};
    return bkt_reach(d, pass_object, &k, err);
}

/* ---- a path ---- */

#define MAX_SOFT 32 /* HDF5 follows 16, unless a program asks for more (H5Pset_nlinks) */

static int no_link(struct bkt_domain *d, const char *name, bool is_group, const char *path, size_t n,
                   struct bkt_err *err)
{
    while (n > 0 && path[n - 1] == '/')
        n--;
    const char *in = n ? path : "/";
    int         k  = n ? (int)n : 1;
    BKT_FAIL_IF(err, !is_group, BKT_ENOENT, "%s: %.*s is not a group, so \"%s\" is not in it",
                bkt_domain_name(d), k, in, name);
    BKT_FAIL(err, BKT_ENOENT, "%s: no link \"%s\" in group %.*s", bkt_domain_name(d), name, k, in);
}

/* Follows one component; *path may be replaced by a soft link's target and the rest. */
static int follow(struct bkt_domain *d, struct bkt_id *at, char **path, const char **rest, unsigned *soft,
                  struct bkt_err *err)
{
    const struct bkt_object    *o;
    size_t                      n    = strcspn(*rest, "/");
    BKT_CLEANUP(bkt_freep) char *name = strndup(*rest, n);
    BKT_NEED(err, name);
    BKT_PASS(bkt_domain_get(d, at, &o, err));
    const struct bkt_link *l = o->kind == BKT_GROUP ? bkt_links_find(&o->group.links, name) : NULL;
    int                    rc = BKT_OK;
    char                  *to = NULL;
    if (!l)
        rc = no_link(d, name, o->kind == BKT_GROUP, *path, (size_t)(*rest - *path), err);
    else if (l->cls == BKT_L_HARD)
        *at = l->id;
    else if (l->cls != BKT_L_SOFT)
        rc = BKT_ERR(err, BKT_EUNSUP, "%s: link \"%s\" leads out of the domain", bkt_domain_name(d), name);
    else if (++*soft > MAX_SOFT)
        rc = BKT_ERR(err, BKT_EFORMAT, "%s: soft links form a cycle at \"%s\"", bkt_domain_name(d), name);
    else if (asprintf(&to, "%s%s", l->path, *rest + n) < 0)
        rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
    bkt_object_release(o);
    *rest += n;
    if (rc == BKT_OK && to) {
        free(*path);
        *path = to;
        *rest = to;
        if (*to == '/')
            *at = *bkt_domain_root(d);
    }
    return rc;
}

int bkt_walk_find(struct bkt_domain *d, const char *path, struct bkt_id *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *copy = strdup(path);
    const char                  *rest = copy;
    unsigned                     soft = 0;
    BKT_NEED(err, copy);
    if (bkt_id_set(out, path))
        return BKT_OK;
    *out = *bkt_domain_root(d);
    while (rest += strspn(rest, "/"), *rest) {
        if (strncmp(rest, ".", strcspn(rest, "/")) == 0 && strcspn(rest, "/") == 1)
            rest++;
        else
            BKT_PASS(follow(d, out, &copy, &rest, &soft, err));
    }
    return BKT_OK;
}
