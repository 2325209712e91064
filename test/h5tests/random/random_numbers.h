/* Numbers for the random tests: the same from the same seed, everywhere.  Each step of a run has numbers of
 * its own.  So a step that is left out doesn't change the numbers of the others. */
#ifndef BKT_H5_RANDOM_H
#define BKT_H5_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct rnd {
    uint64_t at;
};

/** The next 64 bits (splitmix64). */
static inline uint64_t rnd_next(struct rnd *r)
{
    uint64_t z = (r->at += 0x9e3779b97f4a7c15U);
    z          = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z          = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

/** The source of numbers for step @p step of run @p seed. */
static inline struct rnd rnd_of(uint64_t seed, uint64_t step)
{
    struct rnd r = {seed};
    r.at         = rnd_next(&r) + step;
    r.at         = rnd_next(&r);
    return r;
}

/** 0 .. n - 1; 0 for n == 0. */
static inline unsigned rnd_below(struct rnd *r, unsigned n) { return n ? (unsigned)(rnd_next(r) % n) : 0; }

/** lo .. hi */
static inline unsigned rnd_in(struct rnd *r, unsigned lo, unsigned hi) { return lo + rnd_below(r, hi - lo + 1); }

/** True in @p percent of cases. */
static inline bool rnd_chance(struct rnd *r, unsigned percent) { return rnd_below(r, 100) < percent; }

/** One of an array. */
#define RND_OF(r, array) ((array)[rnd_below((r), (unsigned)(sizeof(array) / sizeof *(array)))])

#endif
