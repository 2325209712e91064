/* Reading ahead of the program: what a pattern says comes next is read into the caches, on a thread of the process, while
 * the program works on what it has.
 *
 *   slabs      a dataset read in steps of one size: the next steps, within setting read_ahead (ahead.c)
 *   siblings   small datasets of a group opened and read in order: the next ones, all together
 *
 * A job is one bkt_read_run() without a destination.  A read that comes to what a job is reading waits for it; what has not
 * begun is left to the read.  Nothing is read ahead in local stores, nor in a domain that was written to.  */
#ifndef BKT_AHEAD_H
#define BKT_AHEAD_H

#include "dsetio.h"

/** Before a read of the program: wait for, or take over, what jobs do of it. */
void bkt_ahead_before(struct bkt_read *reads, size_t n);
/** After it: learn, and begin what comes next. */
void bkt_ahead_after(struct bkt_read *reads, size_t n);
/** Cancel the jobs of a dataset and wait for their end; of a domain: chunk.h. */
void bkt_ahead_forget(struct bkt_dsetio *io);

#endif
