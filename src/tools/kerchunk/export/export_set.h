/* The entries of a reference set: called by cmd_export.c. */
#ifndef KERCHUNK_EXPORT_SET_H
#define KERCHUNK_EXPORT_SET_H

#include "tools/kerchunk/export/export.h"

/** Write a dataset's entries; @p dset is taken over.  A dataset that can't be expressed is named.
 *  @param path  without a leading '/'
 *  @return BKT_OK; negative: it can't be read, or the set can't be written (BKT_EIO) */
BKT_NODISCARD int kx_put_dataset(struct kx *x, hid_t dset, const char *path, struct bkt_err *err);
/** Write a group's own entries; @p path "": the root. */
BKT_NODISCARD int kx_put_group(struct kx *x, hid_t group, const char *path, struct bkt_err *err);

#endif
