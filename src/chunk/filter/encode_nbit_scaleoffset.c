/* Encoders of N-bit and scale-offset; the formats are described in nbit.c and scaleoffset.c.
 * Both make the same bytes as HDF5, including the spare byte at the end. */
#include <math.h>
#include <stdlib.h>

#include "chunk/filter/filters_impl.h"
#include "base/num.h"

/* Bits, most significant first, into bytes that are zero. */
struct sink {
    unsigned char *p;
    size_t         pos; /* bits */
};

static void give(struct sink *s, uint64_t v, unsigned n_bits)
{
    while (n_bits) {
        unsigned room = 8 - (unsigned)(s->pos % 8), n = n_bits < room ? n_bits : room;
        unsigned bits = (unsigned)(v >> (n_bits - n)) & ((1u << n) - 1);
        s->p[s->pos / 8] |= (unsigned char)(bits << (room - n));
        s->pos += n;
        n_bits -= n;
    }
}

static int room_for(struct bkt_buf *out, size_t n, unsigned char **p, struct bkt_err *err)
{
    size_t at = out->len;
    if (bkt_buf_resize(out, at + n) < 0)
        BKT_NOMEM(err);
    *p = out->ptr + at;
    memset(*p, 0, n);
    return BKT_OK;
}

/* ---- N-bit ---- */

enum { ATOMIC = 1, ARRAY = 2, COMPOUND = 3 };

/* Numbers of more than 8 bytes: byte by byte from the most significant one. */
static void give_long(struct sink *s, const unsigned char *src, const unsigned *cd)
{
    unsigned size = cd[1], order = cd[2], offset = cd[4], top = cd[3] + offset;
    while (top > offset) {
        unsigned byte = (top - 1) / 8, low = byte * 8 > offset ? byte * 8 : offset;
        give(s, src[order ? size - 1 - byte : byte] >> (low - byte * 8), top - low);
        top = low;
    }
}

static const unsigned *give_value(struct sink *s, const unsigned char *src, const unsigned *cd)
{
    unsigned        size = cd[1];
    const unsigned *end  = cd + 2;
    switch (cd[0]) {
    case ATOMIC:
        if (size > 8)
            give_long(s, src, cd);
        else
            give(s, (cd[2] ? bkt_get_be(src, size) : bkt_get_le(src, size)) >> cd[4], cd[3]);
        return cd + 5;
    case ARRAY:
        for (unsigned at = 0; at < size; at += cd[3])
            end = give_value(s, src + at, cd + 2);
        return end;
    case COMPOUND:
        end = cd + 3;
        for (unsigned i = 0; i < cd[2]; i++)
            end = give_value(s, src + end[0], end + 1);
        return end;
    default:
        for (unsigned i = 0; i < size; i++)
            give(s, src[i], 8);
        return end;
    }
}

int bkt_nbit_encode(const struct bkt_filter *f, size_t elem_size, struct bkt_span in, struct bkt_buf *out,
                    struct bkt_err *err)
{
    size_t      size;
    uint64_t    bits, all;
    struct sink s = {NULL, 0};
    (void)elem_size;
    if (!bkt_nbit_shape(f, &size, &bits) || !bkt_mul_u64(f->cd[2], bits, &all) || in.n / size != f->cd[2] ||
        in.n % size)
        BKT_FAIL(err, BKT_ERANGE, "nbit: impossible client data (%zu values) for %zu bytes", f->n_cd, in.n);
    BKT_PASS(room_for(out, (size_t)(all / 8 + 1), &s.p, err));
    for (unsigned i = 0; i < f->cd[2]; i++)
        give_value(&s, in.p + (size_t)i * size, f->cd + 3);
    return BKT_OK;
}

/* ---- scale-offset ---- */

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
enum { HEAD = 21 };

struct so {
    const unsigned char *p;
    unsigned             size, n, bits;
    bool                 big, is_signed, has_fill, full; /* full: the numbers as they are */
    uint64_t             fill, min;
    double               factor;
};

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

static void give_ints(const struct so *s, struct sink *to)
{
    for (unsigned i = 0; i < s->n; i++) {
        uint64_t v = widened(s, raw_at(s, i));
        give(to, s->has_fill && v == s->fill ? low_bits(UINT64_MAX, s->bits) : low_bits(v - s->min, s->bits),
             s->bits);
    }
}

/* HDF5 computes in the type itself; the macro is its two cases, float and double. */
#define DEFINE_FLOATS(type, word, bits_of, POW, FABS, ROUND, LROUND)                                         \
    static type type##_of(uint64_t raw)                                                                      \
    {                                                                                                        \
        word w = (word)raw;                                                                                  \
        type v;                                                                                              \
        memcpy(&v, &w, sizeof v);                                                                            \
        return v;                                                                                            \
    }                                                                                                        \
    static void plan_##type(struct so *s, type *min_out)                                                     \
    {                                                                                                        \
        type min = 0, max = 0, fill = type##_of(s->fill), up = POW((type)10, (type)s->factor);               \
        double near = pow(10.0, -s->factor);                                                                 \
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
    static void give_##type(const struct so *s, struct sink *to, type min)                                   \
    {                                                                                                        \
        type fill = type##_of(s->fill), up = POW((type)10, (type)s->factor),                                 \
             near = POW((type)10, (type)-s->factor);                                                         \
        for (unsigned i = 0; i < s->n; i++) {                                                                \
            type v = type##_of(raw_at(s, i));                                                                \
            bool mark = s->has_fill && FABS(v - fill) < near;                                                \
            give(to, low_bits(mark ? UINT64_MAX : (uint64_t)LROUND(v *up - min * up), s->bits), s->bits);    \
        }                                                                                                    \
    }
DEFINE_FLOATS(float, uint32_t, 32, powf, fabsf, roundf, lroundf)
DEFINE_FLOATS(double, uint64_t, 64, pow, fabs, round, llround)

static int so_params(const struct bkt_filter *f, struct bkt_span in, struct so *s, struct bkt_err *err)
{
    const unsigned *cd = f->cd;
    if (f->n_cd < CD_COUNT)
        BKT_FAIL(err, BKT_ERANGE, "scaleoffset: %zu client data values instead of 20", f->n_cd);
    *s = (struct so){.p = in.p,
                     .size = cd[CD_SIZE],
                     .n = cd[CD_ELEMS],
                     .big = cd[CD_ORDER] == 1,
                     .is_signed = cd[CD_SIGN] == 1,
                     .has_fill = cd[CD_HAS_FILL] == 1,
                     .fill = cd[CD_FILL] | (uint64_t)cd[CD_FILL + 1] << 32,
                     .factor = (int)cd[CD_FACTOR]};
    bool is_float = cd[CD_CLASS] == 1,
         size_ok = s->size == 4 || s->size == 8 || (!is_float && (s->size == 1 || s->size == 2));
    if (!size_ok || cd[CD_CLASS] > 1 || cd[CD_ORDER] > 1 || cd[CD_SCALE] != (is_float ? 0u : 2u) ||
        (uint64_t)s->n * s->size != in.n || (!is_float && (int)cd[CD_FACTOR] > (int)(8 * s->size)))
        BKT_FAIL(err, BKT_ERANGE, "scaleoffset: client data that don't fit a chunk of %zu bytes", in.n);
    return BKT_OK;
}

int bkt_scaleoffset_encode(const struct bkt_filter *f, size_t elem_size, struct bkt_span in,
                           struct bkt_buf *out, struct bkt_err *err)
{
    struct so      s;
    unsigned char *p;
    float          fmin = 0;
    double         dmin = 0;
    (void)elem_size;
    BKT_PASS(so_params(f, in, &s, err));
    bool is_float = f->cd[CD_CLASS] == 1;
    if (!is_float)
        plan_ints(&s, (int)f->cd[CD_FACTOR] > 0 ? f->cd[CD_FACTOR] : 0);
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
    BKT_PASS(room_for(out, HEAD + n, &p, err));
    bkt_put_le(p, 4, s.bits);
    p[4] = 8;
    bkt_put_le(p + 5, 8, s.min);
    struct sink to = {p + HEAD, 0};
    if (s.full)
        for (unsigned i = 0; i < s.n; i++)
            bkt_put_le(p + HEAD + (size_t)i * s.size, s.size, raw_at(&s, i));
    else if (!is_float)
        give_ints(&s, &to);
    else if (s.size == 4)
        give_float(&s, &to, fmin);
    else
        give_double(&s, &to, dmin);
    return BKT_OK;
}
