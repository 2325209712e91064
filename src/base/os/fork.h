/* Handlers around fork(): the system gets one registration, and enum bkt_fork_who is the order of modules.
 *
 * Guarded locks are free in a forked child, with their data intact, although other threads used them in the
 * parent.  They are for locks that worker threads or the I/O threads take.  Such a thread may hold the lock
 * at the moment of fork(), and it does not exist in the child.  So a guarded lock is taken around fork(). Its
 * holder must not wait for another guarded lock, except for one added by bkt_forkguard_add_last().  It must
 * not wait for a lock of the pool or of storage either.  Other modules have handlers of their own. */
#pragma once

#include <pthread.h>

/** The order of handlers before fork(); after it the order is reversed.  Jobs come first, as they need all
 * others to end; guarded locks follow them. */
enum bkt_fork_who { BKT_FORK_JOBS, BKT_FORK_POOL, BKT_FORK_CREDS, BKT_FORK_STORES, BKT_FORK_ALL };
struct bkt_fork_handlers {
    void (*before)(void), (*parent)(void), (*child)(void);
};
/** Call the handlers around each fork() from now on; @p h is static.  Repeated calls are free. */
void bkt_fork_handle(enum bkt_fork_who who, const struct bkt_fork_handlers *h);

/** A number that changes in every forked child: state of threads that stayed with the parent is void there.
 *  (getpid() asks the kernel each time.)  It counts from the first registration of this header on. */
unsigned bkt_fork_generation(void);

/** One guarded lock; embedded beside the lock. */
struct bkt_forkguard {
    struct bkt_forkguard *next;
    pthread_mutex_t      *lock;
    pthread_cond_t       *cond;
};

/** Guard @p lock from now on.  The caller keeps @p g until bkt_forkguard_remove().
 * @param cond  may be NULL; initialised again in a child, since waiting threads stay with the parent */
void bkt_forkguard_add(struct bkt_forkguard *g, pthread_mutex_t *lock, pthread_cond_t *cond);
/** As bkt_forkguard_add(), for a lock whose holder never waits for any other lock.  Holders of other guarded
 * locks may wait for it. */
void bkt_forkguard_add_last(struct bkt_forkguard *g, pthread_mutex_t *lock, pthread_cond_t *cond);
/** Stop guarding, before the lock is destroyed.  The caller does not hold the lock. */
void bkt_forkguard_remove(struct bkt_forkguard *g);
