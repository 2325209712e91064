/* Random numbers that are the same from the same state, everywhere; the state is not 0. */
#ifndef BKT_TEST_XORSHIFT_H
#define BKT_TEST_XORSHIFT_H

#include <stdint.h>

static inline uint32_t xorshift32(uint32_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 17;
    *x ^= *x << 5;
    return *x;
}

static inline uint64_t xorshift64(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x;
}

#endif
