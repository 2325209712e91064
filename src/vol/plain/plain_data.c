/* Attributes, datasets and types of plain HDF5 files, passed on to HDF5 by native_id. */
#include <hdf5.h>

#include <H5VLconnector.h>
#include <H5VLconnector_passthru.h>
#include <H5VLnative.h>

#include "vol/core/filters.h"
#include "vol/core/hid.h"
#include "vol/core/transfer_list.h"
#include "vol/plain/plain_file.h"

/* A type for HDF5's own connector: a committed type of the plain file stays committed, one of a domain
 * becomes a plain type.  The program may have opened a committed type by HDF5's own connector. */
static hid_t plain_type(hid_t type)
{
    hid_t its = type;
    return H5Tcommitted(type) > 0 && !bkt_vobj_behind(&its) ? bkt_hid_hold(its) : H5Tcopy(type);
}

/* ---- datasets ---- */

static int dataset_create(struct bkt_vobj *at, const char *name, hid_t lcpl, hid_t type, hid_t space,
                          hid_t dcpl, hid_t dapl, struct bkt_vobj **out, struct bkt_err *err)
{
    hid_t t = plain_type(type);
    BKT_NEED_H5(err, t >= 0, "H5Tcopy");
    hid_t id = H5I_INVALID_HID;
    const struct bkt_dset *source;
    struct bkt_filters_held *held = bkt_filters_marked(dcpl, type, &source) ? bkt_filters_hold(dcpl) : NULL;
    BKT_CLEANUP(bkt_hid_closep)
    hid_t list = H5Pcopy(dcpl); /* HDF5 keeps it with the dataset, so the mark is removed */
    if (list >= 0)
        bkt_filters_unmark(list);
    int rc = BKT_PASS_NATIVE(err,
                             id = name ? H5Dcreate2(at->native_id, name, t, space, lcpl, list, dapl)
                                       : H5Dcreate_anon(at->native_id, t, space, list, dapl),
                             "H5Dcreate");
    bkt_filters_release(held);
    (void)H5Idec_ref(t);
    return rc < 0 ? rc : bkt_native_wrap(&id, out, err);
}

static int get_dcpl(hid_t id, hid_t *out, struct bkt_err *err)
{
    BKT_PASS(BKT_PASS_NATIVE(err, *out = H5Dget_create_plist(id), "asking about a dataset of another file"));
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Dget_type(id);
    bkt_filters_mark(*out, type);
    return BKT_OK;
}

/* A committed type gets an id of HDF5's own connector only by the public call.  A virtual dataset's extent
 * may lead to sources behind external links.  Only the public call keeps HDF5 from taking the objects that
 * it opens on the way for this connector's. */
static int dataset_get(struct bkt_vobj *o, H5VL_dataset_get_args_t *args, struct bkt_err *err)
{
    static const char what[] = "asking about a dataset of another file";
    if (args->op_type == H5VL_DATASET_GET_DCPL)
        return get_dcpl(o->native_id, &args->args.get_dcpl.dcpl_id, err);
    if (args->op_type == H5VL_DATASET_GET_TYPE)
        return BKT_PASS_NATIVE(err, args->args.get_type.type_id = H5Dget_type(o->native_id), what);
    if (args->op_type == H5VL_DATASET_GET_SPACE)
        return BKT_PASS_NATIVE(err, args->args.get_space.space_id = H5Dget_space(o->native_id), what);
    return BKT_PASS_NATIVE(
        err, H5VLdataset_get(H5VLobject(o->native_id), H5VL_NATIVE, args, H5P_DEFAULT, NULL), what);
}

static int dataset_set_extent(struct bkt_vobj *o, const hsize_t *dims, struct bkt_err *err)
{
    return BKT_PASS_NATIVE(err, H5Dset_extent(o->native_id, dims), "H5Dset_extent");
}

/* By the public call for the reason of dataset_get(). */
static int vlen_size(struct bkt_vobj *o, H5VL_native_dataset_optional_args_t *args, struct bkt_err *err)
{
    H5VL_native_dataset_get_vlen_buf_size_t *a = &args->get_vlen_buf_size;
    return BKT_PASS_NATIVE(err, H5Dvlen_get_buf_size(o->native_id, a->type_id, a->space_id, a->size),
                           "H5Dvlen_get_buf_size");
}

static int dataset_optional(struct bkt_vobj *o, H5VL_optional_args_t *args, hid_t dxpl, struct bkt_err *err)
{
    struct bkt_h5err_print print = {.off = false};
    BKT_CLEANUP(bkt_hid_closep) hid_t list = H5I_INVALID_HID;
    if (args->op_type == H5VL_NATIVE_DATASET_GET_VLEN_BUF_SIZE)
        return vlen_size(o, args->args, err);
    BKT_PASS(bkt_xfer_for(o->native_id, dxpl, &list, err));
    if (args->op_type != H5VL_NATIVE_DATASET_CHUNK_ITER) /* the only one that calls the program back */
        bkt_h5err_mute(&print);
    herr_t rc = H5VLdataset_optional(H5VLobject(o->native_id), H5VL_NATIVE, args, list, NULL);
    if (rc < 0)
        rc = bkt_h5err_capture_native(err, "a call on a dataset of a plain HDF5 file");
    bkt_h5err_unmute(&print);
    return rc;
}

/* ---- types ---- */

static int type_commit(struct bkt_vobj *at, const char *name, hid_t type, hid_t lcpl, hid_t tcpl,
                       struct bkt_vobj **out, struct bkt_err *err)
{
    hid_t id = H5I_INVALID_HID;
    BKT_PASS(BKT_PASS_NATIVE(err, id = H5Tcopy(type), "H5Tcopy"));
    int rc = BKT_PASS_NATIVE(err,
                             name ? H5Tcommit2(at->native_id, name, id, lcpl, tcpl, H5P_DEFAULT)
                                  : H5Tcommit_anon(at->native_id, id, tcpl, H5P_DEFAULT),
                             "H5Tcommit");
    if (rc == BKT_OK)
        return bkt_native_wrap(&id, out, err);
    (void)H5Tclose(id);
    return rc;
}

static int type_copy(struct bkt_vobj *o, hid_t *out, struct bkt_err *err)
{
    return BKT_PASS_NATIVE(err, *out = H5Tcopy(o->native_id), "copying a type");
}

static int type_tcpl(struct bkt_vobj *o, hid_t *out, struct bkt_err *err)
{
    return BKT_PASS_NATIVE(err, *out = H5Tget_create_plist(o->native_id), "H5Tget_create_plist");
}

/* ---- attributes ---- */

static int attr_create(struct bkt_vobj *owner, const char *name, hid_t type, hid_t space, hid_t acpl,
                       struct bkt_vobj **out, struct bkt_err *err)
{
    hid_t t = plain_type(type);
    BKT_NEED_H5(err, t >= 0, "H5Tcopy");
    hid_t id = H5I_INVALID_HID;
    int rc = BKT_PASS_NATIVE(err, id = H5Acreate2(owner->native_id, name, t, space, acpl, H5P_DEFAULT),
                             "H5Acreate");
    (void)H5Idec_ref(t);
    return rc < 0 ? rc : bkt_native_wrap(&id, out, err);
}

static int attr_open(struct bkt_vobj *owner, const char *name, const H5VL_loc_by_idx_t *idx,
                     struct bkt_vobj **out, struct bkt_err *err)
{
    return BKT_WRAP_NATIVE(err,
                           idx ? H5Aopen_by_idx(owner->native_id, ".", idx->idx_type, idx->order, idx->n,
                                                H5P_DEFAULT, H5P_DEFAULT)
                               : H5Aopen(owner->native_id, name, H5P_DEFAULT),
                           "opening an attribute in another file", out);
}

static int attr_read(struct bkt_vobj *attr, hid_t mem_type, void *buf, hid_t dxpl, struct bkt_err *err)
{
    (void)dxpl;
    return BKT_PASS_NATIVE(err, H5Aread(attr->native_id, mem_type, buf),
                           "reading an attribute of another file");
}

static int attr_write(struct bkt_vobj *attr, hid_t mem_type, const void *buf, hid_t dxpl, struct bkt_err *err)
{
    (void)dxpl;
    return BKT_PASS_NATIVE(err, H5Awrite(attr->native_id, mem_type, buf), "H5Awrite");
}

static int attr_get(struct bkt_vobj *attr, H5VL_attr_get_args_t *args, struct bkt_err *err)
{
    static const char what[] = "asking about an attribute of another file";
    if (args->op_type == H5VL_ATTR_GET_TYPE)
        return BKT_PASS_NATIVE(err, args->args.get_type.type_id = H5Aget_type(attr->native_id), what);
    if (args->op_type == H5VL_ATTR_GET_INFO)
        args->args.get_info.loc_params.type = H5VL_OBJECT_BY_SELF;
    if (args->op_type == H5VL_ATTR_GET_NAME)
        args->args.get_name.loc_params.type = H5VL_OBJECT_BY_SELF;
    return BKT_PASS_NATIVE(
        err, H5VLattr_get(H5VLobject(attr->native_id), H5VL_NATIVE, args, H5P_DEFAULT, NULL), what);
}

static herr_t call_program(hid_t obj, const char *name, const H5A_info_t *info, void *arg)
{
    struct bkt_native_walk *w = arg;
    const H5VL_attr_iterate_args_t *a = bkt_native_walk_call(w);
    (void)obj;
    return bkt_native_walk_back(w, a->op(w->shown, name, info, a->op_data));
}

static herr_t iterate(struct bkt_vobj *owner, const H5VL_attr_iterate_args_t *a, struct bkt_err *err)
{
    struct bkt_native_walk w;
    bkt_native_walk_begin(&w, owner, a);
    herr_t rc = H5Aiterate2(owner->native_id, a->idx_type, a->order, a->idx, a->op ? call_program : NULL, &w);
    return bkt_native_walk_end(&w, rc, "iterating over attributes of another file", err);
}

static int attr_specific(struct bkt_vobj *owner, H5VL_attr_specific_args_t *args, struct bkt_err *err)
{
    H5VL_loc_params_t loc = {.type = H5VL_OBJECT_BY_NAME,
                             .obj_type = H5Iget_type(owner->native_id),
                             .loc_data.loc_by_name = {".", H5P_LINK_ACCESS_DEFAULT}};
    if (args->op_type == H5VL_ATTR_ITER)
        return iterate(owner, &args->args.iterate, err);
    return BKT_PASS_NATIVE(
        err, H5VLattr_specific(H5VLobject(owner->native_id), &loc, H5VL_NATIVE, args, H5P_DEFAULT, NULL),
        "an attribute of another file");
}

const struct bkt_attr_ops bkt_plain_attr_ops = {.create = attr_create,
                                            .open = attr_open,
                                            .read = attr_read,
                                            .write = attr_write,
                                            .get = attr_get,
                                            .specific = attr_specific};

const struct bkt_dataset_ops bkt_plain_dataset_ops = {.create = dataset_create,
                                                  .transfer = bkt_plain_transfer,
                                                  .get = dataset_get,
                                                  .set_extent = dataset_set_extent,
                                                  .optional = dataset_optional};

const struct bkt_datatype_ops bkt_plain_datatype_ops = {
    .commit = type_commit, .type = type_copy, .tcpl = type_tcpl};
