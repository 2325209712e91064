#include "chunk/ahead/jobs.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "base/os/fork.h"
#include "base/os/thread.h"
#include "base/trace.h"
#include "chunk/read/read.h"
#include "chunk/read/references.h"

/* ---- siblings in one file ---- */

/* Siblings whose bytes lie in one file, as `h5bucket load --link` stores small datasets.  The bytes that they
 * refer to are fetched in a few long ranges, without opening each dataset, which saves nearly all of the CPU
 * time. */

/* Whether a sibling of @p size bytes fits into the job; if so, its bytes are counted. */
static bool ahead_takes(struct bkt_ahead_job *job, uint64_t size)
{
    if (size > job->each || (job->used && size > job->room - bkt_min_u64(job->used, job->room)))
        return false;
    job->used += size;
    return true;
}

/* Bytes between two datasets that are fetched along: they cost less than another request. */
#define GAP  (64u << 10)
#define PART (1u << 20) /* bytes of one request */

struct range {
    uint64_t off, end;
};
struct file_job {
    struct bkt_ahead_job  *job;
    struct bkt_dsetio     *io; /* the first sibling, which opens the file */
    struct bkt_chunk_file *file;
    struct range          *v;
    size_t                 n;
};

static bool same(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }

/* Whether the dataset is one segment of the file that the first sibling names. */
static bool fits(const struct file_job *f, const struct bkt_object *o)
{
    const struct bkt_layout *l = &o->dset.layout, *first = f->io ? &f->io->ds->layout : l;
    uint64_t                 end;
    return o->kind == BKT_DATASET && !o->dset.bad && l->cls == BKT_D_CONTIGUOUS_REF && l->file_uri &&
           !l->n_segments && l->size && l->size <= f->job->each && bkt_add_u64(l->offset, l->size, &end) &&
           end <= INT64_MAX && same(l->file_uri, first->file_uri) && same(l->file_etag, first->file_etag);
}

/* Opens the file as the program's own read will: under the same policy, with the same place in the cache. */
static bool open_file(struct file_job *f, const struct bkt_object *o)
{
    if (bkt_dsetio_open(f->job->dom, o, NULL, &f->io, NULL) < 0)
        return false;
    if (!f->io->bad.code && f->io->cache && bkt_reference_layout_file(f->io, &f->file, NULL) == BKT_OK &&
        f->file->space)
        return true;
    bkt_dsetio_close(f->io);
    f->io = NULL;
    return false;
}

static bool add(struct file_job *f, const struct bkt_object *o)
{
    const struct bkt_layout *l = &o->dset.layout;
    size_t                   delta;
    if (!fits(f, o) || (!f->io && !open_file(f, o)))
        return false;
    struct bkt_cache_entry *there =
        bkt_cache_cover(f->io->cache, f->file->space, f->file->base + l->offset, (size_t)l->size, &delta);
    bool known = there != NULL, taken = known || ahead_takes(f->job, l->size);
    bkt_cache_entry_release(there);
    if (taken && !known)
        f->v[f->n++] = (struct range){l->offset, l->offset + l->size};
    return taken;
}

/* Merges neighbouring ranges. */
static void merge(struct file_job *f)
{
    size_t n = 0;
    qsort(f->v, f->n, sizeof *f->v, bkt_by_u64);
    for (size_t i = 1; i < f->n; i++) {
        struct range *last = &f->v[n], *x = &f->v[i];
        if (x->off <= last->end + GAP && bkt_max_u64(x->end, last->end) - last->off <= PART)
            last->end = bkt_max_u64(x->end, last->end);
        else
            f->v[++n] = *x;
    }
    f->n = n + 1;
}

static void fetch(struct file_job *f)
{
    struct bkt_req     *reqs = calloc(f->n, sizeof *reqs);
    struct bkt_cache_entry **e    = calloc(f->n, sizeof(struct bkt_cache_entry *));
    size_t              n    = 0;
    for (; reqs && e && n < f->n; n++) {
        const struct range *x = &f->v[n];
        if (!(e[n] = bkt_cache_entry_new((size_t)(x->end - x->off))))
            break;
        reqs[n] = (struct bkt_req){.op = BKT_GET,
                                   .key = f->file->key,
                                   .off = x->off,
                                   .len = x->end - x->off,
                                   .dst = e[n]->data,
                                   .may_be_short = true,
                                   .if_match = f->file->etag,
                                   .version = f->file->version,
                                   .cancel = &f->job->cancel};
    }
    (void)bkt_store_perform(f->file->store, reqs, n, NULL); /* the program's own read will report failures */
    for (size_t i = 0; i < n; i++) {
        e[i]->len = bkt_min_u64(e[i]->len, reqs[i].n);
        if (reqs[i].rc == BKT_OK && e[i]->len)
            bkt_cache_put(f->io->cache, f->file->space, f->file->base + f->v[i].off, e[i]);
        bkt_req_fini(&reqs[i]);
        bkt_cache_entry_release(e[i]);
    }
    free(reqs);
    free(e);
}

/* Fetch siblings that refer to one file, as far as they aren't cached.  done[i] is set for each sibling that
 *  needs no more work.  Gives their number. */
static size_t ahead_files(struct bkt_ahead_job *job, bool *done)
{
    struct file_job f = {.job = job, .v = calloc(job->n, sizeof *f.v)};
    size_t          n = 0;
    if (!f.v)
        return 0;
    for (size_t i = 0; i < job->n && !atomic_load(&job->cancel); i++) {
        const struct bkt_object *o = NULL;
        if (!job->ids[i].text[0] || bkt_domain_get(job->dom, &job->ids[i], &o, NULL) < 0)
            continue;
        done[i] = add(&f, o);
        n += done[i];
        bkt_object_release(o);
        if (!n) /* siblings of another kind */
            break;
    }
    if (f.io && f.n && !atomic_load(&job->cancel)) {
        merge(&f);
        fetch(&f);
    }
    bkt_dsetio_close(f.io);
    free(f.v);
    return n;
}

/* Steps that are fetched side by side: from a server far away, one at a time doesn't fill the line. */
#define MAX_THREADS 4

static pthread_mutex_t       lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static pthread_cond_t        wake = PTHREAD_COND_INITIALIZER;
static struct bkt_ahead_job *head, **tail = &head;
static bool                  stopping;
static pid_t                 owner;
static pthread_t             threads[MAX_THREADS];
static size_t                n_threads, n_idle;
static bool                  forking;
atomic_size_t bkt_ahead_jobs;
static pthread_once_t        hooked = PTHREAD_ONCE_INIT;
static _Thread_local bool    is_ahead; /* set in these threads */

/* A forked child has none of these threads, and must not touch its parent's jobs.  The lock is held. */
static void after_fork(void)
{
    if (owner == getpid())
        return;
    owner     = getpid();
    stopping  = forking = false;
    n_threads = n_idle = 0;
    head      = NULL;
    tail      = &head;
    atomic_store(&bkt_ahead_jobs, 0);
}

/* ---- fork() ---- */

static bool all(struct bkt_ahead_job *job, const void *arg)
{
    (void)job, (void)arg;
    return true;
}

/* Whether a job runs that @p match accepts; lock held.  @p cancel: cancels all of them. */
static bool any_runs(bkt_ahead_match *match, const void *arg, bool cancel)
{
    bool any = false;
    for (struct bkt_ahead_job *job = head; job; job = job->next)
        if (job->running && match(job, arg)) {
            any = true;
            if (cancel)
                atomic_store(&job->cancel, true);
        }
    return any;
}

/* Waits until no job runs.  Jobs hold locks of domains and datasets, also while they wait for an answer; in a
 * forked child such a lock would stay locked. */
static void before_fork(void)
{
    if (is_ahead)
        return;
    (void)pthread_mutex_lock(&lock);
    forking = true;
    if (any_runs(all, NULL, true)) {
        (void)pthread_mutex_unlock(&lock);
        bkt_store_cancelled();
        (void)pthread_mutex_lock(&lock);
    }
    while (any_runs(all, NULL, false))
        (void)pthread_cond_wait(&wake, &lock);
}

static void after_fork_parent(void)
{
    if (is_ahead)
        return;
    forking = false;
    (void)pthread_cond_broadcast(&wake);
    (void)pthread_mutex_unlock(&lock);
}

static void after_fork_child(void)
{
    if (is_ahead)
        return;
    (void)pthread_cond_init(&wake, NULL); /* waiting threads exist only in the parent */
    after_fork();
    (void)pthread_mutex_unlock(&lock);
}

static void hook(void)
{
    static const struct bkt_fork_handlers forks = {before_fork, after_fork_parent, after_fork_child};
    bkt_store_hook_fork();
    bkt_fork_handle(BKT_FORK_JOBS, &forks);
}

/* ---- jobs ---- */

static void memory_free(struct bkt_ahead_job *job)
{
    free(job->tails);
    free(job);
}

static void job_free(struct bkt_ahead_job *job) /* only one that doesn't run */
{
    if (!job->io)
        bkt_domain_close(job->dom);
    memory_free(job);
}

/* ---- running a job ---- */

static void run_slab(struct bkt_ahead_job *job)
{
    struct bkt_read r = {.io = job->io, .file = &job->sel, .cancel = &job->cancel};
    if (bkt_read_now(&r, 1, NULL) < 0) /* the program's own read will report it */
        bkt_trace(BKT_TRACE_CHUNK, "reading ahead in dataset %s failed", job->io->obj->id.text);
    bkt_read_fini(&r);
}

static bool open_small(struct bkt_ahead_job *job, size_t i, struct bkt_read *r, struct bkt_sel *sel)
{
    const struct bkt_object *o = NULL;
    if (!job->ids[i].text[0] || bkt_domain_get(job->dom, &job->ids[i], &o, NULL) < 0)
        return false;
    bool ok = o->kind == BKT_DATASET && bkt_dsetio_open(job->dom, o, NULL, &r->io, NULL) == BKT_OK;
    bkt_object_release(o);
    if (!ok)
        return false;
    *sel      = (struct bkt_sel){.kind = BKT_SEL_ALL, .rank = r->io->ds->space.rank, .n_elems = 1};
    r->file   = sel;
    r->cancel = &job->cancel;
    if (ahead_takes(job, bkt_ahead_size(r->io))) {
        for (unsigned d = 0; d < sel->rank; d++) {
            sel->dims[d] = r->io->ds->space.dims[d];
            sel->n_elems *= sel->dims[d];
        }
        return true;
    }
    bkt_dsetio_close(r->io);
    return false;
}

static void run_siblings(struct bkt_ahead_job *job)
{
    struct bkt_read *reads = calloc(job->n, sizeof *reads);
    struct bkt_sel  *sels  = calloc(job->n, sizeof *sels);
    bool            *done  = calloc(job->n, sizeof *done);
    size_t n = 0, n_files = done ? ahead_files(job, done) : 0;
    for (size_t i = 0; reads && sels && done && i < job->n && !atomic_load(&job->cancel); i++)
        if (!done[i])
            n += open_small(job, i, &reads[n], &sels[n]);
    int rc = n ? bkt_read_now(reads, n, NULL) : BKT_OK;
    for (size_t i = 0; i < n; i++) {
        bkt_read_fini(&reads[i]);
        bkt_dsetio_close(reads[i].io);
    }
    bkt_trace(BKT_TRACE_CHUNK, "%zu of %zu siblings read ahead: %s", n + n_files, job->n, bkt_err_text(rc));
    free(reads);
    free(sels);
    free(done);
}

/* ---- the threads ---- */

static void take_out(struct bkt_ahead_job *job)
{
    struct bkt_ahead_job **at = &head;
    while (*at != job)
        at = &(*at)->next;
    if (!(*at = job->next))
        tail = at;
    (void)atomic_fetch_sub(&bkt_ahead_jobs, 1);
}

/* Whether the job has to wait for a running one. */
static bool waits(const struct bkt_ahead_job *job)
{
    for (const struct bkt_ahead_job *o = head; o && job->io; o = o->next)
        if (o->running && o->io == job->io && bkt_ahead_same_chunks(o, job))
            return true;
    return false;
}

static struct bkt_ahead_job *next_job(void)
{
    for (struct bkt_ahead_job *job = head; job; job = job->next)
        if (!job->running && !waits(job))
            return job;
    return NULL;
}

static void *run(void *arg)
{
    (void)arg;
    (void)pthread_setname_np(pthread_self(), "h5bucket-ahead");
    is_ahead = true;
    (void)pthread_mutex_lock(&lock);
    for (;;) {
        struct bkt_ahead_job *job = forking ? NULL : next_job();
        if (!job && stopping)
            break;
        if (!job) {
            n_idle++;
            (void)pthread_cond_wait(&wake, &lock);
            n_idle--;
            continue;
        }
        job->running = true;
        (void)pthread_mutex_unlock(&lock);
        if (!atomic_load(&job->cancel) && job->io)
            run_slab(job);
        else if (!atomic_load(&job->cancel))
            run_siblings(job);
        if (!job->io) /* before the job is taken out: a thread that waited for it may expect that the domain
                         is no longer retained */
            bkt_domain_close(job->dom);
        (void)pthread_mutex_lock(&lock);
        take_out(job);
        (void)pthread_cond_broadcast(&wake);
        memory_free(job);
    }
    (void)pthread_mutex_unlock(&lock);
    return NULL;
}

/* Starts one more thread if the idle ones have other jobs to do.  False: there is no thread at all. */
static bool start(void)
{
    size_t n_waiting = 0;
    for (const struct bkt_ahead_job *job = head; job; job = job->next)
        n_waiting += !job->running;
    if (n_idle > n_waiting || n_threads == MAX_THREADS)
        return true;
    n_threads += bkt_thread_start(&threads[n_threads], run, NULL) == 0;
    return n_threads > 0;
}

bool bkt_ahead_post(struct bkt_ahead_job *job)
{
    (void)pthread_once(&hooked, hook);
    (void)pthread_mutex_lock(&lock);
    after_fork();
    bool ok = !stopping && start();
    if (ok) {
        job->next = NULL;
        *tail     = job;
        tail      = &job->next;
        (void)atomic_fetch_add(&bkt_ahead_jobs, 1);
        (void)pthread_cond_broadcast(&wake);
    }
    (void)pthread_mutex_unlock(&lock);
    if (!ok)
        job_free(job);
    return ok;
}

size_t bkt_ahead_settle(bkt_ahead_match *match, const void *arg, bool cancel, bool *waited)
{
    struct bkt_ahead_job *gone = NULL;
    size_t n = 0;
    if (is_ahead) /* the thread closes datasets that its own job had opened */
        return 0;
    (void)pthread_mutex_lock(&lock);
    after_fork();
    for (struct bkt_ahead_job *job = head, *next; job; job = next) {
        next = job->next;
        if (!match(job, arg))
            continue;
        n++;
        if (job->running)
            continue;
        take_out(job);
        job->next = gone;
        gone      = job;
    }
    if (cancel && any_runs(match, arg, true)) { /* storage has locks of its own */
        (void)pthread_mutex_unlock(&lock);
        bkt_store_cancelled();
        (void)pthread_mutex_lock(&lock);
    }
    while (any_runs(match, arg, false)) {
        if (waited)
            *waited = true;
        (void)pthread_cond_wait(&wake, &lock);
    }
    (void)pthread_mutex_unlock(&lock);
    while (gone) {
        struct bkt_ahead_job *next = gone->next;
        job_free(gone);
        gone = next;
    }
    return n;
}

void bkt_ahead_shutdown(void)
{
    if (bkt_ahead_any())
        (void)bkt_ahead_settle(all, NULL, true, NULL);
    (void)pthread_mutex_lock(&lock);
    after_fork();
    size_t n  = n_threads;
    stopping  = n > 0;
    (void)pthread_cond_broadcast(&wake);
    (void)pthread_mutex_unlock(&lock);
    for (size_t i = 0; i < n; i++)
        (void)pthread_join(threads[i], NULL);
    (void)pthread_mutex_lock(&lock);
    n_threads = 0;
    stopping  = false;
    (void)pthread_mutex_unlock(&lock);
}
