/* How a new dataset's elements are divided into chunk objects: the one rule.
 *
 *   chunked     the shape that was asked for.  Chunks of less than 64 KiB are stored together in larger
 * objects, whole ones side by side: as many as make up to 1 MiB of what the dataset holds from the beginning,
 * and up to 8 KiB along dimensions that may still grow: there rows are appended and flushed, and each flush
 * sends the object. Only where the filters don't depend on the chunk's shape (none, deflate, shuffle);
 * H5Pget_chunk still gives what was asked for. otherwise   (contiguous, compact) equal pieces of at most 4
 * MiB: whole trailing dimensions, one dimension divided, single steps of those before it.  An element of
 * variable length counts 128 bytes. scalar      one chunk of one element.  A null space and a virtual dataset
 * have no chunks.
 *
 * Objects are always full chunks, so a chunk never reaches far beyond a dataset that can't grow. */
#ifndef BKT_LAYOUT_CHOOSE_H
#define BKT_LAYOUT_CHOOSE_H

#include "model.h"

/** Set ds->layout.cls, rank, dims, hdf5_chunks from its type, space, filters and layout.user_cls, user_rank, user_dims.
 * @return BKT_OK; BKT_EINVAL: a chunk shape of another rank, with a 0 in it, or of more than 4 GiB */
BKT_NODISCARD int bkt_layout_choose(struct bkt_dset *ds, struct bkt_err *err);

#endif
