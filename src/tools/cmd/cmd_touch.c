/* h5bucket touch: folders. */
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "schema/domain/doc_rewrite.h"
#include "schema/json/acl.h"
#include "tools/bucket/bucket_names.h"
#include "tools/cli/tool.h"
#include "tools/show/show.h"

struct touched {
    const struct bkt_tool *t;
    const struct bkt_bucket_place *p;
};

/* Updates the time of an existing folder. */
static int refresh_once(void *arg, char version[BKT_ETAG_MAX], struct bkt_err *err)
{
    const struct touched                    *to   = arg;
    const struct bkt_bucket_place *p = to->p;
    BKT_CLEANUP(bkt_doc_fini) struct bkt_doc doc  = {0};
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf json = {0};
    BKT_PASS(bkt_doc_get(p->store, p->path, &doc, err));
    memcpy(version, doc.etag, sizeof doc.etag);
    BKT_FAIL_IF(err, doc.what != BKT_IS_FOLDER, BKT_ENOENT, "%s is not a folder any more", p->path);
    BKT_PASS(bkt_doc_may(&doc.doc, p->path, &to->t->set, BKT_ACL_UPDATE, err));
    BKT_PASS(bkt_acl_edit(doc.json.ptr, doc.json.len, NULL, 0, bkt_time_of_day(), &json, err));
    return bkt_doc_put(p->store, p->path, &json, doc.etag, err);
}

/* Without --parents the folder above must exist, with or without a document. */
static int has_parent(const struct bkt_bucket_place *p, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_doc_fini) struct bkt_doc doc = {0};
    BKT_CLEANUP(bkt_freep) char             *up  = strdup(p->path);
    char                                    *cut = up ? strrchr(up, '/') : NULL;
    BKT_NEED(err, up);
    if (!cut)
        return BKT_OK;
    *cut = 0;
    BKT_PASS(bkt_doc_get(p->store, up, &doc, err));
    BKT_FAIL_IF(err, doc.what == BKT_IS_ABSENT || doc.what == BKT_IS_DOMAIN, BKT_ENOENT,
                "%s: not a folder; -p makes the folders above, too", up);
    return BKT_OK;
}

/* A folder of a plain file's name would hide that file from HSDS and from the tool's verbs. */
static int no_file_there(const struct bkt_tool *t, const struct bkt_bucket_place *p, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *at = strdup(p->path);
    BKT_NEED(err, at);
    for (char *cut = at; cut; cut = strrchr(at, '/')) {
        if (cut != at)
            *cut = 0;
        BKT_FAIL_IF(err, bkt_bucket_place_is_hdf5(p->store, at), BKT_EEXIST,
                    "%s is a plain HDF5 file in a store, not a folder; a folder needs another name", at);
        if (!bkt_tool_has(t, "parents"))
            break;
    }
    return BKT_OK;
}

/* *made: it wasn't there before */
static int touch(const struct bkt_tool *t, const struct bkt_bucket_place *p, bool *made, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_doc_fini) struct bkt_doc doc = {0};
    *made = false;
    BKT_FAIL_IF(err, bkt_name_is_reserved(p->path), BKT_EINVAL, BKT_NAME_RESERVED "; choose another name",
                p->path);
    BKT_FAIL_IF(
        err, !*p->path, BKT_EINVAL,
        "a whole bucket is not a folder: make it with its owner's tools (`aws s3 mb s3://NAME`); "
        "it needs no more before programs write s3://NAME/FILE; `h5bucket doctor s3://NAME` checks it");
    BKT_PASS(bkt_bucket_place_writable(p, err));
    BKT_PASS(bkt_doc_get(p->store, p->path, &doc, err));
    BKT_FAIL_IF(err, doc.what == BKT_IS_DOMAIN, BKT_EEXIST, "%s is a domain", p->path);
    if (doc.what == BKT_IS_FOLDER)
        return bkt_doc_change(refresh_once, &(struct touched){t, p}, err);
    BKT_PASS(no_file_there(t, p, err));
    if (!bkt_tool_has(t, "parents"))
        BKT_PASS(has_parent(p, err));
    *made = true;
    return bkt_folder_make(p->store, p->path, bkt_tool_opt(t, "owner"), &t->set, err);
}

static void report(struct bkt_tool *t, const struct bkt_bucket_place *p, bool made)
{
    BKT_CLEANUP(bkt_freep) char *name = bkt_bucket_place_name(p->store, p->path);
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b    = {0};
    bkt_jout_object(&t->j, "folder:u made:b", name, made);
    if (!t->json && bkt_tool_has(t, "verbose")) {
        bkt_show_url(&b, name ? name : p->path);
        printf("%s folder %s\n", made ? "made" : "touched", bkt_buf_str(&b));
    }
}

static int run(struct bkt_tool *t)
{
    int rc = BKT_EXIT_OK;
    bkt_jout_open(&t->j, NULL, '[');
    for (int i = 0; i < t->n_args; i++) {
        BKT_CLEANUP(bkt_bucket_place_fini) struct bkt_bucket_place p = {0};
        struct bkt_err                               err  = {.n = 0};
        bool                                         made = false;
        int one = bkt_bucket_place_open(t->args[i], &t->set, &p, &err);
        if (one == BKT_OK)
            one = touch(t, &p, &made, &err);
        if (one < 0)
            rc = bkt_tool_error(t, t->args[i], &err);
        else
            report(t, &p, made);
    }
    bkt_jout_close(&t->j);
    return rc;
}

static const struct bkt_opt opts[] = {
    {'p', "parents", NULL, "make the folders above too", NULL},
    {'o', "owner", "NAME", "owner of a new folder (default: setting user, else the owner of the folder "
     "above, else admin)", NULL},
    {'v', "verbose", NULL, "print what is made", NULL},
};
const struct bkt_verb bkt_verb_touch = {
    .name = "touch", .args = "FOLDER...", .min_args = 1, .max_args = -1,
    .help = "make folders, or set the time of existing folders",
    .text = "A folder is an object with an owner and an access list. The connector needs no folders above a\n"
            "domain, but HSDS does. A new folder's owner has all permissions, all users may read it, and\n"
            "the entries of the folder above are kept.\n\n"
            "JSON: [{\"folder\", \"made\": false if it existed}].",
    .opts = opts, .n_opts = BKT_COUNT(opts), .json = true, .run = run,
};
