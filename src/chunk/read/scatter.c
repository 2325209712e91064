/* Between a chunk's bytes and the caller's memory. */
#include "base/num.h"
#include "chunk/read/segments.h"

static void copy_run(const struct bkt_target *t, const struct bkt_grid_run *run, const unsigned char *src,
                     size_t *hint)
{
    size_t   es  = t->io->elem_size;
    uint64_t seq = run->seq, left = t->dst ? run->len : 0;
    while (left) {
        uint64_t off, n = bkt_min_u64(bkt_mem_layout_at(&t->mem, seq, &off, hint), left);
        if (t->rd->recast)
            bkt_recast_run(t->rd->recast, src, t->dst + (size_t)off * t->out_size, (size_t)n);
        else
            bkt_copy_run(t->dst + (size_t)off * es, src, (size_t)n * es);
        src += (size_t)n * es;
        seq += n, left -= n;
    }
}

void bkt_scatter(struct bkt_target *t, uint64_t k, const unsigned char *src)
{
    struct bkt_grid_iter it;
    struct bkt_grid_run  run;
    size_t               hint = 0;
    bkt_grid_iter(&it, &t->grid, k, 0, UINT64_MAX);
    while (bkt_grid_next(&it, &run))
        copy_run(t, &run, src + (size_t)run.off * t->io->elem_size, &hint);
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

void bkt_scatter_planes(struct bkt_target *t, uint64_t k, const unsigned char *src)
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

void bkt_scatter_seg(const struct bkt_seg *s, const unsigned char *src)
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
        bkt_recast_run(t->rd->recast, some, dst, (size_t)k);
    }
}

void bkt_scatter_fill_seg(const struct bkt_seg *s)
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

void bkt_scatter_fill(struct bkt_target *t, uint64_t k)
{
    struct bkt_seg all = {.t = t, .k = k, .n_runs = UINT64_MAX};
    if (t->io->var)
        t->held[k] = bkt_cache_entry_retain(t->io->fill);
    bkt_scatter_fill_seg(&all);
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
    struct bkt_grid_iter it;
    struct bkt_grid_run  run;
    bkt_grid_iter(&it, &t->grid, k, 0, UINT64_MAX);
    if (it.end != 1) /* points may be selected twice */
        return NULL;
    return bkt_grid_next(&it, &run) && run.len == t->io->chunk_elems ? one_place(t, &run) : NULL;
}

unsigned char *bkt_scatter_direct(const struct bkt_seg *segs, size_t n)
{
    unsigned char *first = NULL, *next = NULL;
    uint64_t       at = segs[0].off;
    for (size_t i = 0; i < n; i++) {
        const struct bkt_seg *s = &segs[i];
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
