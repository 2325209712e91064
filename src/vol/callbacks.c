/* Callbacks for files, groups, links, objects and tokens. */
#include <stdlib.h>
#include <string.h>

#include "base/trace.h"
#include "vol/callbacks.h"
#include "vol/calls/calls.h"
#include "vol/calls/outage.h"
#include "vol/copy/copy.h"
#include "vol/core/token.h"
#include "vol/open/file_calls.h"
#include "vol/path/path.h"

/* ---- H5F ---- */

static void *file_open(const char *name, unsigned flags, hid_t fapl, hid_t dxpl, void **req)
{
    struct bkt_err err = {.n = 0};
    struct bkt_vobj *o = NULL;
    (void)dxpl, (void)req;
    int rc = bkt_file_open_any(name, flags, fapl, &o, &err);
    if (rc >= 0)
        return o;
    (void)bkt_h5err_publish_file(&err, rc);
    return NULL;
}

static void *file_create(const char *name, unsigned flags, hid_t fcpl, hid_t fapl, hid_t dxpl, void **req)
{
    struct bkt_err err = {.n = 0};
    struct bkt_vobj *o = NULL;
    (void)dxpl, (void)req;
    bkt_trace(BKT_TRACE_VOL, "file create %s flags %#x", name, flags);
    int rc = bkt_file_create_any(name, flags, fcpl, fapl, &o, &err);
    if (rc >= 0)
        return o;
    (void)bkt_h5err_publish_file(&err, rc);
    return NULL;
}

BKT_CALLBACK(file_get, done,
             args->op_type == H5VL_FILE_GET_OBJ_COUNT ? bkt_file_obj_count(obj, args, &err)
             : args->op_type == H5VL_FILE_GET_OBJ_IDS ? bkt_file_obj_ids(obj, args, &err)
                                                      : bkt_ops_of(obj)->file->get(obj, args, &err),
             void *obj, H5VL_file_get_args_t *args)

static int specific_of_file(struct bkt_vobj *o, H5VL_file_specific_args_t *args, struct bkt_err *err)
{
    switch (args->op_type) {
    case H5VL_FILE_FLUSH:
        return o->ops->file->flush(o, args->args.flush.scope, err);
    case H5VL_FILE_REOPEN:
        return o->ops->file->reopen(o, (struct bkt_vobj **)args->args.reopen.file, err);
    case H5VL_FILE_IS_ACCESSIBLE:
        return bkt_file_accessible(args, err);
    case H5VL_FILE_DELETE:
        return bkt_file_delete_any(args->args.del.filename, args->args.del.fapl_id, err);
    case H5VL_FILE_IS_EQUAL:
        *args->args.is_equal.same_file = bkt_vobj_is_in_file_of(o, args->args.is_equal.obj2);
        return BKT_OK;
    default:
        BKT_UNKNOWN_OP(err, "file operation", args->op_type);
    }
}

BKT_CALLBACK(file_specific, done, specific_of_file(obj, args, &err), void *obj,
             H5VL_file_specific_args_t *args)

static int optional_of_file(struct bkt_vobj *o, H5VL_optional_args_t *args, hid_t dxpl, struct bkt_err *err)
{
    if (!bkt_outage_is_asked(args))
        return bkt_ops_of(o)->file->optional(o, args, dxpl, err);
    bkt_outage_answer(args);
    return BKT_OK;
}

BKT_CALLBACK(file_optional, done, optional_of_file(obj, args, dxpl, &err), void *obj,
             H5VL_optional_args_t *args)

static herr_t file_close(void *obj, hid_t dxpl, void **req)
{
    struct bkt_vobj *o = obj;
    struct bkt_err err = {.n = 0};
    int rc = o->file && o->file->handle == o ? bkt_file_close_others(o, &err) : BKT_OK;
    if (rc < 0)
        return bkt_h5err_publish(&err, rc);
    return bkt_call_close(obj, dxpl, req);
}

/* ---- H5G ---- */

static int create_group(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, const char *name, hid_t lcpl,
                        hid_t gcpl, hid_t gapl, struct bkt_vobj **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_vobj_freep) struct bkt_vobj *at = NULL;
    bkt_trace(BKT_TRACE_VOL, "group create %s", name ? name : "(anonymous)");
    BKT_PASS(bkt_path_locate(obj, loc, &at, err));
    return at->ops->group->create(at, name, lcpl, gcpl, gapl, out, err);
}

BKT_CALLBACK_MADE(group_create, create_group(obj, loc, name, lcpl, gcpl, gapl, &o, &err), void *obj,
                  const H5VL_loc_params_t *loc, const char *name, hid_t lcpl, hid_t gcpl, hid_t gapl)

static void *group_open(void *obj, const H5VL_loc_params_t *loc, const char *name, hid_t gapl, hid_t dxpl,
                        void **req)
{
    struct bkt_err err = {.n = 0};
    struct bkt_vobj *o = NULL;
    (void)dxpl, (void)req;
    bkt_trace(BKT_TRACE_VOL, "group open %s", name);
    return bkt_call_made(bkt_call_open(obj, loc, name, gapl, H5I_GROUP, &o, &err), &o, &err);
}

static int get_of_group(struct bkt_vobj *o, H5VL_group_get_args_t *args, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_vobj_freep) struct bkt_vobj *g = NULL;
    switch (args->op_type) {
    case H5VL_GROUP_GET_GCPL:
        return o->ops->group->gcpl(o, &args->args.get_gcpl.gcpl_id, err);
    case H5VL_GROUP_GET_INFO:
        BKT_PASS(bkt_path_locate(o, &args->args.get_info.loc_params, &g, err));
        return g->ops->group->info(g, args->args.get_info.ginfo, err);
    default:
        BKT_UNKNOWN_OP(err, "group get operation", args->op_type);
    }
}

BKT_CALLBACK(group_get, done, get_of_group(obj, args, &err), void *obj, H5VL_group_get_args_t *args)

static int specific_of_group(struct bkt_vobj *o, H5VL_group_specific_args_t *args, struct bkt_err *err)
{
    switch (args->op_type) {
    case H5VL_GROUP_MOUNT:
        return bkt_group_mount(o, args->args.mount.name, args->args.mount.child_file, err);
    case H5VL_GROUP_UNMOUNT:
        return bkt_group_unmount(o, args->args.unmount.name, err);
    case H5VL_GROUP_FLUSH:
        return o->ops->flush(o, args->args.flush.grp_id, err);
    case H5VL_GROUP_REFRESH:
        return o->ops->refresh(o, err);
    default:
        BKT_UNKNOWN_OP(err, "group operation", args->op_type);
    }
}

BKT_CALLBACK(group_specific, done, specific_of_group(obj, args, &err), void *obj,
             H5VL_group_specific_args_t *args)

BKT_CALLBACK(group_optional, answer, bkt_old_group_call(obj, args, &err), void *obj,
             H5VL_optional_args_t *args)

/* ---- H5L ---- */

BKT_CALLBACK(link_create, done, bkt_link_make(args, obj, loc, lcpl, lapl, &err),
             H5VL_link_create_args_t *args, void *obj, const H5VL_loc_params_t *loc, hid_t lcpl, hid_t lapl)

BKT_CALLBACK(link_copy, done, ((void)lapl, bkt_link_transfer(src, sloc, dst, dloc, lcpl, false, &err)),
             void *src, const H5VL_loc_params_t *sloc, void *dst, const H5VL_loc_params_t *dloc, hid_t lcpl,
             hid_t lapl)

BKT_CALLBACK(link_move, done, ((void)lapl, bkt_link_transfer(src, sloc, dst, dloc, lcpl, true, &err)),
             void *src, const H5VL_loc_params_t *sloc, void *dst, const H5VL_loc_params_t *dloc, hid_t lcpl,
             hid_t lapl)

static int get_of_link(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, H5VL_link_get_args_t *args,
                       struct bkt_err *err)
{
    BKT_CLEANUP(bkt_link_place_fini) struct bkt_link_place p = {.group = NULL};
    BKT_PASS(bkt_link_place(obj, loc, &p, err));
    return p.group->ops->link->get(&p, args, err);
}

BKT_CALLBACK(link_get, done, get_of_link(obj, loc, args, &err), void *obj, const H5VL_loc_params_t *loc,
             H5VL_link_get_args_t *args)

static int link_exists(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, hbool_t *exists,
                       struct bkt_err *err)
{
    BKT_CLEANUP(bkt_link_place_fini) struct bkt_link_place p = {.group = NULL};
    *exists = false;
    BKT_PASS(bkt_link_place(obj, loc, &p, err));
    return p.group->ops->link->exists(&p, exists, err);
}

static herr_t link_iterate(struct bkt_vobj *obj, const H5VL_loc_params_t *loc,
                           const H5VL_link_iterate_args_t *a, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_vobj_freep) struct bkt_vobj *group = NULL;
    BKT_PASS(bkt_path_locate(obj, loc, &group, err));
    return group->ops->link->iterate(group, a, err);
}

static herr_t specific_of_link(struct bkt_vobj *obj, const H5VL_loc_params_t *loc,
                               H5VL_link_specific_args_t *args, struct bkt_err *err)
{
    switch (args->op_type) {
    case H5VL_LINK_EXISTS:
        return link_exists(obj, loc, args->args.exists.exists, err);
    case H5VL_LINK_ITER:
        return link_iterate(obj, loc, &args->args.iterate, err);
    case H5VL_LINK_DELETE:
        return bkt_link_delete(obj, loc, err);
    default:
        BKT_UNKNOWN_OP(err, "link operation", args->op_type);
    }
}

BKT_CALLBACK(link_specific, answer, specific_of_link(obj, loc, args, &err), void *obj,
             const H5VL_loc_params_t *loc, H5VL_link_specific_args_t *args)

/* ---- H5O ---- */

/* H5Oopen() of a dataset may come with a dataset access list, which is a link access list too. */
static int open_object(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, struct bkt_vobj **out,
                       struct bkt_err *err)
{
    BKT_CLEANUP(bkt_vobj_freep) struct bkt_vobj *o = NULL;
    hid_t list = loc->type == H5VL_OBJECT_BY_NAME  ? loc->loc_data.loc_by_name.lapl_id
                 : loc->type == H5VL_OBJECT_BY_IDX ? loc->loc_data.loc_by_idx.lapl_id
                                                   : H5P_DEFAULT;
    BKT_PASS(bkt_path_locate(obj, loc, &o, err));
    if (o->type == H5I_DATASET && list > 0 && list != H5P_LINK_ACCESS_DEFAULT &&
        H5Pisa_class(list, H5P_DATASET_ACCESS) > 0)
        BKT_PASS(bkt_call_keep_list(o, list, err));
    *out = BKT_TAKE(o);
    return BKT_OK;
}

static void *object_open(void *obj, const H5VL_loc_params_t *loc, H5I_type_t *type, hid_t dxpl, void **req)
{
    struct bkt_err err = {.n = 0};
    struct bkt_vobj *o = NULL;
    (void)dxpl, (void)req;
    int rc = open_object(obj, loc, &o, &err);
    if (rc >= 0)
        *type = o->type;
    return bkt_call_made(rc, &o, &err);
}

static int copy_object(struct bkt_vobj *src, const H5VL_loc_params_t *sloc, const char *sname,
                       struct bkt_vobj *dst, const H5VL_loc_params_t *dloc, const char *dname, hid_t ocpypl,
                       hid_t lcpl, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_vobj_freep) struct bkt_vobj *at = NULL, *from = NULL, *to = NULL;
    struct bkt_h5err_print print;
    BKT_PASS(bkt_path_locate(src, sloc, &at, err));
    BKT_PASS(bkt_path_open(at, sname, H5P_DEFAULT, &from, err));
    BKT_PASS(bkt_path_locate(dst, dloc, &to, err));
    BKT_PASS(to->ops->may_create(to, "copying an object into a domain", err));
    bkt_h5err_mute(&print);
    int rc = from->ops == to->ops && to->ops->object->copy
                 ? to->ops->object->copy(from, to, dname, ocpypl, lcpl, err)
                 : bkt_copy(from, to, dname, ocpypl, lcpl, err);
    bkt_h5err_unmute(&print);
    return rc;
}

BKT_CALLBACK(object_copy, done, copy_object(src, sloc, sname, dst, dloc, dname, ocpypl, lcpl, &err),
             void *src, const H5VL_loc_params_t *sloc, const char *sname, void *dst,
             const H5VL_loc_params_t *dloc, const char *dname, hid_t ocpypl, hid_t lcpl)

BKT_CALLBACK(object_get, done, bkt_vobj_query(obj, loc, args, &err), void *obj, const H5VL_loc_params_t *loc,
             H5VL_object_get_args_t *args)

static int object_exists(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, hbool_t *out,
                         struct bkt_err *err)
{
    BKT_CLEANUP(bkt_vobj_freep) struct bkt_vobj *o = NULL;
    if (loc->type == H5VL_OBJECT_BY_NAME)
        return bkt_vobj_exists_at(obj, loc->loc_data.loc_by_name.name, loc->loc_data.loc_by_name.lapl_id, 0,
                                  out, err);
    BKT_PASS(bkt_path_locate(obj, loc, &o, err));
    *out = true;
    return BKT_OK;
}

static herr_t specific_of_object(struct bkt_vobj *obj, const H5VL_loc_params_t *loc,
                                 H5VL_object_specific_args_t *args, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_vobj_freep) struct bkt_vobj *o = NULL;
    switch (args->op_type) {
    case H5VL_OBJECT_EXISTS:
        return object_exists(obj, loc, args->args.exists.exists, err);
    case H5VL_OBJECT_LOOKUP:
        return bkt_vobj_lookup(obj, loc, args->args.lookup.token_ptr, err);
    case H5VL_OBJECT_VISIT:
        BKT_PASS(bkt_path_locate(obj, loc, &o, err));
        return o->ops->object->visit(o, &args->args.visit, err);
    case H5VL_OBJECT_FLUSH:
        return obj->ops->flush(obj, args->args.flush.obj_id, err);
    case H5VL_OBJECT_REFRESH:
        return obj->ops->refresh(obj, err);
    case H5VL_OBJECT_CHANGE_REF_COUNT:
        BKT_PASS(bkt_path_locate(obj, loc, &o, err));
        return o->ops->object->change_refs(o, args->args.change_rc.delta, err);
    default:
        BKT_UNKNOWN_OP(err, "object operation", args->op_type);
    }
}

BKT_CALLBACK(object_specific, answer, specific_of_object(obj, loc, args, &err), void *obj,
             const H5VL_loc_params_t *loc, H5VL_object_specific_args_t *args)

static int native_info(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, H5VL_optional_args_t *args,
                       struct bkt_err *err)
{
    BKT_CLEANUP(bkt_vobj_freep) struct bkt_vobj *o = NULL;
    H5VL_native_object_optional_args_t *a = args->args;
    struct bkt_err why = {.n = 0};
    memset(a->get_native_info.ninfo, 0, sizeof *a->get_native_info.ninfo);
    if (!obj->ops->object->native_info)
        return BKT_OK;
    int rc = bkt_path_locate(obj, loc, &o, &why);
    if (rc == BKT_OK)
        return o->ops->object->native_info ? o->ops->object->native_info(o, &a->get_native_info, err)
                                           : BKT_OK;
    if (obj->ops->object->native_info_unopened(obj, loc, &a->get_native_info, NULL) == BKT_OK)
        return BKT_OK;
    return bkt_err_copy(err, rc, &why);
}

static int optional_of_object(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, H5VL_optional_args_t *args,
                              struct bkt_err *err)
{
    BKT_CLEANUP(bkt_vobj_freep) struct bkt_vobj *o = NULL;
    H5VL_native_object_optional_args_t *a = args->args;
    switch (args->op_type) {
    case H5VL_NATIVE_OBJECT_GET_COMMENT:
        BKT_PASS(bkt_path_locate(obj, loc, &o, err));
        return o->ops->object->get_comment(o, &a->get_comment, err);
    case H5VL_NATIVE_OBJECT_SET_COMMENT:
        BKT_PASS(bkt_path_locate(obj, loc, &o, err));
        return o->ops->object->set_comment(o, a->set_comment.comment, err);
    case H5VL_NATIVE_OBJECT_GET_NATIVE_INFO: /* H5Oget_info1() and h5stat ask for it */
        return native_info(obj, loc, args, err);
    case H5VL_NATIVE_OBJECT_DISABLE_MDC_FLUSHES:
    case H5VL_NATIVE_OBJECT_ENABLE_MDC_FLUSHES:
        return obj->ops->object->hold_mdc(obj, args->op_type == H5VL_NATIVE_OBJECT_DISABLE_MDC_FLUSHES, err);
    case H5VL_NATIVE_OBJECT_ARE_MDC_FLUSHES_DISABLED:
        return obj->ops->object->is_mdc_held(obj, a->are_mdc_flushes_disabled.flag, err);
    default:
        BKT_FAIL(err, BKT_EUNSUP, "native object operation %d: not supported for domains", args->op_type);
    }
}

BKT_CALLBACK(object_optional, done, optional_of_object(obj, loc, args, &err), void *obj,
             const H5VL_loc_params_t *loc, H5VL_optional_args_t *args)

/* ---- tokens ---- */

/* In each kind of file only the address is compared. */
static herr_t token_cmp(void *obj, const H5O_token_t *a, const H5O_token_t *b, int *cmp)
{
    (void)obj;
    *cmp = a && b ? memcmp(a->__data, b->__data, BKT_TOKEN_ADDRESS) : a ? 1 : b ? -1 : 0;
    return 0;
}

static herr_t token_to_str(void *obj, H5I_type_t type, const H5O_token_t *token, char **str)
{
    struct bkt_vobj *o = obj;
    struct bkt_err err = {.n = 0};
    (void)type;
    return bkt_call_done(o->ops->token->to_str(o, token, str, &err), &err);
}

static herr_t token_from_str(void *obj, H5I_type_t type, const char *str, H5O_token_t *token)
{
    struct bkt_vobj *o = obj;
    struct bkt_err err = {.n = 0};
    (void)type;
    return bkt_call_done(o->ops->token->from_str(o, str, token, &err), &err);
}

const H5VL_file_class_t bkt_file_class = {
    .create = file_create,
    .open = file_open,
    .get = file_get,
    .specific = file_specific,
    .optional = file_optional,
    .close = file_close,
};

const H5VL_group_class_t bkt_group_class = {
    .create = group_create,
    .open = group_open,
    .get = group_get,
    .specific = group_specific,
    .optional = group_optional,
    .close = bkt_call_close,
};

const H5VL_link_class_t bkt_link_class = {
    .create = link_create,
    .copy = link_copy,
    .move = link_move,
    .get = link_get,
    .specific = link_specific,
};

const H5VL_object_class_t bkt_object_class = {
    .open = object_open,
    .copy = object_copy,
    .get = object_get,
    .specific = object_specific,
    .optional = object_optional,
};

const H5VL_token_class_t bkt_token_class = {
    .cmp = token_cmp,
    .to_str = token_to_str,
    .from_str = token_from_str,
};
