/* Chunks of a collective transfer (vol/dataset/collective.c).
 *
 * Reading: decoded chunks that one process fetches and hands to others.  They keep them in their cache of
 * chunks, where a read finds them.  Only datasets with elements of a fixed size.
 *
 * Writing: a write cut at chunk borders.  Each chunk has an owner, who gets all elements that the processes
 * write to it, and stores it once.  The message about a chunk has, in this order:
 *   the chunk's number (row-major in the grid of all chunks)
 *   the number of its runs
 *   for each run: its first element in the chunk, and its length
 *   the elements; one of variable size has its length before it
 * All numbers have 8 bytes. */
#pragma once

#include "chunk/chunk.h"
#include "chunk/write/write.h"

/** A chunk that a process reads or writes. */
struct bkt_chunk_share {
    uint64_t chunk; /* its number, row-major in the grid of all chunks */
    uint64_t elems; /* selected in it */
};
/** Append the chunks that a selection touches and the cache lacks, in ascending order (struct
 *  bkt_chunk_share), @p most of them.  BKT_EINVAL: the selection is outside the extent; BKT_ENOMEM */
BKT_NODISCARD int bkt_chunks_needed(struct bkt_dsetio *io, const struct bkt_sel *file, size_t most,
                                    struct bkt_buf *out, struct bkt_err *err);
/** Whether one fetch for all saves something, if several processes need @p elems elements of a chunk. */
bool bkt_chunk_is_worth_it(const struct bkt_dsetio *io, uint64_t elems);
/** Bytes of a decoded chunk; 0: the dataset's chunks can't be handed on. */
size_t bkt_chunk_handed_bytes(const struct bkt_dsetio *io);
/** Read @p n chunks, as one plan.
 *  @param out  gets bkt_chunk_handed_bytes() for each; bytes of a chunk outside of the dataset are 0 */
BKT_NODISCARD int bkt_chunks_fetch(struct bkt_dsetio *io, const uint64_t *chunks, size_t n,
                                   struct bkt_buf *out, struct bkt_err *err);
/** Keep a decoded chunk of another process in the cache, unless memory is short. */
void bkt_chunk_take(struct bkt_dsetio *io, uint64_t chunk, const unsigned char *bytes);

struct bkt_collective_plan;

/** Plan a write.
 *  @param w  borrowed until bkt_collective_plan_free(); NULL: a process that writes nothing
 *  @return as bkt_write_datasets() */
BKT_NODISCARD int bkt_collective_plan_new(const struct bkt_write *w, struct bkt_collective_plan **out,
                                          struct bkt_err *err);
void bkt_collective_plan_free(struct bkt_collective_plan *p); /* NULL is fine */

/** Chunk @p i of the plan, in ascending order of numbers.  False: the plan has fewer chunks. */
bool bkt_collective_plan_at(const struct bkt_collective_plan *p, uint64_t i, struct bkt_chunk_share *out);
/** Append the message about chunk number @p i of the plan. */
BKT_NODISCARD int bkt_collective_plan_add(const struct bkt_collective_plan *p, uint64_t i,
                                          struct bkt_buf *out, struct bkt_err *err);

/** Put the elements of messages into chunks, in the order of the chunks' numbers.  A chunk that the messages
 * fill is stored in the background; all others wait for a flush.
 *  @param msgs  @p n messages, one after another from each process; each in ascending order of chunks
 *  @return BKT_OK; BKT_EFORMAT: a message is malformed; … */
BKT_NODISCARD int bkt_collective_plan_put(struct bkt_dsetio *io, const struct bkt_slice *msgs, size_t n,
                                          struct bkt_err *err);
