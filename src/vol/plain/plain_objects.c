/* Files, groups, links, objects and tokens of plain HDF5 files: the table of their operations.  Each passes
 * the call on to HDF5 by native_id.  For attributes, datasets and types see plain_data.c. */
#include <hdf5.h>

#include <H5VLconnector.h>
#include <H5VLconnector_passthru.h>
#include <H5VLnative.h>
#include <stdlib.h>
#include <string.h>

#include "vol/core/hid.h"
#include "vol/core/object_refs.h"
#include "vol/plain/plain_file.h"

/* ---- opening ---- */

static int open_by_name(struct bkt_vobj *o, const char *path, hid_t lapl, struct bkt_vobj **out,
                        struct bkt_err *err)
{
    hid_t id = H5I_INVALID_HID;
    BKT_PASS(bkt_native_open(o->native_id, *path ? path : ".", lapl, &id, err));
    return bkt_native_wrap(&id, out, err);
}

static int open_by_idx(struct bkt_vobj *group, const H5VL_loc_by_idx_t *at, struct bkt_vobj **out,
                       struct bkt_err *err)
{
    return BKT_WRAP_NATIVE(err,
                           H5Oopen_by_idx(group->native_id, ".", at->idx_type, at->order, at->n, H5P_DEFAULT),
                           "opening an object of a plain HDF5 file by index", out);
}

static int open_by_token(struct bkt_vobj *o, const H5O_token_t *token, struct bkt_vobj **out,
                         struct bkt_err *err)
{
    return BKT_WRAP_NATIVE(err, H5Oopen_by_token(o->native_id, *token),
                           "opening an object of a plain HDF5 file by token", out);
}

static int open_self(struct bkt_vobj *o, struct bkt_vobj **out, struct bkt_err *err)
{
    hid_t id = bkt_hid_hold(o->native_id);
    BKT_NEED_H5(err, id >= 0, "holding an id");
    return bkt_native_wrap(&id, out, err);
}

/* ---- files ---- */

static bool is_same_file(const struct bkt_vobj *a, const struct bkt_vobj *b, bool local)
{
    hid_t fa = H5Iget_file_id(a->native_id), fb = H5Iget_file_id(b->native_id);
    unsigned long na = 0, nb = 1;
    bool one = fa >= 0 && fb >= 0 &&
               (local ? H5VLobject(fa) == H5VLobject(fb)
                      : H5Fget_fileno(fa, &na) >= 0 && H5Fget_fileno(fb, &nb) >= 0 && na == nb);
    bkt_vobj_drop_id(fa);
    bkt_vobj_drop_id(fb);
    return one;
}

static int get_name(const struct bkt_vobj *o, const H5VL_file_get_name_args_t *a, struct bkt_err *err)
{
    ssize_t n = o->called ? (ssize_t)strlen(o->called) : 0;
    if (!o->called)
        BKT_PASS(BKT_PASS_NATIVE(err, n = H5Fget_name(o->native_id, a->buf, a->buf_size), "H5Fget_name"));
    else if (a->buf && a->buf_size)
        (void)snprintf(a->buf, a->buf_size, "%s", o->called);
    *a->file_name_len = (size_t)n;
    return BKT_OK;
}

static int file_get(struct bkt_vobj *o, H5VL_file_get_args_t *args, struct bkt_err *err)
{
    if (args->op_type == H5VL_FILE_GET_NAME)
        return get_name(o, &args->args.get_name, err);
    BKT_PASS(BKT_PASS_NATIVE(err,
                             H5VLfile_get(H5VLobject(o->native_id), H5VL_NATIVE, args, H5P_DEFAULT, NULL),
                             "asking about a plain HDF5 file"));
    if (args->op_type == H5VL_FILE_GET_CONT_INFO) /* a token is as long as an address of this file */
        args->args.get_cont_info.info->blob_id_size = 0;
    return BKT_OK;
}

static int file_flush(struct bkt_vobj *o, H5F_scope_t scope, struct bkt_err *err)
{
    return BKT_PASS_NATIVE(err, H5Fflush(o->native_id, scope), "H5Fflush");
}

static int file_reopen(struct bkt_vobj *o, struct bkt_vobj **out, struct bkt_err *err)
{
    BKT_PASS(BKT_WRAP_NATIVE(err, H5Freopen(o->native_id), "H5Freopen", out));
    if (!o->called || ((*out)->called = strdup(o->called)))
        return BKT_OK;
    bkt_vobj_free(*out);
    BKT_NOMEM(err);
}

static int file_optional(struct bkt_vobj *o, H5VL_optional_args_t *args, hid_t dxpl, struct bkt_err *err)
{
    return BKT_PASS_NATIVE(err, H5VLfile_optional(H5VLobject(o->native_id), H5VL_NATIVE, args, dxpl, NULL),
                           "a call on a plain HDF5 file");
}

/* ---- groups ---- */

static int group_create(struct bkt_vobj *at, const char *name, hid_t lcpl, hid_t gcpl, hid_t gapl,
                        struct bkt_vobj **out, struct bkt_err *err)
{
    return BKT_WRAP_NATIVE(err,
                           name ? H5Gcreate2(at->native_id, name, lcpl, gcpl, gapl)
                                : H5Gcreate_anon(at->native_id, gcpl, gapl),
                           "H5Gcreate", out);
}

/* HDF5 wants a group; the file stands for its root group. */
static int group_gcpl(struct bkt_vobj *o, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t group = H5I_INVALID_HID;
    BKT_PASS(BKT_PASS_NATIVE(err, group = H5Gopen2(o->native_id, ".", H5P_DEFAULT), "H5Gopen"));
    return BKT_PASS_NATIVE(err, *out = H5Gget_create_plist(group), "H5Gget_create_plist");
}

static int group_info(struct bkt_vobj *o, H5G_info_t *out, struct bkt_err *err)
{
    return BKT_PASS_NATIVE(err, H5Gget_info(o->native_id, out), "H5Gget_info");
}

/* ---- links ---- */

/* HDF5 finds the link, reports a missing one, and knows whether the file may be changed. */
static int link_find(struct bkt_link_place *p, struct bkt_err *err)
{
    (void)p, (void)err;
    return BKT_OK;
}

static const char *name_of(const struct bkt_link_place *p)
{
    return p->name ? p->name : ".";
}

static int link_check(struct bkt_link_place *p, const char *removing, struct bkt_err *err)
{
    H5L_info2_t info;
    if (removing)
        return BKT_OK;
    return BKT_PASS_NATIVE(err, H5Lget_info2(p->group->native_id, name_of(p), &info, H5P_DEFAULT),
                           "H5Lget_info");
}

static int link_get(struct bkt_link_place *p, H5VL_link_get_args_t *args, struct bkt_err *err)
{
    hid_t g = p->group->native_id;
    H5VL_loc_params_t loc = {.type = H5VL_OBJECT_BY_NAME, .obj_type = H5Iget_type(g)};
    if (p->idx) {
        loc.type = H5VL_OBJECT_BY_IDX;
        loc.loc_data.loc_by_idx = *p->idx;
        loc.loc_data.loc_by_idx.name = ".";
    } else
        loc.loc_data.loc_by_name = (H5VL_loc_by_name_t){p->name, H5P_LINK_ACCESS_DEFAULT};
    return BKT_PASS_NATIVE(err, H5VLlink_get(H5VLobject(g), &loc, H5VL_NATIVE, args, H5P_DEFAULT, NULL),
                           "asking about a link of a plain HDF5 file");
}

static int link_exists(struct bkt_link_place *p, hbool_t *exists, struct bkt_err *err)
{
    htri_t r = 1;
    if (*p->name)
        BKT_PASS(BKT_PASS_NATIVE(err, r = H5Lexists(p->group->native_id, p->name, H5P_DEFAULT), "H5Lexists"));
    *exists = r > 0;
    return BKT_OK;
}

static int link_remove(struct bkt_link_place *p, const struct bkt_new_link *to, struct bkt_err *err)
{
    const H5VL_loc_by_idx_t *at = p->idx;
    if (at && !to)
        return BKT_PASS_NATIVE(
            err, H5Ldelete_by_idx(p->group->native_id, ".", at->idx_type, at->order, at->n, H5P_DEFAULT),
            "H5Ldelete_by_idx");
    return BKT_PASS_NATIVE(err, H5Ldelete(p->group->native_id, name_of(p), H5P_DEFAULT), "H5Ldelete");
}

static int link_read(struct bkt_link_place *p, struct bkt_link *l, struct bkt_err *err)
{
    H5L_info2_t info;
    BKT_PASS(BKT_PASS_NATIVE(err, H5Lget_info2(p->group->native_id, name_of(p), &info, H5P_DEFAULT),
                             "H5Lget_info"));
    l->cls = BKT_L_HARD;
    if (info.type == H5L_TYPE_HARD)
        return BKT_OK;
    BKT_CLEANUP(bkt_freep) char *value = calloc(1, info.u.val_size + 1);
    BKT_NEED(err, value);
    BKT_PASS(BKT_PASS_NATIVE(
        err, H5Lget_val(p->group->native_id, p->name, value, info.u.val_size, H5P_DEFAULT), "H5Lget_val"));
    return info.type == H5L_TYPE_SOFT ? bkt_link_soft(l, value, err)
                                      : bkt_link_user(l, (int)info.type, value, info.u.val_size, err);
}

/* h5repack copies soft and external links this way. */
static int link_put(struct bkt_new_link *to, struct bkt_link *l, hid_t lcpl, struct bkt_err *err)
{
    const char *path = l->path ? l->path : "", *file = l->file ? l->file : "";
    hid_t g = to->group->native_id;
    int rc = l->cls == BKT_L_SOFT ? BKT_PASS_NATIVE(err, H5Lcreate_soft(path, g, to->name, lcpl, H5P_DEFAULT),
                                                    "H5Lcreate_soft")
             : l->cls == BKT_L_EXTERNAL
                 ? BKT_PASS_NATIVE(err, H5Lcreate_external(file, path, g, to->name, lcpl, H5P_DEFAULT),
                                   "H5Lcreate_external")
                 : BKT_PASS_NATIVE(err,
                                   H5Lcreate_ud(g, to->name, (H5L_type_t)l->ud_type, l->ud.ptr, l->ud.len,
                                                lcpl, H5P_DEFAULT),
                                   "H5Lcreate_ud");
    bkt_link_fini(l);
    return rc;
}

static int link_copy(struct bkt_link_place *p, struct bkt_new_link *to, hid_t lcpl, struct bkt_err *err)
{
    return BKT_PASS_NATIVE(
        err, H5Lcopy(p->group->native_id, name_of(p), to->group->native_id, to->name, lcpl, H5P_DEFAULT),
        "H5Lcopy");
}

static int link_is_free(const struct bkt_new_link *s, const char *path, struct bkt_err *err)
{
    (void)s, (void)path, (void)err;
    return BKT_OK;
}

static int may_create(struct bkt_vobj *o, const char *what, struct bkt_err *err)
{
    (void)o, (void)what, (void)err;
    return BKT_OK;
}

static int link_create(struct bkt_new_link *s, H5VL_link_create_args_t *args, hid_t lcpl, struct bkt_err *err)
{
    hid_t g = s->group->native_id;
    switch (args->op_type) {
    case H5VL_LINK_CREATE_SOFT:
        return BKT_PASS_NATIVE(err, H5Lcreate_soft(args->args.soft.target, g, s->name, lcpl, H5P_DEFAULT),
                               "H5Lcreate_soft");
    case H5VL_LINK_CREATE_UD:
        return BKT_PASS_NATIVE(err,
                               H5Lcreate_ud(g, s->name, args->args.ud.type, args->args.ud.buf,
                                            args->args.ud.buf_size, lcpl, H5P_DEFAULT),
                               "H5Lcreate_ud");
    case H5VL_LINK_CREATE_HARD:
    default:
        BKT_UNKNOWN_OP(err, "link creation", args->op_type);
    }
}

static int link_hard(struct bkt_new_link *s, struct bkt_vobj *target, hid_t lcpl, struct bkt_err *err)
{
    return BKT_PASS_NATIVE(err, H5Olink(target->native_id, s->group->native_id, s->name, lcpl, H5P_DEFAULT),
                           "H5Olink");
}

static int link_stat(struct bkt_link_place *p, H5G_stat_t *out, struct bkt_err *err)
{
    if (!*p->name)
        return 0;
    BKT_PASS(
        BKT_PASS_NATIVE(err, H5Gget_objinfo(p->group->native_id, p->name, false, out), "H5Gget_objinfo"));
    return 1;
}

static herr_t call_link_op(hid_t group, const char *name, const H5L_info2_t *info, void *arg)
{
    struct bkt_native_walk *w = arg;
    const H5VL_link_iterate_args_t *a = bkt_native_walk_call(w);
    (void)group;
    return bkt_native_walk_back(w, a->op(w->shown, name, info, a->op_data));
}

static herr_t link_iterate(struct bkt_vobj *group, const H5VL_link_iterate_args_t *a, struct bkt_err *err)
{
    struct bkt_native_walk w;
    bkt_native_walk_begin(&w, group, a);
    herr_t rc = a->recursive
                    ? H5Lvisit2(group->native_id, a->idx_type, a->order, call_link_op, &w)
                    : H5Literate2(group->native_id, a->idx_type, a->order, a->idx_p, call_link_op, &w);
    return bkt_native_walk_end(&w, rc, "iterating over links of a plain HDF5 file", err);
}

/* ---- objects ---- */

static herr_t is_handle(hid_t id, void *arg)
{
    struct bkt_vobj **h = arg; /* in: of the same file; out: the handle */
    const void *obj = H5VLobject(id);
    struct bkt_vobj *o = bkt_vobj_plain();
    while (o && o != obj)
        o = o->next;
    if (!o || o->ops != &bkt_plain_ops || H5Iget_type(o->native_id) != H5I_FILE ||
        H5VLobject(o->native_id) != H5VLobject((*h)->native_id))
        return 0;
    *h = o;
    return 1;
}

/* The program's handle of the file, if there is one: HDF5 finds the program's id by it. */
static int object_file(struct bkt_vobj *o, struct bkt_vobj **out, struct bkt_err *err)
{
    hid_t file = H5I_INVALID_HID;
    struct bkt_vobj *made = NULL;
    *out = o;
    if (o->called)
        return BKT_OK;
    BKT_PASS(BKT_PASS_NATIVE(err, file = H5Iget_file_id(o->native_id), "H5Iget_file_id"));
    BKT_PASS(bkt_native_wrap(&file, &made, err));
    *out = made;
    (void)H5Iiterate(H5I_FILE, is_handle, out);
    if (*out != made)
        bkt_vobj_free(made);
    return BKT_OK;
}

static int object_get(struct bkt_vobj *o, H5VL_object_get_args_t *args, struct bkt_err *err)
{
    H5O_info2_t info;
    ssize_t n;
    switch (args->op_type) {
    case H5VL_OBJECT_GET_NAME:
        BKT_PASS(BKT_PASS_NATIVE(
            err, n = H5Iget_name(o->native_id, args->args.get_name.buf, args->args.get_name.buf_size),
            "H5Iget_name"));
        *args->args.get_name.name_len = (size_t)n;
        return BKT_OK;
    case H5VL_OBJECT_GET_TYPE:
        BKT_PASS(BKT_PASS_NATIVE(err, H5Oget_info3(o->native_id, &info, H5O_INFO_BASIC), "H5Oget_info"));
        if (args->args.get_type.obj_type)
            *args->args.get_type.obj_type = info.type;
        return BKT_OK;
    case H5VL_OBJECT_GET_INFO:
        return BKT_PASS_NATIVE(
            err, H5Oget_info3(o->native_id, args->args.get_info.oinfo, args->args.get_info.fields),
            "H5Oget_info");
    case H5VL_OBJECT_GET_FILE:
    default:
        BKT_UNKNOWN_OP(err, "object get operation", args->op_type);
    }
}

/* Links on the way may lead out of the file.  HDF5 gives such a group an id of the connector that the present
 * call belongs to.  Only HDF5's public calls begin a new call.  Otherwise the native connector's callback
 * would make an id of this connector for its own object. */
static int info_on_the_way(struct bkt_vobj *at, const H5VL_loc_params_t *loc, H5O_info2_t *out,
                           unsigned fields, struct bkt_err *err)
{
    const H5VL_loc_by_name_t *name = &loc->loc_data.loc_by_name;
    const H5VL_loc_by_idx_t *idx = &loc->loc_data.loc_by_idx;
    return BKT_PASS_NATIVE(err,
                           loc->type == H5VL_OBJECT_BY_NAME
                               ? H5Oget_info_by_name3(at->native_id, name->name, out, fields, name->lapl_id)
                               : H5Oget_info_by_idx3(at->native_id, idx->name, idx->idx_type, idx->order,
                                                     idx->n, out, fields, idx->lapl_id),
                           "asking about an object of a plain HDF5 file");
}

static bool follows_links(const H5VL_loc_params_t *loc)
{
    return loc->type == H5VL_OBJECT_BY_NAME || loc->type == H5VL_OBJECT_BY_IDX;
}

static int object_get_unopened(struct bkt_vobj *at, const H5VL_loc_params_t *loc,
                               H5VL_object_get_args_t *args, struct bkt_err *err)
{
    if (!follows_links(loc))
        return BKT_PASS_NATIVE(
            err, H5VLobject_get(H5VLobject(at->native_id), loc, H5VL_NATIVE, args, H5P_DEFAULT, NULL),
            "asking about an object of a plain HDF5 file");
    if (args->op_type != H5VL_OBJECT_GET_INFO)
        return BKT_EUNSUP;
    return info_on_the_way(at, loc, args->args.get_info.oinfo, args->args.get_info.fields, err);
}

static int object_token_unopened(struct bkt_vobj *at, const H5VL_loc_params_t *loc, H5O_token_t *out,
                                 struct bkt_err *err)
{
    H5O_info2_t info;
    if (!follows_links(loc))
        return BKT_EUNSUP;
    BKT_PASS(info_on_the_way(at, loc, &info, H5O_INFO_BASIC, err));
    *out = info.token;
    return BKT_OK;
}

static int object_native_info_unopened(struct bkt_vobj *at, const H5VL_loc_params_t *loc,
                                       const H5VL_native_object_get_native_info_t *a, struct bkt_err *err)
{
    const H5VL_loc_by_name_t *name = &loc->loc_data.loc_by_name;
    const H5VL_loc_by_idx_t *idx = &loc->loc_data.loc_by_idx;
    if (!follows_links(loc))
        return BKT_EUNSUP;
    return BKT_PASS_NATIVE(
        err,
        loc->type == H5VL_OBJECT_BY_NAME
            ? H5Oget_native_info_by_name(at->native_id, name->name, a->ninfo, a->fields, name->lapl_id)
            : H5Oget_native_info_by_idx(at->native_id, idx->name, idx->idx_type, idx->order, idx->n, a->ninfo,
                                        a->fields, idx->lapl_id),
        "asking about an object of a plain HDF5 file");
}

static int object_token(struct bkt_vobj *o, bool old, H5O_token_t *out, struct bkt_err *err)
{
    H5O_info2_t info;
    (void)old;
    BKT_PASS(BKT_PASS_NATIVE(err, H5Oget_info3(o->native_id, &info, H5O_INFO_BASIC), "H5Oget_info"));
    *out = info.token;
    return BKT_OK;
}

static int object_exists(struct bkt_link_place *p, hid_t lapl, unsigned depth, hbool_t *exists,
                         struct bkt_err *err)
{
    htri_t r = 1;
    (void)lapl;
    if (depth)
        BKT_PASS(BKT_PASS_NATIVE(err, r = H5Lexists(p->group->native_id, p->name, H5P_DEFAULT), "H5Lexists"));
    if (r > 0)
        BKT_PASS(BKT_PASS_NATIVE(err, r = H5Oexists_by_name(p->group->native_id, p->name, H5P_DEFAULT),
                                 "H5Oexists_by_name"));
    *exists = r > 0;
    return BKT_OK;
}

static herr_t call_object_op(hid_t obj, const char *name, const H5O_info2_t *info, void *arg)
{
    struct bkt_native_walk *w = arg;
    const H5VL_object_visit_args_t *a = bkt_native_walk_call(w);
    (void)obj;
    return bkt_native_walk_back(w, a->op(w->shown, name, info, a->op_data));
}

static herr_t object_visit(struct bkt_vobj *o, const H5VL_object_visit_args_t *a, struct bkt_err *err)
{
    struct bkt_native_walk w;
    bkt_native_walk_begin(&w, o, a);
    herr_t rc = H5Ovisit3(o->native_id, a->idx_type, a->order, call_object_op, &w, a->fields);
    return bkt_native_walk_end(&w, rc, "visiting objects of a plain HDF5 file", err);
}

static int object_flush(struct bkt_vobj *o, hid_t id, struct bkt_err *err)
{
    (void)id;
    return BKT_PASS_NATIVE(err, H5Oflush(o->native_id), "H5Oflush");
}

/* HDF5 closes an object that is open for reading, and opens it again under its id.  That fails, and leaves it
 * unusable, if the id has further references. */
static int object_refresh(struct bkt_vobj *o, struct bkt_err *err)
{
    int others = H5Iget_ref(o->native_id) - 1;
    if (o->plain_dataset)
        o->plain_dataset_free(o->plain_dataset);
    o->plain_dataset = NULL;
    for (int i = 0; i < others; i++)
        bkt_vobj_drop_id(o->native_id);
    int rc = BKT_PASS_NATIVE(err, H5Orefresh(o->native_id), "H5Orefresh");
    for (int i = 0; i < others && H5Iis_valid(o->native_id) > 0; i++)
        bkt_vobj_keep_id(o->native_id);
    if (rc == BKT_OK && o->has_native_header)
        bkt_native_header_copy(o->native_header, o->type, H5VLobject(o->native_id));
    return rc;
}

static int object_change_refs(struct bkt_vobj *o, int delta, struct bkt_err *err)
{
    return BKT_PASS_NATIVE(err, delta < 0 ? H5Odecr_refcount(o->native_id) : H5Oincr_refcount(o->native_id),
                           "changing a reference count");
}

static int object_get_comment(struct bkt_vobj *o, H5VL_native_object_get_comment_t *a, struct bkt_err *err)
{
    ssize_t n = 0;
    BKT_PASS(BKT_PASS_NATIVE(err, n = H5Oget_comment(o->native_id, a->buf, a->buf_size), "H5Oget_comment"));
    *a->comment_len = (size_t)n;
    return BKT_OK;
}

static int object_set_comment(struct bkt_vobj *o, const char *text, struct bkt_err *err)
{
    return BKT_PASS_NATIVE(err, H5Oset_comment(o->native_id, text), "H5Oset_comment");
}

static int object_native_info(struct bkt_vobj *o, H5VL_native_object_get_native_info_t *a,
                              struct bkt_err *err)
{
    return BKT_PASS_NATIVE(err, H5Oget_native_info(o->native_id, a->ninfo, a->fields), "H5Oget_native_info");
}

static int object_hold_mdc(struct bkt_vobj *o, bool hold, struct bkt_err *err)
{
    return hold ? BKT_PASS_NATIVE(err, H5Odisable_mdc_flushes(o->native_id), "H5Odisable_mdc_flushes")
                : BKT_PASS_NATIVE(err, H5Oenable_mdc_flushes(o->native_id), "H5Oenable_mdc_flushes");
}

static int object_is_mdc_held(struct bkt_vobj *o, hbool_t *out, struct bkt_err *err)
{
    return BKT_PASS_NATIVE(err, H5Oare_mdc_flushes_disabled(o->native_id, out),
                           "H5Oare_mdc_flushes_disabled");
}

static int object_stat(struct bkt_vobj *o, H5G_stat_t *out, struct bkt_err *err)
{
    return BKT_PASS_NATIVE(err, H5Gget_objinfo(o->native_id, ".", true, out), "H5Gget_objinfo");
}

static int object_copy(struct bkt_vobj *src, struct bkt_vobj *dst, const char *name, hid_t ocpypl, hid_t lcpl,
                       struct bkt_err *err)
{
    return BKT_PASS_NATIVE(err, H5Ocopy(src->native_id, ".", dst->native_id, name, ocpypl, lcpl), "H5Ocopy");
}

/* ---- tokens ---- */

static int token_to_str(struct bkt_vobj *o, const H5O_token_t *token, char **out, struct bkt_err *err)
{
    return BKT_PASS_NATIVE(err, H5Otoken_to_str(o->native_id, token, out), "H5Otoken_to_str");
}

static int token_from_str(struct bkt_vobj *o, const char *text, H5O_token_t *out, struct bkt_err *err)
{
    return BKT_PASS_NATIVE(err, H5Otoken_from_str(o->native_id, text, out), "H5Otoken_from_str");
}

static const struct bkt_open_ops ways = {
    .by_name = open_by_name, .by_idx = open_by_idx, .by_token = open_by_token, .by_self = open_self};

static const struct bkt_file_ops file_ops = {
    .get = file_get, .flush = file_flush, .reopen = file_reopen, .optional = file_optional};

static const struct bkt_group_ops group_ops = {
    .create = group_create, .gcpl = group_gcpl, .info = group_info};

static const struct bkt_link_ops link_ops = {.find = link_find,
                                             .check = link_check,
                                             .get = link_get,
                                             .exists = link_exists,
                                             .iterate = link_iterate,
                                             .remove = link_remove,
                                             .read = link_read,
                                             .put = link_put,
                                             .copy = link_copy,
                                             .is_free = link_is_free,
                                             .create = link_create,
                                             .hard = link_hard,
                                             .stat = link_stat};

static const struct bkt_object_ops object_ops = {.file = object_file,
                                                 .get = object_get,
                                                 .get_unopened = object_get_unopened,
                                                 .token_unopened = object_token_unopened,
                                                 .native_info_unopened = object_native_info_unopened,
                                                 .token = object_token,
                                                 .exists = object_exists,
                                                 .visit = object_visit,
                                                 .change_refs = object_change_refs,
                                                 .get_comment = object_get_comment,
                                                 .set_comment = object_set_comment,
                                                 .native_info = object_native_info,
                                                 .hold_mdc = object_hold_mdc,
                                                 .is_mdc_held = object_is_mdc_held,
                                                 .stat = object_stat,
                                                 .copy = object_copy};

static const struct bkt_token_ops token_ops = {.to_str = token_to_str, .from_str = token_from_str};

const struct bkt_ops bkt_plain_ops = {.open = &ways,
                                      .attr = &bkt_plain_attr_ops,
                                      .dataset = &bkt_plain_dataset_ops,
                                      .datatype = &bkt_plain_datatype_ops,
                                      .file = &file_ops,
                                      .group = &group_ops,
                                      .link = &link_ops,
                                      .object = &object_ops,
                                      .token = &token_ops,
                                      .is_same_file = is_same_file,
                                      .may_create = may_create,
                                      .flush = object_flush,
                                      .refresh = object_refresh};
