/* H5Ocopy: within a domain, from one to another, and between a domain and a plain HDF5 file that was
 * opened through this connector. */
#include "vol/copy/copy.h"

#include "vol/copy/copier_impl.h"
#include "vol/path/new_link.h"

/* An id for an object of either kind; the caller's. */
static int id_of(struct bkt_vobj *o, hid_t *out, struct bkt_err *err)
{
    if (o->native_id >= 0) {
        *out = bkt_hid_hold(o->native_id);
        return *out < 0 ? bkt_h5err_capture(err, "H5Iinc_ref") : BKT_OK;
    }
    H5I_type_t type = o->type == H5I_FILE ? H5I_GROUP : o->type;
    struct bkt_vobj *mine = bkt_vobj_new(o->file, type, bkt_object_retain(o->obj), o->path);
    if (!mine)
        BKT_NOMEM(err);
    *out = bkt_vobj_register(mine, err);
    return *out < 0 ? BKT_EHDF5 : BKT_OK;
}

/* HDF5 checks the name first.  Missing groups on the way are made afterwards: they are not part of the
 * copy, even if they lie above it, and no link leads there yet. */
static int may_have_name(struct bkt_vobj *dst, const char *name, hid_t lcpl, struct bkt_err *err)
{
    struct bkt_spot s;
    struct bkt_err why = {.n = 0};
    unsigned make = 0;
    if (lcpl != H5P_DEFAULT && H5Pget_create_intermediate_group(lcpl, &make) < 0)
        return bkt_h5err_capture(err, "reading the link creation list");
    int rc = bkt_spot_find(dst, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT, "copying an object", &s, &why);
    if (rc == BKT_OK && s.group->native_id >= 0 && H5Lexists(s.group->native_id, s.name, H5P_DEFAULT) > 0)
        rc = BKT_ERR(&why, BKT_EEXIST, "%s exists", name);
    bkt_spot_fini(&s);
    if (make && (rc == BKT_ENOENT || rc == BKT_EHDF5))
        return BKT_OK;
    return rc < 0 ? bkt_err_copy(err, rc, &why) : BKT_OK;
}

int bkt_copy(struct bkt_vobj *src, struct bkt_vobj *dst, const char *name, hid_t ocpypl, hid_t lcpl,
             struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t from = H5I_INVALID_HID, to = H5I_INVALID_HID;
    bool same = src->file && dst->file && src->file->dom == dst->file->dom;
    struct bkt_copier_options o = {
        .refs = same ? BKT_REFS_KEPT : BKT_REFS_NULL, .sparse = true, .same_files = true};
    if (!name || !*name)
        BKT_FAIL(err, BKT_EINVAL, "no name for the copy");
    if (ocpypl != H5P_DEFAULT && H5Pget_copy_object(ocpypl, &o.flags) < 0)
        return bkt_h5err_capture(err, "H5Pget_copy_object");
    BKT_PASS(may_have_name(dst, name, lcpl, err));
    BKT_PASS(id_of(src, &from, err));
    BKT_PASS(id_of(dst, &to, err));
    BKT_CLEANUP(bkt_copy_fini)
    struct bkt_copier c = {.o = &o,
                           .err = err,
                           .root = to,
                           .base = to,
                           .ocpypl = ocpypl,
                           .lcpl = lcpl,
                           .name = name,
                           .places = bkt_map_new(),
                           .ours = H5I_INVALID_HID};
    return c.places ? bkt_copy_as(&c, from, name) : bkt_copy_no_memory(&c);
}
