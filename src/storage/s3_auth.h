/* Signing of S3 requests with credentials that come, and are renewed, while requests wait. */
#ifndef BKT_S3_AUTH_H
#define BKT_S3_AUTH_H

#include "http.h"

struct bkt_s3_auth;

/** Who signs requests, by the settings and where credentials come from; asks nobody yet.  As bkt_cred_open(). */
BKT_NODISCARD int bkt_s3_auth_open(const struct bkt_settings *set, struct bkt_s3_auth **out, struct bkt_err *err);
/** No request may be waiting. */
void bkt_s3_auth_close(struct bkt_s3_auth *a);

/** What is signed besides the op's method. */
struct bkt_s3_target {
    const char *host, *path, *query; /* as sent; query may be "" */
    const char *region, *payload_hash;
    bool        requester_pays;
    const char *put_id; /* sent as BKT_PUT_ID_HEADER; NULL: none */
    const char *sum;    /* sent as BKT_SUM_HEADER; NULL: none */
    const char *crc32c; /* sent as x-amz-checksum-crc32c; NULL: not */
};
/** Add the headers; BKT_HTTP_LATER when credentials are not there yet: the op is submitted again when they are.
 *  I/O threads only. */
int bkt_s3_auth_sign(struct bkt_s3_auth *a, struct bkt_http_op *op, const struct bkt_s3_target *t);

/** The server refused with @p code (S3's error code, "" unknown): true if it was for our clock, which is the server's from now on. */
bool bkt_s3_auth_late(struct bkt_s3_auth *a, struct bkt_http_op *op, const char *code);

/** The same: true if the op is to be submitted again, as there may be other credentials.  Where there are none, its next
 *  bkt_s3_auth_sign() ends it with @p rc, what the refusal means, whose story has been recorded in the request. */
bool bkt_s3_auth_refused(struct bkt_s3_auth *a, struct bkt_http_op *op, const char *code, int rc);

/** Where the credentials in use came from, or "" when requests are not signed; copied to @p out. */
void bkt_s3_auth_source(struct bkt_s3_auth *a, char *out, size_t room);

#endif
