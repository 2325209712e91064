/* Arithmetic on sizes that come from files of others: every product and sum is checked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** a*b and a+b.  False, with *out untouched: the result does not fit. */
static inline bool bkt_mul_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t r;
    if (__builtin_mul_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}
static inline bool bkt_add_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t r;
    if (__builtin_add_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}
static inline bool bkt_mul_size(size_t a, size_t b, size_t *out)
{
    size_t r;
    if (__builtin_mul_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}

static inline uint64_t bkt_min_u64(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline uint64_t bkt_max_u64(uint64_t a, uint64_t b) { return a > b ? a : b; }

/** ceil(a/b), b > 0 */
static inline uint64_t bkt_ceil_div(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

/** For qsort() of structs that begin with a uint64_t, ascending by it. */
static inline int bkt_by_u64(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x < y ? -1 : x > y;
}
