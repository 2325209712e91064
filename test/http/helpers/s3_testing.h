/* For tests that are programs: a bucket of a scripted server. */
#ifndef BKT_S3_TESTING_H
#define BKT_S3_TESTING_H

#include "helpers/store_testing.h"
#include "http/helpers/server.h"

/** s3://buck there, with settings that don't wait.  @p more: further settings; they also replace these. */
static inline struct bkt_store *open_s3(struct server *s, const char *more)
{
    char set[400];
    (void)snprintf(set, sizeof set, "endpoint=%s;retries=2;test.backoff_ms=1;%s", server_url(s), more);
    return open_store("s3://buck", set);
}

#endif
