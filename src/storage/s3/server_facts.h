/* The table of servers and buckets that this process has met, with the facts that requests have shown.
 * Entries stay until the connector ends, so that a store opened later need not learn the facts again. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "base/err.h"
#include "storage/store.h"

struct bkt_s3_place; /* address.h */

/** How a server takes PUT with If-None-Match and If-Match. */
enum bkt_s3_condition {
    BKT_COND_UNKNOWN,
    BKT_COND_ASKING,
    BKT_COND_QUOTED, /* as in HTTP */
    BKT_COND_BARE,   /* If-Match without quotes: radosgw before 18 */
    BKT_COND_NONE,   /* not at all: refused, or, worse, ignored */
};

#define BKT_S3_REGION_SIZE 40 /* bytes with the NUL; bkt_s3_region_ok() names fit */

/** An entry: a server with a bucket, and a setting of conditions. */
struct bkt_s3_server {
    struct bkt_s3_server *next;
    char *where;         /* the setting, endpoint and bucket */
    atomic_bool no_sums; /* the server refuses x-amz-checksum-crc32c */
    /* guarded by bkt_state_lock() */
    unsigned stores;                 /* open ones */
    char region[BKT_S3_REGION_SIZE]; /* "": the server has named none */
    /* of condition_probe.c, guarded as well */
    enum bkt_s3_condition condition;
    char why[160];           /* for BKT_COND_NONE: the server's behaviour */
    struct bkt_req *waiting; /* by next; impl is the store */
    unsigned generation;
};

/** Find or add an entry, for a store that is opened; bkt_s3_server_leave().
 * @param setting  the setting `conditional`: NULL (tested), "quoted" or "bare"
 * @return NULL: out of memory */
struct bkt_s3_server *bkt_s3_server_find(const struct bkt_s3_place *place, const char *setting);
/** The store is closed; NULL is allowed. */
void bkt_s3_server_leave(struct bkt_s3_server *v);

/** Get the region that the server named.  False: it has named none, and @p region is "". */
bool bkt_s3_server_region(struct bkt_s3_server *v, char region[BKT_S3_REGION_SIZE]);
