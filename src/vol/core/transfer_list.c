#include "vol/core/transfer_list.h"

#include <hdf5.h>

#include "vol/core/h5err.h"

#include <H5FDdevelop.h>

/* HDF5's name of the property.  An HDF5 without MPI has the property too, but no call for it. */
#define MODE "io_xfer_mode"

bool bkt_xfer_is_collective(hid_t dxpl)
{
    H5FD_mpio_xfer_t mode = H5FD_MPIO_INDEPENDENT;
    if (dxpl == H5P_DEFAULT || dxpl == H5P_DATASET_XFER_DEFAULT)
        return false;
    return BKT_PASS_H5(NULL, H5Pget(dxpl, MODE, &mode), "H5Pget") == BKT_OK && mode == H5FD_MPIO_COLLECTIVE;
}

int bkt_xfer_alone(hid_t dxpl, hid_t *out, struct bkt_err *err)
{
    const H5FD_mpio_xfer_t mode = H5FD_MPIO_INDEPENDENT;
    if (dxpl == H5P_DEFAULT)
        dxpl = H5P_DATASET_XFER_DEFAULT;
    if (!bkt_xfer_is_collective(dxpl)) {
        *out = bkt_hid_hold(dxpl);
        return *out < 0 ? bkt_h5err_capture(err, "holding the transfer list") : BKT_OK;
    }
    BKT_CLEANUP(bkt_hid_closep) hid_t copy = H5Pcopy(dxpl);
    BKT_NEED_H5(err, copy >= 0 && H5Pset(copy, MODE, &mode) >= 0, "copying the transfer list");
    return bkt_hid_give(&copy, out);
}

static bool has_mpi(hid_t dset)
{
    unsigned long can = 0;
    BKT_CLEANUP(bkt_hid_closep) hid_t file = H5Iget_file_id(dset), fapl = H5I_INVALID_HID;
    /* HDF5 can't make the list of every parallel driver */
    (void)BKT_PASS_H5(NULL, fapl = file < 0 ? file : H5Fget_access_plist(file), "H5Fget_access_plist");
    hid_t driver = fapl < 0 ? fapl : H5Pget_driver(fapl);
    return driver >= 0 && H5FDdriver_query(driver, &can) >= 0 && can & H5FD_FEAT_HAS_MPI;
}

int bkt_xfer_for(hid_t dset, hid_t dxpl, hid_t *out, struct bkt_err *err)
{
    if (!bkt_xfer_is_collective(dxpl) || !has_mpi(dset))
        return bkt_xfer_alone(dxpl, out, err);
    *out = bkt_hid_hold(dxpl);
    return *out < 0 ? bkt_h5err_capture(err, "holding the transfer list") : BKT_OK;
}
