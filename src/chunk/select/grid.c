#include "chunk/select/grid.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/num.h"

/* ---- regular selections as a product of one ordinal range per dimension ---- */

struct dimsel {
    uint64_t start, stride, block, n; /* n: selected coordinates */
};

/* Dimension @p d of a regular selection.  Touching blocks are joined into one. */
static int dim_of(const struct bkt_sel *s, unsigned d, struct dimsel *out, struct bkt_err *err)
{
    uint64_t dim = s->dims[d];
    if (s->kind == BKT_SEL_ALL) {
        *out = (struct dimsel){0, dim, dim, dim};
        return BKT_OK;
    }
    uint64_t start = s->start[d], stride = s->stride[d], count = s->count[d], block = s->block[d], last, end;
    if (!count || !block) {
        *out = (struct dimsel){0, 1, 1, 0};
        return BKT_OK;
    }
    if (count == 1)
        stride = block;
    BKT_FAIL_IF(err, stride < block, BKT_EINVAL, "selection: blocks of dimension %u overlap", d);
    BKT_FAIL_IF(err,
                !bkt_mul_u64(count - 1, stride, &last) || !bkt_add_u64(last, start, &last) ||
                    !bkt_add_u64(last, block, &end) || end > dim,
                BKT_EINVAL, "selection leaves the extent in dimension %u", d);
    *out = (struct dimsel){start, stride, block, count * block};
    if (stride == block)
        out->stride = out->block = out->n;
    return BKT_OK;
}

static uint64_t coord_of(uint64_t start, uint64_t stride, uint64_t block, uint64_t ord)
{
    return start + ord / block * stride + ord % block;
}

/* Number of selected coordinates below @p x. */
static uint64_t ordinals_below(const struct dimsel *s, uint64_t x)
{
    if (x <= s->start)
        return 0;
    uint64_t rel = x - s->start, b = rel / s->stride;
    if (b >= s->n / s->block)
        return s->n;
    return b * s->block + bkt_min_u64(rel % s->stride, s->block);
}

/* The chunk indices that dimension @p d of the selection touches. */
static int spans_of(struct bkt_grid *g, unsigned d, const struct dimsel *s, struct bkt_err *err)
{
    uint64_t cd = g->cdims[d], n_alloc = 0;
    uint64_t first = s->start / cd, last = coord_of(s->start, s->stride, s->block, s->n - 1) / cd;
    n_alloc        = bkt_min_u64(last - first + 1, s->n);
    if (n_alloc > SIZE_MAX / sizeof *g->span[d])
        BKT_NOMEM(err);
    struct bkt_grid_span *v = malloc((size_t)n_alloc * sizeof *v);
    BKT_NEED(err, v);
    g->span[d] = v;
    for (uint64_t ord = 0; ord < s->n; g->n_span[d]++) {
        uint64_t c  = coord_of(s->start, s->stride, s->block, ord) / cd;
        uint64_t hi = c == last ? s->n : ordinals_below(s, (c + 1) * cd);
        v[g->n_span[d]] = (struct bkt_grid_span){c, ord, hi};
        ord             = hi;
    }
    return BKT_OK;
}

static int init_regular(struct bkt_grid *g, const struct bkt_sel *sel, struct bkt_err *err)
{
    g->n_elems = g->n_chunks = 1;
    for (unsigned d = g->rank; d-- > 0;) {
        struct dimsel s = {0, 1, 1, 1};
        if (sel->rank)
            BKT_PASS(dim_of(sel, d, &s, err));
        g->start[d] = s.start, g->stride[d] = s.stride, g->block[d] = s.block, g->n_sel[d] = s.n;
        g->sstride[d] = g->n_elems;
        g->n_elems *= s.n; /* cannot wrap: no more than the extent's product */
    }
    if (!g->n_elems) {
        g->n_chunks = 0;
        return BKT_OK;
    }
    for (unsigned d = 0; d < g->rank; d++) {
        struct dimsel s = {g->start[d], g->stride[d], g->block[d], g->n_sel[d]};
        BKT_PASS(spans_of(g, d, &s, err));
        g->n_chunks *= g->n_span[d];
    }
    return BKT_OK;
}

/* ---- irregular selections ---- */

struct pieces {
    struct bkt_grid_piece *v;
    size_t                 n, cap;
    bool                   sorted;
};

static int add_piece(struct pieces *p, const struct bkt_grid_piece *x)
{
    if (p->n) {
        struct bkt_grid_piece *l = &p->v[p->n - 1];
        if (l->chunk == x->chunk && l->off + l->len == x->off && l->seq + l->len == x->seq) {
            l->len += x->len;
            return BKT_OK;
        }
        if (l->chunk > x->chunk || (l->chunk == x->chunk && l->off > x->off))
            p->sorted = false;
    }
    if (bkt_list_room(&p->v, p->n, &p->cap, sizeof *p->v) < 0)
        return BKT_ENOMEM;
    p->v[p->n++] = *x;
    return BKT_OK;
}

/* The extent with trailing dimensions that a chunk covers exactly folded into one: rows get longer. */
struct folded {
    unsigned rank;
    uint64_t dims[BKT_MAX_RANK], cdims[BKT_MAX_RANK], n_grid[BKT_MAX_RANK];
};
static void fold(const struct bkt_grid *g, struct folded *f)
{
    f->rank = g->rank;
    while (f->rank > 1 && g->dims[f->rank - 1] == g->cdims[f->rank - 1])
        f->rank--;
    for (unsigned d = 0; d < f->rank; d++)
        f->dims[d] = g->dims[d], f->cdims[d] = g->cdims[d], f->n_grid[d] = g->n_grid[d];
    for (unsigned d = f->rank; d < g->rank; d++)
        f->dims[f->rank - 1] *= g->dims[d], f->cdims[f->rank - 1] *= g->cdims[d];
}

/* Cut one run of the extent at chunk borders. */
static int cut(const struct folded *f, const struct bkt_run *r, uint64_t seq, struct pieces *p)
{
    uint64_t off = r->off, left = r->len;
    while (left) {
        uint64_t rest = off, chunk = 0, in = 0, step = 1, gstep = 1, take = 0;
        for (unsigned d = f->rank; d-- > 0;) {
            uint64_t c = rest % f->dims[d];
            rest /= f->dims[d];
            if (d == f->rank - 1)
                take = bkt_min_u64(f->dims[d] - c, f->cdims[d] - c % f->cdims[d]);
            chunk += c / f->cdims[d] * gstep;
            in += c % f->cdims[d] * step;
            gstep *= f->n_grid[d];
            step *= f->cdims[d];
        }
        take                    = bkt_min_u64(take, left);
        struct bkt_grid_piece x = {chunk, in, seq, take};
        BKT_PASS(add_piece(p, &x));
        off += take, seq += take, left -= take;
    }
    return BKT_OK;
}

static int by_chunk(const void *a, const void *b)
{
    const struct bkt_grid_piece *x = a, *y = b;
    if (x->chunk != y->chunk)
        return x->chunk < y->chunk ? -1 : 1;
    if (x->off != y->off)
        return x->off < y->off ? -1 : 1;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static int index_chunks(struct bkt_grid *g, struct bkt_err *err)
{
    for (size_t i = 0; i < g->n_pieces; i++)
        g->n_chunks += i == 0 || g->piece[i].chunk != g->piece[i - 1].chunk;
    g->first = malloc(((size_t)g->n_chunks + 1) * sizeof *g->first);
    BKT_NEED(err, g->first);
    size_t k = 0;
    for (size_t i = 0; i < g->n_pieces; i++)
        if (i == 0 || g->piece[i].chunk != g->piece[i - 1].chunk)
            g->first[k++] = i;
    g->first[k] = g->n_pieces;
    return BKT_OK;
}

static int init_irregular(struct bkt_grid *g, const struct bkt_sel *sel, uint64_t total, struct bkt_err *err)
{
    struct pieces p = {.sorted = true};
    struct folded f;
    int           rc = BKT_OK;
    fold(g, &f);
    g->irregular = true;
    for (size_t i = 0; rc == BKT_OK && i < sel->n_runs; i++) {
        const struct bkt_run *r = &sel->runs[i];
        uint64_t              end;
        if (!r->len)
            continue;
        if (!bkt_add_u64(r->off, r->len, &end) || end > total) {
            free(p.v);
            BKT_FAIL(err, BKT_EINVAL, "selection: elements %llu+%llu are outside the extent of %llu",
                     (unsigned long long)r->off, (unsigned long long)r->len, (unsigned long long)total);
        }
        rc = cut(&f, r, g->n_elems, &p);
        g->n_elems += r->len;
    }
    if (!p.sorted && rc == BKT_OK)
        qsort(p.v, p.n, sizeof *p.v, by_chunk);
    g->piece    = p.v;
    g->n_pieces = p.n;
    BKT_PASS_MEM(err, rc);
    return index_chunks(g, err);
}

/* ---- both ---- */

void bkt_grid_none(struct bkt_grid *g)
{
    g->rank        = 0;
    g->n_chunks    = 0;
    g->n_elems     = 0;
    g->chunk_elems = 0;
    g->irregular   = false;
    g->piece       = NULL;
    g->n_pieces    = 0;
    g->first       = NULL;
}

int bkt_grid_init(struct bkt_grid *g, const struct bkt_sel *sel, const uint64_t *cdims, struct bkt_err *err)
{
    uint64_t total = 1;
    bool     fits = true, empty = false;
    bkt_grid_none(g);
    BKT_FAIL_IF(err, sel->rank > BKT_MAX_RANK, BKT_EINVAL, "selection of rank %u: HDF5's limit is %d",
                sel->rank, BKT_MAX_RANK);
    g->rank        = sel->rank ? sel->rank : 1;
    g->chunk_elems = 1;
    for (unsigned d = 0; d < g->rank; d++) {
        g->span[d]   = NULL;
        g->n_span[d] = 0;
    }
    for (unsigned d = g->rank; d-- > 0;) {
        g->dims[d]  = sel->rank ? sel->dims[d] : 1;
        g->cdims[d] = cdims[d];
        BKT_FAIL_IF(err, !cdims[d], BKT_EFORMAT, "chunk dimension %u is 0", d);
        g->cstride[d] = g->chunk_elems;
        g->n_grid[d]  = bkt_ceil_div(g->dims[d], cdims[d]);
        fits  = fits && bkt_mul_u64(total, g->dims[d], &total);
        empty = empty || !g->dims[d];
        BKT_FAIL_IF(err, !bkt_mul_u64(g->chunk_elems, cdims[d], &g->chunk_elems), BKT_EFORMAT,
                    "chunk has 2^64 elements or more");
    }
    if (sel->kind == BKT_SEL_NONE || empty)
        return BKT_OK;
    BKT_FAIL_IF(err, !fits, BKT_EFORMAT, "extent has 2^64 elements or more");
    int rc = sel->kind == BKT_SEL_RUNS ? init_irregular(g, sel, total, err) : init_regular(g, sel, err);
    if (rc < 0)
        bkt_grid_fini(g);
    return rc;
}

void bkt_grid_fini(struct bkt_grid *g)
{
    if (!g)
        return;
    for (unsigned d = 0; d < g->rank; d++)
        free(g->span[d]);
    free(g->piece);
    free(g->first);
    bkt_grid_none(g);
}

/* Finds the span of each dimension that belongs to chunk k. */
static void span_of(const struct bkt_grid *g, uint64_t k, const struct bkt_grid_span **out)
{
    unsigned d = g->rank; /* at least 1: a scalar counts as one element */
    do {
        d--;
        out[d] = &g->span[d][k % g->n_span[d]];
        k /= g->n_span[d];
    } while (d > 0);
}

void bkt_grid_coord(const struct bkt_grid *g, uint64_t k, uint64_t *coord)
{
    if (g->irregular) {
        uint64_t linear = g->piece[g->first[k]].chunk;
        for (unsigned d = g->rank; d-- > 0; linear /= g->n_grid[d])
            coord[d] = linear % g->n_grid[d];
        return;
    }
    const struct bkt_grid_span *s[BKT_MAX_RANK];
    span_of(g, k, s);
    for (unsigned d = 0; d < g->rank; d++)
        coord[d] = s[d]->chunk;
}

uint64_t bkt_grid_linear(const struct bkt_grid *g, const uint64_t *coord)
{
    uint64_t l = 0;
    for (unsigned d = 0; d < g->rank; d++)
        l = l * g->n_grid[d] + coord[d];
    return l;
}

/* Sets up lo, hi, m and the number of stretches of dimension m; the chunk's number of runs. */
static uint64_t prepare(struct bkt_grid_iter *it, const struct bkt_grid *g, uint64_t k)
{
    const struct bkt_grid_span *s[BKT_MAX_RANK];
    unsigned                    m = g->rank - 1;
    span_of(g, k, s);
    /* a dimension that is wholly selected and wholly in the chunk joins the next slower one */
    while (m > 0 && s[m]->hi - s[m]->lo == g->cdims[m] && g->n_sel[m] == g->cdims[m])
        m--;
    uint64_t n = s[m]->hi - 1;
    it->n_segs = n = n / g->block[m] - s[m]->lo / g->block[m] + 1;
    it->m          = m;
    for (unsigned d = 0; d <= m; d++) {
        it->lo[d] = s[d]->lo, it->hi[d] = s[d]->hi;
        it->org[d] = s[d]->chunk * g->cdims[d];
        if (d < m)
            n *= it->hi[d] - it->lo[d];
    }
    return n;
}

uint64_t bkt_grid_n_runs(const struct bkt_grid *g, uint64_t k)
{
    struct bkt_grid_iter it;
    return g->irregular ? g->first[k + 1] - g->first[k] : prepare(&it, g, k);
}

static void set_base(struct bkt_grid_iter *it)
{
    const struct bkt_grid *g = it->g;
    it->base_off = it->base_seq = 0;
    for (unsigned d = 0; d < it->m; d++) {
        uint64_t c = coord_of(g->start[d], g->stride[d], g->block[d], it->ord[d]);
        it->base_off += (c - it->org[d]) * g->cstride[d];
        it->base_seq += it->ord[d] * g->sstride[d];
    }
}

void bkt_grid_iter(struct bkt_grid_iter *it, const struct bkt_grid *g, uint64_t k, uint64_t first, uint64_t n)
{
    uint64_t n_runs;
    it->g  = g;
    it->at = first;
    if (g->irregular) {
        it->piece = g->piece + g->first[k];
        n_runs    = g->first[k + 1] - g->first[k];
    } else {
        n_runs     = prepare(it, g, k);
        uint64_t r = first / it->n_segs;
        it->seg    = first % it->n_segs;
        for (unsigned d = it->m; d-- > 0;) {
            uint64_t w = it->hi[d] - it->lo[d];
            it->ord[d] = it->lo[d] + r % w;
            r /= w;
        }
        set_base(it);
    }
    it->end = first >= n_runs ? first : first + bkt_min_u64(n, n_runs - first);
}

bool bkt_grid_next(struct bkt_grid_iter *it, struct bkt_grid_run *run)
{
    if (it->at >= it->end)
        return false;
    const struct bkt_grid *g = it->g;
    if (g->irregular) {
        const struct bkt_grid_piece *p = &it->piece[it->at++];
        *run                           = (struct bkt_grid_run){p->off, p->seq, p->len};
        return true;
    }
    unsigned m     = it->m;
    uint64_t block = g->block[m], first = it->lo[m] / block + it->seg;
    uint64_t a = bkt_max_u64(it->lo[m], first * block), b = it->hi[m];
    if (b - a > block - a % block)
        b = a + (block - a % block);
    run->off = it->base_off + (coord_of(g->start[m], g->stride[m], block, a) - it->org[m]) * g->cstride[m];
    run->seq = it->base_seq + a * g->sstride[m];
    run->len = (b - a) * g->cstride[m];
    it->at++;
    if (++it->seg == it->n_segs) {
        it->seg = 0;
        if (m > 0 && it->at < it->end) {
            for (unsigned d = m; d-- > 0; it->ord[d] = it->lo[d])
                if (++it->ord[d] < it->hi[d])
                    break;
            set_base(it);
        }
    }
    return true;
}

bool bkt_grid_is_whole(const struct bkt_grid *g, uint64_t k, struct bkt_grid_run *run)
{
    struct bkt_grid_iter it;
    bkt_grid_iter(&it, g, k, 0, UINT64_MAX);
    /* the length counts, too: points may be selected twice */
    return it.end == 1 && bkt_grid_next(&it, run) && run->len == g->chunk_elems;
}

uint64_t bkt_grid_n_elems(const struct bkt_grid *g, uint64_t k)
{
    struct bkt_grid_iter it;
    struct bkt_grid_run  run;
    uint64_t             n = 0;
    bkt_grid_iter(&it, g, k, 0, UINT64_MAX);
    while (bkt_grid_next(&it, &run))
        n += run.len;
    return n;
}
