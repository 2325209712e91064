/* Encoders: their output is decoded to the same bytes, for data of many kinds.  Our decoders do that, which
 * other tests compare with the codecs themselves.  Filters that gain nothing are left out, and marked as left
 * out. */
#include <inttypes.h>

#include "unit/chunk/filter/filter_testing.h"
#include "helpers/sanitizer.h"

static const struct {
    const char *what;
    struct {
        int      id;
        unsigned flags;
        size_t   n_cd;
        unsigned cd[8];
    } f[4];
} lists[] = {
    {"deflate", {{1, 1, 1, {6}}}},
    {"deflate 0", {{1, 1, 1, {0}}}},
    {"deflate 1", {{1, 0, 1, {1}}}},
    {"deflate 9", {{1, 1, 1, {9}}}},
    {"shuffle", {{2, 1, 1, {0}}}},
    {"fletcher32", {{3, 0, 0, {0}}}},
    {"shuffle+deflate+fletcher32", {{2, 1, 0, {0}}, {1, 1, 1, {1}}, {3, 0, 0, {0}}}},
    {"lzf", {{32000, 1, 3, {4, 261, 0}}}},
    {"lz4", {{32004, 1, 0, {0}}}},
    {"lz4 small blocks", {{32004, 1, 1, {100}}}},
    {"zstd", {{32015, 1, 1, {3}}}},
    {"zstd level -5", {{32015, 1, 1, {(unsigned)-5}}}},
    {"bzip2", {{307, 1, 1, {9}}}},
    {"snappy", {{32003, 1, 0, {0}}}},
    {"blosc lz4 shuffle", {{32001, 1, 7, {2, 2, 0, 0, 5, 1, 1}}}},
    {"blosc zstd bitshuffle", {{32001, 1, 7, {2, 2, 0, 0, 5, 2, 5}}}},
    {"blosc blosclz", {{32001, 1, 7, {2, 2, 0, 0, 9, 0, 0}}}},
    {"bitshuffle", {{32008, 1, 5, {0, 3, 0, 0, 0}}}},
    {"bitshuffle lz4", {{32008, 1, 5, {0, 3, 0, 0, 2}}}},
    {"bitshuffle lz4 small blocks", {{32008, 1, 5, {0, 3, 0, 16, 2}}}},
    {"bitshuffle zstd", {{32008, 1, 6, {0, 3, 0, 0, 3, 5}}}},
    {"shuffle+lzf+fletcher32", {{2, 1, 0, {0}}, {32000, 1, 0, {0}}, {3, 0, 0, {0}}}},
};

enum kind { ZEROS, STEPS, RUNS, NOISE, REPEATS, KINDS };

static unsigned char *data_of(enum kind k, size_t n, size_t es, uint32_t seed)
{
    unsigned char *p = k == STEPS ? sample(n, es, seed) : need(n);
    uint32_t       s = seed + 17;
    for (size_t i = 0; i < n; i++)
        switch (k) {
        case ZEROS: p[i] = 0; break;
        case RUNS: p[i] = (unsigned char)(i / (1 + xorshift32(&s) % 3 + 300)); break;
        case NOISE: p[i] = (unsigned char)(xorshift32(&s) >> 7); break;
        case REPEATS: p[i] = i < 70 || xorshift32(&s) % 500 == 0 ? (unsigned char)(xorshift32(&s) >> 9) : p[i - 1 - (i / 1000) % 70]; break;
        default: break;
        }
    return p;
}

static void check_one(size_t l, enum kind k, size_t n, size_t es, uint32_t seed)
{
    BKT_CLEANUP(bkt_pipeline_fini) struct bkt_pipeline p   = {.elem_size = es};
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf           enc = {0};
    struct bkt_err err  = {0};
    uint32_t       mask = 0;
    for (size_t i = 0; i < BKT_COUNT(lists[l].f) && lists[l].f[i].id; i++)
        if (bkt_pipeline_add(&p, lists[l].f[i].id, lists[l].f[i].flags, lists[l].f[i].cd, lists[l].f[i].n_cd, NULL, NULL) < 0)
            abort();
    unsigned char *data = data_of(k, n, es, seed), *back = need(n);
    int            rc = bkt_pipeline_encode(&p, data, n, &enc, &mask, &err);
    CHECK(rc == BKT_OK, "%s: %d %s", lists[l].what, rc, story(&err));
    if (rc == BKT_OK) {
        rc = decode_copy(&p, mask, enc.ptr, enc.len, back, n, &err);
        CHECK(rc == BKT_OK && memcmp(data, back, n) == 0, "%s, data %d, %zu bytes of %zu, mask %u: %d %s", lists[l].what, (int)k, n, es,
              mask, rc, story(&err));
        CHECK(k == NOISE || n < 5000 || enc.len < n + n / 2, "%s, data %d: %zu bytes of %zu", lists[l].what, (int)k, enc.len, n);
    }
    free(data);
    free(back);
}

/* A mandatory filter that can't be applied fails the chunk; an optional one is left out. */
static void masks(void)
{
    struct bkt_pipeline p    = {.elem_size = 1};
    struct bkt_buf      enc  = {0};
    uint32_t            mask = 0, s = 5;
    unsigned char       noise[4096];
    struct bkt_err      err = {0};
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (unsigned char)(xorshift32(&s) >> 9);
    if (bkt_pipeline_add(&p, BKT_FILTER_SHUFFLE, 1, NULL, 0, NULL, NULL) < 0 ||
        bkt_pipeline_add(&p, BKT_FILTER_LZF, 1, NULL, 0, NULL, NULL) < 0)
        abort();
    CHECK(bkt_pipeline_encode(&p, noise, sizeof noise, &enc, &mask, &err) == BKT_OK && mask == 2 && enc.len == sizeof noise,
          "mask %u, %zu bytes", mask, enc.len);
    p.f[1].flags = 0;
    CHECK(bkt_pipeline_check(&p, &err) == BKT_OK, "all have encoders");
    CHECK(bkt_pipeline_encode(&p, noise, sizeof noise, &enc, &mask, &err) == BKT_EUNSUP, "mandatory");
    p.f[1].id = 12345;
    CHECK(bkt_pipeline_encode(&p, noise, sizeof noise, &enc, &mask, &err) == BKT_EUNSUP, "unknown and mandatory");
    CHECK(bkt_pipeline_check(&p, &err) == BKT_EUNSUP, "that is known before");
    p.f[1].flags = 1;
    CHECK(bkt_pipeline_check(&p, &err) == BKT_OK, "where it is optional it can be left out");
    bkt_pipeline_fini(&p);
    bkt_buf_fini(&enc);
}

/* Samples of fewer bits than their bytes have: higher bits aren't stored, and do no harm. */
static void szip_spare_bits(void)
{
    enum { N = 4000 };
    static const unsigned all_bits[] = {1, 3, 6, 8, 9, 11, 16, 17, 20, 24, 31}, options[] = {4, 32}, lines[] = {64, 50};
    unsigned stored = 0;
    for (unsigned c = 0; c < BKT_COUNT(all_bits) * 8; c++) {
        bool     msb = c % 2;
        unsigned bits = all_bits[c / 8], cd[] = {128 | options[c / 2 % 2] | (msb ? 16 : 8), 8, bits, lines[c / 4 % 2]};
        unsigned unit = bits <= 8 ? 1 : bits <= 16 ? 2 : 4;
        BKT_CLEANUP(bkt_pipeline_fini) struct bkt_pipeline p   = {.elem_size = unit};
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf           enc = {0};
        struct bkt_err err  = {0};
        uint32_t       mask = 0;
        unsigned char *data = data_of(RUNS, N, 1, c), *back = need(N);
        if (bkt_pipeline_add(&p, BKT_FILTER_SZIP, 1, cd, 4, NULL, NULL) < 0)
            abort();
        for (size_t i = 0; i < N; i++)
            data[i] = (unsigned char)(data[i] * 37 | 128);
        int rc = bkt_pipeline_encode(&p, data, N, &enc, &mask, &err);
        rc     = rc < 0 ? rc : decode_copy(&p, mask, enc.ptr, enc.len, back, N, &err);
        CHECK(rc == BKT_OK, "%u bits: %d %s", bits, rc, story(&err));
        for (size_t at = 0; at < N && !mask; at += unit) {
            uint64_t was = 0, is = 0;
            for (unsigned i = 0; i < unit; i++) {
                was |= (uint64_t)data[at + (msb ? unit - 1 - i : i)] << 8 * i;
                is |= (uint64_t)back[at + (msb ? unit - 1 - i : i)] << 8 * i;
            }
            CHECK(is == (was & ((1ULL << bits) - 1)), "%u bits, msb %d: %" PRIx64 " of %" PRIx64, bits, msb, is, was);
        }
        stored += !mask;
        free(data);
        free(back);
    }
    CHECK(stored > BKT_COUNT(all_bits) * 4, "%u became shorter", stored);
}

/* Shuffled and back, every small length and size of element. */
static void shuffles(void)
{
    for (size_t es = 1; es < 40; es++)
        for (size_t n = 0; n < 700; n += 1 + n / 20) {
            unsigned char *a = data_of(NOISE, n + 1, 1, (uint32_t)n + 3), *b = need(n), *c = need(n);
            bkt_shuffle(a, b, n, es);
            bkt_unshuffle(b, c, n, es);
            bool same = memcmp(a, c, n) == 0;
            for (size_t i = 0, m = n / es; same && m > 1 && i < m; i++)
                for (size_t k = 0; k < es; k++)
                    same = same && b[k * m + i] == a[i * es + k];
            CHECK(same, "%zu bytes of %zu", n, es);
            free(a), free(b), free(c);
        }
}

/* Half a MiB of it, below the caller's. */
__attribute__((noinline)) static void leave_on_the_stack(uint16_t v)
{
    volatile uint16_t a[1u << 18];
    for (size_t i = 0; i < BKT_COUNT(a); i++)
        a[i] = v;
}

/* A library's struct may have a field that its own initialisation leaves alone, for example how far back
 * matches may be.  The same elements must become the same bytes nevertheless. */
static void whatever_the_stack_holds(size_t l)
{
    BKT_CLEANUP(bkt_pipeline_fini) struct bkt_pipeline p     = {.elem_size = 4};
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf           first = {0};
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf           again = {0};
    uint32_t       mask;
    unsigned char *data = data_of(REPEATS, 6000, 4, 3);
    for (size_t i = 0; i < BKT_COUNT(lists[l].f) && lists[l].f[i].id; i++)
        if (bkt_pipeline_add(&p, lists[l].f[i].id, lists[l].f[i].flags, lists[l].f[i].cd, lists[l].f[i].n_cd, NULL, NULL) < 0)
            abort();
    for (uint16_t v = 0; v < 40; v++) {
        leave_on_the_stack(v < 20 ? v : (uint16_t)(v * 3271));
        int rc = bkt_pipeline_encode(&p, data, 6000, v ? &again : &first, &mask, NULL);
        CHECK(rc == BKT_OK, "%s: %d", lists[l].what, rc);
        CHECK(!v || (again.len == first.len && memcmp(again.ptr, first.ptr, first.len) == 0), "%s: %zu bytes, and %zu where the stack holds %u",
              lists[l].what, first.len, again.len, v);
    }
    free(data);
}

int main(void)
{
    static const size_t sizes[] = {1, 2, 4, 8, 3, 12, 16, 24}, lengths[] = {1, 7, 8, 64, 255, 1000, 4096, 40000, 150000};
    uint32_t seed = 1;
    for (size_t l = 0; l < BKT_COUNT(lists); l++)
        for (size_t e = 0; e < BKT_COUNT(sizes); e++)
            for (size_t n = 0; n < BKT_COUNT(lengths); n++)
                for (enum kind k = 0; k < KINDS; k++, seed++)
                    if ((seed * 2654435761u >> 16) % FEWER(1, 3) == 0 &&
                        (lengths[n] < 100000 || e == l % BKT_COUNT(sizes)))
                        check_one(l, k, lengths[n] * (n % 2 ? 1 : lengths[n] < 100000 ? sizes[e] : sizes[e] < 8 ? sizes[e] : 8), sizes[e], seed);
    masks();
    szip_spare_bits();
    shuffles();
    for (size_t l = 0; l < BKT_COUNT(lists); l++)
        whatever_the_stack_holds(l);
    return failures != 0;
}
