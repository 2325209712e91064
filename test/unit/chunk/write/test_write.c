/* Writing against a model: random selections in random shapes, through every kind of filter list.  The
 * elements are read back from the cache and, by another opening of the domain, from the store.  The number of
 * requests is checked. */
#include "unit/chunk/write/write_testing.h"
#include "chunk/list/raw_chunk.h"

#include "chunk/write/write_cache.h"
#include "base/map.h"
#include "helpers/sanitizer.h"

static const char *const lists[] = {
    "",
    GZIP,
    SHUFFLE_GZIP,
    "[{\"class\":\"H5Z_FILTER_USER\",\"id\":32015,\"name\":\"zstd\",\"level\":3}]",
    "[{\"class\":\"H5Z_FILTER_SHUFFLE\",\"id\":2,\"name\":\"shuffle\"},{\"class\":\"H5Z_FILTER_LZ4\",\"id\":32004,\"name\":\"lz4\"}]",
    "[{\"class\":\"H5Z_FILTER_SHUFFLE\",\"id\":2,\"name\":\"shuffle\"}]",
    "[{\"class\":\"H5Z_FILTER_BITSHUFFLE\",\"id\":32008,\"name\":\"bitshuffle\"}]",
};

static void reopen(struct world *w, const char *name)
{
    struct bkt_err err  = {0};
    char          *path = text("mem:%s/d.h5", name);
    bkt_domain_close(w->dom);
    w->dom = NULL;
    if (bkt_domain_open(path, &w->set, &w->dom, &err) < 0) {
        fprintf(stderr, "%s\n", story(&err));
        abort();
    }
    free(path);
}

static void one_trial(struct world *w, const char *name, unsigned trial)
{
    uint32_t     seed = trial * 2654435761u + 99;
    struct model m    = {.n = trial + 1, .rank = 1 + (unsigned)below(&seed, 3)};
    uint64_t     cdims[8];
    const char  *list = lists[trial % BKT_COUNT(lists)];
    for (unsigned d = 0; d < m.rank; d++) {
        m.dims[d] = 1 + below(&seed, 17);
        cdims[d]  = 1 + below(&seed, m.dims[d] + 2);
    }
    model_make(w, &m, cdims, list, trial % BKT_COUNT(lists) < 3 || trial % BKT_COUNT(lists) == 5 ? below(&seed, 2) : 0);
    struct bkt_dsetio *io = open_io(w, m.n);
    for (int i = 0; i < 12; i++) {
        struct bkt_sel sel = {.rank = m.rank};
        struct bkt_err err = {0};
        memcpy(sel.dims, m.dims, sizeof m.dims);
        random_sel(&sel, &seed);
        int rc = model_write(&m, io, &sel, (int32_t)(trial * 1000 + (unsigned)i * 50), &err);
        CHECK(rc == BKT_OK, "trial %u: %s", trial, story(&err));
        free(sel.runs);
        if (below(&seed, 3) == 0)
            model_check(&m, io, "from the cache");
        if (below(&seed, 4) == 0) {
            rc = bkt_chunks_flush(w->dom, &err);
            CHECK(rc == BKT_OK, "trial %u: flush: %s", trial, story(&err));
        }
        if (below(&seed, 6) == 0) {
            rc = bkt_chunks_flush(w->dom, &err);
            CHECK(rc == BKT_OK, "trial %u: flush: %s", trial, story(&err));
            bkt_dsetio_close(io);
            reopen(w, name);
            io = open_io(w, m.n);
            model_check(&m, io, "from the store");
        }
    }
    struct bkt_err err = {0};
    CHECK(bkt_chunks_flush(w->dom, &err) == BKT_OK, "trial %u: %s", trial, story(&err));
    CHECK(!bkt_chunks_dirty(w->dom), "trial %u: dirty after a flush", trial);
    bkt_dsetio_close(io);
    reopen(w, name);
    io = open_io(w, m.n);
    model_check(&m, io, "in the end");
    bkt_dsetio_close(io);
    free(m.v);
}

/* Whole chunks are stored and nothing is looked at; each once. */
static void counts(struct world *w)
{
    struct model       m     = {.n = 5000, .rank = 2, .dims = {256, 256}};
    uint64_t           cdims[] = {16, 16}, p, g;
    struct bkt_err     err   = {0};
    model_make(w, &m, cdims, "", false);
    struct bkt_dsetio *io  = open_io(w, m.n);
    struct bkt_sel     all = {.kind = BKT_SEL_ALL, .rank = 2, .dims = {256, 256}, .n_elems = 65536};
    p = puts_sent(), g = gets();
    CHECK(model_write(&m, io, &all, 7, &err) == BKT_OK && bkt_chunks_flush(w->dom, &err) == BKT_OK, "%s", story(&err));
    CHECK(puts_sent() - p == 256 && gets() == g, "256 whole chunks: %llu PUTs, %llu GETs", (unsigned long long)(puts_sent() - p),
          (unsigned long long)(gets() - g));
    model_check(&m, io, "whole chunks");
    CHECK(gets() == g, "what was written is fetched");

    /* rows of 16 chunks each, one at a time: only when a row of chunks is complete it is stored, once, unread */
    p = puts_sent();
    for (uint64_t r = 0; r < 256; r++) {
        struct bkt_sel row = {.kind = BKT_SEL_HYPER, .rank = 2, .dims = {256, 256}, .start = {r, 0}, .stride = {1, 1},
                              .count = {1, 1}, .block = {1, 256}, .n_elems = 256};
        CHECK(model_write(&m, io, &row, (int32_t)r, &err) == BKT_OK, "%s", story(&err));
    }
    CHECK(bkt_chunks_flush(w->dom, &err) == BKT_OK, "%s", story(&err));
    CHECK(puts_sent() - p == 256 && gets() == g, "256 rows: %llu PUTs, %llu GETs", (unsigned long long)(puts_sent() - p),
          (unsigned long long)(gets() - g));
    CHECK(bkt_chunks_flush(w->dom, &err) == BKT_OK && puts_sent() - p == 256, "a flush of nothing sends something");

    /* a part of a chunk that isn't known: one GET, one PUT; again: the version stored is known */
    bkt_dsetio_close(io);
    reopen(w, "write");
    io = open_io(w, m.n);
    struct bkt_sel one = {.kind = BKT_SEL_HYPER, .rank = 2, .dims = {256, 256}, .start = {3, 3}, .stride = {1, 1}, .count = {1, 1},
                          .block = {1, 1}, .n_elems = 1};
    for (int i = 0; i < 3; i++) {
        p = puts_sent(), g = gets();
        CHECK(model_write(&m, io, &one, -i, &err) == BKT_OK && bkt_chunks_flush(w->dom, &err) == BKT_OK, "%s", story(&err));
        CHECK(puts_sent() - p == 1 && gets() - g == (i == 0), "one element: %llu PUTs, %llu GETs", (unsigned long long)(puts_sent() - p),
              (unsigned long long)(gets() - g));
    }
    model_check(&m, io, "single elements");
    bkt_dsetio_close(io);
    free(m.v);
}

/* Appending to a new dataset: each flush stores the chunk that grew, nothing is read. */
static void append(struct world *w)
{
    struct model   m       = {.n = 5001, .rank = 2, .dims = {1000, 64}};
    uint64_t       cdims[] = {250, 64}, p = puts_sent(), g;
    struct bkt_err err     = {0};
    model_make(w, &m, cdims, GZIP, true);
    struct bkt_dsetio *io = open_io(w, m.n);
    bkt_chunks_new(io);
    p = puts_sent(), g = gets();
    for (uint64_t r = 0; r < 1000; r++) {
        struct bkt_sel row = {.kind = BKT_SEL_HYPER, .rank = 2, .dims = {1000, 64}, .start = {r, 0}, .stride = {1, 1},
                              .count = {1, 1}, .block = {1, 64}, .n_elems = 64};
        CHECK(model_write(&m, io, &row, (int32_t)r, &err) == BKT_OK, "%s", story(&err));
        if (r % 100 == 99)
            CHECK(bkt_chunks_flush(w->dom, &err) == BKT_OK, "%s", story(&err));
    }
    /* rows 200-299 and 700-799 lie in two chunks */
    CHECK(puts_sent() - p == 12 && gets() == g, "1000 rows: %llu PUTs, %llu GETs", (unsigned long long)(puts_sent() - p),
          (unsigned long long)(gets() - g));
    model_check(&m, io, "appended");
    bkt_dsetio_close(io);
    free(m.v);
}

/* Far more than the cache holds: chunks are stored in the background. */
static void stream(void)
{
    struct world   w;
    struct model   m       = {.n = 2, .rank = 1, .dims = {FEWER(4u, 1u) << 20}};
    uint64_t       cdims[] = {16384}, p, n_chunks = m.dims[0] / cdims[0];
    struct bkt_err err     = {0};
    world_open(&w, "stream", "test.write_cache=1M");
    model_make(&w, &m, cdims, GZIP, true);
    struct bkt_dsetio *io = open_io(&w, m.n);
    p                     = puts_sent();
    for (uint64_t at = 0; at < m.n_elems; at += 10000) {
        uint64_t       n   = bkt_min_u64(10000, m.n_elems - at);
        struct bkt_sel sel = {.kind = BKT_SEL_HYPER, .rank = 1, .dims = {m.n_elems}, .start = {at}, .stride = {1}, .count = {1},
                              .block = {n}, .n_elems = n};
        CHECK(model_write(&m, io, &sel, (int32_t)at, &err) == BKT_OK, "%s", story(&err));
    }
    uint64_t before = puts_sent() - p;
    CHECK(before > n_chunks / 3, "only %llu chunks were stored in the background", (unsigned long long)before);
    CHECK(bkt_chunks_flush(w.dom, &err) == BKT_OK, "%s", story(&err));
    CHECK(puts_sent() - p == n_chunks, "%llu PUTs for %llu chunks", (unsigned long long)(puts_sent() - p), (unsigned long long)n_chunks);
    model_check(&m, io, "streamed");
    bkt_dsetio_close(io);
    world_close(&w);
    free(m.v);
}

/* One request that is larger than the cache: whole chunks from the program's memory, the edges by way of the
 * cache. */
static void large(const char *filters, const char *name)
{
    struct world   w;
    struct model   m       = {.n = 2, .rank = 2, .dims = {1000, 1000}};
    uint64_t       cdims[] = {64, 300}, p, g;
    struct bkt_err err     = {0};
    world_open(&w, name, "test.write_cache=1M");
    model_make(&w, &m, cdims, filters, true);
    struct bkt_dsetio *io  = open_io(&w, m.n);
    struct bkt_sel     all = {.kind = BKT_SEL_ALL, .rank = 2, .dims = {1000, 1000}, .n_elems = 1000000};
    struct bkt_sel     in  = {.kind = BKT_SEL_HYPER, .rank = 2, .dims = {1000, 1000}, .start = {10, 10}, .stride = {1, 1}, .count = {1, 1},
                              .block = {900, 980}, .n_elems = 900 * 980};
    p = puts_sent(), g = gets();
    CHECK(model_write(&m, io, &all, 7, &err) == BKT_OK && bkt_chunks_flush(w.dom, &err) == BKT_OK, "%s", story(&err));
    CHECK(puts_sent() - p == 64 && gets() == g, "%s: %llu PUTs, %llu GETs for 64 chunks", name, (unsigned long long)(puts_sent() - p),
          (unsigned long long)(gets() - g));
    model_check(&m, io, "large");
    CHECK(model_write(&m, io, &in, 100, &err) == BKT_OK, "%s", story(&err));
    model_check(&m, io, "large, in part");
    CHECK(model_write(&m, io, &all, 9, &err) == BKT_OK, "%s", story(&err)); /* over chunks that are dirty */
    CHECK(model_write(&m, io, &in, 200, &err) == BKT_OK && bkt_chunks_flush(w.dom, &err) == BKT_OK, "%s", story(&err));
    bkt_chunks_forget_stored(w.dom);
    model_check(&m, io, "large, stored");
    bkt_dsetio_close(io);
    world_close(&w);
    free(m.v);
}

/* Chunks as the program's filters made them, with and without a mask, read back as they are and as elements. */
static void raw_chunks(struct world *w)
{
    struct model m       = {.n = 5002, .rank = 1, .dims = {40}};
    uint64_t     cdims[] = {20}, at[] = {0}, second[] = {20}, odd[] = {5}, coord[] = {1};
    struct bkt_err        err = {0};
    struct bkt_buf        got = {0};
    struct bkt_chunk_info info;
    uint32_t              mask;
    size_t                n;
    int32_t               v[20];
    model_make(w, &m, cdims, GZIP, true);
    struct bkt_dsetio *io = open_io(w, m.n);
    for (int i = 0; i < 20; i++)
        v[i] = m.v[i] = m.v[20 + i] = 3 * i;
    unsigned char *z = deflate_of(v, sizeof v, &n);
    CHECK(bkt_raw_chunk_write(io, at, 0, z, n, &err) == BKT_OK, "%s", story(&err));
    CHECK(bkt_raw_chunk_write(io, second, 1, v, sizeof v, &err) == BKT_OK, "%s", story(&err));
    CHECK(bkt_raw_chunk_write(io, odd, 0, z, n, NULL) == BKT_EINVAL, "no chunk begins there");
    model_check(&m, io, "raw, from the cache");
    CHECK(bkt_chunks_flush(w->dom, &err) == BKT_OK, "%s", story(&err));
    model_check(&m, io, "raw, stored");
    CHECK(bkt_raw_chunk_read(io, at, &got, &mask, &err) == BKT_OK && !mask && got.len == n && !memcmp(got.ptr, z, n), "%s", story(&err));
    CHECK(bkt_raw_chunk_read(io, second, &got, &mask, &err) == BKT_OK && mask == 1 && got.len == sizeof v &&
              !memcmp(got.ptr, v, sizeof v),
          "mask %u, %zu bytes: %s", mask, got.len, story(&err));
    CHECK(bkt_chunk_locate(io, coord, &info, &err) == BKT_OK && info.exists && info.filter_mask == 1 && info.size == sizeof v,
          "mask %u, %llu bytes", info.filter_mask, (unsigned long long)info.size);
    /* elements over it: the program's encoded chunk is replaced */
    struct bkt_sel some = {.kind = BKT_SEL_HYPER, .rank = 1, .dims = {40}, .start = {15}, .stride = {1}, .count = {1}, .block = {10},
                           .n_elems = 10};
    CHECK(model_write(&m, io, &some, 1000, &err) == BKT_OK, "%s", story(&err));
    model_check(&m, io, "elements over raw chunks");
    CHECK(bkt_raw_chunk_write(io, at, 0, z, n, &err) == BKT_OK && model_write(&m, io, &some, 2000, &err) == BKT_OK, "%s", story(&err));
    memcpy(m.v, v, 15 * sizeof *v);
    model_check(&m, io, "elements over a raw chunk that isn't stored yet");
    CHECK(bkt_chunks_flush(w->dom, &err) == BKT_OK, "%s", story(&err));
    bkt_dsetio_close(io);
    reopen(w, "write");
    io = open_io(w, m.n);
    model_check(&m, io, "elements over raw chunks, stored");
    bkt_dsetio_close(io);
    bkt_buf_fini(&got);
    free(z);
    free(m.v);
}

/* A program that writes many datasets, here and there: the memory for those that it is done with is bounded,
 * and no reader sees elements from before the writes. */
static void many_datasets(void)
{
    enum { N = 600, TURNS = FEWER(6000, 2000) };
    struct world w;
    struct model m[N] = {{0}};
    uint64_t     cdims[] = {8}, most = 0;
    uint32_t     seed = 12;
    world_open(&w, "many", "test.write_cache=1M");
    for (unsigned i = 0; i < N; i++) {
        m[i] = (struct model){.n = i + 1, .rank = 1, .dims = {20}};
        model_make(&w, &m[i], cdims, i % 3 ? "" : GZIP, false);
    }
    for (unsigned k = 0; k < TURNS; k++) {
        struct model      *one = &m[below(&seed, N)];
        struct bkt_dsetio *io  = open_io(&w, one->n);
        struct bkt_sel     sel = {.rank = 1, .dims = {20}};
        struct bkt_err     err = {0};
        random_sel(&sel, &seed);
        if (k % 2)
            model_check(one, io, "before");
        CHECK(k % 3 == 0 || model_write(one, io, &sel, (int32_t)(k * 100), &err) == BKT_OK, "%s", story(&err));
        if (k % 5 == 0)
            model_check(one, io, "after");
        if (k % 500 == 0)
            CHECK(bkt_chunks_flush(w.dom, &err) == BKT_OK, "%s", story(&err));
        most = bkt_max_u64(most, bkt_map_count(bkt_write_cache_of(w.dom, true)->sets));
        free(sel.runs);
        bkt_dsetio_close(io);
    }
    struct bkt_err err = {0};
    CHECK(bkt_chunks_flush(w.dom, &err) == BKT_OK, "%s", story(&err));
    CHECK(most > 20 && most < N / 2, "%d datasets are remembered of %d", (int)most, N);
    reopen(&w, "many");
    for (unsigned i = 0; i < N; i++) {
        struct bkt_dsetio *io = open_io(&w, m[i].n);
        model_check(&m[i], io, "in the end");
        bkt_dsetio_close(io);
        free(m[i].v);
    }
    world_close(&w);
}

int main(void)
{
    many_datasets();
    struct world w;
    world_open(&w, "write", "");
    for (unsigned i = 0; i < FEWER(300, 60); i++)
        one_trial(&w, "write", i);
    counts(&w);
    append(&w);
    raw_chunks(&w);
    world_close(&w);
    stream();
    large("", "large");
    large(SHUFFLE_GZIP, "large-z");
    return failures != 0;
}
