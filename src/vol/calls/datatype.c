/* H5T: committed types */
#include <stdlib.h>

#include "vol/convert/convert.h"
#include "vol/plain/plain_file.h"
#include "vol/path/new_link.h"
#include "base/trace.h"

static int type_of(struct bkt_vobj *o, hid_t *out, struct bkt_err *err)
{
    if (o->file_type < 0) {
        if (o->native_id >= 0)
            o->file_type = H5Tcopy(o->native_id);
        else
            BKT_PASS(bkt_convert_type(o->obj->type, &o->file_type, err));
    }
    *out = o->file_type;
    return o->file_type < 0 ? bkt_h5err_capture(err, "copying a type") : BKT_OK;
}

/* HDF5 leaves this check to the connector. */
static int check_list(hid_t tapl, struct bkt_err *err)
{
    if (tapl == H5P_DEFAULT || (tapl > 0 && H5Pisa_class(tapl, H5P_DATATYPE_ACCESS) > 0))
        return BKT_OK;
    (void)H5Eclear2(H5E_DEFAULT);
    BKT_FAIL(err, BKT_EINVAL, "not a datatype access property list");
}

static int type_open(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, const char *name, hid_t tapl, struct bkt_vobj **out,
                     struct bkt_err *err)
{
    struct bkt_vobj *at = NULL, *found = NULL;
    BKT_PASS(bkt_path_locate(obj, loc, &at, err));
    int rc = bkt_path_open(at, name, tapl, &found, err);
    bkt_vobj_free(at);
    BKT_PASS(rc);
    if (found->type != H5I_DATATYPE) {
        bkt_vobj_free(found);
        BKT_FAIL(err, BKT_EINVAL, "'%s' is not a committed datatype", name);
    }
    *out = found;
    return BKT_OK;
}

void *bkt_vol_datatype_open(void *obj, const H5VL_loc_params_t *loc, const char *name, hid_t tapl, hid_t dxpl, void **req)
{
    struct bkt_err   err = {.n = 0};
    struct bkt_vobj *o   = NULL;
    (void)dxpl, (void)req;
    bkt_trace(BKT_TRACE_VOL, "datatype open %s", name);
    if (check_list(tapl, &err) < 0 || type_open(obj, loc, name, tapl, &o, &err) < 0) {
        (void)bkt_h5err_publish(&err);
        return NULL;
    }
    return o;
}

static int new_type(hid_t type, hid_t tcpl, struct bkt_object **out, struct bkt_err *err)
{
    struct bkt_object *o = *out = bkt_object_make(BKT_DATATYPE);
    if (!o)
        BKT_NOMEM(err);
    int rc = bkt_convert_from_type(NULL, type, &o->type, err);
    if (rc == BKT_OK && tcpl != H5P_DEFAULT && tcpl != H5P_DATATYPE_CREATE_DEFAULT)
        rc = bkt_convert_from_ocpl(tcpl, o, err);
    if (rc < 0)
        bkt_object_free(o);
    return rc;
}

static int commit_in_domain(struct bkt_vobj *at, const char *name, hid_t type, hid_t lcpl, hid_t tcpl, struct bkt_vobj **out,
                            struct bkt_err *err)
{
    static const char what[] = "committing a datatype";
    BKT_CLEANUP(bkt_spot_fini) struct bkt_spot s = {NULL, NULL, false};
    struct bkt_object                         *o = NULL;
    if (name)
        BKT_PASS(bkt_spot_find(at, name, lcpl, H5P_DEFAULT, H5P_DEFAULT, what, &s, err));
    else
        BKT_PASS(bkt_change_may(at->file, BKT_ACL_CREATE, what, err));
    if (name && s.group->native_id >= 0)
        return bkt_native_datatype_commit(s.group, s.name, type, lcpl, tcpl, out, err);
    BKT_PASS(new_type(type, tcpl, &o, err));
    BKT_PASS(name ? bkt_spot_put(&s, o, out, err) : bkt_spot_put_anonymous(at->file, o, out, err));
    return BKT_OK;
}

static int type_commit(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, const char *name, hid_t type, hid_t lcpl, hid_t tcpl,
                       struct bkt_vobj **out, struct bkt_err *err)
{
    struct bkt_vobj *at = NULL;
    BKT_PASS(bkt_path_locate(obj, loc, &at, err));
    int rc = at->native_id >= 0 ? bkt_native_datatype_commit(at, name, type, lcpl, tcpl, out, err)
                                : commit_in_domain(at, name, type, lcpl, tcpl, out, err);
    bkt_vobj_free(at);
    return rc;
}

void *bkt_vol_datatype_commit(void *obj, const H5VL_loc_params_t *loc, const char *name, hid_t type, hid_t lcpl, hid_t tcpl, hid_t tapl,
                              hid_t dxpl, void **req)
{
    struct bkt_err   err = {.n = 0};
    struct bkt_vobj *o   = NULL;
    (void)dxpl, (void)req;
    if (check_list(tapl, &err) < 0 || type_commit(obj, loc, name, type, lcpl, tcpl, &o, &err) < 0)
        (void)bkt_h5err_publish(&err);
    return o;
}

static int datatype_get(struct bkt_vobj *o, H5VL_datatype_get_args_t *args, struct bkt_err *err)
{
    hid_t  type = H5I_INVALID_HID;
    size_t n    = 0;
    switch (args->op_type) {
        case H5VL_DATATYPE_GET_BINARY_SIZE:
            BKT_PASS(type_of(o, &type, err));
            return H5Tencode(type, NULL, args->args.get_binary_size.size) < 0 ? bkt_h5err_capture(err, "H5Tencode") : BKT_OK;
        case H5VL_DATATYPE_GET_BINARY:
            BKT_PASS(type_of(o, &type, err));
            n = args->args.get_binary.buf_size;
            return H5Tencode(type, args->args.get_binary.buf, &n) < 0 ? bkt_h5err_capture(err, "H5Tencode") : BKT_OK;
        case H5VL_DATATYPE_GET_TCPL:
            if (o->native_id < 0)
                return bkt_convert_gcpl(o, H5P_DATATYPE_CREATE, &args->args.get_tcpl.tcpl_id, err);
            args->args.get_tcpl.tcpl_id = H5Tget_create_plist(o->native_id);
            return args->args.get_tcpl.tcpl_id < 0 ? bkt_h5err_capture(err, "H5Tget_create_plist") : BKT_OK;
        default:
            BKT_FAIL(err, BKT_EUNSUP, "datatype get operation %d", (int)args->op_type);
    }
}

herr_t bkt_vol_datatype_get(void *obj, H5VL_datatype_get_args_t *args, hid_t dxpl, void **req)
{
    struct bkt_err err = {.n = 0};
    (void)dxpl, (void)req;
    return datatype_get(obj, args, &err) < 0 ? bkt_h5err_publish(&err) : 0;
}

herr_t bkt_vol_datatype_specific(void *obj, H5VL_datatype_specific_args_t *args, hid_t dxpl, void **req)
{
    struct bkt_err err = {.n = 0};
    (void)dxpl, (void)req;
    int rc = args->op_type == H5VL_DATATYPE_FLUSH ? bkt_change_flush_object(obj, args->args.flush.type_id, &err)
                                                  : bkt_change_refresh(obj, &err);
    return rc < 0 ? bkt_h5err_publish(&err) : 0;
}

herr_t bkt_vol_datatype_close(void *obj, hid_t dxpl, void **req)
{
    (void)dxpl, (void)req;
    return bkt_change_close(obj);
}
