#include "pool.h"

#include "scratch.h"
#include "thread.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_THREADS 256
#define PILE        16 /* small jobs, of 20 us: what waking another thread costs is little beside these; with 2 or 128 no difference */

static pthread_mutex_t lock   = PTHREAD_MUTEX_INITIALIZER; /* guards everything below */
static pthread_cond_t  wakeup = PTHREAD_COND_INITIALIZER;
static struct bkt_jobs queue;
static pthread_t       threads[MAX_THREADS];
static size_t          n_threads, want_threads, n_idle, n_queued, n_cores;
static bool            stopping, fork_hooked;
static bool            called;  /* a thread was woken for small jobs and hasn't come yet */
static size_t          n_small; /* threads that run a small job, and look for the next one after it */
static _Thread_local bool is_worker;

bool bkt_pool_is_worker(void) { return is_worker; }

void bkt_jobs_add(struct bkt_jobs *l, struct bkt_job *job)
{
    job->next = NULL;
    if (l->tail)
        l->tail->next = job;
    else
        l->head = job;
    l->tail = job;
}

struct bkt_job *bkt_jobs_take(struct bkt_jobs *l)
{
    struct bkt_job *job = l->head;
    if (job && !(l->head = job->next))
        l->tail = NULL;
    return job;
}

static struct bkt_job *take(void)
{
    struct bkt_job *job = bkt_jobs_take(&queue);
    n_queued -= job != NULL;
    return job;
}

static void *worker(void *arg)
{
    (void)arg;
    is_worker = true;
    (void)pthread_mutex_lock(&lock);
    for (;;) {
        struct bkt_job *job = take();
        called              = false;
        if (job) {
            bool small = job->small; /* the job may be gone when it has run */
            n_small += small;
            if (n_queued && !small) /* small ones that were left to this thread */
                (void)pthread_cond_signal(&wakeup);
            (void)pthread_mutex_unlock(&lock);
            job->run(job);
            (void)pthread_mutex_lock(&lock);
            n_small -= small;
        } else if (stopping) {
            break;
        } else {
            n_idle++;
            (void)pthread_cond_wait(&wakeup, &lock);
            n_idle--;
        }
    }
    (void)pthread_mutex_unlock(&lock);
    return NULL;
}

/* A forked child has none of the parent's threads; what was queued belongs to the parent. */
static void before_fork(void) { (void)pthread_mutex_lock(&lock); }
static void after_fork_parent(void) { (void)pthread_mutex_unlock(&lock); }
static void after_fork_child(void)
{
    queue     = (struct bkt_jobs){NULL, NULL};
    n_threads = n_idle = n_queued = n_small = 0;
    stopping = called = false;
    lock               = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    wakeup             = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
}

static size_t target(void)
{
    if (want_threads)
        return want_threads < MAX_THREADS ? want_threads : MAX_THREADS;
    if (!n_cores) { /* reads a file, each time */
        long n  = sysconf(_SC_NPROCESSORS_ONLN);
        n_cores = n < 1 ? 1 : n > 16 ? 16 : (size_t)n;
    }
    return n_cores;
}

static void hook(void) /* lock held */
{
    if (!fork_hooked)
        fork_hooked = pthread_atfork(before_fork, after_fork_parent, after_fork_child) == 0;
}

void bkt_pool_hook_fork(void)
{
    (void)pthread_mutex_lock(&lock);
    hook();
    (void)pthread_mutex_unlock(&lock);
}

/* Called with the lock held.  Threads start one by one as work queues up. */
static void start_thread(void)
{
    hook();
    if (bkt_thread_start(&threads[n_threads], worker, NULL) == 0)
        n_threads++;
}

void bkt_pool_size(size_t n)
{
    (void)pthread_mutex_lock(&lock);
    want_threads = n;
    (void)pthread_mutex_unlock(&lock);
}

size_t bkt_pool_threads(void)
{
    (void)pthread_mutex_lock(&lock);
    size_t n = target();
    (void)pthread_mutex_unlock(&lock);
    return n;
}

static void submit(struct bkt_job *job, bool small)
{
    (void)pthread_mutex_lock(&lock);
    bool wake = !small || (!called && !n_small) || n_queued >= PILE;
    if (wake && n_idle <= n_queued && n_threads < target() && !stopping) /* who is idle has been woken for those that wait */
        start_thread();
    if (!n_threads || stopping) {
        (void)pthread_mutex_unlock(&lock);
        job->run(job);
        return;
    }
    job->small = small;
    bkt_jobs_add(&queue, job);
    n_queued++;
    called |= small;
    if (wake)
        (void)pthread_cond_signal(&wakeup);
    (void)pthread_mutex_unlock(&lock);
}

void bkt_pool_submit(struct bkt_job *job) { submit(job, false); }
void bkt_pool_submit_small(struct bkt_job *job) { submit(job, true); }

int bkt_pool_help(void)
{
    (void)pthread_mutex_lock(&lock);
    struct bkt_job *job = take();
    (void)pthread_mutex_unlock(&lock);
    if (!job)
        return 0;
    job->run(job);
    return 1;
}

void bkt_pool_shutdown(void)
{
    (void)pthread_mutex_lock(&lock);
    stopping = true;
    (void)pthread_cond_broadcast(&wakeup);
    size_t n = n_threads;
    (void)pthread_mutex_unlock(&lock);
    for (size_t i = 0; i < n; i++)
        (void)pthread_join(threads[i], NULL);
    (void)pthread_mutex_lock(&lock);
    n_threads = 0;
    stopping  = false;
    (void)pthread_mutex_unlock(&lock);
    bkt_scratch_shutdown();
}
