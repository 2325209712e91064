/* The S3 store's parts; for the files of storage/s3 only. */
#pragma once

#include "storage/aws/cred/cred.h"
#include "storage/aws/sigv4.h"
#include "storage/http/request.h"
#include "storage/s3/address.h"
#include "storage/s3/server_facts.h"

/** Whether the server knows DeleteObjects. */
enum bkt_s3_many { BKT_MANY_UNKNOWN, BKT_MANY_KNOWN, BKT_MANY_NONE };

struct bkt_s3 {
    struct bkt_http     http;
    struct bkt_s3_place place;
    struct bkt_cred    *cred;       /* NULL: requests are not signed */
    struct bkt_sign_key key;        /* under bkt_state_lock() */
    atomic_long skew; /* the server's clock minus the local clock, seconds; 0 until a server complained */
    char region[BKT_S3_REGION_SIZE]; /* under bkt_state_lock() */
    bool                requester_pays, sign_payload, one_writer;
    uint64_t            upload_part;
    atomic_int          many; /* enum bkt_s3_many */
    atomic_bool         etags; /* the server has sent an ETag with an object */
    struct bkt_s3_server *server;
};

/* ---- server_facts.c ---- */

/** The server named its region: use it for this store, and for those opened later. */
void bkt_s3_region_set(struct bkt_s3 *s, const char *region);
/** Get the region of the next request. */
void bkt_s3_region_get(struct bkt_s3 *s, char region[BKT_S3_REGION_SIZE]);

/* ---- list.c ---- */

/** As bkt_store_ops.list. */
int bkt_s3_list(struct bkt_store *st, const struct bkt_lists *l, bkt_list_each_fn *each, void *arg,
                struct bkt_err *err);
/** As bkt_store_ops.uploads. */
int bkt_s3_uploads(struct bkt_store *st, const char *prefix, bkt_upload_each_fn *each, void *arg,
                   struct bkt_err *err);
/** As bkt_store_ops.abort. */
int bkt_s3_abort(struct bkt_store *st, const char *key, const char *id, struct bkt_err *err);

/* ---- changes.c ---- */

/** As bkt_store_ops.change. */
void bkt_s3_change(struct bkt_store *st, struct bkt_req *req);
/** As bkt_store_ops.delete_many. */
void bkt_s3_delete(struct bkt_store *st, struct bkt_req *const *reqs, size_t n);
/** As bkt_http_ops.init_change: the payload's hash and sum, and the conditions that the server knows. */
void bkt_s3_change_init(struct bkt_http *h, struct bkt_http_op *op);
/** Begin a request of the store itself whose body may have to be hashed.  Long hashing does not run on the
 * I/O thread. */
void bkt_s3_call(struct bkt_s3 *s, struct bkt_req *req, const struct bkt_http_call *call);

/* ---- multipart.c ---- */

/** A PUT of many bytes, in parts.
 *
 * A last request makes the parts an object.  Only some servers check its conditions (radosgw before 18
 * ignores them).  So a HEAD just before checks them, too, which leaves another writer a moment in between. */
void bkt_s3_multi(struct bkt_s3 *s, struct bkt_req *req);

/* ---- condition_probe.c ---- */

/** The server's behaviour as far as it is known.  @p why (160 bytes, may be NULL): for BKT_COND_NONE, the
 * server's behaviour. */
enum bkt_s3_condition bkt_s3_condition(struct bkt_s3 *s, char *why);
/** Find out the server's behaviour by some PUTs of scratch objects (beside @p key if necessary).  Afterwards
 * @p req continues (bkt_s3_change()), or ends with the failure; NULL: no request waits yet.  Requests that
 *  arrive before the answer wait for it. */
void bkt_s3_condition_ask(struct bkt_s3 *s, const char *key, struct bkt_req *req);
/** As bkt_store_ops.will_write. */
void bkt_s3_will_write(struct bkt_store *st, const char *key);
