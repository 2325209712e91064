/* PUTs of one process that several processes send.
 *
 * The first process of a group flushes, and the others get its outcomes (recorded_requests.h).  If a flush
 * has many objects, the connections of that process would be the bottleneck for all.  So large batches of
 * PUTs are spread: each process sends those whose keys belong to it.  A batch beside which a caller has other
 * work (bkt_store_perform_and()) is not spread. */
#pragma once

#include "base/os/comm.h"
#include "storage/recorded_requests.h"
#include "storage/store.h"

struct bkt_shared_puts;

/** Make an object that spreads batches of PUTs over the processes of a group.
 *  @param c   the group, which outlives the object, as does @p st
 *  @param st  this process's store of the bucket
 *  @return bkt_shared_puts_free(); NULL: out of memory */
struct bkt_shared_puts *bkt_shared_puts_new(struct bkt_comm *c, struct bkt_store *st);
void bkt_shared_puts_free(struct bkt_shared_puts *s); /* NULL is fine */

/** In the first process: from now on, bkt_store_perform() on this thread spreads batches of PUTs to the
 * store.
 *  @param recording  records; it gets the outcomes of the other processes, too */
void bkt_shared_puts_begin(struct bkt_shared_puts *s, struct bkt_recording *recording);
/** In the first process: the others return from bkt_shared_puts_serve(). */
BKT_NODISCARD int bkt_shared_puts_end(struct bkt_shared_puts *s, struct bkt_err *err);
/** In the other processes, instead: send this process's part of each batch, until the first process ends.
 *  Outcomes, failures too, go to the first process. */
BKT_NODISCARD int bkt_shared_puts_serve(struct bkt_shared_puts *s, struct bkt_err *err);

/* ---- for storage/store_wait.c ---- */

/** Perform a batch of bkt_store_perform() in several processes.  False: the batch isn't to be spread, and no
 * request has begun. */
bool bkt_shared_puts_perform(struct bkt_shared_puts *s, struct bkt_req *reqs, size_t n);
