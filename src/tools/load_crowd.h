/* load --jobs: several sources at once.  HDF5 does one thing at a time in a process, so each job is a process of its own. */
#ifndef LOAD_CROWD_H
#define LOAD_CROWD_H

#include <stdbool.h>

struct load_crowd {
    const char *what;           /* shown on a terminal: where they all go */
    int         n;              /* how many sources */
    int (*one)(void *arg, int i); /* load source @p i, in a process that has done nothing with HDF5 but this; 0: done */
    void       *arg;
};
/** Work through all sources in up to @p jobs processes; whichever is free takes the next.  Before HDF5 is used and threads run.
 * @param failed  how many failed, or were under way in a process that ended before its time
 * @return how many were never begun: 0, or the user has stopped it; -1: no process could be made */
int load_crowd(const struct load_crowd *c, unsigned jobs, int *failed);

#endif
