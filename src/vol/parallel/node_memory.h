/* Memory that the processes of a group on one node share. */
#ifndef BKT_VOL_NODE_MEMORY_H
#define BKT_VOL_NODE_MEMORY_H

#include "base/comm.h"

/** Get @p bytes of zeros that all processes of @p c on this node have in common.  Collective.  It isn't a
 * window of MPI, which all processes would have to free together: a process may leave objects open.
 *  @return bkt_shared_memory_free(), by each process at any time; NULL: no other process is on this node, or
 *          the system has no such memory */
void *bkt_node_memory(struct bkt_comm *c, size_t bytes);

#endif
