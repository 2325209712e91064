/* Decoded chunks that one process fetches and hands to others.  They keep them in their cache of chunks,
 * where a read finds them (vol/dataset/collective.c).  Only datasets with elements of a fixed size. */
#ifndef BKT_HANDED_CHUNKS_H
#define BKT_HANDED_CHUNKS_H

#include "chunk/chunk.h"

/** A chunk that a read needs. */
struct bkt_needed {
    uint64_t chunk; /* its number, row-major in the grid of all chunks */
    uint64_t elems; /* selected in it */
};
/** Append the chunks that a selection touches and the cache lacks, in ascending order (struct bkt_needed), @p
 * most of them.  BKT_EINVAL: the selection is outside the extent; BKT_ENOMEM */
BKT_NODISCARD int bkt_chunks_needed(struct bkt_dsetio *io, const struct bkt_sel *file, size_t most,
                                    struct bkt_buf *out, struct bkt_err *err);
/** Whether one fetch for all saves something.  Several processes together need @p elems elements of a chunk.
 */
bool bkt_chunk_is_worth_it(const struct bkt_dsetio *io, uint64_t elems);
/** Bytes of a decoded chunk; 0: the dataset's chunks can't be handed on. */
size_t bkt_chunk_handed_bytes(const struct bkt_dsetio *io);
/** Read @p n chunks, as one plan.
 *  @param out  gets bkt_chunk_handed_bytes() for each; bytes of a chunk outside of the dataset are 0 */
BKT_NODISCARD int bkt_chunks_fetch(struct bkt_dsetio *io, const uint64_t *chunks, size_t n,
                                   struct bkt_buf *out, struct bkt_err *err);
/** Keep a decoded chunk of another process in the cache, unless memory is short. */
void bkt_chunk_take(struct bkt_dsetio *io, uint64_t chunk, const unsigned char *bytes);

#endif
