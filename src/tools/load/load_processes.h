/* load --jobs: several sources at once.  HDF5 does one thing at a time in a process, so each job is its own
 * process. */
#ifndef LOAD_CROWD_H
#define LOAD_CROWD_H

#include <stdbool.h>

#include "base/err.h"

struct load_crowd {
    const char *what;           /* shown on a terminal: the common target */
    int         n;              /* number of sources */
    int (*one)(void *arg, int i); /* loads source @p i, in a process that uses HDF5 only for this; 0: done */
    void       *arg;
};
/** Load all sources in up to @p jobs processes; an idle process takes the next source.  Call it before HDF5
 * is used or threads run.
 * @param failed  number of sources that failed, or were under way in a process that ended early
 * @return number of sources that were never begun (not 0 only if the user has stopped it); -1: no process
 *         could be made */
int load_crowd(const struct load_crowd *c, unsigned jobs, int *failed);

/** The same among the processes of an mpirun, in the first of them.
 * @param left  number of sources that were not loaded, since the work was stopped
 * @return BKT_OK; a failure of the processes, or a user's stop.  A source that can't be loaded
 *          is not a failure */
BKT_NODISCARD int load_among(const struct load_crowd *c, int *failed, int *left, struct bkt_err *err);
/** In the others. */
BKT_NODISCARD int load_among_serve(const struct load_crowd *c, struct bkt_err *err);

#endif
