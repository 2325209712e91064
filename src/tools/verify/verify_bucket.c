/* h5bucket verify of a bucket: object trees that no domain has, left by writers that were killed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/verify/verify.h"

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
