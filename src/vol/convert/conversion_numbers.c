/* Conversion of numbers without H5Tconvert().  For each pair of types a trial compared one of the kernels
 * (number_kernels.h) with HDF5's function for the two types.  On every value with a special case both gave
 * the same result. */
#include <stdlib.h>
#include <string.h>

#include "vol/convert/values_to_memory.h"

/* A kind of number, and its byte order */
struct number {
    enum bkt_num kind;
    bool         swapped;
};

static bool is_integer(hid_t type, struct number *out)
{
    static const enum bkt_num kinds[9][2] = {
        [1] = {BKT_U8, BKT_I8}, [2] = {BKT_U16, BKT_I16}, [4] = {BKT_U32, BKT_I32}, [8] = {BKT_U64, BKT_I64}};
    size_t      size  = H5Tget_size(type);
    H5T_order_t order = H5Tget_order(type);
    if (size >= BKT_COUNT(kinds) || kinds[size][0] == kinds[size][1] || H5Tget_precision(type) != 8 * size ||
        H5Tget_offset(type) != 0 || (order != H5T_ORDER_LE && order != H5T_ORDER_BE))
        return false;
    *out = (struct number){kinds[size][H5Tget_sign(type) == H5T_SGN_2],
                           size > 1 && order != H5Tget_order(H5T_NATIVE_INT)};
    return true;
}

static bool is_float(hid_t type, struct number *out)
{
    const hid_t known[2][2] = {{H5T_IEEE_F32LE, H5T_IEEE_F32BE}, {H5T_IEEE_F64LE, H5T_IEEE_F64BE}};
    size_t      size        = H5Tget_size(type);
    if (size != 4 && size != 8)
        return false;
    for (int big = 0; big < 2; big++)
        if (H5Tequal(type, known[size == 8][big]) > 0) {
            *out = (struct number){size == 8 ? BKT_F64 : BKT_F32,
                                   (H5Tget_order(H5T_NATIVE_INT) == H5T_ORDER_BE) != big};
            return true;
        }
    return false;
}

static bool is_number(hid_t type, struct number *out)
{
    H5T_class_t cls = H5Tget_class(type);
    return cls == H5T_INTEGER ? is_integer(type, out) : cls == H5T_FLOAT && is_float(type, out);
}

/* If a byte order is not the machine's, HDF5 converts bit by bit.  It rounds in ways of its own: away from
 * zero, and wrong after a denormal number.  So only conversions without rounding agree. */
static bool is_exact(enum bkt_num from, enum bkt_num to)
{
    if (from < BKT_F32)
        return to < BKT_F32 || from <= (to == BKT_F64 ? BKT_U32 : BKT_U16);
    return to == BKT_F64 || from == to;
}

/* ---- values with special cases ---- */

#define WIDE 8    /* bytes of the widest number */
#define MOST 4096 /* values of one kind; float64 has 2,811, the most */

struct values {
    unsigned char v[WIDE * MOST];
    size_t        size, n;
};

static void add(struct values *a, uint64_t bits)
{
    unsigned char *at = a->v + a->n * a->size;
    if (a->n == MOST)
        return;
    a->n++;
    if (a->size == 1)
        *at = (unsigned char)bits;
    else if (a->size == 2)
        memcpy(at, &(uint16_t){(uint16_t)bits}, 2);
    else if (a->size == 4)
        memcpy(at, &(uint32_t){(uint32_t)bits}, 4);
    else
        memcpy(at, &bits, WIDE);
}

static uint64_t float_bits(enum bkt_num kind, double v)
{
    uint64_t bits;
    uint32_t half;
    float    f = (float)v;
    memcpy(&bits, &v, sizeof bits);
    memcpy(&half, &f, sizeof half);
    return kind == BKT_F64 ? bits : half;
}

/* Around each power of two, both signs: the limits of integers, and values that are rounded up, down and
 * to even. */
static void around(struct values *a, enum bkt_num kind, unsigned bit)
{
    uint64_t p = UINT64_C(1) << bit;
    if (kind < BKT_F32) {
        for (uint64_t d = 0; d < 4; d++)
            add(a, p + d), add(a, p - d), add(a, ~(p + d)), add(a, ~(p - d));
        return;
    }
    for (int d = -2; d <= 2; d++) {
        uint64_t whole = float_bits(kind, (double)p), above = float_bits(kind, (double)p + 0.5);
        uint64_t sign  = UINT64_C(1) << (8 * a->size - 1);
        add(a, whole + (uint64_t)(int64_t)d), add(a, (whole + (uint64_t)(int64_t)d) | sign);
        add(a, above + (uint64_t)(int64_t)d), add(a, (above + (uint64_t)(int64_t)d) | sign);
    }
}

/* Every exponent, with mantissas on both sides of the cut of a shorter one.  Zeros, denormals, infinities
 * and NaNs are among them. */
static void floats(struct values *a, enum bkt_num kind)
{
    unsigned mantissa = kind == BKT_F64 ? 52 : 23, cut = kind == BKT_F64 ? 29 : 10;
    uint64_t step = kind == BKT_F64 ? 7 : 1, last = kind == BKT_F64 ? 2047 : 255;
    for (uint64_t e = 0; e <= last; e = e < last && e + step > last ? last : e + step) {
        uint64_t base = e << mantissa, half = UINT64_C(1) << (cut - 1);
        add(a, base), add(a, base + half), add(a, base + 3 * half);
        add(a, (base + half + 1) | UINT64_C(1) << (8 * a->size - 1));
        add(a, base + (UINT64_C(1) << mantissa) - 1);
        if (e == last)
            break;
    }
    const uint64_t edges[] = {896, 897, 1022, 1023, 1024, 1149, 1150, 1151, 2046};
    for (size_t i = 0; kind == BKT_F64 && i < BKT_COUNT(edges); i++)
        for (int d = -2; d < 3; d++)
            add(a, (edges[i] << mantissa) - (UINT64_C(1) << (cut - 1)) + (uint64_t)(int64_t)d);
}

static void collect(struct values *a, enum bkt_num kind, size_t size)
{
    memset(a, 0, sizeof *a);
    a->size = size;
    for (uint64_t i = 0; i < 8; i++)
        add(a, i), add(a, 0 - i);
    for (unsigned bit = 0; bit < (kind < BKT_F32 ? 8 * size : 64); bit++)
        around(a, kind, bit);
    if (kind >= BKT_F32)
        floats(a, kind);
}

static void turn_round(struct values *a)
{
    for (size_t i = 0; i < a->n; i++)
        for (size_t b = 0; b < a->size / 2; b++) {
            unsigned char *x = &a->v[i * a->size + b], *y = &a->v[(i + 1) * a->size - 1 - b], was = *x;
            *x = *y;
            *y = was;
        }
}

struct trial {
    struct values in;
    unsigned char ours[WIDE * MOST], theirs[WIDE * MOST];
};

/* The program may have registered its own function, and another HDF5 may convert differently: so the
 * result is compared. */
static bool same_as_hdf5(const struct bkt_recast_step *s, struct number from, hid_t file, hid_t mem)
{
    BKT_CLEANUP(bkt_freep) struct trial *t = malloc(sizeof *t);
    if (!t)
        return false;
    collect(&t->in, from.kind, s->from_size);
    if (from.swapped)
        turn_round(&t->in);
    memcpy(t->theirs, t->in.v, t->in.n * s->from_size);
    bkt_recast_step(s, t->in.v, s->from_size, t->ours, s->to_size, t->in.n);
    return BKT_PASS_H5(NULL, H5Tconvert(file, mem, t->in.n, t->theirs, NULL, H5P_DEFAULT), "H5Tconvert") >=
               0 &&
           memcmp(t->ours, t->theirs, t->in.n * s->to_size) == 0;
}

bool bkt_value_tree_number(hid_t from_type, hid_t to_type, H5T_conv_t fn, struct bkt_recast_step *out)
{
    /* The result of the trial of each pair, and HDF5's function in it; HDF5's lock guards it. */
    static struct {
        H5T_conv_t fn;
        bool       same;
    } tried[2 * BKT_N_NUMS][2 * BKT_N_NUMS];
    struct number from, to;
    if (!fn || !is_number(from_type, &from) || !is_number(to_type, &to))
        return false;
    bool swaps = from.swapped || to.swapped;
    if (swaps && !is_exact(from.kind, to.kind))
        return false;
    /* If sizes are equal and orders are not, HDF5 only swaps the bytes, whatever the sign. */
    bool turns = from.swapped != to.swapped && from.kind / 2 == to.kind / 2 && to.kind < BKT_F32;
    bkt_recast_number(from.kind, from.swapped, turns ? from.kind : to.kind, to.swapped, swaps, out);
    size_t i = 2 * (size_t)from.kind + from.swapped, j = 2 * (size_t)to.kind + to.swapped;
    if (tried[i][j].fn != fn) {
        tried[i][j].same = same_as_hdf5(out, from, from_type, to_type);
        tried[i][j].fn   = fn;
    }
    return tried[i][j].same;
}
