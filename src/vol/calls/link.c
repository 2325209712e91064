/* H5L: the subject of a call, and queries; for the rest see link_change.c. */
#include "vol/calls/link.h"

#include <stdlib.h>
#include <string.h>

#include "vol/open/permission_and_flush.h"
#include "vol/path/iterate.h"
#include "vol/path/path.h"

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
    if (loc->type != H5VL_OBJECT_BY_IDX)
        BKT_FAIL(err, BKT_EINVAL, "a link must be given by name or by index");
    p->idx = &loc->loc_data.loc_by_idx;
    BKT_PASS(bkt_path_open(obj, p->idx->name, p->idx->lapl_id, &p->group, err));
    return p->group->ops->link->find(p, err);
}

int bkt_link_find(struct bkt_link_place *p, struct bkt_err *err)
{
    if (!p->idx) {
        const struct bkt_object *g = p->group->obj;
        p->link                    = g->kind == BKT_GROUP ? bkt_links_find(&g->group.links, p->name) : NULL;
        return BKT_OK;
    }
    BKT_PASS(bkt_iterate_nth_link(p->group, p->idx->idx_type, p->idx->order, p->idx->n, &p->link, err));
    if (!p->name)
        p->name = strdup(p->link->name);
    return p->name ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory");
}

int bkt_link_check(struct bkt_link_place *p, const char *removing, struct bkt_err *err)
{
    if (!p->link)
        BKT_FAIL(err, BKT_ENOENT, "%s: no link '%s' in group %s", p->group->file->name,
                 p->name ? p->name : "", p->group->path ? p->group->path : p->group->obj->id.text);
    if (!removing)
        return BKT_OK;
    BKT_PASS(bkt_change_begin(p->group->file, BKT_ACL_DELETE, removing, err));
    p->link = bkt_links_find(&p->group->obj->group.links, p->name); /* it may have moved in memory */
    return bkt_link_check(p, NULL, err);
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

int bkt_link_get(struct bkt_link_place *p, H5VL_link_get_args_t *args, struct bkt_err *err)
{
    BKT_PASS(bkt_link_check(p, NULL, err));
    switch (args->op_type) {
        case H5VL_LINK_GET_INFO:
            bkt_iterate_link_info(p->group->obj, p->link, args->args.get_info.linfo);
            return BKT_OK;
        case H5VL_LINK_GET_NAME:
            return get_name(p->link, args->args.get_name.name, args->args.get_name.name_size,
                            args->args.get_name.name_len);
        case H5VL_LINK_GET_VAL:
            return get_val(p->link, args->args.get_val.buf, args->args.get_val.buf_size, err);
        default:
            BKT_FAIL(err, BKT_EUNSUP, "link get operation %d", (int)args->op_type);
    }
}

/* A missing link is an answer; a missing group on the way is an error, as in HDF5. */
int bkt_link_exists(struct bkt_link_place *p, hbool_t *exists, struct bkt_err *err)
{
    bool itself = !p->name[0] || strcmp(p->name, ".") == 0;
    if (p->group->obj->kind != BKT_GROUP && !itself)
        BKT_FAIL(err, BKT_EINVAL, "%s: '%s' can't be looked up: its parent is not a group",
                 p->group->file->name, p->name);
    *exists = p->link || (p->path && strcmp(p->path, "/") == 0); /* as in HDF5, "//" and "." are not links */
    return BKT_OK;
}
