#include "native_data.h"

#include <hdf5.h>

#include <H5VLconnector.h>
#include <H5VLconnector_passthru.h>

#include "native.h"

int bkt_native_dataset_read(struct bkt_vobj *o, hid_t mem_type, hid_t mem_space, hid_t file_space, hid_t dxpl, void *buf,
                            struct bkt_err *err)
{
    return H5Dread(o->native_id, mem_type, mem_space, file_space, dxpl, buf) < 0
               ? bkt_h5err_capture(err, "reading a dataset of another file")
               : BKT_OK;
}

static herr_t storage_size(hid_t id, hsize_t *out)
{
    *out = H5Dget_storage_size(id);
    return 0;
}

int bkt_native_dataset_get(struct bkt_vobj *o, H5VL_dataset_get_args_t *args, struct bkt_err *err)
{
    hid_t  id = o->native_id;
    herr_t rc = -1;
    switch (args->op_type) {
        case H5VL_DATASET_GET_DAPL:
            rc = (args->args.get_dapl.dapl_id = H5Dget_access_plist(id)) < 0 ? -1 : 0;
            break;
        case H5VL_DATASET_GET_DCPL:
            rc = (args->args.get_dcpl.dcpl_id = H5Dget_create_plist(id)) < 0 ? -1 : 0;
            break;
        case H5VL_DATASET_GET_SPACE:
            rc = (args->args.get_space.space_id = H5Dget_space(id)) < 0 ? -1 : 0;
            break;
        case H5VL_DATASET_GET_TYPE:
            rc = (args->args.get_type.type_id = H5Dget_type(id)) < 0 ? -1 : 0;
            break;
        case H5VL_DATASET_GET_SPACE_STATUS:
            rc = H5Dget_space_status(id, args->args.get_space_status.status);
            break;
        case H5VL_DATASET_GET_STORAGE_SIZE:
            rc = storage_size(id, args->args.get_storage_size.storage_size);
            break;
        default:
            BKT_FAIL(err, BKT_EUNSUP, "dataset get operation %d", (int)args->op_type);
    }
    return rc < 0 ? bkt_h5err_capture(err, "asking about a dataset of another file") : BKT_OK;
}

int bkt_native_dataset_optional(struct bkt_vobj *o, H5VL_optional_args_t *args, hid_t dxpl, struct bkt_err *err)
{
    herr_t rc = H5VLdataset_optional(H5VLobject(o->native_id), H5VL_NATIVE, args, dxpl, NULL);
    return rc < 0 ? bkt_h5err_capture(err, "a call on a dataset of a plain HDF5 file") : rc;
}

int bkt_native_file_optional(struct bkt_vobj *o, H5VL_optional_args_t *args, hid_t dxpl, struct bkt_err *err)
{
    return PASS_ON(err, H5VLfile_optional(H5VLobject(o->native_id), H5VL_NATIVE, args, dxpl, NULL), "a call on a plain HDF5 file");
}

int bkt_native_attr_open(struct bkt_vobj *owner, const char *name, const H5VL_loc_by_idx_t *idx, struct bkt_vobj **out,
                         struct bkt_err *err)
{
    hid_t id = idx ? H5Aopen_by_idx(owner->native_id, ".", idx->idx_type, idx->order, idx->n, H5P_DEFAULT, H5P_DEFAULT)
                   : H5Aopen(owner->native_id, name, H5P_DEFAULT);
    struct bkt_vobj *wrapped = NULL;
    if (id < 0)
        return bkt_h5err_capture(err, "opening an attribute in another file");
    BKT_PASS(bkt_native_wrap(&id, &wrapped, err));
    bkt_vobj_free(*out); /* the owner, where the caller came by it on the way */
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

int bkt_native_attr_get(struct bkt_vobj *attr, H5VL_attr_get_args_t *args, struct bkt_err *err)
{
    hid_t  id = attr->native_id;
    herr_t rc = -1;
    switch (args->op_type) {
        case H5VL_ATTR_GET_ACPL:
            rc = (args->args.get_acpl.acpl_id = H5Aget_create_plist(id)) < 0 ? -1 : 0;
            break;
        case H5VL_ATTR_GET_INFO:
            rc = H5Aget_info(id, args->args.get_info.ainfo);
            break;
        case H5VL_ATTR_GET_NAME:
            rc = attr_name(id, &args->args.get_name);
            break;
        case H5VL_ATTR_GET_SPACE:
            rc = (args->args.get_space.space_id = H5Aget_space(id)) < 0 ? -1 : 0;
            break;
        case H5VL_ATTR_GET_STORAGE_SIZE:
            *args->args.get_storage_size.data_size = H5Aget_storage_size(id);
            rc = 0;
            break;
        case H5VL_ATTR_GET_TYPE:
            rc = (args->args.get_type.type_id = H5Aget_type(id)) < 0 ? -1 : 0;
            break;
        default:
            BKT_FAIL(err, BKT_EUNSUP, "attribute get operation %d", (int)args->op_type);
    }
    return rc < 0 ? bkt_h5err_capture(err, "asking about an attribute of another file") : BKT_OK;
}

int bkt_native_attr_specific(struct bkt_vobj *owner, H5VL_attr_specific_args_t *args, struct bkt_err *err)
{
    H5VL_attr_iterate_args_t *it = &args->args.iterate;
    if (args->op_type == H5VL_ATTR_ITER) {
        herr_t rc = H5Aiterate2(owner->native_id, it->idx_type, it->order, it->idx, it->op, it->op_data);
        return rc < 0 ? bkt_h5err_capture(err, "iterating over attributes of another file") : rc;
    }
    if (args->op_type != H5VL_ATTR_EXISTS)
        BKT_FAIL(err, BKT_EUNSUP, "attribute operation %d", (int)args->op_type);
    htri_t there = H5Aexists(owner->native_id, args->args.exists.name);
    if (there < 0)
        return bkt_h5err_capture(err, "asking for an attribute in another file");
    *args->args.exists.exists = there > 0;
    return BKT_OK;
}
