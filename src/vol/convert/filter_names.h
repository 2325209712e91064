/* Filters' names in creation lists: HDF5 writes a filter's name into the file, and shows it if the filter is
 * missing. */
#pragma once

#include <hdf5.h>

#include "schema/model/model.h"

/** A new creation list with the filters of @p dcpl and nothing else.  Filters of plugins have the names in
 *  @p d. *out stays as it is in three cases: HDF5 shows these names for @p dcpl anyway, @p d has other
 *  filters, or a file has no room for them. */
BKT_NODISCARD int bkt_filters_named(hid_t dcpl, const struct bkt_dset *d, hid_t *out, struct bkt_err *err);
