#include "thread.h"

#include <signal.h>
#include <stddef.h>

#ifdef __has_feature
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

#ifdef __SANITIZE_ADDRESS__
#include <semaphore.h>

/* Its runtime holds locks of its own while a thread starts: a child forked at that moment finds them held for ever as soon as it
 * starts a thread itself.  So whoever makes a thread goes on when that one runs. */
struct start {
    void *(*run)(void *arg);
    void  *arg;
    sem_t *runs;
};

static void *begin(void *arg)
{
    struct start s = *(struct start *)arg; /* which its maker has no longer when it goes on */
    (void)sem_post(s.runs);
    return s.run(s.arg);
}

static int create(pthread_t *t, void *(*run)(void *arg), void *arg)
{
    sem_t        runs;
    struct start s = {run, arg, &runs};
    (void)sem_init(&runs, 0, 0);
    int e = pthread_create(t, NULL, begin, &s);
    while (e == 0 && sem_wait(&runs) != 0)
        continue;
    (void)sem_destroy(&runs);
    return e;
}
#else
static int create(pthread_t *t, void *(*run)(void *arg), void *arg) { return pthread_create(t, NULL, run, arg); }
#endif

/* What a thread does to itself: whoever has a handler for these is told, blocked they would end the program without a word. */
static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};

int bkt_thread_start(pthread_t *t, void *(*run)(void *arg), void *arg)
{
    sigset_t all, old;
    (void)sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        (void)sigdelset(&all, faults[i]);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old); /* a new thread has its maker's */
    int e = create(t, run, arg);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    return e;
}
