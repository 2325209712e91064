/* Elements of variable length, written one by one and many at a time, against a model; and types that hold
 * several. */
#include "unit/chunk/write/write_testing.h"

#define STRING "{\"class\":\"H5T_STRING\",\"charSet\":\"H5T_CSET_UTF8\",\"length\":\"H5T_VARIABLE\",\"strPad\":\"H5T_STR_NULLTERM\"}"
#define MIXED "{\"class\":\"H5T_COMPOUND\",\"fields\":[{\"name\":\"n\",\"type\":\"H5T_STD_I32LE\"},{\"name\":\"s\",\"type\":" STRING "}]}"

struct vmodel {
    unsigned       n;
    bool           mixed;
    uint64_t       n_elems;
    struct bkt_buf *v; /* stored form */
};

static void element(struct bkt_buf *b, bool mixed, uint32_t *seed)
{
    unsigned char head[8];
    uint64_t      n = below(seed, 8) ? below(seed, 20) : below(seed, 3000);
    bkt_buf_clear(b);
    bkt_put_le(head, 4, xorshift32(seed));
    bkt_put_le(head + 4, 4, n);
    if (bkt_buf_add(b, head + (mixed ? 0 : 4), mixed ? 8 : 4) < 0)
        abort();
    for (uint64_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)('a' + (xorshift32(seed) >> 5) % 26);
        if (bkt_buf_add(b, &c, 1) < 0)
            abort();
    }
}

static void check(const struct vmodel *m, struct bkt_dsetio *io, const char *when)
{
    struct bkt_sel  all = {.kind = BKT_SEL_ALL, .rank = 1, .dims = {m->n_elems}, .n_elems = m->n_elems};
    struct bkt_read r   = {.io = io, .file = &all};
    struct bkt_err  err = {0};
    int             rc  = bkt_read_datasets(&r, 1, &err);
    unsigned        bad = 0;
    CHECK(rc == BKT_OK, "dataset %u, %s: %s", m->n, when, story(&err));
    for (uint64_t i = 0; rc == BKT_OK && i < m->n_elems; i++)
        bad += r.slices[i].n != m->v[i].len || memcmp(r.slices[i].p, m->v[i].ptr, m->v[i].len) != 0;
    CHECK(!bad, "dataset %u, %s: %u of %llu elements are wrong", m->n, when, bad, (unsigned long long)m->n_elems);
    bkt_read_fini(&r);
}

static void write_some(struct vmodel *m, struct bkt_dsetio *io, uint32_t *seed)
{
    struct bkt_sel sel = {.rank = 1, .dims = {m->n_elems}};
    uint64_t       n;
    random_sel(&sel, seed);
    uint64_t         *at     = model_of(&sel, &n);
    struct bkt_slice *slices = need((size_t)n * sizeof *slices);
    struct bkt_buf   *bufs   = calloc((size_t)n + 1, sizeof *bufs);
    struct bkt_err    err    = {0};
    for (uint64_t i = 0; i < n; i++) {
        element(&bufs[i], m->mixed, seed);
        slices[i] = (struct bkt_slice){bufs[i].ptr, bufs[i].len};
    }
    struct bkt_write w  = {.io = io, .file = &sel, .slices = slices};
    int              rc = bkt_write_datasets(&w, 1, &err);
    CHECK(rc == BKT_OK, "dataset %u: %s", m->n, story(&err));
    for (uint64_t i = 0; i < n; i++) {
        bkt_buf_clear(&m->v[at[i]]);
        if (bkt_buf_add(&m->v[at[i]], bufs[i].ptr, bufs[i].len) < 0)
            abort();
        bkt_buf_fini(&bufs[i]);
    }
    free(bufs), free(slices), free(at), free(sel.runs);
}

static void one_trial(struct world *w, unsigned trial)
{
    static const char *const lists[] = {"", GZIP, SHUFFLE_GZIP, "[{\"class\":\"H5Z_FILTER_USER\",\"id\":32015,\"name\":\"zstd\"}]"};
    uint32_t      seed = trial * 77 + 5;
    struct vmodel m    = {.n = trial + 1, .mixed = trial % 2, .n_elems = 1 + below(&seed, 60)};
    char         *dims = text("{\"class\":\"H5D_CHUNKED\",\"dims\":[%llu]}", (unsigned long long)(1 + below(&seed, m.n_elems + 3)));
    char         *cpl  = *lists[trial % 4] ? text("\"filters\":%s", lists[trial % 4]) : text("%s", "");
    put_dataset(w, m.n, m.mixed ? MIXED : STRING, 1, &m.n_elems, dims, cpl);
    m.v = calloc((size_t)m.n_elems, sizeof *m.v);
    for (uint64_t i = 0; i < m.n_elems; i++)
        if (bkt_buf_add(&m.v[i], "\0\0\0\0\0\0\0", m.mixed ? 8 : 4) < 0)
            abort();
    struct bkt_dsetio *io  = open_io(w, m.n);
    struct bkt_err     err = {0};
    for (int i = 0; i < 15; i++) {
        write_some(&m, io, &seed);
        if (below(&seed, 3) == 0)
            check(&m, io, "from the cache");
        if (below(&seed, 3) == 0)
            CHECK(bkt_chunks_flush(w->dom, &err) == BKT_OK, "%s", story(&err));
        if (below(&seed, 4) == 0) {
            CHECK(bkt_chunks_flush(w->dom, &err) == BKT_OK, "%s", story(&err));
            bkt_chunks_forget_stored(w->dom);
            bkt_dsetio_close(io);
            io = open_io(w, m.n);
            check(&m, io, "from the store");
        }
    }
    check(&m, io, "in the end");
    /* an element that is missing, or more than one */
    struct bkt_slice bad[] = {{(const unsigned char *)"\5\0\0\0abc", 7}, {(const unsigned char *)"\1\0\0\0ab", 6}, {NULL, 0}};
    struct bkt_sel   one   = {.kind = BKT_SEL_HYPER, .rank = 1, .dims = {m.n_elems}, .stride = {1}, .count = {1}, .block = {1}, .n_elems = 1};
    for (size_t i = 0; !m.mixed && i < BKT_COUNT(bad); i++) {
        struct bkt_write wr = {.io = io, .file = &one, .slices = &bad[i]};
        CHECK(bkt_write_datasets(&wr, 1, NULL) == BKT_EINVAL, "malformed element %zu", i);
    }
    check(&m, io, "after malformed elements");
    CHECK(bkt_chunks_flush(w->dom, &err) == BKT_OK, "%s", story(&err));
    bkt_dsetio_close(io);
    for (uint64_t i = 0; i < m.n_elems; i++)
        bkt_buf_fini(&m.v[i]);
    free(m.v), free(dims), free(cpl);
}

int main(void)
{
    struct world w;
    world_open(&w, "write-var", "");
    for (unsigned i = 0; i < 200; i++)
        one_trial(&w, i);
    world_close(&w);
    return failures != 0;
}
