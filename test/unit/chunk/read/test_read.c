/* Reading against a model: random arrays in every layout, random selections of file and memory. */
#include "helpers/sanitizer.h"
#include "unit/chunk/read/bucket_in_memory.h"

#define GUARD 0x1badf00d

/* A memory selection of n elements in an extent of *total. */
static void random_mem(struct bkt_sel *m, uint64_t n, uint64_t *total, uint32_t *seed)
{
    memset(m, 0, sizeof *m);
    m->rank    = 1;
    m->n_elems = n;
    switch (below(seed, 3)) {
    case 0: /* every second or third */
        m->kind      = BKT_SEL_HYPER;
        m->start[0]  = below(seed, 4);
        m->stride[0] = 1 + below(seed, 3);
        m->count[0]  = n;
        m->block[0]  = 1;
        m->dims[0] = *total = m->start[0] + n * m->stride[0] + 2;
        return;
    case 1: /* a column of a matrix */
        m->kind     = BKT_SEL_HYPER;
        m->rank     = 2;
        m->dims[0]  = n, m->dims[1] = 3;
        m->start[1] = 1;
        m->stride[0] = m->stride[1] = m->count[1] = m->block[0] = m->block[1] = 1;
        m->count[0] = n;
        *total      = n * 3;
        return;
    default: break;
    }
    m->kind    = BKT_SEL_RUNS; /* from the back */
    m->runs    = need((size_t)n * sizeof *m->runs);
    m->dims[0] = *total = n + 5;
    for (uint64_t left = n; left > 0;) {
        uint64_t len = 1 + below(seed, bkt_min_u64(left, 9));
        left -= len;
        m->runs[m->n_runs++] = (struct bkt_run){left + 2, len};
    }
}

static uint64_t touched(const struct array *a, const uint64_t *model, uint64_t n)
{
    unsigned char *hit   = need((size_t)a->n_chunks);
    uint64_t       count = 0;
    memset(hit, 0, (size_t)a->n_chunks);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t c = 0, step = 1, rest = model[i];
        for (unsigned d = a->rank; d-- > 0; rest /= a->dims[d]) {
            c += rest % a->dims[d] / a->cdims[d] * step;
            step *= a->grid[d];
        }
        count += !hit[c];
        hit[c] = 1;
    }
    free(hit);
    return count;
}

static void check_once(const struct array *a, struct bkt_dsetio *io, const struct bkt_sel *sel, const uint64_t *model, uint64_t n,
                       unsigned trial, uint32_t *seed)
{
    struct bkt_sel  mem;
    uint64_t        total = n, n_mem = 0;
    bool            flat  = below(seed, 2);
    struct bkt_err  err   = {0};
    memset(&mem, 0, sizeof mem);
    if (!flat)
        random_mem(&mem, n, &total, seed);
    int32_t        *dst = need((size_t)total * 4);
    uint64_t       *at  = flat ? NULL : model_of(&mem, &n_mem);
    unsigned char  *set = need((size_t)total);
    struct bkt_read r   = {.io = io, .file = sel, .mem = flat ? NULL : &mem, .dst = dst};
    memset(set, 0, (size_t)total);
    for (uint64_t i = 0; i < total; i++)
        dst[i] = GUARD;
    int rc = bkt_read_datasets(&r, 1, &err);
    CHECK(rc == BKT_OK, "trial %u way %d: %d %s", trial, a->way, rc, story(&err));
    unsigned bad = 0;
    for (uint64_t i = 0; rc == BKT_OK && i < n; i++) {
        uint64_t m = flat ? i : at[i];
        set[m]     = 1;
        bad += dst[m] != a->v[model[i]];
    }
    CHECK(!bad, "trial %u way %d: %u of %llu values are wrong", trial, a->way, bad, (unsigned long long)n);
    bad = 0;
    for (uint64_t i = 0; i < total; i++)
        bad += !set[i] && dst[i] != GUARD;
    CHECK(!bad, "trial %u way %d: %u values beside the selection are changed", trial, a->way, bad);
    bkt_read_fini(&r);
    free(dst);
    free(at);
    free(set);
    free(mem.runs);
}

/* big: chunks of some hundred KiB, so that parts of them are requested, and bodies that fill many rows */
static void one_trial(struct world *w, const char *bucket, bool big, unsigned trial)
{
    uint32_t     seed = trial * 2654435761u + 4711;
    struct array a    = {.n = trial * 2 + 10, .way = (enum way)(trial % N_WAYS), .rank = 1 + (unsigned)below(&seed, 4)};
    for (unsigned d = 0; d < a.rank; d++) {
        a.dims[d]  = 1 + below(&seed, 13);
        a.cdims[d] = below(&seed, 3) ? 1 + below(&seed, a.dims[d] + 2) : a.dims[d];
    }
    if (big) {
        a.rank     = 2;
        a.dims[0]  = 200 + below(&seed, 300), a.dims[1] = 300 + below(&seed, 300);
        a.cdims[0] = 150 + below(&seed, 100), a.cdims[1] = below(&seed, 3) ? 250 + below(&seed, 100) : a.dims[1];
    }
    array_put(w, &a, bucket, (unsigned)below(&seed, 4), &seed);
    struct bkt_dsetio *io = open_io(w, a.n);
    for (int i = 0; i < 6; i++) {
        struct bkt_sel sel = {.rank = a.rank};
        uint64_t       n, before;
        memcpy(sel.dims, a.dims, sizeof a.dims);
        random_sel(&sel, &seed);
        uint64_t *model = model_of(&sel, &n);
        before          = gets();
        check_once(&a, io, &sel, model, n, trial, &seed);
        if (i == 0 && a.way < CONTIGUOUS && !big)
            CHECK(gets() - before == touched(&a, model, n), "trial %u: %llu GETs for %llu chunks", trial,
                  (unsigned long long)(gets() - before), (unsigned long long)touched(&a, model, n));
        before = gets();
        check_once(&a, io, &sel, model, n, trial, &seed);
        if (w->set.chunk_cache > 1 << 20)
            CHECK(gets() == before, "trial %u way %d: a second read costs %llu GETs", trial, a.way,
                  (unsigned long long)(gets() - before));
        free(model);
        free(sel.runs);
    }
    bkt_dsetio_close(io);
    array_free(&a);
}

/* Little cache, little room in flight: everything is thrown out and waited for, nothing goes wrong. */
static const struct {
    const char *name, *info;
    unsigned    n;
    bool        big;
} worlds[] = {
    {"read-usual", "test.merge_gap=64", 1200, false},
    {"read-far", "test.merge_gap=0", 400, false},
    {"read-small-cache", "chunk_cache=2000", 400, false},
    {"read-no-cache", "chunk_cache=0;test.in_flight=1M", 400, false},
    {"read-parts", "", 16, true},
    {"read-parts-cached", "test.part_size=64K", 16, true},
    {"read-parts-no-cache", "chunk_cache=0;test.part_size=64K", 16, true},
};

int main(void)
{
    for (size_t i = 0; i < BKT_COUNT(worlds); i++) {
        struct world w;
        world_open(&w, worlds[i].name, worlds[i].info);
        for (unsigned t = 0; t < FEWER(worlds[i].n, (worlds[i].n + 3) / 4); t++)
            one_trial(&w, worlds[i].name, worlds[i].big, t);
        world_close(&w);
    }
    return failures != 0;
}
