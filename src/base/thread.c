#include "thread.h"

#include <signal.h>
#include <stddef.h>

int bkt_thread_start(pthread_t *t, void *(*run)(void *arg), void *arg)
{
    sigset_t all, old;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old); /* a new thread has its maker's */
    int e = pthread_create(t, NULL, run, arg);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    return e;
}
