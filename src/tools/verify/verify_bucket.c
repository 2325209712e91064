/* h5bucket verify of a bucket: object trees that no domain has, left by writers that were killed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "tools/show/show.h"
#include "tools/verify/verify.h"

void bkt_verify_uploads_fini(struct bkt_verify_uploads *u)
{
    for (size_t i = 0; i < u->n; i++) {
        free(u->v[i].key);
        free(u->v[i].id);
    }
    free(u->v);
}

static int on_upload(const struct bkt_upload *u, void *arg)
{
    struct bkt_verify_uploads *l = arg;
    if (bkt_list_room(&l->v, l->n, &l->cap, sizeof *l->v) < 0)
        return BKT_ENOMEM;
    struct bkt_verify_upload *e = &l->v[l->n++];
    *e               = (struct bkt_verify_upload){strdup(u->key), strdup(u->id), u->begun};
    return e->key && e->id ? BKT_OK : BKT_ENOMEM;
}

int bkt_verify_uploads_list(struct bkt_verify *v, struct bkt_store *st, const char *prefix,
                            struct bkt_verify_uploads *out)
{
    struct bkt_err why = {.n = 0};
    int            rc  = bkt_store_uploads(st, prefix, on_upload, out, &why);
    if (rc == BKT_ENOMEM)
        return BKT_ERR(v->err, rc, "out of memory");
    if (rc < 0) /* many servers don't list them, or not for this user */
        bkt_verify_note(v, "uploads in parts", prefix, &why);
    return BKT_OK;
}

static int report_upload(struct bkt_verify *v, struct bkt_store *st, const struct bkt_verify_upload *u)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    struct bkt_orphan o = {.modified = u->begun};
    o.fresh   = bkt_verify_is_fresh(v, st, u->begun) || (u->begun <= 0 && v->min_age > 0);
    o.removed = v->repair && !o.fresh;
    if (o.removed)
        BKT_PASS(bkt_store_abort(st, u->key, u->id, v->err));
    bkt_show_name(&b, u->key);
    bkt_jout_open(&v->j, NULL, '{');
    bkt_jout_members(&v->j, "upload:s upload_id:s", u->key, u->id);
    bkt_verify_end_orphan(v, &o, "upload of %s was never completed", bkt_buf_str(&b));
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
            BKT_PASS(report_upload(v, st, &u->v[i]));
    return BKT_OK;
}

/* ---- object trees ---- */

struct roots {
    struct bkt_verify *v;
    struct bkt_store  *st;
    struct bkt_map    *used; /* names of trees that domains have */
    struct bkt_map    *trees;
    struct bkt_strs others; /* folders in db that are not trees */
    bool blind;             /* some domains can't be seen: no tree may be removed */
    unsigned           depth;
    int                rc;
    struct bkt_verify_uploads uploads;
};

static int on_entry(const char *path, void *arg);

/* Its object tree isn't an orphan. */
static int note_domain(struct roots *r, const char *path, bool *is_domain)
{
    BKT_CLEANUP(bkt_doc_fini) struct bkt_doc doc = {0};
    BKT_PASS(bkt_doc_get(r->st, path, &doc, r->v->err));
    *is_domain = doc.what == BKT_IS_DOMAIN && bkt_id_is_v2(&doc.doc.root);
    int rc = *is_domain ? bkt_map_set(&r->used, doc.doc.root.text + 2, BKT_TREE, r, NULL) : BKT_OK;
    return rc < 0 ? BKT_ERR(r->v->err, rc, "out of memory") : BKT_OK;
}

static int on_link(const struct bkt_listed *e, void *arg)
{
    struct roots *r = arg;
    struct bkt_err why = {.n = 0};
    if (!e->is_link)
        return BKT_OK;
    r->blind = true;
    (void)BKT_ERR(
        &why, BKT_EACCES,
        "a symbolic link, not followed; domains behind it aren't seen, so no tree without a domain is "
        "removed; to follow links, set links=follow (H5BUCKET_LINKS)");
    bkt_verify_note(r->v, e->key, "", &why);
    return BKT_OK;
}

/* Only a directory has symbolic links. */
static int look_for_links(struct roots *r, const char *path)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf prefix = {0};
    if (!bkt_store_is_local(r->st))
        return BKT_OK;
    BKT_PASS_MEM(r->v->err, bkt_buf_addf(&prefix, "%s%s", path, *path ? "/" : ""));
    return bkt_store_list(r->st, bkt_buf_str(&prefix), "/", on_link, r, r->v->err);
}

static int look_at(struct roots *r, const char *path)
{
    bool is_domain;
    BKT_PASS(note_domain(r, path, &is_domain));
    if (is_domain)
        return BKT_OK;
    BKT_PASS(look_for_links(r, path));
    if (r->depth > BKT_TOOL_FOLDERS)
        return BKT_ERR(r->v->err, BKT_EUNSUP, "%s: folders are nested too deep", path);
    r->depth++;
    int rc = bkt_bucket_place_list(r->st, path, on_entry, r, r->v->err);
    r->depth--;
    return rc;
}

static int on_entry(const char *path, void *arg) { return look_at(arg, path); }

static int on_tree(const struct bkt_listed *e, void *arg)
{
    struct roots *r = arg;
    size_t        n = strlen(e->key); /* db/xxxxxxxx-xxxxxxxx/ */
    if (!e->is_prefix || n < 4)
        return BKT_OK;
    if (n != 3 + BKT_TREE + 1 || !bkt_is_tree(e->key + 3))
        return bkt_strs_take(&r->others, strndup(e->key, n - 1));
    return bkt_map_set(&r->trees, e->key + 3, BKT_TREE, r, NULL) < 0 ? BKT_ENOMEM : BKT_OK;
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
    a->newest = e->stored > a->newest ? e->stored : a->newest;
    return BKT_OK;
}

static int report(struct roots *r, const char *digits)
{
    struct bkt_verify *v = r->v;
    struct age         a = {0};
    char               prefix[40];
    snprintf(prefix, sizeof prefix, "db/%.*s/", BKT_TREE, digits);
    BKT_PASS(bkt_store_list(r->st, prefix, "", on_object, &a, v->err));
    if (!a.n) /* removed since, or directories that a killed writer made for its first object */
        return BKT_OK;
    struct bkt_orphan o = {.st = r->st, .modified = a.newest};
    BKT_PASS(bkt_verify_orphan(v, &o, prefix, NULL));
    bkt_jout_members(&v->j, "tree:s objects:n bytes:n", prefix, a.n, a.bytes);
    bkt_verify_end_orphan(v, &o, "no domain has %s, %llu objects, %llu bytes", prefix,
                          (unsigned long long)a.n, (unsigned long long)a.bytes);
    return BKT_OK;
}

/* Other programs may have made domains there; the connector refuses to. */
static int look_in_db(struct roots *r)
{
    bool is_domain;
    BKT_PASS(note_domain(r, "db", &is_domain));
    BKT_PASS(look_for_links(r, "db"));
    for (size_t i = 0; i < r->others.n; i++)
        BKT_PASS(look_at(r, r->others.v[i]));
    return BKT_OK;
}

/* Lists the trees first, then the documents, so that the tree of a domain made between the lists isn't taken
 * for an orphan. */
static int run(struct roots *r)
{
    struct bkt_map_at at = {0};
    BKT_PASS(bkt_store_list(r->st, "db/", "/", on_tree, r, r->v->err));
    BKT_PASS(bkt_verify_uploads_list(r->v, r->st, "db/", &r->uploads));
    BKT_PASS(look_for_links(r, ""));
    BKT_PASS(bkt_bucket_place_list(r->st, "", on_entry, r, r->v->err));
    BKT_PASS(look_in_db(r));
    r->v->repair &= !r->blind;
    while (bkt_map_walk(r->trees, &at)) {
        r->v->n_objects++;
        if (!bkt_map_get(r->used, at.key, BKT_TREE))
            BKT_PASS(report(r, at.key));
    }
    return bkt_verify_uploads(r->v, r->st, &r->uploads, r->used);
}

int bkt_verify_bucket(struct bkt_verify *v, const struct bkt_bucket_place *p)
{
    struct roots r  = {.v = v, .st = p->store};
    int          rc = run(&r);
    bkt_map_free(r.used, NULL);
    bkt_map_free(r.trees, NULL);
    bkt_strs_fini(&r.others);
    bkt_verify_uploads_fini(&r.uploads);
    return rc;
}
