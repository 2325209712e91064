/* File access lists of HDF5's ros3 driver (H5Pset_fapl_ros3, h5py's driver="ros3", --vfd-name ros3).  The
 * connector serves the file itself, with the region, keys and token of the list. */
#pragma once

#include <hdf5.h>

#include "base/bytes.h"
#include "base/settings.h"

/** If @p fapl names that driver, take over its region, keys and token.
 * @param name  as the program gave it: an address of S3
 * @param set   gets region and keys; without keys, requests are not signed.  An address of another server
 *              than AWS's becomes the endpoint
 * @param as    gets the name in the connector's form if the list has keys: s3://bucket/key; else unchanged
 * @return BKT_OK, also for other lists; BKT_EINVAL: the address lacks a bucket; BKT_ENOMEM */
BKT_NODISCARD int bkt_ros3_take(hid_t fapl, const char *name, struct bkt_settings *set, struct bkt_buf *as,
                                struct bkt_err *err);
