/* The target of cp and mv; see target.h. */
#include "tools/bucket/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "schema/edit/edit.h"
#include "tools/bucket/bucket_names.h"

/* DST is a folder, or ends with '/': the domain goes into it under its own name. */
static int into(struct bkt_copy_target *target, const char *to, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_doc_fini) struct bkt_doc doc  = {0};
    size_t                                   n    = strlen(to);
    char                                    *path = NULL;
    BKT_PASS(bkt_doc_get(target->to.store, target->to.path, &doc, err));
    if (doc.what != BKT_IS_FOLDER && doc.what != BKT_IS_PREFIX && !(n && to[n - 1] == '/'))
        return BKT_OK;
    BKT_PASS_MEM(err, asprintf(&path, "%s%s%s", target->to.path, *target->to.path ? "/" : "",
                               bkt_base_name(target->from.path)));
    free(target->to.path);
    target->to.path = path;
    return BKT_OK;
}

/* A plain file of the domain's name would be hidden.  In a directory it was found before. */
static int no_file_there(const struct bkt_bucket_place *p, const char *name, struct bkt_err *err)
{
    BKT_FAIL_IF(
        err, !bkt_store_is_directory(p->store) && bkt_store_head(p->store, p->path, NULL, NULL) == BKT_OK,
        BKT_EEXIST, "%s: a file with this name exists, and it is not a domain (--force hides it)", name);
    return BKT_OK;
}

/* Checks that the target has no domain, or one that may be replaced. */
static int look_there(const struct bkt_tool *t, struct bkt_copy_target *target, bool replace,
                      struct bkt_err *err)
{
    const struct bkt_bucket_place *p = &target->to;
    struct bkt_doc *doc = &target->in_the_way;
    BKT_CLEANUP(bkt_freep) char *name = bkt_bucket_place_name(p->store, p->path);
    BKT_NEED(err, name);
    BKT_FAIL_IF(err, bkt_name_is_reserved(p->path), BKT_EINVAL, BKT_NAME_RESERVED "; choose another name",
                name);
    BKT_FAIL_IF(err, !*p->path, BKT_EINVAL, "%s names a bucket; a domain's path must follow", name);
    BKT_PASS(bkt_doc_get(p->store, p->path, doc, err));
    if (doc->what == BKT_IS_ABSENT)
        return replace ? BKT_OK : no_file_there(p, name, err);
    BKT_FAIL_IF(err, doc->what != BKT_IS_DOMAIN || !replace, BKT_EEXIST, "%s exists%s", name,
                doc->what == BKT_IS_DOMAIN ? " (--force replaces it)" : " and is a folder");
    BKT_PASS(bkt_doc_may(&doc->doc, p->path, &t->set, BKT_ACL_DELETE, err));
    return bkt_domain_open(name, &t->set, &target->old, err);
}

int bkt_copy_target_put(const struct bkt_tool *t, struct bkt_copy_target *target, const struct bkt_buf *json,
                        struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *up = strdup(target->to.path);
    char                        *cut = up ? strrchr(up, '/') : NULL;
    BKT_NEED(err, up);
    if (cut) {
        *cut = 0;
        BKT_PASS(bkt_folder_make(target->to.store, up, NULL, &t->set, err));
    }
    int rc = bkt_doc_put(target->to.store, target->to.path, json,
                         target->old ? target->in_the_way.etag : NULL, err);
    if (rc == BKT_EPRECOND) {
        bkt_err_clear(err);
        BKT_FAIL(err, BKT_EEXIST, "%s: another writer has %s it since", target->to.path,
                 target->old ? "changed" : "made");
    }
    BKT_PASS(rc);
    /* a second name of the source's own objects (linked domains): they must stay */
    bool second =
        target->old && strcmp(bkt_domain_root(target->old)->text, bkt_domain_root(target->src)->text) == 0;
    if (target->old && !second &&
        bkt_domain_delete_objects(target->old, err) <
            0) /* its code would mean that the document isn't stored */
        BKT_FAIL(err, BKT_EIO, "%s is stored, but not everything that it replaces was deleted",
                 target->to.path);
    return BKT_OK;
}

static int open_source(const struct bkt_tool *t, const char *from, struct bkt_copy_target *target,
                       struct bkt_err *err)
{
    BKT_PASS(bkt_bucket_place_open(from, &t->set, &target->from, err));
    BKT_PASS(bkt_domain_open(from, &t->set, &target->src, err));
    /* the open domain knows better than a web address where the bucket begins */
    free(target->from.path);
    target->from.path = strdup(bkt_domain_path(target->src));
    BKT_NEED(err, target->from.path);
    BKT_PASS(bkt_doc_get(bkt_domain_store(target->src), target->from.path, &target->doc, err));
    return bkt_domain_check_acl(target->src, BKT_ACL_READ, err);
}

int bkt_copy_target_open(const struct bkt_tool *t, const char *from, const char *to, bool replace,
                         struct bkt_copy_target *out, struct bkt_err *err)
{
    *out = (struct bkt_copy_target){.src = NULL};
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

void bkt_copy_target_fini(struct bkt_copy_target *target)
{
    bkt_domain_close(target->src);
    bkt_domain_close(target->old);
    target->src = target->old = NULL;
    bkt_doc_fini(&target->doc);
    bkt_doc_fini(&target->in_the_way);
    bkt_bucket_place_fini(&target->from);
    bkt_bucket_place_fini(&target->to);
}
