#include "storage/s3/auth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "storage/aws/cred/cred.h"
#include "storage/aws/sigv4.h"

#define SKEW_MAX 900 /* seconds: S3 refuses more than a quarter of an hour */

struct bkt_s3_auth {
    struct bkt_cred    *cred; /* NULL: anonymous */
    struct bkt_sign_key key;  /* under bkt_state_lock() */
    atomic_long         skew; /* the server's clock minus the local clock, seconds; 0 until a server
                                 complained */
};

int bkt_s3_auth_open(const struct bkt_settings *set, struct bkt_s3_auth **out, struct bkt_err *err)
{
    struct bkt_s3_auth *a = calloc(1, sizeof *a);
    if (!a)
        BKT_NOMEM(err);
    int rc = set->anonymous ? BKT_OK : bkt_cred_open(set, &a->cred, err);
    if (rc < 0) {
        free(a);
        return rc;
    }
    *out = a;
    return BKT_OK;
}

void bkt_s3_auth_close(struct bkt_s3_auth *a)
{
    if (!a)
        return;
    bkt_cred_close(a->cred);
    bkt_sign_key_wipe(&a->key);
    free(a);
}

static void ready(void *arg, int rc, const struct bkt_err *err)
{
    struct bkt_http_op *op = arg;
    if (rc < 0)
        bkt_http_give_up(op, rc, err);
    else
        bkt_http_submit(op);
}

/* Sign with a copy of the signing key that several threads share. */
static int sign(struct bkt_s3_auth *a, const struct bkt_sign_input *in, struct bkt_sign_output *out,
                struct bkt_err *err)
{
    struct bkt_sign_key key;
    bkt_state_lock();
    key = a->key;
    bkt_state_unlock();
    int rc = bkt_sign(in, &key, out, err);
    bkt_state_lock();
    a->key = key;
    bkt_state_unlock();
    bkt_sign_key_wipe(&key);
    return rc;
}

static int sign_with(struct bkt_s3_auth *a, struct bkt_http_op *op, const struct bkt_s3_target *t,
                     const struct bkt_creds *creds, const struct bkt_sign_pair *extra, size_t n_extra)
{
    struct bkt_sign_output out   = {0};
    struct bkt_sign_input  in    = {.method       = op->x.method,
                                    .host         = t->host,
                                    .path         = t->path,
                                    .query        = t->query,
                                    .headers      = extra,
                                    .n_headers    = n_extra,
                                    .payload_hash = t->payload_hash,
                                    .now          = time(NULL) + atomic_load(&a->skew),
                                    .region       = t->region,
                                    .service      = "s3",
                                    .creds        = creds};
    int rc = sign(a, &in, &out, bkt_req_err(op->req));
    if (rc == BKT_OK &&
        (bkt_http_header(op, "x-amz-date", out.amz_date) < 0 ||
         bkt_http_header(op, "x-amz-content-sha256", out.content_sha256) < 0 ||
         bkt_http_header(op, "Authorization", bkt_buf_str(&out.authorization)) < 0 ||
         (creds->session_token && bkt_http_header(op, "x-amz-security-token", creds->session_token) < 0)))
        rc = BKT_REQ_FAIL(op->req, BKT_ENOMEM, "out of memory");
    bkt_sign_output_fini(&out);
    return rc;
}

int bkt_s3_auth_sign(struct bkt_s3_auth *a, struct bkt_http_op *op, const struct bkt_s3_target *t)
{
    struct bkt_sign_pair extra[4];
    size_t               n = 0;
    if (t->requester_pays)
        extra[n++] = (struct bkt_sign_pair){"x-amz-request-payer", "requester"};
    if (t->put_id)
        extra[n++] = (struct bkt_sign_pair){BKT_PUT_ID_HEADER, t->put_id};
    if (t->sum)
        extra[n++] = (struct bkt_sign_pair){BKT_SUM_HEADER, t->sum};
    if (t->crc32c)
        extra[n++] = (struct bkt_sign_pair){"x-amz-checksum-crc32c", t->crc32c};
    for (size_t i = 0; i < n; i++)
        if (bkt_http_header(op, extra[i].name, extra[i].value) < 0)
            return BKT_REQ_FAIL(op->req, BKT_ENOMEM, "out of memory");
    if (!a->cred)
        return BKT_OK;
    const struct bkt_creds *creds = NULL;
    struct bkt_err          err   = {0};
    int                     rc    = bkt_cred_peek(a->cred, &creds, &err);
    if (rc < 0)
        return bkt_err_copy(bkt_req_err(op->req), rc, &err);
    if (rc == BKT_CRED_LATER) {
        bkt_cred_want(a->cred, ready, op); /* op may have been freed */
        return BKT_HTTP_LATER;
    }
    rc = op->auth.refused && creds->same_as == op->auth.same_as ? op->auth.refused : BKT_OK;
    if (rc == BKT_OK) {
        if (op->auth.refused)
            bkt_err_clear(op->req->err);
        op->auth.renewed |= op->auth.refused != 0;
        op->auth.refused = 0;
        op->auth.fetch   = creds->fetch;
        op->auth.same_as = creds->same_as;
        rc = sign_with(a, op, t, creds, extra, n);
    }
    bkt_creds_unref(creds);
    return rc;
}

/* Whether the clock is the cause of a refusal.  S3 gives no reason for refusing a HEAD, which has no body. */
static bool clock_refused(const struct bkt_s3_auth *a, const struct bkt_http_op *op, const char *code)
{
    long off = op->reply.date ? op->reply.date - (long)time(NULL) : 0;
    long err = off - atomic_load(&a->skew);
    return off && (strcmp(code, "RequestTimeTooSkewed") == 0 ||
                   (!*code && op->x.status == 403 && (err > SKEW_MAX || err < -SKEW_MAX)));
}

bool bkt_s3_auth_late(struct bkt_s3_auth *a, struct bkt_http_op *op, const char *code)
{
    if (!a->cred || op->clock_set || !clock_refused(a, op, code))
        return false;
    op->clock_set = true;
    atomic_store(&a->skew, op->reply.date - (long)time(NULL));
    return true;
}

/* The codes for credentials that have expired or were replaced.  Some servers send only AccessDenied, and for
 * a HEAD no code. */
bool bkt_s3_auth_refused(struct bkt_s3_auth *a, struct bkt_http_op *op, const char *code, int rc)
{
    static const char *const stale[] = {"ExpiredToken",      "ExpiredTokenException", "InvalidToken",
                                        "InvalidTokenId",    "InvalidClientTokenId",  "TokenRefreshRequired",
                                        "InvalidAccessKeyId"};
    long status = op->x.status;
    bool sure   = !*code && status == 400;
    for (size_t i = 0; i < BKT_COUNT(stale); i++)
        sure |= strcmp(code, stale[i]) == 0;
    if (!a->cred || op->auth.renewed || !(sure || status == 401 || status == 403) ||
        !bkt_cred_refused(a->cred, op->auth.fetch, sure))
        return false;
    op->auth.refused = rc;
    return true;
}

void bkt_s3_auth_source(struct bkt_s3_auth *a, char *out, size_t room)
{
    if (room)
        out[0] = 0;
    if (a->cred)
        bkt_cred_source(a->cred, out, room);
}
