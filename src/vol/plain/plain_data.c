#include "vol/plain/plain_data.h"

#include <hdf5.h>

#include <H5VLconnector.h>
#include <H5VLconnector_passthru.h>
#include <H5VLnative.h>

#include "vol/core/hid.h"
#include "vol/convert/kept_filters.h"
#include "vol/plain/plain_file.h"
#include "vol/core/transfer_list.h"

int bkt_native_dataset_read(struct bkt_vobj *o, hid_t mem_type, hid_t mem_space, hid_t file_space, hid_t dxpl, void *buf,
                            struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t list = H5I_INVALID_HID;
    BKT_PASS(bkt_xfer_for(o->native_id, dxpl, &list, err));
    return PASS_ON(err, H5Dread(o->native_id, mem_type, mem_space, file_space, list, buf), "reading a dataset of another file");
}

static int get_dcpl(hid_t id, hid_t *out, struct bkt_err *err)
{
    BKT_PASS(PASS_ON(err, *out = H5Dget_create_plist(id), "asking about a dataset of another file"));
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Dget_type(id);
    bkt_filters_mark(*out, type);
    return BKT_OK;
}

int bkt_native_dataset_get(struct bkt_vobj *o, H5VL_dataset_get_args_t *args, struct bkt_err *err)
{
    static const char what[] = "asking about a dataset of another file";
    hid_t             id     = o->native_id;
    switch (args->op_type) {
        case H5VL_DATASET_GET_DAPL:
            return PASS_ON(err, args->args.get_dapl.dapl_id = H5Dget_access_plist(id), what);
        case H5VL_DATASET_GET_DCPL:
            return get_dcpl(id, &args->args.get_dcpl.dcpl_id, err);
        case H5VL_DATASET_GET_SPACE:
            return PASS_ON(err, args->args.get_space.space_id = H5Dget_space(id), what);
        case H5VL_DATASET_GET_TYPE:
            return PASS_ON(err, args->args.get_type.type_id = H5Dget_type(id), what);
        case H5VL_DATASET_GET_SPACE_STATUS:
            return PASS_ON(err, H5Dget_space_status(id, args->args.get_space_status.status), what);
        case H5VL_DATASET_GET_STORAGE_SIZE:
            *args->args.get_storage_size.storage_size = H5Dget_storage_size(id);
            return BKT_OK;
        default:
            BKT_FAIL(err, BKT_EUNSUP, "dataset get operation %d", (int)args->op_type);
    }
}

int bkt_native_dataset_optional(struct bkt_vobj *o, H5VL_optional_args_t *args, hid_t dxpl, struct bkt_err *err)
{
    struct bkt_h5err_print            print = {.off = false};
    BKT_CLEANUP(bkt_hid_closep) hid_t list  = H5I_INVALID_HID;
    BKT_PASS(bkt_xfer_for(o->native_id, dxpl, &list, err));
    if (args->op_type != H5VL_NATIVE_DATASET_CHUNK_ITER) /* the only one that calls the program back */
        bkt_h5err_mute(&print);
    herr_t rc = H5VLdataset_optional(H5VLobject(o->native_id), H5VL_NATIVE, args, list, NULL);
    if (rc < 0)
        rc = bkt_h5err_capture(err, "a call on a dataset of a plain HDF5 file");
    bkt_h5err_unmute(&print);
    return rc;
}

int bkt_native_file_optional(struct bkt_vobj *o, H5VL_optional_args_t *args, hid_t dxpl, struct bkt_err *err)
{
    return PASS_ON(err, H5VLfile_optional(H5VLobject(o->native_id), H5VL_NATIVE, args, dxpl, NULL), "a call on a plain HDF5 file");
}

int bkt_native_attr_open(struct bkt_vobj *owner, const char *name, const H5VL_loc_by_idx_t *idx, struct bkt_vobj **out,
                         struct bkt_err *err)
{
    hid_t            id      = H5I_INVALID_HID;
    struct bkt_vobj *wrapped = NULL;
    BKT_PASS(PASS_ON(err,
                     id = idx ? H5Aopen_by_idx(owner->native_id, ".", idx->idx_type, idx->order, idx->n, H5P_DEFAULT, H5P_DEFAULT)
                              : H5Aopen(owner->native_id, name, H5P_DEFAULT),
                     "opening an attribute in another file"));
    BKT_PASS(bkt_native_wrap(&id, &wrapped, err));
    bkt_vobj_free(*out); /* the owner, if the caller found it on the way */
    *out = wrapped;
    return BKT_OK;
}

static herr_t attr_name(hid_t id, const H5VL_attr_get_name_args_t *q)
{
    ssize_t n = H5Aget_name(id, q->buf ? q->buf_size : 0, q->buf);
    if (n < 0)
        return -1;
    *q->attr_name_len = (size_t)n;
    return 0;
}

int bkt_native_attr_read(struct bkt_vobj *attr, hid_t mem_type, void *buf, struct bkt_err *err)
{
    return PASS_ON(err, H5Aread(attr->native_id, mem_type, buf), "reading an attribute of another file");
}

int bkt_native_attr_get(struct bkt_vobj *attr, H5VL_attr_get_args_t *args, struct bkt_err *err)
{
    static const char what[] = "asking about an attribute of another file";
    hid_t             id     = attr->native_id;
    switch (args->op_type) {
        case H5VL_ATTR_GET_ACPL:
            return PASS_ON(err, args->args.get_acpl.acpl_id = H5Aget_create_plist(id), what);
        case H5VL_ATTR_GET_INFO:
            return PASS_ON(err, H5Aget_info(id, args->args.get_info.ainfo), what);
        case H5VL_ATTR_GET_NAME:
            return PASS_ON(err, attr_name(id, &args->args.get_name), what);
        case H5VL_ATTR_GET_SPACE:
            return PASS_ON(err, args->args.get_space.space_id = H5Aget_space(id), what);
        case H5VL_ATTR_GET_STORAGE_SIZE:
            *args->args.get_storage_size.data_size = H5Aget_storage_size(id);
            return BKT_OK;
        case H5VL_ATTR_GET_TYPE:
            return PASS_ON(err, args->args.get_type.type_id = H5Aget_type(id), what);
        default:
            BKT_FAIL(err, BKT_EUNSUP, "attribute get operation %d", (int)args->op_type);
    }
}

struct walk {
    const H5VL_attr_iterate_args_t *asked;
    struct bkt_h5err_print          print;
};

static herr_t call_program(hid_t obj, const char *name, const H5A_info_t *info, void *arg)
{
    struct walk *w = arg;
    bkt_h5err_unmute(&w->print);
    herr_t rc = w->asked->op(obj, name, info, w->asked->op_data);
    bkt_h5err_mute(&w->print);
    return rc;
}

static herr_t iterate(struct bkt_vobj *owner, const H5VL_attr_iterate_args_t *it, struct bkt_err *err)
{
    struct walk w = {.asked = it};
    bkt_h5err_mute(&w.print);
    herr_t rc = H5Aiterate2(owner->native_id, it->idx_type, it->order, it->idx, it->op ? call_program : NULL, &w);
    if (rc < 0)
        rc = bkt_h5err_capture(err, "iterating over attributes of another file");
    bkt_h5err_unmute(&w.print);
    return rc;
}

int bkt_native_attr_specific(struct bkt_vobj *owner, H5VL_attr_specific_args_t *args, struct bkt_err *err)
{
    htri_t there = 0;
    if (args->op_type == H5VL_ATTR_ITER)
        return iterate(owner, &args->args.iterate, err);
    if (args->op_type != H5VL_ATTR_EXISTS)
        BKT_FAIL(err, BKT_EUNSUP, "attribute operation %d", (int)args->op_type);
    BKT_PASS(PASS_ON(err, there = H5Aexists(owner->native_id, args->args.exists.name), "asking for an attribute in another file"));
    *args->args.exists.exists = there > 0;
    return BKT_OK;
}
