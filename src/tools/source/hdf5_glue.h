/* Small helpers around HDF5's ids and errors that the commands share. */
#pragma once

#include <hdf5.h>
#include <stdbool.h>

#include "base/err.h"

/** After a failed HDF5 call: put its innermost message into @p err.  Gives BKT_EHDF5.  @p what: the action
 *  that failed. */
int h5_fail(struct bkt_err *err, const char *what);

/** As h5_fail(), for stored data that can't be read: gives BKT_EFORMAT. */
int h5_unreadable(struct bkt_err *err, const char *what);

/** H5Fopen() for reading with a given access list, quiet; *out is negative on failure.  BKT_EHDF5. */
BKT_NODISCARD int h5_open_native(const char *name, hid_t fapl, hid_t *out, struct bkt_err *err);

/** A file access list of HDF5's native connector; negative: HDF5 refuses. */
hid_t h5_native_list(void);

/** A file's creation list with the creation orders of its root group, which HDF5 omits from it.  netCDF
 *  requires them for writing.  Negative: HDF5 refuses. */
hid_t h5_creation_list(hid_t file);

/** DIMENSION_LIST of a dataset: per dimension, object references to its scales. */
struct h5_scales {
    hvl_t v[H5S_MAX_RANK];
    unsigned n;
    hid_t type, space;
};
/** False: the dataset has no such list that can be read.  @p out: h5_scales_fini(), also then. */
bool h5_scales_read(hid_t dset, struct h5_scales *out);
void h5_scales_fini(struct h5_scales *s);

/** Make HDF5 print nothing by itself and find the connector in this program, whatever the environment says.
 *  Gives a file access list that leads to it (H5Pclose).  @p info: the connector's info string, NULL or ""
 *  for none. */
BKT_NODISCARD int h5_start(const char *info, hid_t *fapl, struct bkt_err *err);
