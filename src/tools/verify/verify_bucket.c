/* h5bucket verify of a bucket: object trees that no domain has, left by writers that were killed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "tools/show/show.h"
#include "tools/verify/verify.h"

struct upload {
    char  *key, *id;
    double begun;
};
struct bkt_verify_uploads {
    struct upload *v;
    size_t         n, cap;
};

void bkt_verify_uploads_free(struct bkt_verify_uploads *u)
{
    for (size_t i = 0; u && i < u->n; i++) {
        free(u->v[i].key);
        free(u->v[i].id);
    }
    free(u ? u->v : NULL);
    free(u);
}

static int on_upload(const struct bkt_upload *u, void *arg)
{
    struct bkt_verify_uploads *l = arg;
    if (bkt_list_room(&l->v, l->n, &l->cap, sizeof *l->v) < 0)
        return BKT_ENOMEM;
    struct upload *e = &l->v[l->n++];
    *e               = (struct upload){strdup(u->key), strdup(u->id), u->begun};
    return e->key && e->id ? BKT_OK : BKT_ENOMEM;
}

int bkt_verify_uploads_list(struct bkt_verify *v, struct bkt_store *st, const char *prefix,
                            struct bkt_verify_uploads **out)
{
    struct bkt_err             why = {.n = 0};
    struct bkt_verify_uploads *u   = *out = calloc(1, sizeof *u);
    int                        rc  = u ? bkt_store_uploads(st, prefix, on_upload, u, &why) : BKT_ENOMEM;
    if (rc == BKT_ENOMEM)
        return BKT_ERR(v->err, rc, "out of memory");
    if (rc < 0) /* many servers don't list them, or not for this user */
        bkt_verify_note(v, "uploads in parts", prefix, &why);
    return BKT_OK;
}

static int tell_upload(struct bkt_verify *v, struct bkt_store *st, const struct upload *u)
{
    bool fresh = bkt_verify_is_fresh(v, st, u->begun) || (u->begun <= 0 && v->min_age > 0),
         removed = v->repair && !fresh;
    if (removed)
        BKT_PASS(bkt_store_abort(st, u->key, u->id, v->err));
    if (v->t->json) {
        bkt_jout_open(&v->j, NULL, '{');
        bkt_jout_str(&v->j, "upload", u->key);
        bkt_jout_str(&v->j, "upload_id", u->id);
    } else {
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
        bkt_show_name(&b, u->key);
        printf("%s: upload of %s was never completed%s\n", fresh ? "fresh" : "orphan", bkt_buf_str(&b),
               removed ? ": removed" : "");
    }
    bkt_verify_end_orphan(v, u->begun, fresh, removed);
    return BKT_OK;
}

/* db/xxxxxxxx-xxxxxxxx/...: of a tree that no domain has. */
static bool is_lost(const char *key, const struct bkt_map *used)
{
    return strlen(key) > 3 + BKT_TREE && bkt_is_tree(key + 3) && key[3 + BKT_TREE] == '/' &&
           !bkt_map_get(used, key + 3, BKT_TREE);
}

int bkt_verify_uploads(struct bkt_verify *v, struct bkt_store *st, const struct bkt_verify_uploads *u,
                       const struct bkt_map *used)
{
    for (size_t i = 0; i < u->n; i++)
        if (!used || is_lost(u->v[i].key, used))
            BKT_PASS(tell_upload(v, st, &u->v[i]));
    return BKT_OK;
}

/* ---- object trees ---- */

struct roots {
    struct bkt_verify *v;
    struct bkt_store  *st;
    struct bkt_map    *used; /* names of trees that domains have */
    struct bkt_map    *trees;
    unsigned           depth;
    int                rc;
    struct bkt_verify_uploads *uploads;
};

static int on_entry(const char *path, void *arg);

static int look_at(struct roots *r, const char *path)
{
    BKT_CLEANUP(bkt_doc_fini) struct bkt_doc doc = {0};
    BKT_PASS(bkt_doc_get(r->st, path, &doc, r->v->err));
    if (doc.what == BKT_IS_DOMAIN && bkt_id_is_v2(&doc.doc.root)) {
        int rc = bkt_map_put(r->used, doc.doc.root.text + 2, BKT_TREE, r, NULL);
        return rc < 0 ? BKT_ERR(r->v->err, rc, "out of memory") : BKT_OK;
    }
    if (r->depth > BKT_TOOL_FOLDERS)
        return BKT_ERR(r->v->err, BKT_EUNSUP, "%s: folders are nested too deep", path);
    r->depth++;
    int rc = bkt_place_list(r->st, path, on_entry, r, r->v->err);
    r->depth--;
    return rc;
}

static int on_entry(const char *path, void *arg) { return look_at(arg, path); }

static int on_tree(const struct bkt_listed *e, void *arg)
{
    struct roots *r = arg;
    size_t        n = strlen(e->key); /* db/xxxxxxxx-xxxxxxxx/ */
    if (!e->is_prefix || n != 3 + BKT_TREE + 1 || !bkt_is_tree(e->key + 3))
        return BKT_OK;
    return bkt_map_put(r->trees, e->key + 3, BKT_TREE, r, NULL) < 0 ? BKT_ENOMEM : BKT_OK;
}

struct age {
    double   newest;
    uint64_t n, bytes;
};
static int on_object(const struct bkt_listed *e, void *arg)
{
    struct age *a = arg;
    a->n++;
    a->bytes += e->size;
    a->newest = e->mtime > a->newest ? e->mtime : a->newest;
    return BKT_OK;
}

static int tell(struct roots *r, const char *digits)
{
    struct bkt_verify *v = r->v;
    struct age         a = {0};
    char               prefix[40];
    snprintf(prefix, sizeof prefix, "db/%.*s/", BKT_TREE, digits);
    BKT_PASS(bkt_store_list(r->st, prefix, "", on_object, &a, v->err));
    bool fresh = bkt_verify_is_fresh(v, r->st, a.newest), removed = false;
    if (v->repair && !fresh) {
        BKT_PASS(bkt_verify_delete(v, r->st, prefix, &fresh));
        removed = !fresh;
    }
    if (v->t->json) {
        bkt_jout_open(&v->j, NULL, '{');
        bkt_jout_str(&v->j, "tree", prefix);
        bkt_jout_u64(&v->j, "objects", a.n);
        bkt_jout_u64(&v->j, "bytes", a.bytes);
    } else {
        printf("%s: no domain has %s, %llu objects, %llu bytes%s\n", fresh ? "fresh" : "orphan", prefix,
               (unsigned long long)a.n, (unsigned long long)a.bytes, removed ? ": removed" : "");
    }
    bkt_verify_end_orphan(v, a.newest, fresh, removed);
    return BKT_OK;
}

/* Lists the trees first, then the documents, so that the tree of a domain made meanwhile isn't taken for an
 * orphan. */
static int run(struct roots *r)
{
    size_t      pos = 0, n;
    const void *key;
    void       *value;
    BKT_PASS(bkt_store_list(r->st, "db/", "/", on_tree, r, r->v->err));
    BKT_PASS(bkt_verify_uploads_list(r->v, r->st, "db/", &r->uploads));
    BKT_PASS(bkt_place_list(r->st, "", on_entry, r, r->v->err));
    while (bkt_map_next(r->trees, &pos, &key, &n, &value)) {
        r->v->n_objects++;
        if (!bkt_map_get(r->used, key, BKT_TREE))
            BKT_PASS(tell(r, key));
    }
    return bkt_verify_uploads(r->v, r->st, r->uploads, r->used);
}

int bkt_verify_bucket(struct bkt_verify *v, const struct bkt_place *p)
{
    struct roots r  = {.v = v, .st = p->store, .used = bkt_map_new(), .trees = bkt_map_new()};
    int          rc = r.used && r.trees ? run(&r) : BKT_ERR(v->err, BKT_ENOMEM, "out of memory");
    bkt_map_free(r.used, NULL);
    bkt_map_free(r.trees, NULL);
    bkt_verify_uploads_free(r.uploads);
    return rc;
}
