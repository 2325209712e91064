/* Worker threads of the process, for work on bytes in memory and for the requests of a directory store.
 *
 * One pool, started on first use, ended by bkt_pool_shutdown() (the connector's terminate).  A forked child
 * has no pool until it uses one.  Jobs never call HDF5, and never wait for other jobs or for the network.
 * A job may wait for the file system, and for another process that changes the same object: some milliseconds
 * before it tries again, or until a lock is free, at most for setting deadline_ms.  Such a job keeps its
 * thread. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/** A unit of work, embedded in the caller's own struct.  It must be valid until run() has begun. */
struct bkt_job {
    void (*run)(struct bkt_job *job);
    struct bkt_job *next;
    bool            small; /* set by the pool */
};

/** A queue of jobs, first in first out.  Its owner guards it. */
struct bkt_jobs {
    struct bkt_job *head, *tail;
};
/** Put a job at the end.  It stays the caller's, and must not be in another queue. */
void            bkt_jobs_add(struct bkt_jobs *l, struct bkt_job *job);

/** Set the number of threads that the pool gets when it starts; 0: one per processor, at most 64. */
void bkt_pool_size(size_t n_threads);

/** The number of threads that the pool has or will have. */
size_t bkt_pool_threads(void);

/** Queue a job.  Jobs begin about in the order of their submission.  If no thread can be started, the caller
 *  runs the job at once. */
void bkt_pool_submit(struct bkt_job *job);

/** Queue one of many jobs that take less time than waking a thread.  One thread is woken for all of them, and
 *  more only when jobs pile up.  Otherwise as bkt_pool_submit(). */
void bkt_pool_submit_small(struct bkt_job *job);

/** Run one queued job on this thread, if there is one: a thread that waits for jobs can help.  0: none was
 *  queued. */
int bkt_pool_help(void);

/** Run one job on this thread while @p lock (held) is released: the first job of @p mine, or else a queued
 * job.  The lock guards @p mine.  NULL: only queued jobs count.  False: there was no job, and the lock was
 * not released. */
bool bkt_pool_help_locked(pthread_mutex_t *lock, struct bkt_jobs *mine);
/** Wait as pthread_cond_wait() does, or run such a job instead if there is one.  The caller checks its
 * condition again, and waits again. */
void bkt_pool_wait(pthread_cond_t *cond, pthread_mutex_t *lock, struct bkt_jobs *mine);

/** Whether this is one of the pool's threads. */
bool bkt_pool_is_worker(void);

/** Install the pool's handlers for fork(); see base/os/fork.h. */
void bkt_pool_hook_fork(void);

/** Finish the queued jobs, join the threads, and return the scratch memory to the system. */
void bkt_pool_shutdown(void);
