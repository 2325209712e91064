/* Writing to plain HDF5 files that were opened or created through this connector (native:…): passed on to
 * HDF5. */
#include <hdf5.h>

#include <H5VLnative.h>

#include "vol/core/hid.h"
#include "vol/convert/kept_filters.h"
#include "vol/plain/plain_file.h"
#include "vol/plain/plain_data.h"
#include "vol/core/transfer_list.h"

/* A type for HDF5's own connector: a committed type of the plain file stays committed, one of a domain
 * becomes a plain type. */
static hid_t plain_type(hid_t type)
{
    if (H5Tcommitted(type) <= 0)
        return H5Tcopy(type);
    const struct bkt_vobj *o = H5VLobject(type);
    if (!o || o->native_id < 0)
        return H5Tcopy(type);
    return bkt_hid_hold(o->native_id);
}

int bkt_native_dataset_create(struct bkt_vobj *at, const char *name, hid_t lcpl, hid_t type, hid_t space, hid_t dcpl, hid_t dapl,
                              struct bkt_vobj **out, struct bkt_err *err)
{
    hid_t t = plain_type(type);
    if (t < 0)
        return bkt_h5err_capture(err, "H5Tcopy");
    hid_t                             id = H5I_INVALID_HID;
    const struct bkt_dset            *source;
    struct bkt_filters_held          *held = bkt_filters_marked(dcpl, type, &source) ? bkt_filters_hold(dcpl) : NULL;
    BKT_CLEANUP(bkt_hid_closep) hid_t list = H5Pcopy(dcpl); /* HDF5 keeps it with the dataset, so our mark is removed */
    if (list >= 0)
        bkt_filters_unmark(list);
    int rc = PASS_ON(err,
                       id = name ? H5Dcreate2(at->native_id, name, t, space, lcpl, list, dapl)
                                 : H5Dcreate_anon(at->native_id, t, space, list, dapl),
                       "H5Dcreate");
    bkt_filters_release(held);
    (void)H5Idec_ref(t);
    return rc < 0 ? rc : bkt_native_wrap(&id, out, err);
}

int bkt_native_dataset_write(struct bkt_vobj *o, hid_t mem_type, hid_t mem_space, hid_t file_space, hid_t dxpl, const void *buf,
                             struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t list = H5I_INVALID_HID;
    BKT_PASS(bkt_xfer_for(o->native_id, dxpl, &list, err));
    return PASS_ON(err, H5Dwrite(o->native_id, mem_type, mem_space, file_space, list, buf), "H5Dwrite");
}

int bkt_native_dataset_specific(struct bkt_vobj *o, H5VL_dataset_specific_args_t *args, struct bkt_err *err)
{
    switch (args->op_type) {
        case H5VL_DATASET_SET_EXTENT:
            return PASS_ON(err, H5Dset_extent(o->native_id, args->args.set_extent.size), "H5Dset_extent");
        case H5VL_DATASET_FLUSH:
            return PASS_ON(err, H5Dflush(o->native_id), "H5Dflush");
        case H5VL_DATASET_REFRESH:
            return PASS_ON(err, H5Drefresh(o->native_id), "H5Drefresh");
        default:
            BKT_FAIL(err, BKT_EUNSUP, "dataset operation %d", (int)args->op_type);
    }
}

int bkt_native_attr_create(struct bkt_vobj *owner, const char *name, hid_t type, hid_t space, hid_t acpl, struct bkt_vobj **out,
                           struct bkt_err *err)
{
    hid_t t = plain_type(type);
    if (t < 0)
        return bkt_h5err_capture(err, "H5Tcopy");
    hid_t id = H5I_INVALID_HID;
    int   rc = PASS_ON(err, id = H5Acreate2(owner->native_id, name, t, space, acpl, H5P_DEFAULT), "H5Acreate");
    (void)H5Idec_ref(t);
    return rc < 0 ? rc : bkt_native_wrap(&id, out, err);
}

int bkt_native_attr_write(struct bkt_vobj *attr, hid_t mem_type, const void *buf, struct bkt_err *err)
{
    return PASS_ON(err, H5Awrite(attr->native_id, mem_type, buf), "H5Awrite");
}

int bkt_native_attr_change(struct bkt_vobj *owner, H5VL_attr_specific_args_t *args, struct bkt_err *err)
{
    const H5VL_attr_delete_by_idx_args_t *at = &args->args.delete_by_idx;
    switch (args->op_type) {
        case H5VL_ATTR_DELETE:
            return PASS_ON(err, H5Adelete(owner->native_id, args->args.del.name), "H5Adelete");
        case H5VL_ATTR_DELETE_BY_IDX:
            return PASS_ON(err, H5Adelete_by_idx(owner->native_id, ".", at->idx_type, at->order, at->n, H5P_DEFAULT), "H5Adelete_by_idx");
        case H5VL_ATTR_RENAME:
            return PASS_ON(err, H5Arename(owner->native_id, args->args.rename.old_name, args->args.rename.new_name), "H5Arename");
        case H5VL_ATTR_EXISTS:
        case H5VL_ATTR_ITER:
        default:
            BKT_FAIL(err, BKT_EUNSUP, "attribute operation %d", (int)args->op_type);
    }
}
