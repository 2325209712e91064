/* Sets of small numbers as bits in 64-bit words, such as the written elements of a chunk. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A word that has @p n > 0 bits set from bit @p from on; all lie in the word. */
static inline uint64_t bkt_bits_span(unsigned from, uint64_t n)
{
    return (n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1) << from;
}

/** Set bits off .. off+n-1.  Gives the number of bits that were not set before. */
static inline uint64_t bkt_bits_set(uint64_t *m, uint64_t off, uint64_t n)
{
    uint64_t added = 0;
    for (size_t w = (size_t)(off / 64); n; w++) {
        unsigned from = (unsigned)(off % 64);
        uint64_t take = n < 64 - from ? n : 64 - from, b = bkt_bits_span(from, take) & ~m[w];
        added += (unsigned)__builtin_popcountll(b);
        m[w] |= b;
        off += take, n -= take;
    }
    return added;
}

static inline bool bkt_bits_get(const uint64_t *m, uint64_t i) { return m[i / 64] >> (i % 64) & 1; }

/** Find the next stretch of equal bits at or behind *at, below end.  Gives whether they are set; *at: its
 *  begin; *n: its length, 0 behind the last. */
static inline bool bkt_bits_run(const uint64_t *m, uint64_t at, uint64_t end, uint64_t *n)
{
    *n = 0;
    if (at >= end)
        return false;
    bool     set = bkt_bits_get(m, at);
    uint64_t i   = at;
    while (i < end) {
        uint64_t w = m[i / 64];
        w          = (set ? ~w : w) >> (i % 64);
        if (w) {
            i += (unsigned)__builtin_ctzll(w);
            break;
        }
        i += 64 - i % 64;
    }
    *n = (i < end ? i : end) - at;
    return set;
}
