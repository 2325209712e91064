/* A collective H5Dwrite: the processes of a group write one dataset together, in two phases.
 *
 * Each chunk gets an owner, the process that writes most of it; among equal ones the process with the least
 * to do.  First, pieces of chunks go to the owners.  Then each owner has the whole chunk, encodes it on its
 * workers and stores it once.  That happens in rounds, so that a process sends and gets a bounded number of
 * bytes at a time. */
#ifndef BKT_COLLECTIVE_WRITE_H
#define BKT_COLLECTIVE_WRITE_H

#include "base/comm.h"
#include "chunk/write/write.h"

/** Write together.  Collective; nothing is certain to be stored before the dataset's chunks are flushed.
 *  @param io   the dataset
 *  @param w    this process's part; NULL: nothing
 *  @return the common result: BKT_OK; the first process's failure, or that of the exchange */
BKT_NODISCARD int bkt_collective_write(struct bkt_comm *c, struct bkt_dsetio *io, const struct bkt_write *w,
                                       struct bkt_err *err);

#endif
