/* Predictions of a program's next reads from its last ones; for read_datasets.c only. */
#pragma once

#include "chunk/chunk.h"

/** Before a read: wait for jobs that fetch its data, and take the jobs out of its way that have not begun.
 *  @param reads  of one call, at least one */
void bkt_ahead_before(struct bkt_read *reads, size_t n);
/** After a read that succeeded: begin jobs for the data that its pattern predicts. */
void bkt_ahead_after(struct bkt_read *reads, size_t n);
