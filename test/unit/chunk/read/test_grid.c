/* Selection x chunk grid against a model that lists every element: each selected element is found in exactly
 * one run of the right chunk, in both directions; and hostile numbers are refused without work. */
#include "chunk/select/grid.h"

#include "unit/chunk/read/selection_testing.h"

/* Place of an element of the extent: chunk (row-major in the grid) and offset inside it. */
static void place(const struct bkt_sel *s, const uint64_t *cdims, uint64_t e, uint64_t *chunk, uint64_t *off)
{
    uint64_t gstep = 1, step = 1;
    *chunk = *off = 0;
    for (unsigned d = s->rank; d-- > 0; e /= s->dims[d]) {
        uint64_t c = e % s->dims[d];
        *chunk += c / cdims[d] * gstep;
        *off += c % cdims[d] * step;
        gstep *= bkt_ceil_div(s->dims[d], cdims[d]);
        step *= cdims[d];
    }
}

static void check_chunk(const struct bkt_grid *g, const struct bkt_sel *s, const uint64_t *cdims, uint64_t k,
                        const uint64_t *model, unsigned char *seen, unsigned trial)
{
    struct bkt_grid_iter it;
    struct bkt_grid_run  r, again;
    uint64_t             coord[BKT_MAX_RANK], chunk, off, n = 0, last = 0, n_runs = bkt_grid_n_runs(g, k);
    bkt_grid_coord(g, k, coord);
    uint64_t linear = bkt_grid_linear(g, coord);
    bkt_grid_iter(&it, g, k, 0, UINT64_MAX);
    for (; bkt_grid_next(&it, &r); n++) {
        struct bkt_grid_iter one;
        bkt_grid_iter(&one, g, k, n, 1);
        CHECK(bkt_grid_next(&one, &again) && again.off == r.off && again.seq == r.seq && again.len == r.len &&
                  !bkt_grid_next(&one, &again), "trial %u: run %llu by number", trial, (unsigned long long)n);
        CHECK(n == 0 || r.off >= last, "trial %u: runs ascend", trial);
        last = r.off;
        for (uint64_t i = 0; i < r.len; i++) {
            CHECK(r.seq + i < g->n_elems, "trial %u: sequence number", trial);
            if (r.seq + i >= g->n_elems)
                return;
            place(s, cdims, model[r.seq + i], &chunk, &off);
            CHECK(chunk == linear && off == r.off + i, "trial %u: element %llu is in chunk %llu at %llu, not %llu at %llu",
                  trial, (unsigned long long)(r.seq + i), (unsigned long long)chunk, (unsigned long long)off,
                  (unsigned long long)linear, (unsigned long long)(r.off + i));
            seen[r.seq + i]++;
        }
    }
    CHECK(n == n_runs && n > 0, "trial %u: %llu runs, %llu announced", trial, (unsigned long long)n, (unsigned long long)n_runs);
}

static void one_trial(unsigned trial)
{
    uint32_t        seed = trial * 2654435761u + 12345;
    struct bkt_sel  s    = {.rank = 1 + (unsigned)below(&seed, 5)};
    struct bkt_grid g;
    uint64_t        cdims[BKT_MAX_RANK], n, last = 0;
    for (unsigned d = 0; d < s.rank; d++) {
        s.dims[d] = 1 + below(&seed, s.rank > 3 ? 6 : 14);
        cdims[d]  = below(&seed, 3) ? 1 + below(&seed, s.dims[d] + 3) : s.dims[d];
    }
    random_sel(&s, &seed);
    uint64_t      *model = model_of(&s, &n);
    unsigned char *seen  = need((size_t)n);
    struct bkt_err err   = {0};
    memset(seen, 0, (size_t)n);
    int rc = bkt_grid_init(&g, &s, cdims, &err);
    CHECK(rc == BKT_OK && g.n_elems == n && n == s.n_elems, "trial %u: %d, %llu elements, model has %llu: %s", trial, rc,
          (unsigned long long)g.n_elems, (unsigned long long)n, story(&err));
    for (uint64_t k = 0; rc == BKT_OK && k < g.n_chunks; k++) {
        uint64_t coord[BKT_MAX_RANK];
        bkt_grid_coord(&g, k, coord);
        CHECK(k == 0 || bkt_grid_linear(&g, coord) > last, "trial %u: chunks ascend", trial);
        last = bkt_grid_linear(&g, coord);
        check_chunk(&g, &s, cdims, k, model, seen, trial);
    }
    for (uint64_t i = 0; i < n; i++)
        CHECK(seen[i] == 1, "trial %u: element %llu seen %u times", trial, (unsigned long long)i, seen[i]);
    if (rc == BKT_OK)
        bkt_grid_fini(&g);
    free(model);
    free(seen);
    free(s.runs);
}

static void memory_trial(unsigned trial)
{
    uint32_t          seed = trial * 2246822519u + 77;
    struct bkt_sel    s    = {.rank = (unsigned)below(&seed, 5)};
    struct bkt_mem_layout m;
    uint64_t          n, off;
    size_t            hint = 0;
    for (unsigned d = 0; d < s.rank; d++)
        s.dims[d] = 1 + below(&seed, 7);
    random_sel(&s, &seed);
    uint64_t *model = model_of(&s, &n);
    CHECK(bkt_mem_layout_init(&m, &s, NULL) == BKT_OK && m.n_elems == n, "memory trial %u: %llu of %llu elements", trial,
          (unsigned long long)m.n_elems, (unsigned long long)n);
    for (uint64_t i = 0; i < 2 * n; i++) {
        uint64_t seq = i < n ? i : below(&seed, n);
        uint64_t len = bkt_mem_layout_at(&m, seq, &off, &hint);
        CHECK(len >= 1 && len <= n - seq, "memory trial %u: length", trial);
        for (uint64_t j = 0; j < len && j < n - seq; j++)
            CHECK(model[seq + j] == off + j, "memory trial %u: element %llu", trial, (unsigned long long)(seq + j));
    }
    bkt_mem_layout_fini(&m);
    free(model);
    free(s.runs);
}

#define BIG (UINT64_C(1) << 62)
static const struct {
    const char *what;
    unsigned    rank;
    uint64_t    dims[3], cdims[3];
    uint64_t    start, stride, count, block; /* dimension 0; block 0: ALL */
    int         want;
    uint64_t    n_chunks, n_runs;            /* runs of the first chunk */
} odd[] = {
    {"chunk dimension 0", 1, {4}, {0}, 0, 0, 0, 0, BKT_EFORMAT, 0, 0},
    {"more than 2^64 elements", 3, {BIG, BIG, 2}, {1, 1, 1}, 0, 0, 0, 0, BKT_EFORMAT, 0, 0},
    {"chunk of more than 2^64", 2, {4, 4}, {BIG, BIG}, 0, 0, 0, 0, BKT_EFORMAT, 0, 0},
    {"extent 0", 2, {0, 5}, {3, 3}, 0, 0, 0, 0, BKT_OK, 0, 0},
    {"extent 0, others huge", 3, {0, BIG, BIG}, {1, 1, 1}, 0, 0, 0, 0, BKT_OK, 0, 0},
    {"2^62 elements, a block at the end", 1, {BIG}, {1000}, BIG - 1500, 1, 1, 1500, BKT_OK, 2, 1},
    {"2^62 chunks, two points far apart", 1, {BIG}, {1}, 0, BIG - 1, 2, 1, BKT_OK, 2, 1},
    {"strided past the extent", 1, {100}, {10}, 0, UINT64_MAX / 2, 3, 1, BKT_EINVAL, 0, 0},
    {"start past the extent", 1, {100}, {10}, 100, 1, 1, 1, BKT_EINVAL, 0, 0},
    {"start near 2^64", 1, {100}, {10}, UINT64_MAX, 1, 1, 1, BKT_EINVAL, 0, 0},
    {"overlapping blocks", 1, {100}, {10}, 0, 1, 4, 2, BKT_EINVAL, 0, 0},
    {"a million chunks", 1, {1000000}, {1}, 0, 0, 0, 0, BKT_OK, 1000000, 1},
    {"one chunk, whole: one run", 3, {10, 20, 30}, {10, 20, 30}, 0, 0, 0, 0, BKT_OK, 1, 1},
    {"slabs: one run each", 3, {10, 20, 30}, {5, 20, 30}, 0, 0, 0, 0, BKT_OK, 2, 1},
    {"rows", 2, {10, 20}, {5, 10}, 0, 0, 0, 0, BKT_OK, 4, 5},
    {"chunk wider than the extent: rows", 2, {10, 20}, {5, 21}, 0, 0, 0, 0, BKT_OK, 2, 5},
};

static void test_odd(void)
{
    for (size_t i = 0; i < BKT_COUNT(odd); i++) {
        struct bkt_sel  s = {.kind = odd[i].block ? BKT_SEL_HYPER : BKT_SEL_ALL, .rank = odd[i].rank};
        struct bkt_grid g;
        struct bkt_err  err = {0};
        memcpy(s.dims, odd[i].dims, sizeof odd[i].dims);
        s.start[0] = odd[i].start, s.stride[0] = odd[i].stride, s.count[0] = odd[i].count, s.block[0] = odd[i].block;
        int rc = bkt_grid_init(&g, &s, odd[i].cdims, &err);
        CHECK(rc == odd[i].want, "%s: gave %d: %s", odd[i].what, rc, story(&err));
        if (rc != BKT_OK)
            continue;
        CHECK(g.n_chunks == odd[i].n_chunks, "%s: %llu chunks", odd[i].what, (unsigned long long)g.n_chunks);
        CHECK(!g.n_chunks || bkt_grid_n_runs(&g, 0) == odd[i].n_runs, "%s: %llu runs", odd[i].what,
              (unsigned long long)bkt_grid_n_runs(&g, 0));
        bkt_grid_fini(&g);
    }
}

/* A million points all over a million chunks: sorting, not searching.  Quadratic work would take hours. */
static void test_many_points(void)
{
    enum { N = 1000000 };
    struct bkt_sel  s    = {.kind = BKT_SEL_RUNS, .rank = 2, .dims = {100000, 100000}, .n_runs = N, .n_elems = N};
    const uint64_t  cd[] = {100, 100};
    uint32_t        seed = 99;
    struct bkt_grid g;
    uint64_t        n = 0;
    s.runs            = need(N * sizeof *s.runs);
    for (size_t i = 0; i < N; i++)
        s.runs[i] = (struct bkt_run){below(&seed, 100000) * 100000 + below(&seed, 100000), 1};
    CHECK(bkt_grid_init(&g, &s, cd, NULL) == BKT_OK && g.n_elems == N, "a million points");
    for (uint64_t k = 0; k < g.n_chunks; k++)
        n += bkt_grid_n_runs(&g, k);
    CHECK(n == N && g.n_chunks > 600000, "%llu points in %llu chunks", (unsigned long long)n, (unsigned long long)g.n_chunks);
    bkt_grid_fini(&g);
    free(s.runs);
}

static void test_runs_outside(void)
{
    struct bkt_run  out[] = {{95, 6}}, wrap[] = {{UINT64_MAX, 2}};
    const uint64_t  cd[]  = {10};
    struct bkt_sel  s     = {.kind = BKT_SEL_RUNS, .rank = 1, .dims = {100}, .runs = out, .n_runs = 1, .n_elems = 6};
    struct bkt_grid g;
    CHECK(bkt_grid_init(&g, &s, cd, NULL) == BKT_EINVAL, "a run past the end");
    s.runs = wrap;
    CHECK(bkt_grid_init(&g, &s, cd, NULL) == BKT_EINVAL, "a run that wraps");
}

int main(void)
{
    test_odd();
    test_runs_outside();
    for (unsigned i = 0; i < 4000; i++) {
        one_trial(i);
        memory_trial(i);
    }
    test_many_points();
    return failures != 0;
}
