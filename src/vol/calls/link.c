/* Groups of domains, mounts, and links: the calls of H5G and H5L. */
#include <stdlib.h>
#include <string.h>

#include "base/trace.h"
#include "chunk/write/write.h"
#include "vol/calls/calls.h"
#include "vol/convert/convert.h"
#include "vol/core/object_refs.h"
#include "vol/core/vol.h"
#include "vol/open/mounted_files.h"
#include "vol/open/permission_and_flush.h"
#include "vol/path/iterate.h"
#include "vol/path/new_link.h"
#include "vol/path/path.h"

/* ---- groups ---- */

static int new_group(hid_t gcpl, struct bkt_object **out, struct bkt_err *err)
{
    *out = bkt_object_make(BKT_GROUP);
    BKT_NEED(err, *out);
    int rc = bkt_convert_from_ocpl(gcpl, *out, err);
    if (rc < 0)
        bkt_object_free(*out);
    return rc;
}

static int group_create(struct bkt_vobj *at, const char *name, hid_t lcpl, hid_t gcpl, hid_t gapl,
                        struct bkt_vobj **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_new_link_fini) struct bkt_new_link s = {NULL, NULL, false};
    struct bkt_object *o = NULL;
    struct bkt_new_link_call call = {.what = "creating a group", .lcpl = lcpl, .lapl = gapl, .ocpl = gcpl};
    BKT_PASS(bkt_new_link_find(at, name, &call, &s, err));
    if (s.group && s.group->ops != at->ops)
        return s.group->ops->group->create(s.group, s.name, lcpl, gcpl, gapl, out, err);
    BKT_PASS(new_group(gcpl, &o, err));
    return bkt_new_link_put(&s, at, o, out, err);
}

static int get_gcpl(struct bkt_vobj *o, hid_t *out, struct bkt_err *err)
{
    return bkt_convert_object_ocpl(o->obj, H5P_GROUP_CREATE, out, err);
}

static int get_info(struct bkt_vobj *g, H5G_info_t *out, struct bkt_err *err)
{
    BKT_FAIL_IF(err, g->obj->kind != BKT_GROUP, BKT_EINVAL, "%s is not a group", g->obj->id.text);
    out->storage_type = H5G_STORAGE_TYPE_COMPACT; /* links lie in the group's own object */
    out->nlinks       = g->obj->group.links.n;
    out->max_corder   = (g->obj->track_order & 1) ? (int64_t)g->obj->group.links.next : 0;
    out->mounted      = bkt_file_mounted(g->file, &g->obj->id) != NULL || bkt_file_parent(g->file) != NULL;
    return BKT_OK;
}

/* ---- mounts ---- */

/* The file that all files mounted on one another begin with; NULL: not a domain. */
static const struct bkt_file *top_of(const struct bkt_file *f)
{
    for (const struct bkt_file *up = f ? bkt_file_parent(f) : NULL; up; up = bkt_file_parent(up))
        f = up;
    return f;
}

int bkt_group_mount(struct bkt_vobj *o, const char *name, struct bkt_vobj *child, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_vobj_freep) struct bkt_vobj *at = NULL;
    BKT_PASS(bkt_path_open(o, name, H5P_DEFAULT, &at, err));
    BKT_FAIL_IF(err, !at->file || !child || !child->file, BKT_EUNSUP,
                "'%s': only domains can be mounted, and only on groups of domains", name);
    BKT_FAIL_IF(err, at->type != H5I_GROUP, BKT_EINVAL, "'%s' is not a group: nothing can be mounted there",
                name);
    BKT_FAIL_IF(err, top_of(at->file) != top_of(o->file), BKT_EINVAL,
                "'%s' leads through an external link: open the file that it leads to, and mount there", name);
    return bkt_file_mount(at, child->file, err);
}

/* The mount that @p at shows: of the file whose root group it is, or on the group itself, if the group was
 * opened before.  False: none. */
static bool mount_at(const struct bkt_vobj *at, struct bkt_file **parent, struct bkt_id *where)
{
    struct bkt_file *child = at->file;
    *parent = child ? bkt_file_parent(child) : NULL;
    if (*parent && strcmp(at->obj->id.text, bkt_domain_root(child->dom)->text) == 0)
        for (const struct bkt_mount *m = (*parent)->mounts; m; m = m->next)
            if (m->child == child) {
                *where = m->at;
                return true;
            }
    *parent = child;
    *where = at->obj->id;
    return child && bkt_file_mounted(child, where);
}

/* If nothing else holds the mounted file, it is closed: its changes are stored before. */
static int flush_before_close(struct bkt_file *child, const struct bkt_vobj *at, struct bkt_err *err)
{
    const unsigned ours = at->file == child ? 2 : 1; /* the mount, and @p at */
    return child->refs > ours ? BKT_OK : bkt_file_flush(child, err);
}

int bkt_group_unmount(struct bkt_vobj *o, const char *name, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_vobj_freep) struct bkt_vobj *at = NULL;
    struct bkt_file *parent;
    struct bkt_id where;
    BKT_PASS(bkt_path_open(o, name, H5P_DEFAULT, &at, err));
    BKT_FAIL_IF(err, !mount_at(at, &parent, &where), BKT_ENOENT, "'%s': nothing is mounted there", name);
    BKT_PASS(flush_before_close(bkt_file_mounted(parent, &where), at, err));
    return bkt_file_unmount(parent, &where, err);
}

const struct bkt_group_ops bkt_domain_group_ops = {
    .create = group_create, .gcpl = get_gcpl, .info = get_info};

/* ---- links: which one ---- */

void bkt_link_place_fini(struct bkt_link_place *p)
{
    bkt_vobj_free(p->group);
    free(p->name);
}

int bkt_link_place_at(struct bkt_vobj *obj, const char *path, hid_t lapl, struct bkt_link_place *p,
                      struct bkt_err *err)
{
    p->path = path;
    BKT_PASS(bkt_path_parent(obj, path, lapl, &p->group, &p->name, err));
    return p->group->ops->link->find(p, err);
}

int bkt_link_place(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, struct bkt_link_place *p,
                   struct bkt_err *err)
{
    if (loc->type == H5VL_OBJECT_BY_NAME)
        return bkt_link_place_at(obj, loc->loc_data.loc_by_name.name, loc->loc_data.loc_by_name.lapl_id, p,
                                 err);
    BKT_FAIL_IF(err, loc->type != H5VL_OBJECT_BY_IDX, BKT_EINVAL, "a link must be given by name or by index");
    p->idx = &loc->loc_data.loc_by_idx;
    BKT_PASS(bkt_path_open(obj, p->idx->name, p->idx->lapl_id, &p->group, err));
    return p->group->ops->link->find(p, err);
}

static int link_find(struct bkt_link_place *p, struct bkt_err *err)
{
    if (!p->idx) {
        const struct bkt_object *g = p->group->obj;
        p->link                    = g->kind == BKT_GROUP ? bkt_links_find(&g->group.links, p->name) : NULL;
        return BKT_OK;
    }
    BKT_PASS(bkt_iterate_nth_link(p->group, p->idx->idx_type, p->idx->order, p->idx->n, &p->link, err));
    if (!p->name)
        p->name = strdup(p->link->name);
    return BKT_MADE(err, p->name);
}

static int link_check(struct bkt_link_place *p, const char *removing, struct bkt_err *err)
{
    BKT_FAIL_IF(err, !p->link, BKT_ENOENT, "%s: no link '%s' in group %s", p->group->file->name,
                p->name ? p->name : "", p->group->path ? p->group->path : p->group->obj->id.text);
    if (!removing)
        return BKT_OK;
    BKT_PASS(bkt_file_begin_change(p->group->file, BKT_ACL_DELETE, removing, err));
    p->link = bkt_links_find(&p->group->obj->group.links, p->name); /* it may have moved in memory */
    return link_check(p, NULL, err);
}

/* ---- links: get ---- */

static int get_val(const struct bkt_link *l, void *buf, size_t size, struct bkt_err *err)
{
    const char *file = l->file ? l->file : "", *path = l->path ? l->path : "";
    char       *to   = buf;
    BKT_FAIL_IF(err, l->cls == BKT_L_HARD, BKT_EINVAL, "'%s' is a hard link: it has no value", l->name);
    if (!buf || !size)
        return BKT_OK;
    if (l->cls == BKT_L_USER) {
        memcpy(buf, l->ud.ptr, l->ud.len < size ? l->ud.len : size);
        return BKT_OK;
    }
    if (l->cls == BKT_L_SOFT) {
        (void)snprintf(to, size, "%s", path);
        return BKT_OK;
    }
    /* external: version and flags 0, file name, object path; cut as in HDF5 if the buffer is short */
    size_t nf = strlen(file) + 1, np = strlen(path) + 1;
    *to++     = 0;
    size--;
    memcpy(to, file, nf < size ? nf : size);
    if (nf < size)
        memcpy(to + nf, path, np < size - nf ? np : size - nf);
    return BKT_OK;
}

static int get_name(const struct bkt_link *l, char *buf, size_t size, size_t *len)
{
    if (buf && size)
        (void)snprintf(buf, size, "%s", l->name);
    *len = strlen(l->name);
    return BKT_OK;
}

static int link_get(struct bkt_link_place *p, H5VL_link_get_args_t *args, struct bkt_err *err)
{
    BKT_PASS(link_check(p, NULL, err));
    switch (args->op_type) {
        case H5VL_LINK_GET_INFO:
            if (args->args.get_info.linfo) /* a program that asks only whether there is a link */
                bkt_iterate_link_info(p->group->obj, p->link, args->args.get_info.linfo);
            return BKT_OK;
        case H5VL_LINK_GET_NAME:
            return get_name(p->link, args->args.get_name.name, args->args.get_name.name_size,
                            args->args.get_name.name_len);
        case H5VL_LINK_GET_VAL:
            return get_val(p->link, args->args.get_val.buf, args->args.get_val.buf_size, err);
        default:
            BKT_UNKNOWN_OP(err, "link get operation", args->op_type);
    }
}

/* A missing link is an answer; a missing group on the way is an error, as in HDF5. */
static int link_exists(struct bkt_link_place *p, hbool_t *exists, struct bkt_err *err)
{
    bool itself = !p->name[0] || strcmp(p->name, ".") == 0;
    BKT_FAIL_IF(err, p->group->obj->kind != BKT_GROUP && !itself, BKT_EINVAL,
                "%s: '%s' can't be looked up: its parent is not a group", p->group->file->name, p->name);
    *exists = p->link || (p->path && strcmp(p->path, "/") == 0); /* as in HDF5, "//" and "." are not links */
    return BKT_OK;
}

/* ---- links: creating ---- */

static int put_or_free(struct bkt_new_link *s, struct bkt_link *l, int rc, struct bkt_err *err)
{
    if (rc == BKT_OK)
        return bkt_new_link_link(s, l, err);
    bkt_link_fini(l);
    return rc;
}

static int put(struct bkt_new_link *to, struct bkt_link *l, hid_t lcpl, struct bkt_err *err)
{
    (void)lcpl;
    return bkt_new_link_link(to, l, err);
}

static int create(struct bkt_new_link *s, H5VL_link_create_args_t *args, hid_t lcpl, struct bkt_err *err)
{
    struct bkt_link l = {.name = NULL};
    (void)lcpl;
    int rc = args->op_type == H5VL_LINK_CREATE_SOFT
                 ? bkt_link_soft(&l, args->args.soft.target, err)
                 : bkt_link_user(&l, (int)args->args.ud.type, args->args.ud.buf, args->args.ud.buf_size, err);
    return put_or_free(s, &l, rc, err);
}

static int other_file(struct bkt_err *err)
{
    BKT_FAIL(err, BKT_EINVAL, "a hard link can't lead from one file into another");
}

static int hard(struct bkt_new_link *s, struct bkt_vobj *target, hid_t lcpl, struct bkt_err *err)
{
    struct bkt_link l = {.cls = BKT_L_HARD, .id = target->obj->id};
    (void)lcpl;
    return s->group->file->dom == target->file->dom ? bkt_new_link_link(s, &l, err) : other_file(err);
}

static const struct bkt_domain *dom_of(const struct bkt_vobj *o)
{
    return o->file ? o->file->dom : NULL;
}

/* An object without a name gets the name of its first link (H5Iget_name). */
static void name_nameless(struct bkt_vobj *o, const struct bkt_new_link *s)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf path = {0};
    if (!o->path && s->group->path && bkt_link_path(s->group->path, s->name, &path) == BKT_OK)
        o->path = bkt_buf_steal(&path);
}

static int make_hard(H5VL_link_create_args_t *args, struct bkt_vobj *at, const char *name, hid_t lcpl,
                     hid_t lapl, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_new_link_fini) struct bkt_new_link s = {NULL, NULL, false};
    BKT_CLEANUP(bkt_vobj_freep) struct bkt_vobj *target = NULL;
    struct bkt_vobj *from = args->args.hard.curr_obj ? args->args.hard.curr_obj : at;
    const H5VL_loc_params_t *loc = &args->args.hard.curr_loc_params;
    if (loc->type == H5VL_OBJECT_BY_NAME &&
        dom_of(from) != dom_of(at)) /* before groups are made on the way */
        return other_file(err);
    struct bkt_new_link_call call = {.what = "creating a link", .lcpl = lcpl, .lapl = lapl};
    BKT_PASS(bkt_path_locate(from, loc, &target, err));
    BKT_PASS(bkt_new_link_find(at, name, &call, &s, err));
    BKT_PASS(s.group->ops == target->ops ? s.group->ops->link->hard(&s, target, lcpl, err) : other_file(err));
    if (loc->type == H5VL_OBJECT_BY_SELF)
        name_nameless(from, &s);
    return BKT_OK;
}

static int make_other(H5VL_link_create_args_t *args, struct bkt_vobj *at, const char *name, hid_t lcpl,
                      hid_t lapl, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_new_link_fini) struct bkt_new_link s = {NULL, NULL, false};
    struct bkt_new_link_call call = {.what = "creating a link", .lcpl = lcpl, .lapl = lapl};
    BKT_PASS(bkt_new_link_find(at, name, &call, &s, err));
    return s.group->ops->link->create(&s, args, lcpl, err);
}

int bkt_link_make(H5VL_link_create_args_t *args, struct bkt_vobj *obj, const H5VL_loc_params_t *loc,
                  hid_t lcpl, hid_t lapl, struct bkt_err *err)
{
    bool is_hard = args->op_type == H5VL_LINK_CREATE_HARD;
    if (!obj && is_hard) /* the caller may leave the location to the linked object */
        obj = args->args.hard.curr_obj;
    BKT_FAIL_IF(err, !obj || loc->type != H5VL_OBJECT_BY_NAME, BKT_EINVAL,
                "a new link needs a place and a name");
    const char *name = loc->loc_data.loc_by_name.name;
    bkt_trace(BKT_TRACE_VOL, "link create %s", name);
    return is_hard ? make_hard(args, obj, name, lcpl, lapl, err)
                   : make_other(args, obj, name, lcpl, lapl, err);
}

/* ---- links: deleting ---- */

/* Open objects that were reached through a removed link have another name now, or none (H5Iget_name). */
static void rename_open(const struct bkt_vobj *group, const char *name, const struct bkt_vobj *to_group,
                        const char *to_name)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf old = {0}, new = {0};
    if (!group->path || bkt_link_path(group->path, name, &old) < 0)
        return;
    bool known = to_group && to_group->path && to_group->file->dom == group->file->dom &&
                 bkt_link_path(to_group->path, to_name, &new) == BKT_OK;
    for (struct bkt_file *f = bkt_file_next(NULL); f; f = bkt_file_next(f))
        for (struct bkt_vobj *o = f->dom == group->file->dom ? f->objects : NULL; o; o = o->next) {
            BKT_CLEANUP(bkt_buf_fini) struct bkt_buf path = {0};
            if (!o->path || strncmp(o->path, bkt_buf_str(&old), old.len) != 0 ||
                (o->path[old.len] && o->path[old.len] != '/'))
                continue;
            bool set = known && bkt_buf_addf(&path, "%s%s", bkt_buf_str(&new), o->path + old.len) == BKT_OK;
            free(o->path);
            o->path = set ? bkt_buf_steal(&path) : NULL;
        }
}

static bool is_open(const struct bkt_domain *dom, const struct bkt_id *id)
{
    for (const struct bkt_file *f = bkt_file_next(NULL); f; f = bkt_file_next(f))
        for (const struct bkt_vobj *o = f->dom == dom ? f->objects : NULL; o; o = o->next)
            if (o->obj && strcmp(o->obj->id.text, id->text) == 0)
                return true;
    return false;
}

/* Writes to a dataset that is deleted needn't be stored first. */
static void forget_data(struct bkt_domain *dom, const struct bkt_id *id)
{
    uint64_t links = 1;
    if (id->text[0] && bkt_id_kind(id) == BKT_DATASET && !is_open(dom, id) &&
        bkt_domain_link_count(dom, id, &links, NULL) == BKT_OK && links == 0)
        bkt_chunks_forget(dom, id);
}

static int remove_link(struct bkt_link_place *p, const struct bkt_new_link *to, struct bkt_err *err)
{
    struct bkt_domain *dom = p->group->file->dom;
    bkt_trace(BKT_TRACE_VOL, "link delete %s", p->name);
    p->link = bkt_links_find(&p->group->obj->group.links, p->name); /* adding a link may have moved it */
    BKT_PASS(link_check(p, NULL, err));
    struct bkt_id id = p->link->id;
    BKT_PASS(bkt_edit_unlink(dom, &p->group->obj->id, p->name, err));
    rename_open(p->group, p->name, to ? to->group : NULL, to ? to->name : NULL);
    if (!to)
        forget_data(dom, &id);
    return BKT_OK;
}

int bkt_link_delete(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_link_place_fini) struct bkt_link_place p = {.group = NULL};
    BKT_PASS(bkt_link_place(obj, loc, &p, err));
    BKT_PASS(p.group->ops->link->check(&p, "deleting a link", err));
    return p.group->ops->link->remove(&p, NULL, err);
}

/* ---- links: copying and moving ---- */

/* Groups made on the way to the new place may lie beside the link, so it may have moved in memory. */
static int read_link(struct bkt_link_place *p, struct bkt_link *to, struct bkt_err *err)
{
    p->link = bkt_links_find(&p->group->obj->group.links, p->name);
    BKT_PASS(link_check(p, NULL, err));
    const struct bkt_link *from = p->link;
    to->cls = from->cls;
    to->id = from->id;
    to->ud_type = from->ud_type;
    if ((from->path && !(to->path = strdup(from->path))) ||
        (from->file && !(to->file = strdup(from->file))) ||
        (from->ud.len && bkt_buf_add(&to->ud, from->ud.ptr, from->ud.len) < 0))
        BKT_NOMEM(err);
    BKT_FAIL_IF(err, to->cls == BKT_L_OTHER, BKT_EUNSUP, "link '%s' has an unknown class", from->name);
    return BKT_OK;
}

static int copy(struct bkt_link_place *p, struct bkt_new_link *to, hid_t lcpl, struct bkt_err *err)
{
    struct bkt_link l = {.name = NULL};
    int rc = read_link(p, &l, err);
    (void)lcpl;
    if (rc == BKT_OK && l.cls == BKT_L_HARD && p->group->file->dom != to->group->file->dom)
        rc = BKT_ERR(err, BKT_EINVAL, "'%s' is a hard link: it can't be copied or moved into another file",
                     p->name);
    return put_or_free(to, &l, rc, err);
}

/* From one kind of file into another; a hard link can't lead out of its file. */
static int copy_abroad(struct bkt_link_place *p, struct bkt_new_link *to, hid_t lcpl, struct bkt_err *err)
{
    struct bkt_link l = {.name = NULL};
    int rc = p->group->ops->link->read(p, &l, err);
    if (rc == BKT_OK && l.cls == BKT_L_HARD)
        rc = BKT_ERR(err, BKT_EINVAL, "'%s' is a hard link: it can't be copied into another file",
                     p->name ? p->name : ".");
    if (rc == BKT_OK)
        return to->group->ops->link->put(to, &l, lcpl, err);
    bkt_link_fini(&l);
    return rc;
}

int bkt_link_transfer(struct bkt_vobj *src, const H5VL_loc_params_t *sloc, struct bkt_vobj *dst,
                      const H5VL_loc_params_t *dloc, hid_t lcpl, bool move, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_link_place_fini) struct bkt_link_place p = {.group = NULL};
    BKT_CLEANUP(bkt_new_link_fini) struct bkt_new_link to = {NULL, NULL, false};
    const H5VL_loc_by_name_t *name = &dloc->loc_data.loc_by_name;
    src = src ? src : dst;
    dst = dst ? dst : src;
    BKT_PASS(bkt_link_place(src, sloc, &p, err));
    const struct bkt_ops *ops = p.group->ops;
    if (move)
        BKT_PASS(ops->link->check(&p, "moving a link", err));
    BKT_FAIL_IF(err, dloc->type != H5VL_OBJECT_BY_NAME, BKT_EINVAL, "a new link needs a name");
    BKT_PASS(ops->link->check(&p, NULL, err));
    struct bkt_new_link_call call = {.what = "copying a link", .lcpl = lcpl, .lapl = name->lapl_id};
    BKT_PASS(bkt_new_link_find(dst, name->name, &call, &to, err));
    BKT_PASS(to.group->ops == ops ? ops->link->copy(&p, &to, lcpl, err) : copy_abroad(&p, &to, lcpl, err));
    return move ? ops->link->remove(&p, &to, err) : BKT_OK;
}

const struct bkt_link_ops bkt_domain_link_ops = {.find = link_find,
                                                 .check = link_check,
                                                 .get = link_get,
                                                 .exists = link_exists,
                                                 .iterate = bkt_iterate_links,
                                                 .remove = remove_link,
                                                 .read = read_link,
                                                 .put = put,
                                                 .copy = copy,
                                                 .is_free = bkt_new_link_is_free,
                                                 .create = create,
                                                 .hard = hard,
                                                 .stat = bkt_link_stat};
