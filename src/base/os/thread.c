#include "base/os/thread.h"

#include <signal.h>
#include <stddef.h>

#include "base/os/sanitizer.h"

#if BKT_ASAN
#include <semaphore.h>

/* The sanitizer's runtime holds locks while a thread starts.  A child forked at that moment would find them
 * held for ever when it starts a thread itself.  So the starting thread goes on only when the new thread
 * runs. */
struct start {
    void *(*run)(void *arg);
    void  *arg;
    sem_t *runs;
};

static void *begin(void *arg)
{
    struct start s = *(struct start *)arg; /* copied: the maker's struct is gone once the maker goes on */
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
static int create(pthread_t *t, void *(*run)(void *arg), void *arg)
{
    return pthread_create(t, NULL, run, arg);
}
#endif

/* Faults of the thread itself.  The program's handler for them, if any, must run; if they were blocked, they
 * would end the program without any message. */
static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};

int bkt_thread_start(pthread_t *t, void *(*run)(void *arg), void *arg)
{
    sigset_t all, old;
    (void)sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        (void)sigdelset(&all, faults[i]);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old); /* a new thread inherits the mask */
    int e = create(t, run, arg);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    return e;
}
