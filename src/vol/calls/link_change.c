/* H5L: creating, copying, moving and deleting links. */
#include <stdlib.h>
#include <string.h>

#include "vol/open/file_calls.h"
#include "vol/calls/link.h"
#include "vol/plain/plain_file.h"
#include "vol/path/new_link.h"
#include "base/trace.h"
#include "chunk/write/write.h"

/* ---- values ---- */

/* The form of paths in HDF5's links: single slashes, none at the end. */
static char *tidy_path(const char *path)
{
    char  *out = strdup(path);
    size_t n   = 0;
    for (const char *p = path; out && *p; p++)
        if (*p != '/' || n == 0 || out[n - 1] != '/')
            out[n++] = *p;
    if (!out)
        return NULL;
    if (n > 1 && out[n - 1] == '/')
        n--;
    out[n] = '\0';
    return out;
}

static int soft_value(struct bkt_link *l, const char *target, struct bkt_err *err)
{
    l->cls  = BKT_L_SOFT;
    l->path = tidy_path(target);
    return l->path ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory");
}

/* An external link's value in the form of H5Lcreate_external() and H5Lget_val(): version and flags (0),
 * file, object. */
static int external_value(struct bkt_link *l, const char *value, size_t n, struct bkt_err *err)
{
    const char *file = value + 1;
    size_t      nf   = strnlen(file, n - 1);
    const char *path = file + nf + 1;
    l->cls           = BKT_L_EXTERNAL;
    l->file          = strdup(file);
    l->path          = strndup(path, n - 2 - nf);
    return l->file && l->path ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory");
}

static bool is_external_value(const char *value, size_t n)
{
    size_t nf = n > 1 ? strnlen(value + 1, n - 1) : 0;
    return n > 3 && value[0] == 0 && nf > 0 && nf + 2 < n && strnlen(value + nf + 2, n - nf - 2) < n - nf - 2;
}

static int user_value(struct bkt_link *l, int type, const void *value, size_t n, struct bkt_err *err)
{
    if (type == H5L_TYPE_EXTERNAL && is_external_value(value, n))
        return external_value(l, value, n, err);
    if (type < H5L_TYPE_UD_MIN || H5Lis_registered((H5L_type_t)type) <= 0)
        BKT_FAIL(err, BKT_EINVAL, "links of class %d: the class is not registered with HDF5", type);
    l->cls     = BKT_L_USER;
    l->ud_type = type;
    return bkt_buf_add(&l->ud, value, n) < 0 ? BKT_ERR(err, BKT_ENOMEM, "out of memory") : BKT_OK;
}

static int copy_value(struct bkt_link *to, const struct bkt_link *from, struct bkt_err *err)
{
    to->cls     = from->cls;
    to->id      = from->id;
    to->ud_type = from->ud_type;
    if ((from->path && !(to->path = strdup(from->path))) || (from->file && !(to->file = strdup(from->file))) ||
        (from->ud.len && bkt_buf_add(&to->ud, from->ud.ptr, from->ud.len) < 0))
        BKT_NOMEM(err);
    if (to->cls == BKT_L_OTHER)
        BKT_FAIL(err, BKT_EUNSUP, "link '%s' has an unknown class", from->name);
    return BKT_OK;
}

/* ---- creating ---- */

static int put_or_free(struct bkt_spot *s, struct bkt_link *l, int rc, struct bkt_err *err)
{
    if (rc == BKT_OK)
        return bkt_spot_link(s, l, err);
    bkt_link_fini(l);
    return rc;
}

static int hard_at(struct bkt_spot *s, struct bkt_vobj *target, hid_t lcpl, struct bkt_err *err)
{
    struct bkt_link l = {.cls = BKT_L_HARD};
    if (s->group->native_id >= 0 && target->native_id >= 0)
        return PASS_ON(err, H5Olink(target->native_id, s->group->native_id, s->name, lcpl, H5P_DEFAULT), "H5Olink");
    if (s->group->native_id >= 0 || target->native_id >= 0 || s->group->file->dom != target->file->dom)
        BKT_FAIL(err, BKT_EINVAL, "a hard link can't lead from one file into another");
    l.id = target->obj->id;
    return bkt_spot_link(s, &l, err);
}

static const struct bkt_domain *dom_of(const struct bkt_vobj *o) { return o->native_id >= 0 ? NULL : o->file->dom; }

/* An object without a name gets the name of its first link (H5Iget_name). */
static void name_nameless(struct bkt_vobj *o, const struct bkt_spot *s)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf path = {0};
    if (!o->path && o->native_id < 0 && s->group->native_id < 0 && s->group->path &&
        bkt_link_path(s->group->path, s->name, &path) == BKT_OK)
        o->path = bkt_buf_steal(&path);
}

static int create_hard(H5VL_link_create_args_t *args, struct bkt_vobj *at, const char *name, hid_t lcpl, hid_t lapl,
                       struct bkt_err *err)
{
    BKT_CLEANUP(bkt_spot_fini) struct bkt_spot s      = {NULL, NULL, false};
    struct bkt_vobj                           *from   = args->args.hard.curr_obj ? args->args.hard.curr_obj : at;
    struct bkt_vobj                           *target = NULL;
    if (args->args.hard.curr_loc_params.type == H5VL_OBJECT_BY_NAME && dom_of(from) != dom_of(at)) /* before groups are made on the way */
        BKT_FAIL(err, BKT_EINVAL, "a hard link can't lead from one file into another");
    bkt_change_relieve(at->file);
    BKT_PASS(bkt_path_locate(from, &args->args.hard.curr_loc_params, &target, err));
    int rc = bkt_spot_find(at, name, lcpl, lapl, H5P_DEFAULT, "creating a link", &s, err);
    rc     = rc < 0 ? rc : hard_at(&s, target, lcpl, err);
    if (rc == BKT_OK && args->args.hard.curr_loc_params.type == H5VL_OBJECT_BY_SELF)
        name_nameless(from, &s);
    bkt_vobj_free(target);
    return rc;
}

static int create_other(H5VL_link_create_args_t *args, struct bkt_vobj *at, const char *name, hid_t lcpl, hid_t lapl,
                        struct bkt_err *err)
{
    BKT_CLEANUP(bkt_spot_fini) struct bkt_spot s = {NULL, NULL, false};
    struct bkt_link                            l = {.name = NULL};
    bkt_change_relieve(at->file);
    BKT_PASS(bkt_spot_find(at, name, lcpl, lapl, H5P_DEFAULT, "creating a link", &s, err));
    if (s.group->native_id >= 0)
        return bkt_native_link_create(s.group, s.name, args, lcpl, err);
    int rc = args->op_type == H5VL_LINK_CREATE_SOFT
                 ? soft_value(&l, args->args.soft.target, err)
                 : user_value(&l, (int)args->args.ud.type, args->args.ud.buf, args->args.ud.buf_size, err);
    return put_or_free(&s, &l, rc, err);
}

static int link_create(H5VL_link_create_args_t *args, struct bkt_vobj *obj, const H5VL_loc_params_t *loc, hid_t lcpl, hid_t lapl,
                       struct bkt_err *err)
{
    /* for a hard link the caller may leave the location to the linked object */
    if (!obj && args->op_type == H5VL_LINK_CREATE_HARD)
        obj = args->args.hard.curr_obj;
    if (!obj || loc->type != H5VL_OBJECT_BY_NAME)
        BKT_FAIL(err, BKT_EINVAL, "a new link needs a place and a name");
    const char *name = loc->loc_data.loc_by_name.name;
    bkt_trace(BKT_TRACE_VOL, "link create %s", name);
    return args->op_type == H5VL_LINK_CREATE_HARD ? create_hard(args, obj, name, lcpl, lapl, err)
                                                  : create_other(args, obj, name, lcpl, lapl, err);
}

herr_t bkt_vol_link_create(H5VL_link_create_args_t *args, void *obj, const H5VL_loc_params_t *loc, hid_t lcpl, hid_t lapl, hid_t dxpl,
                           void **req)
{
    struct bkt_err err = {.n = 0};
    (void)dxpl, (void)req;
    return link_create(args, obj, loc, lcpl, lapl, &err) < 0 ? bkt_h5err_publish(&err) : 0;
}

/* ---- copying ---- */

/* Copy into a plain file; h5repack copies soft and external links this way.  A hard link can't lead out of
 * its file. */
static int copy_out(const struct bkt_link *l, const struct bkt_spot *to, hid_t lcpl, struct bkt_err *err)
{
    const char *path = l->path ? l->path : "", *file = l->file ? l->file : "";
    if (l->cls == BKT_L_SOFT)
        return PASS_ON(err, H5Lcreate_soft(path, to->group->native_id, to->name, lcpl, H5P_DEFAULT), "H5Lcreate_soft");
    if (l->cls == BKT_L_EXTERNAL)
        return PASS_ON(err, H5Lcreate_external(file, path, to->group->native_id, to->name, lcpl, H5P_DEFAULT), "H5Lcreate_external");
    if (l->cls == BKT_L_USER)
        return PASS_ON(err,
                       H5Lcreate_ud(to->group->native_id, to->name, (H5L_type_t)l->ud_type, l->ud.ptr, l->ud.len, lcpl, H5P_DEFAULT),
                       "H5Lcreate_ud");
    BKT_FAIL(err, BKT_EINVAL, "'%s' is not a soft or external link: it can't be copied into another file", l->name);
}

/* The value of a link in a plain file */
static int read_native(const struct bkt_link_place *p, struct bkt_link *l, struct bkt_err *err)
{
    H5L_info2_t info;
    BKT_PASS(PASS_ON(err, H5Lget_info2(p->group->native_id, p->name ? p->name : ".", &info, H5P_DEFAULT), "H5Lget_info"));
    if (info.type == H5L_TYPE_HARD)
        BKT_FAIL(err, BKT_EINVAL, "'%s' is a hard link: it can't be copied into another file", p->name);
    BKT_CLEANUP(bkt_freep) char *value = calloc(1, info.u.val_size + 1);
    if (!value)
        BKT_NOMEM(err);
    BKT_PASS(PASS_ON(err, H5Lget_val(p->group->native_id, p->name, value, info.u.val_size, H5P_DEFAULT), "H5Lget_val"));
    return info.type == H5L_TYPE_SOFT ? soft_value(l, value, err) : user_value(l, (int)info.type, value, info.u.val_size, err);
}

static int copy_in(const struct bkt_link_place *p, struct bkt_spot *to, struct bkt_err *err)
{
    struct bkt_link l  = {.name = NULL};
    int             rc = p->group->native_id >= 0 ? read_native(p, &l, err) : copy_value(&l, p->link, err);
    if (rc == BKT_OK && l.cls == BKT_L_HARD && p->group->file->dom != to->group->file->dom)
        rc = BKT_ERR(err, BKT_EINVAL, "'%s' is a hard link: it can't be copied or moved into another file", p->name);
    return put_or_free(to, &l, rc, err);
}

static int copy(struct bkt_link_place *p, struct bkt_vobj *dst, const H5VL_loc_params_t *dloc, hid_t lcpl, struct bkt_spot *to,
                struct bkt_err *err)
{
    H5L_info2_t info;
    if (dloc->type != H5VL_OBJECT_BY_NAME)
        BKT_FAIL(err, BKT_EINVAL, "a new link needs a name");
    if (p->group->native_id < 0)
        BKT_PASS(bkt_link_need(p, err));
    else
        BKT_PASS(PASS_ON(err, H5Lget_info2(p->group->native_id, p->name ? p->name : ".", &info, H5P_DEFAULT), "H5Lget_info"));
    BKT_PASS(bkt_spot_find(dst, dloc->loc_data.loc_by_name.name, lcpl, dloc->loc_data.loc_by_name.lapl_id, H5P_DEFAULT,
                           "copying a link", to, err));
    if (p->group->native_id < 0) { /* groups made on the way may lie beside it, so it may have moved in memory */
        p->link = bkt_links_find(&p->group->obj->group.links, p->name);
        BKT_PASS(bkt_link_need(p, err));
    }
    if (to->group->native_id < 0)
        return copy_in(p, to, err);
    if (p->group->native_id < 0)
        return copy_out(p->link, to, lcpl, err);
    return PASS_ON(err, H5Lcopy(p->group->native_id, p->name ? p->name : ".", to->group->native_id, to->name, lcpl, H5P_DEFAULT),
                   "H5Lcopy");
}

static int link_copy(struct bkt_vobj *src, const H5VL_loc_params_t *sloc, struct bkt_vobj *dst, const H5VL_loc_params_t *dloc, hid_t lcpl,
                     struct bkt_err *err)
{
    BKT_CLEANUP(bkt_link_place_fini) struct bkt_link_place p  = {0};
    BKT_CLEANUP(bkt_spot_fini) struct bkt_spot             to = {NULL, NULL, false};
    BKT_PASS(bkt_link_place(src ? src : dst, sloc, &p, err));
    return copy(&p, dst ? dst : src, dloc, lcpl, &to, err);
}

herr_t bkt_vol_link_copy(void *src, const H5VL_loc_params_t *sloc, void *dst, const H5VL_loc_params_t *dloc, hid_t lcpl, hid_t lapl,
                         hid_t dxpl, void **req)
{
    struct bkt_err err = {.n = 0};
    (void)lapl, (void)dxpl, (void)req;
    return link_copy(src, sloc, dst, dloc, lcpl, &err) < 0 ? bkt_h5err_publish(&err) : 0;
}

/* ---- deleting and moving ---- */

/* Open objects that were reached through a removed link have another name now, or none (H5Iget_name). */
static void rename_open(const struct bkt_vobj *group, const char *name, const struct bkt_vobj *to_group, const char *to_name)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf old = {0}, new = {0};
    if (!group->path || bkt_link_path(group->path, name, &old) < 0)
        return;
    bool known = to_group && to_group->path && to_group->file->dom == group->file->dom &&
                 bkt_link_path(to_group->path, to_name, &new) == BKT_OK;
    for (struct bkt_file *f = bkt_file_next(NULL); f; f = bkt_file_next(f))
        for (struct bkt_vobj *o = f->dom == group->file->dom ? f->objects : NULL; o; o = o->next) {
            BKT_CLEANUP(bkt_buf_fini) struct bkt_buf path = {0};
            if (!o->path || strncmp(o->path, bkt_buf_str(&old), old.len) != 0 || (o->path[old.len] && o->path[old.len] != '/'))
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
    if (id->text[0] && bkt_id_kind(id) == BKT_DATASET && !is_open(dom, id) && bkt_domain_link_count(dom, id, &links, NULL) == BKT_OK &&
        links == 0 && strcmp(bkt_domain_settings(dom)->link_count, "known") != 0)
        bkt_chunks_forget(dom, id);
}

static int unlink_at(const struct bkt_link_place *p, const struct bkt_vobj *to_group, const char *to_name, struct bkt_err *err)
{
    struct bkt_domain *dom = p->group->file->dom;
    struct bkt_id      id  = p->link->id;
    BKT_PASS(bkt_edit_unlink(dom, &p->group->obj->id, p->name, err));
    rename_open(p->group, p->name, to_group, to_name);
    if (!to_group)
        forget_data(dom, &id);
    return BKT_OK;
}

int bkt_link_delete(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_link_place_fini) struct bkt_link_place p = {0};
    const H5VL_loc_by_idx_t                          *at = &loc->loc_data.loc_by_idx;
    bkt_change_relieve(obj->file);
    BKT_PASS(bkt_link_place(obj, loc, &p, err));
    if (p.group->native_id >= 0)
        return p.name ? bkt_native_link_delete(p.group, p.name, err)
                      : PASS_ON(err, H5Ldelete_by_idx(p.group->native_id, ".", at->idx_type, at->order, at->n, H5P_DEFAULT),
                                "H5Ldelete_by_idx");
    BKT_PASS(bkt_link_need(&p, err));
    BKT_PASS(bkt_change_may(p.group->file, BKT_ACL_DELETE, "deleting a link", err));
    bkt_trace(BKT_TRACE_VOL, "link delete %s", p.name);
    return unlink_at(&p, NULL, NULL, err);
}

static int link_move(struct bkt_vobj *src, const H5VL_loc_params_t *sloc, struct bkt_vobj *dst, const H5VL_loc_params_t *dloc, hid_t lcpl,
                     struct bkt_err *err)
{
    BKT_CLEANUP(bkt_link_place_fini) struct bkt_link_place p  = {0};
    BKT_CLEANUP(bkt_spot_fini) struct bkt_spot             to = {NULL, NULL, false};
    bkt_change_relieve(src ? src->file : dst->file);
    BKT_PASS(bkt_link_place(src ? src : dst, sloc, &p, err));
    if (p.group->native_id < 0) {
        BKT_PASS(bkt_link_need(&p, err));
        BKT_PASS(bkt_change_may(p.group->file, BKT_ACL_DELETE, "moving a link", err));
    }
    BKT_PASS(copy(&p, dst ? dst : src, dloc, lcpl, &to, err));
    if (p.group->native_id >= 0)
        return PASS_ON(err, H5Ldelete(p.group->native_id, p.name ? p.name : ".", H5P_DEFAULT), "H5Ldelete");
    p.link = bkt_links_find(&p.group->obj->group.links, p.name); /* adding a link may have moved it */
    BKT_PASS(bkt_link_need(&p, err));
    return unlink_at(&p, to.group, to.name, err);
}

herr_t bkt_vol_link_move(void *src, const H5VL_loc_params_t *sloc, void *dst, const H5VL_loc_params_t *dloc, hid_t lcpl, hid_t lapl,
                         hid_t dxpl, void **req)
{
    struct bkt_err err = {.n = 0};
    (void)lapl, (void)dxpl, (void)req;
    return link_move(src, sloc, dst, dloc, lcpl, &err) < 0 ? bkt_h5err_publish(&err) : 0;
}
