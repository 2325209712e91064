/* The place of a new link, missing groups on the way to it, and the link itself. */
#include "vol/path/new_link.h"

#include <stdlib.h>
#include <string.h>

#include "vol/core/hid.h"
#include "vol/open/permission_and_flush.h"
#include "vol/path/path.h"

void bkt_new_link_fini(struct bkt_new_link *s)
{
    bkt_vobj_free(s->group);
    free(s->name);
    *s = (struct bkt_new_link){NULL, NULL, false};
}

static int new_link_at(struct bkt_vobj *from, const char *path, hid_t lapl, struct bkt_new_link *s,
                       struct bkt_err *err)
{
    BKT_PASS(bkt_path_parent(from, path, lapl, &s->group, &s->name, err));
    return s->group->ops->link->is_free(s, path, err);
}

int bkt_new_link_is_free(const struct bkt_new_link *s, const char *path, struct bkt_err *err)
{
    BKT_FAIL_IF(err, s->group->obj->kind != BKT_GROUP, BKT_EINVAL, "%s: '%s': parent is not a group",
                s->group->file->name, path);
    BKT_FAIL_IF(
        err, !s->name[0] || strcmp(s->name, ".") == 0 || bkt_links_find(&s->group->obj->group.links, s->name),
        BKT_EEXIST, "%s: '%s' exists already", s->group->file->name, path);
    return BKT_OK;
}

/* ---- missing groups ---- */

/* As in HDF5, a missing group keeps links as the group above it does (their order, limits of forms).  It
 * keeps attributes as the new object does.  Its name is marked as ASCII. */
static int like_object(hid_t ocpl, hid_t gcpl, struct bkt_err *err)
{
    unsigned order = 0, compact = 0, dense = 0;
    hbool_t  times = true;
    if (ocpl == H5P_DEFAULT)
        return BKT_OK;
    BKT_NEED_H5(err,
                H5Pget_attr_creation_order(ocpl, &order) >= 0 &&
                    H5Pset_attr_creation_order(gcpl, order) >= 0 &&
                    H5Pget_attr_phase_change(ocpl, &compact, &dense) >= 0 &&
                    H5Pset_attr_phase_change(gcpl, compact, dense) >= 0 &&
                    H5Pget_obj_track_times(ocpl, &times) >= 0 && H5Pset_obj_track_times(gcpl, times) >= 0,
                "making a creation property list");
    return BKT_OK;
}

/* @param from  the parent's creation list */
static int new_gcpl(hid_t from, hid_t ocpl, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t to = H5Pcreate(H5P_GROUP_CREATE);
    unsigned order = 0, compact = 0, dense = 0, entries = 0, length = 0;
    size_t   heap  = 0;
    BKT_NEED_H5(err,
                to >= 0 && H5Pget_link_creation_order(from, &order) >= 0 &&
                    H5Pset_link_creation_order(to, order) >= 0 &&
                    H5Pget_link_phase_change(from, &compact, &dense) >= 0 &&
                    H5Pset_link_phase_change(to, compact, dense) >= 0 &&
                    H5Pget_est_link_info(from, &entries, &length) >= 0 &&
                    H5Pset_est_link_info(to, entries, length) >= 0 &&
                    H5Pget_local_heap_size_hint(from, &heap) >= 0 &&
                    H5Pset_local_heap_size_hint(to, heap) >= 0,
                "making a creation property list");
    BKT_PASS(like_object(ocpl, to, err));
    return bkt_hid_give(&to, out);
}

static int make_group(struct bkt_vobj *from, const char *path, const struct bkt_new_link_call *call,
                      struct bkt_err *err)
{
    BKT_CLEANUP(bkt_new_link_fini) struct bkt_new_link s = {NULL, NULL, false};
    BKT_CLEANUP(bkt_hid_closep) hid_t            like = H5I_INVALID_HID, gcpl = H5I_INVALID_HID;
    BKT_CLEANUP(bkt_vobj_freep) struct bkt_vobj *made = NULL;
    BKT_PASS(new_link_at(from, path, call->lapl, &s, err));
    BKT_PASS(s.group->ops->may_create(s.group, call->what, err));
    BKT_PASS(s.group->ops->group->gcpl(s.group, &like, err));
    BKT_PASS(new_gcpl(like, call->ocpl, &gcpl, err));
    return s.group->ops->group->create(s.group, s.name, H5P_DEFAULT, gcpl, H5P_DEFAULT, &made, err);
}

/* In a plain file HDF5 walks the path, and reports only that it failed. */
static bool is_missing(int rc) { return rc == BKT_ENOENT || rc == BKT_EHDF5; }

/* Make all missing groups before the last component. */
static int make_groups(struct bkt_vobj *from, const char *path, const struct bkt_new_link_call *call,
                       struct bkt_err *err)
{
    size_t end = strlen(path);
    while (end && path[end - 1] == '/')
        end--;
    while (end && path[end - 1] != '/')
        end--;
    for (size_t i = strspn(path, "/"); i < end; i += strspn(path + i, "/")) {
        struct bkt_vobj *o     = NULL;
        struct bkt_err   quiet = {.n = 0};
        i += strcspn(path + i, "/");
        BKT_CLEANUP(bkt_freep) char *head = strndup(path, i);
        BKT_NEED(err, head);
        int rc = bkt_path_open(from, head, call->lapl, &o, &quiet);
        bkt_vobj_free(o);
        if (is_missing(rc))
            rc = make_group(from, head, call, err);
        else if (rc < 0)
            (void)bkt_err_copy(err, rc, &quiet);
        BKT_PASS(rc);
    }
    return BKT_OK;
}

/* ---- finding ---- */

static int read_lcpl(hid_t lcpl, bool *groups, bool *utf8, struct bkt_err *err)
{
    unsigned   make = 0;
    H5T_cset_t cset = H5T_CSET_ASCII;
    if (lcpl != H5P_DEFAULT &&
        (H5Pget_create_intermediate_group(lcpl, &make) < 0 || H5Pget_char_encoding(lcpl, &cset) < 0))
        return bkt_h5err_capture(err, "reading the link creation list");
    *groups = make != 0;
    *utf8   = cset == H5T_CSET_UTF8;
    return BKT_OK;
}

static int find(struct bkt_vobj *from, const char *path, const struct bkt_new_link_call *call,
                struct bkt_new_link *s, struct bkt_err *err)
{
    struct bkt_err first = {.n = 0};
    bool           groups = false;
    BKT_PASS(read_lcpl(call->lcpl, &groups, &s->name_utf8, err));
    int rc = new_link_at(from, path, call->lapl, s, &first);
    if (is_missing(rc) && groups) {
        bool utf8 = s->name_utf8;
        bkt_new_link_fini(s);
        s->name_utf8 = utf8;
        BKT_PASS(make_groups(from, path, call, err));
        BKT_PASS(new_link_at(from, path, call->lapl, s, err));
    } else if (rc < 0)
        return bkt_err_copy(err, rc, &first);
    return s->group->ops->may_create(s->group, call->what, err);
}

int bkt_new_link_find(struct bkt_vobj *from, const char *path, const struct bkt_new_link_call *call,
                      struct bkt_new_link *out, struct bkt_err *err)
{
    *out = (struct bkt_new_link){NULL, NULL, false};
    int rc = path ? find(from, path, call, out, err)
                  : bkt_file_begin_change(from->file, BKT_ACL_CREATE, call->what, err);
    if (rc < 0)
        bkt_new_link_fini(out);
    return rc;
}

/* ---- putting ---- */

int bkt_new_link_link(struct bkt_new_link *s, struct bkt_link *l, struct bkt_err *err)
{
    l->name      = strdup(s->name);
    l->name_utf8 = s->name_utf8;
    int rc = l->name ? bkt_edit_link(s->group->file->dom, &s->group->obj->id, l, err)
                     : BKT_ERR(err, BKT_ENOMEM, "out of memory");
    if (rc < 0)
        bkt_link_fini(l);
    return rc;
}

int bkt_new_link_make(const struct bkt_new_link *s, const struct bkt_vobj *at, struct bkt_object *o,
                      struct bkt_vobj **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf path = {0};
    const struct bkt_object *in_domain = NULL;
    struct bkt_id id;
    const char *base = s->group ? s->group->path : NULL;
    struct bkt_file *f = s->group ? s->group->file : at->file;
    if (base && bkt_link_path(base, s->name, &path) < 0) {
        bkt_object_free(o);
        BKT_NOMEM(err);
    }
    BKT_PASS(bkt_edit_add(f->dom, o, &id, err));
    BKT_PASS(bkt_domain_get(f->dom, &id, &in_domain, err));
    *out = bkt_vobj_new(f, bkt_vobj_type_of(in_domain), in_domain, base ? bkt_buf_str(&path) : NULL);
    return BKT_MADE(err, *out);
}

int bkt_new_link_show(struct bkt_new_link *s, const struct bkt_vobj *made, struct bkt_err *err)
{
    struct bkt_link l = {.cls = BKT_L_HARD, .id = made->obj->id};
    return s->group ? bkt_new_link_link(s, &l, err) : BKT_OK;
}

int bkt_new_link_put(struct bkt_new_link *s, const struct bkt_vobj *at, struct bkt_object *o,
                     struct bkt_vobj **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_vobj_freep) struct bkt_vobj *made = NULL;
    BKT_PASS(bkt_new_link_make(s, at, o, &made, err)); /* holds the object until it is linked */
    BKT_PASS(bkt_new_link_show(s, made, err));
    *out = BKT_TAKE(made);
    return BKT_OK;
}
