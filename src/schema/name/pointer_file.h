/* Pointer files: a small local file that stands for a domain, or for an HDF5 file in a store.
 *
 * Some programs look at a file before they pass its name to HDF5 (netCDF-C, GDAL, file managers), so they
 * need a file.  A pointer file begins with HDF5's signature, so they take it for HDF5.  HDF5's own reader
 * then finds no superblock behind the signature and asks the connectors.  This connector opens the domain
 * that the file names:
 *
 *     \x89HDF\r\n\x1a\n  h5bucket 1\n  s3://bucket/path/a.h5\n
 *
 * (without the blanks).  Written by `h5bucket pointer`, or by printf.
 *
 * Like an HDF5 file it may have a user block: then the pointer begins at byte 512, 1024, 2048, ...  Programs
 * that write into the user block without HDF5 (h5repack, h5jam, libmatio for MATLAB) leave the pointer as it
 * is. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/settings.h"

/** The first 8 bytes of an HDF5 file without a user block, and of a pointer file. */
#define BKT_HDF5_SIGNATURE "\x89HDF\r\n\x1a\n"

/** Append the domain name in the pointer file @p path to @p target.
 *  @return 1; 0: not a regular file, or not a pointer file; BKT_EFORMAT: a pointer file, but its target is
 *          missing, too long, spans lines, or is neither s3://, hsds+s3://, hdf5:/, file:// nor a plain path;
 *          BKT_ENOMEM */
int bkt_pointer_read(const char *path, struct bkt_buf *target, struct bkt_err *err);
/** As bkt_pointer_read(), for opening the target.  A relative path counts from the pointer file's folder,
 *  as a symbolic link's does.  With a default bucket, a relative path names a domain in that bucket. */
int bkt_pointer_follow(const char *path, const struct bkt_settings *set, struct bkt_buf *target,
                       struct bkt_err *err);
/** Whether @p path is a pointer file, valid or not. */
bool bkt_pointer_is(const char *path);

/** The size of the user block of the pointer file @p path, valid or not; 0: no user block, or not a pointer
 *  file. */
uint64_t bkt_pointer_userblock(const char *path);
/** Get the size of the user block, and append its bytes, without the zeros at their end, to @p bytes.
 *  BKT_EIO: they can't be read; BKT_EUNSUP: more than BKT_USERBLOCK_MAX; BKT_ENOMEM */
BKT_NODISCARD int bkt_pointer_userblock_read(const char *path, uint64_t *size, struct bkt_buf *bytes,
                                             struct bkt_err *err);

/** The user block of a pointer file: @p size bytes, of which the first @p n are given; zeros follow.  @p size
 *  0: none. */
struct bkt_pointer_block {
    uint64_t    size;
    const void *bytes;
    size_t      n;
};
/** Make @p path a pointer file to @p target.
 *  @param replace  replace an existing file, too
 *  @param block    its user block, of a size that HDF5 accepts; NULL: none
 *  @return BKT_OK; BKT_EINVAL: not a target for a pointer file; BKT_EEXIST: the file exists, and isn't to be
 *          replaced; BKT_EIO, BKT_ENOMEM.  If writing fails, no partial file stays.  A file to be replaced
 *          stays as it is, if its folder accepts another file */
BKT_NODISCARD int bkt_pointer_write(const char *path, const char *target,
                                    const struct bkt_pointer_block *block, bool replace, struct bkt_err *err);
/** Give the pointer file @p path another user block; its target stays. */
BKT_NODISCARD int bkt_pointer_reblock(const char *path, const struct bkt_pointer_block *block,
                                      struct bkt_err *err);

/** Append the contents of a pointer file to @p target to @p out. */
BKT_NODISCARD int bkt_pointer_emit(const char *target, struct bkt_buf *out, struct bkt_err *err);
#define BKT_USERBLOCK_MAX (256u << 20) /* bytes; a longer block of a file is refused */
/** The length of @p n bytes without the zeros at their end. */
size_t bkt_userblock_used(const void *bytes, size_t n);
