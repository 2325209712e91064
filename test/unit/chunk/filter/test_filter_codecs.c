/* Each compressor's own encoder against our decoder, through the pipeline: right bytes back, straight and
 * with shuffle, and nothing worse than an error for streams cut short or changed. */
#include <blosc.h>
#include <bzlib.h>
#include <lz4.h>
#include <zlib.h>
#include <zstd.h>

#include "bkt_config.h"
#include "chunk/filter/filters_impl.h"
#include "unit/chunk/filter/filter_testing.h"

typedef size_t encode_fn(const unsigned char *in, size_t n, unsigned char *out, size_t cap, unsigned variant);

static size_t enc_deflate(const unsigned char *in, size_t n, unsigned char *out, size_t cap, unsigned variant)
{
    uLongf n_out = cap;
    return compress2(out, &n_out, in, n, (int)variant) == Z_OK ? n_out : 0;
}

static size_t enc_bzip2(const unsigned char *in, size_t n, unsigned char *out, size_t cap, unsigned variant)
{
    unsigned n_out = (unsigned)cap;
    int      rc = BZ2_bzBuffToBuffCompress((char *)out, &n_out, (char *)(uintptr_t)in, (unsigned)n, (int)variant, 0, 0);
    return rc == BZ_OK ? n_out : 0;
}

/* variant: block size; blocks that do not shrink are stored */
static size_t enc_lz4(const unsigned char *in, size_t n, unsigned char *out, size_t cap, unsigned variant)
{
    size_t at = 12;
    bkt_put_be(out, 8, n);
    bkt_put_be(out + 8, 4, variant);
    for (size_t i = 0; i < n; i += variant) {
        size_t k   = n - i < variant ? n - i : variant;
        int    got = LZ4_compress_default((const char *)in + i, (char *)out + at + 4, (int)k, (int)(cap - at - 4));
        if (got <= 0 || (size_t)got >= k) {
            memcpy(out + at + 4, in + i, k);
            got = (int)k;
        }
        bkt_put_be(out + at, 4, (uint64_t)got);
        at += 4 + (size_t)got;
    }
    return at;
}

/* variant: level, +100 without the size in the frame, +200 in two frames */
static size_t enc_zstd(const unsigned char *in, size_t n, unsigned char *out, size_t cap, unsigned variant)
{
    ZSTD_CCtx *c  = ZSTD_createCCtx();
    size_t     at = 0, frames = variant >= 200 ? 2 : 1;
    ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, (int)(variant % 100));
    ZSTD_CCtx_setParameter(c, ZSTD_c_contentSizeFlag, variant < 100);
    for (size_t i = 0; i < frames; i++) {
        size_t from = n * i / frames, to = n * (i + 1) / frames;
        size_t got  = ZSTD_compress2(c, out + at, cap - at, in + from, to - from);
        at += ZSTD_isError(got) ? 0 : got;
    }
    ZSTD_freeCCtx(c);
    return at;
}

/* variant: codec * 100 + shuffle * 10 + (type size - 1) */
static const char *const blosc_names[] = {"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"};
static size_t enc_blosc(const unsigned char *in, size_t n, unsigned char *out, size_t cap, unsigned variant)
{
    int rc = blosc_compress_ctx(5, (int)(variant / 10 % 10), variant % 10 + 1, n, in, out, cap,
                                blosc_names[variant / 100], 0, 1);
    return rc > 0 ? (size_t)rc : 0;
}

/* Greedy LZF encoder, straight from the format. */
static size_t enc_lzf(const unsigned char *in, size_t n, unsigned char *out, size_t cap, unsigned variant)
{
    size_t at = 0, lit = 0;
    (void)cap;
    for (size_t i = 0; i <= n;) {
        size_t best = 0, distance = 0;
        for (size_t d = 1; d <= i && d <= variant && i < n; d++) {
            size_t k = 0;
            while (k < 264 && i + k < n && in[i + k] == in[i + k - d])
                k++;
            if (k > best) {
                best     = k;
                distance = d - 1;
            }
        }
        if (best < 3 && i < n && i - lit < 32) {
            i++;
            continue;
        }
        if (i > lit) {
            out[at++] = (unsigned char)(i - lit - 1);
            memcpy(out + at, in + lit, i - lit);
            at += i - lit;
        }
        if (i == n)
            break;
        lit = i;
        if (best < 3)
            continue;
        if (best - 2 < 7) {
            out[at++] = (unsigned char)((best - 2) << 5 | distance >> 8);
        } else {
            out[at++] = (unsigned char)(7 << 5 | distance >> 8);
            out[at++] = (unsigned char)(best - 2 - 7);
        }
        out[at++] = (unsigned char)distance;
        i += best;
        lit = i;
    }
    return at;
}

/* Snappy with every kind of element: literals of 1 to 2 length bytes, copies with 1, 2 and 4 bytes of offset. */
static size_t enc_snappy(const unsigned char *in, size_t n, unsigned char *out, size_t cap, unsigned variant)
{
    size_t at = 0, lit = 0;
    (void)cap;
    for (size_t v = n; ; v >>= 7) {
        out[at++] = (unsigned char)(v < 128 ? v : 128 | (v & 127));
        if (v < 128)
            break;
    }
    for (size_t i = 0; i <= n;) {
        size_t best = 0, distance = 0;
        for (size_t d = 1; d <= i && d <= 3000 && i < n; d += 1 + d / 64) {
            size_t k = 0;
            while (k < 64 && i + k < n && in[i + k] == in[i + k - d])
                k++;
            if (k > best) {
                best     = k;
                distance = d;
            }
        }
        if (best < 4 && i < n && i - lit < 1000) {
            i++;
            continue;
        }
        if (i > lit) {
            size_t k = i - lit - 1;
            if (k < 60) {
                out[at++] = (unsigned char)(k << 2);
            } else {
                out[at++] = 61 << 2;
                out[at++] = (unsigned char)k;
                out[at++] = (unsigned char)(k >> 8);
            }
            memcpy(out + at, in + lit, k + 1);
            at += k + 1;
        }
        if (i == n)
            break;
        lit = i;
        if (best < 4)
            continue;
        if (best <= 11 && distance < 2048 && variant == 0) {
            out[at++] = (unsigned char)(1 | (best - 4) << 2 | distance >> 8 << 5);
            out[at++] = (unsigned char)distance;
        } else {
            unsigned bytes = variant == 2 ? 4 : 2;
            out[at++] = (unsigned char)((best - 1) << 2 | (bytes == 4 ? 3 : 2));
            for (unsigned b = 0; b < bytes; b++)
                out[at++] = (unsigned char)(distance >> 8 * b);
        }
        i += best;
        lit = i;
    }
    return at;
}

static const struct {
    const char *what;
    int         id;
    encode_fn  *encode;
    unsigned    variant;
} codecs[] = {
    {"deflate 1", BKT_FILTER_DEFLATE, enc_deflate, 1},
    {"deflate 9", BKT_FILTER_DEFLATE, enc_deflate, 9},
    {"deflate stored", BKT_FILTER_DEFLATE, enc_deflate, 0},
    {"bzip2", BKT_FILTER_BZIP2, enc_bzip2, 1},
    {"lz4, one block", BKT_FILTER_LZ4, enc_lz4, 1u << 30},
    {"lz4, blocks of 1000", BKT_FILTER_LZ4, enc_lz4, 1000},
    {"lz4, blocks too small to shrink", BKT_FILTER_LZ4, enc_lz4, 5},
    {"zstd", BKT_FILTER_ZSTD, enc_zstd, 3},
    {"zstd without size", BKT_FILTER_ZSTD, enc_zstd, 103},
    {"zstd, two frames", BKT_FILTER_ZSTD, enc_zstd, 203},
    {"lzf", BKT_FILTER_LZF, enc_lzf, 8192},
    {"lzf, short distances", BKT_FILTER_LZF, enc_lzf, 3},
    {"snappy, short copies", BKT_FILTER_SNAPPY, enc_snappy, 0},
    {"snappy, 2-byte offsets", BKT_FILTER_SNAPPY, enc_snappy, 1},
    {"snappy, 4-byte offsets", BKT_FILTER_SNAPPY, enc_snappy, 2},
    {"blosc, as HSDS: lz4, typesize 1", BKT_FILTER_BLOSC, enc_blosc, 110},
    {"blosc blosclz, bitshuffle 4", BKT_FILTER_BLOSC, enc_blosc, 23},
    {"blosc lz4, shuffle 4", BKT_FILTER_BLOSC, enc_blosc, 113},
    {"blosc lz4hc, shuffle 8", BKT_FILTER_BLOSC, enc_blosc, 217},
    {"blosc snappy, shuffle 4", BKT_FILTER_BLOSC, enc_blosc, 313},
    {"blosc zlib, plain", BKT_FILTER_BLOSC, enc_blosc, 403},
    {"blosc zlib, as HSDS: typesize 1", BKT_FILTER_BLOSC, enc_blosc, 410},
    {"blosc zlib, shuffle 4", BKT_FILTER_BLOSC, enc_blosc, 413},
    {"blosc zlib, shuffle 8", BKT_FILTER_BLOSC, enc_blosc, 417},
    {"blosc zlib, bitshuffle 4", BKT_FILTER_BLOSC, enc_blosc, 423},
    {"blosc zstd, bitshuffle 2", BKT_FILTER_BLOSC, enc_blosc, 521},
};

static void roundtrip(size_t i, size_t n)
{
    unsigned char *raw = sample(n, 4, (uint32_t)n), *enc = need(2 * n + 4096), *got = need(n);
    size_t         n_enc = codecs[i].encode(raw, n, enc, 2 * n + 4096, codecs[i].variant);
    struct bkt_pipeline p = {.elem_size = 4};
    struct bkt_err      err = {0};
    CHECK(n_enc > 0, "%s: no encoder", codecs[i].what);
    int rc = bkt_pipeline_add(&p, codecs[i].id, 0, NULL, 0, NULL, &err);
    CHECK(rc == BKT_OK, "%s", codecs[i].what);

    rc = decode_copy(&p, 0, enc, n_enc, got, n, &err);
    CHECK(rc == BKT_OK && memcmp(raw, got, n) == 0, "%s, %zu bytes: %d %s", codecs[i].what, n, rc, story(&err));

    /* behind a shuffle */
    struct bkt_pipeline q = {.elem_size = 4};
    unsigned char      *want = need(n);
    unsigned            four = 4;
    bkt_unshuffle(raw, want, n, 4);
    rc = bkt_pipeline_add(&q, BKT_FILTER_SHUFFLE, 0, &four, 1, NULL, &err);
    rc |= bkt_pipeline_add(&q, codecs[i].id, 0, NULL, 0, NULL, &err);
    rc |= decode_copy(&q, 0, enc, n_enc, got, n, &err);
    CHECK(rc == BKT_OK && memcmp(want, got, n) == 0, "%s behind shuffle: %d %s", codecs[i].what, rc, story(&err));

    /* another length than the chunk's is an error in both directions; 4 more are a forgotten checksum */
    if (n > 8) {
        rc = decode_copy(&p, 0, enc, n_enc, got, n - 1, &err);
        CHECK(rc == BKT_EFORMAT, "%s: a byte too many gave %d", codecs[i].what, rc);
        rc = decode_copy(&p, 0, enc, n_enc, got, n - 4, &err);
        CHECK(rc == BKT_OK && memcmp(raw, got, n - 4) == 0, "%s: 4 bytes too many gave %d", codecs[i].what, rc);
        unsigned char *more = need(n + 1);
        rc                  = decode_copy(&p, 0, enc, n_enc, more, n + 1, &err);
        CHECK(rc == BKT_EFORMAT, "%s: a byte too few gave %d", codecs[i].what, rc);
        free(more);
    }
    if (n < 3000)
        torture(codecs[i].what, &p, enc, n_enc, n, 400);
    bkt_pipeline_fini(&p);
    bkt_pipeline_fini(&q);
    free(raw);
    free(enc);
    free(got);
    free(want);
}

/* Vectors made by hand from the formats' descriptions. */
static const struct {
    const char *what;
    int         id;
    size_t      n_in;
    const char *in, *want; /* want NULL: an error */
} vectors[] = {
    {"lzf literals", BKT_FILTER_LZF, 4, "\x02" "abc", "abc"},
    {"lzf run", BKT_FILTER_LZF, 4, "\x00" "a" "\x60\x00", "aaaaaa"},
    {"lzf long run", BKT_FILTER_LZF, 5, "\x00" "a" "\xe0\x01\x00", "aaaaaaaaaaa"},
    {"lzf before the beginning", BKT_FILTER_LZF, 4, "\x00" "a" "\x60\x01", NULL},
    {"lzf cut in a copy", BKT_FILTER_LZF, 3, "\x00" "a" "\x60", NULL},
    {"snappy run", BKT_FILTER_SNAPPY, 5, "\x06" "\x00" "a" "\x05\x01", "aaaaaa"},
    {"snappy literal", BKT_FILTER_SNAPPY, 5, "\x03" "\x08" "abc", "abc"},
    {"snappy offset 0", BKT_FILTER_SNAPPY, 5, "\x06" "\x00" "a" "\x05\x00", NULL},
    {"snappy too far back", BKT_FILTER_SNAPPY, 5, "\x06" "\x00" "a" "\x05\x02", NULL},
    {"lz4 stored block", BKT_FILTER_LZ4, 19, "\0\0\0\0\0\0\0\3" "\0\0\0\x10" "\0\0\0\3" "abc", "abc"},
    {"lz4 block size 0", BKT_FILTER_LZ4, 19, "\0\0\0\0\0\0\0\3" "\0\0\0\0" "\0\0\0\3" "abc", NULL},
    {"lz4 huge size", BKT_FILTER_LZ4, 19, "\xff\xff\xff\xff\xff\xff\xff\xff" "\0\0\0\0" "\0\0\0\3" "abc", NULL},
    {"blosc 2 frame", BKT_FILTER_BLOSC, 16, "\x05\1\1\4\1\0\0\0\1\0\0\0\x10\0\0\0", NULL},
};

static void vector(size_t i)
{
    struct bkt_pipeline p = {.elem_size = 1};
    size_t         n   = vectors[i].want ? strlen(vectors[i].want) : 6;
    unsigned char *got = need(n);
    int            rc  = bkt_pipeline_add(&p, vectors[i].id, 0, NULL, 0, NULL, NULL);
    rc |= decode_copy(&p, 0, vectors[i].in, vectors[i].n_in, got, n, NULL);
    if (vectors[i].want)
        CHECK(rc == BKT_OK && memcmp(got, vectors[i].want, n) == 0, "%s: %d", vectors[i].what, rc);
    else
        CHECK(rc == BKT_EFORMAT, "%s: %d", vectors[i].what, rc);
    free(got);
    bkt_pipeline_fini(&p);
}

#if BKT_HAVE_LIBDEFLATE
/* The frames that HSDS writes don't go through libblosc, whatever their size and whether their blocks are
 * split. */
static void test_blosc_zlib(void)
{
    static const size_t sizes[] = {1, 17, 128, 1000, 4096, 65537, 150001};
    for (size_t i = 0; i < BKT_COUNT(sizes); i++)
        for (unsigned type = 1; type <= 17; type += type < 4 ? 1 : 4)
            for (int shuffle = 0; shuffle < 2; shuffle++) {
                size_t                n = sizes[i], cap = n + BLOSC_MAX_OVERHEAD;
                unsigned char        *in = sample(n, type, (uint32_t)n), *z = need(cap), *out = need(n);
                int                   rc = blosc_compress_ctx(5, shuffle, type, n, in, z, cap, "zlib", 0, 1);
                struct bkt_blosc_head h;
                struct bkt_span       s = {z, rc > 0 ? (size_t)rc : 0};
                CHECK(rc > 0 && bkt_blosc_head(s, &h), "%zu bytes of type size %u: %d", n, type, rc);
                bool stored = z[2] & 2;
                bool done   = bkt_blosc_zlib(s, &h, out);
                CHECK(done != stored, "%zu bytes of type size %u, shuffle %d: %s", n, type, shuffle, done ? "taken" : "not taken");
                CHECK(!done || !memcmp(in, out, n), "%zu bytes of type size %u, shuffle %d: wrong", n, type, shuffle);
                free(in);
                free(z);
                free(out);
            }
}
#else
static void test_blosc_zlib(void) {}
#endif

int main(void)
{
    static const size_t sizes[] = {1, 7, 16, 100, 2500, 100000};
    for (size_t i = 0; i < BKT_COUNT(codecs); i++)
        for (size_t k = 0; k < BKT_COUNT(sizes); k++)
            roundtrip(i, sizes[k]);
    for (size_t i = 0; i < BKT_COUNT(vectors); i++)
        vector(i);
    test_blosc_zlib();
    return failures != 0;
}
