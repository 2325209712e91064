/* From a location and a name to an object: hard, soft and external links, mounts, names by index, tokens.
 *
 * A walk through domains holds one current object.  Once an external link has led into another kind of file,
 * that file's own table walks on. */
#include <stdlib.h>
#include <string.h>

#include "vol/core/token.h"
#include "vol/core/vol.h"
#include "vol/open/linked_files.h"
#include "vol/open/mounted_files.h"
#include "vol/parallel/together.h"
#include "vol/path/iterate.h"
#include "vol/path/path.h"
#include "vol/plain/plain_file.h"

#define LINKS_BY_DEFAULT 16 /* soft and external links that HDF5 follows without H5Pset_nlinks() */

struct walk {
    struct bkt_file *f; /* borrowed: kept open by the walk's start, its mounts and external files */
    const struct bkt_object *obj;    /* retained; NULL: the walk is in another kind of file */
    struct bkt_vobj         *abroad; /* an object outside of domains, the walk's */
    struct bkt_buf           path;   /* as walked, from the root of f */
    bool                     path_known, by_mount;
    size_t                   links_left;
    hid_t                    lapl;
};

static void walk_fini(struct walk *w)
{
    bkt_object_release(w->obj);
    bkt_vobj_free(w->abroad);
    bkt_buf_fini(&w->path);
}

static int walk_path(struct walk *w, const char *path, struct bkt_err *err);

/* Make the root group of @p f the current place. */
static int to_root(struct walk *w, struct bkt_file *f, struct bkt_err *err)
{
    const struct bkt_object *root = NULL;
    BKT_PASS(bkt_domain_get(f->dom, bkt_domain_root(f->dom), &root, err));
    bkt_object_release(w->obj);
    w->obj = root;
    w->f   = f;
    return BKT_OK;
}

/* The same as if the walk had begun there: the path is counted from it, and no mount led to it. */
static int to_own_root(struct walk *w, struct bkt_file *f, struct bkt_err *err)
{
    BKT_PASS(to_root(w, f, err));
    bkt_buf_clear(&w->path);
    w->path_known = true;
    w->by_mount   = false;
    return BKT_OK;
}

static int spend_link(struct walk *w, const char *name, struct bkt_err *err)
{
    if (w->links_left-- == 0) {
        w->links_left = 0;
        BKT_FAIL(err, BKT_EFORMAT,
                 "%s: too many soft or external links on the way to '%s' (a cycle? see H5Pset_nlinks)",
                 w->f->name, name);
    }
    return BKT_OK;
}

static int follow_hard(struct walk *w, const struct bkt_link *l, struct bkt_err *err)
{
    const struct bkt_object *next = NULL;
    bkt_domain_walked(w->f->dom, w->obj, l);
    BKT_TRY(err, bkt_domain_get(w->f->dom, &l->id, &next, err), "%s: link '%s'", w->f->name, l->name);
    bkt_object_release(w->obj);
    w->obj = next;
    /* a mounted file covers the group; files may be mounted on mounted files' roots */
    for (struct bkt_file *m = bkt_file_mounted(w->f, &w->obj->id); m;
         m = bkt_file_mounted(w->f, &w->obj->id)) {
        BKT_PASS(to_root(w, m, err));
        w->by_mount = true;
    }
    return BKT_OK;
}

/* The first @p in bytes of the path are the name of the group that holds the link. */
static int follow_external(struct walk *w, const struct bkt_link *l, size_t in, struct bkt_err *err)
{
    struct bkt_file             *child  = NULL;
    hid_t                        native = H5I_INVALID_HID;
    BKT_CLEANUP(bkt_freep)
    char *group = strndup(in              ? bkt_buf_str(&w->path)
                          : w->path_known ? "/"
                                          : "",
                          in ? in : 1);
    BKT_NEED(err, group);
    struct bkt_ext_link what = {l->file ? l->file : "", l->path && *l->path ? l->path : "/", group};
    BKT_TRY(err, bkt_file_follow(w->f, &what, w->lapl, &child, &native, err), "%s: external link '%s'",
            w->f->name, l->name);
    if (native >= 0) {
        hid_t id = H5I_INVALID_HID;
        BKT_PASS(bkt_native_open(native, what.object, w->lapl, &id, err));
        BKT_PASS(bkt_native_wrap(&id, &w->abroad, err));
        bkt_object_release(w->obj);
        w->obj = NULL;
        return BKT_OK;
    }
    BKT_PASS(to_own_root(w, child, err));
    return walk_path(w, l->path ? l->path : "/", err);
}

/* A soft link's target is walked from the group that holds the link; the name stays the one asked for. */
static int follow_soft(struct walk *w, const struct bkt_link *l, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf keep  = {0};
    bool                                     known = w->path_known;
    struct bkt_file                         *f     = w->f;
    BKT_FAIL_IF(err, !l->path || !*l->path, BKT_EFORMAT, "%s: soft link '%s' has no target", w->f->name,
                l->name);
    bkt_buf_move(&keep, &w->path);
    int rc = walk_path(w, l->path, err);
    if (w->f == f) {
        bkt_buf_move(&w->path, &keep);
        w->path_known = known;
    }
    return rc;
}

static int step(struct walk *w, const char *name, size_t n, struct bkt_err *err)
{
    char *copy = strndup(name, n);
    BKT_NEED(err, copy);
    int rc = BKT_OK;
    const struct bkt_object *holder = w->obj; /* the object that contains the link */
    if (holder->kind != BKT_GROUP) {
        free(copy);
        BKT_FAIL(err, BKT_ENOENT, "%s: '%.*s': parent is not a group", w->f->name, (int)n, name);
    }
    const struct bkt_link *l = bkt_links_find(&holder->group.links, copy);
    if (!l)
        rc = BKT_ERR(err, BKT_ENOENT, "%s: no link '%s' in group %s", w->f->name, copy,
                     !w->path_known ? holder->id.text : w->path.len ? bkt_buf_str(&w->path) : "/");
    free(copy);
    if (rc < 0)
        return rc;
    size_t in = w->path.len; /* length of the group's name */
    if (w->path_known && (bkt_buf_add(&w->path, "/", 1) < 0 || bkt_buf_add(&w->path, name, n) < 0))
        BKT_NOMEM(err);
    const struct bkt_object *hold = bkt_object_retain(holder);
    switch (l->cls) {
        case BKT_L_HARD:
            rc = follow_hard(w, l, err);
            break;
        case BKT_L_SOFT:
            rc = spend_link(w, l->name, err);
            rc = rc < 0 ? rc : follow_soft(w, l, err);
            break;
        case BKT_L_EXTERNAL:
            rc = spend_link(w, l->name, err);
            rc = rc < 0 ? rc : follow_external(w, l, in, err);
            break;
        case BKT_L_USER:
        case BKT_L_OTHER:
        default:
            rc = BKT_ERR(err, BKT_EUNSUP, "%s: link '%s' is user-defined and can't be followed", w->f->name,
                         l->name);
    }
    bkt_object_release(hold);
    return rc;
}

static int absolute(struct walk *w, struct bkt_err *err)
{
    struct bkt_file *f = w->f;
    for (struct bkt_file *p = bkt_file_parent(f); p; p = bkt_file_parent(p))
        f = p;
    return to_own_root(w, f, err);
}

static int walk_abroad(struct walk *w, const char *path, struct bkt_err *err)
{
    struct bkt_vobj *next = NULL;
    BKT_PASS(w->abroad->ops->open->by_name(w->abroad, path, w->lapl, &next, err));
    bkt_vobj_free(w->abroad);
    w->abroad = next;
    return BKT_OK;
}

static int walk_path(struct walk *w, const char *path, struct bkt_err *err)
{
    if (*path == '/')
        BKT_PASS(absolute(w, err));
    while (*path) {
        if (w->abroad)
            return walk_abroad(w, path, err);
        size_t n = strcspn(path, "/");
        if (n && !(n == 1 && *path == '.'))
            BKT_PASS(step(w, path, n, err));
        path += n;
        path += strspn(path, "/");
    }
    return BKT_OK;
}

int bkt_path_check_lapl(hid_t lapl, size_t *n_links, struct bkt_err *err)
{
    *n_links = LINKS_BY_DEFAULT;
    if (lapl == H5P_DEFAULT || lapl == H5P_LINK_ACCESS_DEFAULT)
        return BKT_OK;
    int rc = BKT_PASS_H5(NULL, H5Pisa_class(lapl, H5P_LINK_ACCESS) > 0 ? H5Pget_nlinks(lapl, n_links) : -1,
                         "H5Pget_nlinks");
    return rc < 0 ? BKT_ERR(err, BKT_EINVAL, "not an access property list") : BKT_OK;
}

static int walk_begin(struct walk *w, struct bkt_vobj *from, hid_t lapl, struct bkt_err *err)
{
    *w = (struct walk){.f = from->file, .lapl = lapl};
    BKT_PASS(bkt_path_check_lapl(lapl, &w->links_left, err));
    w->obj        = bkt_object_retain(from->obj);
    w->path_known = from->path != NULL;
    w->by_mount   = from->by_mount;
    if (from->path && strcmp(from->path, "/") != 0 && bkt_buf_add_str(&w->path, from->path) < 0)
        BKT_NOMEM(err);
    return BKT_OK;
}

static int walk_end(struct walk *w, struct bkt_vobj **out, struct bkt_err *err)
{
    const char *path = w->path.len ? bkt_buf_str(&w->path) : "/";
    *out             = w->abroad;
    w->abroad        = NULL;
    if (*out)
        return BKT_OK;
    *out   = bkt_vobj_new(w->f, bkt_vobj_type_of(w->obj), w->obj, w->path_known ? path : NULL);
    w->obj = NULL;
    BKT_NEED(err, *out);
    (*out)->by_mount = w->by_mount;
    return BKT_OK;
}

/* ---- domains' part of H5VL_loc_params_t ---- */

static int by_name_here(struct bkt_vobj *from, const char *path, hid_t lapl, struct bkt_vobj **out,
                        struct bkt_err *err)
{
    BKT_CLEANUP(walk_fini) struct walk w = {.f = NULL};
    BKT_PASS(walk_begin(&w, from, lapl, err));
    BKT_PASS(walk_path(&w, path, err));
    return walk_end(&w, out, err);
}

struct call {
    struct bkt_vobj *from, *out;
    const char *path;
    hid_t lapl;
};

static int by_name_of_all(void *arg, struct bkt_err *err)
{
    struct call *c = arg;
    return by_name_here(c->from, c->path, c->lapl, &c->out, err);
}

/* H5Pset_all_coll_metadata_ops(): all processes make this call, and one of them asks the store. */
static int by_name(struct bkt_vobj *from, const char *path, hid_t lapl, struct bkt_vobj **out,
                   struct bkt_err *err)
{
    struct call c = {.from = from, .path = path, .lapl = lapl};
    int own = BKT_OK;
    if (!from->file || !from->file->reads_together)
        return by_name_here(from, path, lapl, out, err);
    int rc = bkt_together(from->file->comm, by_name_of_all, &c, &own, err);
    if (rc < 0 && own == BKT_OK)
        bkt_vobj_free(c.out);
    else if (rc == BKT_OK)
        *out = c.out;
    return rc;
}

static int by_idx(struct bkt_vobj *group, const H5VL_loc_by_idx_t *at, struct bkt_vobj **out,
                  struct bkt_err *err)
{
    const struct bkt_link *l = NULL;
    BKT_PASS(bkt_iterate_nth_link(group, at->idx_type, at->order, at->n, &l, err));
    return by_name(group, l->name, at->lapl_id, out, err);
}

/* An object that stands for one of another file (core/object_refs.h) opens that file by the rules of external
 * links. */
static int find_file(struct bkt_file *f, const char *name, struct bkt_file **domain, hid_t *native,
                     struct bkt_err *err)
{
    struct bkt_err quiet = {.n = 0};
    int            rc    = bkt_file_external(f, name, domain, native, &quiet);
    BKT_FAIL_IF(err, rc == BKT_ENOENT, rc, "a reference into '%s': no such domain or file beside %s", name,
                f->name);
    return rc < 0 ? bkt_err_copy(err, rc, &quiet) : BKT_OK;
}

static int outside_open(struct bkt_vobj *o, struct bkt_vobj **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_vobj_freep) struct bkt_vobj *root   = NULL;
    struct bkt_file                             *domain = NULL;
    hid_t                                        native = H5I_INVALID_HID, id = H5I_INVALID_HID;
    BKT_PASS(find_file(o->file, o->outside, &domain, &native, err));
    if (native >= 0) {
        BKT_PASS(bkt_native_open(native, o->path, H5P_DEFAULT, &id, err));
        return bkt_native_wrap(&id, out, err);
    }
    BKT_PASS(bkt_file_root(domain, H5I_GROUP, &root, err));
    return bkt_path_open(root, o->path, H5P_DEFAULT, out, err);
}

static int by_token(struct bkt_vobj *obj, const H5O_token_t *token, struct bkt_vobj **out,
                    struct bkt_err *err)
{
    struct bkt_id            id;
    const struct bkt_object *found = NULL;
    if (obj->outside)
        return outside_open(obj, out, err);
    BKT_FAIL_IF(err, !bkt_token_id(obj->file->dom, token, &id), BKT_EINVAL, "%s: not a token of this file",
                obj->file->name);
    BKT_PASS(bkt_domain_get(obj->file->dom, &id, &found, err));
    const char *path = strcmp(id.text, bkt_domain_root(obj->file->dom)->text) == 0 ? "/" : NULL;
    *out             = bkt_vobj_new(obj->file, bkt_vobj_type_of(found), found, path);
    return BKT_MADE(err, *out);
}

/* An attribute stands for its object; a file for its root group. */
static int by_self(struct bkt_vobj *obj, struct bkt_vobj **out, struct bkt_err *err)
{
    *out = bkt_vobj_new(obj->file, bkt_vobj_type_of(obj->obj), bkt_object_retain(obj->obj), obj->path);
    BKT_NEED(err, *out);
    (*out)->by_mount = obj->by_mount;
    (*out)->hidden   = obj->hidden;
    return BKT_OK;
}

/* ---- any kind of file ---- */

int bkt_path_open(struct bkt_vobj *from, const char *path, hid_t lapl, struct bkt_vobj **out,
                  struct bkt_err *err)
{
    size_t n_links;
    BKT_PASS(bkt_path_check_lapl(lapl, &n_links, err));
    return from->ops->open->by_name(from, path, lapl, out, err);
}

int bkt_path_parent(struct bkt_vobj *from, const char *path, hid_t lapl, struct bkt_vobj **group, char **name,
                    struct bkt_err *err)
{
    size_t n = strlen(path);
    while (n && path[n - 1] == '/')
        n--;
    size_t cut = n;
    while (cut && path[cut - 1] != '/')
        cut--;
    BKT_CLEANUP(bkt_freep) char *head = strndup(path, cut ? cut : *path == '/');
    BKT_CLEANUP(bkt_freep) char *last = strndup(path + cut, n - cut);
    BKT_NEED(err, head && last);
    BKT_PASS(bkt_path_open(from, head, lapl, group, err));
    *name = last;
    last  = NULL;
    return BKT_OK;
}

int bkt_path_locate(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, struct bkt_vobj **out,
                    struct bkt_err *err)
{
    BKT_CLEANUP(bkt_vobj_freep) struct bkt_vobj *group = NULL;
    const H5VL_loc_by_idx_t                     *at    = &loc->loc_data.loc_by_idx;
    switch (loc->type) {
        case H5VL_OBJECT_BY_SELF:
            return obj->ops->open->by_self(obj, out, err);
        case H5VL_OBJECT_BY_NAME:
            return bkt_path_open(obj, loc->loc_data.loc_by_name.name, loc->loc_data.loc_by_name.lapl_id, out,
                                 err);
        case H5VL_OBJECT_BY_IDX:
            BKT_PASS(bkt_path_open(obj, at->name, at->lapl_id, &group, err));
            return group->ops->open->by_idx(group, at, out, err);
        case H5VL_OBJECT_BY_TOKEN:
            return obj->ops->open->by_token(obj, loc->loc_data.loc_by_token.token, out, err);
        default:
            BKT_FAIL(err, BKT_EINVAL, "unknown kind of location %d", (int)loc->type);
    }
}

const struct bkt_open_ops bkt_domain_open_ops = {
    .by_name = by_name, .by_idx = by_idx, .by_token = by_token, .by_self = by_self};
