/* How a new dataset's elements are divided into chunk objects: the one rule.
 *
 *   chunked     the shape that was asked for.  Chunks of less than 64 KiB are stored together in larger
 * objects, whole ones side by side: as many as make up to 1 MiB of what the dataset holds from the beginning,
 * and up to 8 KiB along dimensions that may still grow: there rows are appended and flushed, and each flush
 * sends the object. Only where the filters don't depend on the chunk's shape (none, deflate, shuffle);
 * H5Pget_chunk still gives what was asked for.  With such filters chunks of more than 256 MiB that may reach
 * far beyond the extent, along dimensions that may grow, are stored in parts of at most 64 MiB. otherwise
 * (contiguous, compact) equal pieces of at most 4 MiB: whole trailing dimensions, one dimension divided,
 * single steps of those before it.  An element of variable length counts 128 bytes. scalar      one chunk of
 * one element.  A null space and a virtual dataset have no chunks.
 *
 * Objects are always full chunks, so a chunk never reaches far beyond a dataset that can't grow. */
#ifndef BKT_LAYOUT_CHOOSE_H
#define BKT_LAYOUT_CHOOSE_H

#include "model.h"

/** Set ds->layout.cls, rank, dims, hdf5_chunks from its type, space, filters and layout.user_cls, user_rank,
 * user_dims.
 * @return BKT_OK; BKT_EINVAL: a chunk shape of another rank, with a 0 in it, or of more than 4 GiB;
 * BKT_EUNSUP: chunks that no reader would believe (bkt_layout_most()) */
BKT_NODISCARD int bkt_layout_choose(struct bkt_dset *ds, struct bkt_err *err);

/** Bytes of a stored chunk that are believed although a dimension that may grow is shorter than half of it.
 * Whoever writes one element there makes and stores all of it.  HSDS makes none of more than 4 MiB, and
 * bkt_layout_choose() none of more than 256 MiB but with filters that depend on the shape; files that are
 * linked have what HDF5 lets programs choose. */
uint64_t bkt_layout_most(const struct bkt_dset *ds);
/** Whether the dimension may grow, and is so much shorter than chunks of @p chunk elements. */
bool bkt_layout_is_beyond(const struct bkt_space *s, unsigned d, uint64_t chunk);

#endif
