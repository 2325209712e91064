/* See ahead.h: what a pattern is, and what is made of it. */
#include "ahead.h"

#include <stdlib.h>
#include <string.h>

#include "ahead_jobs.h"
#include "dirty.h"
#include "num.h"
#include "plan.h"
#include "stats.h"

/* 16 steps of 16 MiB with 50 ms of work on each, at 30 ms, take 1.04 s one step ahead, 0.98 s with 2, 0.97 s with 4, 0.95 s with 8
 * or more; 0.97 s beginning with 1 or 2, 1.02 s beginning with 4 or 8, which compete with what is wanted now. */
#define MAX_STEPS   8   /* ahead of the program */
#define FIRST_STEPS 2   /* at first; as many again whenever the program had to wait for one */
/* Of the chunk cache, as what is ahead mustn't push itself out.  The same steps take 1.22, 0.87, 0.87, 1.51 s with a cache of 96 MiB and
 * all, a half, a quarter, a sixteenth of it, with 32 MiB 1.50, 0.87, 1.48, 1.47 s; all of it fetches 346 and 466 MiB for 256 (3 runs). */
#define AHEAD_PART  2
/* Bytes of a first read from which on a second one is worth a guess: in the same case it saves 0.06 s, as much as a step waits for. */
#define GUESS_MIN   (1u << 20)
/* Bytes that one job fetches of steps that are shorter and lie one behind the other, and of each chunk that it takes in parts; but no
 * more steps than the program has made.  16 MiB in chunks of 1 MiB, in order by 16, 64, 256, 512 KiB, take 0.34, 0.35, 0.26, 0.23 s at
 * 30 ms; where each step is a job 0.86, 2.2, 0.62, 0.34 s (2 runs).  128 MiB of 128 such chunks side by side, 4 rows at a time, 0.67 s
 * and 1,155 requests, 4.9 s and 16,387; a row at a time 0.87 and 0.73 s (one run), but 16,643 requests where PART_EACH is 0. */
#define TOGETHER    (1u << 20)
#define PART_EACH   (64u << 10)
/* Siblings.  What a program takes in one round trip has to be under way: at 20 us for each dataset that is 1,500 in 30 ms. */
#define MOST_AHEAD   2048
#define N_SIBLINGS   (2 * MOST_AHEAD) /* looked at */
#define JOB_MIN      32   /* the first job's; with 8, 128 or 256 the 10,000 take as long: what matters is those after it */
/* Chunk objects of one job.  3,000 that HSDS wrote take 1.27 s and 49 MiB at 30 ms with 64, 1.17 s and 66 MiB with 256, 1.21 s and
 * 95 MiB with 1024. */
#define OBJECT_JOB   256
/* Datasets of one job that lie in a file.  3,000 of h5bucket load --link take 0.35 s and 47 requests with 128, 0.23 s and 28 with 512,
 * 0.22 s and 22 with 2048, which hold up whoever waits for the job. */
#define FILE_JOB     512
/* Bytes that any counts for, as it has an entry, a name and a place in the cache: MOST_AHEAD of them take 1 MiB, so that it bounds them
 * only where a quarter of the cache is less than that. */
#define SIBLING_COST 512

/* ---- what a read takes ---- */

/* What is fetched for a regular selection: a box of whole chunks, or of elements where parts of chunks are asked for. */
struct box {
    uint64_t lo[BKT_MAX_RANK], hi[BKT_MAX_RANK];
};

static bool in_parts(const struct bkt_dsetio *io)
{
    return io->where == BKT_AT_OBJECTS ? bkt_stored_is_plain(io) && io->chunk_bytes > BKT_SLICE_MIN : !io->filtered;
}

static void box_of(const struct bkt_dsetio *io, const struct bkt_sel *s, struct box *out)
{
    bool hyper = s->kind == BKT_SEL_HYPER;
    for (unsigned d = 0; d < s->rank; d++) {
        uint64_t each = in_parts(io) ? 1 : io->cdims[d];
        out->lo[d]    = hyper ? s->start[d] / each : 0;
        out->hi[d]    = hyper ? (s->start[d] + (s->count[d] - 1) * s->stride[d] + s->block[d] - 1) / each : UINT64_MAX;
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

static bool same_place(const struct bkt_sel *a, const struct bkt_sel *b)
{
    return a->kind == b->kind && a->rank == b->rank && !memcmp(a->start, b->start, a->rank * sizeof *a->start);
}

/* ---- before a read ---- */

static int by_number(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

uint64_t bkt_ahead_tail(const struct bkt_id *id)
{
    uint64_t tail;
    memcpy(&tail, id->text + BKT_ID_LEN - sizeof tail, sizeof tail);
    return tail;
}

/* Jobs that fetch what the read needs.  Of siblings that wait the one that is read now is left out. */
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
    uint64_t tail = bkt_ahead_tail(&r->io->obj->id);
    if (job->dom != r->io->dom || !bsearch(&tail, job->tails, job->n, sizeof tail, by_number))
        return false;
    for (size_t i = 0; i < job->n; i++)
        if (strcmp(job->ids[i].text, r->io->obj->id.text) == 0) {
            if (!job->running)
                job->ids[i].text[0] = 0;
            return job->running;
        }
    return false;
}

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

void bkt_ahead_forget(struct bkt_dsetio *io)
{
    if (bkt_ahead_any())
        (void)bkt_ahead_settle(of_io, io, true, NULL);
}

void bkt_ahead_stop(struct bkt_domain *dom)
{
    if (bkt_ahead_any())
        (void)bkt_ahead_settle(of_dom, dom, true, NULL);
}

/* Same size, another place: the step between; false: no step. */
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

/* The selection `n` steps on, cut at the extent's end; false: outside. */
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
    (void)bkt_ahead_post(job);
}

/* The dimension that the program goes along, each step right behind the one before; the rank: it doesn't. */
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

/* `most` steps along `way` as one selection, the first of them k on; gives how many they are, at the extent's end fewer. */
static uint64_t steps_on(const struct bkt_sel *s, const int64_t *step, unsigned way, uint64_t k, uint64_t most, struct bkt_sel *out)
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

/* So many steps make a job: few long requests instead of many short ones. */
static uint64_t steps_together(const struct bkt_dsetio *io, const struct bkt_sel *now, unsigned way, uint64_t bytes)
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
    uint64_t            room  = bkt_min_u64(io->set->read_ahead, io->set->chunk_cache / AHEAD_PART) / bytes, n;
    unsigned            way   = way_of(now, p->step);
    uint64_t            each  = bkt_max_u64(bkt_min_u64(steps_together(io, now, way, bytes), room), 1);
    uint64_t            depth = bkt_min_u64(room, most * each);
    struct bkt_sel      next;
    struct box          before, box;
    if (in_parts(io) && each * bytes < io->set->near) /* near.c does that */
        return;
    box_of(io, p->posted && step_on(now, p->step, p->posted, &next) ? &next : now, &before);
    for (uint64_t k = p->posted; k + each <= depth && (n = steps_on(now, p->step, way, k + 1, each, &next)) > 0; k += n, before = box) {
        box_of(io, &next, &box);
        p->posted += n;
        if (memcmp(before.lo, box.lo, now->rank * sizeof *box.lo) != 0 || memcmp(before.hi, box.hi, now->rank * sizeof *box.hi) != 0)
            post_slab(io, &next); /* else it is in the same chunks */
    }
}

/* Programs that go through a dataset begin at its beginning.  So when the first read takes the first rows, whole ones, the
 * next rows are fetched on trial: 16 slabs of 16 MiB with 50 ms of work on each take 0.9 s instead of 1.1 so, and one who stops
 * there has lost two steps. */
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

/* How far to read ahead: farther as long as the program has to wait for it. */
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
        p->hits = expected ? p->hits + 1 : adjacent ? 2 : 1; /* two adjacent slabs are a pattern, other steps come twice first */
        memcpy(p->step, step, sizeof step);
    } else if (p->known && !same_place(&p->last, now)) {
        drop_unused(io);
        p->hits = 0;
    }
    bool first = !p->known && now->rank && guess(now, io->elem_size, p->step);
    p->known   = true;
    p->last    = *now;
    set_depth(p);
    if (first) {
        p->hits = 1;
        /* slabs of 24 MiB take 0.38 to 0.43 s with 1 step here or 2, but who stops after the first has lost 48 MiB with 2 */
        slabs_next(io, now, now->n_elems * io->elem_size > io->set->read_ahead / 4 ? 1 : FIRST_STEPS);
    } else if (p->hits >= 1 + (UINT64_C(1) << bkt_min_u64(p->misses, 16))) {
        slabs_next(io, now, p->depth);
    }
}

/* ---- siblings ---- */

/* How far ahead of a read, and by how much. */
struct reach {
    uint64_t each, room; /* bytes: of a dataset, of all of them */
    size_t   most, job;  /* datasets */
};

static void post_siblings(struct bkt_dsetio *io, struct bkt_ahead_note *note, const struct reach *r, const struct bkt_id *ids, size_t n)
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
        tails[i] = bkt_ahead_tail(&ids[i]);
    qsort(tails, n, sizeof *tails, by_number);
    note->last = ids[n - 1];
    bkt_domain_prefetch(io->dom, ids, n); /* while the jobs before it run */
    (void)bkt_ahead_post(job);
}

/* As many datasets like this one as a quarter of the cache takes, whole, and no more than MOST_AHEAD: by default 24 MiB, which in a
 * round trip of 30 ms are 0.8 GB/s.  What others among them take is seen when they are opened.  200 of 256 KiB take 0.36, 0.33, 0.44,
 * 0.58 s at 30 ms with all of 96 MiB, a half, a quarter, a 16th; of 8 MiB 0.51, 0.70, 1.1, 3.4 s and 33, 25, 17, 15 MiB (one run). */
static struct reach reach_of(const struct bkt_dsetio *io, const struct bkt_sel *now)
{
    uint64_t     read = now->n_elems * bkt_max_u64(io->elem_size, 1), size = bkt_ahead_size(io);
    struct reach r    = {.room = bkt_min_u64(io->set->read_ahead, io->set->chunk_cache / 4)};
    r.each = bkt_max_u64(bkt_min_u64(4 * bkt_min_u64(read, BKT_AHEAD_SIBLING), BKT_AHEAD_SIBLING), BKT_AHEAD_PARTLY);
    r.most = (size_t)bkt_min_u64(bkt_max_u64(r.room / bkt_max_u64(size <= r.each ? size : read, SIBLING_COST), 1), MOST_AHEAD);
    r.job  = bkt_min_u64(io->where == BKT_AT_OBJECTS ? OBJECT_JOB : FILE_JOB,
                         bkt_ceil_div(r.most, 4)); /* who comes to one that is under way waits for all of its job */
    return r;
}

/* Several jobs are kept ahead of the program: some whose chunks come, others whose metadata do. */
static void sibling_read(struct bkt_dsetio *io, struct bkt_ahead_note *note, const struct bkt_sel *now)
{
    BKT_CLEANUP(bkt_freep) struct bkt_id *ids = NULL;
    const struct reach                    r   = reach_of(io, now);
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
    if (n != 1 || reads[0].internal || !io->set->read_ahead || !io->cache || io->bad.code || io->where == BKT_AT_NONE ||
        !bkt_pipeline_builtin(&io->pipe) || bkt_store_is_local(bkt_domain_store(io->dom)) || bkt_dirty_of(io->dom, false))
        return;
    struct bkt_ahead_note *note = bkt_cache_ahead(io->cache);
    if (atomic_flag_test_and_set(&note->busy))
        return;
    if (!io->var)
        slab_read(io, reads[0].file);
    sibling_read(io, note, reads[0].file);
    atomic_flag_clear(&note->busy);
}
