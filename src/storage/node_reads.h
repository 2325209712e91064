/* GETs whose answers the processes of one node share.
 *
 * Processes that act together (base/os/comm.h) often read the same object at the same time.  The first one
 * asks the store, and puts the answer into a table in shared memory; the others find it there, or wait for
 * it.  Objects must not change as long as the table exists: the answer may be as old as the table. */
#pragma once

#include "base/bytes.h"
#include "storage/store.h"

struct bkt_node_reads;

/** Make this process's view of the reads of its node.
 *  @param memory  of BKT_NODE_TABLE_BYTES, shared by the processes; zeros at first.  Taken over: freed with
 *                 the object by bkt_shared_memory_free(), on failure too
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

/* ---- the table ----
 *
 * An entry is claimed by the first process that asks for its key.  That process publishes the text, or gives
 * the entry up; the others wait for it, or look again later.  Nothing is ever removed or replaced, and a full
 * table takes nothing more.  All functions work on any thread of any process. */

struct bkt_node_table;

/* Bytes of memory for a table, aligned to 64 bytes; zeros are an empty table.  It holds about 7,000 objects
 * of 1 KB. */
#define BKT_NODE_TABLE_BYTES (8u << 20)
/* Bytes of the longest text: a longer one would take the room of many. */
#define BKT_NODE_TEXT_MAX (1u << 20)

enum bkt_node_table_state {
    BKT_ENTRY_WAIT,  /* another caller has claimed it; 0, as zeros are an empty table */
    BKT_ENTRY_READY, /* the text is there */
    BKT_ENTRY_NEVER, /* it won't be there */
    BKT_ENTRY_MINE,  /* the caller has claimed it, and must publish it or give it up; not stored */
};

/** Find or claim the entry of @p key (a string).  @p entry gets its number, except with BKT_ENTRY_NEVER. */
enum bkt_node_table_state bkt_node_table_ask(struct bkt_node_table *t, const char *key, uint32_t *entry);
/** The present state of an entry that bkt_node_table_ask() found: never BKT_ENTRY_MINE. */
enum bkt_node_table_state bkt_node_table_look(const struct bkt_node_table *t, uint32_t entry);

/** For a claimed entry: the text is there from now on, if there is room.  @p head: n_head bytes about it */
void bkt_node_table_publish(struct bkt_node_table *t, uint32_t entry, const char *key, const void *head,
                            size_t n_head, const void *text, size_t n);
/** For a claimed entry: each process must read the object itself. */
void bkt_node_table_give_up(struct bkt_node_table *t, uint32_t entry);
/** The object of this key has changed: from now on each process reads it itself. */
void bkt_node_table_forget(struct bkt_node_table *t, const char *key);

/** Copy the text of a ready entry.  False: the entry is of another key or has a shorter head, or memory is
 * short. */
bool bkt_node_table_copy(const struct bkt_node_table *t, uint32_t entry, const char *key, void *head,
                         size_t n_head, struct bkt_buf *out);
