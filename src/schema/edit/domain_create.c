/* Domains made and deleted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/trace.h"
#include "schema/edit/agreed.h"
#include "schema/edit/edit_impl.h"
#include "schema/json/acl.h"
#include "schema/json/schema_json.h"
#include "schema/model/object_life.h"
#include "schema/name/bucket_dir.h"

/* above a domain, with a request for each; in a key of S3, of 1,024 bytes, only very short names could be
 * deeper */
#define MAX_FOLDERS 64

static void name_finip(struct bkt_name *n) { bkt_name_fini(n); }

/* ---- existing things, all asked at once: the domain's document, those of folders above, keys below ---- */

struct above {
    char                 *paths[MAX_FOLDERS + 1], *keys[MAX_FOLDERS + 1]; /* [0]: the domain, then outwards */
    struct bkt_req        reqs[MAX_FOLDERS + 1];
    struct bkt_domain_doc docs[MAX_FOLDERS + 1];
    size_t                n;
    struct bkt_store     *store;
    char                 *below; /* some key below the domain's; NULL: none, or the server doesn't list */
};

static void above_fini(struct above *a)
{
    for (size_t i = 0; i < a->n; i++) {
        bkt_req_fini(&a->reqs[i]);
        bkt_domain_doc_fini(&a->docs[i]);
        free(a->paths[i]);
        free(a->keys[i]);
    }
    free(a->below);
}

static int above_add(struct above *a, const char *path, size_t len)
{
    struct bkt_buf key = {0};
    size_t         i   = a->n;
    a->paths[i]        = strndup(path, len);
    if (!a->paths[i] || bkt_domain_doc_key(a->paths[i], &key) < 0) {
        free(a->paths[i]);
        return BKT_ENOMEM;
    }
    a->keys[i] = bkt_buf_steal(&key);
    a->reqs[i] = (struct bkt_req){.op = BKT_GET, .key = a->keys[i], .len = BKT_WHOLE};
    a->n++;
    return BKT_OK;
}

/* Keys that consoles make for a folder, and our own keys, don't count. */
static int note_below(const struct bkt_listed *e, void *arg)
{
    struct above *a    = arg;
    const char   *leaf = e->key + strlen(a->paths[0]) + 1;
    if (!*leaf || strcmp(leaf, ".domain.json") == 0 || strncmp(leaf, ".h5bucket", 9) == 0)
        return BKT_OK;
    a->below = strdup(leaf);
    return BKT_ECANCEL;
}

/* A directory was checked before (uri.c).  A user who may not list, or can't, makes domains all the same. */
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

static int look_above(struct bkt_domain *d, struct above *a, struct bkt_err *err)
{
    size_t len = strlen(d->path);
    while (len) {
        if (a->n > MAX_FOLDERS)
            BKT_FAIL(err, BKT_EINVAL, "%s: more than %d folders", d->path, MAX_FOLDERS);
        if (above_add(a, d->path, len) < 0)
            BKT_NOMEM(err);
        while (len && d->path[--len] != '/') {}
    }
    a->store = d->store;
    (void)bkt_store_run_and(d->store, a->reqs, a->n, look_below, a, NULL);
    for (size_t i = 0; i < a->n; i++) {
        const struct bkt_req *r = &a->reqs[i];
        if (r->rc != BKT_OK && r->rc != BKT_ENOENT && !(r->rc == BKT_EACCES && i > 0))
            return bkt_err_copy(err, r->rc, r->err);
        if (r->rc == BKT_OK)
            BKT_TRY(err, bkt_domain_doc_parse(r->body.ptr, r->body.len, &a->docs[i], err), "%s", a->keys[i]);
    }
    return BKT_OK;
}

/* The nearest folder that has a document must admit the user; nearer folders get a document at the first
 * flush. */
static int judge_above(struct bkt_domain *d, struct above *a, size_t *folder, struct bkt_err *err)
{
    for (*folder = 1; *folder < a->n && a->reqs[*folder].rc == BKT_ENOENT; ++*folder) {}
    if (*folder < a->n && a->reqs[*folder].rc == BKT_OK) {
        if (a->docs[*folder].root.text[0])
            BKT_FAIL(err, BKT_EINVAL, "%s can't be made: %s is a domain, not a folder", d->path,
                     a->paths[*folder]);
        if (!bkt_domain_doc_lets(&a->docs[*folder], d->set.user, BKT_ACL_CREATE))
            BKT_FAIL(err, BKT_EACCES,
                     "%s can't be made: the ACL of folder %s does not let user %s create (setting user)",
                     d->path, a->paths[*folder], d->set.user);
    }
    d->edits->folders = calloc(a->n + 1, sizeof *d->edits->folders);
    if (!d->edits->folders)
        BKT_NOMEM(err);
    for (size_t i = *folder; i-- > 1;) {
        d->edits->folders[d->edits->n_folders] = strdup(a->paths[i]);
        if (!d->edits->folders[d->edits->n_folders++])
            BKT_NOMEM(err);
    }
    return BKT_OK;
}

static int judge_itself(struct bkt_domain *d, const struct above *a, bool truncate, struct bkt_err *err)
{
    struct bkt_edits *e = d->edits;
    e->replace          = truncate;
    if (a->reqs[0].rc == BKT_ENOENT && a->below)
        BKT_FAIL(err, BKT_EEXIST, "%s: a folder with this name exists, and it is not empty (%s is in it)",
                 d->path, a->below);
    if (a->reqs[0].rc == BKT_ENOENT)
        return BKT_OK;
    if (!a->docs[0].root.text[0])
        BKT_FAIL(err, BKT_EEXIST, "%s: a folder with this name exists", d->path);
    if (!truncate)
        BKT_FAIL(err, BKT_EEXIST, "domain %s exists", d->path);
    if (!bkt_domain_doc_lets(&a->docs[0], d->set.user, BKT_ACL_DELETE))
        BKT_FAIL(err, BKT_EACCES,
                 "%s can't be replaced: its ACL does not let user %s delete it (setting user)", d->path,
                 d->set.user);
    e->old_root = a->docs[0].root;
    e->old_etag = strdup(a->reqs[0].etag);
    return e->old_etag ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory");
}

/* ---- the new domain ---- */

static int add_acl(struct bkt_domain_doc *doc, const char *user, unsigned allow)
{
    struct bkt_acl_entry *v = realloc(doc->acls, (doc->n_acls + 1) * sizeof *v);
    if (!v)
        return BKT_ENOMEM;
    doc->acls             = v;
    v[doc->n_acls].user   = strdup(user);
    v[doc->n_acls].allow  = allow;
    return v[doc->n_acls].user ? (doc->n_acls++, BKT_OK) : BKT_ENOMEM;
}

/* The owner may do all, and users who have rights in the folder keep them; otherwise HSDS makes new domains
 * private. */
static int fill_doc(struct bkt_domain *d, const struct bkt_domain_doc *folder, const char *owner,
                    struct bkt_err *err)
{
    struct bkt_domain_doc *doc = &d->doc;
    if (!owner)
        owner = d->set.user && *d->set.user ? d->set.user : folder && folder->owner ? folder->owner : "admin";
    doc->owner   = strdup(owner);
    doc->created = doc->modified = bkt_edit_now(d->edits);
    if (!doc->owner || add_acl(doc, owner, BKT_ACL_ALL) < 0)
        BKT_NOMEM(err);
    for (size_t i = 0; folder && i < folder->n_acls; i++) {
        const struct bkt_acl_entry *a = &folder->acls[i];
        if (!a->allow || strcmp(a->user, "default") == 0 || strcmp(a->user, owner) == 0)
            continue;
        if (add_acl(doc, a->user, a->allow) < 0)
            BKT_NOMEM(err);
    }
    return BKT_OK;
}

static int add_root(struct bkt_domain *d, struct bkt_object **root, struct bkt_err *err)
{
    struct bkt_object *o = *root ? *root : bkt_object_make(BKT_GROUP);
    *root                = NULL;
    if (!o)
        BKT_NOMEM(err);
    o->id = d->doc.root;
    BKT_PASS(bkt_edit_add(d, o, NULL, err));
    return bkt_edit_keep(d, &d->doc.root, err);
}

/* The domain will be stored, unless the program dies: find out meanwhile how its store takes conditions. */
static void announce(struct bkt_domain *d)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    if (bkt_id_key(&d->doc.root, &key) == BKT_OK)
        bkt_store_will_write(d->store, bkt_buf_str(&key));
}

static int fill(struct bkt_domain *d, const struct bkt_name *n, const struct bkt_new_domain *how,
                struct bkt_object **root, struct bkt_err *err)
{
    struct above a      = {.n = 0};
    size_t       folder = 0;
    BKT_PASS(bkt_domain_place(d, n, err));
    struct bkt_id_source ids = {.n = 0};
    if (how->agreed)
        memcpy(ids.seed, how->agreed->seed, sizeof ids.seed);
    if (bkt_id_new_root(!(d->set.schema && strcmp(d->set.schema, "v1") == 0), how->agreed ? &ids : NULL,
                        &d->doc.root) < 0)
        BKT_FAIL(err, BKT_EIO, "no random numbers for an id");
    BKT_PASS(bkt_domain_equip(d, err));
    if (how->agreed) {
        bkt_edit_agree(d, how->agreed);
        d->edits->ids.n = ids.n;
    }
    int rc = look_above(d, &a, err);
    if (rc == BKT_OK)
        rc = judge_itself(d, &a, how->truncate, err);
    if (rc == BKT_OK)
        rc = judge_above(d, &a, &folder, err);
    if (rc == BKT_OK)
        rc = bkt_store_may_put(d->store, a.keys[0], err);
    if (rc == BKT_OK)
        rc = bkt_domain_may_store(d, err);
    if (rc == BKT_OK)
        rc = fill_doc(d, folder < a.n && a.reqs[folder].rc == BKT_OK ? &a.docs[folder] : NULL, how->owner,
                      err);
    above_fini(&a);
    if (rc < 0)
        return rc;
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
    BKT_CLEANUP(name_finip) struct bkt_name n  = {0};
    BKT_CLEANUP(bkt_freep) char            *id = NULL;
    struct bkt_domain                      *d  = NULL;
    BKT_PASS(bkt_name_parse_new(name, set, &n, err));
    BKT_PASS(bkt_registry_id(&n, set, &id, err));
    if (bkt_registry_has(id))
        BKT_FAIL(err, how->truncate ? BKT_EBUSY : BKT_EEXIST, "%s is open in this process", name);
    BKT_PASS(bkt_domain_blank(&id, set, &d, err));
    int rc = fill(d, &n, how, root, err);
    if (rc < 0) {
        bkt_domain_destroy(d);
        return rc;
    }
    *out = bkt_domain_enter(d);
    return BKT_OK;
}

int bkt_domain_create(const char *name, const struct bkt_settings *set, const struct bkt_new_domain *how,
                      struct bkt_domain **out, struct bkt_err *err)
{
    struct bkt_object *root = how->root;
    int                rc   = create(name, set, how, &root, out, err);
    bkt_object_release(root); /* NULL if it was used */
    return rc;
}

/* ---- deleting ---- */

/* Objects found by following links, each once, in the order in which they were found. */
struct found {
    struct bkt_map *seen;
    struct bkt_ids  ids;
};

static int find_one(struct found *f, const struct bkt_id *id)
{
    if (bkt_map_get(f->seen, id->text, BKT_ID_LEN))
        return BKT_OK;
    BKT_PASS(bkt_ids_add(&f->ids, id));
    return bkt_map_set(&f->seen, id->text, BKT_ID_LEN, f, NULL);
}

/* The objects that an object of version 1 leads to. */
static int find_members(const struct bkt_object *o, struct found *f)
{
    const struct bkt_links *l = o->kind == BKT_GROUP ? bkt_links_settle(&o->group.links) : NULL;
    const struct bkt_id    *type;
    size_t                  pos = 0;
    for (size_t i = 0; l && i < l->n; i++)
        if (l->v[i].cls == BKT_L_HARD)
            BKT_PASS(find_one(f, &l->v[i].id));
    while ((type = bkt_object_next_type(o, &pos)))
        BKT_PASS(find_one(f, type));
    return o->kind == BKT_DATASET && o->dset.layout.chunk_table.text[0]
               ? find_one(f, &o->dset.layout.chunk_table)
               : BKT_OK;
}

/* Objects of version 1 that are fetched, and deleted, together.  Smaller waves wait more often for their last
 * request. */
#define V1_WAVE 1024

/* Fetch the found objects first .. first+n-1, and find those that they lead to.  Ids of missing objects are
 * cleared. */
static int find_v1_wave(struct bkt_domain *d, struct found *f, size_t first, size_t n, struct bkt_err *err)
{
    struct bkt_id ids[V1_WAVE]; /* the list may move */
    int           rc = BKT_OK;
    memcpy(ids, f->ids.v + first, n * sizeof *ids);
    bkt_objects_prefetch(d->objects, ids, n);
    for (size_t i = 0; rc == BKT_OK && i < n; i++) {
        const struct bkt_object *o   = NULL;
        struct bkt_err           why = {.n = 0};
        rc                           = bkt_domain_get(d, &ids[i], &o, &why);
        if (rc == BKT_OK && find_members(o, f) < 0)
            rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
        else if (rc == BKT_ENOENT)
            f->ids.v[first + i].text[0] = 0, rc = BKT_OK;
        else if (rc < 0)
            rc = bkt_err_copy(err, rc, &why);
        bkt_object_release(o);
    }
    return rc;
}

/* Only a dataset's layout shows the places of its chunks; for other objects the key is enough. */
static int remove_v1_wave(struct bkt_domain *d, const struct bkt_id *ids, size_t n, struct bkt_err *err)
{
    struct bkt_gone *gone = calloc(n, sizeof *gone);
    size_t           m    = 0;
    int              rc   = BKT_OK;
    if (!gone)
        BKT_NOMEM(err);
    for (size_t i = 0; rc == BKT_OK && i < n; i++) {
        struct bkt_err why = {.n = 0};
        gone[m]            = (struct bkt_gone){.id = &ids[i]};
        if (ids[i].text[0] && bkt_id_kind(&ids[i]) == BKT_DATASET)
            rc = bkt_domain_get(d, &ids[i], &gone[m].o, &why);
        m += rc == BKT_OK && ids[i].text[0];
        rc = rc < 0 && rc != BKT_ENOENT ? bkt_err_copy(err, rc, &why) : BKT_OK;
    }
    if (rc == BKT_OK)
        bkt_remove_objects(d->store, gone, m);
    for (size_t i = 0; i < m; i++) {
        bool deleted = rc == BKT_OK && gone[i].rc == BKT_OK;
        bkt_object_release(gone[i].o);
        if (deleted)
            bkt_objects_drop(d->objects, gone[i].id, false);
        else if (rc == BKT_OK)
            rc = bkt_err_copy(err, gone[i].rc, gone[i].err);
    }
    bkt_gone_fini(gone, m);
    return rc;
}

/* Handle the found objects *first .. to-1; the objects that they lead to follow them.  *first becomes the
 * first of those. */
static int find_v1_level(struct bkt_domain *d, struct found *f, size_t *first, struct bkt_err *err)
{
    const size_t to = f->ids.n;
    for (size_t n; *first < to; *first += n) {
        n = to - *first < V1_WAVE ? to - *first : V1_WAVE;
        BKT_PASS(find_v1_wave(d, f, *first, n, err));
    }
    return BKT_OK;
}

static int remove_v1_level(struct bkt_domain *d, const struct found *f, size_t from, size_t to,
                           struct bkt_err *err)
{
    for (size_t n; from < to; from += n) {
        n = to - from < V1_WAVE ? to - from : V1_WAVE;
        BKT_PASS(remove_v1_wave(d, f->ids.v + from, n, err));
    }
    return BKT_OK;
}

/* Objects of version 1 are scattered, and only links lead to them.  Those furthest from the root group are
 * deleted first.  So if the deletion is cut off, the remaining objects can be found from there again. */
int bkt_remove_v1(struct bkt_domain *d, const struct bkt_id *root, struct bkt_err *err)
{
    struct found f = {.seen = NULL};
    size_t *levels = NULL, n = 0, cap = 0, at = 0; /* the first object of each distance from the root group */
    int rc = find_one(&f, root) == BKT_OK ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory");
    while (rc == BKT_OK && at < f.ids.n) {
        if (bkt_list_room(&levels, n, &cap, sizeof *levels) < 0)
            rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
        else
            levels[n++] = at;
        rc = rc < 0 ? rc : find_v1_level(d, &f, &at, err);
    }
    for (size_t to = f.ids.n; rc == BKT_OK && n-- > 0; to = levels[n])
        rc = remove_v1_level(d, &f, levels[n], to, err);
    bkt_map_free(f.seen, NULL);
    bkt_ids_fini(&f.ids);
    free(levels);
    return rc;
}

int bkt_domain_delete_objects(struct bkt_domain *d, struct bkt_err *err)
{
    return bkt_id_is_v2(&d->doc.root) ? bkt_remove_tree(d->store, &d->doc.root, err)
                                      : bkt_remove_v1(d, &d->doc.root, err);
}

static int delete_doc(struct bkt_domain *d, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    if (bkt_domain_doc_key(d->path, &key) < 0)
        BKT_NOMEM(err);
    const char *one = bkt_buf_str(&key);
    return bkt_store_delete(d->store, &one, 1, err);
}

/* The document of a version 1 domain is kept beside its place until all objects are gone, since only it leads
 * to them. */
static int keep_doc(struct bkt_domain *d, bool keep, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0}, mark = {0}, json = {0};
    const char                              *s   = *d->path ? "/" : "";
    if (bkt_domain_doc_key(d->path, &key) < 0 || bkt_buf_addf(&mark, "%s%s" BKT_DELETE_MARK, d->path, s) < 0)
        BKT_NOMEM(err);
    const char *one = bkt_buf_str(&mark);
    if (!keep)
        return bkt_store_delete(d->store, &one, 1, err);
    BKT_PASS(bkt_store_get(d->store, bkt_buf_str(&key), 0, BKT_WHOLE, &json, err));
    return bkt_store_put(d->store, one, json.ptr, json.len, NULL, NULL, NULL, err);
}

static int delete_domain(struct bkt_domain *d, const struct bkt_name *n, bool keep_data, struct bkt_err *err)
{
    BKT_PASS(bkt_domain_locate(d, n, err));
    BKT_PASS(bkt_domain_equip(d, err));
    BKT_PASS(bkt_domain_may_write(d, BKT_ACL_DELETE, err));
    const bool v1 = !keep_data && !bkt_id_is_v2(&d->doc.root);
    if (v1)
        BKT_PASS(keep_doc(d, true, err));
    BKT_PASS(delete_doc(d, err));
    if (!keep_data)
        BKT_PASS(bkt_domain_delete_objects(d, err));
    return v1 ? keep_doc(d, false, err) : BKT_OK;
}

/* Nothing is deleted through a link, whatever the settings: its maker may mean harm. */
static int refuse_link(const struct bkt_name *n, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf path = {0};
    if (!n->search || !n->local)
        return BKT_OK; /* the store refuses it */
    if (bkt_buf_addf(&path, "/%s", n->path) < 0)
        BKT_NOMEM(err);
    size_t link = bkt_bucket_link(bkt_buf_str(&path), false);
    if (link)
        BKT_FAIL(err, BKT_EACCES, "%s: %.*s is a symbolic link, and nothing is deleted through one; name its "
                 "target",
                 bkt_buf_str(&path), (int)link, bkt_buf_str(&path));
    return BKT_OK;
}

int bkt_domain_delete(const char *name, const struct bkt_settings *set, bool keep_data, struct bkt_err *err)
{
    BKT_CLEANUP(name_finip) struct bkt_name n  = {0};
    BKT_CLEANUP(bkt_freep) char            *id = NULL;
    struct bkt_domain                      *d  = NULL;
    BKT_PASS(bkt_name_parse(name, set, &n, err));
    BKT_PASS(refuse_link(&n, err));
    BKT_PASS(bkt_registry_id(&n, set, &id, err));
    if (bkt_registry_has(id))
        BKT_FAIL(err, BKT_EBUSY, "%s is open in this process", name);
    BKT_PASS(bkt_domain_blank(&id, set, &d, err));
    int rc = delete_domain(d, &n, keep_data, err);
    bkt_domain_destroy(d);
    return rc;
}

int bkt_domain_may_store(const struct bkt_domain *d, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    BKT_PASS(bkt_id_key(&d->doc.root, &key) < 0 ? BKT_ERR(err, BKT_ENOMEM, "out of memory") : BKT_OK);
    return bkt_store_may_put(d->store, bkt_buf_str(&key), err);
}

int bkt_domain_may_write(struct bkt_domain *d, unsigned acl_need, struct bkt_err *err)
{
    if (bkt_store_is_readonly(d->store))
        BKT_FAIL(err, BKT_EACCES, "%s can't be changed: the store is read-only", d->name);
    BKT_PASS(bkt_edits_own(d, err));
    return acl_need ? bkt_domain_check_acl(d, acl_need, err) : BKT_OK;
}
