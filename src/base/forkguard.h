/* Locks that a forked child finds free, and what they guard whole, although other threads used them in the parent.
 *
 * For locks that worker threads or the I/O thread take: one of them may hold the lock at the moment of fork(), and it
 * does not exist in the child.  A guarded lock is taken around fork().  So its holder must not wait for another guarded
 * lock, unless that one was added as the last, nor for one of the pool or of storage. */
#ifndef BKT_FORKGUARD_H
#define BKT_FORKGUARD_H

#include <pthread.h>

/** Embed it beside the lock. */
struct bkt_forkguard {
    struct bkt_forkguard *next;
    pthread_mutex_t      *lock;
    pthread_cond_t       *cond;
};

/** Guard @p lock from now on.  @p cond (may be NULL) is made anew in a child: who waited stayed with the parent. */
void bkt_forkguard_add(struct bkt_forkguard *g, pthread_mutex_t *lock, pthread_cond_t *cond);
/** The same for a lock whose holder never waits for any other: holders of other guarded locks may wait for it. */
void bkt_forkguard_add_last(struct bkt_forkguard *g, pthread_mutex_t *lock, pthread_cond_t *cond);
/** Before the lock is destroyed; it is not held by the caller. */
void bkt_forkguard_remove(struct bkt_forkguard *g);

#endif
