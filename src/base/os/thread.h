/* Threads of this library. */
#pragma once

#include <pthread.h>

#include "base/err.h"

/** Start a thread, as pthread_create() does with default attributes.  The thread has all signals blocked
 *  except its own faults, since the program's signals are not for it.
 *  @return 0, or an errno */
int bkt_thread_start(pthread_t *t, void *(*run)(void *arg), void *arg);

static inline pthread_mutex_t *bkt_lock(pthread_mutex_t *lock)
{
    (void)pthread_mutex_lock(lock);
    return lock;
}
static inline void bkt_unlockp(pthread_mutex_t **lock)
{
    (void)pthread_mutex_unlock(*lock);
}
/** Hold a lock from here to the end of the block, however it is left. */
#define BKT_HOLD(lock)                                                                                       \
    BKT_CLEANUP(bkt_unlockp) __attribute__((unused)) pthread_mutex_t *held_ = bkt_lock(lock)
