/* Reading ahead of the program.  The data that a pattern predicts are read into the caches, on threads of the
 * process, while the program works on what it has.
 *
 *   slabs      a dataset read in steps of one size: the next steps, within setting read_ahead
 *   siblings   small datasets of a group opened and read in order: the next ones, all together
 *
 * A job is one bkt_read_now() without a destination.  A read that needs the data of a running job waits for
 * the job.  Jobs that have not begun are left to the read.  Local stores, and domains that were
 * written to, have no read-ahead. */
#include "chunk/ahead/predict.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "chunk/ahead/jobs.h"
#include "chunk/chunk.h"
#include "chunk/dataset/chunk_cache.h"
#include "chunk/dataset/dataset.h"
#include "chunk/read/read.h"
#include "chunk/read/segments.h"
#include "storage/stats.h"

/* Steps that are fetched ahead of the program.  Both are limited because steps ahead compete with the step
 * that the program waits for. */
#define MAX_STEPS   8   /* at most */
#define FIRST_STEPS 2   /* at first; doubled whenever the program had to wait for a step */
/* Divisor of the chunk cache: steps ahead fill at most this part of it, so that they don't evict each
 * other. */
#define AHEAD_PART  2
/* Bytes.  If the first read is at least as long, the next step is fetched on trial: guess(). */
#define GUESS_MIN   (1u << 20)
/* Bytes of one job: short adjacent steps are fetched together up to TOGETHER, parts of chunks up to PART_EACH
 * of each chunk.  If each step were a job, each would cost a round trip.  A job has no more steps than the
 * program has made. */
#define TOGETHER    (1u << 20)
#define PART_EACH   (64u << 10)
/* Siblings.  Datasets: as many have to be under way as a program reads during one round trip. */
#define MOST_AHEAD   2048
#define N_SIBLINGS   (2 * MOST_AHEAD) /* ids looked at */
#define JOB_MIN      32   /* datasets of the first job; the later jobs decide how long a walk takes */
/* Chunk objects of one job: fewer take longer, more take more memory. */
#define OBJECT_JOB   256
/* Datasets of one job that lie in a file: fewer make more requests, more delay a reader that waits for the
 * job. */
#define FILE_JOB     512
/* Bytes that a sibling counts for at least: its entry, its name and its place in the cache take memory
 * too. */
#define SIBLING_COST 512

/* ---- the box of a read ---- */

/* The box that is fetched for a regular selection: in whole chunks, or in elements if parts of chunks can be
 * fetched. */
struct box {
    uint64_t lo[BKT_MAX_RANK], hi[BKT_MAX_RANK];
};

static bool in_parts(const struct bkt_dsetio *io)
{
    return io->where == BKT_AT_OBJECTS ? bkt_chunk_object_is_unencoded(io) && io->chunk_bytes > BKT_SLICE_MIN
                                       : !io->filtered;
}

static void box_of(const struct bkt_dsetio *io, const struct bkt_sel *s, struct box *out)
{
    bool hyper = s->kind == BKT_SEL_HYPER;
    for (unsigned d = 0; d < s->rank; d++) {
        uint64_t each = in_parts(io) ? 1 : io->cdims[d];
        out->lo[d]    = hyper ? s->start[d] / each : 0;
        out->hi[d] =
            hyper ? (s->start[d] + (s->count[d] - 1) * s->stride[d] + s->block[d] - 1) / each : UINT64_MAX;
    }
}

static bool overlap(const struct box *a, const struct box *b, unsigned rank)
{
    for (unsigned d = 0; d < rank; d++)
        if (a->lo[d] > b->hi[d] || b->lo[d] > a->hi[d])
            return false;
    return true;
}

bool bkt_ahead_same_chunks(const struct bkt_ahead_job *a, const struct bkt_ahead_job *b)
{
    struct box x, y;
    box_of(a->io, &a->sel, &x);
    box_of(b->io, &b->sel, &y);
    return overlap(&x, &y, a->sel.rank);
}

/* ---- before a read ---- */

/* The part of an id that distinguishes it from others of its domain. */
static uint64_t ahead_tail(const struct bkt_id *id)
{
    uint64_t tail;
    memcpy(&tail, id->text + BKT_ID_LEN - sizeof tail, sizeof tail);
    return tail;
}

/* Matches jobs that fetch data the read needs.  The dataset of the read is taken out of waiting jobs of
 * siblings. */
static bool does_it(struct bkt_ahead_job *job, const void *arg)
{
    const struct bkt_read *r = arg;
    struct box             a, b;
    if (job->io) {
        if (job->io != r->io)
            return false;
        box_of(r->io, r->file, &a);
        box_of(r->io, &job->sel, &b);
        return overlap(&a, &b, r->file->rank);
    }
    uint64_t tail = ahead_tail(&r->io->obj->id);
    if (job->dom != r->io->dom || !bsearch(&tail, job->tails, job->n, sizeof tail, bkt_by_u64))
        return false;
    for (size_t i = 0; i < job->n; i++)
        if (strcmp(job->ids[i].text, r->io->obj->id.text) == 0) {
            if (!job->running)
                job->ids[i].text[0] = 0;
            return job->running;
        }
    return false;
}

/* Call before a read of the program: waits for jobs that read the same data, or takes them over. */
void bkt_ahead_before(struct bkt_read *reads, size_t n)
{
    for (size_t i = 0; bkt_ahead_any() && i < n; i++) {
        bool   waited = false;
        size_t used   = bkt_ahead_settle(does_it, &reads[i], false, &waited);
        if (used)
            bkt_stats_add(BKT_STAT(ahead_used), used);
        reads[i].io->pattern.late |= waited;
    }
}

/* ---- slabs ---- */

static bool of_io(struct bkt_ahead_job *job, const void *arg) { return job->io == arg; }

static bool of_dom(struct bkt_ahead_job *job, const void *arg) { return job->dom == arg; }

static void forget(struct bkt_dsetio *io)
{
    if (bkt_ahead_any())
        (void)bkt_ahead_settle(of_io, io, true, NULL);
}

void bkt_ahead_cancel(struct bkt_domain *dom)
{
    (void)bkt_ahead_settle(of_dom, dom, true, NULL);
}

/* The step between two selections of the same size; false: there is no step. */
static bool step_of(const struct bkt_sel *from, const struct bkt_sel *to, int64_t *step, bool *adjacent)
{
    unsigned moved = 0;
    size_t   n     = to->rank * sizeof *to->count;
    *adjacent      = false;
    if (from->kind != to->kind || from->rank != to->rank || memcmp(from->count, to->count, n) != 0 ||
        memcmp(from->block, to->block, n) != 0 || memcmp(from->stride, to->stride, n) != 0)
        return false;
    for (unsigned d = 0; d < to->rank; d++) {
        uint64_t extent = (to->count[d] - 1) * to->stride[d] + to->block[d];
        step[d]         = (int64_t)(to->start[d] - from->start[d]);
        moved += step[d] != 0;
        *adjacent |= step[d] == (int64_t)extent || step[d] == -(int64_t)extent;
    }
    *adjacent &= moved == 1;
    return moved > 0;
}

/* The selection `n` steps on, cut at the extent's end; false: it lies outside. */
static bool step_on(const struct bkt_sel *s, const int64_t *step, uint64_t n, struct bkt_sel *out)
{
    *out         = *s;
    out->n_elems = 1;
    for (unsigned d = 0; d < s->rank; d++) {
        int64_t at = (int64_t)s->start[d] + (int64_t)n * step[d];
        if (at < 0 || (uint64_t)at >= s->dims[d])
            return false;
        out->start[d] = (uint64_t)at;
        uint64_t room = s->dims[d] - (uint64_t)at;
        if (out->block[d] > room)
            return false;
        uint64_t fit  = (room - out->block[d]) / bkt_max_u64(out->stride[d], 1) + 1;
        out->count[d] = bkt_min_u64(out->count[d], fit);
        out->n_elems *= out->count[d] * out->block[d];
    }
    return true;
}

static void drop_unused(struct bkt_dsetio *io)
{
    struct bkt_pattern *p = &io->pattern;
    size_t              n = bkt_ahead_any() ? bkt_ahead_settle(of_io, io, true, NULL) : 0;
    if (p->posted) {
        bkt_stats_add(BKT_STAT(ahead_unused), bkt_max_u64(n, p->posted));
        p->misses += p->misses < 16;
    }
    p->posted = 0;
}

static void post_slab(struct bkt_dsetio *io, const struct bkt_sel *sel)
{
    struct bkt_ahead_job *job = calloc(1, sizeof *job);
    if (!job)
        return;
    job->dom = io->dom;
    job->io  = io;
    job->sel = *sel;
    io->pattern.forget = forget;
    (void)bkt_ahead_post(job);
}

/* The dimension along which each step begins right behind the one before; the rank: there is no such
 * dimension. */
static unsigned way_of(const struct bkt_sel *s, const int64_t *step)
{
    unsigned way = s->rank;
    for (unsigned d = 0; d < s->rank; d++)
        if (step[d] && way < s->rank)
            return s->rank;
        else if (step[d])
            way = d;
    if (way == s->rank || step[way] != (int64_t)(s->count[way] * s->block[way]) ||
        (s->count[way] > 1 && s->stride[way] != s->block[way]))
        return s->rank;
    return way;
}

/* At most `most` steps along `way` as one selection, the first of them k steps on.  Gives the number of
 * steps, which is smaller at the extent's end. */
static uint64_t steps_on(const struct bkt_sel *s, const int64_t *step, unsigned way, uint64_t k,
                         uint64_t most, struct bkt_sel *out)
{
    if (!step_on(s, step, k, out))
        return 0;
    if (most <= 1 || way == s->rank)
        return 1;
    uint64_t n = bkt_min_u64(most, (s->dims[way] - out->start[way]) / (uint64_t)step[way]);
    if (n <= 1)
        return 1;
    *(out->count[way] > 1 ? &out->count[way] : &out->block[way]) *= n;
    out->n_elems *= n;
    return n;
}

/* Number of steps of one job: few long requests instead of many short ones. */
static uint64_t steps_together(const struct bkt_dsetio *io, const struct bkt_sel *now, unsigned way,
                               uint64_t bytes)
{
    uint64_t want = PART_EACH;
    if (way == now->rank)
        return 1;
    for (unsigned d = 0; in_parts(io) && d < now->rank; d++) {
        uint64_t last = now->start[d] + (now->count[d] - 1) * now->stride[d] + now->block[d] - 1;
        if (!bkt_mul_u64(want, last / io->cdims[d] - now->start[d] / io->cdims[d] + 1, &want))
            return 1;
    }
    return bkt_max_u64(bkt_min_u64(bkt_max_u64(want, TOGETHER) / bytes, io->pattern.hits), 1);
}

static void slabs_next(struct bkt_dsetio *io, const struct bkt_sel *now, unsigned most)
{
    struct bkt_pattern *p     = &io->pattern;
    uint64_t            bytes = bkt_max_u64(now->n_elems * io->elem_size, 1);
    uint64_t room = bkt_min_u64(io->set->read_ahead, io->set->chunk_cache / AHEAD_PART) / bytes, n;
    unsigned            way   = way_of(now, p->step);
    uint64_t            each  = bkt_max_u64(bkt_min_u64(steps_together(io, now, way, bytes), room), 1);
    uint64_t            depth = bkt_min_u64(room, most * each);
    struct bkt_sel      next;
    struct box          before, box;
    if (in_parts(io) && each * bytes < io->set->near) /* segments.c fetches such small steps */
        return;
    box_of(io, p->posted && step_on(now, p->step, p->posted, &next) ? &next : now, &before);
    for (uint64_t k = p->posted;
         k + each <= depth && (n = steps_on(now, p->step, way, k + 1, each, &next)) > 0;
         k += n, before = box) {
        box_of(io, &next, &box);
        p->posted += n;
        if (memcmp(before.lo, box.lo, now->rank * sizeof *box.lo) != 0 ||
            memcmp(before.hi, box.hi, now->rank * sizeof *box.hi) != 0)
            post_slab(io, &next); /* else the step lies in the same chunks */
    }
}

/* Programs that read a whole dataset begin at its first row.  So if the first read takes whole rows from row
 * 0 on, the next rows are fetched on trial.  A program that stops there has caused two needless steps. */
static bool guess(const struct bkt_sel *now, size_t elem_size, int64_t *step)
{
    if (now->n_elems * elem_size < GUESS_MIN || now->start[0] || now->stride[0] != 1)
        return false;
    for (unsigned d = 1; d < now->rank; d++) {
        step[d] = 0;
        if (now->start[d] || now->stride[d] != 1 || now->count[d] * now->block[d] != now->dims[d])
            return false;
    }
    step[0] = (int64_t)(now->count[0] * now->block[0]);
    return true;
}

/* Sets how far to read ahead: farther as long as the program has to wait for it. */
static void set_depth(struct bkt_pattern *p)
{
    if (!p->depth)
        p->depth = FIRST_STEPS;
    else if (p->late)
        p->depth = (unsigned)bkt_min_u64(2 * (uint64_t)p->depth, MAX_STEPS);
    p->late = false;
}

static void slab_read(struct bkt_dsetio *io, const struct bkt_sel *now)
{
    struct bkt_pattern *p = &io->pattern;
    int64_t             step[BKT_MAX_RANK];
    bool                adjacent, expected = false;
    if (now->kind != BKT_SEL_HYPER)
        return;
    if (p->known && step_of(&p->last, now, step, &adjacent)) {
        expected = p->hits && !memcmp(step, p->step, now->rank * sizeof *step);
        if (!expected)
            drop_unused(io);
        else if (p->posted) {
            p->posted--;
            p->misses = 0;
        }
        /* two adjacent slabs are a pattern; any other step must come twice */
        p->hits = expected ? p->hits + 1 : adjacent ? 2 : 1;
        memcpy(p->step, step, sizeof step);
    } else if (p->known && !(p->last.kind == now->kind && p->last.rank == now->rank &&
                             !memcmp(p->last.start, now->start, p->last.rank * sizeof *p->last.start))) {
        drop_unused(io);
        p->hits = 0;
    }
    bool first = !p->known && now->rank && guess(now, io->elem_size, p->step);
    p->known   = true;
    p->last    = *now;
    set_depth(p);
    if (first) {
        p->hits = 1;
        /* long steps: only one, since a program that stops after the first step has caused a needless one */
        slabs_next(io, now, now->n_elems * io->elem_size > io->set->read_ahead / 4 ? 1 : FIRST_STEPS);
    } else if (p->hits >= 1 + (UINT64_C(1) << bkt_min_u64(p->misses, 16))) {
        slabs_next(io, now, p->depth);
    }
}

/* ---- siblings ---- */

uint64_t bkt_ahead_size(const struct bkt_dsetio *io)
{
    uint64_t n = io->elem_size;
    bool fits = true;
    for (unsigned d = 0; d < io->ds->space.rank; d++)
        fits = fits && bkt_mul_u64(n, io->ds->space.dims[d], &n);
    if (io->bad.code || io->where == BKT_AT_NONE || io->var || io->ds->space.cls != BKT_S_SIMPLE || !fits ||
        !n || !bkt_pipeline_builtin(&io->pipe))
        return UINT64_MAX;
    return bkt_max_u64(n, io->chunk_bytes);
}

/* How far to read ahead of a read, and in jobs of which size. */
struct reach {
    uint64_t each, room; /* bytes: of a dataset, of all of them */
    size_t   most, job;  /* datasets */
};

static void post_siblings(struct bkt_dsetio *io, struct bkt_ahead_note *note, const struct reach *r,
                          const struct bkt_id *ids, size_t n)
{
    struct bkt_ahead_job *job   = calloc(1, sizeof *job + n * sizeof *job->ids);
    uint64_t             *tails = calloc(n, sizeof *tails);
    if (!job || !tails) {
        free(job);
        free(tails);
        return;
    }
    job->dom   = bkt_domain_retain(io->dom);
    job->each  = r->each;
    job->room  = r->room;
    job->n     = n;
    job->tails = tails;
    memcpy(job->ids, ids, n * sizeof *ids);
    for (size_t i = 0; i < n; i++)
        tails[i] = ahead_tail(&ids[i]);
    qsort(tails, n, sizeof *tails, bkt_by_u64);
    note->last = ids[n - 1];
    bkt_domain_prefetch(io->dom, ids, n); /* while the jobs before it run */
    (void)bkt_ahead_post(job);
}

/* The number of datasets like this one, read whole, that fit into a quarter of the cache; at most MOST_AHEAD.
 * The sizes of the other datasets are known only once they have been opened. */
static struct reach reach_of(const struct bkt_dsetio *io, const struct bkt_sel *now)
{
    uint64_t     read = now->n_elems * bkt_max_u64(io->elem_size, 1), size = bkt_ahead_size(io);
    struct reach r    = {.room = bkt_min_u64(io->set->read_ahead, io->set->chunk_cache / 4)};
    r.each = bkt_max_u64(bkt_min_u64(4 * bkt_min_u64(read, BKT_AHEAD_SIBLING), BKT_AHEAD_SIBLING),
                         BKT_AHEAD_PARTLY);
    r.most = (size_t)bkt_min_u64(
        bkt_max_u64(r.room / bkt_max_u64(size <= r.each ? size : read, SIBLING_COST), 1), MOST_AHEAD);
    /* a reader that needs one dataset of a job waits for all of the job */
    r.job = bkt_min_u64(io->where == BKT_AT_OBJECTS ? OBJECT_JOB : FILE_JOB, bkt_ceil_div(r.most, 4));
    return r;
}

/* Keeps several jobs ahead of the program: some wait for chunks, others for metadata. */
static void sibling_read(struct bkt_dsetio *io, struct bkt_ahead_note *note, const struct bkt_sel *now)
{
    BKT_CLEANUP(bkt_freep) struct bkt_id *ids = NULL;
    if (!bkt_domain_is_walked(io->dom))
        return;
    const struct reach r = reach_of(io, now);
    if (io->chunk_bytes > r.each || (note->skip && note->skip--))
        return;
    ids      = malloc(N_SIBLINGS * sizeof *ids);
    size_t n = ids ? bkt_domain_siblings(io->dom, &io->obj->id, ids, N_SIBLINGS) : 0, have = 0;
    for (size_t i = 0; i < n && !have; i++)
        have = strcmp(ids[i].text, note->last.text) == 0 ? i + 1 : 0;
    while (have < n && have < r.most) {
        size_t take = bkt_min_u64(n - have, have ? r.job : bkt_min_u64(r.job, JOB_MIN));
        post_siblings(io, note, &r, ids + have, take);
        have += take;
    }
    note->skip = have > r.job ? r.job / 2 : 0;
}

/* ---- after a read ---- */

void bkt_ahead_after(struct bkt_read *reads, size_t n)
{
    struct bkt_dsetio *io = reads[0].io;
    if (n != 1 || !io->set->read_ahead || !io->cache || io->bad.code || io->where == BKT_AT_NONE ||
        io->found_partly || !bkt_pipeline_builtin(&io->pipe) ||
        bkt_store_is_local(bkt_domain_store(io->dom)) || bkt_chunks_written(io->dom))
        return;
    struct bkt_ahead_note *note = bkt_cache_ahead(io->cache);
    if (atomic_flag_test_and_set(&note->busy))
        return;
    if (!io->var)
        slab_read(io, reads[0].file);
    sibling_read(io, note, reads[0].file);
    atomic_flag_clear(&note->busy);
}
