/* The program's transfer list, for transfers that HDF5 itself makes.
 *
 * A program that uses MPI may ask for collective access (H5Pset_dxpl_mpio).  HDF5 refuses such a list for
 * every file that wasn't opened by an MPI driver, and the connector's files never are. */
#pragma once

#include "base/err.h"
#include "vol/core/hid.h"

/** The list for a file of the connector, or one that each process reads by itself: @p dxpl with independent
 *  access.
 *  @param out  a new reference or a copy, for bkt_hid_closep()
 *  @return BKT_OK; BKT_EHDF5: @p dxpl is not a transfer list */
BKT_NODISCARD int bkt_xfer_alone(hid_t dxpl, hid_t *out, struct bkt_err *err);
/** Whether a transfer list asks for collective access. */
bool bkt_xfer_is_collective(hid_t dxpl);

/** The list for @p dset, an id of HDF5's native connector: @p dxpl as it is if an MPI driver opened the file,
 *  else as bkt_xfer_alone(). */
BKT_NODISCARD int bkt_xfer_for(hid_t dset, hid_t dxpl, hid_t *out, struct bkt_err *err);
