/* H5G */
#include <string.h>

#include "vol/convert/convert.h"
#include "vol/open/file_calls.h"
#include "vol/plain/plain_file.h"
#include "vol/calls/old_calls.h"
#include "vol/path/new_link.h"
#include "base/trace.h"

static int group_open(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, const char *name, hid_t gapl, struct bkt_vobj **out,
                      struct bkt_err *err)
{
    struct bkt_vobj *at = NULL, *found = NULL;
    BKT_PASS(bkt_path_locate(obj, loc, &at, err));
    int rc = bkt_path_open(at, name, gapl, &found, err);
    bkt_vobj_free(at);
    BKT_PASS(rc);
    if (found->type != H5I_GROUP) {
        bkt_vobj_free(found);
        BKT_FAIL(err, BKT_EINVAL, "'%s' is not a group", name);
    }
    *out = found;
    return BKT_OK;
}

void *bkt_vol_group_open(void *obj, const H5VL_loc_params_t *loc, const char *name, hid_t gapl, hid_t dxpl, void **req)
{
    struct bkt_err   err = {.n = 0};
    struct bkt_vobj *o   = NULL;
    (void)dxpl, (void)req;
    bkt_trace(BKT_TRACE_VOL, "group open %s", name);
    if (group_open(obj, loc, name, gapl, &o, &err) < 0) {
        (void)bkt_h5err_publish(&err);
        return NULL;
    }
    return o;
}

static int new_group(hid_t gcpl, struct bkt_object **out, struct bkt_err *err)
{
    *out = bkt_object_make(BKT_GROUP);
    if (!*out)
        BKT_NOMEM(err);
    int rc = bkt_convert_from_ocpl(gcpl, *out, err);
    if (rc < 0)
        bkt_object_free(*out);
    return rc;
}

static int create_at(struct bkt_vobj *at, const char *name, hid_t lcpl, hid_t gcpl, hid_t gapl, struct bkt_vobj **out,
                     struct bkt_err *err)
{
    BKT_CLEANUP(bkt_spot_fini) struct bkt_spot s = {NULL, NULL, false};
    struct bkt_object                         *o = NULL;
    if (at->native_id >= 0)
        return bkt_native_group_create(at, name, lcpl, gcpl, gapl, out, err);
    bkt_change_relieve(at->file);
    if (!name) {
        BKT_PASS(bkt_change_may(at->file, BKT_ACL_CREATE, "creating a group", err));
        BKT_PASS(new_group(gcpl, &o, err));
        return bkt_spot_put_anonymous(at->file, o, out, err);
    }
    BKT_PASS(bkt_spot_find(at, name, lcpl, gapl, gcpl, "creating a group", &s, err));
    if (s.group->native_id >= 0)
        return bkt_native_group_create(s.group, s.name, lcpl, gcpl, gapl, out, err);
    BKT_PASS(new_group(gcpl, &o, err));
    return bkt_spot_put(&s, o, out, err);
}

static int group_create(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, const char *name, hid_t lcpl, hid_t gcpl, hid_t gapl,
                        struct bkt_vobj **out, struct bkt_err *err)
{
    struct bkt_vobj *at = NULL;
    BKT_PASS(bkt_path_locate(obj, loc, &at, err));
    int rc = create_at(at, name, lcpl, gcpl, gapl, out, err);
    bkt_vobj_free(at);
    return rc;
}

void *bkt_vol_group_create(void *obj, const H5VL_loc_params_t *loc, const char *name, hid_t lcpl, hid_t gcpl, hid_t gapl, hid_t dxpl,
                           void **req)
{
    struct bkt_err   err = {.n = 0};
    struct bkt_vobj *o   = NULL;
    (void)dxpl, (void)req;
    bkt_trace(BKT_TRACE_VOL, "group create %s", name ? name : "(anonymous)");
    if (group_create(obj, loc, name, lcpl, gcpl, gapl, &o, &err) < 0)
        (void)bkt_h5err_publish(&err);
    return o;
}

static int get_info(struct bkt_vobj *obj, H5VL_group_get_info_args_t *a, struct bkt_err *err)
{
    struct bkt_vobj *g = NULL;
    BKT_PASS(bkt_path_locate(obj, &a->loc_params, &g, err));
    int rc = BKT_OK;
    if (g->native_id >= 0) {
        rc = PASS_ON(err, H5Gget_info(g->native_id, a->ginfo), "H5Gget_info");
    } else if (g->obj->kind != BKT_GROUP) {
        rc = BKT_ERR(err, BKT_EINVAL, "%s is not a group", g->obj->id.text);
    } else {
        a->ginfo->storage_type = H5G_STORAGE_TYPE_COMPACT; /* links lie in the group's own object */
        a->ginfo->nlinks       = g->obj->group.links.n;
        a->ginfo->max_corder   = (g->obj->track_order & 1) ? (int64_t)g->obj->group.links.next : 0;
        a->ginfo->mounted      = bkt_file_mounted(g->file, &g->obj->id) != NULL || bkt_file_parent(g->file) != NULL;
    }
    bkt_vobj_free(g);
    return rc;
}

static int group_get(struct bkt_vobj *o, H5VL_group_get_args_t *args, struct bkt_err *err)
{
    switch (args->op_type) {
        case H5VL_GROUP_GET_GCPL:
            return o->native_id >= 0 ? bkt_native_group_get(o, args, err)
                                     : bkt_convert_gcpl(o, H5P_GROUP_CREATE, &args->args.get_gcpl.gcpl_id, err);
        case H5VL_GROUP_GET_INFO:
            return get_info(o, &args->args.get_info, err);
        default:
            BKT_FAIL(err, BKT_EUNSUP, "group get operation %d", (int)args->op_type);
    }
}

herr_t bkt_vol_group_get(void *obj, H5VL_group_get_args_t *args, hid_t dxpl, void **req)
{
    struct bkt_err err = {.n = 0};
    (void)dxpl, (void)req;
    return group_get(obj, args, &err) < 0 ? bkt_h5err_publish(&err) : 0;
}

static int mount(struct bkt_vobj *o, const char *name, struct bkt_vobj *child, struct bkt_err *err)
{
    struct bkt_vobj *at = NULL;
    BKT_PASS(bkt_path_open(o, name, H5P_DEFAULT, &at, err));
    int rc = at->native_id >= 0 || !child || !child->file
                 ? BKT_ERR(err, BKT_EUNSUP, "'%s': only domains can be mounted, and only on groups of domains", name)
             : at->type != H5I_GROUP ? BKT_ERR(err, BKT_EINVAL, "'%s' is not a group: nothing can be mounted "
                                               "there", name)
                                     : bkt_file_mount(at, child->file, err);
    bkt_vobj_free(at);
    return rc;
}

/* @p name leads to the root group of the mounted file. */
static int unmount(struct bkt_vobj *o, const char *name, struct bkt_err *err)
{
    struct bkt_vobj *at = NULL;
    BKT_PASS(bkt_path_open(o, name, H5P_DEFAULT, &at, err));
    struct bkt_file *child = at->file, *parent = child ? bkt_file_parent(child) : NULL;
    int              rc    = BKT_ENOENT;
    if (parent && strcmp(at->obj->id.text, bkt_domain_root(child->dom)->text) == 0)
        for (const struct bkt_mount *m = parent->mounts; m; m = m->next)
            if (m->child == child) {
                struct bkt_id where = m->at;
                rc                  = bkt_file_unmount(parent, &where, err);
                break;
            }
    if (rc == BKT_ENOENT)
        BKT_ERR(err, rc, "'%s': nothing is mounted there", name);
    bkt_vobj_free(at);
    return rc;
}

static int group_specific(struct bkt_vobj *o, H5VL_group_specific_args_t *args, struct bkt_err *err)
{
    switch (args->op_type) {
        case H5VL_GROUP_MOUNT:
            return mount(o, args->args.mount.name, args->args.mount.child_file, err);
        case H5VL_GROUP_UNMOUNT:
            return unmount(o, args->args.unmount.name, err);
        case H5VL_GROUP_FLUSH:
            return bkt_change_flush_object(o, args->args.flush.grp_id, err);
        case H5VL_GROUP_REFRESH:
            return bkt_change_refresh(o, err);
        default:
            BKT_FAIL(err, BKT_EUNSUP, "group operation %d", (int)args->op_type);
    }
}

herr_t bkt_vol_group_specific(void *obj, H5VL_group_specific_args_t *args, hid_t dxpl, void **req)
{
    struct bkt_err err = {.n = 0};
    (void)dxpl, (void)req;
    return group_specific(obj, args, &err) < 0 ? bkt_h5err_publish(&err) : 0;
}

herr_t bkt_vol_group_optional(void *obj, H5VL_optional_args_t *args, hid_t dxpl, void **req)
{
    struct bkt_err err = {.n = 0};
    (void)dxpl, (void)req;
    herr_t ret = bkt_old_group_call(obj, args, &err);
    return ret < 0 && err.n ? bkt_h5err_publish(&err) : ret < 0 ? -1 : ret;
}

herr_t bkt_vol_group_close(void *obj, hid_t dxpl, void **req)
{
    (void)dxpl, (void)req;
    return bkt_change_close(obj);
}
