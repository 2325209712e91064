/* A collective H5Dread: a chunk that several processes need is fetched and decoded by one of them, which
 * hands it to the others.  All other chunks are read by each process as in an independent read. */
#ifndef BKT_COLLECTIVE_READ_H
#define BKT_COLLECTIVE_READ_H

#include "base/comm.h"
#include "chunk/chunk.h"

/** Before a read: fill the caches of the processes.  Collective.  Chunks that can't be handed on are left to
 * the read, which also reports their failures.
 *  @param file  this process's selection; NULL: none
 *  @return BKT_OK; a failure of the exchange */
BKT_NODISCARD int bkt_collective_read(struct bkt_comm *c, struct bkt_dsetio *io, const struct bkt_sel *file,
                                      struct bkt_err *err);

#endif
