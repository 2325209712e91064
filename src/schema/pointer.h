/* Pointer files: a small local file that stands for a domain.
 *
 * Programs that look at a file before they hand its name to HDF5 (netCDF-C, GDAL, file managers) need one to look at.
 * A pointer file begins with HDF5's signature, so they take it for HDF5; HDF5's own reader then finds no superblock
 * behind it and asks the connectors, and ours opens the domain that the file names:
 *
 *     \x89HDF\r\n\x1a\n  h5bucket 1\n  s3://bucket/path/a.h5\n
 *
 * (without the blanks).  Written by `h5bucket pointer`, or by printf.
 *
 * Like a file of HDF5's it may have a user block: all this then begins at byte 512, 1024, 2048, ...  What programs write into the
 * user block past HDF5 (h5repack, h5jam, libmatio for MATLAB) leaves the pointer as it is. */
#ifndef BKT_POINTER_H
#define BKT_POINTER_H

#include <stdbool.h>

#include "buf.h"
#include "err.h"
#include "settings.h"

/** What an HDF5 file begins with (8 bytes), unless it has a user block, and a pointer file too. */
#define BKT_HDF5_SIGNATURE "\x89HDF\r\n\x1a\n"

/** The domain name in the pointer file @p path, appended to @p target.
 * @return 1; 0: not a regular file, or no pointer file; BKT_EFORMAT: it is one, but what it names is missing, too long,
 *         spans lines, or is neither s3://, hsds+s3://, hdf5:/, file:// nor a plain path; BKT_ENOMEM */
int bkt_pointer_read(const char *path, struct bkt_buf *target, struct bkt_err *err);
/** The same, for opening it: a relative path counts from the folder of the pointer file, as a symbolic link's does, unless there is a
 *  default bucket, in which it names a domain. */
int bkt_pointer_follow(const char *path, const struct bkt_settings *set, struct bkt_buf *target, struct bkt_err *err);
/** Whether it is one, good or bad. */
bool bkt_pointer_is(const char *path);

/** The size of the user block of the pointer file @p path, good or bad; 0: it has none, or is no pointer file. */
uint64_t bkt_pointer_userblock(const char *path);
/** The same, and the bytes without the zeros at their end, appended to @p bytes.  BKT_EIO: they can't be read; BKT_EUNSUP: more than
 *  BKT_USERBLOCK_MAX; BKT_ENOMEM */
BKT_NODISCARD int bkt_pointer_userblock_read(const char *path, uint64_t *size, struct bkt_buf *bytes, struct bkt_err *err);

/** What a pointer file has before the pointer: @p size bytes, of which the first @p n are given, and zeros follow.  @p size 0: nothing. */
struct bkt_pointer_block {
    uint64_t    size;
    const void *bytes;
    size_t      n;
};
/** Make @p path a pointer file to @p target; @p replace: also where there is a file, whose place it takes.
 * @param block  its user block, of a size that HDF5 takes; NULL: none
 * @return BKT_OK; BKT_EINVAL: no target for a pointer file; BKT_EEXIST: there is a file, and it isn't replaced; BKT_EIO, BKT_ENOMEM.
 *         Where writing fails, no half of it stays; a file that is to be replaced stays as it is, where its folder takes another. */
BKT_NODISCARD int bkt_pointer_write(const char *path, const char *target, const struct bkt_pointer_block *block, bool replace,
                                    struct bkt_err *err);
/** Give the pointer file @p path another user block; it leads where it led. */
BKT_NODISCARD int bkt_pointer_reblock(const char *path, const struct bkt_pointer_block *block, struct bkt_err *err);

/** What such a file holds for @p target, appended to @p out. */
BKT_NODISCARD int bkt_pointer_emit(const char *target, struct bkt_buf *out, struct bkt_err *err);

#endif
