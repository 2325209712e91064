/* Walks over the chunks that exist: inside src/chunk/list.  Other callers use bkt_chunk_iter() (chunk.h). */
#ifndef BKT_CHUNK_LIST_H
#define BKT_CHUNK_LIST_H

#include "chunk/dataset/dataset.h"

/** Call @p each for all stored chunk objects within @p grid, in grid order. */
BKT_NODISCARD int bkt_chunk_list(struct bkt_dsetio *io, const uint64_t *grid, bkt_chunk_fn *each, void *arg,
                                 struct bkt_err *err);
/** All chunks of a dataset that isn't stored as objects, in grid order.  @p grid: chunks per dimension; it is
 *  changed. */
BKT_NODISCARD int bkt_table_walk(struct bkt_dsetio *io, uint64_t *grid, bkt_chunk_fn *each, void *arg,
                                 struct bkt_err *err);

#endif
