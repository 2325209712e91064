/* The target of cp and mv; see target.h. */
#include "tools/bucket/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "schema/edit/edit.h"
#include "tools/bucket/names.h"

/* DST is a folder, or ends with '/': the domain goes into it under its own name. */
static int into(struct bkt_ends *g, const char *to, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_doc_fini) struct bkt_doc doc  = {0};
    size_t                                   n    = strlen(to);
    char                                    *path = NULL;
    BKT_PASS(bkt_doc_get(g->to.store, g->to.path, &doc, err));
    if (doc.what != BKT_IS_FOLDER && doc.what != BKT_IS_PREFIX && !(n && to[n - 1] == '/'))
        return BKT_OK;
    BKT_PASS_MEM(err,
                 asprintf(&path, "%s%s%s", g->to.path, *g->to.path ? "/" : "", bkt_base_name(g->from.path)));
    free(g->to.path);
    g->to.path = path;
    return BKT_OK;
}

/* Checks that the target has no domain, or one that may be replaced. */
static int look_there(const struct bkt_tool *t, struct bkt_ends *g, bool replace, struct bkt_err *err)
{
    const struct bkt_bucket_place *p = &g->to;
    struct bkt_doc              *doc  = &g->in_the_way;
    BKT_CLEANUP(bkt_freep) char *name = bkt_bucket_place_name(p->store, p->path);
    BKT_NEED(err, name);
    BKT_FAIL_IF(err, bkt_name_is_reserved(p->path), BKT_EINVAL, BKT_NAME_RESERVED, name);
    BKT_FAIL_IF(err, !*p->path, BKT_EINVAL, "%s names a bucket; a domain's path must follow", name);
    BKT_PASS(bkt_doc_get(p->store, p->path, doc, err));
    if (doc->what == BKT_IS_ABSENT)
        return BKT_OK;
    BKT_FAIL_IF(err, doc->what != BKT_IS_DOMAIN || !replace, BKT_EEXIST, "%s exists%s", name,
                doc->what == BKT_IS_DOMAIN ? " (--force replaces it)" : " and is a folder");
    BKT_PASS(bkt_doc_may(&doc->doc, p->path, &t->set, BKT_ACL_DELETE, err));
    return bkt_domain_open(name, &t->set, &g->old, err);
}

int bkt_ends_put(const struct bkt_tool *t, struct bkt_ends *g, const struct bkt_buf *json,
                 struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *up  = strdup(g->to.path);
    char                        *cut = up ? strrchr(up, '/') : NULL;
    BKT_NEED(err, up);
    if (cut) {
        *cut = 0;
        BKT_PASS(bkt_folder_make(g->to.store, up, NULL, &t->set, err));
    }
    int rc = bkt_doc_put(g->to.store, g->to.path, json, g->old ? g->in_the_way.etag : NULL, err);
    if (rc == BKT_EPRECOND) {
        bkt_err_clear(err);
        BKT_FAIL(err, BKT_EEXIST, "%s: another writer %s it meanwhile", g->to.path,
                 g->old ? "changed" : "made");
    }
    BKT_PASS(rc);
    /* a second name of the source's own objects (linked domains): they must stay */
    bool second = g->old && strcmp(bkt_domain_root(g->old)->text, bkt_domain_root(g->src)->text) == 0;
    if (g->old && !second &&
        bkt_domain_delete_objects(g->old, err) < 0) /* its code would mean that the document isn't stored */
        BKT_FAIL(err, BKT_EIO, "%s is stored, but not everything that it replaces was deleted", g->to.path);
    return BKT_OK;
}

static int open_source(const struct bkt_tool *t, const char *from, struct bkt_ends *g, struct bkt_err *err)
{
    BKT_PASS(bkt_bucket_place_open(from, &t->set, &g->from, err));
    BKT_PASS(bkt_domain_open(from, &t->set, &g->src, err));
    /* the open domain knows better than a web address where the bucket begins */
    free(g->from.path);
    g->from.path = strdup(bkt_domain_path(g->src));
    BKT_NEED(err, g->from.path);
    BKT_PASS(bkt_doc_get(bkt_domain_store(g->src), g->from.path, &g->doc, err));
    return bkt_domain_check_acl(g->src, BKT_ACL_READ, err);
}

int bkt_ends_open(const struct bkt_tool *t, const char *from, const char *to, bool replace,
                  struct bkt_ends *out, struct bkt_err *err)
{
    *out = (struct bkt_ends){.src = NULL};
    BKT_PASS(open_source(t, from, out, err));
    BKT_PASS(bkt_bucket_place_open(to, &t->set, &out->to, err));
    BKT_PASS(bkt_bucket_place_writable(&out->to, err));
    BKT_PASS(into(out, to, err));
    BKT_FAIL_IF(err,
                strcmp(bkt_store_uri(out->to.store), bkt_store_uri(bkt_domain_store(out->src))) == 0 &&
                    strcmp(out->from.path, out->to.path) == 0,
                BKT_EINVAL, "%s and %s are the same", from, to);
    BKT_PASS(bkt_folder_may_create(out->to.store, out->to.path, &t->set, err));
    return look_there(t, out, replace, err);
}

void bkt_ends_fini(struct bkt_ends *g)
{
    bkt_domain_close(g->src);
    bkt_domain_close(g->old);
    g->src = g->old = NULL;
    bkt_doc_fini(&g->doc);
    bkt_doc_fini(&g->in_the_way);
    bkt_bucket_place_fini(&g->from);
    bkt_bucket_place_fini(&g->to);
}
