/* numpy's numbers of types (`dtype.num`), as Hangar's attribute `schema_dtype_num` has them. */
#pragma once

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

/** HDF5's type for a number of numpy's on Linux, in this machine's order of bytes, for H5Tclose().  Booleans
 * are h5py's enumeration of FALSE and TRUE, complex numbers its compounds of r and i.  Negative: not a number
 * or boolean type. */
hid_t bkt_numpy_type(int64_t num);

/** The other way round: the type's number, in any order of bytes; -1: numpy has none. */
int bkt_numpy_number(hid_t type);

/** The type of numpy's letter ('b' boolean, 'i', 'u', 'f', 'c' complex) and number of bytes, for H5Tclose().
 *  Negative: no type matches. */
hid_t bkt_numpy_of_letter(char letter, size_t size, H5T_order_t order);
/** The other way round, in any order of bytes.  False: numpy has no such type. */
bool bkt_numpy_letter(hid_t type, char *letter, size_t *size);

/** h5py's type of booleans. */
hid_t bkt_numpy_bool(void);
