/* Extents that shrink and grow: cut-off elements come back as fill values, whether they were stored, dirty,
 * or both.  Entries cached under the old extent are not used for others. */
#include "schema/edit/edit.h"
#include "unit/chunk/write/write_testing.h"
#include "helpers/sanitizer.h"

#define MAX 24

struct grown {
    uint64_t dims[2];
    int32_t  v[MAX][MAX]; /* fill outside */
};

static void check(const struct grown *g, struct bkt_dsetio *io, unsigned trial, const char *when)
{
    struct bkt_sel  all = {.kind = BKT_SEL_ALL, .rank = 2, .dims = {g->dims[0], g->dims[1]}, .n_elems = g->dims[0] * g->dims[1]};
    int32_t         got[MAX * MAX];
    struct bkt_read r   = {.io = io, .file = &all, .dst = got};
    struct bkt_err  err = {0};
    int             rc  = bkt_read_datasets(&r, 1, &err);
    unsigned        bad = 0;
    CHECK(rc == BKT_OK, "trial %u, %s: %s", trial, when, story(&err));
    for (uint64_t i = 0; rc == BKT_OK && i < g->dims[0]; i++)
        for (uint64_t j = 0; j < g->dims[1]; j++)
            bad += got[i * g->dims[1] + j] != g->v[i][j];
    CHECK(!bad, "trial %u, %s, %llu x %llu: %u values are wrong", trial, when, (unsigned long long)g->dims[0],
          (unsigned long long)g->dims[1], bad);
    bkt_read_fini(&r);
}

static void resize(struct grown *g, struct bkt_dsetio *io, uint32_t *seed, unsigned trial)
{
    struct bkt_err err = {0};
    for (int d = 0; d < 2; d++)
        if (below(seed, 3))
            g->dims[d] = below(seed, 10) ? 1 + below(seed, MAX) : 0;
    CHECK(bkt_chunks_resize(io, g->dims, &err) == BKT_OK, "trial %u: %s", trial, story(&err));
    for (uint64_t i = 0; i < MAX; i++)
        for (uint64_t j = 0; j < MAX; j++)
            if (i >= g->dims[0] || j >= g->dims[1])
                g->v[i][j] = WORLD_FILL;
}

static void write_some(struct grown *g, struct bkt_dsetio *io, uint32_t *seed, unsigned trial)
{
    struct bkt_sel sel = {.kind = BKT_SEL_HYPER, .rank = 2, .n_elems = 1};
    int32_t        src[MAX * MAX];
    struct bkt_err err = {0};
    if (!g->dims[0] || !g->dims[1])
        return;
    for (int d = 0; d < 2; d++) {
        sel.dims[d]   = g->dims[d];
        sel.start[d]  = below(seed, g->dims[d]);
        sel.block[d]  = 1 + below(seed, g->dims[d] - sel.start[d]);
        sel.stride[d] = sel.count[d] = 1;
        sel.n_elems *= sel.block[d];
    }
    for (uint64_t i = 0; i < sel.n_elems; i++) {
        src[i] = (int32_t)xorshift32(seed);
        g->v[sel.start[0] + i / sel.block[1]][sel.start[1] + i % sel.block[1]] = src[i];
    }
    struct bkt_write wr = {.io = io, .file = &sel, .src = src};
    CHECK(bkt_write_datasets(&wr, 1, &err) == BKT_OK, "trial %u: %s", trial, story(&err));
}

static int count_objects(const struct bkt_listed *e, void *arg)
{
    *(unsigned *)arg += e->key[strlen(e->key) - 1] != 'n'; /* not .dataset.json */
    return BKT_OK;
}

static void one_trial(struct world *w, unsigned trial)
{
    uint32_t      seed = trial * 7919 + 13;
    struct bkt_id id   = world_id(trial + 1);
    struct grown  g    = {.dims = {1 + below(&seed, MAX), 1 + below(&seed, MAX)}};
    char         *key  = text(WORLD_DB "/d/%s/.dataset.json", id.text + 20);
    const char   *z    = trial % 3 == 1 ? ",\"filters\":" GZIP : trial % 3 == 2 ? ",\"filters\":" SHUFFLE_GZIP : "";
    put_text(w, key, text("{\"id\":\"%s\",\"root\":\"" WORLD_ROOT "\",\"created\":1,\"lastModified\":1,\"attributes\":{},\"type\":" I32
                          ",\"shape\":{\"class\":\"H5S_SIMPLE\",\"dims\":[%llu,%llu],\"maxdims\":[0,%d]},"
                          "\"layout\":{\"class\":\"H5D_CHUNKED\",\"dims\":[%llu,%llu]%s},\"creationProperties\":{\"fillValue\":%d%s}}",
                          id.text, (unsigned long long)g.dims[0], (unsigned long long)g.dims[1], MAX,
                          (unsigned long long)(1 + below(&seed, 7)), (unsigned long long)(1 + below(&seed, 7)),
                          trial % 2 ? ",\"chunk_encoding\":\"hdf5\"" : "", WORLD_FILL, z));
    for (unsigned i = 0; i < MAX * MAX; i++)
        g.v[i / MAX][i % MAX] = WORLD_FILL;
    struct bkt_dsetio *io  = open_io(w, trial + 1);
    struct bkt_err     err = {0};
    for (int i = 0; i < 25; i++) {
        if (below(&seed, 3))
            write_some(&g, io, &seed, trial);
        else
            resize(&g, io, &seed, trial);
        if (below(&seed, 3) == 0)
            check(&g, io, trial, "at once");
        if (below(&seed, 4) == 0)
            CHECK(bkt_chunks_flush(w->dom, &err) == BKT_OK && bkt_domain_flush(w->dom, &err) == BKT_OK, "trial %u: %s", trial, story(&err));
        if (below(&seed, 6) == 0) {
            CHECK(bkt_chunks_flush(w->dom, &err) == BKT_OK, "trial %u: %s", trial, story(&err));
            bkt_chunks_forget_stored(w->dom);
            check(&g, io, trial, "stored");
        }
    }
    unsigned n = 0;
    g.dims[0] = g.dims[1] = 0;
    CHECK(bkt_chunks_resize(io, g.dims, &err) == BKT_OK && bkt_chunks_flush(w->dom, &err) == BKT_OK, "trial %u: %s", trial, story(&err));
    key[strlen(key) - strlen(".dataset.json")] = 0;
    CHECK(bkt_store_list(w->st, key, "", count_objects, &n, &err) == BKT_OK && n == 0, "trial %u: %u chunks of an empty dataset", trial, n);
    bkt_dsetio_close(io);
    free(key);
}

/* A chunk that reaches beyond the largest extent: the elements that the cut leaves in it stay. */
static void cut_at_the_end(struct world *w)
{
    enum { N = 1000 };
    struct bkt_id  id  = world_id(N);
    struct grown   g   = {.dims = {2, 6}};
    struct bkt_err err = {0};
    int32_t        src[12];
    char          *key = text(WORLD_DB "/d/%s/.dataset.json", id.text + 20);
    put_text(w, key,
             text("{\"id\":\"%s\",\"root\":\"" WORLD_ROOT "\",\"created\":1,\"lastModified\":1,\"attributes\":{},\"type\":" I32
                  ",\"shape\":{\"class\":\"H5S_SIMPLE\",\"dims\":[2,6],\"maxdims\":[0,6]},"
                  "\"layout\":{\"class\":\"H5D_CHUNKED\",\"dims\":[2,4]},\"creationProperties\":{\"fillValue\":%d}}",
                  id.text, WORLD_FILL));
    struct bkt_dsetio *io  = open_io(w, N);
    struct bkt_sel     all = {.kind = BKT_SEL_ALL, .rank = 2, .dims = {2, 6}, .n_elems = 12};
    struct bkt_write   wr  = {.io = io, .file = &all, .src = src};
    for (int i = 0; i < 12; i++)
        g.v[i / 6][i % 6] = src[i] = 100 + i;
    CHECK(bkt_write_datasets(&wr, 1, &err) == BKT_OK && bkt_chunks_flush(w->dom, &err) == BKT_OK, "%s", story(&err));
    bkt_chunks_forget_stored(w->dom);
    g.dims[1] = 5;
    CHECK(bkt_chunks_resize(io, g.dims, &err) == BKT_OK && bkt_chunks_flush(w->dom, &err) == BKT_OK, "%s", story(&err));
    check(&g, io, N, "cut at the end");
    bkt_dsetio_close(io);
    free(key);
}

int main(void)
{
    struct world w;
    world_open(&w, "resize", "");
    for (unsigned i = 0; i < FEWER(300, 80); i++)
        one_trial(&w, i);
    cut_at_the_end(&w);
    world_close(&w);
    return failures != 0;
}
