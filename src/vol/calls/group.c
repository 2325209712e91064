/* H5G: groups of domains; mounts */
#include <string.h>

#include "vol/calls/group.h"
#include "vol/convert/convert.h"
#include "vol/open/linked_files.h"
#include "vol/path/new_link.h"
#include "vol/path/path.h"

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

static int create(struct bkt_vobj *at, const char *name, hid_t lcpl, hid_t gcpl, hid_t gapl,
                  struct bkt_vobj **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_spot_fini) struct bkt_spot s = {NULL, NULL, false};
    struct bkt_object                         *o = NULL;
    if (!name) {
        BKT_PASS(bkt_change_begin(at->file, BKT_ACL_CREATE, "creating a group", err));
        BKT_PASS(new_group(gcpl, &o, err));
        return bkt_spot_put_anonymous(at->file, o, out, err);
    }
    BKT_PASS(bkt_spot_find(at, name, lcpl, gapl, gcpl, "creating a group", &s, err));
    if (s.group->ops != at->ops)
        return s.group->ops->group->create(s.group, s.name, lcpl, gcpl, gapl, out, err);
    BKT_PASS(new_group(gcpl, &o, err));
    return bkt_spot_put(&s, o, out, err);
}

static int get_gcpl(struct bkt_vobj *o, hid_t *out, struct bkt_err *err)
{
    return bkt_convert_gcpl(o, H5P_GROUP_CREATE, out, err);
}

static int get_info(struct bkt_vobj *g, H5G_info_t *out, struct bkt_err *err)
{
    if (g->obj->kind != BKT_GROUP)
        BKT_FAIL(err, BKT_EINVAL, "%s is not a group", g->obj->id.text);
    out->storage_type = H5G_STORAGE_TYPE_COMPACT; /* links lie in the group's own object */
    out->nlinks       = g->obj->group.links.n;
    out->max_corder   = (g->obj->track_order & 1) ? (int64_t)g->obj->group.links.next : 0;
    out->mounted      = bkt_file_mounted(g->file, &g->obj->id) != NULL || bkt_file_parent(g->file) != NULL;
    return BKT_OK;
}

/* ---- mounts ---- */

int bkt_group_mount(struct bkt_vobj *o, const char *name, struct bkt_vobj *child, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_vobj_freep) struct bkt_vobj *at = NULL;
    BKT_PASS(bkt_path_open(o, name, H5P_DEFAULT, &at, err));
    if (!at->file || !child || !child->file)
        BKT_FAIL(err, BKT_EUNSUP, "'%s': only domains can be mounted, and only on groups of domains", name);
    if (at->type != H5I_GROUP)
        BKT_FAIL(err, BKT_EINVAL, "'%s' is not a group: nothing can be mounted there", name);
    return bkt_file_mount(at, child->file, err);
}

/* @p name leads to the root group of the mounted file. */
int bkt_group_unmount(struct bkt_vobj *o, const char *name, struct bkt_err *err)
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

const struct bkt_group_ops bkt_domain_group_ops = {.create = create, .gcpl = get_gcpl, .info = get_info};
