#include "thread.h"

#include <signal.h>
#include <stddef.h>

/* What a thread does to itself: whoever has a handler for these is told, blocked they would end the program without a word. */
static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};

int bkt_thread_start(pthread_t *t, void *(*run)(void *arg), void *arg)
{
    sigset_t all, old;
    (void)sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        (void)sigdelset(&all, faults[i]);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old); /* a new thread has its maker's */
    int e = pthread_create(t, NULL, run, arg);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    return e;
}
