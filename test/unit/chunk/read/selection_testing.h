/* For the tests of reading: random selections, and a plain model that lists every selected element. */
#ifndef BKT_SELECTION_TESTING_H
#define BKT_SELECTION_TESTING_H

#include "chunk/chunk.h"
#include "unit/chunk/filter/filter_testing.h"
#include "base/num.h"

/** Elements selected, as offsets in the extent, in selection order.  free(). */
static inline uint64_t *model_of(const struct bkt_sel *s, uint64_t *n)
{
    uint64_t total = 1, *v;
    for (unsigned d = 0; d < s->rank; d++)
        total *= s->dims[d];
    *n = 0;
    v  = need((size_t)(s->kind == BKT_SEL_RUNS ? s->n_elems : total) * sizeof *v);
    if (s->kind == BKT_SEL_RUNS) {
        for (size_t i = 0; i < s->n_runs; i++)
            for (uint64_t j = 0; j < s->runs[i].len; j++)
                v[(*n)++] = s->runs[i].off + j;
        return v;
    }
    uint64_t from = 0;
    if (s->kind == BKT_SEL_HYPER && s->rank == 1 && s->count[0] == 1) /* else long extents take long */
        from = s->start[0], total = from + s->block[0];
    for (uint64_t e = from; s->kind != BKT_SEL_NONE && e < total; e++) {
        uint64_t rest = e;
        bool     in   = true;
        for (unsigned d = s->rank; d-- > 0; rest /= s->dims[d]) {
            uint64_t c = rest % s->dims[d] - s->start[d], stride = s->count[d] == 1 ? s->block[d] : s->stride[d];
            if (s->kind == BKT_SEL_HYPER) /* below start: wraps, so it is beyond the last block */
                in = in && s->count[d] && c / stride < s->count[d] && c % stride < s->block[d];
        }
        if (in)
            v[(*n)++] = e;
    }
    return v;
}

static inline uint64_t below(uint32_t *s, uint64_t n) { return n ? xorshift32(s) % n : 0; }

/** A random selection of a random kind in s->rank, s->dims (all dims > 0); runs are malloc'ed. */
static inline void random_sel(struct bkt_sel *s, uint32_t *seed)
{
    uint64_t total = 1;
    for (unsigned d = 0; d < s->rank; d++)
        total *= s->dims[d];
    s->runs    = NULL;
    s->n_runs  = 0;
    s->n_elems = total;
    switch (below(seed, 8)) {
    case 0: s->kind = BKT_SEL_ALL; return;
    case 1: /* points, anywhere, also twice */
    case 2: /* ascending runs, as an irregular hyperslab */
        s->kind    = BKT_SEL_RUNS;
        s->n_elems = 0;
        s->runs    = need(64 * sizeof *s->runs);
        if (below(seed, 2)) {
            for (uint64_t at = below(seed, 5); at < total && s->n_runs < 64; at += 1 + below(seed, total)) {
                uint64_t len = 1 + below(seed, bkt_min_u64(total - at, 40));
                s->runs[s->n_runs++] = (struct bkt_run){at, len};
                s->n_elems += len;
                at += len;
            }
        } else {
            for (uint64_t n = below(seed, 64); n > 0; n--, s->n_elems++)
                s->runs[s->n_runs++] = (struct bkt_run){below(seed, total), 1};
        }
        return;
    default: break;
    }
    s->kind    = s->rank ? BKT_SEL_HYPER : BKT_SEL_ALL;
    s->n_elems = 1;
    for (unsigned d = 0; d < s->rank; d++) {
        s->start[d]  = below(seed, s->dims[d]);
        s->block[d]  = 1 + below(seed, s->dims[d] - s->start[d]);
        if (below(seed, 2))
            s->block[d] = 1 + below(seed, bkt_min_u64(s->block[d], 3));
        s->stride[d] = s->block[d] + below(seed, 4);
        s->count[d]  = 1 + below(seed, (s->dims[d] - s->start[d] - s->block[d]) / s->stride[d] + 1);
        if (below(seed, 4) == 0)
            s->start[d] = 0, s->count[d] = 1, s->stride[d] = 1, s->block[d] = s->dims[d];
        s->n_elems *= s->count[d] * s->block[d];
    }
}

#endif
