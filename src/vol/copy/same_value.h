/* Equality of values in memory, in two files. */
#pragma once

#include <hdf5.h>
#include <stdbool.h>

/** Whether two values in memory mean the same.  @p type: as HDF5 gives it for reading.  References mean
 *  the same if they lead to the same part of objects with a common name. */
bool bkt_same_value(hid_t type, const void *a, const void *b);
/** The fill value of a dataset's creation list (bkt_convert_fill_of()).
 *  @param out  a value of @p type, for H5Treclaim(); false: there is no such value */
bool bkt_same_fill_of(hid_t dset, hid_t type, void *out);
