/* h5bucket touch: folders. */
#include <string.h>

#include "acl.h"
#include "place.h"
#include "tool.h"

static int put(const struct bkt_place *p, const char *path, const struct bkt_buf *json, const char *if_match, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    if (bkt_buf_addf(&key, "%s%s.domain.json", path, *path ? "/" : "") < 0)
        BKT_NOMEM(err);
    return bkt_store_put(p->store, bkt_buf_str(&key), json->ptr, json->len, if_match, if_match ? NULL : "*", NULL, err);
}

/* A folder that is there: its time only. */
static int refresh(const struct bkt_tool *t, const struct bkt_place *p, const char *path, const struct bkt_doc *doc,
                   struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf json = {0};
    BKT_PASS(bkt_doc_may(&doc->doc, path, &t->set, BKT_ACL_UPDATE, err));
    BKT_PASS(bkt_acl_edit(doc->json.ptr, doc->json.len, NULL, 0, bkt_now(), &json, err));
    return put(p, path, &json, doc->etag[0] ? doc->etag : NULL, err);
}

/* @p parent: NULL where the folder is at the top, or the one above has no document */
static int make(const struct bkt_tool *t, const struct bkt_place *p, const char *path, const struct bkt_doc *parent,
                struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf json  = {0};
    const char                              *owner = bkt_tool_opt(t, "owner");
    if (parent)
        BKT_PASS(bkt_doc_may(&parent->doc, path, &t->set, BKT_ACL_CREATE, err));
    if (!owner)
        owner = t->set.user && *t->set.user ? t->set.user : parent && parent->doc.owner ? parent->doc.owner : "admin";
    BKT_PASS(bkt_folder_emit(owner, parent ? &parent->doc : NULL, bkt_now(), &json, err));
    int rc = put(p, path, &json, NULL, err);
    if (rc == BKT_EPRECOND)
        bkt_err_clear(err); /* somebody made it in this moment: there it is */
    return rc == BKT_EPRECOND ? BKT_OK : rc;
}

/* The folder @p path, those above it too where that is wanted. */
static int touch(const struct bkt_tool *t, const struct bkt_place *p, char *path, bool last, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_doc_fini) struct bkt_doc doc = {0}, parent = {0};
    BKT_PASS(bkt_doc_get(p->store, path, &doc, err));
    if (doc.what == BKT_IS_DOMAIN)
        BKT_FAIL(err, BKT_EEXIST, "%s is a domain", path);
    if (doc.what == BKT_IS_FOLDER)
        return last ? refresh(t, p, path, &doc, err) : BKT_OK;
    char *cut = strrchr(path, '/');
    if (!cut)
        return make(t, p, path, NULL, err);
    *cut = 0;
    if (bkt_tool_has(t, "parents"))
        BKT_PASS(touch(t, p, path, false, err));
    BKT_PASS(bkt_doc_get(p->store, path, &parent, err));
    if (parent.what == BKT_IS_ABSENT || parent.what == BKT_IS_DOMAIN)
        BKT_FAIL(err, BKT_ENOENT, "%s is no folder (-p makes those above too)", path);
    *cut = '/';
    return make(t, p, path, parent.what == BKT_IS_FOLDER ? &parent : NULL, err);
}

static int run(struct bkt_tool *t)
{
    int rc = BKT_EXIT_OK;
    for (int i = 0; i < t->n_args; i++) {
        BKT_CLEANUP(bkt_place_fini) struct bkt_place p   = {0};
        struct bkt_err                               err = {.n = 0};
        int                                          one = bkt_place_open(t->args[i], &t->set, &p, &err);
        if (one == BKT_OK && (strcmp(p.path, "db") == 0 || strncmp(p.path, "db/", 3) == 0))
            one = BKT_ERR(&err, BKT_EINVAL, "the folder db is where the objects of all domains lie");
        if (one == BKT_OK && bkt_store_is_readonly(p.store))
            one = BKT_ERR(&err, BKT_EACCES, "%s can't be written to", bkt_store_uri(p.store));
        if (one == BKT_OK)
            one = touch(t, &p, p.path, true, &err);
        if (one < 0)
            rc = bkt_tool_error(t, t->args[i], &err);
    }
    return rc;
}

static const struct bkt_opt opts[] = {
    {'p', "parents", NULL, "make the folders above too", NULL},
    {'o', "owner", "NAME", "who owns a new folder (else setting user, else the owner of the folder above, else admin)", NULL},
};
const struct bkt_verb bkt_verb_touch = {
    .name = "touch", .args = "FOLDER...", .min_args = 1, .max_args = -1,
    .help = "make folders, or set the time of those that are there",
    .text = "A folder is an object that holds an owner and an access list. Domains need none above them, but HSDS does. A new\n"
            "folder's owner may do all in it, entries in the list of the folder above are kept, everybody may read it.",
    .opts = opts, .n_opts = BKT_COUNT(opts), .run = run,
};
