/* Ways to receive bytes that are used while the rest is on its way. */
#include <string.h>

#include "base/num.h"
#include "base/os/scratch_pool.h"
#include "chunk/read/fetch_task.h"

/* ---- ways `straight` and `runs` ---- */

/* Uncompressed bytes that go to the caller's memory as they arrive.  Bytes that
 * no cache keeps go there run of elements by run of elements, if not in one piece.  Otherwise a merged range
 * would be received into memory of its own first, whose fresh pages cost CPU time. */

static int use_straight(struct bkt_fetch_task *k, struct bkt_err *err)
{
    const struct bkt_read_segment *s = k->range.segs;
    (void)err;
    bkt_decode_keep_copy(k->call, s->t->io->cache, s->file->space, s->file->base + k->range.off, k->bytes,
                  (size_t)k->range.len);
    return BKT_OK;
}

const struct bkt_way bkt_way_straight = {.size = sizeof(struct bkt_fetch_task), .use = use_straight};

/* ---- way `runs` ---- */

/* How far the body of one request has come. */
struct runs {
    const struct bkt_range *range;
    size_t                  at_seg, hint;
    uint64_t                off; /* of the body in the file */
    uint64_t                at;  /* next byte of the file */
    struct bkt_grid_iter    it;
    uint64_t run_off, seq, done, left; /* the run: place in the file, in the selection, bytes copied and
                                          to come */
    bool                    open;
};
struct runs_task {
    struct bkt_fetch_task task;
    struct runs     runs[]; /* one for each request */
};

bool bkt_receive_runs_fit(const struct bkt_read_segment *segs, size_t n)
{
    uint64_t end = 0;
    for (size_t i = 0; i < n; i++) {
        if (segs[i].filtered || segs[i].t->grid.irregular || segs[i].t->rd->recast ||
            (i && segs[i].off < end))
            return false;
        end = segs[i].off + segs[i].len;
    }
    return true;
}

static void open_seg(struct runs *c, size_t i)
{
    const struct bkt_read_segment *s = &c->range->segs[i];
    c->at_seg               = i;
    if (i < c->range->n_segs) {
        bkt_grid_iter(&c->it, &s->t->grid, s->k, s->run, s->n_runs);
        c->left = 0;
    }
}

/* Finds the next run of the segment, as bytes of the file.  False: no run follows. */
static bool next_run(struct runs *c)
{
    const struct bkt_read_segment *s = &c->range->segs[c->at_seg];
    uint64_t              es = s->t->io->elem_size;
    struct bkt_grid_run   run;
    if (!bkt_grid_next(&c->it, &run))
        return false;
    if (s->take)
        run = (struct bkt_grid_run){run.off + s->skip, run.seq + s->skip, s->take};
    c->run_off = s->chunk_off + run.off * es;
    c->seq     = run.seq;
    c->left    = run.len * es;
    c->done    = 0;
    return true;
}

/* Bytes of the run, wherever in an element they begin and end. */
static void copy(struct runs *c, const unsigned char *p, uint64_t n)
{
    const struct bkt_target *t  = c->range->segs[c->at_seg].t;
    uint64_t                 es = t->io->elem_size;
    while (n) {
        uint64_t off, elems = bkt_mem_layout_at(&t->mem, c->seq + c->done / es, &off, &c->hint);
        uint64_t in = c->done % es, k = elems > n / es + 1 ? n : bkt_min_u64(n, elems * es - in);
        memcpy(t->dst + (size_t)(off * es + in), p, (size_t)k);
        c->done += k;
        c->left -= k;
        p += k, n -= k;
    }
}

/* From byte `at` of the file on. */
static void seek(struct runs *c, uint64_t at)
{
    size_t i = 0;
    while (i < c->range->n_segs && c->range->segs[i].off + c->range->segs[i].len <= at)
        i++;
    open_seg(c, i);
    c->at = at;
}

static void skip_to(struct runs *c, const unsigned char **p, size_t *n, uint64_t to)
{
    uint64_t k = bkt_min_u64(to - c->at, *n);
    c->at += k;
    *p += k;
    *n -= (size_t)k;
}

static void sink(void *arg, uint64_t at, const void *data, size_t n)
{
    struct runs         *c = arg;
    const unsigned char *p = data;
    if (!c->open || c->at != c->off + at)
        seek(c, c->off + at);
    c->open = true;
    while (n && c->at_seg < c->range->n_segs) {
        const struct bkt_read_segment *s = &c->range->segs[c->at_seg];
        if (!c->left && !next_run(c)) {
            skip_to(c, &p, &n, bkt_max_u64(c->at, s->off + s->len));
            if (c->at >= s->off + s->len)
                open_seg(c, c->at_seg + 1);
            continue;
        }
        uint64_t from = c->run_off + c->done;
        if (c->at < from) {
            skip_to(c, &p, &n, from);
            continue;
        }
        uint64_t behind = bkt_min_u64(c->at - from, c->left); /* of a run that begins before the part does */
        c->done += behind;
        c->left -= behind;
        uint64_t k = bkt_min_u64(c->left, n);
        copy(c, p, k);
        c->at += k;
        p += k;
        n -= (size_t)k;
    }
    c->at += n;
}

static void aim_runs(struct bkt_fetch_task *k, struct bkt_req *q)
{
    struct runs *c = &((struct runs_task *)k)->runs[k->n_reqs];
    c->range       = &k->range;
    c->off         = q->off;
    q->sink        = sink;
    q->sink_arg    = c;
}

const struct bkt_way bkt_way_runs = {
    .size = sizeof(struct runs_task), .per_request = sizeof(struct runs), .aim = aim_runs};

/* Way `chunks`: filtered chunks that come in one range.  Each is received into memory of its own and decoded
 * while the rest is on its way.
 *
 * So the compressed bytes of all requests are never in memory together, and decoding begins before a request
 * is complete.  The memory of one chunk, and its place in the processor's cache, serve for the next chunk.
 *
 * A request that is sent again may bring a chunk's bytes a second time, perhaps of a newer version of the
 * file.  They wait until the first bytes have been decoded and the request has ended, and then replace the
 * result of the first ones.  A chunk that could not be decoded is decoded once more at the end.
 * Only then the bytes are certain to be the file's. */

#define ROUND (UINT64_C(64) << 10) /* bytes; rounded up, so that the memory of one chunk serves for the next,
                                      slightly longer one */

bool bkt_receive_chunks_fit(const struct bkt_read_segment *segs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!segs[i].filtered || !segs[i].len || (i && segs[i].off < segs[i - 1].off + segs[i - 1].len))
            return false;
    return n > 1;
}

static void begin(struct bkt_fetch_task *k)
{
    struct bkt_receive_chunks_task *c = (struct bkt_receive_chunks_task *)k;
    c->at = k->range.off;
    for (size_t i = 0; i < k->range.n_segs; i++) {
        c->pieces[i].task = c;
        c->pieces[i].seg  = &k->range.segs[i];
        atomic_store(&c->pieces[i].users, 2);
    }
    atomic_store(&k->users, k->range.n_segs + 1);
}

static void aim(struct bkt_fetch_task *k, struct bkt_req *q)
{
    q->sink     = bkt_receive_chunks_sink;
    q->sink_arg = k;
}

static void submit(struct bkt_receive_chunks_piece *p)
{
    bkt_window_submit(&p->task->task.call->window, p->seg->t->io->pipe.by_caller, &p->job);
}

/* The job or the request has finished with the piece.  After both have finished, the piece is unused: if
 * bytes are left in `in`, they are decoded a last time. */
static void leave(struct bkt_receive_chunks_piece *p)
{
    struct bkt_fetch_task *k = &p->task->task;
    if (atomic_fetch_sub(&p->users, 1) != 1)
        return;
    if (p->again) {
        bkt_scratch_give(p->in);
        p->in    = p->again;
        p->again = NULL;
    }
    if (p->in && !atomic_load(k->call->cancel)) {
        atomic_store(&p->users, 1);
        p->last = true;
        submit(p);
        return;
    }
    bkt_scratch_give(p->in);
    bkt_fetch_task_leave(k);
}

static void piece_job(struct bkt_job *job)
{
    struct bkt_receive_chunks_piece *p = BKT_OWNER(struct bkt_receive_chunks_piece, job, job);
    struct bkt_fetch_task         *k = &p->task->task;
    struct bkt_err           err;
    bkt_err_clear(&err);
    int rc = atomic_load(k->call->cancel)
                 ? BKT_OK
                 : bkt_decode_chunk(k->call, p->seg, p->in, (size_t)p->seg->len, &err);
    if (rc < 0 && p->last)
        bkt_fetch_task_fail(k, p->seg, rc, &err);
    if (rc == BKT_OK || p->last) {
        bkt_scratch_give(p->in);
        p->in = NULL;
    }
    leave(p);
}

static void complete(struct bkt_receive_chunks_task *c)
{
    struct bkt_receive_chunks_piece *p = &c->pieces[c->at_seg++];
    unsigned char           *b = c->buf;
    c->buf                     = NULL;
    if (p->given) {
        bkt_scratch_give(p->again);
        p->again = b;
        return;
    }
    p->given   = true;
    p->in      = b;
    p->job.run = piece_job;
    submit(p);
}

/* Bytes come again.  A store begins again at the start of the range, or goes on at its last byte.  If a store
 * began elsewhere, the chunks around that place would be incomplete, and check() would report them. */
static void start_over(struct bkt_receive_chunks_task *c, uint64_t at)
{
    bkt_scratch_give(c->buf);
    c->buf    = NULL;
    c->at_seg = 0;
    c->lost   = at > 0;
    c->at     = c->lost ? UINT64_MAX : c->task.range.off;
}

void bkt_receive_chunks_sink(void *task, uint64_t at, const void *data, size_t n)
{
    struct bkt_receive_chunks_task *c = task;
    const struct bkt_range *r = &c->task.range;
    const unsigned char    *p = data;
    if (r->off + at != c->at)
        start_over(c, at);
    if (c->lost)
        return;
    while (n && c->at_seg < r->n_segs && !c->no_memory) {
        const struct bkt_read_segment *s = &r->segs[c->at_seg];
        uint64_t              skip = s->off - bkt_min_u64(c->at, s->off), m;
        if (!skip && !c->buf &&
            !(c->buf = bkt_scratch_take((size_t)((s->len + ROUND - 1) / ROUND * ROUND)))) {
            c->no_memory = true;
            break;
        }
        m = bkt_min_u64(n, skip ? skip : s->off + s->len - c->at);
        if (!skip)
            memcpy(c->buf + (size_t)(c->at - s->off), p, (size_t)m);
        c->at += m;
        p += m;
        n -= (size_t)m;
        if (!skip && c->at == s->off + s->len)
            complete(c);
    }
    c->at += n;
}

static int check(const struct bkt_fetch_task *k, struct bkt_err *err)
{
    const struct bkt_receive_chunks_task *c = (const struct bkt_receive_chunks_task *)k;
    BKT_FAIL_IF(err, c->no_memory, BKT_ENOMEM, "out of memory for a chunk's stored bytes");
    for (size_t i = 0; i < k->range.n_segs; i++)
        BKT_FAIL_IF(err, !c->pieces[i].given || c->lost, BKT_EFORMAT, "the answer lacks bytes %llu+%llu",
                    (unsigned long long)k->range.segs[i].off, (unsigned long long)k->range.segs[i].len);
    return BKT_OK;
}

/* The request has ended, with success or not. */
static void arrived(struct bkt_fetch_task *k, bool ok)
{
    struct bkt_receive_chunks_task *c = (struct bkt_receive_chunks_task *)k;
    (void)ok;
    bkt_scratch_give(c->buf);
    c->buf = NULL;
    for (size_t i = 0, n = k->range.n_segs; i < n; i++)
        if (c->pieces[i].given)
            leave(&c->pieces[i]);
        else
            bkt_fetch_task_leave(k);
    bkt_fetch_task_leave(k);
}

const struct bkt_way bkt_way_chunks = {.owns_bytes = true,
                                       .size = sizeof(struct bkt_receive_chunks_task),
                                       .per_chunk = sizeof(struct bkt_receive_chunks_piece),
                                       .begin = begin,
                                       .aim = aim,
                                       .check = check,
                                       .arrived = arrived};
