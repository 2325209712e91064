/* Forked processes that wait for a signal of the test.  The test forks them before it has threads. */
#ifndef BKT_TEST_PROCESSES_H
#define BKT_TEST_PROCESSES_H

#include <stdlib.h>
#include <unistd.h>

/** Start @p n processes that each run @p run with their number and a pipe to read from, and end with its
 *  result.  Out: their ids and the writing ends of the pipes. */
static inline void start_processes(unsigned n, pid_t *pids, int *pipes, int (*run)(unsigned i, int from))
{
    for (unsigned i = 0; i < n; i++) {
        int from_to[2];
        if (pipe(from_to) < 0 || (pids[i] = fork()) < 0)
            abort();
        if (pids[i] == 0) {
            (void)close(from_to[1]);
            for (unsigned k = 0; k < i; k++)
                (void)close(pipes[k]);
            _exit(run(i, from_to[0]));
        }
        (void)close(from_to[0]);
        pipes[i] = from_to[1];
    }
}

#endif
