/* AWS Signature Version 4: pure functions, checked against AWS's published vectors.
 *
 * libcurl could sign (CURLOPT_AWS_SIGV4), but 7.88 sends no x-amz-content-sha256, neither sorts nor completes
 * the query, and cannot be checked against vectors without a server; so requests are signed here.
 * Model: canonical request → string to sign → HMAC with a key derived from secret, day, region and service.
 * Source: "AWS Signature Version 4 for API requests" and "Authenticating Requests: Using the Authorization
 * Header (S3)". */
#pragma once

#include <stdatomic.h>
#include <time.h>

#include "base/bytes.h"

#define BKT_SHA256_HEX       65 /* 64 digits and the NUL */
#define BKT_UNSIGNED_PAYLOAD "UNSIGNED-PAYLOAD"
#define BKT_SHA256_EMPTY     "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

/** Credentials, which sign requests; cred.h finds them.  Immutable, counted.  Filled in by hand only in
 * tests. */
struct bkt_creds {
    char       *access_key, *secret_key;
    char       *session_token; /* NULL: none */
    int64_t     expires;       /* Unix seconds; 0: never */
    char *source; /* for messages: "environment variables", "profile x in /home/u/.aws/credentials", … */
    uint64_t    fetch, same_as; /* numbers of the provider's fetches: the one that returned them, and the
                                   first that returned the same; 0: not fetched */
    atomic_uint refs;
};

struct bkt_sign_pair {
    const char *name, *value;
};

/** Everything is borrowed for the call. */
struct bkt_sign_input {
    const char                 *method;
    const char *host; /* as in the Host header: with the port unless it is the scheme's own */
    const char *path; /* as sent, percent-encoded, begins with '/'; "" is "/"; signed as it is */
    const char *query; /* as sent, in the one canonical form: parameters sorted, each with a '=', and
                          percent-encoded by bkt_percent_encode(); NULL or "": no query */
    /* further headers to be signed (range, x-amz-…), each once; not host nor the output's.  Names in small
     * letters, values without superfluous blanks */
    const struct bkt_sign_pair *headers;
    size_t                      n_headers;
    const char                 *payload_hash; /* 64 hex digits or BKT_UNSIGNED_PAYLOAD */
    time_t                      now;
    const char                 *region, *service; /* e.g. "us-east-1", "s3" */
    const struct bkt_creds     *creds;
    bool no_sha256; /* services other than S3: no x-amz-content-sha256 header */
};

/** Headers to be sent, besides those of the input, x-amz-content-sha256: payload_hash (not with no_sha256),
 * and x-amz-security-token: creds->session_token, if there is one. */
struct bkt_sign_output {
    char           amz_date[17];                   /* x-amz-date */
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
 * @return BKT_OK; BKT_EINVAL: no creds, an impossible time, or a control character in a header, host or
 *     token; BKT_ENOMEM; BKT_EIO: libcrypto failed */
BKT_NODISCARD int bkt_sign(const struct bkt_sign_input *in, struct bkt_sign_key *cache,
                           struct bkt_sign_output *out, struct bkt_err *err);
void              bkt_sign_output_fini(struct bkt_sign_output *out);
void              bkt_sign_key_wipe(struct bkt_sign_key *key); /* it is empty afterwards */

/** The canonical request, appended to @p out.  An intermediate step, for tests and for comparison with a
 * server's answer to SignatureDoesNotMatch.  Errors as for bkt_sign(). */
BKT_NODISCARD int bkt_sign_canonical(const struct bkt_sign_input *in, struct bkt_buf *out,
                                     struct bkt_err *err);
/** The string to sign for a canonical request, appended to @p out.  BKT_EINVAL: in->now is before 1970 or
 * after 9999; BKT_EIO: libcrypto failed; BKT_ENOMEM. */
BKT_NODISCARD int bkt_sign_string(const struct bkt_sign_input *in, const struct bkt_buf *canonical,
                                  struct bkt_buf *out, struct bkt_err *err);

/** SHA-256 as 64 lower-case hex digits.  BKT_EIO: libcrypto failed. */
BKT_NODISCARD int bkt_sha256_hex(const void *p, size_t n, char out[BKT_SHA256_HEX]);
