/* A write cut at chunk borders, for processes that write one dataset together: each chunk has an owner, who
 * gets all elements that the processes write to it, and stores it once (vol/dataset/collective.c).
 *
 * The message about a chunk holds its number (row-major in the grid of all chunks), the number of its runs,
 * then for each run its first element in the chunk and its length, then the elements.  An element of variable
 * size has its length before it.  All numbers have 8 bytes. */
#ifndef BKT_WRITE_PIECES_H
#define BKT_WRITE_PIECES_H

#include "chunk/write/write.h"

struct bkt_wpieces;

/** Plan a write.
 *  @param w  borrowed until bkt_wpieces_free(); NULL: a process that writes nothing
 *  @return as bkt_write_datasets() */
BKT_NODISCARD int bkt_wpieces_new(const struct bkt_write *w, struct bkt_wpieces **out, struct bkt_err *err);
void bkt_wpieces_free(struct bkt_wpieces *p); /* NULL is fine */

/** A chunk of the plan. */
struct bkt_wpiece {
    uint64_t chunk; /* its number */
    uint64_t elems; /* selected in it */
};
/** Chunk @p i of the plan, in ascending order of numbers.  False: the plan has fewer chunks. */
bool bkt_wpieces_at(const struct bkt_wpieces *p, uint64_t i, struct bkt_wpiece *out);
/** Append the message about chunk number @p i of the plan. */
BKT_NODISCARD int bkt_wpieces_add(const struct bkt_wpieces *p, uint64_t i, struct bkt_buf *out,
                                  struct bkt_err *err);

/** Put the elements of messages into chunks, in the order of the chunks' numbers.  A chunk that the messages
 * fill is stored in the background; all others wait for a flush.
 *  @param msgs  @p n messages, one after another from each process; each in ascending order of chunks
 *  @return BKT_OK; BKT_EFORMAT: a message is malformed; … */
BKT_NODISCARD int bkt_wpieces_put(struct bkt_dsetio *io, const struct bkt_slice *msgs, size_t n,
                                  struct bkt_err *err);

#endif
