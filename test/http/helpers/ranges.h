/* For tests that are programs: many ranges of one object of a scripted server. */
#ifndef BKT_RANGES_H
#define BKT_RANGES_H

#include "helpers/store_testing.h"
#include "http/helpers/server.h"

#define SIZE 200000
static unsigned char *data; /* the object, set by main() */

/** @p n requests, one after the other in @p dst; the caller frees the list. */
static inline struct bkt_req *ranges(size_t n, size_t len, unsigned char *dst)
{
    struct bkt_req *r = calloc(n, sizeof *r);
    for (size_t i = 0; r && i < n; i++) {
        r[i].op  = BKT_GET;
        r[i].key = "o";
        r[i].off = (i * 997) % (SIZE - len);
        r[i].len = len;
        r[i].dst = dst + i * len;
    }
    return r;
}

/** Compare the bytes, and end the requests. */
static inline void check_ranges(const char *what, struct bkt_req *r, size_t n, size_t len, const unsigned char *dst)
{
    size_t bad = 0;
    for (size_t i = 0; i < n; i++) {
        bad += r[i].rc != BKT_OK || r[i].n != len || memcmp(dst + i * len, data + r[i].off, len) != 0;
        bkt_req_fini(&r[i]);
    }
    CHECK(bad == 0, "%s: %zu of %zu are wrong", what, bad, n);
}

#endif
