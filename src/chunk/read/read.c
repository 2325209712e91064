/* bkt_read_now(): everything that one call needs is in flight together, within bkt_settings_in_flight().
 *
 * The calling thread makes tasks (a range or a chunk object with the segments it serves) and starts them.
 * The store reports each from its own thread, which hands decoding to the pool.  The thread that finishes a
 * task's last piece gives its bytes back.  The calling thread starts more as room comes back, and decodes too
 * while it waits. */
#include "chunk/read/read.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/trace.h"
#include "chunk/dataset/dataset.h"
#include "chunk/read/fetch_task.h"

/* ---- the plan ---- */

/* Requests: so many long ones side by side fill any line. */
#define SLOTS    32
/* Bytes in flight for each thread, for a store in a directory: more only take fresh memory. */
#define LOCAL_EACH (4u << 20)
/* Bytes: a read of so many uncompressed bytes of a directory isn't copied to a cache, since the system's page
 * cache has them. */
#define COPY_MIN  (4u << 20)
/* Bytes that are copied without a task, from one end to the other. */
#define TAKE_MAX  (64u << 10)
/* Bytes: a gap between ranges that costs less than another request on any line. */
#define NEAR_GAP  (UINT64_C(64) << 10)
#define USUAL_RATE 50e6 /* bytes per second of one connection, S3's, while nothing is known */
/* Bytes: neighbouring ranges are merged up to this length, however little is read.  On a line far away,
 * longer requests would leave connections idle. */
#define MERGE_MIN (1u << 20)

/* Gives pages to memory that is about to be filled. */
static bool populate(struct bkt_window *w)
{
    return bkt_prefault_step(&BKT_OWNER(struct bkt_read_call, window, w)->populate);
}

/* The share of in_flight for a task on a directory.  Bytes that no thread works on only take memory, whose
 * fresh pages cost more than the reading.  So shares leave room for LOCAL_EACH bytes a thread, and for two
 * tasks; a task that takes more counts with its own size. */
static uint64_t local_cost(const struct bkt_read_call *call, uint64_t cost)
{
    uint64_t share = bkt_min_u64(cost, LOCAL_EACH / 2) *
                     bkt_max_u64(call->window.limit / (bkt_pool_threads() * LOCAL_EACH), 1);
    return bkt_max_u64(share, cost);
}

static void launch(struct bkt_fetch_task *k)
{
    if (!k->way->owns_bytes && !k->range.keep) /* needs no memory of its own */
        k->cost = 0;
    else if (bkt_store_is_local(k->range.segs->file->store))
        k->cost = local_cost(k->call, k->cost);
    k->cost = bkt_max_u64(k->cost, BKT_TASK_COST_MIN);
    bkt_window_enter(&k->call->window, k->cost);
    bkt_fetch_task_start(k);
}

/* Takes a chunk from the cache, which may also record that it is missing. */
static int take_cached(struct bkt_read_call *call, struct bkt_target *t, uint64_t k,
                       struct bkt_cache_entry *e, bool native, struct bkt_err *err)
{
    int rc = BKT_OK;
    if (!e->missing && !t->io->var) {
        bkt_decode_found(call, t, k, e);
        return rc;
    }
    if (e->missing)
        rc = bkt_decode_missing(t, k, native, err);
    else
        bkt_scatter_var(t, k, bkt_cache_entry_retain(e));
    bkt_cache_entry_release(e);
    return rc;
}

static struct bkt_cache_entry *cached(const struct bkt_read_call *call, const struct bkt_target *t,
                                      uint64_t k)
{
    if (t->over && t->io->where == BKT_AT_OBJECTS) {
        uint64_t coord[BKT_MAX_RANK];
        bkt_grid_coord(&t->grid, k, coord);
        struct bkt_cache_entry *e = t->over->get(t->io, coord);
        if (e)
            return e;
    }
    uint64_t           pos = bkt_target_linear(t, k);
    struct bkt_cache_entry *e   = t->io->cache ? bkt_cache_get(t->io->cache, t->io->space, pos) : NULL;
    if (e && call->passing)
        bkt_cache_forget_range(t->io->cache, t->io->space, pos, 1);
    return e;
}

/* A part of an unencoded chunk object that the cache holds already.  That needs no task, which saves CPU
 * time. */
static bool take_slice(struct bkt_target *t, uint64_t k)
{
    struct bkt_grid_iter it;
    struct bkt_grid_run first, run;
    struct bkt_read_segment s = {.t = t, .k = k, .n_runs = bkt_grid_n_runs(&t->grid, k)};
    uint64_t es = t->io->elem_size, base, end = 0;
    size_t               delta;
    if (!t->io->cache || !t->io->slice_space ||
        !bkt_mul_u64(bkt_target_linear(t, k), t->io->chunk_bytes, &base) ||
        base > UINT64_MAX - t->io->chunk_bytes)
        return false;
    bkt_grid_iter(&it, &t->grid, k, 0, 1);
    if (!bkt_grid_next(&it, &first))
        return false;
    /* runs ascend; if points are selected twice, the last one isn't always the last to end */
    bkt_grid_iter(&it, &t->grid, k, t->grid.irregular ? 0 : s.n_runs - 1, UINT64_MAX);
    while (bkt_grid_next(&it, &run))
        end = bkt_max_u64(end, run.off + run.len);
    s.off                = first.off * es;
    s.len = end * es - s.off;
    struct bkt_cache_entry *e = s.len > TAKE_MAX ? NULL
                                                 : bkt_cache_cover(t->io->cache, t->io->slice_space,
                                                                   base + s.off, (size_t)s.len, &delta);
    if (!e)
        return false;
    bkt_scatter_segment(&s, e->data + delta);
    bkt_cache_entry_release(e);
    return true;
}

static int read_native(struct bkt_read_call *call, struct bkt_target *t, struct bkt_read_segments *segs,
                       struct bkt_err *err)
{
    bool unencoded = bkt_chunk_object_is_unencoded(t->io);
    if (t->over)
        BKT_PASS(t->over->prepare(t, err));
    for (uint64_t k = 0; k < t->grid.n_chunks && !atomic_load(call->cancel); k++) {
        struct bkt_fetch_task   *task   = NULL;
        struct bkt_cache_entry *e      = cached(call, t, k);
        bool               sliced = false;
        if (e) {
            BKT_PASS(take_cached(call, t, k, e, true, err));
            continue;
        }
        if (unencoded && take_slice(t, k))
            continue;
        if (unencoded)
            BKT_PASS(bkt_read_segments_add_slice(segs, t, k, &call->lim, &sliced, err));
        if (sliced)
            continue;
        BKT_PASS(bkt_fetch_task_object(call, t, k, &task, err));
        launch(task);
    }
    return BKT_OK;
}

/* Finds out which reference chunks of a target the cache doesn't hold.  Copies those that it holds. */
static int want(struct bkt_read_call *call, struct bkt_target *t, struct bkt_references_find *q,
                struct bkt_err *err)
{
    uint64_t n    = t->grid.n_chunks, *coords;
    unsigned rank = t->io->rank;
    *q            = (struct bkt_references_find){.io = t->io, .t = t};
    if (n > SIZE_MAX / ((rank + 1) * sizeof *coords) ||
        !(q->k = calloc((size_t)n * (rank + 1), sizeof *coords)))
        BKT_NOMEM(err);
    q->coords = coords = q->k + n;
    for (uint64_t k = 0; k < n; k++) {
        struct bkt_cache_entry *e = t->io->filtered ? cached(call, t, k) : NULL;
        if (e) {
            BKT_PASS(take_cached(call, t, k, e, false, err));
            continue;
        }
        bkt_grid_coord(&t->grid, k, coords + q->n * rank);
        q->k[q->n++] = k;
    }
    BKT_NEED(err, (q->out = calloc(q->n + 1, sizeof *q->out)));
    return BKT_OK;
}

/* A gap between two ranges costs the time that its bytes take on one connection; another request costs the
 * time until its first byte.  Both are equal at first byte x throughput.  Bounded by knob merge_gap and
 * from below by NEAR_GAP. */
static void set_gaps(struct bkt_read_call *call)
{
    const struct bkt_dsetio *io = call->t[0].io;
    double                   first, rate;
    bkt_store_pace(bkt_domain_store(io->dom), &first, &rate);
    double even      = first * (rate > 0 ? rate : USUAL_RATE);
    call->lim.gap     = bkt_min_u64(io->set->merge_gap, NEAR_GAP);
    call->lim.far_gap = bkt_min_u64(io->set->merge_gap, even < (double)NEAR_GAP ? NEAR_GAP
                                                        : even < 1e9            ? (uint64_t)even
                                                                                : 1000000000);
}

/* Limits merging: fewer, longer requests would leave connections idle. */
static void set_limits(struct bkt_read_call *call, uint64_t bytes)
{
    const struct bkt_settings *set = call->t[0].io->set;
    call->lim.part                  = set->part_size;
    set_gaps(call);
    call->lim.merge                 = bkt_max_u64(bytes / bkt_min_u64(set->connections, SLOTS), MERGE_MIN);
    call->lim.merge                 = bkt_min_u64(call->lim.merge, call->lim.part);
}

static uint64_t stored_bytes(const struct bkt_references_find *q, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t one = 0;
        for (size_t j = 0; q[i].io->filtered && j < q[i].n; j++)
            one += bkt_min_u64(q[i].out[j].size, UINT32_MAX);
        if (!q[i].io->filtered && !bkt_mul_u64(q[i].t->grid.n_elems, q[i].io->elem_size, &one))
            one = UINT32_MAX;
        sum += one;
    }
    return sum;
}

/* Reads all segments, of files and of chunk objects. */
static int read_segs(struct bkt_read_call *call, struct bkt_read_segments *segs, struct bkt_err *err)
{
    struct bkt_ranges ranges;
    int               rc = bkt_ranges_plan(&ranges, segs, &call->lim, err);
    for (size_t i = 0; rc == BKT_OK && i < ranges.n && !atomic_load(call->cancel); i++) {
        struct bkt_fetch_task *task = NULL;
        rc                    = bkt_fetch_task_range(call, &ranges.v[i], &task, err);
        if (rc == BKT_OK)
            launch(task);
    }
    free(ranges.v);
    return rc;
}

static int read_located(struct bkt_read_call *call, struct bkt_references_find *q, size_t n,
                        struct bkt_read_segments *segs, struct bkt_err *err)
{
    BKT_PASS(bkt_references_find(q, n, err));
    set_limits(call, stored_bytes(q, n));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < q[i].n; j++)
            if (q[i].out[j].file)
                BKT_PASS(bkt_read_segments_add(segs, q[i].t, q[i].k[j], &q[i].out[j], &call->lim, err));
    BKT_PASS(read_segs(call, segs, err));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < q[i].n && !atomic_load(call->cancel); j++)
            if (!q[i].out[j].file)
                BKT_PASS(bkt_decode_missing(q[i].t, q[i].k[j], false, err));
    return BKT_OK;
}

static bool by_reference(const struct bkt_target *t)
{
    return t->io->where != BKT_AT_OBJECTS && t->grid.n_chunks;
}

static int read_refs(struct bkt_read_call *call, struct bkt_read_segments *segs, struct bkt_err *err)
{
    size_t             n = 0, n_refs = 0;
    for (size_t i = 0; i < call->n; i++)
        n_refs += by_reference(&call->t[i]);
    if (!n_refs)
        return read_segs(call, segs, err);
    struct bkt_references_find *q  = calloc(n_refs, sizeof *q);
    int                rc = q ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory");
    for (size_t i = 0; rc == BKT_OK && i < call->n; i++)
        if (by_reference(&call->t[i]))
            rc = want(call, &call->t[i], &q[n++], err);
    if (rc == BKT_OK)
        rc = read_located(call, q, n, segs, err);
    for (size_t i = 0; i < n; i++) {
        free(q[i].k);
        free(q[i].out);
    }
    free(q);
    return rc;
}

/* Bytes that the target would put into the cache; UINT64_MAX: more than the type can count.  If chunk objects
 * are taken in slices, only the slices count: if all of the chunks counted, the next steps could not be read
 * ahead. */
static uint64_t kept_bytes(const struct bkt_target *t, bool raw)
{
    uint64_t wanted, whole;
    if (!bkt_mul_u64(t->grid.n_elems, t->io->elem_size, &wanted))
        wanted = UINT64_MAX;
    if (raw)
        return wanted;
    if (!bkt_mul_u64(t->grid.n_chunks, t->io->chunk_bytes, &whole))
        whole = UINT64_MAX;
    return whole / 2 > wanted && !by_reference(t) && bkt_target_in_slices(t) ? 2 * wanted : whole;
}

/* Whether the results of the read fit into the cache.  If not, none are put there, so that nothing useful is
 * evicted. */
static bool fits_cache(const struct bkt_read_call *call)
{
    uint64_t sum = 0, one;
    bool     kept_by_system = true;
    for (size_t i = 0; i < call->n; i++) {
        const struct bkt_target *t   = &call->t[i];
        bool                     raw = by_reference(t) && !t->io->filtered;
        if (t->rd->unchecked)
            return false;
        if (!t->grid.n_chunks)
            continue;
        kept_by_system &= bkt_store_is_directory(bkt_domain_store(t->io->dom)) &&
                          (raw || (!by_reference(t) && bkt_chunk_object_is_unencoded(t->io)));
        if (t->io->var)
            continue;
        /* The read may be a piece of a call: how many times as much the whole call takes. */
        if (!bkt_mul_u64(kept_bytes(t, raw), bkt_max_u64(bkt_ceil_div(t->rd->of, t->grid.n_elems), 1),
                         &one) ||
            !bkt_add_u64(sum, one, &sum) || sum > t->io->set->chunk_cache)
            return false;
    }
    return !kept_by_system || sum < COPY_MIN;
}

static int read_all(struct bkt_read_call *call, struct bkt_err *err)
{
    struct bkt_read_segments segs = {0};
    int             rc   = BKT_OK;
    call->lim.keep            = fits_cache(call);
    call->passing = !call->lim.keep && call->t[0].rd->of; /* entries that were read ahead make room for the
                                                      next ones */
    if (!call->lim.keep && call->lim.blind)
        return BKT_OK;
    call->window.limit    = bkt_max_u64(bkt_settings_in_flight(call->t[0].io->set), BKT_TASK_COST_MIN);
    set_limits(call, 0);
    bkt_prefault_init(&call->populate, &call->t[0]);
    for (size_t i = 0; rc == BKT_OK && i < call->n; i++)
        if (call->t[i].io->where == BKT_AT_OBJECTS)
            rc = read_native(call, &call->t[i], &segs, err);
    if (rc == BKT_OK)
        rc = read_refs(call, &segs, err);
    if (rc < 0)
        bkt_fetch_fail(call, rc, err);
    bkt_window_enter(&call->window, 0);
    bkt_read_segments_fini(&segs);
    if (call->rc < 0 && rc >= 0)
        rc = bkt_err_copy(err, call->rc, &call->err);
    return rc;
}

/* Hands the result of a variable-size read over, until bkt_read_fini(). */
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

int bkt_read_now(struct bkt_read *reads, size_t n, struct bkt_err *err)
{
    struct bkt_read_call call;
    int        rc  = BKT_OK;
    size_t     n_t = 0;
    memset(&call, 0, offsetof(struct bkt_read_call, err)); /* to clear an error's 5 KB would cost more than a
                                                             small read */
    bkt_err_clear(&call.err);
    call.n = n;
    call.t = n > SIZE_MAX / sizeof *call.t
                 ? NULL
                 : malloc(n * sizeof *call.t); /* bkt_target_init() sets all members that are used */
    BKT_NEED(err, call.t);
    call.cancel = reads[0].cancel ? reads[0].cancel : &call.own_cancel;
    call.lim.blind  = bkt_read_is_blind(reads);
    bkt_window_init(&call.window, 0);
    call.window.idle = populate;
    while (rc == BKT_OK && n_t < n) {
        rc = bkt_target_init(&call.t[n_t], &reads[n_t], err);
        n_t++;
    }
    if (rc == BKT_OK)
        rc = read_all(&call, err);
    for (size_t i = 0; i < n_t; i++) {
        bkt_trace(BKT_TRACE_CHUNK, "dataset %s: %llu elements of %llu chunks: %s", reads[i].io->obj->id.text,
                  (unsigned long long)call.t[i].grid.n_elems, (unsigned long long)call.t[i].grid.n_chunks,
                  rc < 0 ? bkt_err_text(rc) : "read");
        if (rc == BKT_OK) {
            bool var = call.t[i].slices != NULL;
            hand_over(&call.t[i]);
            if (var && !reads[i].impl)
                rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
        }
        bkt_target_fini(&call.t[i]);
    }
    free(call.t);
    bkt_window_fini(&call.window);
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
