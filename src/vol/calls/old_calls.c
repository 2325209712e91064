/* H5Giterate, H5Gget_objinfo and H5Aiterate1: calls of HDF5 1.6 that arrive as native-optional operations. */
#include <hdf5.h>

#include <H5VLnative.h>
#include <string.h>

#include "vol/calls/calls.h"
#include "vol/core/object_refs.h"
#include "vol/path/iterate.h"
#include "vol/path/path.h"

/* ---- H5Giterate ---- */

struct old_op {
    H5G_iterate_t op;
    void         *data;
};

static herr_t call_old(hid_t group, const char *name, const H5L_info2_t *info, void *arg)
{
    const struct old_op *o = arg;
    (void)info;
    return o->op(group, name, o->data);
}

static herr_t iterate(struct bkt_vobj *o, H5VL_native_group_iterate_old_t *q, struct bkt_err *err)
{
    struct bkt_vobj         *group = NULL;
    struct old_op            old   = {q->op, q->op_data};
    hsize_t                  idx   = q->idx;
    H5VL_link_iterate_args_t a = {.recursive = false,
                                  .idx_type = H5_INDEX_NAME,
                                  .order = H5_ITER_INC,
                                  .idx_p = &idx,
                                  .op = call_old,
                                  .op_data = &old};
    BKT_PASS(bkt_path_locate(o, &q->loc_params, &group, err));
    herr_t ret = group->ops->link->iterate(group, &a, err);
    bkt_vobj_free(group);
    if (q->last_obj)
        *q->last_obj = idx;
    return ret;
}

/* ---- H5Gget_objinfo ---- */

int bkt_vobj_stat(struct bkt_vobj *o, H5G_stat_t *out, struct bkt_err *err)
{
    static const H5G_obj_t types[] = {
        [H5O_TYPE_GROUP] = H5G_GROUP, [H5O_TYPE_DATASET] = H5G_DATASET, [H5O_TYPE_NAMED_DATATYPE] = H5G_TYPE};
    H5O_info2_t info;
    BKT_PASS(bkt_vobj_info(o, H5O_INFO_BASIC | H5O_INFO_TIME, &info, err));
    uint64_t address = bkt_get_le(info.token.__data, 8);
    out->fileno[0]   = info.fileno;
    out->objno[0]    = (unsigned long)address;
    out->objno[1]    = sizeof(long) < 8 ? (unsigned long)(address >> 32) : 0;
    out->nlink       = info.rc;
    out->type        = types[info.type];
    out->mtime       = info.ctime;
    return BKT_OK;
}

/* Only soft and external links are described; others are followed. */
int bkt_link_stat(struct bkt_link_place *p, H5G_stat_t *out, struct bkt_err *err)
{
    H5L_info2_t info;
    (void)err;
    if (!p->link || p->link->cls == BKT_L_HARD)
        return 0;
    out->type = p->link->cls == BKT_L_SOFT ? H5G_LINK : H5G_UDLINK;
    bkt_iterate_link_info(p->group->obj, p->link, &info); /* sorts the links: p->link may point to another one
                                                             afterwards */
    out->fileno[0] = p->group->file->fileno;
    out->linklen   = info.u.val_size;
    return 1;
}

static int link_stat(struct bkt_vobj *o, const H5VL_loc_by_name_t *at, H5G_stat_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_link_place_fini) struct bkt_link_place p = {.group = NULL};
    BKT_PASS(bkt_link_place_at(o, at->name, at->lapl_id, &p, err));
    return p.group->ops->link->stat(&p, out, err);
}

static int get_objinfo(struct bkt_vobj *o, H5VL_native_group_get_objinfo_t *q, struct bkt_err *err)
{
    struct bkt_vobj *found = NULL;
    H5G_stat_t       mine = {0}, *out = q->statbuf ? q->statbuf : &mine;
    memset(out, 0, sizeof *out);
    if (!q->follow_link && q->loc_params.type == H5VL_OBJECT_BY_NAME) {
        int rc = link_stat(o, &q->loc_params.loc_data.loc_by_name, out, err);
        if (rc != 0)
            return rc < 0 ? rc : BKT_OK;
    }
    BKT_PASS(bkt_path_locate(o, &q->loc_params, &found, err));
    int rc = found->ops->object->stat(found, out, err);
    bkt_vobj_free(found);
    return rc;
}

herr_t bkt_old_group_call(struct bkt_vobj *o, H5VL_optional_args_t *args, struct bkt_err *err)
{
    H5VL_native_group_optional_args_t *a = args->args;
    switch (args->op_type) {
        case H5VL_NATIVE_GROUP_ITERATE_OLD:
            return iterate(o, &a->iterate_old, err);
        case H5VL_NATIVE_GROUP_GET_OBJINFO:
            return get_objinfo(o, &a->get_objinfo, err);
        default:
            BKT_FAIL(err, BKT_EUNSUP, "native group operation %d: not supported for domains", args->op_type);
    }
}

/* ---- H5Aiterate1 ---- */

struct old_attr_op {
    const H5VL_native_attr_iterate_old_t *asked;
    struct bkt_h5err_print                print;
};

static herr_t call_old_attr(hid_t obj, const char *name, const H5A_info_t *info, void *arg)
{
    struct old_attr_op *o = arg;
    (void)info;
    bkt_h5err_unmute(&o->print);
    herr_t rc = o->asked->op(obj, name, o->asked->op_data);
    bkt_h5err_mute(&o->print);
    return rc;
}

herr_t bkt_old_attr_call(H5VL_optional_args_t *args, struct bkt_err *err)
{
    H5VL_native_attr_optional_args_t *a = args->args;
    BKT_FAIL_IF(err, args->op_type != H5VL_NATIVE_ATTR_ITERATE_OLD, BKT_EUNSUP,
                "native attribute operation %d: not supported for domains", args->op_type);
    H5VL_native_attr_iterate_old_t *q   = &a->iterate_old;
    struct old_attr_op              old = {.asked = q};
    hsize_t                         idx = q->attr_num ? *q->attr_num : 0;
    bkt_h5err_mute(&old.print);
    herr_t ret = H5Aiterate2(q->loc_id, H5_INDEX_CRT_ORDER, H5_ITER_INC, &idx, call_old_attr, &old);
    if (q->attr_num)
        *q->attr_num = (unsigned)idx;
    if (ret < 0)
        ret = bkt_h5err_capture(err, "iterating over attributes");
    bkt_h5err_unmute(&old.print);
    return ret;
}
