/* AWS Signature Version 4: pure functions, checked against AWS's published vectors.
 *
 * libcurl could sign (CURLOPT_AWS_SIGV4), but 7.88 sends no x-amz-content-sha256, neither sorts nor completes
 * the query, and cannot be checked against vectors without a server; so requests are signed here.
 * Model: canonical request → string to sign → HMAC with a key derived from secret, day, region and service.
 * Source: "AWS Signature Version 4 for API requests" and "Authenticating Requests: Using the Authorization
 * Header (S3)". */
#ifndef BKT_S3_SIGN_H
#define BKT_S3_SIGN_H

#include <time.h>

#include "base/bytes.h"
#include "storage/aws/creds.h"
#include "base/err.h"

#define BKT_SHA256_HEX       65 /* 64 digits and the NUL */
#define BKT_UNSIGNED_PAYLOAD "UNSIGNED-PAYLOAD"
#define BKT_SHA256_EMPTY     "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

enum bkt_sign_flags {
    BKT_SIGN_S3        = 0,      /* the path is signed as sent; x-amz-content-sha256 is sent and signed */
    BKT_SIGN_NORMALIZE = 1 << 0, /* other services: /./, /../ and // are resolved before signing */
    BKT_SIGN_REENCODE  = 1 << 1, /* other services: the path as sent is percent-encoded once more */
    BKT_SIGN_NO_SHA256 = 1 << 2, /* other services: no x-amz-content-sha256 header */
    BKT_SIGN_LATE_TOKEN = 1 << 3, /* x-amz-security-token is sent but not signed (some services; vectors) */
};

struct bkt_sign_pair {
    const char *name, *value;
};

/** Everything is borrowed for the call. */
struct bkt_sign_input {
    const char                 *method;
    const char *host; /* as in the Host header: with the port unless it is the scheme's own */
    const char                 *path;    /* as sent, percent-encoded, begins with '/'; "" is "/" */
    const char                 *query;   /* as sent, percent-encoded, any order; NULL or "": no query */
    const struct bkt_sign_pair *params;  /* further parameters, not encoded; the caller sends bkt_sign_query()
                                            of them */
    size_t                      n_params;
    const struct bkt_sign_pair
        *headers; /* further headers to be signed (range, x-amz-…); not host nor the output's */
    size_t                      n_headers;
    const char                 *payload_hash; /* 64 hex digits or BKT_UNSIGNED_PAYLOAD */
    time_t                      now;
    const char                 *region, *service; /* e.g. "us-east-1", "s3" */
    const struct bkt_creds     *creds;
    unsigned                    flags;
};

/** Headers to be sent, besides those of the input.  The session token, if creds has one, is sent as
 *  x-amz-security-token: creds->session_token. */
struct bkt_sign_output {
    char           amz_date[17];                   /* x-amz-date */
    char           content_sha256[BKT_SHA256_HEX]; /* x-amz-content-sha256; "" under BKT_SIGN_NO_SHA256 */
    struct bkt_buf authorization;                  /* Authorization; bkt_sign_output_fini() */
};

/** Signing key of one (secret, day, region, service); it saves four HMACs a request.  A zeroed struct is
 *  empty.  For one thread at a time.  Wipe it with bkt_sign_key_wipe(). */
struct bkt_sign_key {
    unsigned char of[32], key[32];
    bool          set;
};

/** Sign a request.
 * @param cache  the signing key, used and updated; NULL: derive the key again
 * @param out    zeroed, or used before (its buffer is reused)
 * @return BKT_OK; BKT_EINVAL: no creds, or a control character in a header, host or token; BKT_ENOMEM;
 *     BKT_EIO: libcrypto failed */
BKT_NODISCARD int bkt_sign(const struct bkt_sign_input *in, struct bkt_sign_key *cache,
                           struct bkt_sign_output *out, struct bkt_err *err);
void              bkt_sign_output_fini(struct bkt_sign_output *out);
void              bkt_sign_key_wipe(struct bkt_sign_key *key);

/** The intermediate steps, for tests and for comparison with a server's answer to SignatureDoesNotMatch. */
BKT_NODISCARD int bkt_sign_canonical(const struct bkt_sign_input *in, struct bkt_buf *out,
                                     struct bkt_err *err);
BKT_NODISCARD int bkt_sign_string(const struct bkt_sign_input *in, const struct bkt_buf *canonical,
                                  struct bkt_buf *out, struct bkt_err *err);

/** Append "a=b&c=d", encoded (RFC 3986's unreserved characters stay) and sorted. */
BKT_NODISCARD int bkt_sign_query(const struct bkt_sign_pair *params, size_t n, struct bkt_buf *out);

/** Append @p text percent-encoded; @p keep_slash for object keys in a path. */
BKT_NODISCARD int bkt_sign_encode(const char *text, bool keep_slash, struct bkt_buf *out);

/** SHA-256 as 64 lower-case hex digits.  BKT_EIO: libcrypto failed. */
BKT_NODISCARD int bkt_sha256_hex(const void *p, size_t n, char out[BKT_SHA256_HEX]);

#endif
