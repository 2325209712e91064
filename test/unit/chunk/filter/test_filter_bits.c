/* N-bit and scale-offset: packed here bit by bit from the formats' description, decoded by ours; and
 * descriptions that lie.  That HDF5 packs the same way is for test_filters_vs_hdf5 to show. */
#include <math.h>

#include "unit/chunk/filter/filter_testing.h"

struct packer {
    unsigned char *p;
    size_t         pos;
};
static void put_bits(struct packer *k, uint64_t v, unsigned n)
{
    for (unsigned i = n; i-- > 0; k->pos++)
        if (v >> i & 1)
            k->p[k->pos / 8] |= (unsigned char)(0x80 >> k->pos % 8);
}

static int decode(int id, const unsigned *cd, size_t n_cd, const void *in, size_t n_in, void *dst, size_t n_dst,
                  struct bkt_err *err)
{
    struct bkt_pipeline p  = {.elem_size = 1};
    int                 rc = bkt_pipeline_add(&p, id, 0, cd, n_cd, NULL, err);
    if (rc == BKT_OK)
        rc = decode_copy(&p, 0, in, n_in, dst, n_dst, err);
    bkt_pipeline_fini(&p);
    return rc;
}

static void nbit_numbers(unsigned size, unsigned big, unsigned precision, unsigned offset)
{
    enum { N = 37 };
    unsigned char  in[N * 16 + 1] = {0}, want[N * 16] = {0}, got[N * 16];
    unsigned       cd[8] = {8, 0, N, 1, size, big, precision, offset};
    struct packer  k     = {in, 0};
    uint32_t       s     = size * 1000 + precision * 10 + offset + 1;
    struct bkt_err err   = {0};
    for (unsigned i = 0; i < N; i++)
        for (unsigned b = precision; b-- > 0;) {
            unsigned bit = xorshift32(&s) >> 7 & 1, at = (b + offset) / 8;
            put_bits(&k, bit, 1);
            want[i * size + (big ? size - 1 - at : at)] |= (unsigned char)(bit << (b + offset) % 8);
        }
    int rc = decode(BKT_FILTER_NBIT, cd, 8, in, (k.pos + 7) / 8, got, (size_t)N * size, &err);
    CHECK(rc == BKT_OK && memcmp(got, want, (size_t)N * size) == 0, "nbit %u bytes, %s, precision %u, offset %u: %d %s",
          size, big ? "BE" : "LE", precision, offset, rc, story(&err));
    rc = decode(BKT_FILTER_NBIT, cd, 8, in, (k.pos + 7) / 8 - 1, got, (size_t)N * size, NULL);
    CHECK(rc == BKT_EFORMAT, "a byte too few: %d", rc);
}

/* struct of 12 bytes: at 1 a 16-bit LE number of 11 bits at bit 3; at 4 an array of 2 x (compound of 3: at 0
 * a BE number of 9 bits in 2 bytes, at 2 one other byte); at 10 two other bytes. */
static const unsigned compound_cd[] = {29, 0, 3, 3, 12, 3, 1, 1, 2, 0, 11, 3, 4, 2, 6, 3, 3, 2,
                                       0,  1, 2, 1, 9,  0, 2, 4, 1, 10, 4};
static void nbit_compound(void)
{
    unsigned       cd[30];
    unsigned char  in[64] = {0}, want[36] = {0}, got[36];
    struct packer  k   = {in, 0};
    uint32_t       s   = 5;
    struct bkt_err err = {0};
    memcpy(cd, compound_cd, sizeof compound_cd);
    cd[29] = 2;
    cd[0]  = 30;
    for (size_t i = 0; i < 3; i++) {
        unsigned char *e = want + 12 * i;
        unsigned       v = xorshift32(&s) & 0x7ff;
        put_bits(&k, v, 11);
        bkt_put_le(e + 1, 2, (uint64_t)v << 3);
        for (size_t j = 0; j < 2; j++) {
            v = xorshift32(&s) & 0x1ff;
            put_bits(&k, v, 9);
            bkt_put_be(e + 4 + 3 * j, 2, v);
            v = xorshift32(&s) & 255;
            put_bits(&k, v, 8);
            e[4 + 3 * j + 2] = (unsigned char)v;
        }
        v = xorshift32(&s) & 0xffff;
        put_bits(&k, v, 16);
        bkt_put_be(e + 10, 2, v);
    }
    int rc = decode(BKT_FILTER_NBIT, cd, 30, in, (k.pos + 7) / 8, got, sizeof got, &err);
    CHECK(rc == BKT_OK && memcmp(got, want, sizeof got) == 0, "nbit compound: %d %s", rc, story(&err));

    /* descriptions that lie: decoding may fail, but stays inside */
    for (int i = 0; i < 20000; i++) {
        unsigned bad[30];
        memcpy(bad, cd, sizeof bad);
        for (uint32_t m = xorshift32(&s) % 3 + 1; m > 0; m--)
            bad[1 + xorshift32(&s) % 29] = xorshift32(&s) % 8 ? xorshift32(&s) % 20 : xorshift32(&s);
        size_t n = xorshift32(&s) % 4 ? 30 : xorshift32(&s) % 31;
        rc       = decode(BKT_FILTER_NBIT, bad, n, in, sizeof in, got, sizeof got, NULL);
        CHECK(rc == BKT_OK || rc == BKT_EFORMAT, "lie %d gave %d", i, rc);
    }
}

static void nbit_lies(void)
{
    static const struct {
        const char *what;
        size_t      n;
        unsigned    cd[12];
    } cases[] = {
        {"nothing", 0, {0}},
        {"count is wrong", 8, {9, 0, 1, 1, 4, 0, 8, 0}},
        {"precision over the size", 8, {8, 0, 1, 1, 4, 0, 33, 0}},
        {"precision and offset wrap", 8, {8, 0, 1, 1, 4, 0, 8, 0xfffffffc}},
        {"precision 0", 8, {8, 0, 1, 1, 4, 0, 0, 0}},
        {"unknown byte order", 8, {8, 0, 1, 1, 4, 2, 8, 0}},
        {"array of elements of size 0", 7, {7, 0, 1, 2, 4, 4, 0}},
        {"array of larger elements", 7, {7, 0, 1, 2, 4, 4, 8}},
        {"member outside", 9, {9, 0, 1, 3, 4, 1, 2, 4, 4}},
        {"members overlap in sum", 12, {12, 0, 1, 3, 4, 2, 0, 4, 4, 0, 4, 4}},
        {"description ends early", 6, {6, 0, 1, 3, 4, 1}},
        {"unknown class", 5, {5, 0, 1, 9, 4}},
        {"too many elements", 5, {5, 0, 0xffffffff, 4, 0xffffffff}},
    };
    unsigned char in[64] = {0}, got[4];
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        int rc = decode(BKT_FILTER_NBIT, cases[i].cd, cases[i].n, in, sizeof in, got, sizeof got, NULL);
        CHECK(rc == BKT_EFORMAT, "%s: %d", cases[i].what, rc);
    }
    unsigned deep[401] = {401, 0, 1};
    for (size_t i = 3; i < 401; i += 2) {
        deep[i]     = 2;
        deep[i + 1] = 4;
    }
    int rc = decode(BKT_FILTER_NBIT, deep, 401, in, sizeof in, got, sizeof got, NULL);
    CHECK(rc == BKT_EFORMAT, "arrays of arrays without end: %d", rc);
    unsigned noop[8] = {8, 1, 1, 1, 4, 0, 32, 0};
    rc               = decode(BKT_FILTER_NBIT, noop, 8, "abcd", 4, got, 4, NULL);
    CHECK(rc == BKT_OK && memcmp(got, "abcd", 4) == 0, "nothing packed: %d", rc);
}

struct so_case {
    unsigned size, bits, big, fill;
    int      factor; /* decimal digits; -1000: integers */
};

static void scaleoffset(struct so_case c)
{
    enum { N = 41 };
    unsigned char  in[21 + N * 8 + 1] = {0}, want[N * 8], got[N * 8];
    struct packer  k   = {in + 21, 0};
    uint32_t       s   = c.bits * 7 + c.size + 1;
    struct bkt_err err = {0};
    bool           flt = c.factor != -1000;
    unsigned       cd[20] = {flt ? 0 : 2, flt ? (unsigned)c.factor : 0, N, flt, c.size, 1, c.big, c.fill, 0xdeadbeef, 0xcafebabe};
    uint64_t       min = flt ? 0 : (uint64_t)-1000, fill = 0xcafebabedeadbeef;
    double         dmin = -12.75;
    float          fmin = -12.75F;
    if (flt && c.size == 4)
        memcpy(&min, &fmin, 4);
    else if (flt)
        memcpy(&min, &dmin, 8);
    bkt_put_le(in, 4, c.bits);
    in[4] = 8;
    bkt_put_le(in + 5, 8, min);
    for (unsigned i = 0; i < N; i++) {
        uint64_t mark = c.bits == 64 ? 0 : ((uint64_t)1 << c.bits) - 1, v, x;
        v = ((uint64_t)xorshift32(&s) << 32 | xorshift32(&s)) & (c.bits == 64 ? UINT64_MAX : mark);
        if (c.bits < 8 * c.size && i % 5 == 0)
            v = mark;
        x = v + min;
        if (flt && c.size == 4) {
            float y = (float)v / powf(10, (float)c.factor) + fmin;
            x       = 0;
            memcpy(&x, &y, 4);
        } else if (flt) {
            double y = (double)v / pow(10, c.factor) + dmin;
            memcpy(&x, &y, 8);
        }
        if (c.bits == 8 * c.size) {
            bkt_put_le(in + 21 + (size_t)i * c.size, c.size, v);
            k.pos += c.bits;
            x = v;
        } else {
            put_bits(&k, v, c.bits);
            if (c.fill && v == mark)
                x = fill;
        }
        if (c.big)
            bkt_put_be(want + (size_t)i * c.size, c.size, x);
        else
            bkt_put_le(want + (size_t)i * c.size, c.size, x);
    }
    size_t n_in = 21 + (k.pos + 7) / 8, n = (size_t)N * c.size;
    int    rc   = decode(BKT_FILTER_SCALEOFFSET, cd, 20, in, n_in, got, n, &err);
    CHECK(rc == BKT_OK && memcmp(got, want, n) == 0, "scaleoffset %u bytes, %u bits, big %u, fill %u, factor %d: %d %s",
          c.size, c.bits, c.big, c.fill, c.factor, rc, story(&err));
    rc = decode(BKT_FILTER_SCALEOFFSET, cd, 20, in, n_in - 1, got, n, NULL);
    CHECK(rc == BKT_EFORMAT, "a byte too few: %d", rc);
    for (int i = 0; i < 300; i++) {
        unsigned bad[20];
        memcpy(bad, cd, sizeof bad);
        bad[xorshift32(&s) % 9] = xorshift32(&s) % 4 ? xorshift32(&s) % 20 : xorshift32(&s);
        in[xorshift32(&s) % 21] = (unsigned char)xorshift32(&s);
        rc = decode(BKT_FILTER_SCALEOFFSET, bad, xorshift32(&s) % 8 ? 20 : xorshift32(&s) % 20, in, n_in, got, n, NULL);
        CHECK(rc == BKT_OK || rc == BKT_EFORMAT || rc == BKT_EUNSUP, "lie %d gave %d", i, rc);
    }
}

int main(void)
{
    static const unsigned sizes[] = {1, 2, 3, 4, 8, 10, 16};
    for (size_t i = 0; i < BKT_COUNT(sizes); i++)
        for (unsigned precision = 1; precision <= 8 * sizes[i]; precision += sizes[i] > 4 ? 5 : 1)
            for (unsigned offset = 0; precision + offset <= 8 * sizes[i]; offset += sizes[i] > 2 ? 3 : 1)
                for (unsigned big = 0; big < 2; big++)
                    nbit_numbers(sizes[i], big, precision, offset);
    nbit_compound();
    nbit_lies();
    for (unsigned size = 1; size <= 8; size *= 2)
        for (unsigned bits = 0; bits <= 8 * size; bits++)
            for (unsigned v = 0; v < 4; v++)
                scaleoffset((struct so_case){size, bits, v & 1, v >> 1, -1000});
    for (int factor = -3; factor <= 5; factor++)
        for (unsigned v = 0; v < 4; v++) {
            scaleoffset((struct so_case){4, 23, v & 1, v >> 1, factor});
            scaleoffset((struct so_case){8, 50, v & 1, v >> 1, factor});
            scaleoffset((struct so_case){4, 32, v & 1, v >> 1, factor});
        }
    return failures != 0;
}
