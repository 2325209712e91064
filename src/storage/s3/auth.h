/* Signing of S3 requests, with credentials that arrive or are renewed while requests wait. */
#ifndef BKT_S3_AUTH_H
#define BKT_S3_AUTH_H

#include "storage/http/request.h"

struct bkt_s3_auth;

/** Open a signer by the settings and the sources of credentials; asks no source yet.  Errors as for
 *  bkt_cred_open(). */
BKT_NODISCARD int bkt_s3_auth_open(const struct bkt_settings *set, struct bkt_s3_auth **out,
                                   struct bkt_err *err);
/** Release the signer (NULL is allowed).  No request may be waiting. */
void bkt_s3_auth_close(struct bkt_s3_auth *a);

/** The parts of a request that are signed besides the op's method. */
struct bkt_s3_target {
    const char *host, *path, *query; /* as sent; query may be "" */
    const char *region, *payload_hash;
    bool        requester_pays;
    const char *put_id; /* sent as BKT_PUT_ID_HEADER; NULL: not sent */
    const char *sum;    /* sent as BKT_SUM_HEADER; NULL: not sent */
    const char *crc32c; /* sent as x-amz-checksum-crc32c; NULL: not sent */
};
/** Add the headers.  BKT_HTTP_LATER: credentials are not there yet; the op is submitted again when they are.
 *  I/O threads only. */
int bkt_s3_auth_sign(struct bkt_s3_auth *a, struct bkt_http_op *op, const struct bkt_s3_target *t);

/** Judge a refusal with @p code (S3's error code; "": unknown).  True: the cause was the local clock.  From
 *  now on the server's clock is used. */
bool bkt_s3_auth_late(struct bkt_s3_auth *a, struct bkt_http_op *op, const char *code);

/** Judge a refusal with @p code.  True: submit the op again, as there may be other credentials.  If there are
 *  none, the op's next bkt_s3_auth_sign() ends it with @p rc, the meaning of the refusal, whose error is
 *  recorded in the request. */
bool bkt_s3_auth_refused(struct bkt_s3_auth *a, struct bkt_http_op *op, const char *code, int rc);

/** Copy the source of the credentials in use to @p out; "": requests are not signed, or no credentials are
 *  known. */
void bkt_s3_auth_source(struct bkt_s3_auth *a, char *out, size_t room);

#endif
