/* The names of filters in creation lists.  HDF5 writes a filter's name into the file, and shows it where the filter is missing. */
#ifndef BKT_VOL_FILTER_NAMES_H
#define BKT_VOL_FILTER_NAMES_H

#include <hdf5.h>

#include "model.h"

/** A new creation list with the filters of @p dcpl, and nothing else: those of plugins have the names that @p d says.
 *  *out stays as it is where HDF5 shows these names for @p dcpl anyway, where @p d has other filters, or more than a file has
 *  room for. */
BKT_NODISCARD int bkt_filters_named(hid_t dcpl, const struct bkt_dset *d, hid_t *out, struct bkt_err *err);

#endif
