/* How a new dataset's elements are divided into chunk objects: the one rule.
 *
 *   chunked     The shape that the program asked for.  Chunks of less than 64 KiB are stored together in
 *               larger objects, whole ones side by side.  An object has up to 1 MiB of the dataset's initial
 *               extent, but up to 8 KiB along dimensions that may still grow: there rows are appended and
 *               flushed, and each flush sends the object.  This needs filters that don't depend on the
 *               chunk's shape (none, deflate, shuffle); H5Pget_chunk still returns the requested shape.
 *               With such filters, chunks of more than 256 MiB are stored in parts of at most 64 MiB if they
 *               may reach far beyond the extent, along dimensions that may grow.
 *   otherwise   (contiguous, compact) Equal pieces of at most 4 MiB: whole trailing dimensions, one dimension
 *               divided, single steps of those before it.  An element of variable length counts 128 bytes.
 *   scalar      One chunk of one element.  A null space and a virtual dataset have no chunks.
 *
 * Objects are always full chunks, so a chunk never reaches far beyond a dataset that can't grow. */
#pragma once

#include "schema/model/model.h"

/** Set ds->layout.cls, rank, dims, hdf5_chunks from its type, space, filters and layout.user_cls, user_rank,
 *  user_dims.
 *  @return BKT_OK; BKT_EINVAL: a chunk shape of another rank, with a 0 in it, or of more than 4 GiB;
 *          BKT_EUNSUP: chunks that no reader would accept (bkt_layout_most()) */
BKT_NODISCARD int bkt_layout_choose(struct bkt_dset *ds, struct bkt_err *err);

/** The most bytes of a stored chunk that are accepted although a dimension that may grow is shorter than half
 *  of it.  A program that writes one element there makes and stores the whole chunk.  HSDS makes no chunk of
 *  more than 4 MiB.  bkt_layout_choose() makes none of more than 256 MiB, unless filters depend on the shape.
 *  Linked files have chunks as large as HDF5 lets programs choose. */
uint64_t bkt_layout_most(const struct bkt_dset *ds);
/** Whether the dimension may grow, and is so much shorter than chunks of @p chunk elements. */
bool bkt_layout_is_beyond(const struct bkt_space *s, unsigned d, uint64_t chunk);
