/* GETs whose answers the processes of one node share.
 *
 * Processes that act together (base/comm.h) often read the same object at the same time.  The first one asks
 * the store, and puts the answer into a table in shared memory (base/node_table.h); the others find it there,
 * or wait for it.  Objects must not change meanwhile: the answer may be as old as the table. */
#ifndef BKT_NODE_READS_H
#define BKT_NODE_READS_H

#include "base/node_table.h"
#include "storage/store.h"

struct bkt_node_reads;

/** @param memory  of BKT_NODE_TABLE_BYTES, shared by the processes; zeros at first.  Taken over: freed with
 * the object by bkt_shared_memory_free(), on failure too
 *  @return bkt_node_reads_free(); NULL: no memory was given, or out of memory */
struct bkt_node_reads *bkt_node_reads_new(void *memory);
/** Waits for requests under way.  NULL is fine. */
void bkt_node_reads_free(struct bkt_node_reads *n);

/** As bkt_store_start() for a GET without a sink.  @p n NULL: nothing but that. */
void bkt_node_reads_start(struct bkt_node_reads *n, struct bkt_store *st, struct bkt_req *req);
/** From now on this process asks the store, and shares nothing. */
void bkt_node_reads_stop(struct bkt_node_reads *n);
/** The object of this key has changed: every process asks the store for it.  Only whole objects. */
void bkt_node_reads_forget(struct bkt_node_reads *n, const struct bkt_store *st, const char *key);

#endif
