/* Files in memory: HDF5 does some things only with an object in a file. */
#pragma once

#include <hdf5.h>
#include <stddef.h>

/** A new file of HDF5's native connector that exists only in memory and grows in steps of @p step bytes;
 *  negative: the reason is on HDF5's stack.  Its name is unique: HDF5 takes two files with one name for
 *  the same file (a program's callbacks may run in between). */
hid_t bkt_native_in_memory(size_t step);
