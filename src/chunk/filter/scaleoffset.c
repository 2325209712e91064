/* Scale-offset (filter 6): numbers as differences from the chunk's minimum, packed into as few bits as the
 * largest needs; floats are scaled by a power of ten and rounded first.  The largest packed number stands for
 * the fill value.
 *
 * Chunk: bits per number (4 bytes, little-endian), size of the minimum (1), the minimum (8; a float's own
 * bits), zeros up to byte 21, then the numbers, most significant bit first.  With as many bits as the type
 * has, the numbers are there unchanged.  Client data (H5Zscaleoffset.c of HDF5): */
#include <math.h>

#include "chunk/filter/filters_impl.h"
#include "base/num.h"

enum {
    CD_SCALE,
    CD_FACTOR,
    CD_ELEMS,
    CD_CLASS,
    CD_SIZE,
    CD_SIGN,
    CD_ORDER,
    CD_HAS_FILL,
    CD_FILL,
    CD_COUNT = 20
};
enum { SCALE_DECIMAL = 0, SCALE_EXPONENT = 1, SCALE_INT = 2 };
enum { CLASS_INT = 0, CLASS_FLOAT = 1 };
enum { HEAD = 21 };

struct so {
    const unsigned char *p; /* encoding: the numbers */
    unsigned size, bits, n;
    bool     is_float, big, is_signed, has_fill;
    bool     full; /* encoding: the numbers as they are */
    int      factor;
    uint64_t min, fill;
};

/* A minimum number of bits that is all the bits of the type: HDF5 leaves the chunk alone. */
bool bkt_scaleoffset_is_noop(const struct bkt_filter *f)
{
    return f->n_cd >= CD_COUNT && f->cd[CD_SCALE] == SCALE_INT &&
           f->cd[CD_FACTOR] == (uint64_t)f->cd[CD_SIZE] * 8;
}

static int params(const struct bkt_filter *f, struct so *s, struct bkt_err *err)
{
    BKT_FAIL_IF(err, f->n_cd < CD_COUNT, BKT_EFORMAT, "scaleoffset: %zu client data values instead of 20",
                f->n_cd);
    const unsigned *cd = f->cd;
    *s = (struct so){
        .size     = cd[CD_SIZE],
        .n        = cd[CD_ELEMS],
        .is_float = cd[CD_CLASS] == CLASS_FLOAT,
        .big      = cd[CD_ORDER] == 1,
        .is_signed = cd[CD_SIGN] == 1,
        .has_fill = cd[CD_HAS_FILL] == 1,
        .factor   = (int)cd[CD_FACTOR],
        .fill     = cd[CD_FILL] | (uint64_t)cd[CD_FILL + 1] << 32,
    };
    BKT_FAIL_IF(err, s->is_float && cd[CD_SCALE] == SCALE_EXPONENT, BKT_EUNSUP,
                "scaleoffset: exponent scaling, which no HDF5 release implements");
    BKT_FAIL_IF(err,
                cd[CD_CLASS] > CLASS_FLOAT || cd[CD_ORDER] > 1 ||
                    cd[CD_SCALE] != (s->is_float ? SCALE_DECIMAL : SCALE_INT),
                BKT_EFORMAT, "scaleoffset: impossible client data: class %u, order %u, scale type %u",
                cd[CD_CLASS], cd[CD_ORDER], cd[CD_SCALE]);
    bool size_ok = s->size == 4 || s->size == 8 || (!s->is_float && (s->size == 1 || s->size == 2));
    BKT_FAIL_IF(err, !size_ok, BKT_EFORMAT, "scaleoffset: number of %u bytes", s->size);
    return BKT_OK;
}

static int header(struct so *s, struct bkt_span in, struct bkt_err *err)
{
    BKT_FAIL_IF(err, in.n < HEAD, BKT_EFORMAT, "scaleoffset: %zu bytes are too short for the header", in.n);
    uint64_t bits = bkt_get_le(in.p, 4);
    unsigned n_min = in.p[4] < 8 ? in.p[4] : 8;
    s->min        = bkt_get_le(in.p + 5, n_min);
    BKT_FAIL_IF(err, bits > 8 * s->size, BKT_EFORMAT, "scaleoffset: %llu bits for a number of %u bytes",
                (unsigned long long)bits, s->size);
    s->bits = (unsigned)bits;
    /* n and size are 32-bit, so this cannot overflow */
    BKT_FAIL_IF(err, bkt_ceil_div((uint64_t)s->n * s->bits, 8) > in.n - HEAD, BKT_EFORMAT,
                "scaleoffset: %zu bytes are too short for %u numbers of %u bits", in.n, s->n, s->bits);
    return BKT_OK;
}

#define SLACK 8 /* bytes behind the last bit */

bool bkt_scaleoffset_fits(const struct bkt_filter *f, struct bkt_span head, size_t n)
{
    struct so s;
    uint64_t  bits = head.n >= 4 ? bkt_get_le(head.p, 4) : 0;
    if (params(f, &s, NULL) < 0 || head.n < 4)
        return true;
    uint64_t packed = bkt_ceil_div(bits * s.n, 8);
    return bits <= 8 * s.size && n >= HEAD + packed && n - HEAD - packed <= SLACK;
}

static void store(const struct so *s, unsigned char *dst, uint64_t v)
{
    (s->big ? bkt_put_be : bkt_put_le)(dst, s->size, v);
}

/* The packed number that means the fill value; HDF5 uses it with 0 bits as well. */
static uint64_t fill_mark(const struct so *s) { return ((uint64_t)1 << s->bits) - 1; }

/* Signed or not is the same in two's complement, as only the low bytes are stored. */
static void ints(const struct so *s, struct bkt_bits *b, unsigned char *dst)
{
    uint64_t mark = fill_mark(s);
    for (unsigned i = 0; i < s->n; i++) {
        uint64_t v = bkt_bits_take(b, s->bits);
        store(s, dst + (size_t)i * s->size, s->has_fill && v == mark ? s->fill : v + s->min);
    }
}

/* ---- encoding makes the same bytes as HDF5, including the spare byte at the end ---- */

static unsigned log2_up(uint64_t v)
{
    unsigned n = 0;
    while (n < 64 && ((uint64_t)1 << n) < v)
        n++;
    return n;
}

static uint64_t raw_at(const struct so *s, unsigned i)
{
    const unsigned char *p = s->p + (size_t)i * s->size;
    return s->big ? bkt_get_be(p, s->size) : bkt_get_le(p, s->size);
}

static uint64_t low_bits(uint64_t v, unsigned n) { return n >= 64 ? v : v & (((uint64_t)1 << n) - 1); }

static uint64_t widened(const struct so *s, uint64_t v)
{
    unsigned n = 64 - 8 * s->size;
    return s->is_signed ? (uint64_t)((int64_t)(v << n) >> n) : v;
}

static bool is_less(const struct so *s, uint64_t a, uint64_t b)
{
    return s->is_signed ? (int64_t)a < (int64_t)b : a < b;
}

static void plan_ints(struct so *s, unsigned min_bits)
{
    uint64_t min = 0, max = 0, fill = widened(s, low_bits(s->fill, 8 * s->size));
    bool     any = false;
    for (unsigned i = 0; i < s->n; i++) {
        uint64_t v = widened(s, raw_at(s, i));
        if (s->has_fill && v == fill)
            continue;
        if (!any || is_less(s, v, min))
            min = v;
        if (!any || is_less(s, max, v))
            max = v;
        any = true;
    }
    uint64_t span = low_bits(max - min, 8 * s->size);
    s->fill       = fill;
    s->bits       = min_bits;
    s->min        = min;
    if (!min_bits && span > low_bits(UINT64_MAX, 8 * s->size) - 2) {
        s->full = true;
        if (s->size > 1 || !s->is_signed)
            s->min = 0;
    } else if (!min_bits) {
        s->bits = log2_up(low_bits(span + 1, 8 * s->size) + s->has_fill);
    }
    s->full |= s->bits == 8 * s->size;
}

static void give_ints(const struct so *s, struct bkt_bits_sink *to)
{
    for (unsigned i = 0; i < s->n; i++) {
        uint64_t v = widened(s, raw_at(s, i));
        bkt_bits_give(
            to, s->has_fill && v == s->fill ? low_bits(UINT64_MAX, s->bits) : low_bits(v - s->min, s->bits),
            s->bits);
    }
}

/* HDF5 computes in the type itself; the macro is its two cases, float and double.  Decoding divides and then
 * adds, so that the result is HDF5's to the last bit. */
#define DEFINE_FLOATS(type, word, number, bits_of, POW, FABS, ROUND, LROUND)                                 \
    static type type##_of(uint64_t raw)                                                                      \
    {                                                                                                        \
        word w = (word)raw;                                                                                  \
        type v;                                                                                              \
        memcpy(&v, &w, sizeof v);                                                                            \
        return v;                                                                                            \
    }                                                                                                        \
    static void take_##type(const struct so *s, struct bkt_bits *b, unsigned char *dst)                      \
    {                                                                                                        \
        uint64_t mark = fill_mark(s);                                                                        \
        type scale = POW((type)10, (type)s->factor), min = type##_of(s->min);                                \
        word raw;                                                                                            \
        for (unsigned i = 0; i < s->n; i++) {                                                                \
            uint64_t v = bkt_bits_take(b, s->bits);                                                          \
            type x = (type)(number)v / scale + min;                                                          \
            memcpy(&raw, &x, sizeof raw);                                                                    \
            store(s, dst + (size_t)i * sizeof raw, s->has_fill && v == mark ? s->fill : raw);                \
        }                                                                                                    \
    }                                                                                                        \
    static void plan_##type(struct so *s, type *min_out)                                                     \
    {                                                                                                        \
        type min = 0, max = 0, fill = type##_of(s->fill), up = POW((type)10, (type)s->factor);               \
        double near = pow(10.0, -(double)s->factor);                                                         \
        bool any = false;                                                                                    \
        word w;                                                                                              \
        for (unsigned i = 0; i < s->n; i++) {                                                                \
            type v = type##_of(raw_at(s, i));                                                                \
            if (s->has_fill && fabs((double)(v - fill)) < near)                                              \
                continue;                                                                                    \
            if (!any || v < min)                                                                             \
                min = v;                                                                                     \
            if (!any || v > max)                                                                             \
                max = v;                                                                                     \
            any = true;                                                                                      \
        }                                                                                                    \
        *min_out = min;                                                                                      \
        if (!(ROUND(max * up - min * up) <= POW((type)2, (type)((bits_of)-1)))) { /* or not a number */      \
            s->full = true;                                                                                  \
            return;                                                                                          \
        }                                                                                                    \
        s->bits = log2_up((uint64_t)LROUND(max * up - min * up) + 1 + s->has_fill);                          \
        s->full = s->bits >= (bits_of);                                                                      \
        memcpy(&w, &min, sizeof w);                                                                          \
        s->min = w;                                                                                          \
    }                                                                                                        \
    static void give_##type(const struct so *s, struct bkt_bits_sink *to, type min)                          \
    {                                                                                                        \
        type fill = type##_of(s->fill), up = POW((type)10, (type)s->factor),                                 \
             near = POW((type)10, -(type)s->factor);                                                         \
        for (unsigned i = 0; i < s->n; i++) {                                                                \
            type v = type##_of(raw_at(s, i));                                                                \
            bool mark = s->has_fill && FABS(v - fill) < near;                                                \
            bkt_bits_give(to, low_bits(mark ? UINT64_MAX : (uint64_t)LROUND(v *up - min * up), s->bits),     \
                          s->bits);                                                                          \
        }                                                                                                    \
    }
DEFINE_FLOATS(float, uint32_t, int32_t, 32, powf, fabsf, roundf, lroundf)
DEFINE_FLOATS(double, uint64_t, int64_t, 64, pow, fabs, round, llround)

int bkt_scaleoffset_decode(const struct bkt_filter *f, struct bkt_span in, struct bkt_room *out,
                           struct bkt_err *err)
{
    struct so s = {0};
    BKT_PASS(params(f, &s, err));
    BKT_PASS(header(&s, in, err));
    uint64_t total = (uint64_t)s.n * s.size;
    BKT_FAIL_IF(err, total > out->cap, BKT_ERANGE, "scaleoffset: %llu bytes, expected %zu",
                (unsigned long long)total, out->cap);
    struct bkt_bits b = {in.p + HEAD, in.n - HEAD, 0};
    if (s.bits == 8 * s.size) { /* unchanged numbers, in the byte order of a little-endian writer */
        for (unsigned i = 0; i < s.n; i++)
            store(&s, out->p + (size_t)i * s.size, bkt_get_le(b.p + (size_t)i * s.size, s.size));
    } else if (!s.is_float) {
        ints(&s, &b, out->p);
    } else if (s.size == 4) {
        take_float(&s, &b, out->p);
    } else {
        take_double(&s, &b, out->p);
    }
    out->n = (size_t)total;
    return BKT_OK;
}

int bkt_scaleoffset_encode(const struct bkt_filter *f, struct bkt_span in, struct bkt_buf *out,
                           struct bkt_err *err)
{
    struct so s = {0};
    unsigned char *p;
    float          fmin = 0;
    double         dmin = 0;
    BKT_FAIL_IF(err,
                params(f, &s, NULL) < 0 || (uint64_t)s.n * s.size != in.n ||
                    (!s.is_float && s.factor > (int)(8 * s.size)),
                BKT_ERANGE, "scaleoffset: client data that don't fit a chunk of %zu bytes", in.n);
    s.p = in.p;
    if (!s.is_float)
        plan_ints(&s, s.factor > 0 ? (unsigned)s.factor : 0);
    else if (s.size == 4)
        plan_float(&s, &fmin);
    else
        plan_double(&s, &dmin);
    if (s.full) { /* HDF5 writes such a chunk but no longer reads it; without the filter the chunk is as long,
                     and readable */
        if (f->flags & 1u)
            return BKT_ERANGE;
        s.bits = 8 * s.size;
    }
    size_t n = s.full ? in.n : (size_t)((uint64_t)s.n * s.bits / 8) + 1;
    BKT_NEED(err, (p = bkt_buf_room(out, HEAD + n)));
    memset(p, 0, HEAD + n);
    bkt_put_le(p, 4, s.bits);
    p[4] = 8;
    bkt_put_le(p + 5, 8, s.min);
    struct bkt_bits_sink to = {p + HEAD, 0};
    if (s.full)
        for (unsigned i = 0; i < s.n; i++)
            bkt_put_le(p + HEAD + (size_t)i * s.size, s.size, raw_at(&s, i));
    else if (!s.is_float)
        give_ints(&s, &to);
    else if (s.size == 4)
        give_float(&s, &to, fmin);
    else
        give_double(&s, &to, dmin);
    return BKT_OK;
}
