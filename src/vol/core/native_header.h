/* The bytes that make HDF5's older calls work on the connector's objects.
 *
 * H5Literate1, H5Lget_info1, H5Oget_info1, H5Rdereference2 and similar calls refuse any connector but the
 * native one.  Everything compiled with HDF5's 1.8 or 1.10 API uses them, h5py among it.  All that they need
 * of the connector is to turn a token into a file address.  They ask for the terminal connector's class.  If
 * that is the native one, they read the first bytes of the object behind the id.  There they look for the
 * object's file, only to learn how many bytes an address has.  So each object of the connector begins with a
 * copy of those bytes, taken from native objects of a file in memory.  The call then goes through the
 * callbacks like any other.  (H5VLnative_file.c: H5VL_native_get_file_struct.)  Region references of the old
 * kind need more: HDF5 puts the region into that file's heap and finds it there again, see region_shadow.h.
 *
 * This is done for HDF5 versions where it is known to work, see bkt_native_header_is_wanted().  Elsewhere the
 * old calls fail with HDF5's own clear message. */
#pragma once

#include <hdf5.h>
#include <stdbool.h>

/* A whole native datatype; its name (HDF5 reads it when links change) and more are 0. */
#define BKT_NATIVE_HEADER_BYTES 104

/** Whether the connector supports the old calls of this version of HDF5. */
bool bkt_native_header_is_wanted(void);

/** Call bkt_native_header_acquire() when a domain, or an object of a plain file, opens, and
 * bkt_native_header_release() when it closes.  The last one closes the file in memory. */
void bkt_native_header_acquire(bool wanted);
void bkt_native_header_release(void);

/** Fill the first bytes of an object of the given type.  False: old calls are off and the bytes are not
 *  usable; HDF5 must not see the object as native. */
bool bkt_native_header_put(unsigned char out[BKT_NATIVE_HEADER_BYTES], H5I_type_t type, bool wanted);

/** The file in memory, as HDF5's native connector has it; NULL: old calls are off. */
void *bkt_native_header_file(void);

/** Take the header of a native object instead; NULL: leave it as it is. */
void bkt_native_header_copy(unsigned char out[BKT_NATIVE_HEADER_BYTES], H5I_type_t type, const void *native);

/** The class to show as the terminal connector's, for objects that have a native header; NULL: this
 *  connector's class. */
const H5VL_class_t *bkt_native_header_class(void);
/** Call @p fn when the file in memory is about to close: the shadows of datasets vanish with it. */
void bkt_native_header_at_close(void (*fn)(void));
