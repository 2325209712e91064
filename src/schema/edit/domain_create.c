/* Creation of domains: checks of the name, of the folders above and of rights; the document and the root
 * group. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/trace.h"
#include "schema/edit/agreed.h"
#include "schema/edit/edit_impl.h"
#include "schema/json/acl.h"
#include "schema/json/documents.h"
#include "schema/name/bucket_dir.h"

/* ---- what exists, asked for at once: the domain's document, those of folders above, keys below, and a plain
 * file of that name ---- */

struct above {
    char *paths[BKT_FOLDERS_MAX + 1]; /* [0]: the domain, then outwards */
    struct bkt_buf keys[BKT_FOLDERS_MAX + 1];
    struct bkt_req reqs[BKT_FOLDERS_MAX + 2]; /* [n]: HEAD of the plain file, if it matters */
    struct bkt_domain_doc docs[BKT_FOLDERS_MAX + 1];
    size_t                n;
    bool asks_file;
    struct bkt_store     *store;
    char                 *below; /* some key below the domain's; NULL: none, or the server doesn't list */
};

static void above_fini(struct above *a)
{
    for (size_t i = 0; i < a->n; i++) {
        bkt_req_fini(&a->reqs[i]);
        bkt_domain_doc_fini(&a->docs[i]);
        free(a->paths[i]);
        bkt_buf_fini(&a->keys[i]);
    }
    if (a->asks_file)
        bkt_req_fini(&a->reqs[a->n]);
    free(a->below);
}

static int above_add(struct above *a, const char *path, size_t len)
{
    size_t i = a->n++;
    a->paths[i] = strndup(path, len);
    if (!a->paths[i] || bkt_domain_doc_key(a->paths[i], &a->keys[i]) < 0)
        return BKT_ENOMEM;
    a->reqs[i] = (struct bkt_req){.op = BKT_GET, .key = bkt_buf_str(&a->keys[i]), .len = BKT_WHOLE};
    return BKT_OK;
}

/* Keys that consoles make for a folder, and the connector's keys, don't count. */
static int note_below(const struct bkt_listed *e, void *arg)
{
    struct above *a    = arg;
    const char   *leaf = e->key + strlen(a->paths[0]) + 1;
    if (!*leaf || strcmp(leaf, ".domain.json") == 0 || strncmp(leaf, ".h5bucket", 9) == 0)
        return BKT_OK;
    a->below = strdup(leaf);
    return BKT_ECANCEL;
}

/* A directory was checked before (uri.c).  If the user may not list, or the server can't, the domain is
 * created without this check. */
static void look_below(void *arg)
{
    struct above                            *a      = arg;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf prefix = {0};
    if (bkt_store_is_local(a->store) || bkt_buf_addf(&prefix, "%s/", a->paths[0]) < 0)
        return;
    int rc = bkt_store_list(a->store, bkt_buf_str(&prefix), "/", note_below, a, NULL);
    bkt_trace(BKT_TRACE_SCHEMA, "below %s: %s", bkt_buf_str(&prefix),
              a->below ? a->below
              : rc < 0 ? bkt_err_text(rc)
                       : "nothing");
}

/* A plain file in the domain's place matters to a program that doesn't want to hide one.  A directory was
 * checked before (uri.c).  Without permission to list, S3 reports a missing key as 403. */
static void ask_file(struct bkt_domain *d, struct above *a, bool truncate)
{
    a->asks_file = !truncate && !bkt_store_is_directory(d->store);
    if (a->asks_file)
        a->reqs[a->n] = (struct bkt_req){.op = BKT_HEAD, .key = d->path};
}

static int look_above(struct bkt_domain *d, bool truncate, struct above *a, struct bkt_err *err)
{
    size_t len = strlen(d->path);
    while (len) {
        BKT_FAIL_IF(err, a->n > BKT_FOLDERS_MAX, BKT_EINVAL, "%s: more than %d folders", d->path,
                    BKT_FOLDERS_MAX);
        BKT_PASS_MEM(err, above_add(a, d->path, len));
        while (len && d->path[--len] != '/') {}
    }
    a->store = d->store;
    ask_file(d, a, truncate);
    (void)bkt_store_perform_and(d->store, a->reqs, a->n + a->asks_file, look_below, a, NULL);
    for (size_t i = 0; i < a->n + a->asks_file; i++) {
        const struct bkt_req *r = &a->reqs[i];
        if (r->rc != BKT_OK && r->rc != BKT_ENOENT && !(r->rc == BKT_EACCES && i > 0))
            return bkt_err_copy(err, r->rc, r->err);
        if (r->rc == BKT_OK && i < a->n)
            BKT_TRY(err, bkt_domain_doc_parse(r->body.ptr, r->body.len, &a->docs[i], err), "%s", r->key);
    }
    return BKT_OK;
}

/* The nearest folder that has a document must admit the user; nearer folders get a document at the first
 * flush. */
static int judge_above(struct bkt_domain *d, struct above *a, size_t *folder, struct bkt_err *err)
{
    for (*folder = 1; *folder < a->n && a->reqs[*folder].rc == BKT_ENOENT; ++*folder) {}
    if (*folder < a->n && a->reqs[*folder].rc == BKT_OK) {
        BKT_FAIL_IF(err, a->docs[*folder].root.text[0], BKT_EINVAL,
                    "%s can't be made: %s is a domain, not a folder", d->path, a->paths[*folder]);
        BKT_FAIL_IF(err, !bkt_domain_doc_lets(&a->docs[*folder], d->set.user, BKT_ACL_CREATE), BKT_EACCES,
                    "%s can't be made: the ACL of folder %s does not let user %s create (setting user)",
                    d->path, a->paths[*folder], d->set.user);
    }
    d->edits->folders = calloc(a->n + 1, sizeof *d->edits->folders);
    BKT_NEED(err, d->edits->folders);
    for (size_t i = *folder; i-- > 1;) {
        d->edits->folders[d->edits->n_folders] = strdup(a->paths[i]);
        BKT_NEED(err, d->edits->folders[d->edits->n_folders++]);
    }
    return BKT_OK;
}

static int judge_itself(struct bkt_domain *d, const struct above *a, bool truncate, struct bkt_err *err)
{
    struct bkt_edits *e = d->edits;
    e->replace          = truncate;
    BKT_FAIL_IF(err, a->reqs[0].rc == BKT_ENOENT && a->below, BKT_EEXIST,
                "%s: a folder with this name exists, and it is not empty (%s is in it)", d->path, a->below);
    BKT_FAIL_IF(err, a->reqs[0].rc == BKT_ENOENT && a->asks_file && a->reqs[a->n].rc == BKT_OK, BKT_EEXIST,
                "%s/%s: a file with this name exists, and it is not a domain; H5F_ACC_TRUNC makes a domain "
                "that hides it",
                bkt_store_uri(d->store), d->path);
    if (a->reqs[0].rc == BKT_ENOENT)
        return BKT_OK;
    BKT_FAIL_IF(err, !a->docs[0].root.text[0], BKT_EEXIST, "%s: a folder with this name exists", d->path);
    BKT_FAIL_IF(err, !truncate, BKT_EEXIST, "domain %s exists", d->path);
    BKT_FAIL_IF(err, !bkt_domain_doc_lets(&a->docs[0], d->set.user, BKT_ACL_DELETE), BKT_EACCES,
                "%s can't be replaced: its ACL does not let user %s delete it (setting user)", d->path,
                d->set.user);
    e->old_root = a->docs[0].root;
    e->old_etag = strdup(a->reqs[0].etag);
    return BKT_MADE(err, e->old_etag);
}

/* ---- its place ---- */

/* "file:///" and a path from the root: the nearest directory above that is a bucket, else the one that holds
 * the domain. */
static int find_bucket(const struct bkt_name *n, char **uri, char **path, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *dir = NULL;
    BKT_PASS_MEM(err, bkt_text(&dir, "/%s", n->path));
    *strrchr(dir, '/') = 0;
    (void)bkt_bucket_find(dir);
    BKT_PASS_MEM(err, bkt_text(uri, "file://%s", *dir ? dir : "/"));
    *path = strdup(n->path + strlen(dir));
    return BKT_MADE(err, *path);
}

/* Find path and store of a domain that has no document yet, and open the store. */
static int find_place(struct bkt_domain *d, const struct bkt_name *n, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *uri = NULL;
    BKT_FAIL_IF(err, n->search && !n->local, BKT_EACCES, "%s/%s: a web server can't be written to",
                n->store_uri, n->path);
    if (n->search) {
        BKT_PASS(find_bucket(n, &uri, &d->path, err));
    } else if (!(d->path = strdup(n->path))) {
        BKT_NOMEM(err);
    }
    BKT_FAIL_IF(err, !*d->path, BKT_EINVAL, "%s is not the name of a domain", n->store_uri);
    BKT_PASS(bkt_store_open(uri ? uri : n->store_uri, &d->set, &d->store, err));
    return bkt_store_need_writable(d->store, err);
}

/* ---- the new domain ---- */

/* Users who have rights in the folder keep them; otherwise HSDS makes new domains private. */
static int fill_doc(struct bkt_domain *d, const struct bkt_domain_doc *folder, const char *owner,
                    struct bkt_err *err)
{
    if (!owner)
        owner = d->set.user && *d->set.user ? d->set.user : folder && folder->owner ? folder->owner : "admin";
    d->doc.created = d->doc.modified = bkt_edit_now(d->edits);
    BKT_PASS_MEM(err, bkt_acl_inherit(&d->doc, owner, folder));
    bkt_domain_note_rights(d);
    return BKT_OK;
}

static int add_root(struct bkt_domain *d, struct bkt_object **root, struct bkt_err *err)
{
    struct bkt_object *o = *root ? *root : bkt_object_make(BKT_GROUP);
    *root                = NULL;
    BKT_NEED(err, o);
    o->id = d->doc.root;
    BKT_PASS(bkt_edit_add(d, o, NULL, err));
    return bkt_edit_keep(d, &d->doc.root, err);
}

/* The domain will be stored, unless the program dies: find out before that how its store takes conditions. */
static void announce(struct bkt_domain *d)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    if (bkt_id_key(&d->doc.root, &key) == BKT_OK)
        bkt_store_will_write(d->store, bkt_buf_str(&key));
}

static int fill(struct bkt_domain *d, const struct bkt_name *n, const struct bkt_new_domain *how,
                struct bkt_object **root, struct bkt_err *err)
{
    BKT_CLEANUP(above_fini) struct above a = {.n = 0};
    size_t       folder = 0;
    BKT_PASS(find_place(d, n, err));
    BKT_FAIL_IF(err, bkt_name_is_reserved(d->path), BKT_EINVAL, BKT_NAME_RESERVED "; choose another name",
                d->path);
    struct bkt_id_source ids = {.n = 0};
    if (how->agreed)
        memcpy(ids.seed, how->agreed->seed, sizeof ids.seed);
    BKT_FAIL_IF(err,
                bkt_id_new_root(!(d->set.schema && strcmp(d->set.schema, "v1") == 0),
                                how->agreed ? &ids : NULL, &d->doc.root) < 0,
                BKT_EIO, "%s: no id can be made: the system gives no random numbers", n->path);
    BKT_PASS(bkt_domain_open_parts(d, err));
    if (how->agreed) {
        bkt_edit_agree(d, how->agreed);
        d->edits->ids.n = ids.n;
    }
    BKT_PASS(look_above(d, how->truncate, &a, err));
    BKT_PASS(judge_itself(d, &a, how->truncate, err));
    BKT_PASS(judge_above(d, &a, &folder, err));
    BKT_PASS(bkt_store_may_put(d->store, a.reqs[0].key, err));
    BKT_PASS(bkt_domain_may_store(d, err));
    bool in_folder = folder < a.n && a.reqs[folder].rc == BKT_OK;
    BKT_PASS(fill_doc(d, in_folder ? &a.docs[folder] : NULL, how->owner, err));
    bkt_links_count_begin(d->links);
    d->edits->fresh   = true;
    d->edits->counted = true;
    bkt_registry_count_fresh(1);
    announce(d);
    return add_root(d, root, err);
}

static int create(const char *name, const struct bkt_settings *set, const struct bkt_new_domain *how,
                  struct bkt_object **root, struct bkt_domain **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_name_fini) struct bkt_name n = {0};
    struct bkt_domain *d = NULL;
    BKT_PASS(bkt_name_parse(name, set, BKT_NAME_CREATE, &n, err));
    BKT_PASS(bkt_domain_new(&bkt_edit_ops, name, &n, set, how->truncate ? BKT_EBUSY : BKT_EEXIST, &d, err));
    return bkt_registry_add(d, fill(d, &n, how, root, err), out);
}

int bkt_domain_create(const char *name, const struct bkt_settings *set, const struct bkt_new_domain *how,
                      struct bkt_domain **out, struct bkt_err *err)
{
    struct bkt_object *root = how->root;
    int                rc   = create(name, set, how, &root, out, err);
    bkt_object_release(root); /* NULL if it was used */
    return rc;
}

/* ---- a domain that another process makes ---- */

static int fill_unseen(struct bkt_domain *d, const struct bkt_name *n, const struct bkt_id *root,
                       struct bkt_err *err)
{
    BKT_PASS(find_place(d, n, err));
    d->doc.root = *root;
    /* the other process was allowed to make the domain, and so is this one */
    if (d->set.user && *d->set.user)
        BKT_PASS_MEM(err, bkt_acl_add(&d->doc, d->set.user, BKT_ACL_ALL));
    BKT_PASS(bkt_domain_open_parts(d, err));
    bkt_registry_count_fresh(1); /* it is found by its name alone */
    d->edits->counted = true;
    bkt_trace(BKT_TRACE_SCHEMA, "domain %s, root %s, made by another process", d->name, root->text);
    return BKT_OK;
}

int bkt_domain_open_unseen(const char *name, const struct bkt_settings *set, const struct bkt_id *root,
                           struct bkt_domain **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_name_fini) struct bkt_name n = {0};
    struct bkt_domain *d = NULL;
    BKT_PASS(bkt_name_parse(name, set, BKT_NAME_CREATE, &n, err));
    BKT_PASS(bkt_domain_new(&bkt_edit_ops, name, &n, set, BKT_EBUSY, &d, err));
    return bkt_registry_add(d, fill_unseen(d, &n, root, err), out);
}

/* ---- rights ---- */

int bkt_domain_may_store(const struct bkt_domain *d, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    BKT_PASS(bkt_id_key(&d->doc.root, &key) < 0 ? BKT_ERR(err, BKT_ENOMEM, "out of memory") : BKT_OK);
    return bkt_store_may_put(d->store, bkt_buf_str(&key), err);
}
