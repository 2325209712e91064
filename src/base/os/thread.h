/* Threads of this library. */
#ifndef BKT_THREAD_H
#define BKT_THREAD_H

#include <pthread.h>

/** Start a thread, as pthread_create() does with default attributes.  The thread has all signals blocked
 *  except its own faults, since the program's signals are not for it.
 *  @return 0, or an errno */
int bkt_thread_start(pthread_t *t, void *(*run)(void *arg), void *arg);

#endif
