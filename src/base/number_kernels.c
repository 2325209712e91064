/* Kernels: loops without branches, which compilers turn into vector instructions (this file is built for
 * that). */
#include "base/number_kernels.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Values as they lie in files and in programs' structs: anywhere. */
#define ANYWHERE __attribute__((aligned(1), may_alias))
typedef int8_t   i8 ANYWHERE;
typedef uint8_t  u8 ANYWHERE;
typedef int16_t  i16 ANYWHERE;
typedef uint16_t u16 ANYWHERE;
typedef int32_t  i32 ANYWHERE;
typedef uint32_t u32 ANYWHERE;
typedef int64_t  i64 ANYWHERE;
typedef uint64_t u64 ANYWHERE;
typedef float    f32 ANYWHERE;
typedef double   f64 ANYWHERE;

#define MIN_i8  INT8_MIN
#define MIN_i16 INT16_MIN
#define MIN_i32 INT32_MIN
#define MIN_i64 INT64_MIN
#define MIN_u8  0
#define MIN_u16 0
#define MIN_u32 0
#define MIN_u64 0
#define MAX_i8  INT8_MAX
#define MAX_i16 INT16_MAX
#define MAX_i32 INT32_MAX
#define MAX_i64 INT64_MAX
#define MAX_u8  UINT8_MAX
#define MAX_u16 UINT16_MAX
#define MAX_u32 UINT32_MAX
#define MAX_u64 UINT64_MAX
/* The first power of two that doesn't fit */
#define TOP_i8  0x1p7
#define TOP_i16 0x1p15
#define TOP_i32 0x1p31
#define TOP_i64 0x1p63
#define TOP_u8  0x1p8
#define TOP_u16 0x1p16
#define TOP_u32 0x1p32
#define TOP_u64 0x1p64
/* The result for NaN, and for TOP if the largest value is rounded to it.  C leaves it undefined, so HDF5's
 * result is the processor's, here x86's. */
#define ODD_i8(v)  0
#define ODD_u8(v)  0
#define ODD_i16(v) 0
#define ODD_u16(v) 0
#define ODD_i32(v) INT32_MIN
#define ODD_u32(v) 0
#define ODD_i64(v) INT64_MIN
#define ODD_u64(v) ((v) != (v) ? UINT64_C(1) << 63 : 0)

#define IS_SIGNED(T)  ((T)-1 < (T)1)
#define LESSER(a, b)  ((a) < (b) ? (a) : (b))
#define GREATER(a, b) ((a) > (b) ? (a) : (b))

#define KERNEL(S, D) static void S##_##D(void *restrict dst, const void *restrict src, size_t n)

#define INT_TO_INT(S, D)                                                                                     \
    KERNEL(S, D)                                                                                             \
    {                                                                                                        \
        const S *from = src;                                                                                 \
        D *to = dst;                                                                                         \
        const S lo = (S)(IS_SIGNED(S) && IS_SIGNED(D) ? GREATER((intmax_t)MIN_##S, (intmax_t)MIN_##D) : 0);  \
        const S hi = (S)LESSER((uintmax_t)MAX_##S, (uintmax_t)MAX_##D);                                      \
        for (size_t i = 0; i < n; i++) {                                                                     \
            S v = from[i];                                                                                   \
            v = v < lo ? lo : v;                                                                             \
            to[i] = (D)(v > hi ? hi : v);                                                                    \
        }                                                                                                    \
    }
#define INT_TO_FLOAT(S, D)                                                                                   \
    KERNEL(S, D)                                                                                             \
    {                                                                                                        \
        const S *from = src;                                                                                 \
        D *to = dst;                                                                                         \
        for (size_t i = 0; i < n; i++)                                                                       \
            to[i] = (D)from[i];                                                                              \
    }
#define FLOAT_TO_INT(S, D)                                                                                   \
    KERNEL(S, D)                                                                                             \
    {                                                                                                        \
        const S *from = src;                                                                                 \
        D *to = dst;                                                                                         \
        for (size_t i = 0; i < n; i++) {                                                                     \
            S v = from[i];                                                                                   \
            bool in = v >= (S)MIN_##D && v < (S)TOP_##D;                                                     \
            D x = (D)(in ? v : 0);                                                                           \
            x = in ? x : (D)ODD_##D(v);                                                                      \
            x = v > (S)MAX_##D ? (D)MAX_##D : x;                                                             \
            to[i] = v < (S)MIN_##D ? (D)MIN_##D : x;                                                         \
        }                                                                                                    \
    }

#define OF_INT(M, S)   M(S, i8) M(S, u8) M(S, i16) M(S, u16) M(S, i32) M(S, u32) M(S, i64) M(S, u64)
#define OF_FLOAT(M, S) M(S, f32) M(S, f64)
#define EACH_INT(E, M) E(M, i8) E(M, u8) E(M, i16) E(M, u16) E(M, i32) E(M, u32) E(M, i64) E(M, u64)
EACH_INT(OF_INT, INT_TO_INT)
EACH_INT(OF_FLOAT, INT_TO_FLOAT)
OF_INT(FLOAT_TO_INT, f32)
OF_INT(FLOAT_TO_INT, f64)

KERNEL(f32, f64)
{
    const f32 *from = src;
    f64       *to   = dst;
    for (size_t i = 0; i < n; i++)
        to[i] = (f64)from[i];
}

/* Values above the largest float become infinite, even if they would be rounded to it. */
KERNEL(f64, f32)
{
    const f64 *from = src;
    f32       *to   = dst;
    for (size_t i = 0; i < n; i++) {
        double v = from[i];
        float  x = (float)v;
        x        = v > (double)FLT_MAX ? INFINITY : x;
        to[i]    = v < -(double)FLT_MAX ? -INFINITY : x;
    }
}

static void f32_f64_nan_of_ones(void *restrict dst, const void *restrict src, size_t n)
{
    const u32 *from = src;
    u64       *to   = dst;
    f32_f64(dst, src, n);
    for (size_t i = 0; i < n; i++) {
        uint64_t ones = (from[i] & UINT32_C(0x7fffffff)) > UINT32_C(0x7f800000) ? UINT64_MAX >> 1 : 0;
        to[i] |= ones;
    }
}

#define ROW(S) {S##_i8, S##_u8, S##_i16, S##_u16, S##_i32, S##_u32, S##_i64, S##_u64, S##_f32, S##_f64}
#define f32_f32 NULL
#define f64_f64 NULL
static bkt_num_fn *const kernels[BKT_N_NUMS][BKT_N_NUMS] = {ROW(i8),  ROW(u8),  ROW(i16), ROW(u16), ROW(i32),
                                                            ROW(u32), ROW(i64), ROW(u64), ROW(f32), ROW(f64)};
static const size_t sizes[BKT_N_NUMS] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8};

void bkt_recast_number(enum bkt_num from, bool from_swapped, enum bkt_num to, bool to_swapped,
                       bool nan_of_ones, struct bkt_recast_step *out)
{
    *out = (struct bkt_recast_step){.from_size = sizes[from], .to_size = sizes[to], .count = 1};
    out->from_swapped = from_swapped && sizes[from] > 1;
    out->to_swapped   = to_swapped && sizes[to] > 1;
    out->fn           = from == to ? NULL : kernels[from][to];
    if (nan_of_ones && from == BKT_F32 && to == BKT_F64)
        out->fn = f32_f64_nan_of_ones;
    if (!out->fn && out->from_swapped == out->to_swapped)
        out->from_swapped = out->to_swapped = false;
}

/* ---- byte order ---- */

#define SWAP(bits)                                                                                           \
    static void swap##bits(void *restrict dst, const void *restrict src, size_t n)                           \
    {                                                                                                        \
        const u##bits *from = src;                                                                           \
        u##bits *to = dst;                                                                                   \
        for (size_t i = 0; i < n; i++)                                                                       \
            to[i] = __builtin_bswap##bits(from[i]);                                                          \
    }
SWAP(16)
SWAP(32)
SWAP(64)

static void swap(unsigned char *dst, const unsigned char *src, size_t size, size_t n)
{
    if (size == 2)
        swap16(dst, src, n);
    else if (size == 4)
        swap32(dst, src, n);
    else
        swap64(dst, src, n);
}

/* ---- values side by side ---- */

/* Values: so many stay in a fast cache, and two buffers of them fit on the stack. */
#define BLOCK 512

static void dense(const struct bkt_recast_step *s, const unsigned char *src, unsigned char *dst, size_t n)
{
    unsigned char in[BLOCK * 8], out[BLOCK * 8];
    bool          once = s->from_swapped != s->to_swapped;
    if (!s->fn && !once) {
        memcpy(dst, src, n * s->from_size);
        return;
    }
    if (!s->fn) {
        swap(dst, src, s->from_size, n);
        return;
    }
    if (!s->from_swapped && !s->to_swapped) {
        s->fn(dst, src, n);
        return;
    }
    for (size_t k; n; n -= k, src += k * s->from_size, dst += k * s->to_size) {
        k = n < BLOCK ? n : BLOCK;
        if (s->from_swapped)
            swap(in, src, s->from_size, k);
        s->fn(s->to_swapped ? out : dst, s->from_swapped ? in : src, k);
        if (s->to_swapped)
            swap(dst, out, s->to_size, k);
    }
}

/* ---- values that others lie between ---- */

/* Constant sizes become single moves. */
static void move(unsigned char *dst, size_t dstride, const unsigned char *src, size_t sstride, size_t size,
                 size_t n)
{
#define MOVES(bytes)                                                                                         \
    case bytes:                                                                                              \
        for (size_t i = 0; i < n; i++)                                                                       \
            memcpy(dst + i * dstride, src + i * sstride, bytes);                                             \
        break;
    switch (size) {
        MOVES(1)
        MOVES(2)
        MOVES(4)
        MOVES(8)
        MOVES(12)
        MOVES(16)
    default:
        for (size_t i = 0; i < n; i++)
            memcpy(dst + i * dstride, src + i * sstride, size);
    }
}

void bkt_recast_step(const struct bkt_recast_step *s, const unsigned char *src, size_t sstride,
                     unsigned char *dst, size_t dstride, size_t n)
{
    unsigned char in[BLOCK * 8], out[BLOCK * 8];
    size_t        from = s->from_size * s->count, to = s->to_size * s->count;
    if (sstride == from && dstride == to) {
        dense(s, src, dst, n * s->count);
        return;
    }
    if (!s->fn && s->from_swapped == s->to_swapped) {
        move(dst, dstride, src, sstride, from, n);
        return;
    }
    size_t most = BLOCK / s->count;
    if (!most) { /* long arrays */
        for (size_t i = 0; i < n; i++)
            dense(s, src + i * sstride, dst + i * dstride, s->count);
        return;
    }
    for (size_t k; n; n -= k, src += k * sstride, dst += k * dstride) {
        k = n < most ? n : most;
        if (sstride != from)
            move(in, from, src, sstride, from, k);
        dense(s, sstride != from ? in : src, dstride != to ? out : dst, k * s->count);
        if (dstride != to)
            move(dst, dstride, out, to, to, k);
    }
}

void bkt_recast_apply(const struct bkt_recast *r, const unsigned char *src, unsigned char *dst, size_t n)
{
    for (size_t k; n; n -= k, src += k * r->src, dst += k * r->dst) {
        k = r->n > 1 && n > BLOCK ? BLOCK : n; /* the elements are in the cache for the next step */
        for (size_t i = 0; i < r->n; i++)
            bkt_recast_step(&r->step[i], src + r->step[i].src, r->src, dst + r->step[i].dst, r->dst, k);
    }
}
