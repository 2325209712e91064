/* H5L: queries; for the rest see link_change.c. */
#include "vol/calls/link.h"

#include <stdlib.h>
#include <string.h>

#include "vol/path/iterate.h"
#include "vol/plain/plain_file.h"
#include "base/trace.h"

void bkt_link_place_fini(struct bkt_link_place *p)
{
    bkt_vobj_free(p->group);
    free(p->name);
}

int bkt_link_place_at(struct bkt_vobj *obj, const char *path, hid_t lapl, struct bkt_link_place *p, struct bkt_err *err)
{
    BKT_PASS(bkt_path_parent(obj, path, lapl, &p->group, &p->name, err));
    if (p->group->native_id < 0 && p->group->obj->kind == BKT_GROUP)
        p->link = bkt_links_find(&p->group->obj->group.links, p->name);
    return BKT_OK;
}

int bkt_link_place(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, struct bkt_link_place *p, struct bkt_err *err)
{
    if (loc->type == H5VL_OBJECT_BY_NAME)
        return bkt_link_place_at(obj, loc->loc_data.loc_by_name.name, loc->loc_data.loc_by_name.lapl_id, p, err);
    if (loc->type != H5VL_OBJECT_BY_IDX)
        BKT_FAIL(err, BKT_EINVAL, "a link must be given by name or by index");
    const H5VL_loc_by_idx_t *at = &loc->loc_data.loc_by_idx;
    BKT_PASS(bkt_path_open(obj, at->name, at->lapl_id, &p->group, err));
    if (p->group->native_id >= 0)
        return BKT_OK;
    BKT_PASS(bkt_iterate_nth_link(p->group, at->idx_type, at->order, at->n, &p->link, err));
    p->name = strdup(p->link->name);
    return p->name ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory");
}

int bkt_link_need(const struct bkt_link_place *p, struct bkt_err *err)
{
    if (p->link)
        return BKT_OK;
    BKT_FAIL(err, BKT_ENOENT, "%s: no link '%s' in group %s", p->group->file->name, p->name ? p->name : "",
             p->group->path ? p->group->path : p->group->obj->id.text);
}

/* ---- get ---- */

static int get_val(const struct bkt_link *l, void *buf, size_t size, struct bkt_err *err)
{
    const char *file = l->file ? l->file : "", *path = l->path ? l->path : "";
    char       *to   = buf;
    if (l->cls == BKT_L_HARD)
        BKT_FAIL(err, BKT_EINVAL, "'%s' is a hard link: it has no value", l->name);
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

static int link_get(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, H5VL_link_get_args_t *args, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_link_place_fini) struct bkt_link_place p = {0};
    BKT_PASS(bkt_link_place(obj, loc, &p, err));
    if (p.group->native_id >= 0)
        return bkt_native_link_get(p.group, p.name, loc, args, err);
    BKT_PASS(bkt_link_need(&p, err));
    switch (args->op_type) {
        case H5VL_LINK_GET_INFO:
            bkt_iterate_link_info(p.group->obj, p.link, args->args.get_info.linfo);
            return BKT_OK;
        case H5VL_LINK_GET_NAME:
            return get_name(p.link, args->args.get_name.name, args->args.get_name.name_size, args->args.get_name.name_len);
        case H5VL_LINK_GET_VAL:
            return get_val(p.link, args->args.get_val.buf, args->args.get_val.buf_size, err);
        default:
            BKT_FAIL(err, BKT_EUNSUP, "link get operation %d", (int)args->op_type);
    }
}

herr_t bkt_vol_link_get(void *obj, const H5VL_loc_params_t *loc, H5VL_link_get_args_t *args, hid_t dxpl, void **req)
{
    struct bkt_err err = {.n = 0};
    (void)dxpl, (void)req;
    return link_get(obj, loc, args, &err) < 0 ? bkt_h5err_publish(&err) : 0;
}

/* ---- specific ---- */

/* A missing link is an answer; a missing group on the way is an error, as in HDF5. */
static int link_exists(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, hbool_t *exists, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_link_place_fini) struct bkt_link_place p = {0};
    *exists                                = false;
    BKT_PASS(bkt_link_place(obj, loc, &p, err));
    if (p.group->native_id >= 0)
        return bkt_native_link_exists(p.group, p.name, exists, err);
    bool itself = !p.name[0] || strcmp(p.name, ".") == 0;
    if (p.group->obj->kind != BKT_GROUP && !itself)
        BKT_FAIL(err, BKT_EINVAL, "%s: '%s' can't be looked up: its parent is not a group",
                 p.group->file->name, p.name);
    /* as in HDF5, "/" exists, while "//" and "." are not links */
    *exists = p.link || (loc->type == H5VL_OBJECT_BY_NAME && strcmp(loc->loc_data.loc_by_name.name, "/") == 0);
    return BKT_OK;
}

static herr_t link_iterate(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, const H5VL_link_iterate_args_t *a, struct bkt_err *err)
{
    struct bkt_vobj *group = NULL;
    BKT_PASS(bkt_path_locate(obj, loc, &group, err));
    herr_t ret = group->native_id >= 0 ? bkt_native_link_iterate(group, a, err) : bkt_iterate_links(group, a, err);
    bkt_vobj_free(group);
    return ret;
}

herr_t bkt_vol_link_specific(void *obj, const H5VL_loc_params_t *loc, H5VL_link_specific_args_t *args, hid_t dxpl, void **req)
{
    struct bkt_err err = {.n = 0};
    herr_t         ret;
    (void)dxpl, (void)req;
    switch (args->op_type) {
        case H5VL_LINK_EXISTS:
            ret = link_exists(obj, loc, args->args.exists.exists, &err);
            break;
        case H5VL_LINK_ITER:
            ret = link_iterate(obj, loc, &args->args.iterate, &err);
            break;
        case H5VL_LINK_DELETE:
            ret = bkt_link_delete(obj, loc, &err);
            break;
        default:
            ret = BKT_ERR(&err, BKT_EUNSUP, "link operation %d", (int)args->op_type);
    }
    /* a failed callback of the program has left its own message, and ours is not added */
    return ret < 0 && err.n ? bkt_h5err_publish(&err) : ret < 0 ? -1 : ret;
}
