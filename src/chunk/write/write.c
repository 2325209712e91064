/* bkt_write_datasets(): puts a program's elements into the dirty cache. */
#include "chunk/write/write.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/trace.h"
#include "chunk/write/plan.h"
#include "chunk/write/write_cache.h"
#include "schema/json/documents.h"

/* ---- checks of a request ---- */

int bkt_write_check(const struct bkt_dsetio *io, struct bkt_err *err)
{
    const struct bkt_layout *l = &io->ds->layout;
    if (io->bad.code)
        return bkt_err_copy(err, io->bad.code, &io->bad);
    BKT_FAIL_IF(err, io->where != BKT_AT_OBJECTS, BKT_EUNSUP,
                "%s can't be written: its data are in other files (%s); copy it (h5repack, "
                "h5copy) to change it",
                bkt_dsetio_label(io).text,
                bkt_layout_is_linked(l) ? bkt_layout_name(l->cls) : "by reference");
    BKT_TRY(err, bkt_store_need_writable(bkt_domain_store(io->dom), err), "%s can't be written",
            bkt_dsetio_label(io).text);
    return BKT_OK;
}

static int by_seq(const void *a, const void *b)
{
    const struct bkt_grid_piece *x = a, *y = b;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* Orders pieces in which a point is selected twice, since the last value given for it counts. */
static void order_pieces(struct bkt_grid *g)
{
    for (uint64_t k = 0; g->irregular && k < g->n_chunks; k++) {
        bool twice = false;
        for (size_t i = g->first[k] + 1; i < g->first[k + 1]; i++)
            twice |= g->piece[i].off < g->piece[i - 1].off + g->piece[i - 1].len;
        if (twice)
            qsort(g->piece + g->first[k], g->first[k + 1] - g->first[k], sizeof *g->piece, by_seq);
    }
}

int bkt_write_plan_init(struct bkt_write_plan *p, const struct bkt_write *w, struct bkt_err *err)
{
    memset(p, 0, sizeof *p);
    p->w  = w;
    p->io = w->io;
    if (w->file->kind == BKT_SEL_NONE || (w->io->where == BKT_AT_NONE && !w->file->n_elems))
        return BKT_OK;
    BKT_PASS(bkt_dsetio_check_extent(w->io, w->file, err));
    BKT_PASS(bkt_write_check(w->io, err));
    BKT_TRY(err, bkt_grid_init(&p->grid, w->file, w->io->cdims, err), "dataset %s", w->io->obj->id.text);
    order_pieces(&p->grid);
    if (p->grid.n_elems && w->io->hdf5) /* report it now: later the program could no longer write something
                                           else */
        BKT_TRY(err, bkt_pipeline_check(&w->io->pipe, err), "dataset %s", w->io->obj->id.text);
    if (!p->grid.n_elems || w->io->var)
        return BKT_OK;
    BKT_TRY(err, bkt_mem_layout_for(&p->mem, w->mem, &p->grid, err), "dataset %s", w->io->obj->id.text);
    if (!w->io->elem_size) /* strings without length: nothing to store */
        p->grid.n_chunks = 0;
    return BKT_OK;
}

void bkt_write_plan_fini(struct bkt_write_plan *p)
{
    struct bkt_write_cache *d = p->ws ? p->ws->cache : NULL;
    if (d) {
        (void)pthread_mutex_lock(&d->window.lock);
        p->ws->users--;
        (void)pthread_mutex_unlock(&d->window.lock);
    }
    bkt_grid_fini(&p->grid);
    bkt_mem_layout_fini(&p->mem);
}

/* Whether all elements of touched chunk k that can be inside the dataset are selected. */
static bool covers(const struct bkt_write_plan *p, uint64_t k, const uint64_t *coord)
{
    struct bkt_grid_iter it;
    struct bkt_grid_run  run;
    uint64_t             n = 0, end = 0;
    bkt_grid_iter(&it, &p->grid, k, 0, UINT64_MAX);
    while (bkt_grid_next(&it, &run)) {
        if (run.off < end) /* an element is selected twice: elements are counted one by one later */
            return false;
        n += run.len;
        end = run.off + run.len;
    }
    return n >= bkt_chunk_reach(p->io, coord);
}

/* ---- fixed-size elements into a chunk ---- */

void bkt_write_plan_copy(const struct bkt_write_plan *p, struct bkt_grid_run run, size_t *hint,
                         unsigned char *to)
{
    size_t es = p->io->elem_size;
    while (run.len) {
        uint64_t off, n = bkt_min_u64(bkt_mem_layout_at(&p->mem, run.seq, &off, hint), run.len);
        bkt_copy_run(to, (const unsigned char *)p->w->src + (size_t)off * es, (size_t)n * es);
        to += (size_t)n * es;
        run.seq += n, run.len -= n;
    }
}

/* Copies the selected elements of touched chunk k to their places in @p dst, a whole chunk. */
static void gather(const struct bkt_write_plan *p, uint64_t k, unsigned char *dst)
{
    struct bkt_grid_iter it;
    struct bkt_grid_run  run;
    size_t hint = 0;
    bkt_grid_iter(&it, &p->grid, k, 0, UINT64_MAX);
    while (bkt_grid_next(&it, &run))
        bkt_write_plan_copy(p, run, &hint, dst + (size_t)run.off * p->io->elem_size);
}

int bkt_write_plan_gather(const struct bkt_write_plan *p, uint64_t k, const uint64_t *coord,
                          unsigned char *dst, struct bkt_err *err)
{
    const struct bkt_dsetio *io = p->io;
    if (bkt_chunk_reach(io, coord) < io->chunk_elems) {
        BKT_PASS(bkt_fill_check(io, coord, io->ds->init != BKT_INIT_CHUNKLOCATOR, err));
        bkt_fill_run(io, coord, 0, io->chunk_elems, dst);
    }
    gather(p, k, dst);
    return BKT_OK;
}

const unsigned char *bkt_write_plan_whole(const struct bkt_write_plan *p, uint64_t k)
{
    struct bkt_grid_run run;
    size_t hint = 0;
    uint64_t off;
    if (!bkt_grid_is_whole(&p->grid, k, &run) || bkt_mem_layout_at(&p->mem, run.seq, &off, &hint) < run.len)
        return NULL;
    return (const unsigned char *)p->w->src + (size_t)off * p->io->elem_size;
}

/* Makes all elements of a chunk from the request.  The lock is not held: page faults and the copy take long,
 * and a program that writes chunk after chunk would hold it nearly all the time.  The I/O thread would wait
 * for it to report stored chunks, and send nothing. */
static int make_whole(const struct bkt_write_plan *p, uint64_t k, const uint64_t *coord,
                      struct bkt_cache_entry **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_cache_entry_releasep)
    struct bkt_cache_entry *e = bkt_cache_entry_scratch(p->io->chunk_bytes);
    BKT_NEED(err, e);
    BKT_PASS(bkt_write_plan_gather(p, k, coord, e->data, err));
    *out = bkt_cache_entry_take(&e);
    return BKT_OK;
}

/* Replaces all elements; the earlier content isn't needed. */
static void put_whole(struct bkt_wchunk *c, struct bkt_cache_entry *e)
{
    bkt_cache_entry_release(c->e);
    c->e = bkt_cache_entry_retain(e);
    free(c->mask);
    c->mask     = NULL;
    c->n_dirty  = 0;
    c->whole    = true;
    c->complete = true;
    bkt_buf_fini(&c->raw);
    c->is_raw = false;
}

static int put_part(struct bkt_wchunk *c, struct bkt_write_plan *p, uint64_t k, struct bkt_err *err)
{
    struct bkt_grid_iter it;
    struct bkt_grid_run  run;
    BKT_PASS(bkt_wchunk_unraw(c, err));
    BKT_PASS(bkt_wchunk_open(c, err));
    bkt_grid_iter(&it, &p->grid, k, 0, UINT64_MAX);
    while (bkt_grid_next(&it, &run))
        BKT_PASS(bkt_wchunk_mark(c, run.off, run.len, err));
    gather(p, k, c->e->data);
    bkt_wchunk_check_whole(c);
    return BKT_OK;
}

/* ---- chunk by chunk ---- */

int bkt_wchunk_reserve(struct bkt_wset *ws, const uint64_t *coord, struct bkt_wchunk **out,
                       struct bkt_err *err)
{
    struct bkt_write_cache *d = ws->cache;
    struct bkt_wchunk *c    = bkt_wchunk_find(ws, coord);
    uint64_t           need = c ? 0 : ws->io->chunk_bytes + sizeof *c;
    if (need > d->limit - bkt_min_u64(d->used, d->limit))
        BKT_PASS(bkt_store_tasks_wait_room(d, need, err));
    while ((c = bkt_wchunk_find(ws, coord)) && c->task &&
           bkt_store_task_is_raw(c->task)) /* it has no elements */
        bkt_store_tasks_wait(d);
    ws->again |= c && c->early == d->n_flushes + 1;
    *out = c;
    return c ? BKT_OK : bkt_wchunk_make(ws, coord, out, err);
}

/* @p whole: the chunk's elements, if all are written; else NULL.  The lock is held. */
static int put_chunk(struct bkt_write_plan *p, uint64_t k, const uint64_t *coord,
                     struct bkt_cache_entry *whole, struct bkt_err *err)
{
    struct bkt_wchunk *c;
    int                rc = BKT_OK;
    BKT_PASS(bkt_wchunk_reserve(p->ws, coord, &c, err));
    if (whole)
        put_whole(c, whole);
    else
        rc = p->io->var ? bkt_wchunk_put_var(c, p, k, err) : put_part(c, p, k, err);
    bkt_wchunk_note(c, BKT_OK, NULL);
    bkt_wchunk_settle(c);
    BKT_FAIL_IF(err, rc < 0, rc, "%s", bkt_chunk_label(p->io, coord).text);
    bkt_store_tasks_push(c->ws->cache);
    return BKT_OK;
}

/* Makes a whole chunk.  Room is made first, so that its memory is that of the chunks freed for it. */
static int begin_whole(struct bkt_write_plan *p, uint64_t k, const uint64_t *coord,
                       struct bkt_cache_entry **out, struct bkt_err *err)
{
    struct bkt_write_cache *d = p->ws->cache;
    struct bkt_wchunk *c;
    (void)pthread_mutex_lock(&d->window.lock);
    int rc = bkt_wchunk_reserve(p->ws, coord, &c, err);
    (void)pthread_mutex_unlock(&d->window.lock);
    BKT_PASS(rc);
    BKT_TRY(err, make_whole(p, k, coord, out, err), "%s", bkt_chunk_label(p->io, coord).text);
    return BKT_OK;
}

static int put_cached(struct bkt_write_plan *p, uint64_t k, const uint64_t *coord, bool all,
                      struct bkt_err *err)
{
    struct bkt_write_cache *d = p->ws->cache;
    struct bkt_cache_entry *whole = NULL;
    if (all)
        BKT_PASS(begin_whole(p, k, coord, &whole, err));
    (void)pthread_mutex_lock(&d->window.lock);
    int rc = put_chunk(p, k, coord, whole, err);
    (void)pthread_mutex_unlock(&d->window.lock);
    bkt_cache_entry_release(whole);
    return rc;
}

void bkt_write_drop_cached(struct bkt_dsetio *io, const uint64_t *coord)
{
    uint64_t at = 0, from;
    for (unsigned d = 0; d < io->rank; d++)
        at = at * (io->ds->space.rank ? bkt_ceil_div(io->ds->space.dims[d], io->cdims[d]) : 1) + coord[d];
    if (!io->cache)
        return;
    bkt_cache_forget_range(io->cache, io->space, at, 1);
    if (bkt_mul_u64(at, io->chunk_bytes, &from) && from <= UINT64_MAX - io->chunk_bytes)
        bkt_cache_forget_range(io->cache, io->slice_space, from, io->chunk_bytes);
}

static void drop_cached(const struct bkt_write_plan *p)
{
    uint64_t coord[BKT_MAX_RANK];
    (void)bkt_write_cache_space(p->io);
    for (uint64_t k = 0; k < p->grid.n_chunks; k++) {
        bkt_grid_coord(&p->grid, k, coord);
        bkt_write_drop_cached(p->io, coord);
    }
}

/* Whether the request would fill the cache.  If so, its whole chunks don't pass the cache, which saves
 * memory; the data are stored in the same time either way. */
static bool is_large(const struct bkt_write_plan *p)
{
    uint64_t bytes, limit = bkt_settings_write_cache(p->io->set);
    return !p->io->var && (!bkt_mul_u64(p->grid.n_elems, p->io->elem_size, &bytes) || bytes > limit / 2);
}

static int write_one(struct bkt_write_cache *d, struct bkt_write_plan *p, struct bkt_uncached_write *direct,
                     struct bkt_err *err)
{
    uint64_t coord[BKT_MAX_RANK];
    int      rc    = BKT_OK;
    bool large = direct && is_large(p);
    if (!p->grid.n_chunks)
        return BKT_OK;
    (void)pthread_mutex_lock(&d->window.lock);
    p->ws = bkt_wset_of(d, p->io);
    if (p->ws)
        p->ws->users++;
    (void)pthread_mutex_unlock(&d->window.lock);
    BKT_NEED(err, p->ws);
    drop_cached(p);
    for (uint64_t k = 0; rc == BKT_OK && k < p->grid.n_chunks; k++) {
        bool started = false;
        if (direct && atomic_load(&direct->cancel))
            break;
        bkt_grid_coord(&p->grid, k, coord);
        bool all = !p->io->var && covers(p, k, coord);
        if (large && all)
            rc = bkt_uncached_write_start(direct, p, k, coord, &started, err);
        if (rc == BKT_OK && !started)
            rc = put_cached(p, k, coord, all, err);
    }
    return rc;
}

/* Whether the dataset occurs earlier in the call: then the writes are done one after the other. */
static bool is_again(const struct bkt_write *writes, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (strcmp(writes[j].io->obj->id.text, writes[i].io->obj->id.text) == 0)
            return true;
    return false;
}

int bkt_write_datasets(const struct bkt_write *writes, size_t n, struct bkt_err *err)
{
    struct bkt_uncached_write direct, *large = NULL; /* NULL: no request is large */
    struct bkt_write_plan *plans = calloc(n + 1, sizeof *plans);
    int               rc    = plans ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory");
    size_t n_plans = 0;
    while (rc == BKT_OK && n_plans < n) { /* nothing is written unless all writes are valid */
        rc = bkt_write_plan_init(&plans[n_plans], &writes[n_plans], err);
        if (is_large(&plans[n_plans++]))
            large = &direct;
    }
    if (large)
        bkt_uncached_write_init(large, bkt_settings_in_flight(writes[0].io->set));
    for (size_t i = 0; rc == BKT_OK && i < n; i++) {
        struct bkt_write_cache *d = bkt_write_cache_of(writes[i].io->dom, true);
        if (large && bkt_window_is_full(&large->window, 0) && is_again(writes, i))
            bkt_uncached_write_wait(large);
        rc = d ? write_one(d, &plans[i], large, err) : BKT_ERR(err, BKT_ENOMEM, "out of memory");
        bkt_trace(BKT_TRACE_CHUNK, "dataset %s: %llu elements of %llu chunks: %s", writes[i].io->obj->id.text,
                  (unsigned long long)plans[i].grid.n_elems, (unsigned long long)plans[i].grid.n_chunks,
                  rc < 0 ? bkt_err_text(rc) : "written");
    }
    int rc_direct = large ? bkt_uncached_write_finish(large, rc == BKT_OK ? err : NULL) : BKT_OK;
    for (size_t i = 0; i < n_plans; i++)
        bkt_write_plan_fini(&plans[i]);
    free(plans);
    return rc < 0 ? rc : rc_direct;
}
