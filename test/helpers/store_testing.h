/* For tests that are programs: a check that prints the expected value and goes on. */
#ifndef BKT_STORE_TESTING_H
#define BKT_STORE_TESTING_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "helpers/check.h"
#include "base/err.h"
#include "base/settings.h"
#include "storage/stats.h"
#include "storage/store.h"

static inline double seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/** Open or end the test. */
static inline struct bkt_store *open_store(const char *uri, const char *settings)
{
    struct bkt_settings set;
    struct bkt_err      err = {0};
    struct bkt_store   *st  = NULL;
    if (bkt_settings_init(&set, settings, &err) < 0 || bkt_store_open(uri, &set, &st, &err) < 0) {
        (void)printf("%s with '%s': %s\n", uri, settings, err.n ? err.frame[0].msg : "?");
        exit(1);
    }
    bkt_settings_fini(&set);
    return st;
}

static inline const char *first_line(const struct bkt_err *e) { return e && e->n ? e->frame[0].msg : ""; }

/** Counters since the last call. */
static inline struct bkt_stats stats_since(void)
{
    static struct bkt_stats last;
    struct bkt_stats        now, d;
    bkt_stats_get(&now);
    const uint64_t *a = (const uint64_t *)(const void *)&now, *b = (const uint64_t *)(const void *)&last;
    uint64_t       *c = (uint64_t *)(void *)&d;
    for (size_t i = 0; i < sizeof now / sizeof(uint64_t); i++)
        c[i] = a[i] - b[i];
    last = now;
    return d;
}

/** Bytes that encode their own offset. */
static inline unsigned char *pattern(size_t n)
{
    unsigned char *p = malloc(n ? n : 1);
    for (size_t i = 0; p && i < n; i++)
        p[i] = (unsigned char)((i * 2654435761U) >> 13);
    return p;
}

#endif
