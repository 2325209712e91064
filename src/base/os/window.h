/* Tasks under way: their number, their bytes, and the threads that wait for them.  A read, a write of whole
 * chunks and the cache of written chunks have one each. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "base/os/pool.h"

struct bkt_window {
    pthread_mutex_t lock; /* guards `mine`, and the waiting for `wake`; the owner may guard more by it */
    pthread_cond_t wake;  /* signalled: a task has ended or needs less memory, or there is a job in `mine` */
    struct bkt_jobs mine; /* jobs that a waiting thread has to run itself */
    uint64_t limit;       /* of in_flight; a single task may be larger */
    _Atomic uint64_t in_flight;         /* bytes */
    _Atomic size_t n;                   /* tasks */
    atomic_bool wants_room;             /* the thread in bkt_window_enter() waits for room */
    bool (*idle)(struct bkt_window *w); /* called by a waiting thread that has no job, without the lock;
                                           false: there was nothing to do.  May be NULL */
};

/** Make an empty window of at most @p limit bytes. */
void bkt_window_init(struct bkt_window *w, uint64_t limit);
/** Free it; no task is left. */
void bkt_window_fini(struct bkt_window *w);

/** Whether a task of @p cost bytes has to wait for others; 0: whether any task is under way. */
bool bkt_window_is_full(struct bkt_window *w, uint64_t cost);
/** Wait until there is room for a task, and count it.  While it waits, the thread runs jobs of the
 * pool.  Cost 0: wait for the end of all tasks, and count no task.  Only one thread may wait at a time,
 * unless tasks end by bkt_window_end(). */
void bkt_window_enter(struct bkt_window *w, uint64_t cost);
/** Count a task without waiting. */
void bkt_window_add(struct bkt_window *w, uint64_t cost);
/** A task has ended.  The window may be freed when this returns.  Takes the lock for the last task only, and
 * to wake the thread that waits for room. */
void bkt_window_leave(struct bkt_window *w, uint64_t cost);
/** As bkt_window_leave(), with the lock held: wakes all waiting threads. */
void bkt_window_end(struct bkt_window *w, uint64_t cost);
/** A task needs less memory from now on; lock held.  Wakes all waiting threads. */
void bkt_window_resize(struct bkt_window *w, uint64_t *cost, uint64_t now);
/** Run a job on a worker; or, if @p by_caller, on a thread that waits. */
void bkt_window_submit(struct bkt_window *w, bool by_caller, struct bkt_job *job);
