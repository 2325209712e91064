/* The addresses of a bucket and its keys, by pure functions. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"

struct bkt_s3_place {
    char *bucket;
    char *scheme; /* "https" or "http" */
    char *host;   /* endpoint's host[:port]; NULL: AWS, host by region */
    char *base;   /* endpoint's path without '/' at its end, percent-encoded as given; "": no path */
    bool  path_style;
    bool fips, dualstack; /* AWS's hosts with FIPS 140; those with IPv6 addresses, too */
};

/** Fill in @p p from a bucket's name; to be released with bkt_s3_place_fini().
 * @param endpoint    URL of another server, NULL or "": AWS
 * @param addressing  the setting: "auto" (also NULL), "path" or "virtual"
 * @return BKT_OK; BKT_EINVAL: a bad bucket name or endpoint; BKT_EUNSUP: a directory bucket (S3 Express) */
BKT_NODISCARD int bkt_s3_place_init(struct bkt_s3_place *p, const char *bucket, const char *endpoint,
                                    const char *addressing, struct bkt_err *err);
void              bkt_s3_place_fini(struct bkt_s3_place *p);

/** The Host header for requests in @p region, e.g. "bucket.s3.eu-west-1.amazonaws.com". */
BKT_NODISCARD int bkt_s3_place_host(const struct bkt_s3_place *p, const char *region, struct bkt_buf *out);
/** The path, percent-encoded as it is sent and signed; @p key NULL: the path of the bucket itself. */
BKT_NODISCARD int bkt_s3_place_path(const struct bkt_s3_place *p, const char *key, struct bkt_buf *out);

/** Whether a text has the form of a region's name.  Servers send regions, and they become part of host
 * names. */
bool bkt_s3_region_ok(const char *region);
