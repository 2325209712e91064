/* The user block of a file that the tool has open through the connector: a domain's, or that of a plain HDF5
 * file. */
#pragma once

#include <hdf5.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/settings.h"

struct user_block {
    uint64_t size;        /* 0: the file has no user block */
    struct bkt_buf bytes; /* the first of them, zeros follow */
};
void user_block_fini(struct user_block *u);
/** Get the user block of an open file or domain.
 *  @param file  an id of the connector
 *  @param out   zeroed; owned by the caller also after a failure
 *  @return BKT_OK; BKT_EFORMAT: a domain's user block is malformed; BKT_ENOENT, BKT_ERANGE: the file was
 *          deleted or cut since; … */
BKT_NODISCARD int user_block_of(hid_t file, const struct bkt_settings *set, struct user_block *out,
                                struct bkt_err *err);
