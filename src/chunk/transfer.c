/* bkt_read_run(): everything that one call needs is in flight together, within setting in_flight.
 *
 * The calling thread makes tasks (a range or a chunk object with the segments it serves) and starts them; the store
 * reports each from its own thread, which hands decoding to the pool; whoever finishes a task's last piece gives its
 * bytes back.  The calling thread starts more as room comes back, and decodes too while it waits. */
#include <stdlib.h>
#include <string.h>

#include "num.h"
#include "plan.h"
#include "pool.h"
#include "trace.h"

#define MIN_COST (64u << 10)  /* bytes that any task counts for: bounds their number */
#define VAR_COST (1u << 20)   /* a chunk of unknown length */
#define MERGE_MIN (1u << 20)  /* below this, more requests side by side are worth more than fewer (not yet measured) */
#define INLINE_MAX (16u << 10) /* copying so little is cheaper than waking a worker */

struct run {
    pthread_mutex_t lock; /* guards what follows up to `cancel` */
    pthread_cond_t  wake;
    int             rc;
    struct bkt_err  err;
    uint64_t        in_flight, limit;
    size_t          n_tasks;
    bool            wants_room;
    atomic_bool     cancel;
    bool            keep; /* put what is read into the caches */
    struct bkt_limits  lim;
    struct bkt_target *t;
    size_t             n;
};

struct task;
struct piece { /* one segment's decoding */
    struct bkt_job  job;
    struct task    *task;
    struct bkt_seg *seg;
};
struct task {
    struct bkt_job     job;
    struct run        *run;
    struct bkt_seg    *segs;
    size_t             n_segs;
    struct bkt_seg     native;  /* its only segment, when it is a chunk object */
    bool               is_native, plain, missing;
    struct bkt_store  *store;
    const char        *key, *etag;
    struct bkt_buf     key_buf;
    uint64_t           off, len, space;
    struct bkt_centry *e;       /* bytes fetched, or found in the cache from `delta` on */
    size_t             delta;
    unsigned char     *direct;  /* bytes go straight to the caller instead */
    struct bkt_req    *reqs;
    size_t             n_reqs;
    atomic_size_t      parts, users;
    struct piece      *pieces;
    uint64_t           cost;
};

/* ---- ends ---- */

static void fail(struct run *run, int rc, const struct bkt_err *err)
{
    (void)pthread_mutex_lock(&run->lock);
    if (run->rc == BKT_OK) { /* what is cancelled after it is no news */
        run->rc = rc;
        if (err)
            run->err = *err;
        atomic_store(&run->cancel, true);
    }
    (void)pthread_mutex_unlock(&run->lock);
}

static void task_free(struct task *k)
{
    for (size_t i = 0; i < k->n_reqs; i++)
        bkt_req_fini(&k->reqs[i]);
    free(k->reqs);
    free(k->pieces);
    bkt_centry_release(k->e);
    bkt_buf_fini(&k->key_buf);
    free(k);
}

static void task_end(struct task *k)
{
    struct run *run  = k->run;
    uint64_t    cost = k->cost;
    task_free(k);
    (void)pthread_mutex_lock(&run->lock);
    run->in_flight -= cost;
    run->n_tasks--;
    /* some room at once, so that the caller isn't woken for every chunk */
    if (!run->n_tasks || (run->wants_room && run->in_flight <= run->limit - run->limit / 8))
        (void)pthread_cond_signal(&run->wake);
    (void)pthread_mutex_unlock(&run->lock);
}

static void task_leave(struct task *k)
{
    if (atomic_fetch_sub(&k->users, 1) == 1)
        task_end(k);
}

static void task_fail(struct task *k, const struct bkt_seg *s, int rc, struct bkt_err *err)
{
    uint64_t coord[BKT_MAX_RANK];
    bkt_grid_coord(&s->t->grid, s->k, coord);
    if (k->is_native)
        (void)BKT_ERR(err, rc, "%s, object %s/%s", bkt_chunk_label(s->t->io, coord).text, bkt_store_uri(k->store), k->key);
    else
        (void)BKT_ERR(err, rc, "%s, bytes %llu+%llu of %s/%s", bkt_chunk_label(s->t->io, coord).text,
                      (unsigned long long)s->off, (unsigned long long)s->len, bkt_store_uri(k->store), k->key);
    fail(k->run, rc, err);
}

/* ---- chunks decoded, and what becomes of them ---- */

static uint64_t linear_of(const struct bkt_target *t, uint64_t k)
{
    uint64_t coord[BKT_MAX_RANK];
    bkt_grid_coord(&t->grid, k, coord);
    return bkt_grid_linear(&t->grid, coord);
}

static void keep_chunk(const struct run *run, const struct bkt_target *t, uint64_t k, struct bkt_centry *e)
{
    if (run->keep && t->io->cache)
        bkt_cache_put(t->io->cache, t->io->space, linear_of(t, k), e);
}

/* A second read shall find what went straight to the caller. */
static void keep_copy(const struct run *run, struct bkt_cache *cache, uint64_t space, uint64_t pos, const void *p, size_t n)
{
    struct bkt_centry *e;
    if (!run->keep || !cache || n > bkt_cache_limit(cache) || !(e = bkt_centry_new(n)))
        return;
    memcpy(e->data, p, n);
    bkt_cache_put(cache, space, pos, e);
    bkt_centry_release(e);
}

typedef int decode_fn(const struct task *k, const struct bkt_seg *s, unsigned char *dst, struct bkt_err *err);

static int decode_native(const struct task *k, const struct bkt_seg *s, unsigned char *dst, struct bkt_err *err)
{
    const struct bkt_buf *b = &k->reqs[0].body;
    return bkt_hsds_decode(&s->t->io->codec, b->ptr, b->len, dst, s->t->io->chunk_bytes, err);
}

static int decode_ref(const struct task *k, const struct bkt_seg *s, unsigned char *dst, struct bkt_err *err)
{
    return bkt_pipeline_decode(&s->t->io->pipe, s->mask, k->e->data + k->delta + (size_t)(s->off - k->off), (size_t)s->len, dst,
                               s->t->io->chunk_bytes, err);
}

static int decode(struct task *k, const struct bkt_seg *s, decode_fn *fn, struct bkt_err *err)
{
    struct bkt_target *t     = s->t;
    size_t             n     = t->io->chunk_bytes;
    unsigned char     *whole = bkt_scatter_whole(t, s->k);
    if (whole) {
        BKT_PASS(fn(k, s, whole, err));
        keep_copy(k->run, t->io->cache, t->io->space, linear_of(t, s->k), whole, n);
        return BKT_OK;
    }
    struct bkt_centry *e = bkt_centry_new(n);
    if (!e)
        BKT_NOMEM(err);
    int rc = fn(k, s, e->data, err);
    if (rc == BKT_OK) {
        bkt_scatter(t, s->k, e->data);
        keep_chunk(k->run, t, s->k, e);
    }
    bkt_centry_release(e);
    return rc;
}

static int decode_var(struct task *k, const struct bkt_seg *s, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf out = {0};
    struct bkt_centry                       *e   = NULL;
    struct bkt_buf                          *in  = &k->reqs[0].body;
    if (s->t->io->codec.compressed)
        BKT_PASS(bkt_hsds_decode_var(&s->t->io->codec, in->ptr, in->len, &out, err));
    else
        bkt_buf_move(&out, in);
    BKT_PASS(bkt_var_index(s->t->io, &out, &e, err));
    keep_chunk(k->run, s->t, s->k, e);
    bkt_scatter_var(s->t, s->k, e);
    return BKT_OK;
}

static int fill(struct bkt_target *t, uint64_t k, bool native, struct bkt_err *err)
{
    uint64_t coord[BKT_MAX_RANK];
    bkt_grid_coord(&t->grid, k, coord);
    BKT_PASS(bkt_fill_check(t->io, coord, native, err));
    bkt_scatter_fill(t, k);
    return BKT_OK;
}

static int work_native(struct task *k, struct bkt_err *err)
{
    const struct bkt_seg *s = &k->native;
    if (k->missing) {
        struct bkt_centry *none = bkt_centry_new(0);
        if (none) {
            none->missing = true;
            keep_chunk(k->run, s->t, s->k, none);
            bkt_centry_release(none);
        }
        return fill(s->t, s->k, true, err);
    }
    if (s->t->io->var)
        return decode_var(k, s, err);
    if (!k->plain)
        return decode(k, s, decode_native, err);
    if (k->direct) {
        keep_copy(k->run, s->t->io->cache, k->space, linear_of(s->t, s->k), k->direct, s->t->io->chunk_bytes);
    } else {
        bkt_scatter(s->t, s->k, k->e->data);
        keep_chunk(k->run, s->t, s->k, k->e);
    }
    return BKT_OK;
}

static void native_job(struct bkt_job *job)
{
    struct task   *k   = (struct task *)((char *)job - offsetof(struct task, job));
    struct bkt_err err = {0};
    int            rc  = atomic_load(&k->run->cancel) ? BKT_OK : work_native(k, &err);
    if (rc < 0)
        task_fail(k, &k->native, rc, &err);
    task_leave(k);
}

static void piece_job(struct bkt_job *job)
{
    struct piece  *p   = (struct piece *)((char *)job - offsetof(struct piece, job));
    struct task   *k   = p->task;
    struct bkt_err err = {0};
    int            rc  = atomic_load(&k->run->cancel) ? BKT_OK : decode(k, p->seg, decode_ref, &err);
    if (rc < 0)
        task_fail(k, p->seg, rc, &err);
    task_leave(k);
}

/* Unfiltered bytes of files. */
static void raw_job(struct bkt_job *job)
{
    struct task      *k     = (struct task *)((char *)job - offsetof(struct task, job));
    struct bkt_cache *cache = k->segs[0].t->io->cache;
    bool              found = !k->n_reqs;
    if (!atomic_load(&k->run->cancel)) {
        if (k->direct)
            keep_copy(k->run, cache, k->space, k->off, k->direct, (size_t)k->len);
        else
            for (size_t i = 0; i < k->n_segs; i++)
                if (!k->segs[i].filtered)
                    bkt_scatter_seg(&k->segs[i], k->e->data + k->delta + (size_t)(k->segs[i].off - k->off));
        if (!k->direct && !found && k->run->keep && cache)
            bkt_cache_put(cache, k->space, k->off, k->e);
    }
    task_leave(k);
}

/* ---- arrivals: on the store's thread, so nothing here takes long ---- */

static int check_native(struct task *k, struct bkt_err *err)
{
    const struct bkt_req *q    = &k->reqs[0];
    uint64_t              want = k->native.t->io->chunk_bytes;
    if (q->rc == BKT_ENOENT) {
        k->missing = true;
        return BKT_OK;
    }
    if (q->rc == BKT_ERANGE)
        BKT_FAIL(err, BKT_EFORMAT, "chunk object is empty instead of %llu bytes", (unsigned long long)want);
    if (q->rc < 0)
        return bkt_err_copy(err, q->rc, q->err);
    /* a checksum of 4 bytes may stand behind it (facts: what HSDS accepts) */
    if (k->plain && (q->n != want || (q->size != UINT64_MAX && q->size != want && q->size != want + 4)))
        BKT_FAIL(err, BKT_EFORMAT, "chunk object has %llu bytes instead of %llu",
                 (unsigned long long)(q->n < want || q->size == UINT64_MAX ? q->n : q->size), (unsigned long long)want);
    return BKT_OK;
}

static int check_ref(const struct task *k, struct bkt_err *err)
{
    for (size_t i = 0; i < k->n_reqs; i++) {
        const struct bkt_req *q = &k->reqs[i];
        if (q->rc == BKT_ERANGE || (q->rc == BKT_OK && q->n != q->len)) {
            if (q->size == UINT64_MAX)
                BKT_FAIL(err, BKT_EFORMAT, "the file ends before byte %llu that the reference needs",
                         (unsigned long long)(q->off + q->len));
            BKT_FAIL(err, BKT_EFORMAT, "the file has %llu bytes, the reference needs %llu..%llu", (unsigned long long)q->size,
                     (unsigned long long)q->off, (unsigned long long)(q->off + q->len - 1));
        }
        if (q->rc == BKT_ENOENT) {
            (void)bkt_err_copy(err, q->rc, q->err);
            BKT_FAIL(err, q->rc, "the file that the dataset refers to is not there");
        }
        if (q->rc < 0)
            return bkt_err_copy(err, q->rc, q->err);
    }
    return BKT_OK;
}

static void submit(struct task *k, void (*job)(struct bkt_job *), uint64_t bytes)
{
    k->job.run = job;
    if (bytes <= INLINE_MAX)
        job(&k->job);
    else
        bkt_pool_submit(&k->job);
}

/* The bytes are there. */
static void task_ready(struct task *k)
{
    if (k->is_native) {
        bool idle = k->plain && k->direct && !k->missing && !k->run->keep;
        atomic_store(&k->users, 1);
        if (idle)
            task_leave(k);
        else
            submit(k, native_job, k->plain || k->missing ? k->native.t->io->chunk_bytes : UINT64_MAX);
        return;
    }
    size_t n = k->n_segs, n_filtered = 0, at = 0;
    for (size_t i = 0; i < n; i++)
        n_filtered += k->segs[i].filtered;
    bool raw = n_filtered < n && !(k->direct && !k->run->keep);
    atomic_store(&k->users, n_filtered + raw + 1);
    for (size_t i = 0; i < n; i++) {
        if (!k->segs[i].filtered)
            continue;
        struct piece *p = &k->pieces[at++];
        p->job.run      = piece_job;
        p->task         = k;
        p->seg          = &k->segs[i];
        bkt_pool_submit(&p->job);
    }
    if (raw)
        submit(k, raw_job, k->len);
    task_leave(k);
}

static void task_arrived(struct task *k)
{
    struct bkt_err err = {0};
    int            rc  = k->is_native ? check_native(k, &err) : check_ref(k, &err);
    if (rc < 0)
        task_fail(k, k->segs, rc, &err);
    if (rc < 0 || atomic_load(&k->run->cancel))
        task_end(k);
    else
        task_ready(k);
}

static void part_done(struct bkt_req *q)
{
    struct task *k = q->arg;
    if (atomic_fetch_sub(&k->parts, 1) == 1)
        task_arrived(k);
}

/* ---- tasks ---- */

static struct bkt_req *add_req(struct task *k, uint64_t off, uint64_t len, void *dst)
{
    struct bkt_req *q = &k->reqs[k->n_reqs++];
    q->op             = BKT_GET;
    q->key            = k->key;
    q->off            = off;
    q->len            = len;
    q->dst            = dst;
    q->may_be_short   = dst != NULL; /* our own message says more */
    q->if_match       = k->etag;
    q->cancel         = &k->run->cancel;
    q->done           = part_done;
    q->arg            = k;
    return q;
}

static void task_start(struct task *k)
{
    struct bkt_store *store = k->store;
    struct bkt_req   *reqs  = k->reqs;
    size_t            n     = k->n_reqs; /* the task is gone once its last part is done */
    if (!n) {
        task_ready(k);
        return;
    }
    atomic_store(&k->parts, n);
    for (size_t i = 0; i < n; i++)
        bkt_store_start(store, &reqs[i]);
}

static struct task *task_new(struct run *run, size_t n_reqs)
{
    struct task *k = calloc(1, sizeof *k);
    if (!k || (n_reqs && !(k->reqs = calloc(n_reqs, sizeof *k->reqs)))) {
        free(k);
        return NULL;
    }
    k->run = run;
    return k;
}

/* A chunk object whose bytes are the elements. */
static bool is_plain(const struct bkt_dsetio *io)
{
    const struct bkt_hsds_codec *c = &io->codec;
    return !io->var && !c->compressed && c->shuffle != 2 && (c->shuffle != 1 || c->shuffle_only_is_raw);
}

static int native_task(struct run *run, struct bkt_target *t, uint64_t n, struct task **out, struct bkt_err *err)
{
    uint64_t     coord[BKT_MAX_RANK];
    struct task *k = task_new(run, 1);
    if (!k)
        BKT_NOMEM(err);
    bkt_grid_coord(&t->grid, n, coord);
    k->is_native = true;
    k->plain     = is_plain(t->io);
    k->native    = (struct bkt_seg){.t = t, .k = n};
    k->segs      = &k->native;
    k->n_segs    = 1;
    k->store     = bkt_domain_store(t->io->dom);
    k->space     = t->io->space;
    int rc       = bkt_chunk_key(&t->io->obj->id, &t->io->ds->layout, coord, &k->key_buf);
    if (rc == BKT_OK && k->plain && !(k->direct = bkt_scatter_whole(t, n)) && !(k->e = bkt_centry_new(t->io->chunk_bytes)))
        rc = BKT_ENOMEM;
    if (rc < 0) {
        task_free(k);
        BKT_FAIL(err, rc, "%s", bkt_chunk_label(t->io, coord).text);
    }
    k->key  = bkt_buf_str(&k->key_buf);
    k->cost = t->io->var ? VAR_COST : (uint64_t)t->io->chunk_bytes * (k->plain ? 1 : 2);
    if (k->plain)
        (void)add_req(k, 0, t->io->chunk_bytes, k->direct ? k->direct : k->e->data);
    else
        (void)add_req(k, 0, BKT_WHOLE, NULL);
    *out = k;
    return BKT_OK;
}

static int range_task(struct run *run, struct bkt_segs *segs, size_t at, size_t n, uint64_t len, struct task **out,
                      struct bkt_err *err)
{
    struct bkt_seg *s          = &segs->v[at];
    size_t          n_filtered = 0, n_parts = (size_t)bkt_ceil_div(len, run->lim.part);
    struct task    *k = task_new(run, n_parts);
    if (!k)
        BKT_NOMEM(err);
    k->segs = s, k->n_segs = n;
    k->store = s->file->store, k->key = s->file->key, k->etag = s->file->etag, k->space = s->file->space;
    k->off = s->off, k->len = k->cost = len;
    for (size_t i = 0; i < n; i++)
        if (s[i].filtered) {
            n_filtered++;
            k->cost += s[i].t->io->chunk_bytes;
        }
    if (n_filtered < n && s->t->io->cache)
        k->e = bkt_cache_cover(s->t->io->cache, k->space, k->off, (size_t)len, &k->delta);
    bool found = k->e != NULL;
    if (!found)
        k->direct = bkt_segs_direct(s, n);
    if (!found && !k->direct)
        k->e = bkt_centry_new((size_t)len);
    k->pieces = n_filtered ? calloc(n_filtered, sizeof *k->pieces) : NULL;
    if ((!k->e && !k->direct) || (n_filtered && !k->pieces)) {
        task_free(k);
        BKT_FAIL(err, BKT_ENOMEM, "out of memory for %llu bytes of %s", (unsigned long long)len, s->file->key);
    }
    unsigned char *dst = k->direct ? k->direct : k->e->data;
    for (uint64_t o = 0; !found && o < len; o += run->lim.part)
        (void)add_req(k, k->off + o, bkt_min_u64(run->lim.part, len - o), dst + o);
    *out = k;
    return BKT_OK;
}

/* ---- the calling thread ---- */

static void wait_for(struct run *run, uint64_t cost)
{
    (void)pthread_mutex_lock(&run->lock);
    while (run->n_tasks && (!cost || run->in_flight > run->limit - bkt_min_u64(cost, run->limit))) {
        (void)pthread_mutex_unlock(&run->lock);
        int helped = bkt_pool_help();
        (void)pthread_mutex_lock(&run->lock);
        if (helped)
            continue;
        if (!run->n_tasks || (cost && run->in_flight <= run->limit - bkt_min_u64(cost, run->limit)))
            break;
        run->wants_room = cost != 0;
        (void)pthread_cond_wait(&run->wake, &run->lock);
        run->wants_room = false;
    }
    run->in_flight += cost;
    run->n_tasks += cost != 0;
    (void)pthread_mutex_unlock(&run->lock);
}

static void launch(struct task *k)
{
    if (k->direct && !k->run->keep) /* takes no memory of ours */
        k->cost = 0;
    k->cost = bkt_max_u64(k->cost, MIN_COST);
    wait_for(k->run, k->cost);
    task_start(k);
}

/* A chunk that is known from before, or known to be missing. */
static int take_cached(struct bkt_target *t, uint64_t k, struct bkt_centry *e, bool native, struct bkt_err *err)
{
    int rc = BKT_OK;
    if (e->missing)
        rc = fill(t, k, native, err);
    else if (t->io->var)
        bkt_scatter_var(t, k, bkt_centry_retain(e));
    else
        bkt_scatter(t, k, e->data);
    bkt_centry_release(e);
    return rc;
}

static struct bkt_centry *cached(const struct bkt_target *t, uint64_t k)
{
    return t->io->cache ? bkt_cache_get(t->io->cache, t->io->space, linear_of(t, k)) : NULL;
}

static int read_native(struct run *run, struct bkt_target *t, struct bkt_err *err)
{
    for (uint64_t k = 0; k < t->grid.n_chunks && !atomic_load(&run->cancel); k++) {
        struct task       *task = NULL;
        struct bkt_centry *e    = cached(t, k);
        if (e) {
            BKT_PASS(take_cached(t, k, e, true, err));
            continue;
        }
        BKT_PASS(native_task(run, t, k, &task, err));
        launch(task);
    }
    return BKT_OK;
}

/* Reference chunks of one target that the cache doesn't hold. */
struct wanted {
    struct bkt_target *t;
    uint64_t          *k;      /* touched chunks, q.n of them */
    uint64_t          *coords;
    struct bkt_loc    *locs;
};

static void wanted_fini(struct wanted *w)
{
    free(w->k);
    free(w->coords);
    free(w->locs);
}

static int want(struct bkt_target *t, struct wanted *w, struct bkt_locate *q, struct bkt_err *err)
{
    uint64_t n    = t->grid.n_chunks;
    unsigned rank = t->io->rank;
    *w            = (struct wanted){.t = t};
    *q            = (struct bkt_locate){.io = t->io};
    if (n > SIZE_MAX / (rank * sizeof *w->coords))
        BKT_NOMEM(err);
    w->k      = calloc((size_t)n, sizeof *w->k);
    w->coords = malloc((size_t)n * rank * sizeof *w->coords);
    if (!w->k || !w->coords)
        BKT_NOMEM(err);
    for (uint64_t k = 0; k < n; k++) {
        struct bkt_centry *e = t->io->filtered ? cached(t, k) : NULL;
        if (e) {
            BKT_PASS(take_cached(t, k, e, false, err));
            continue;
        }
        bkt_grid_coord(&t->grid, k, w->coords + q->n * rank);
        w->k[q->n++] = k;
    }
    w->locs = calloc(q->n + 1, sizeof *w->locs);
    if (!w->locs)
        BKT_NOMEM(err);
    q->coords = w->coords;
    q->out    = w->locs;
    return BKT_OK;
}

/* Merging stops where fewer, longer requests would leave connections without work. */
static void set_limits(struct run *run, uint64_t bytes)
{
    const struct bkt_settings *set = run->t[0].io->set;
    run->lim.part                  = set->part_size;
    run->lim.gap                   = set->merge_gap;
    run->lim.merge                 = bkt_max_u64(bytes / bkt_max_u64(set->connections / 2, 1), MERGE_MIN);
    run->lim.merge                 = bkt_min_u64(run->lim.merge, run->lim.part);
}

static uint64_t stored_bytes(const struct wanted *w, const struct bkt_locate *q, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t one = 0;
        for (size_t j = 0; w[i].t->io->filtered && j < q[i].n; j++)
            one += bkt_min_u64(w[i].locs[j].size, UINT32_MAX);
        if (!w[i].t->io->filtered && !bkt_mul_u64(w[i].t->grid.n_elems, w[i].t->io->elem_size, &one))
            one = UINT32_MAX;
        sum += one;
    }
    return sum;
}

static int read_located(struct run *run, struct wanted *w, struct bkt_locate *q, size_t n, struct bkt_segs *segs,
                        struct bkt_err *err)
{
    BKT_PASS(bkt_locate(q, n, err));
    set_limits(run, stored_bytes(w, q, n));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < q[i].n; j++)
            if (w[i].locs[j].file)
                BKT_PASS(bkt_segs_add(segs, w[i].t, w[i].k[j], &w[i].locs[j], &run->lim, err));
    bkt_segs_sort(segs);
    uint64_t len;
    size_t   n_segs;
    for (size_t at = 0; at < segs->n && !atomic_load(&run->cancel); at += n_segs) {
        struct task *task = NULL;
        n_segs            = bkt_segs_span(segs, at, &run->lim, &len);
        BKT_PASS(range_task(run, segs, at, n_segs, len, &task, err));
        launch(task);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < q[i].n && !atomic_load(&run->cancel); j++)
            if (!w[i].locs[j].file)
                BKT_PASS(fill(w[i].t, w[i].k[j], false, err));
    return BKT_OK;
}

static bool by_reference(const struct bkt_target *t) { return t->io->where != BKT_AT_OBJECTS && t->grid.n_chunks; }

static int read_refs(struct run *run, struct bkt_segs *segs, struct bkt_err *err)
{
    size_t             n = 0, n_refs = 0;
    for (size_t i = 0; i < run->n; i++)
        n_refs += by_reference(&run->t[i]);
    if (!n_refs)
        return BKT_OK;
    struct wanted     *w  = calloc(n_refs, sizeof *w);
    struct bkt_locate *q  = calloc(n_refs, sizeof *q);
    int                rc = w && q ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory");
    for (size_t i = 0; rc == BKT_OK && i < run->n; i++)
        if (by_reference(&run->t[i])) {
            rc = want(&run->t[i], &w[n], &q[n], err);
            n++;
        }
    if (rc == BKT_OK)
        rc = read_located(run, w, q, n, segs, err);
    for (size_t i = 0; i < n; i++)
        wanted_fini(&w[i]);
    free(w);
    free(q);
    return rc;
}

/* What the read would put into the cache: if that is more than fits, nothing is, so that nothing useful is lost. */
static bool fits_cache(const struct run *run)
{
    uint64_t sum = 0, one;
    for (size_t i = 0; i < run->n; i++) {
        const struct bkt_target *t   = &run->t[i];
        bool                     raw = by_reference(t) && !t->io->filtered;
        if (!t->grid.n_chunks || t->io->var)
            continue;
        if (!bkt_mul_u64(raw ? t->grid.n_elems : t->grid.n_chunks, raw ? t->io->elem_size : t->io->chunk_bytes, &one) ||
            !bkt_add_u64(sum, one, &sum) || sum > t->io->set->chunk_cache)
            return false;
    }
    return true;
}

static int read_all(struct run *run, struct bkt_err *err)
{
    struct bkt_segs segs = {0};
    int             rc   = BKT_OK;
    run->keep            = fits_cache(run);
    run->limit           = bkt_max_u64(run->t[0].io->set->in_flight, MIN_COST);
    for (size_t i = 0; rc == BKT_OK && i < run->n; i++)
        if (run->t[i].io->where == BKT_AT_OBJECTS)
            rc = read_native(run, &run->t[i], err);
    if (rc == BKT_OK)
        rc = read_refs(run, &segs, err);
    if (rc < 0)
        fail(run, rc, err);
    wait_for(run, 0);
    free(segs.v);
    if (run->rc < 0 && rc >= 0)
        rc = bkt_err_copy(err, run->rc, &run->err);
    return rc;
}

/* The result of variable-size reads, until bkt_read_fini(). */
static void hand_over(struct bkt_target *t)
{
    if (!t->slices)
        return;
    struct bkt_target *impl = malloc(sizeof *impl);
    if (!impl)
        return;
    *impl          = *t;
    t->rd->slices  = t->slices;
    t->rd->impl    = impl;
    memset(t, 0, sizeof *t);
}

int bkt_read_run(struct bkt_read *reads, size_t n, struct bkt_err *err)
{
    struct run run = {.n = n};
    int        rc  = BKT_OK;
    size_t     n_t = 0;
    if (!n)
        return BKT_OK;
    run.t = calloc(n, sizeof *run.t);
    if (!run.t)
        BKT_NOMEM(err);
    (void)pthread_mutex_init(&run.lock, NULL);
    (void)pthread_cond_init(&run.wake, NULL);
    while (rc == BKT_OK && n_t < n) {
        rc = bkt_target_init(&run.t[n_t], &reads[n_t], err);
        n_t++;
    }
    if (rc == BKT_OK)
        rc = read_all(&run, err);
    for (size_t i = 0; i < n_t; i++) {
        bkt_trace(BKT_TRACE_CHUNK, "dataset %s: %llu elements of %llu chunks: %s", reads[i].io->obj->id.text,
                  (unsigned long long)run.t[i].grid.n_elems, (unsigned long long)run.t[i].grid.n_chunks,
                  rc < 0 ? bkt_err_text(rc) : "read");
        if (rc == BKT_OK) {
            bool var = run.t[i].slices != NULL;
            hand_over(&run.t[i]);
            if (var && !reads[i].impl)
                rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
        }
        bkt_target_fini(&run.t[i]);
    }
    free(run.t);
    (void)pthread_cond_destroy(&run.wake);
    (void)pthread_mutex_destroy(&run.lock);
    return rc;
}

void bkt_read_fini(struct bkt_read *r)
{
    if (!r || !r->impl)
        return;
    bkt_target_fini(r->impl);
    free(r->impl);
    r->impl   = NULL;
    r->slices = NULL;
}
