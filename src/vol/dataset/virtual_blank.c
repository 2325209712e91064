/* Sources of virtual datasets that have no stored data: they count as absent, whatever their extent. */
#include <stdlib.h>
#include <string.h>

#include "vol/convert/convert.h"
#include "vol/dataset/dataset_calls.h"
#include "vol/dataset/virtual.h"

/* Whether both lists have the same fill value of @p type.  Values with pointers are not compared. */
static bool same_fill(hid_t a, hid_t b, hid_t type)
{
    H5D_fill_value_t kinds[2];
    H5D_fill_time_t when = H5D_FILL_TIME_NEVER;
    size_t n = H5Tget_size(type);
    BKT_CLEANUP(bkt_freep) char *x = calloc(2, n + 1);
    char *y = x ? x + n + 1 : NULL;
    if (!x || H5Tdetect_class(type, H5T_REFERENCE) != 0 || H5Tdetect_class(type, H5T_VLEN) != 0 ||
        H5Tis_variable_str(type) != 0 || H5Tdetect_class(type, H5T_STRING) != 0)
        return false;
    return H5Pfill_value_defined(a, &kinds[0]) >= 0 && H5Pfill_value_defined(b, &kinds[1]) >= 0 &&
           kinds[0] != H5D_FILL_VALUE_UNDEFINED && kinds[1] != H5D_FILL_VALUE_UNDEFINED &&
           H5Pget_fill_time(a, &when) >= 0 && when != H5D_FILL_TIME_NEVER &&
           H5Pget_fill_value(a, type, x) >= 0 && H5Pget_fill_value(b, type, y) >= 0 && memcmp(x, y, n) == 0;
}

static bool lies_inside(hid_t own)
{
    return own >= 0 && H5Pget_layout(own) != H5D_VIRTUAL && H5Pget_external_count(own) == 0;
}

bool bkt_virtual_is_blank(hid_t source, hid_t dcpl, hid_t type)
{
    H5D_space_status_t status;
    BKT_CLEANUP(bkt_hid_closep) hid_t own = H5Dget_create_plist(source);
    return lies_inside(own) && H5Dget_space_status(source, &status) >= 0 &&
           status == H5D_SPACE_STATUS_NOT_ALLOCATED && same_fill(own, dcpl, type);
}

/* The same for an object outside of domains, which may have no id. */
static bool is_blank_abroad(struct bkt_vobj *o, hid_t dcpl, hid_t type)
{
    H5D_space_status_t      status   = H5D_SPACE_STATUS_ALLOCATED;
    H5VL_dataset_get_args_t get_list = {.op_type = H5VL_DATASET_GET_DCPL};
    H5VL_dataset_get_args_t get = {.op_type = H5VL_DATASET_GET_SPACE_STATUS,
                                   .args.get_space_status.status = &status};
    if (o->ops->dataset->get(o, &get_list, NULL) < 0)
        return false;
    BKT_CLEANUP(bkt_hid_closep) hid_t own = get_list.args.get_dcpl.dcpl_id;
    return lies_inside(own) && o->ops->dataset->get(o, &get, NULL) == BKT_OK &&
           status == H5D_SPACE_STATUS_NOT_ALLOCATED && same_fill(own, dcpl, type);
}

static int on_chunk(const uint64_t *coord, const struct bkt_chunk_info *info, void *arg)
{
    (void)coord, (void)info;
    *(bool *)arg = true;
    return BKT_ECANCEL;
}

/* Chunks of version 1 can only be asked for one by one. */
bool bkt_virtual_is_blank_object(struct bkt_vobj *o, hid_t dcpl, hid_t type)
{
    struct bkt_dsetio *io;
    BKT_CLEANUP(bkt_hid_closep) hid_t own = H5I_INVALID_HID;
    bool any = false;
    if (o->type != H5I_DATASET)
        return false;
    if (!o->file)
        return is_blank_abroad(o, dcpl, type);
    if (o->obj->dset.layout.cls != BKT_D_CHUNKED || bkt_is_virtual(o) || o->obj->dset.layout.external ||
        !bkt_id_is_v2(&o->obj->id) || bkt_convert_dcpl(o, &own, NULL) < 0 || !same_fill(own, dcpl, type) ||
        bkt_dataset_io(o, &io, NULL) < 0)
        return false;
    return bkt_chunk_iter(io, on_chunk, &any, NULL) == BKT_OK && !any;
}
