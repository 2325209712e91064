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

/** PUT.  @p etag (NULL allowed) gets what the answer has, whatever the result. */
static inline int put_text(struct bkt_store *st, const char *key, const char *text, const char *match, const char *none, char *etag)
{
    struct bkt_req r  = {.op = BKT_PUT, .key = key, .put = text, .put_len = strlen(text), .if_match = match, .if_none_match = none};
    int rc = bkt_store_perform(st, &r, 1, NULL);
    if (etag)
        memcpy(etag, r.etag, sizeof r.etag);
    bkt_req_fini(&r);
    return rc;
}

/** For bkt_store_list(): counts everything, or objects alone, in an int. */
static inline int count_listed(const struct bkt_listed *e, void *arg)
{
    (void)e;
    ++*(int *)arg;
    return BKT_OK;
}

static inline int count_objects(const struct bkt_listed *e, void *arg)
{
    *(int *)arg += !e->is_prefix;
    return BKT_OK;
}

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
