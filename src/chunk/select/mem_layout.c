/* Selection order -> place in the caller's memory. */
#include "chunk/select/grid.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"

static int init_runs(struct bkt_mem_layout *m, const struct bkt_sel *sel, struct bkt_err *err)
{
    m->kind   = BKT_MEM_RUNS;
    m->runs   = sel->runs;
    m->n_runs = sel->n_runs;
    m->before = calloc(sel->n_runs + 1, sizeof *m->before);
    BKT_NEED(err, m->before);
    for (size_t i = 0; i < sel->n_runs; i++)
        BKT_FAIL_IF(err, !bkt_add_u64(m->before[i], sel->runs[i].len, &m->before[i + 1]), BKT_EINVAL,
                    "memory selection: 2^64 elements or more");
    m->n_elems = m->before[sel->n_runs];
    return BKT_OK;
}

/* Adds one regular dimension, slower than those in @p m so far (m->rank dimensions, fastest first). */
static int add_dim(struct bkt_mem_layout *m, const struct bkt_sel *s, unsigned d, uint64_t mstride,
                   struct bkt_err *err)
{
    uint64_t start = s->start[d], stride = s->stride[d], count = s->count[d], block = s->block[d], end;
    if (count == 1)
        stride = block;
    if (!count || !block) {
        m->n_elems = 0;
        return BKT_OK;
    }
    BKT_FAIL_IF(err,
                stride < block || !bkt_mul_u64(count - 1, stride, &end) || !bkt_add_u64(end, start, &end) ||
                    !bkt_add_u64(end, block, &end) || end > s->dims[d],
                BKT_EINVAL, "memory selection leaves the extent in dimension %u", d);
    uint64_t n = count * block;
    if (stride == block)
        stride = block = n;
    m->n_elems *= n;
    /* the faster dimension taken whole: one longer row */
    unsigned f = m->rank - 1;
    if (m->rank && m->start[f] == 0 && m->block[f] == m->n_sel[f] && m->n_sel[f] * m->mstride[f] == mstride) {
        uint64_t row = m->n_sel[f];
        m->start[f] = start * row, m->stride[f] = stride * row, m->block[f] = block * row,
        m->n_sel[f] = n * row;
        return BKT_OK;
    }
    f             = m->rank++;
    m->start[f]   = start, m->stride[f] = stride, m->block[f] = block, m->n_sel[f] = n;
    m->mstride[f] = mstride;
    return BKT_OK;
}

void bkt_mem_layout_none(struct bkt_mem_layout *m)
{
    m->kind    = BKT_MEM_FLAT;
    m->rank    = 0;
    m->n_elems = UINT64_MAX;
    m->runs    = NULL;
    m->n_runs  = 0;
    m->before  = NULL;
}

int bkt_mem_layout_init(struct bkt_mem_layout *m, const struct bkt_sel *sel, struct bkt_err *err)
{
    bkt_mem_layout_none(m);
    if (!sel)
        return BKT_OK;
    m->n_elems = sel->kind == BKT_SEL_NONE ? 0 : 1;
    if (sel->kind == BKT_SEL_RUNS)
        return init_runs(m, sel, err);
    if (sel->kind == BKT_SEL_NONE)
        return BKT_OK;
    uint64_t mstride = 1;
    for (unsigned d = sel->rank; d-- > 0;) {
        if (sel->kind == BKT_SEL_HYPER)
            BKT_PASS(add_dim(m, sel, d, mstride, err));
        BKT_FAIL_IF(err, !bkt_mul_u64(mstride, sel->dims[d], &mstride), BKT_EINVAL,
                    "memory extent has 2^64 elements or more");
    }
    if (sel->kind == BKT_SEL_ALL)
        m->n_elems = mstride;
    else if (m->rank)
        m->kind = BKT_MEM_HYPER;
    return BKT_OK;
}

int bkt_mem_layout_for(struct bkt_mem_layout *m, const struct bkt_sel *sel, const struct bkt_grid *g,
                       struct bkt_err *err)
{
    BKT_PASS(bkt_mem_layout_init(m, sel, err));
    BKT_FAIL_IF(err, sel && m->n_elems != g->n_elems, BKT_EINVAL, "%llu elements selected, memory for %llu",
                (unsigned long long)g->n_elems, (unsigned long long)m->n_elems);
    return BKT_OK;
}

void bkt_mem_layout_fini(struct bkt_mem_layout *m)
{
    if (!m)
        return;
    free(m->before);
    m->before = NULL;
}

static uint64_t at_hyper(const struct bkt_mem_layout *m, uint64_t seq, uint64_t *off)
{
    uint64_t n = 0, o = 0;
    for (unsigned d = 0; d < m->rank; d++) { /* fastest first */
        uint64_t ord = d + 1 < m->rank ? seq % m->n_sel[d] : seq;
        seq /= m->n_sel[d];
        if (d == 0)
            n = m->block[0] - ord % m->block[0];
        o += (m->start[d] + ord / m->block[d] * m->stride[d] + ord % m->block[d]) * m->mstride[d];
    }
    *off = o;
    return n;
}

uint64_t bkt_mem_layout_at(const struct bkt_mem_layout *m, uint64_t seq, uint64_t *off, size_t *hint)
{
    if (m->kind == BKT_MEM_FLAT) {
        *off = seq;
        return m->n_elems - seq;
    }
    if (m->kind == BKT_MEM_HYPER)
        return at_hyper(m, seq, off);
    size_t i = *hint;
    if (i >= m->n_runs || seq < m->before[i] || seq >= m->before[i + 1]) {
        size_t lo = 0, hi = m->n_runs;
        if (i + 1 < m->n_runs && seq >= m->before[i + 1] && seq < m->before[i + 2])
            lo = hi = i + 1;
        while (lo < hi) { /* the last run that begins at or before seq and is not empty */
            size_t mid = lo + (hi - lo) / 2;
            if (m->before[mid + 1] <= seq)
                lo = mid + 1;
            else
                hi = mid;
        }
        i = *hint = lo;
    }
    *off = m->runs[i].off + (seq - m->before[i]);
    return m->before[i + 1] - seq;
}
