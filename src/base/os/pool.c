#include "base/os/pool.h"

#include "base/os/fork.h"
#include "base/os/scratch_pool.h"
#include "base/os/thread.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

/* Each worker has a queue with its own lock, and takes jobs from other queues when its own is empty.  A
 * submitting thread counts its job first, and looks for an idle worker afterwards.  A worker marks itself
 * idle first, and looks at the count once more afterwards.  So one of the two sees the other. */
#define MAX_THREADS 256
/* Queued small jobs from which on another thread is worth waking. */
#define PILE 16
#define WORD 64

struct worker {
    pthread_mutex_t lock; /* guards the members below that are not atomic */
    pthread_cond_t wakeup;
    struct bkt_jobs queue;
    _Atomic size_t n; /* in the queue */
    bool woken;
    pthread_t thread;
} __attribute__((aligned(64)));

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards starting and ending threads */
static struct worker workers[MAX_THREADS];
static _Atomic uint64_t idle[MAX_THREADS / WORD]; /* a bit for each worker that waits, or is about to */
static _Atomic size_t n_threads, want_threads, n_idle, n_queued, n_cores;
/* Threads that may be about to queue a job: bkt_pool_shutdown() waits for them. */
static _Atomic size_t n_submitting;
static atomic_bool stopping;
static bool ready;
static atomic_bool called;     /* a thread was woken for small jobs and has not looked for them yet */
static _Atomic size_t n_small; /* threads that run a small job, and will look for the next one after it */
static _Thread_local struct worker *self;

bool bkt_pool_is_worker(void)
{
    return self != NULL;
}

void bkt_jobs_add(struct bkt_jobs *l, struct bkt_job *job)
{
    job->next = NULL;
    if (l->tail)
        l->tail->next = job;
    else
        l->head = job;
    l->tail = job;
}

static struct bkt_job *jobs_take(struct bkt_jobs *l)
{
    struct bkt_job *job = l->head;
    if (job && !(l->head = job->next))
        l->tail = NULL;
    return job;
}

/* ---- queues ---- */

static void put(struct worker *w, struct bkt_job *job)
{
    atomic_fetch_add(&n_queued, 1);
    BKT_HOLD(&w->lock);
    bkt_jobs_add(&w->queue, job);
    atomic_fetch_add(&w->n, 1);
}

static struct bkt_job *take_from(struct worker *w)
{
    if (!atomic_load(&w->n))
        return NULL;
    (void)pthread_mutex_lock(&w->lock);
    struct bkt_job *job = jobs_take(&w->queue);
    if (job)
        atomic_fetch_sub(&w->n, 1);
    (void)pthread_mutex_unlock(&w->lock);
    if (job)
        atomic_fetch_sub(&n_queued, 1);
    return job;
}

/* Take a job from the queue @p first, else from the other queues in turn. */
static struct bkt_job *take(size_t first)
{
    size_t n = atomic_load(&n_threads);
    struct bkt_job *job = NULL;
    for (size_t i = 0; i < n && !job && atomic_load(&n_queued); i++)
        job = take_from(&workers[(first + i) % n]);
    return job;
}

/* Threads start at different workers, so that their jobs are spread. */
static size_t next_worker(void)
{
    static _Atomic size_t begun;
    static _Thread_local size_t at;
    if (!at)
        at = 1 + atomic_fetch_add(&begun, 1);
    return at++;
}

/* ---- waking ---- */

/* Claim an idle worker; the caller has to wake it.  NULL: no worker is idle. */
static struct worker *claim_idle(void)
{
    for (size_t i = 0; i < MAX_THREADS / WORD; i++)
        for (uint64_t bits; (bits = atomic_load(&idle[i]));) {
            uint64_t one = bits & -bits;
            if (atomic_fetch_and(&idle[i], ~one) & one)
                return &workers[i * WORD + (size_t)__builtin_ctzll(one)];
        }
    return NULL;
}

static void wake(struct worker *w)
{
    if (!w)
        return;
    BKT_HOLD(&w->lock);
    w->woken = true;
    (void)pthread_cond_signal(&w->wakeup);
}

static void wait_for_work(struct worker *w)
{
    size_t i = (size_t)(w - workers);
    uint64_t bit = UINT64_C(1) << i % WORD;
    atomic_fetch_or(&idle[i / WORD], bit);
    atomic_fetch_add(&n_idle, 1);
    bool mine =
        (atomic_load(&n_queued) || atomic_load(&stopping)) && atomic_fetch_and(&idle[i / WORD], ~bit) & bit;
    if (!mine) { /* nothing to do, or another thread is about to wake this one */
        (void)pthread_mutex_lock(&w->lock);
        while (!w->woken)
            (void)pthread_cond_wait(&w->wakeup, &w->lock);
        w->woken = false;
        (void)pthread_mutex_unlock(&w->lock);
    }
    atomic_fetch_sub(&n_idle, 1);
}

static void run(struct bkt_job *job)
{
    bool small = job->small; /* the job may have been freed when run() returns */
    if (small)
        atomic_fetch_add(&n_small, 1);
    else if (atomic_load(&n_queued)) /* small jobs for which no other thread was woken */
        wake(claim_idle());
    job->run(job);
    if (small)
        atomic_fetch_sub(&n_small, 1);
}

static void *worker(void *arg)
{
    struct worker *w = arg;
    (void)pthread_setname_np(pthread_self(), "h5bucket-work");
    self = w;
    for (;;) {
        atomic_store(&called, false);
        struct bkt_job *job = take((size_t)(w - workers));
        if (job)
            run(job);
        else if (atomic_load(&stopping))
            break;
        else
            wait_for_work(w);
    }
    return NULL;
}

/* ---- threads ---- */

/* No thread is left, and no job is queued.  Locks are kept: another thread may be looking into a queue. */
static void reset(void)
{
    for (size_t i = 0; i < MAX_THREADS; i++)
        workers[i].woken = false;
    for (size_t i = 0; i < MAX_THREADS / WORD; i++)
        atomic_store(&idle[i], 0);
    atomic_store(&n_threads, 0);
    atomic_store(&n_idle, 0);
    atomic_store(&n_queued, 0);
    atomic_store(&n_small, 0);
    atomic_store(&called, false);
    atomic_store(&stopping, false);
}

static void begin(void)
{
    for (size_t i = 0; i < MAX_THREADS; i++) {
        workers[i].queue = (struct bkt_jobs){NULL, NULL};
        atomic_store(&workers[i].n, 0);
        (void)pthread_mutex_init(&workers[i].lock, NULL);
        (void)pthread_cond_init(&workers[i].wakeup, NULL);
    }
    reset();
}

/* A forked child has none of the parent's threads; queued jobs belong to the parent. */
static void before_fork(void)
{
    (void)pthread_mutex_lock(&lock);
}
static void after_fork_parent(void)
{
    (void)pthread_mutex_unlock(&lock);
}
static void after_fork_child(void)
{
    atomic_store(&n_submitting, 0);
    begin();
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static const struct bkt_fork_handlers forks = {before_fork, after_fork_parent, after_fork_child};

static size_t wanted_threads(void)
{
    size_t want = atomic_load(&want_threads), cores = atomic_load(&n_cores);
    if (want)
        return want < MAX_THREADS ? want : MAX_THREADS;
    if (!cores) { /* sysconf() reads a file each time */
        long n = sysconf(_SC_NPROCESSORS_ONLN);
        cores = n < 1 ? 1 : n > 64 ? 64 : (size_t)n;
        atomic_store(&n_cores, cores);
    }
    return cores;
}

static void hook(void) /* lock held */
{
    if (!ready)
        begin();
    ready = true;
    bkt_fork_handle(BKT_FORK_POOL, &forks);
}

void bkt_pool_hook_fork(void)
{
    BKT_HOLD(&lock);
    hook();
}

/* Threads start one by one as work queues up. */
static void start_thread(void)
{
    BKT_HOLD(&lock);
    hook();
    size_t n = atomic_load(&n_threads);
    if (n < wanted_threads() && !atomic_load(&stopping) &&
        bkt_thread_start(&workers[n].thread, worker, &workers[n]) == 0)
        atomic_store(&n_threads, n + 1);
}

void bkt_pool_size(size_t n)
{
    atomic_store(&want_threads, n);
}

size_t bkt_pool_threads(void)
{
    return wanted_threads();
}

/* Whether a further thread is needed: each idle worker has been woken for a queued job already. */
static bool needs_thread(void)
{
    return atomic_load(&n_idle) <= atomic_load(&n_queued) && atomic_load(&n_threads) < wanted_threads() &&
           !atomic_load(&stopping);
}

static bool small_needs_waking(void)
{
    return (!atomic_load(&called) && !atomic_load(&n_small)) || atomic_load(&n_queued) > PILE;
}

/* False: no thread can run the job, or the pool is ending. */
static bool queue(struct bkt_job *job, bool small)
{
    if ((!small || small_needs_waking()) && needs_thread())
        start_thread();
    size_t n = atomic_load(&n_threads);
    if (!n || atomic_load(&stopping))
        return false;
    job->small = small;
    struct worker *w = small ? NULL : claim_idle(); /* a worker looks into its own queue first */
    put(w ? w : self ? self : &workers[next_worker() % n], job);
    if (small ? small_needs_waking() : !w) /* a worker may have become idle since then */
        w = claim_idle();
    /* set only if a worker was claimed and will come: otherwise no worker is woken for small jobs again */
    if (small && w)
        atomic_store(&called, true);
    wake(w);
    return true;
}

/* A job that is queued while the pool ends is not lost.  Either bkt_pool_shutdown() has seen this thread, or
 * this thread sees that the pool ends. */
static void submit(struct bkt_job *job, bool small)
{
    atomic_fetch_add(&n_submitting, 1);
    bool queued = queue(job, small);
    atomic_fetch_sub(&n_submitting, 1);
    if (!queued)
        job->run(job);
}

void bkt_pool_submit(struct bkt_job *job)
{
    submit(job, false);
}
void bkt_pool_submit_small(struct bkt_job *job)
{
    submit(job, true);
}

/* NULL: no job is queued. */
static struct bkt_job *take_any(void)
{
    return atomic_load(&n_queued) ? take(self ? (size_t)(self - workers) : next_worker()) : NULL;
}

int bkt_pool_help(void)
{
    struct bkt_job *job = take_any();
    if (job)
        job->run(job);
    return job != NULL;
}

/* The job is taken under the lock, so the caller misses no signal between its check and its wait. */
bool bkt_pool_help_locked(pthread_mutex_t *with, struct bkt_jobs *mine)
{
    struct bkt_job *job = mine ? jobs_take(mine) : NULL;
    if (!job && !(job = take_any()))
        return false;
    (void)pthread_mutex_unlock(with);
    job->run(job);
    (void)pthread_mutex_lock(with);
    return true;
}

void bkt_pool_wait(pthread_cond_t *cond, pthread_mutex_t *with, struct bkt_jobs *mine)
{
    if (!bkt_pool_help_locked(with, mine))
        (void)pthread_cond_wait(cond, with);
}

void bkt_pool_shutdown(void)
{
    (void)pthread_mutex_lock(&lock);
    atomic_store(&stopping, true);
    size_t n = atomic_load(&n_threads);
    (void)pthread_mutex_unlock(&lock);
    for (struct worker *w; (w = claim_idle());)
        wake(w);
    for (size_t i = 0; i < n; i++)
        (void)pthread_join(workers[i].thread, NULL);
    while (atomic_load(&n_submitting))
        (void)sched_yield();
    while (bkt_pool_help())
        continue;
    (void)pthread_mutex_lock(&lock);
    if (ready)
        reset();
    (void)pthread_mutex_unlock(&lock);
    bkt_scratch_shutdown();
}
