/* Ways `straight` and `runs`: uncompressed bytes that go to the caller's memory as they arrive.  Bytes that
 * no cache keeps go there run of elements by run of elements, if not in one piece.  Otherwise a merged range
 * would be received into memory of its own first, whose fresh pages cost CPU time. */
#include <string.h>

#include "base/num.h"
#include "chunk/read/fetch_task.h"

/* ---- way `straight` ---- */

static int use_straight(struct bkt_fetch_task *k, struct bkt_err *err)
{
    const struct bkt_seg *s = k->range.segs;
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

bool bkt_receive_runs_fit(const struct bkt_seg *segs, size_t n)
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
    const struct bkt_seg *s = &c->range->segs[i];
    c->at_seg               = i;
    if (i < c->range->n_segs) {
        bkt_grid_iter(&c->it, &s->t->grid, s->k, s->run, s->n_runs);
        c->left = 0;
    }
}

/* Finds the next run of the segment, as bytes of the file.  False: there are no more runs. */
static bool next_run(struct runs *c)
{
    const struct bkt_seg *s  = &c->range->segs[c->at_seg];
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
        const struct bkt_seg *s = &c->range->segs[c->at_seg];
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
