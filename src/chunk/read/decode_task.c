/* The use of arrived bytes: they are decoded, copied to the caller, and kept in the caches. */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "chunk/dataset/dataset.h"
#include "chunk/read/fetch_task.h"
#include "chunk/read/segments.h"

/* ---- between a chunk's bytes and the caller's memory ---- */

static void copy_run(const struct bkt_target *t, const struct bkt_grid_run *run, const unsigned char *src,
                     size_t *hint)
{
    size_t   es  = t->io->elem_size;
    uint64_t seq = run->seq, left = t->dst ? run->len : 0;
    while (left) {
        uint64_t off, n = bkt_min_u64(bkt_mem_layout_at(&t->mem, seq, &off, hint), left);
        if (t->rd->recast)
            bkt_recast_apply(t->rd->recast, src, t->dst + (size_t)off * t->out_size, (size_t)n);
        else
            bkt_copy_run(t->dst + (size_t)off * es, src, (size_t)n * es);
        src += (size_t)n * es;
        seq += n, left -= n;
    }
}

/* Bytes: the result of a larger read has left the processor's cache before the program looks at it.  So its
 * cache lines needn't be fetched before they are overwritten. */
#define PAST_CACHE (64u << 20)

static void unshuffle(const unsigned char *in, size_t n, unsigned char *out, size_t count, size_t es,
                      bool past)
{
    if (!past || !bkt_unshuffle_past(in, n, out, count, es))
        bkt_unshuffle_part(in, n, out, count, es);
}

static void scatter_planes(struct bkt_target *t, uint64_t k, const unsigned char *src)
{
    struct bkt_grid_iter it;
    struct bkt_grid_run  run;
    size_t               hint = 0, es = t->io->elem_size, n = (size_t)t->io->chunk_elems;
    bool                 past = t->grid.n_elems >= PAST_CACHE / es;
    bkt_grid_iter(&it, &t->grid, k, 0, UINT64_MAX);
    while (t->dst && bkt_grid_next(&it, &run))
        while (run.len) {
            uint64_t off, m = bkt_min_u64(bkt_mem_layout_at(&t->mem, run.seq, &off, &hint), run.len);
            unshuffle(src + (size_t)run.off, n, t->dst + (size_t)off * es, (size_t)m, es, past);
            run.off += m, run.seq += m, run.len -= m;
        }
    if (past)
        bkt_unshuffle_fence();
}

void bkt_scatter_segment(const struct bkt_read_segment *s, const unsigned char *src)
{
    struct bkt_grid_iter it;
    struct bkt_grid_run  run;
    size_t               hint = 0;
    bkt_grid_iter(&it, &s->t->grid, s->k, s->run, s->n_runs);
    while (bkt_grid_next(&it, &run)) {
        if (s->take)
            run = (struct bkt_grid_run){run.off + s->skip, run.seq + s->skip, s->take};
        copy_run(s->t, &run, src + (s->chunk_off + run.off * s->t->io->elem_size - s->off), &hint);
    }
}

/* The bytes of a whole decoded chunk. */
static void scatter(struct bkt_target *t, uint64_t k, const unsigned char *src)
{
    struct bkt_read_segment all = {.t = t, .k = k, .n_runs = UINT64_MAX};
    bkt_scatter_segment(&all, src);
}

static void fill_slices(struct bkt_target *t, const struct bkt_grid_run *run)
{
    const struct bkt_cache_entry *f = t->io->fill;
    for (uint64_t i = 0; i < run->len; i++)
        t->slices[run->seq + i] = (struct bkt_slice){f->data, f->len};
}

/* Converted fill values. */
static void fill_recast(const struct bkt_target *t, const uint64_t *coord, uint64_t first, uint64_t n,
                        unsigned char *dst)
{
    unsigned char some[BKT_RECAST_ELEM]; /* no recast has longer elements */
    uint64_t      most = BKT_RECAST_ELEM / t->io->elem_size;
    for (uint64_t k; n; n -= k, first += k, dst += (size_t)k * t->out_size) {
        k = bkt_min_u64(n, most);
        bkt_fill_run(t->io, coord, first, k, some);
        bkt_recast_apply(t->rd->recast, some, dst, (size_t)k);
    }
}

static void scatter_fill_seg(const struct bkt_read_segment *s)
{
    struct bkt_target   *t = s->t;
    struct bkt_grid_iter it;
    struct bkt_grid_run  run;
    size_t               hint = 0;
    uint64_t             coord[BKT_MAX_RANK];
    bkt_grid_coord(&t->grid, s->k, coord);
    bkt_grid_iter(&it, &t->grid, s->k, s->run, s->n_runs);
    while (bkt_grid_next(&it, &run)) {
        if (s->take)
            run = (struct bkt_grid_run){run.off + s->skip, run.seq + s->skip, s->take};
        if (t->io->var) {
            fill_slices(t, &run);
            continue;
        }
        while (t->dst && run.len) {
            uint64_t off, n = bkt_min_u64(bkt_mem_layout_at(&t->mem, run.seq, &off, &hint), run.len);
            if (t->rd->recast)
                fill_recast(t, coord, run.off, n, t->dst + (size_t)off * t->out_size);
            else
                bkt_fill_run(t->io, coord, run.off, n, t->dst + (size_t)off * t->io->elem_size);
            run.off += n, run.seq += n, run.len -= n;
        }
    }
}

static void scatter_fill(struct bkt_target *t, uint64_t k)
{
    struct bkt_read_segment all = {.t = t, .k = k, .n_runs = UINT64_MAX};
    if (t->io->var)
        t->held[k] = bkt_cache_entry_retain(t->io->fill);
    scatter_fill_seg(&all);
}

void bkt_scatter_var(struct bkt_target *t, uint64_t k, struct bkt_cache_entry *e)
{
    struct bkt_grid_iter it;
    struct bkt_grid_run  run;
    t->held[k] = e;
    bkt_grid_iter(&it, &t->grid, k, 0, UINT64_MAX);
    while (bkt_grid_next(&it, &run))
        for (uint64_t i = 0; i < run.len; i++) {
            const size_t *s         = &e->starts[run.off + i];
            t->slices[run.seq + i] = (struct bkt_slice){e->data + s[0], s[1] - s[0]};
        }
}

static unsigned char *one_place(const struct bkt_target *t, const struct bkt_grid_run *run)
{
    size_t   hint = 0;
    uint64_t off;
    bool whole = t->dst && !t->rd->recast && bkt_mem_layout_at(&t->mem, run->seq, &off, &hint) >= run->len;
    return whole ? t->dst + (size_t)off * t->io->elem_size : NULL;
}

unsigned char *bkt_scatter_whole(const struct bkt_target *t, uint64_t k)
{
    struct bkt_grid_run run;
    return bkt_grid_is_whole(&t->grid, k, &run) ? one_place(t, &run) : NULL;
}

unsigned char *bkt_scatter_direct(const struct bkt_read_segment *segs, size_t n)
{
    unsigned char *first = NULL, *next = NULL;
    uint64_t       at = segs[0].off;
    for (size_t i = 0; i < n; i++) {
        const struct bkt_read_segment *s = &segs[i];
        struct bkt_grid_iter  it;
        struct bkt_grid_run   run;
        if (s->filtered || s->n_runs != 1 || s->off != at)
            return NULL;
        bkt_grid_iter(&it, &s->t->grid, s->k, s->run, 1);
        if (!bkt_grid_next(&it, &run))
            return NULL;
        if (s->take)
            run = (struct bkt_grid_run){run.off + s->skip, run.seq + s->skip, s->take};
        unsigned char *p = one_place(s->t, &run);
        if (!p || (i && p != next))
            return NULL;
        if (!i)
            first = p;
        next = p + s->len;
        at += s->len;
    }
    return first;
}

/* Bytes: to copy so few costs less than to wake a worker. */
#define INLINE_MAX (16u << 10)
/* Bytes: the calling thread copies so few itself, for the same reason. */
#define COPY_MIN   (64u << 10)

/* ---- chunks decoded, and what becomes of them ---- */

static void keep_chunk(const struct bkt_read_call *call, const struct bkt_target *t, uint64_t k,
                       struct bkt_cache_entry *e)
{
    if (call->lim.keep && t->io->cache)
        bkt_cache_put(t->io->cache, t->io->space, bkt_target_linear(t, k), e);
}

/* Caches bytes that went straight to the caller, for a second read. */
void bkt_decode_keep_copy(const struct bkt_read_call *call, struct bkt_cache *cache, uint64_t space,
                          uint64_t pos, const void *p, size_t n)
{
    struct bkt_cache_entry *e;
    if (!call->lim.keep || !cache || n > bkt_cache_limit(cache) || !(e = bkt_cache_entry_new(n)))
        return;
    memcpy(e->data, p, n);
    bkt_cache_put(cache, space, pos, e);
    bkt_cache_entry_release(e);
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

/* The stored bytes @p in of a chunk, @p n of them.  @p planes: set to true if the elements are still to be
 * unshuffled; NULL: they must be unshuffled. */
static int decode(const struct bkt_read_segment *s, const unsigned char *in, size_t n, unsigned char *dst,
                  bool *planes, struct bkt_err *err)
{
    const struct bkt_dsetio   *io = s->t->io;
    struct bkt_pipeline        own;
    const struct bkt_pipeline *pipe = pipe_of(s->t, &own);
    if (s->file->object)
        return bkt_chunk_object_decode(io, pipe, in, n, dst, err);
    return bkt_pipeline_decode_planes(pipe, s->mask, in, n, dst, io->chunk_bytes,
                                      io->elem_size == pipe->elem_size ? planes : NULL, err);
}

int bkt_decode_chunk(struct bkt_read_call *call, const struct bkt_read_segment *s, const unsigned char *in,
                     size_t n, struct bkt_err *err)
{
    struct bkt_target *t     = s->t;
    unsigned char     *whole = bkt_scatter_whole(t, s->k);
    if (whole) {
        BKT_PASS(decode(s, in, n, whole, NULL, err));
        bkt_decode_keep_copy(call, t->io->cache, t->io->space, bkt_target_linear(t, s->k), whole,
                      t->io->chunk_bytes);
        return BKT_OK;
    }
    bool               planes = false;
    struct bkt_cache_entry *e = call->lim.keep ? bkt_cache_entry_new(t->io->chunk_bytes)
                                               : bkt_cache_entry_scratch(t->io->chunk_bytes);
    BKT_NEED(err, e);
    int rc = decode(s, in, n, e->data, call->lim.keep || t->rd->recast ? NULL : &planes, err);
    if (rc == BKT_OK && planes) {
        scatter_planes(t, s->k, e->data);
    } else if (rc == BKT_OK) {
        scatter(t, s->k, e->data);
        keep_chunk(call, t, s->k, e);
    }
    bkt_cache_entry_release(e);
    return rc;
}

int bkt_decode_missing(struct bkt_target *t, uint64_t k, bool native, struct bkt_err *err)
{
    uint64_t coord[BKT_MAX_RANK];
    bkt_grid_coord(&t->grid, k, coord);
    atomic_fetch_add(&t->rd->missing, 1);
    BKT_PASS(bkt_fill_check(t->io, coord, native, err));
    scatter_fill(t, k);
    return BKT_OK;
}

/* A chunk object was requested that doesn't exist. */
static int fill_missing(struct bkt_fetch_task *k, struct bkt_err *err)
{
    for (size_t i = 0; i < k->range.n_segs; i++) {
        uint64_t           coord[BKT_MAX_RANK];
        struct bkt_read_segment *s = &k->range.segs[i];
        struct bkt_cache_entry *none = i ? NULL : bkt_cache_entry_new(0);
        if (none) {
            none->missing = true;
            keep_chunk(k->call, s->t, s->k, none);
            bkt_cache_entry_release(none);
        }
        bkt_grid_coord(&s->t->grid, s->k, coord);
        atomic_fetch_add(&s->t->rd->missing, 1);
        BKT_PASS(bkt_fill_check(s->t->io, coord, true, err));
        if (s == &k->whole)
            scatter_fill(s->t, s->k);
        else
            scatter_fill_seg(s);
    }
    return BKT_OK;
}

static void use_job(struct bkt_job *job)
{
    struct bkt_fetch_task *k = BKT_OWNER(struct bkt_fetch_task, job, job);
    struct bkt_err   err;
    bkt_err_clear(&err);
    int rc = atomic_load(k->call->cancel) ? BKT_OK
             : k->missing                 ? fill_missing(k, &err)
                                          : k->way->use(k, &err);
    if (rc < 0)
        bkt_fetch_task_fail(k, k->range.segs, rc, &err);
    bkt_fetch_task_leave(k);
}

void bkt_decode_use(struct bkt_fetch_task *k, uint64_t bytes)
{
    k->job.run = use_job;
    if (bytes <= INLINE_MAX)
        use_job(&k->job);
    else
        bkt_window_submit(&k->call->window, k->range.segs->t->io->pipe.by_caller, &k->job);
}

/* ---- way `body`: a chunk object that has to be decoded ---- */

static int use_body(struct bkt_fetch_task *k, struct bkt_err *err)
{
    struct bkt_target *t = k->whole.t;
    struct bkt_buf    *b = &k->reqs->body;
    struct bkt_cache_entry *e = NULL;
    if (!t->io->var)
        return bkt_decode_chunk(k->call, &k->whole, b->ptr, b->len, err);
    BKT_PASS(bkt_chunk_object_read(t->io, b, &e, err));
    keep_chunk(k->call, t, k->whole.k, e);
    bkt_scatter_var(t, k->whole.k, e);
    return BKT_OK;
}

const struct bkt_way bkt_way_body = {
    .owns_bytes = true, .encoded = true, .size = sizeof(struct bkt_fetch_task), .use = use_body};

/* ---- way `memory`: a range in memory of the task ---- */

struct memory_task {
    struct bkt_fetch_task task;
    struct piece { /* one filtered chunk's decoding */
        struct bkt_job   job;
        struct bkt_fetch_task *task;
        struct bkt_read_segment *seg;
    } pieces[];
};

static const unsigned char *bytes_of(const struct bkt_fetch_task *k, const struct bkt_read_segment *s)
{
    return k->bytes + (size_t)(s->off - k->range.off);
}

static void piece_job(struct bkt_job *job)
{
    struct piece    *p = BKT_OWNER(struct piece, job, job);
    struct bkt_fetch_task *k = p->task;
    struct bkt_err   err;
    bkt_err_clear(&err);
    int rc = atomic_load(k->call->cancel)
                 ? BKT_OK
                 : bkt_decode_chunk(k->call, p->seg, bytes_of(k, p->seg), (size_t)p->seg->len, &err);
    if (rc < 0)
        bkt_fetch_task_fail(k, p->seg, rc, &err);
    bkt_fetch_task_leave(k);
}

static void put_range(const struct bkt_fetch_task *k)
{
    const struct bkt_read_segment *s = k->range.segs;
    if (k->range.keep && s->t->io->cache)
        bkt_cache_put(s->t->io->cache, s->file->space, s->file->base + k->range.off, k->e);
}

static void arrived_memory(struct bkt_fetch_task *k, bool ok)
{
    const struct bkt_range *r    = &k->range;
    bool                    rest = r->n_filtered < r->n_segs;
    if (!ok) {
        bkt_fetch_task_end(k);
        return;
    }
    if (k->n_reqs == 1 && !k->missing) /* widened beyond the end of the file */
        k->e->len = (size_t)k->reqs->n;
    if (!rest) /* for the chunks around */
        put_range(k);
    atomic_store(&k->users, r->n_filtered + rest + 1);
    struct piece *p = ((struct memory_task *)k)->pieces;
    for (size_t i = 0; i < r->n_segs; i++)
        if (r->segs[i].filtered) {
            *p = (struct piece){.job = {.run = piece_job}, .task = k, .seg = &r->segs[i]};
            bkt_window_submit(&k->call->window, p->seg->t->io->pipe.by_caller, &p->job);
            p++;
        }
    if (rest)
        bkt_decode_use(k, r->len);
    bkt_fetch_task_leave(k);
}

/* Unfiltered bytes of files. */
static int use_memory(struct bkt_fetch_task *k, struct bkt_err *err)
{
    (void)err;
    for (size_t i = 0; i < k->range.n_segs; i++)
        if (!k->range.segs[i].filtered)
            bkt_scatter_segment(&k->range.segs[i], bytes_of(k, &k->range.segs[i]));
    put_range(k);
    return BKT_OK;
}

const struct bkt_way bkt_way_memory = {.owns_bytes = true,
                                       .in_entry = true,
                                       .size = sizeof(struct memory_task),
                                       .per_chunk = sizeof(struct piece),
                                       .arrived = arrived_memory,
                                       .use = use_memory};

/* ---- chunks that were found ---- */

struct copy {
    struct bkt_job        job;
    struct bkt_read_call *call;
    struct bkt_target    *t;
    uint64_t              k;
    struct bkt_cache_entry    *e;
};

static void copy_job(struct bkt_job *job)
{
    struct copy          *c   = (struct copy *)job;
    struct bkt_read_call *call = c->call;
    scatter(c->t, c->k, c->e->data);
    bkt_cache_entry_release(c->e);
    free(c);
    bkt_window_leave(&call->window, 0);
}

/* Large entries are copied by several workers. */
void bkt_decode_found(struct bkt_read_call *call, struct bkt_target *t, uint64_t k, struct bkt_cache_entry *e)
{
    struct copy *c = t->dst && e->len > COPY_MIN ? malloc(sizeof *c) : NULL;
    if (!c) {
        scatter(t, k, e->data);
        bkt_cache_entry_release(e);
        return;
    }
    *c = (struct copy){.job = {.run = copy_job}, .call = call, .t = t, .k = k, .e = e};
    bkt_window_add(&call->window, 0);
    bkt_pool_submit(&c->job);
}
