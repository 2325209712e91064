/* HSDS's chunk objects: frames as HSDS writes them (blosc with typesize 1 for any filters), older and foreign
 * forms, plain bytes that look like something else, and nothing beyond the limit. */
#include <blosc.h>
#include <lz4.h>
#include <zlib.h>

#include "unit/chunk/filter/filter_testing.h"

#define ES 4
enum { RAW, BLOSC, ZLIB, SHUFFLE, BITS, PLUS4, MINUS1 };

/* One step of writing; gives the new length. */
static size_t step(int what, const unsigned char *in, size_t n, unsigned char *out, size_t cap)
{
    uLongf n_z = cap;
    size_t at  = 12, done = 0;
    switch (what) {
    case BLOSC:
        return (size_t)blosc_compress_ctx(5, 1, 1, n, in, out, cap, "zlib", 0, 1);
    case ZLIB:
        return compress2(out, &n_z, in, n, 6) == Z_OK ? n_z : 0;
    case SHUFFLE:
        for (size_t i = 0; i < n / ES; i++)
            for (size_t k = 0; k < ES; k++)
                out[k * (n / ES) + i] = in[i * ES + k];
        return n;
    case BITS: /* blocks of 2048 elements, a smaller one, the last n%8 as they are */
        bkt_put_be(out, 8, n);
        bkt_put_be(out + 8, 4, 2048 * ES);
        while (n / ES - done >= 8) {
            unsigned char bits[2048 * ES] = {0};
            size_t        left = n / ES - done, b = left < 2048 ? left / 8 * 8 : 2048;
            for (size_t i = 0; i < b; i++)
                for (size_t k = 0; k < 8 * ES; k++)
                    bits[k * (b / 8) + i / 8] |=
                        (unsigned char)((in[(done + i) * ES + k / 8] >> k % 8 & 1) << i % 8);
            int got = LZ4_compress_default((char *)bits, (char *)out + at + 4, (int)(b * ES), (int)(cap - at - 4));
            bkt_put_be(out + at, 4, (uint64_t)got);
            at += 4 + (size_t)got;
            done += b;
        }
        memcpy(out + at, in + done * ES, n - done * ES);
        return at + n - done * ES;
    case PLUS4:
        memcpy(out, in, n);
        memset(out + n, 0x77, 4);
        return n + 4;
    default:
        memcpy(out, in, n);
        return what == MINUS1 ? n - 1 : n;
    }
}

static const struct {
    const char *what;
    bool        compressed, zlib;
    int         shuffle;
    int         steps[3];
    int         want;
} cases[] = {
    {"no filters", false, false, 0, {0}, BKT_OK},
    {"no filters, fletcher32 behind", false, false, 0, {PLUS4}, BKT_OK},
    {"no filters, too short", false, false, 0, {MINUS1}, BKT_EFORMAT},
    {"gzip as blosc", true, true, 0, {BLOSC}, BKT_OK},
    {"gzip+shuffle as blosc: not unshuffled again", true, true, 1, {BLOSC}, BKT_OK},
    {"lz4 as blosc", true, false, 0, {BLOSC}, BKT_OK},
    {"blosc with bytes behind", true, true, 0, {BLOSC, PLUS4}, BKT_OK},
    {"blosc cut", true, true, 0, {BLOSC, MINUS1}, BKT_EFORMAT},
    {"zlib", true, true, 0, {ZLIB}, BKT_OK},
    {"zlib and shuffle", true, true, 1, {SHUFFLE, ZLIB}, BKT_OK},
    {"zlib and fletcher32", true, true, 0, {ZLIB, PLUS4}, BKT_OK},
    {"zlib cut", true, true, 0, {ZLIB, MINUS1}, BKT_EFORMAT},
    {"zlib where lz4 is listed", true, false, 0, {ZLIB}, BKT_EFORMAT},
    {"listed compressor, plain bytes", true, true, 0, {0}, BKT_OK},
    {"listed compressor and shuffle, plain bytes", true, true, 1, {0}, BKT_OK},
    {"shuffle alone as HSDS stores it", false, false, 1, {0}, BKT_OK},
    {"bitshuffle alone", false, false, 2, {BITS}, BKT_OK},
    {"bitshuffle alone, plain bytes", false, false, 2, {0}, BKT_OK},
    {"bitshuffle in blosc", true, false, 2, {BITS, BLOSC}, BKT_OK},
    {"bitshuffle in zlib", true, true, 2, {BITS, ZLIB}, BKT_OK},
    {"bitshuffle listed, only blosc", true, false, 2, {BLOSC}, BKT_OK},
    {"bitshuffle cut", false, false, 2, {BITS, MINUS1}, BKT_EFORMAT},
};

static void run_case(size_t i, size_t n)
{
    struct bkt_hsds_codec c   = {cases[i].compressed, cases[i].zlib, cases[i].shuffle, ES, n};
    struct bkt_err        err = {0};
    size_t                cap = 2 * n + 10000, len = n;
    unsigned char        *raw = sample(n, ES, (uint32_t)n), *a = need(cap), *b = need(cap), *got = need(n);
    memcpy(a, raw, n);
    for (int k = 0; k < 3 && cases[i].steps[k]; k++) {
        len              = step(cases[i].steps[k], a, len, b, cap);
        unsigned char *t = a;
        a                = b;
        b                = t;
    }
    if (len == 0)
        abort();
    unsigned char *exact = need(len);
    memcpy(exact, a, len);
    int rc = bkt_hsds_decode(&c, exact, len, got, n, &err);
    CHECK(rc == cases[i].want, "%s, %zu bytes: %d %s", cases[i].what, n, rc, story(&err));
    CHECK(rc != BKT_OK || memcmp(raw, got, n) == 0, "%s, %zu bytes: other bytes", cases[i].what, n);
    CHECK(rc == BKT_OK || err.n > 0, "%s: no message", cases[i].what);

    uint32_t s = 99;
    for (int round = 0; n < 5000 && round < 300; round++) {
        struct bkt_buf out = {0};
        memcpy(exact, a, len);
        exact[xorshift32(&s) % (len < 24 ? len : 24)] = (unsigned char)xorshift32(&s);
        exact[xorshift32(&s) % len]                   = (unsigned char)xorshift32(&s);
        size_t cut = xorshift32(&s) % 2 ? len : xorshift32(&s) % len;
        rc         = bkt_hsds_decode(&c, exact, cut, got, n, NULL);
        CHECK(rc == BKT_OK || rc == BKT_EFORMAT || rc == BKT_EUNSUP, "%s: round %d gave %d", cases[i].what, round, rc);
        rc = bkt_hsds_decode_var(&c, exact, cut, &out, NULL);
        CHECK(rc == BKT_OK || rc == BKT_EFORMAT || rc == BKT_EUNSUP, "%s: round %d gave %d", cases[i].what, round, rc);
        CHECK(out.cap <= 4 * n + 256, "%s: %zu bytes taken for %zu", cases[i].what, out.cap, n);
        bkt_buf_fini(&out);
    }
    free(exact);
    free(raw);
    free(a);
    free(b);
    free(got);
}

/* Plain chunks of a compressed dataset that begin like a frame. */
static void test_lookalikes(void)
{
    static const char *const heads[] = {"\x78\x9c", "\x02\x01\x01\x01\x40\x00\x00\x00\x40\x00\x00\x00\x20\x00\x00\x00",
                                        "\x02\x01\x00\x04", "\x00\x00\x00\x00\x00\x00\x00\x40\x00\x00\x20\x00"};
    static const size_t      n_heads[] = {2, 16, 4, 12};
    for (size_t i = 0; i < BKT_COUNT(heads); i++)
        for (int shuffle = 0; shuffle < 3; shuffle++) {
            struct bkt_hsds_codec c = {true, true, shuffle, ES, 1000};
            unsigned char         in[64], got[64];
            struct bkt_err        err = {0};
            memset(in, 0x31, sizeof in);
            memcpy(in, heads[i], n_heads[i]);
            int rc = bkt_hsds_decode(&c, in, sizeof in, got, sizeof got, &err);
            CHECK(rc == BKT_OK && memcmp(in, got, sizeof in) == 0, "look-alike %zu, shuffle %d: %d %s", i, shuffle, rc,
                  story(&err));
            CHECK(err.n == 0, "look-alike %zu: success with a message", i);
        }
}

static void test_var(void)
{
    static const int forms[] = {RAW, BLOSC, ZLIB};
    size_t           n = 50000, cap = 2 * n + 1000;
    unsigned char   *raw = sample(n, 4, 9), *enc = need(cap);
    for (size_t i = 0; i < BKT_COUNT(forms); i++) {
        struct bkt_hsds_codec c   = {true, true, 1, 0, n};
        struct bkt_buf        out = {0};
        struct bkt_err        err = {0};
        size_t                len = step(forms[i], raw, n, enc, cap);
        int                   rc  = bkt_hsds_decode_var(&c, enc, len, &out, &err);
        CHECK(rc == BKT_OK && out.len == n && memcmp(out.ptr, raw, n) == 0, "form %d: %d %s", forms[i], rc, story(&err));
        c.max_out = n - 1;
        rc        = bkt_hsds_decode_var(&c, enc, len, &out, &err);
        CHECK(rc == BKT_EFORMAT && err.n > 0, "form %d over the limit: %d", forms[i], rc);
        bkt_buf_fini(&out);
    }
    struct bkt_hsds_codec plain = {false, false, 1, 0, 100};
    struct bkt_buf        out   = {0};
    int                   rc    = bkt_hsds_decode_var(&plain, "\x08\0\0\0abcdefgh", 12, &out, NULL);
    CHECK(rc == BKT_OK && out.len == 12, "plain: %d", rc);
    rc = bkt_hsds_decode_var(&plain, NULL, 0, &out, NULL);
    CHECK(rc == BKT_OK && out.len == 0, "empty: %d", rc);
    /* behind the stream so many bytes that the second guess of its length would be a little more than the
     * limit */
    struct bkt_hsds_codec zlib = {true, true, 0, 0, 1000};
    memset(raw, 0, 1010);
    memset(enc, 0, 60);
    CHECK(step(ZLIB, raw, 1010, enc, cap) < 60, "1010 zeros are few bytes");
    rc = bkt_hsds_decode_var(&zlib, enc, 60, &out, NULL);
    CHECK(rc == BKT_EFORMAT, "ten bytes over the limit: %d, %zu bytes", rc, out.len);
    bkt_buf_fini(&out);
    free(raw);
    free(enc);
}

int main(void)
{
    static const size_t sizes[] = {400, 4000, 5003 * ES};
    for (size_t i = 0; i < BKT_COUNT(cases); i++)
        for (size_t k = 0; k < BKT_COUNT(sizes); k++)
            run_case(i, sizes[k]);
    test_lookalikes();
    test_var();
    return failures != 0;
}
