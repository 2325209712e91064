/* The number of requests and bytes of a read: ranges that are fetched together, and in parts. */
#include "chunk/read/segments.h"
#include "unit/chunk/read/bucket_in_memory.h"

/* How far apart ranges may be to be fetched as one: little always, more where they are long and requests dear. */
static void test_gaps(void)
{
    static const struct {
        uint64_t len, gap;
        size_t   want;
    } cases[] = {
        {4, 0, 2},          {4, 65536, 2},        {4, 65537, 1},        {100000, 90000, 2},
        {100000, 110000, 1}, {1 << 20, 1 << 20, 2}, {4 << 20, 2 << 20, 1}, {1 << 20, 3 << 20, 1},
    };
    const struct bkt_limits lim  = {.part = 8 << 20, .merge = 8 << 20, .gap = 64 << 10, .far_gap = 2 << 20};
    struct bkt_chunk_file   file = {.key = (char[]){"f"}};
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        struct bkt_read_segment v[2] = {
            {.file = &file, .len = cases[i].len},
            {.file = &file, .off = cases[i].len + cases[i].gap, .len = cases[i].len}};
        struct bkt_read_segments segs = {.v = v, .n = 2};
        uint64_t        len;
        size_t n = bkt_read_segments_span(&segs, 0, &lim, &len);
        CHECK(n == cases[i].want && len == (n == 1 ? cases[i].len : 2 * cases[i].len + cases[i].gap), "%llu bytes, %llu apart: %zu",
              (unsigned long long)cases[i].len, (unsigned long long)cases[i].gap, n);
    }
}

static const struct {
    const char *what;
    enum way    way;
    uint64_t    dim, chunk, start, stride, count, block; /* count 0: ALL */
    uint64_t    gets, bytes_most;
} costs[] = {
    {"256 chunk objects: 256 GETs", OBJECTS, 256 * 1024, 1024, 0, 0, 0, 0, 256, 1 << 20},
    {"one value: its chunk", OBJECTS, 256 * 1024, 1024, 77777, 1, 1, 1, 1, 4096},
    {"one value of a reference: its bytes", CONTIGUOUS, 256 * 1024, 0, 77777, 1, 1, 1, 1, 4},
    {"one value of an unfiltered chunk: its bytes", CHUNKS, 256 * 1024, 1024, 77777, 1, 1, 1, 1, 4},
    {"far points: each its bytes", CONTIGUOUS, 256 * 1024, 0, 0, 32768, 8, 1, 8, 32},
    {"near points are fetched together", CONTIGUOUS, 256 * 1024, 0, 0, 100, 50, 1, 1, 100 * 50 * 4},
    {"1 MiB of small chunks in a row: one range", CHUNKS, 256 * 1024, 1024, 0, 0, 0, 0, 2, (1 << 20) + 51200},
    {"4 MiB in parts of 1 MiB", CONTIGUOUS, 1 << 20, 0, 0, 0, 0, 0, 4, 4 << 20},
    {"one filtered chunk", CHUNKS_ZLIB, 256 * 1024, 65536, 70000, 1, 1, 1, 1, 300000},
    {"chunk table, its chunk, the value", TABLE, 256 * 1024, 1024, 77777, 1, 1, 1, 2, 4096},
};

static void test_costs(void)
{
    struct world w;
    world_open(&w, "costs", "test.part_size=1M;test.merge_gap=1K");
    for (size_t i = 0; i < BKT_COUNT(costs); i++) {
        uint32_t         seed = 5;
        struct array     a    = {.n = 200 + 2 * (unsigned)i, .way = costs[i].way, .rank = 1,
                                 .dims = {costs[i].dim}, .cdims = {costs[i].chunk}};
        struct bkt_stats before, after;
        array_put(&w, &a, "costs", 0, &seed);
        struct bkt_dsetio *io  = open_io(&w, a.n);
        struct bkt_sel     sel = all_of(1, a.dims);
        if (costs[i].count) {
            sel.kind     = BKT_SEL_HYPER;
            sel.start[0] = costs[i].start, sel.stride[0] = costs[i].stride, sel.count[0] = costs[i].count, sel.block[0] = costs[i].block;
            sel.n_elems  = costs[i].count * costs[i].block;
        }
        int32_t        *dst = need((size_t)sel.n_elems * 4);
        struct bkt_read r   = {.io = io, .file = &sel, .dst = dst};
        if (costs[i].way == TABLE) { /* the request for the table's own JSON is not one for a chunk */
            struct bkt_id            id = world_id(a.n + 1);
            const struct bkt_object *o;
            if (bkt_domain_get(w.dom, &id, &o, NULL) == BKT_OK)
                bkt_object_release(o);
        }
        bkt_stats_get(&before);
        CHECK(bkt_read_datasets(&r, 1, NULL) == BKT_OK, "%s", costs[i].what);
        bkt_stats_get(&after);
        uint64_t n = after.get - before.get, bytes = after.bytes_in - before.bytes_in;
        CHECK(n == costs[i].gets && after.head == before.head && bytes <= costs[i].bytes_most, "%s: %llu GETs, %llu bytes",
              costs[i].what, (unsigned long long)n, (unsigned long long)bytes);
        CHECK(bkt_read_datasets(&r, 1, NULL) == BKT_OK, "%s, again", costs[i].what);
        bkt_stats_get(&before);
        CHECK(before.get == after.get, "%s: again without requests", costs[i].what);
        free(dst);
        bkt_dsetio_close(io);
        array_free(&a);
    }
    world_close(&w);
}

/* A long range comes in parts, which leave nothing out: uncompressed, and a chunk that can only be decoded as
 * a whole. */
static void test_split(void)
{
    enum { N = 200003 };
    const uint64_t dims[] = {N};
    struct world   w;
    int32_t       *v = malloc(N * sizeof *v), *got = malloc(N * sizeof *got);
    for (int32_t i = 0; i < N; i++)
        v[i] = (int32_t)((uint32_t)i * 2654435761U);
    world_open(&w, "split", "test.part_size=64K;test.near=0;allow=split");
    put_object(&w, "long", v, N * sizeof *v);
    put_dataset(&w, 7, I32, 1, dims, CHUNKED("[200003]"), REF("CONTIGUOUS_REF", "split/long", "\"offset\":0,\"size\":800012"));
    size_t         n_z = 0;
    unsigned char *z   = deflate_of(v, N * sizeof *v, &n_z);
    char          *cpl = text("\"filters\":[1]," REF("CHUNKED_REF", "split/packed", "\"dims\":[200003],\"chunks\":{\"0\":[0,%zu]}"), n_z);
    CHECK(n_z > 10 * 65536, "%zu bytes", n_z);
    put_object(&w, "packed", z, n_z);
    put_dataset(&w, 8, I32, 1, dims, CHUNKED("[200003]"), cpl);
    for (unsigned k = 0; k < 4; k++) {
        unsigned           step = 1 + k % 2;
        struct bkt_dsetio *io   = open_io(&w, 7 + k / 2);
        struct bkt_sel     sel = {.kind = BKT_SEL_HYPER, .rank = 1, .dims = {N}, .stride = {step}, .count = {N / step}, .block = {1},
                                  .n_elems = N / step};
        struct bkt_read    r   = {.io = io, .file = &sel, .dst = got};
        struct bkt_err     err = {0};
        unsigned           bad = 0;
        CHECK(bkt_read_datasets(&r, 1, &err) == BKT_OK, "step %u: %s", step, err.n ? err.frame[0].msg : "");
        for (unsigned i = 0; i < N / step; i++)
            bad += got[i] != v[i * step];
        CHECK(!bad, "step %u: %u of %u are wrong", step, bad, N / step);
        bkt_read_fini(&r);
        bkt_dsetio_close(io);
        bkt_chunks_forget_stored(w.dom);
    }
    world_close(&w);
    free(v);
    free(got);
    free(z);
    free(cpl);
}

int main(void)
{
    test_gaps();
    test_costs();
    test_split();
    return failures != 0;
}
