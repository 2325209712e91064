/* Requests and bytes, counted per method in every build.  H5BUCKET_STATS=1 prints them at exit. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct bkt_stats {
    uint64_t get, head, put, del, list;   /* requests as callers made them, cache hits not included */
    uint64_t attempts, retries, failures; /* requests over the wire: first tries + retries; requests that
                                             failed for good (BKT_ENOENT, BKT_ENOTMOD and BKT_EPRECOND are
                                             answers, not failures) */
    uint64_t bytes_in, bytes_out;         /* body bytes */
    uint64_t connections;                 /* opened */
    uint64_t cred_requests;               /* to STS, IMDS, container endpoints; not counted above */
    uint64_t ahead_used, ahead_unused; /* steps read ahead that the program reached; those that it did not */
    uint64_t hedges; /* requests sent a second time because the answer was late; not counted above */
};

/** Add to one counter, e.g. bkt_stats_add(BKT_STAT(get), 1); any thread. */
#define BKT_STAT(field) (offsetof(struct bkt_stats, field) / sizeof(uint64_t))
void bkt_stats_add(size_t counter, uint64_t n);

/** Copy the process's counters one after the other: a request that ends during the call may be in some of
 *  them only.  Any thread. */
void bkt_stats_get(struct bkt_stats *out);
/** Arrange that a line with the counts is printed to stderr when the process exits; idempotent. */
void bkt_stats_at_exit(void);
