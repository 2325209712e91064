/* Byte shuffle, bitshuffle and fletcher32 against plain loops written from their definitions. */
#include <lz4.h>
#include <zlib.h>
#include <zstd.h>

#include "chunk/filter/filters_impl.h"
#include "unit/chunk/filter/filter_testing.h"

static void shuffle(const unsigned char *in, unsigned char *out, size_t n_bytes, size_t es)
{
    size_t n = n_bytes / es;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < es; j++)
            out[j * n + i] = in[i * es + j];
    memcpy(out + n * es, in + n * es, n_bytes - n * es);
}

/* n is a multiple of 8: bit b of byte k of element i is bit i%8 of byte i/8 of row 8k+b. */
static void bitshuffle(const unsigned char *in, unsigned char *out, size_t n, size_t es)
{
    for (size_t row = 0; row < 8 * es; row++)
        for (size_t at = 0; at < n / 8; at++) {
            unsigned byte = 0;
            for (size_t i = 0; i < 8; i++)
                byte |= (in[(8 * at + i) * es + row / 8] >> row % 8 & 1U) << i;
            out[row * (n / 8) + at] = (unsigned char)byte;
        }
}

static void test_unshuffle(void)
{
    static const size_t counts[] = {0, 1, 2, 15, 16, 17, 31, 32, 33, 64, 100, 255, 1000};
    for (size_t es = 1; es <= 70; es++)
        for (size_t c = 0; c < BKT_COUNT(counts); c++)
            for (size_t tail = 0; tail < 3 && tail < es; tail++) {
                size_t         n   = counts[c] * es + tail;
                unsigned char *raw = sample(n, 3, (uint32_t)(es + n)), *mid = need(n), *got = need(n);
                shuffle(raw, mid, n, es);
                bkt_unshuffle(mid, got, n, es);
                CHECK(n == 0 || memcmp(raw, got, n) == 0, "%zu elements of %zu bytes and %zu", counts[c], es, tail);
                free(raw);
                free(mid);
                free(got);
            }
}

/* Past the cache, to any place of a line of it: if it is done at all, the same bytes are written and none
 * beside them. */
static void test_past(const unsigned char *planes, const unsigned char *raw, size_t es, size_t count)
{
    size_t         n = es * count, n_done = 0;
    unsigned char *mem = need(n + 128);
    for (size_t shift = 0; shift < 64; shift++) {
        unsigned char *at = mem + 64 - (uintptr_t)mem % 64 + shift;
        memset(mem, 0xA5, n + 128);
        bool done = bkt_unshuffle_past(planes, count, at, count, es);
        bkt_unshuffle_fence();
        n_done += done;
        bool beside = false;
        for (size_t i = 0; i < n + 128; i++)
            beside |= mem[i] != 0xA5 && (mem + i < at || mem + i >= at + n);
        CHECK(!beside && (done ? !memcmp(at, raw, n) : at[0] == 0xA5 && at[n - 1] == 0xA5), "%zu elements of %zu, %zu behind a line: %s",
              count, es, shift, done ? "done" : "not done");
    }
#ifdef __SSE2__
    CHECK(n_done == (count >= 32 && (es == 2 || es == 4 || es == 8) ? 64 / es : n_done), "%zu elements of %zu: %zu places", count, es, n_done);
#endif
    free(mem);
}

/* The work that decode_planes leaves, done for a stretch here and a stretch there. */
static void test_planes(size_t es, size_t count)
{
    size_t              n = es * count;
    unsigned char      *raw = sample(n, es, (uint32_t)n), *mid = need(n), *got = need(n), *planes = need(n);
    unsigned            cd  = (unsigned)es;
    struct bkt_pipeline p   = {.elem_size = es};
    bool                are = false;
    shuffle(raw, mid, n, es);
    uLongf         n_z = compressBound(n);
    unsigned char *z   = need(n_z);
    if (bkt_pipeline_add(&p, BKT_FILTER_SHUFFLE, 0, &cd, 1, "shuffle", NULL) < 0 ||
        bkt_pipeline_add(&p, BKT_FILTER_DEFLATE, 0, NULL, 0, "deflate", NULL) < 0 || compress2(z, &n_z, mid, n, 1) != Z_OK)
        abort();
    int rc = bkt_pipeline_decode_planes(&p, 0, z, n_z, planes, n, &are, NULL);
    CHECK(rc == BKT_OK && are == (es > 1 && count > 1), "%zu elements of %zu: %d, planes %d", count, es, rc, are);
    uint32_t seed = 5;
    for (size_t at = 0; are && at < count;) {
        size_t m = 1 + xorshift32(&seed) % (count - at);
        bkt_unshuffle_part(planes + at, count, got + at * es, m, es);
        at += m;
    }
    CHECK(!memcmp(are ? got : planes, raw, n), "%zu elements of %zu in stretches", count, es);
    if (are)
        test_past(planes, raw, es, count);
    rc = bkt_pipeline_decode_planes(&p, 1, z, n_z, planes, n, &are, NULL);
    CHECK(rc == BKT_OK && !are && !memcmp(planes, mid, n), "shuffle skipped by the mask: %d, planes %d", rc, are);
    rc = bkt_pipeline_decode_planes(&p, 2, mid, n, planes, n, &are, NULL);
    CHECK(rc == BKT_OK && !are && !memcmp(planes, raw, n), "nothing but shuffle: %d, planes %d", rc, are);
    bkt_pipeline_fini(&p);
    free(raw);
    free(mid);
    free(got);
    free(planes);
    free(z);
}

/* codec: 0 none, 2 LZ4, 3 zstd, as in the client data; gives the length. */
static size_t bitshuffle_encode(const unsigned char *in, size_t total, size_t es, size_t block, unsigned codec,
                                unsigned char *out, size_t cap)
{
    size_t         at = 0, from = 0, left = total / es;
    unsigned char *bits = need(block * es);
    if (codec) {
        bkt_put_be(out, 8, total);
        bkt_put_be(out + 8, 4, block * es);
        at = 12;
    }
    while (left >= 8) {
        size_t n = left < block ? left / 8 * 8 : block, n_c = n * es;
        bitshuffle(in + from, bits, n, es);
        if (codec == 2)
            n_c = (size_t)LZ4_compress_default((char *)bits, (char *)out + at + 4, (int)n_c, (int)(cap - at - 4));
        else if (codec == 3)
            n_c = ZSTD_compress(out + at + 4, cap - at - 4, bits, n_c, 3);
        else
            memcpy(out + at, bits, n_c);
        if (codec) {
            bkt_put_be(out + at, 4, n_c);
            at += 4;
        }
        at += n_c;
        from += n * es;
        left -= n;
    }
    memcpy(out + at, in + from, total - from);
    free(bits);
    return at + total - from;
}

static void test_bitshuffle(size_t es, size_t n, size_t block, unsigned codec)
{
    size_t              total = n * es, cap = 2 * total + 10000;
    unsigned char      *raw = sample(total, es, (uint32_t)(es * 31 + n)), *enc = need(cap), *got = need(total);
    size_t              real  = block ? block : 8192 / es / 8 * 8 < 128 ? 128 : 8192 / es / 8 * 8;
    size_t              n_enc = bitshuffle_encode(raw, total, es, real, codec, enc, cap);
    unsigned            cd[6] = {0, 4, (unsigned)es, (unsigned)block, codec, 3};
    struct bkt_pipeline p     = {.elem_size = es};
    struct bkt_err      err   = {0};
    int                 rc    = bkt_pipeline_add(&p, BKT_FILTER_BITSHUFFLE, 0, cd, codec ? 6 : 4, NULL, &err);
    rc |= decode_copy(&p, 0, enc, n_enc, got, total, &err);
    CHECK(rc == BKT_OK && memcmp(raw, got, total) == 0, "bitshuffle %zu x %zu, block %zu, codec %u: %d %s", n, es,
          block, codec, rc, story(&err));
    if (n <= 300)
        torture("bitshuffle", &p, enc, n_enc, total, 60);
    bkt_pipeline_fini(&p);
    free(raw);
    free(enc);
    free(got);
}

static void test_bitshuffle_params(void)
{
    unsigned char       raw[64] = {0}, got[64];
    static const struct {
        const char *what;
        unsigned    cd[5];
        int         want;
    } cases[] = {
        {"block not a multiple of 8", {0, 4, 4, 12, 0}, BKT_EFORMAT},
        {"huge block", {0, 4, 4, 0xfffffff8u, 0}, BKT_OK},
        {"huge element", {0, 4, 0xffffffffu, 0, 0}, BKT_OK}, /* no whole element: all is tail */
        {"unknown compressor: none, as the plugin has it", {0, 5, 4, 0, 5}, BKT_OK},
    };
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        struct bkt_pipeline p  = {.elem_size = 4};
        int                 rc = bkt_pipeline_add(&p, BKT_FILTER_BITSHUFFLE, 0, cases[i].cd, 5, NULL, NULL);
        CHECK(rc == BKT_OK, "%s", cases[i].what);
        rc = decode_copy(&p, 0, raw, sizeof raw, got, sizeof got, NULL);
        CHECK(rc == cases[i].want, "%s: %d", cases[i].what, rc);
        bkt_pipeline_fini(&p);
    }
}

/* HDF5's algorithm as its specification words it: sums of 16-bit words, folded. */
static uint32_t fletcher(const unsigned char *p, size_t n)
{
    uint32_t a = 0, b = 0;
    for (size_t i = 0; i < n; i += 2) {
        a += (uint32_t)p[i] << 8 | (i + 1 < n ? p[i + 1] : 0u);
        a = (a & 0xffff) + (a >> 16);
        b += a;
        b = (b & 0xffff) + (b >> 16);
    }
    return b << 16 | a;
}

static void test_fletcher(void)
{
    uint32_t s = 77;
    CHECK(bkt_fletcher32_sum("abcde", 5) == fletcher((const unsigned char *)"abcde", 5), "abcde");
    for (size_t n = 0; n < 5000; n = n < 40 ? n + 1 : n + n / 3) {
        unsigned char *p = need(n + 4), *got = need(n);
        for (int kind = 0; kind < 4; kind++) {
            for (size_t i = 0; i < n; i++)
                p[i] = kind == 0 ? 0 : kind == 1 ? 0xff : (unsigned char)xorshift32(&s);
            uint32_t sum = bkt_fletcher32_sum(p, n);
            CHECK(sum == fletcher(p, n), "%zu bytes of kind %d: %08x instead of %08x", n, kind, (unsigned)sum,
                  (unsigned)fletcher(p, n));
            if (n == 0)
                continue;
            struct bkt_pipeline q  = {.elem_size = 1};
            int                 rc = bkt_pipeline_add(&q, BKT_FILTER_FLETCHER32, 0, NULL, 0, NULL, NULL);
            bkt_put_le(p + n, 4, sum);
            rc |= decode_copy(&q, 0, p, n + 4, got, n, NULL);
            CHECK(rc == BKT_OK && memcmp(p, got, n) == 0, "%zu bytes: %d", n, rc);
            bkt_put_le(p + n, 4, (sum & 0x00ff00ff) << 8 | (sum >> 8 & 0x00ff00ff));
            rc = decode_copy(&q, 0, p, n + 4, got, n, NULL);
            CHECK(rc == BKT_OK, "sum of HDF5 before 1.6.3, %zu bytes: %d", n, rc);
            struct bkt_err err = {0};
            bkt_put_le(p + n, 4, sum ^ 0x100);
            rc = decode_copy(&q, 0, p, n + 4, got, n, &err);
            CHECK(rc == BKT_EFORMAT && strstr(story(&err), "fletcher32"), "wrong sum, %zu bytes: %d %s", n, rc,
                  story(&err));
            bkt_pipeline_fini(&q);
        }
        free(p);
        free(got);
    }
}

int main(void)
{
    test_unshuffle();
    for (size_t es = 1; es <= 19; es++)
        for (size_t n = 1; n < 300; n = 3 * n + 1)
            test_planes(es, n);
    for (size_t es = 1; es <= 17; es++) {
        static const size_t counts[] = {1, 7, 8, 9, 127, 128, 300, 5003};
        for (size_t c = 0; c < BKT_COUNT(counts); c++)
            for (unsigned codec = 0; codec <= 3; codec += codec ? 1 : 2) {
                test_bitshuffle(es, counts[c], 0, codec);
                test_bitshuffle(es, counts[c], 64, codec);
            }
    }
    test_bitshuffle_params();
    test_fletcher();
    return failures != 0;
}
