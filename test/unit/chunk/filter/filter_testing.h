/* For the tests of filters: CHECK, reproducible random bytes, streams cut short and mutated, buffers that a
 * sanitizer guards exactly. */
#ifndef BKT_FILTER_TESTING_H
#define BKT_FILTER_TESTING_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "helpers/check.h"
#include "helpers/xorshift.h"
#include "chunk/filter/pipeline.h"

static inline void *need(size_t n)
{
    void *p = malloc(n ? n : 1);
    if (!p)
        abort();
    return p;
}

/* Numbers that compress: small steps of elements of es bytes, some noise, some runs. */
static inline unsigned char *sample(size_t n, size_t es, uint32_t seed)
{
    unsigned char *p = need(n);
    uint32_t       s = seed * 2654435761u + 1;
    uint64_t       v = 1000;
    for (size_t i = 0; i < n; i++) {
        if (i % es == 0)
            v += xorshift32(&s) % 16 ? xorshift32(&s) % 7 : xorshift32(&s);
        p[i] = (unsigned char)(v >> (8 * (i % es % 8)));
    }
    return p;
}

static inline const char *story(const struct bkt_err *err) { return err->n ? err->frame[0].msg : "(no message)"; }

/* Decode a copy of the bytes in a block of exactly their size, so that a sanitizer notices any access
 * outside. */
static inline int decode_copy(const struct bkt_pipeline *p, uint32_t mask, const void *in, size_t n_in, void *dst,
                              size_t n_dst, struct bkt_err *err)
{
    void *copy = need(n_in);
    if (n_in)
        memcpy(copy, in, n_in);
    int rc = bkt_pipeline_decode(p, mask, copy, n_in, dst, n_dst, err);
    free(copy);
    return rc;
}

/* For any damage of the bytes, decoding ends, stays inside, and gives the reason of a failure. */
static inline void torture(const char *what, const struct bkt_pipeline *p, const unsigned char *in, size_t n_in,
                           size_t n_dst, int rounds)
{
    uint32_t       s   = 12345;
    unsigned char *dst = need(n_dst), *bad = need(n_in + 8);
    for (int i = 0; i < rounds; i++) {
        size_t n = n_in;
        memcpy(bad, in, n_in);
        if (i % 3 == 0) {
            n = xorshift32(&s) % (n_in + 1);
        } else {
            for (uint32_t k = xorshift32(&s) % 4 + 1; k > 0 && n_in; k--) { /* headers more often than the rest */
                size_t at = xorshift32(&s) % 2 ? xorshift32(&s) % (n_in < 32 ? n_in : 32) : xorshift32(&s) % n_in;
                bad[at]   = xorshift32(&s) % 4 ? (unsigned char)xorshift32(&s) : (unsigned char)(xorshift32(&s) % 2 ? 255 : 0);
            }
        }
        struct bkt_err err = {0};
        int            rc  = decode_copy(p, 0, bad, n, dst, n_dst, &err);
        CHECK(rc == BKT_OK || (rc == BKT_EFORMAT || rc == BKT_EUNSUP), "%s: round %d gave %d", what, i, rc);
        CHECK(rc == BKT_OK || err.n > 0, "%s: round %d failed without a word", what, i);
    }
    free(dst);
    free(bad);
}

#endif
