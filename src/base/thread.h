/* Threads of our own. */
#ifndef BKT_THREAD_H
#define BKT_THREAD_H

#include <pthread.h>

/** As pthread_create() with default attributes; the thread has all signals blocked, since the program's are not for it, but faults of
 *  its own.
 *  @return 0, or an errno */
int bkt_thread_start(pthread_t *t, void *(*run)(void *arg), void *arg);

#endif
