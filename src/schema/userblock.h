/* A domain's user block: the bytes that a file of HDF5's own may have before HDF5's first one (H5Pset_userblock; MATLAB's header).
 *
 * HDF5 neither reads nor writes them.  So they are nobody's but the program's, and come and go by `h5bucket load` and `get`, and
 * through pointer files (pointer.h), which have room for them.  .domain.json holds the size and, where they are few, the bytes
 * ("h5userblock").  More are an object of their own, db/<root>/.h5bucket-userblock, a key that HSDS ignores and deletes with the
 * domain.  Zeros at the end are not stored. */
#ifndef BKT_USERBLOCK_H
#define BKT_USERBLOCK_H

#include "domain.h"

#define BKT_USERBLOCK_MAX (256u << 20) /* bytes; a file may have more, and is not taken then */

/** Whether HDF5 takes a user block of that size: 0, or a power of two from 512 on. */
bool bkt_userblock_fits(uint64_t size);
/** The key of the bytes, where they are an object of their own, of the domain with that root (version 2), appended to @p out. */
BKT_NODISCARD int bkt_userblock_key(const struct bkt_id *root, struct bkt_buf *out);
/** @p n bytes less the zeros at their end. */
size_t bkt_userblock_used(const void *bytes, size_t n);

/** The domain's user block.
 * @param size   of the block; 0: the domain has none
 * @param bytes  the first of it, appended: zeros follow up to @p size
 * @return BKT_OK; BKT_EFORMAT: what the domain says of it is malformed, or its object is missing or too long; … */
BKT_NODISCARD int bkt_userblock_load(struct bkt_domain *d, uint64_t *size, struct bkt_buf *bytes, struct bkt_err *err);
/** Give the domain, which must be open for writing, another one.  In a new domain the document shows it with the first flush, else
 *  at once.
 * @param size  0: none
 * @param n     at most @p size; zeros follow
 * @return BKT_OK; BKT_EINVAL: no size of a user block; BKT_EUNSUP: too long; BKT_EEXIST: somebody else has replaced the domain; … */
BKT_NODISCARD int bkt_userblock_store(struct bkt_domain *d, uint64_t size, const void *bytes, size_t n, struct bkt_err *err);
/** Whether the domain says that it has one, and all of its bytes are zeros. */
bool bkt_userblock_is_blank(struct bkt_domain *d);

#endif
