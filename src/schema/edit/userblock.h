/* A domain's user block: bytes that an HDF5 file may have before HDF5's first one (H5Pset_userblock; MATLAB's
 * header).
 *
 * HDF5 neither reads nor writes them, so they belong to the program.  They come and go by `h5bucket load` and
 * `get`, and through pointer files (pointer_file.h), which have room for them.  .domain.json holds the size
 * and, if they are few, the bytes ("h5userblock").  More bytes are an object of their own,
 * db/<root>/.h5bucket-userblock, a key that HSDS ignores and deletes with the domain.  Zeros at the end are
 * not stored. */
#pragma once

#include "schema/domain/domain.h"
#include "schema/name/pointer_file.h"

/** Append the key of the bytes, if they are an object of their own, of the domain with that root (version
 *  2). */
BKT_NODISCARD int bkt_userblock_key(const struct bkt_id *root, struct bkt_buf *out);
/** The domain's user block.
 *  @param size   of the block; 0: the domain has none
 *  @param bytes  its first bytes, appended; zeros follow up to @p size
 *  @return BKT_OK; BKT_EFORMAT: the domain's entry is malformed, or the object is missing or too long; … */
BKT_NODISCARD int bkt_userblock_load(struct bkt_domain *d, uint64_t *size, struct bkt_buf *bytes,
                                     struct bkt_err *err);
/** Give the domain, which must be open for writing, another user block.  In a new domain the document has it
 *  with the first flush, else at once.
 *  @param size  0: none
 *  @param n     at most @p size; zeros follow
 *  @return BKT_OK; BKT_EINVAL: not a size of a user block; BKT_EUNSUP: too long; BKT_EEXIST: another writer
 *          has replaced the domain; … */
BKT_NODISCARD int bkt_userblock_store(struct bkt_domain *d, uint64_t size, const void *bytes, size_t n,
                                      struct bkt_err *err);
/** Whether the domain has a user block, and all of its bytes are zeros. */
bool bkt_userblock_is_blank(struct bkt_domain *d);
