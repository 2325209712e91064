/* The use of arrived bytes: they are decoded, copied to the caller, and kept in the caches. */
#include <stdlib.h>
#include <string.h>

#include "base/os/scratch_pool.h"
#include "chunk/dataset/chunk_object.h"
#include "chunk/read/fetch_task.h"

/* Bytes: to copy so few costs less than to wake a worker. */
#define INLINE_MAX (16u << 10)
/* Bytes: the calling thread copies so few itself, for the same reason. */
#define COPY_MIN   (64u << 10)

/* ---- chunks decoded, and what becomes of them ---- */

static void keep_chunk(const struct bkt_run_state *run, const struct bkt_target *t, uint64_t k, struct bkt_centry *e)
{
    if (run->keep && t->io->cache)
        bkt_cache_put(t->io->cache, t->io->space, bkt_target_linear(t, k), e);
}

/* Caches bytes that went straight to the caller, for a second read. */
static void keep_copy(const struct bkt_run_state *run, struct bkt_cache *cache, uint64_t space, uint64_t pos, const void *p, size_t n)
{
    struct bkt_centry *e;
    if (!run->keep || !cache || n > bkt_cache_limit(cache) || !(e = bkt_centry_new(n)))
        return;
    memcpy(e->data, p, n);
    bkt_cache_put(cache, space, pos, e);
    bkt_centry_release(e);
}

/* @param own  room for a copy, if checksums are not to be read */
static const struct bkt_pipeline *pipe_of(const struct bkt_target *t, struct bkt_pipeline *own)
{
    if (!t->rd->unchecked)
        return &t->io->pipe;
    *own           = t->io->pipe;
    own->unchecked = true;
    return own;
}

/* @p planes: set to true if the elements are still to be unshuffled; NULL: they must be unshuffled. */
typedef int decode_fn(const struct bkt_seg *s, const unsigned char *in, size_t n, unsigned char *dst, bool *planes, struct bkt_err *err);

static int decode_native(const struct bkt_seg *s, const unsigned char *in, size_t n, unsigned char *dst, bool *planes, struct bkt_err *err)
{
    struct bkt_pipeline own;
    (void)planes;
    return bkt_stored_decode(s->t->io, pipe_of(s->t, &own), in, n, dst, err);
}

static int decode_ref(const struct bkt_seg *s, const unsigned char *in, size_t n, unsigned char *dst, bool *planes, struct bkt_err *err)
{
    const struct bkt_dsetio   *io = s->t->io;
    struct bkt_pipeline        own;
    const struct bkt_pipeline *pipe = pipe_of(s->t, &own);
    if (planes && io->elem_size == pipe->elem_size)
        return bkt_pipeline_decode_planes(pipe, s->mask, in, n, dst, io->chunk_bytes, planes, err);
    return bkt_pipeline_decode(pipe, s->mask, in, n, dst, io->chunk_bytes, err);
}

/* The stored bytes @p in, n_in of them. */
static int decode(struct bkt_task *k, const struct bkt_seg *s, const unsigned char *in, size_t n_in, decode_fn *fn, struct bkt_err *err)
{
    struct bkt_target *t     = s->t;
    size_t             n     = t->io->chunk_bytes;
    unsigned char     *whole = bkt_scatter_whole(t, s->k);
    if (whole) {
        BKT_PASS(fn(s, in, n_in, whole, NULL, err));
        keep_copy(k->run, t->io->cache, t->io->space, bkt_target_linear(t, s->k), whole, n);
        return BKT_OK;
    }
    bool               planes = false;
    struct bkt_centry *e      = k->run->keep ? bkt_centry_new(n) : bkt_centry_scratch(n);
    if (!e)
        BKT_NOMEM(err);
    int rc = fn(s, in, n_in, e->data, k->run->keep || t->rd->recast ? NULL : &planes, err);
    if (rc == BKT_OK && planes) {
        bkt_scatter_planes(t, s->k, e->data);
    } else if (rc == BKT_OK) {
        bkt_scatter(t, s->k, e->data);
        keep_chunk(k->run, t, s->k, e);
    }
    bkt_centry_release(e);
    return rc;
}

static int decode_var(struct bkt_task *k, const struct bkt_seg *s, struct bkt_err *err)
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

int bkt_task_fill(struct bkt_target *t, uint64_t k, bool native, struct bkt_err *err)
{
    uint64_t coord[BKT_MAX_RANK];
    bkt_grid_coord(&t->grid, k, coord);
    BKT_PASS(bkt_fill_check(t->io, coord, native, err));
    bkt_scatter_fill(t, k);
    return BKT_OK;
}

static int work_native(struct bkt_task *k, struct bkt_err *err)
{
    const struct bkt_seg *s = &k->native;
    if (k->missing) {
        struct bkt_centry *none = bkt_centry_new(0);
        if (none) {
            none->missing = true;
            keep_chunk(k->run, s->t, s->k, none);
            bkt_centry_release(none);
        }
        return bkt_task_fill(s->t, s->k, true, err);
    }
    if (s->t->io->var)
        return decode_var(k, s, err);
    if (!k->plain)
        return decode(k, s, k->reqs[0].body.ptr, k->reqs[0].body.len, decode_native, err);
    if (k->pours)
        return BKT_OK;
    if (k->direct) {
        keep_copy(k->run, s->t->io->cache, k->space, bkt_target_linear(s->t, s->k), k->direct, s->t->io->chunk_bytes);
    } else {
        bkt_scatter(s->t, s->k, k->e->data);
        keep_chunk(k->run, s->t, s->k, k->e);
    }
    return BKT_OK;
}

static void native_job(struct bkt_job *job)
{
    struct bkt_task   *k   = (struct bkt_task *)((char *)job - offsetof(struct bkt_task, job));
    struct bkt_err err;
    bkt_err_clear(&err);
    int rc = atomic_load(k->run->cancel) ? BKT_OK : work_native(k, &err);
    if (rc < 0)
        bkt_task_fail(k, &k->native, rc, &err);
    bkt_task_leave(k);
}

static void piece_job(struct bkt_job *job)
{
    struct bkt_task_piece  *p   = (struct bkt_task_piece *)((char *)job - offsetof(struct bkt_task_piece, job));
    struct bkt_task   *k   = p->task;
    const unsigned char *in = p->in ? p->in : k->e->data + k->delta + (size_t)(p->seg->off - k->off);
    struct bkt_err       err;
    bkt_err_clear(&err);
    int rc = atomic_load(k->run->cancel) ? BKT_OK : decode(k, p->seg, in, (size_t)p->seg->len, decode_ref, &err);
    if (rc < 0 && (!k->streamed || p->last))
        bkt_task_fail(k, p->seg, rc, &err);
    if (!k->streamed) {
        bkt_task_leave(k);
        return;
    }
    if (rc == BKT_OK || p->last) {
        bkt_scratch_give(p->in);
        p->in = NULL;
    }
    bkt_stream_leave(p);
}

void bkt_work_piece(struct bkt_task_piece *p)
{
    p->job.run = piece_job;
    bkt_window_submit(&p->task->run->window, p->seg->t->io->pipe.by_caller, &p->job);
}

static void put_range(const struct bkt_task *k, struct bkt_cache *cache)
{
    if (k->keep && cache)
        bkt_cache_put(cache, k->space, k->base + k->off, k->e);
}

/* A part of a chunk object was requested that doesn't exist. */
static int fill_slices(struct bkt_task *k, struct bkt_err *err)
{
    for (size_t i = 0; i < k->n_segs; i++) {
        uint64_t          coord[BKT_MAX_RANK];
        struct bkt_seg   *s    = &k->segs[i];
        struct bkt_centry *none = i ? NULL : bkt_centry_new(0);
        bkt_grid_coord(&s->t->grid, s->k, coord);
        BKT_PASS(bkt_fill_check(s->t->io, coord, true, err));
        bkt_scatter_fill_seg(s);
        if (!none)
            continue;
        none->missing = true;
        keep_chunk(k->run, s->t, s->k, none);
        bkt_centry_release(none);
    }
    return BKT_OK;
}

static int work_raw(struct bkt_task *k, struct bkt_err *err)
{
    struct bkt_cache *cache = k->segs[0].t->io->cache;
    bool              found = !k->n_reqs;
    if (k->missing)
        return fill_slices(k, err);
    if (k->pours)
        return BKT_OK;
    if (k->direct) {
        keep_copy(k->run, cache, k->space, k->base + k->off, k->direct, (size_t)k->len);
        return BKT_OK;
    }
    for (size_t i = 0; i < k->n_segs; i++)
        if (!k->segs[i].filtered)
            bkt_scatter_seg(&k->segs[i], k->e->data + k->delta + (size_t)(k->segs[i].off - k->off));
    if (!found)
        put_range(k, cache);
    return BKT_OK;
}

/* Unfiltered bytes of files. */
static void raw_job(struct bkt_job *job)
{
    struct bkt_task *k   = (struct bkt_task *)((char *)job - offsetof(struct bkt_task, job));
    struct bkt_err   err;
    bkt_err_clear(&err);
    int rc = atomic_load(k->run->cancel) ? BKT_OK : work_raw(k, &err);
    if (rc < 0)
        bkt_task_fail(k, k->segs, rc, &err);
    bkt_task_leave(k);
}

/* ---- chunks that were found ---- */

struct copy {
    struct bkt_job        job;
    struct bkt_run_state *run;
    struct bkt_target    *t;
    uint64_t              k;
    struct bkt_centry    *e;
};

static void copy_job(struct bkt_job *job)
{
    struct copy          *c   = (struct copy *)job;
    struct bkt_run_state *run = c->run;
    bkt_scatter(c->t, c->k, c->e->data);
    bkt_centry_release(c->e);
    free(c);
    bkt_window_leave(&run->window, 0);
}

/* Large entries are copied by several workers. */
void bkt_work_copy(struct bkt_run_state *run, struct bkt_target *t, uint64_t k, struct bkt_centry *e)
{
    struct copy *c = t->dst && e->len > COPY_MIN ? malloc(sizeof *c) : NULL;
    if (!c) {
        bkt_scatter(t, k, e->data);
        bkt_centry_release(e);
        return;
    }
    *c = (struct copy){.job = {.run = copy_job}, .run = run, .t = t, .k = k, .e = e};
    bkt_window_add(&run->window, 0);
    bkt_pool_submit(&c->job);
}

/* ---- from the store's thread ---- */

static void submit(struct bkt_task *k, const struct bkt_dsetio *io, void (*job)(struct bkt_job *), uint64_t bytes)
{
    k->job.run = job;
    if (bytes <= INLINE_MAX)
        job(&k->job);
    else
        bkt_window_submit(&k->run->window, io->pipe.by_caller, &k->job);
}

/* The bytes are there. */
void bkt_task_ready(struct bkt_task *k)
{
    if (k->is_native) {
        const struct bkt_dsetio *io   = k->native.t->io;
        bool                     idle = k->plain && (k->direct || k->pours) && !k->missing && !k->keep;
        atomic_store(&k->users, 1);
        if (idle)
            bkt_task_leave(k);
        else
            submit(k, io, native_job, k->plain || k->missing ? io->chunk_bytes : UINT64_MAX);
        return;
    }
    size_t n = k->n_segs, n_filtered = 0, at = 0;
    for (size_t i = 0; i < n; i++)
        n_filtered += k->segs[i].filtered;
    bool raw = n_filtered < n && (k->missing || !((k->direct || k->pours) && !k->keep));
    if (n_filtered == n && k->n_reqs && k->len > k->need_end - k->segs[0].off) /* widened: cache the bytes for the chunks around */
        put_range(k, k->segs[0].t->io->cache);
    atomic_store(&k->users, n_filtered + raw + 1);
    for (size_t i = 0; i < n; i++) {
        if (!k->segs[i].filtered)
            continue;
        struct bkt_task_piece *p = &k->pieces[at++];
        p->task         = k;
        p->seg          = &k->segs[i];
        bkt_work_piece(p);
    }
    if (raw)
        submit(k, k->segs[0].t->io, raw_job, k->len);
    bkt_task_leave(k);
}
