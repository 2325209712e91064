#include "tools/bucket/folder.h"

#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "schema/json/acl.h"

int bkt_folder_above(struct bkt_store *st, const char *path, struct bkt_doc *out, char **up,
                     struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *at = strdup(path);
    *out = (struct bkt_doc){.what = BKT_IS_ABSENT};
    if (!at)
        BKT_NOMEM(err);
    for (char *cut; out->what == BKT_IS_ABSENT && (cut = strrchr(at, '/')) != NULL;) {
        *cut = 0;
        bkt_docs_get(st, &at, 1, out);
        if (out->rc < 0)
            return bkt_err_copy(err, out->rc, &out->why);
    }
    if (up) {
        *up = at;
        at  = NULL;
    }
    return BKT_OK;
}

int bkt_folder_may_create(struct bkt_store *st, const char *path, const struct bkt_settings *set,
                          struct bkt_err *err)
{
    BKT_CLEANUP(bkt_doc_fini) struct bkt_doc above = {0};
    BKT_CLEANUP(bkt_freep) char             *up    = NULL;
    BKT_PASS(bkt_folder_above(st, path, &above, &up, err));
    if (above.what == BKT_IS_DOMAIN)
        BKT_FAIL(err, BKT_EEXIST, "%s is a domain, not a folder", up);
    return above.what == BKT_IS_FOLDER ? bkt_doc_may(&above.doc, up, set, BKT_ACL_CREATE, err) : BKT_OK;
}

static int make_one(struct bkt_store *st, const char *path, const char *owner, const struct bkt_settings *set,
                    struct bkt_err *err)
{
    BKT_CLEANUP(bkt_doc_fini) struct bkt_doc above = {0};
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf json  = {0}, key = {0};
    BKT_PASS(bkt_folder_above(st, path, &above, NULL, err));
    const struct bkt_domain_doc *parent = above.what == BKT_IS_FOLDER ? &above.doc : NULL;
    if (!owner)
        owner = set->user && *set->user ? set->user : parent && parent->owner ? parent->owner : "admin";
    BKT_PASS(bkt_folder_emit(owner, parent, bkt_time_of_day(), &json, err));
    if (bkt_domain_doc_key(path, &key) < 0)
        BKT_NOMEM(err);
    int rc = bkt_store_put(st, bkt_buf_str(&key), json.ptr, json.len, NULL, "*", NULL, err);
    if (rc == BKT_EPRECOND)
        bkt_err_clear(err); /* another program has just made it */
    return rc == BKT_EPRECOND ? BKT_OK : rc;
}

int bkt_folder_make(struct bkt_store *st, const char *path, const char *owner, const struct bkt_settings *set,
                    struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *up   = NULL;
    BKT_CLEANUP(bkt_doc_fini) struct bkt_doc above = {0}, own = {0};
    char *one = (char *)(uintptr_t)path; /* not changed */
    bkt_docs_get(st, &one, 1, &own);
    if (own.rc < 0)
        return bkt_err_copy(err, own.rc, &own.why);
    if (own.what == BKT_IS_DOMAIN)
        BKT_FAIL(err, BKT_EEXIST, "%s is a domain", path);
    if (own.what == BKT_IS_FOLDER || !*path)
        return BKT_OK;
    BKT_PASS(bkt_folder_may_create(st, path, set, err));
    BKT_PASS(bkt_folder_above(st, path, &above, &up, err));
    /* from the topmost without a document down to the last */
    for (const char *end = path + (up && above.what == BKT_IS_FOLDER ? strlen(up) + 1 : 0); end;) {
        end                             = strchr(end, '/');
        BKT_CLEANUP(bkt_freep) char *at = end ? strndup(path, (size_t)(end - path)) : strdup(path);
        if (!at)
            BKT_NOMEM(err);
        BKT_PASS(make_one(st, at, owner, set, err));
        end = end ? end + 1 : NULL;
    }
    return BKT_OK;
}
