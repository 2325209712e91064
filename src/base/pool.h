/* Worker threads of the process: decode and local file reads.
 *
 * One pool, started on first use, ended by bkt_pool_shutdown() (the connector's terminate) and absent in a
 * forked child until it is used there again.  Jobs never call HDF5 and never wait for other jobs. */
#ifndef BKT_POOL_H
#define BKT_POOL_H

#include <stdbool.h>
#include <stddef.h>

/** A unit of work; embed it in the caller's own struct.  Valid until run() has begun. */
struct bkt_job {
    void (*run)(struct bkt_job *job);
    struct bkt_job *next;
    bool            small; /* the pool's */
};

/** Jobs in a row, first in first out; guarded by whoever has it. */
struct bkt_jobs {
    struct bkt_job *head, *tail;
};
void            bkt_jobs_add(struct bkt_jobs *l, struct bkt_job *job);
struct bkt_job *bkt_jobs_take(struct bkt_jobs *l); /* NULL: there is none */

/** How many threads the pool gets when it starts; 0: one per processor, at most 64. */
void bkt_pool_size(size_t n_threads);

/** How many threads it has or will have. */
size_t bkt_pool_threads(void);

/** Queue a job; jobs begin about in the order they came in.  When no thread can be started the job is run at once, by the caller. */
void bkt_pool_submit(struct bkt_job *job);

/** Queue one of many jobs that are shorter than waking a thread: one thread is woken for all of them, and
 *  more only when jobs pile up.  Otherwise as bkt_pool_submit(). */
void bkt_pool_submit_small(struct bkt_job *job);

/** Run one queued job on this thread if there is one: a thread that waits for jobs can help.  0: none was queued. */
int bkt_pool_help(void);

/** Whether this is one of the pool's threads. */
bool bkt_pool_is_worker(void);

/** Have the pool's handlers for fork() in place; see bkt_store_hook_fork(). */
void bkt_pool_hook_fork(void);

/** Finish what is queued, join the threads, give back the scratch memory. */
void bkt_pool_shutdown(void);

#endif
