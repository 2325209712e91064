/* A family of files that our driver reads: one file in parts of equal length, each a file of a store. */
#pragma once

#include "vol/vfd/store_driver.h"

/** The family behind an object of the native connector.
 *  @param first  its first file; NULL: the object's file is no such family, or its members aren't known
 *  @param st     all files as one object, whatever the key; bkt_store_close(), before HDF5 closes the file
 *  @param size   of all, in bytes */
BKT_NODISCARD int vfd_family_of(hid_t object, struct vfd_file **first, struct bkt_store **st, uint64_t *size,
                                struct bkt_err *err);
