/* Reading ahead of the program: the data that a pattern predicts are read into the caches, on threads of the
 * process, while the program works on what it has.
 *
 *   slabs      a dataset read in steps of one size: the next steps, within setting read_ahead (predict.c)
 *   siblings   small datasets of a group opened and read in order: the next ones, all together
 *
 * A job is one bkt_read_now() without a destination.  A read that needs the data of a running job waits for
 * the job.  Jobs that have not begun are left to the read.  There is no read-ahead in local stores, nor in a
 * domain that was written to. */
#ifndef BKT_AHEAD_H
#define BKT_AHEAD_H

#include "chunk/dataset/dataset.h"

/** Call before a read of the program: waits for jobs that read the same data, or takes them over. */
void bkt_ahead_before(struct bkt_read *reads, size_t n);
/** Call after a read: learns from it, and begins to read ahead. */
void bkt_ahead_after(struct bkt_read *reads, size_t n);

#endif
