/* S3: the signing of requests, the form and the meaning of answers.
 *
 * Settings or profile give the region until the server names another one.  The server's region is kept per
 * bucket for the process, so that only the first request pays for it.
 *
 * An answer with another form than S3's comes from somewhere else (storage/http/answer.c):
 *      PUT of an object, of a part   200, an ETag, no body
 *      DELETE                        204; or 200 without a body
 *      GET, HEAD of an object        an ETag, once the server has sent any
 *      lists, the begin of an upload the document of that name, whole
 *      a missing object              404 with the document NoSuchKey; to a HEAD without a body, a mark of S3
 *      a range past the object's end 416 with the object's length, or with the document InvalidRange
 * AWS, Google's XML API, R2, MinIO, radosgw and Swift's S3 use this form.  multipart.c judges the answer to
 * the end of an upload, changes.c the answer to DeleteObjects. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/crc32c.h"
#include "base/trace.h"
#include "storage/aws/xml.h"
#include "storage/s3/s3_impl.h"
#include "storage/web/web_url.h"

#define SKEW_MAX       900 /* seconds: S3 refuses more than a quarter of an hour */
#define MAX_DETOURS    3 /* detours of one request: to the bucket's region, and repetitions that S3 asks for;
                            more is a loop */
#define DEFAULT_REGION "us-east-1"

/* ---- signing ---- */

static void ready(void *arg, int rc, const struct bkt_err *err)
{
    struct bkt_http_op *op = arg;
    if (rc < 0)
        bkt_http_give_up(op, rc, err);
    else
        bkt_engine_submit(&op->x);
}

/* Sign with a copy of the signing key that several threads share. */
static int sign(struct bkt_s3 *s, const struct bkt_sign_input *in, struct bkt_sign_output *out,
                struct bkt_err *err)
{
    struct bkt_sign_key key;
    bkt_state_lock();
    key = s->key;
    bkt_state_unlock();
    int rc = bkt_sign(in, &key, out, err);
    bkt_state_lock();
    s->key = key;
    bkt_state_unlock();
    bkt_sign_key_wipe(&key);
    return rc;
}

static int sign_with(struct bkt_s3 *s, struct bkt_http_op *op, struct bkt_sign_input in)
{
    struct bkt_sign_output out = {0};
    in.now                     = time(NULL) + atomic_load(&s->skew);
    int rc                     = sign(s, &in, &out, bkt_req_err(op->req));
    if (rc == BKT_OK && (bkt_http_header(op, "x-amz-date", out.amz_date) < 0 ||
                         bkt_http_header(op, "x-amz-content-sha256", in.payload_hash) < 0 ||
                         bkt_http_header(op, "Authorization", bkt_buf_str(&out.authorization)) < 0 ||
                         (in.creds->session_token &&
                          bkt_http_header(op, "x-amz-security-token", in.creds->session_token) < 0)))
        rc = BKT_REQ_FAIL(op->req, BKT_ENOMEM, "out of memory");
    bkt_sign_output_fini(&out);
    return rc;
}

/* Sign with credentials, which may arrive or be renewed while the request waits. */
static int authorize(struct bkt_s3 *s, struct bkt_http_op *op, struct bkt_sign_input in)
{
    struct bkt_err err = {0};
    int rc = bkt_cred_peek(s->cred, &in.creds, &err);
    if (rc < 0)
        return bkt_err_copy(bkt_req_err(op->req), rc, &err);
    if (rc == BKT_CRED_LATER) {
        bkt_cred_want(s->cred, ready, op); /* op may have been freed */
        return BKT_HTTP_LATER;
    }
    rc = op->auth.refused && in.creds->same_as == op->auth.same_as ? op->auth.refused : BKT_OK;
    if (rc == BKT_OK) {
        if (op->auth.refused)
            bkt_err_clear(op->req->err);
        op->auth.renewed |= op->auth.refused != 0;
        op->auth.refused = 0;
        op->auth.fetch   = in.creds->fetch;
        op->auth.same_as = in.creds->same_as;
        rc               = sign_with(s, op, in);
    }
    bkt_creds_unref(in.creds);
    return rc;
}

/* BKT_SUM_HEADER's text in x-amz-checksum-crc32c's form, base64 of the four bytes. */
static int sum_of(const char *text, char out[12])
{
    uint32_t                                 sum = 0;
    unsigned char                            bytes[4];
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b   = {0};
    (void)bkt_crc32c_parse(text, &sum);
    bkt_put_be(bytes, sizeof bytes, sum);
    BKT_PASS(bkt_base64_encode(bytes, sizeof bytes, &b));
    (void)snprintf(out, 12, "%s", bkt_buf_str(&b));
    return BKT_OK;
}

/* Add the attempt's own headers that are signed.  @p sum holds the text of one of them. */
static int add_headers(const struct bkt_s3 *s, struct bkt_http_op *op, char sum[12], struct bkt_sign_pair *v,
                       size_t *n)
{
    if (s->requester_pays)
        v[(*n)++] = (struct bkt_sign_pair){"x-amz-request-payer", "requester"};
    if (op->put.id[0] && !op->put.looking)
        v[(*n)++] = (struct bkt_sign_pair){BKT_PUT_ID_HEADER, op->put.id};
    if (op->put.sum[0] && !op->put.looking)
        v[(*n)++] = (struct bkt_sign_pair){BKT_SUM_HEADER, op->put.sum};
    op->put.sum_said =
        strcmp(op->x.method, "PUT") == 0 && op->put.sum[0] && !atomic_load(&s->server->no_sums);
    if (op->put.sum_said) {
        BKT_PASS(sum_of(op->put.sum, sum));
        v[(*n)++] = (struct bkt_sign_pair){"x-amz-checksum-crc32c", sum};
    }
    for (size_t i = 0; i < *n; i++)
        BKT_PASS(bkt_http_header(op, v[i].name, v[i].value));
    return op->call.md5 ? bkt_http_header(op, "Content-MD5", op->call.md5) : BKT_OK;
}

static int prepare(struct bkt_http *h, struct bkt_http_op *op)
{
    struct bkt_s3                           *s    = (struct bkt_s3 *)h;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf host = {0}, path = {0};
    struct bkt_sign_pair                     headers[4];
    size_t                                   n = 0;
    char                                     sum[12];
    bkt_s3_region_get(s, op->region);
    if (bkt_s3_place_host(&s->place, op->region, &host) < 0 ||
        bkt_s3_place_path(&s->place, op->call.bucket ? NULL : op->req->key, &path) < 0 ||
        bkt_buf_addf(&op->url, "%s://%s%s%s%s", s->place.scheme, bkt_buf_str(&host), bkt_buf_str(&path),
                     op->call.query ? "?" : "", op->call.query ? op->call.query : "") < 0 ||
        add_headers(s, op, sum, headers, &n) < 0)
        return BKT_REQ_FAIL(op->req, BKT_ENOMEM, "out of memory");
    if (!s->cred)
        return BKT_OK;
    return authorize(
        s, op,
        (struct bkt_sign_input){.method = op->x.method,
                                .host = bkt_buf_str(&host),
                                .path = bkt_buf_str(&path),
                                .query = op->call.query,
                                .headers = headers,
                                .n_headers = n,
                                .payload_hash = op->x.put_len ? op->payload_hash : BKT_SHA256_EMPTY,
                                .region = op->region,
                                .service = "s3"});
}

/* ---- the form of answers ---- */

static bool is_any(const char *code, const char *const *codes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(code, codes[i]) == 0)
            return true;
    return false;
}

/* The document that answers a request with this query; NULL: no document is checked here. */
static const char *wanted(const struct bkt_http_op *op)
{
    static const struct {
        const char *method, *query, *root;
    } documents[] = {{"GET", "list-type=", "ListBucketResult"},
                     {"GET", "uploads=", "ListMultipartUploadsResult"},
                     {"POST", "uploads=", "InitiateMultipartUploadResult"}};
    for (size_t i = 0; op->call.query && i < BKT_COUNT(documents); i++)
        if (strcmp(op->x.method, documents[i].method) == 0 && strstr(op->call.query, documents[i].query))
            return documents[i].root;
    return NULL;
}

/* Whether an ETag is missing.  The server's answers show whether it sends ETags at all. */
static bool lacks_etag(struct bkt_s3 *s, const struct bkt_http_op *op)
{
    if (op->reply.etag[0])
        atomic_store_explicit(&s->etags, true, memory_order_relaxed);
    return !op->reply.etag[0] && atomic_load_explicit(&s->etags, memory_order_relaxed);
}

static const char *misfit_success(struct bkt_s3 *s, struct bkt_http_op *op)
{
    bool        reads = strcmp(op->x.method, "GET") == 0 || strcmp(op->x.method, "HEAD") == 0;
    bool        bare  = lacks_etag(s, op);
    const char *root  = wanted(op);
    if (strcmp(op->x.method, "PUT") == 0 && (op->x.status != 200 || !op->reply.etag[0] || op->trouble.len))
        return "S3 answers a PUT with 200, an ETag and no body";
    if (strcmp(op->x.method, "DELETE") == 0 && (op->x.status > 204 || op->trouble.len))
        return "S3 answers a DELETE with 204 and no body";
    if (root && !bkt_s3_is_document(op->req->body.ptr, op->req->body.len, root))
        return "not a document of the requested kind";
    return bare && reads && !op->call.query ? "no ETag, unlike this server's other answers" : NULL;
}

static bool has_code(const struct bkt_http_op *op, const char *const *codes, size_t n)
{
    struct bkt_s3_error e;
    (void)bkt_s3_parse_error(op->trouble.ptr, op->trouble.len, &e);
    return is_any(e.code, codes, n);
}

static bool is_listed(long status, const long *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == status)
            return true;
    return false;
}

/* Whether the refusal is a proxy's, a gateway's or a firewall's: a page, or a status that S3 doesn't give. */
static bool is_foreign(const struct bkt_http_op *op)
{
    static const long s3[] = {401, 403, 404, 408, 409, 412, 416, 429}, not_pages[] = {400, 405, 411, 501};
    long status = op->x.status;
    if (op->reply.is_s3)
        return false;
    if (is_listed(status, not_pages, BKT_COUNT(not_pages)))
        return op->reply.is_page;
    return status >= 400 && status < 500 && !is_listed(status, s3, BKT_COUNT(s3));
}

static const char *misfit(struct bkt_http *h, struct bkt_http_op *op)
{
    static const char *const absent[] = {"NoSuchKey", "NoSuchBucket", "NoSuchUpload"}, *const past[] = {
                                                                                           "InvalidRange"};
    long                     status   = op->x.status;
    bool                     head     = strcmp(op->x.method, "HEAD") == 0;
    if (status >= 200 && status < 300)
        return misfit_success((struct bkt_s3 *)h, op);
    if (status == 410 ||
        (status == 404 && !(head ? op->reply.is_s3 : has_code(op, absent, BKT_COUNT(absent)))))
        return "S3 answers NoSuchKey if the object does not exist";
    bool has_size = op->reply.has_range && !op->reply.bad_range;
    if (status == 416 && !head && !has_size && !has_code(op, past, BKT_COUNT(past)))
        return "S3 answers InvalidRange if the object is shorter";
    return is_foreign(op) ? "S3 doesn't refuse a request in this way" : NULL;
}

/* ---- the meaning of answers ---- */

/* The server may name the bucket's region: in a header, or in the document of an error. */
static bool new_region(struct bkt_s3 *s, struct bkt_http_op *op, const struct bkt_s3_error *e)
{
    bool        malformed = strcmp(e->code, "AuthorizationHeaderMalformed") == 0;
    const char *region    = op->reply.region[0] ? op->reply.region : malformed ? e->region : "";
    if (!bkt_s3_region_ok(region) || strcmp(region, op->region) == 0 || op->detours >= MAX_DETOURS)
        return false;
    op->detours++;
    bkt_s3_region_set(s, region);
    return true;
}

/* S3 waited too long for this side's bytes: a 400, but not an error of the request. */
static bool too_slow(struct bkt_http_op *op, const struct bkt_s3_error *e)
{
    return strcmp(e->code, "RequestTimeout") == 0 && op->detours++ < MAX_DETOURS;
}

/* Bytes that arrived with another sum than they were sent with. */
static bool damaged(struct bkt_http_op *op, const struct bkt_s3_error *e)
{
    static const char *const codes[] = {"BadDigest", "XAmzContentChecksumMismatch",
                                        "XAmzContentSHA256Mismatch"};
    return is_any(e->code, codes, BKT_COUNT(codes)) && strcmp(op->x.method, "PUT") == 0 &&
           op->detours++ < MAX_DETOURS;
}

/* A server that does not know x-amz-checksum-crc32c mostly ignores it.  A server that refuses it does not get
 * it any more. */
static bool sum_refused(struct bkt_s3 *s, struct bkt_http_op *op, const struct bkt_s3_error *e)
{
    static const char *const codes[] = {"NotImplemented", "InvalidRequest", "InvalidArgument"};
    bool maybe = strcasestr(e->message, "checksum") || is_any(e->code, codes, BKT_COUNT(codes));
    if (!op->put.sum_said || !maybe || (op->x.status != 400 && op->x.status != 501))
        return false;
    atomic_store(&s->server->no_sums, true);
    return true;
}

/* Whether the clock is the cause of a refusal.  S3 gives no reason for refusing a HEAD, which has no body. */
static bool clock_refused(const struct bkt_s3 *s, const struct bkt_http_op *op, const char *code)
{
    long off = op->reply.date ? op->reply.date - (long)time(NULL) : 0;
    long err = off - atomic_load(&s->skew);
    return off && (strcmp(code, "RequestTimeTooSkewed") == 0 ||
                   (!*code && op->x.status == 403 && (err > SKEW_MAX || err < -SKEW_MAX)));
}

/* From now on the server's clock is used. */
static bool is_late(struct bkt_s3 *s, struct bkt_http_op *op, const char *code)
{
    if (!s->cred || op->clock_set || !clock_refused(s, op, code))
        return false;
    op->clock_set = true;
    atomic_store(&s->skew, op->reply.date - (long)time(NULL));
    return true;
}

/* Whether the request is sent again, as the credentials may have changed.  If they have not, authorize() ends
 * it with @p rc, the meaning of the refusal.  Some servers send only AccessDenied for credentials that have
 * expired or were replaced, and for a HEAD no code. */
static bool is_stale(struct bkt_s3 *s, struct bkt_http_op *op, const char *code, int rc)
{
    static const char *const stale[] = {"ExpiredToken",      "ExpiredTokenException", "InvalidToken",
                                        "InvalidTokenId",    "InvalidClientTokenId",  "TokenRefreshRequired",
                                        "InvalidAccessKeyId"};
    long status = op->x.status;
    bool sure   = (!*code && status == 400) || is_any(code, stale, BKT_COUNT(stale));
    if (!s->cred || op->auth.renewed || !(sure || status == 401 || status == 403) ||
        !bkt_cred_refused(s->cred, op->auth.fetch, sure))
        return false;
    op->auth.refused = rc;
    return true;
}

static const struct {
    long        status;
    const char *code; /* S3's; NULL: any */
    int         rc;
    const char *hint;
} meanings[] = {
    {404, "NoSuchBucket", BKT_EINVAL, "the bucket does not exist there; check its name and the endpoint"},
    {404, NULL, BKT_ENOENT, NULL},
    {403, "RequestTimeTooSkewed", BKT_EACCES, "this machine's clock is wrong"},
    {403, "SignatureDoesNotMatch", BKT_EACCES, "the secret key is wrong"},
    {403, "InvalidAccessKeyId", BKT_EACCES, "the server does not know the access key"},
    {403, "QuotaExceeded", BKT_EACCES, "the quota of the bucket or of its owner is used up"},
    {403, "InvalidObjectState", BKT_EACCES, "the object is archived: restore it first"},
    {403, NULL, BKT_EACCES, NULL}, /* denied_hint() */
    {400, "ExpiredToken", BKT_EACCES,
     "the session token has expired: renew the credentials; the next try "
     "reads a profile again"},
    {400, "InvalidToken", BKT_EACCES, "the session token is not valid"},
    {301, NULL, BKT_EINVAL, "the bucket is in another region: set region (AWS_REGION) or endpoint"},
    {307, NULL, BKT_EINVAL, "the bucket is in another region: set region (AWS_REGION) or endpoint"},
    {400, "AuthorizationHeaderMalformed", BKT_EINVAL, "set region (AWS_REGION) to the bucket's"},
    {409, NULL, BKT_EPRECOND, NULL},
    {507, NULL, BKT_ENET, "the store has no room left"},
    {501, NULL, BKT_EUNSUP,
     "the server does not know this kind of request; setting writers=one sends no conditions"},
};

/* The permission that the user's or the bucket's policy must give. */
static const char *denied_hint(const struct bkt_http_op *op)
{
    static const struct {
        const char *method, *query, *hint; /* query: a part of it; NULL: any or no query */
    } hints[] = {{"GET", "list-type=", "the policy must allow s3:ListBucket here"},
                 {"GET", "uploads=", "the policy must allow s3:ListBucketMultipartUploads here"},
                 {"PUT", NULL, "the policy must allow s3:PutObject here"},
                 {"POST", NULL, "the policy must allow s3:PutObject here"},
                 {"DELETE", "uploadId=", "the policy must allow s3:AbortMultipartUpload here"},
                 {"DELETE", NULL, "the policy must allow s3:DeleteObject here"}};
    for (size_t i = 0; i < BKT_COUNT(hints); i++)
        if (strcmp(op->x.method, hints[i].method) == 0 &&
            (!hints[i].query || (op->call.query && strstr(op->call.query, hints[i].query))))
            return hints[i].hint;
    return "without permission to list the bucket, S3 also reports missing keys as 403";
}

/* A redirect of a web server before the S3 server, mostly to https.  It is not followed: the signature is for
 * this host.  False: not such an answer, or one to another path of this server. */
static bool moved_hint(const struct bkt_s3 *s, const struct bkt_http_op *op, char to[120])
{
    BKT_CLEANUP(bkt_web_url_fini) struct bkt_web_url u = {.port = 0};
    if (op->x.status < 300 || op->x.status >= 400 || !op->x.redirect || !s->place.host ||
        op->reply.region[0] || bkt_web_url_parse(op->x.redirect, &u, NULL) < 0 ||
        strcmp(u.origin, s->http.net.origin) == 0)
        return false;
    char *host = strstr(u.origin, "://") + 3;
    size_t n = strlen(s->place.bucket);
    if (!s->place.path_style && strncasecmp(host, s->place.bucket, n) == 0 && host[n] == '.')
        memmove(host, host + n + 1, strlen(host + n + 1) + 1); /* the endpoint's name has no bucket */
    (void)snprintf(to, 120, "set endpoint to %.70s, where this one redirects to", u.origin);
    return true;
}

static int judge(struct bkt_http *h, struct bkt_http_op *op)
{
    struct bkt_s3          *s = (struct bkt_s3 *)h;
    struct bkt_s3_error e;
    (void)bkt_s3_parse_error(op->trouble.ptr, op->trouble.len, &e);
    if (new_region(s, op, &e) || is_late(s, op, e.code) || too_slow(op, &e) ||
        damaged(op, &e) || sum_refused(s, op, &e))
        return BKT_HTTP_AGAIN;
    if (!op->reply.request_id[0])
        memcpy(op->reply.request_id, e.request_id, sizeof op->reply.request_id);
    size_t i = 0;
    while (i < BKT_COUNT(meanings) && !(meanings[i].status == op->x.status &&
                                        (!meanings[i].code || strcmp(meanings[i].code, e.code) == 0)))
        i++;
    int         rc   = i < BKT_COUNT(meanings) ? meanings[i].rc : bkt_http_code(op->x.status);
    const char *hint = i < BKT_COUNT(meanings) ? meanings[i].hint : NULL;
    char source[100], text[240], moved[120];
    if (op->x.status == 403 && !hint)
        hint = denied_hint(op);
    if (moved_hint(s, op, moved)) {
        rc = BKT_EINVAL;
        hint = moved;
    }
    if (rc == BKT_EACCES) {
        bkt_cred_source(s->cred, source, sizeof source);
        (void)snprintf(text, sizeof text, "%s%s; %s",
                       source[0] ? "signed with credentials from " : "sent unsigned", source,
                       hint ? hint : "");
        hint = text;
    }
    rc = bkt_http_say(op, rc, e.code, e.message, hint);
    return is_stale(s, op, e.code, rc) ? BKT_HTTP_AGAIN : rc;
}

static const struct bkt_http_ops s3_http_ops = {
    .init_change = bkt_s3_change_init, .prepare = prepare, .judge = judge, .misfit = misfit};

/* ---- the store ---- */

static void s3_facts(struct bkt_store *st, struct bkt_store_facts *out)
{
    struct bkt_s3                           *s    = (struct bkt_s3 *)st;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf host = {0};
    bkt_s3_region_get(s, out->region);
    if (bkt_s3_place_host(&s->place, out->region, &host) == BKT_OK)
        (void)snprintf(out->endpoint, sizeof out->endpoint, "%s://%s", s->place.scheme, bkt_buf_str(&host));
    bkt_cred_source(s->cred, out->credentials, sizeof out->credentials);
}

static void s3_free(struct bkt_s3 *s)
{
    bkt_cred_close(s->cred);
    bkt_sign_key_wipe(&s->key);
    bkt_s3_place_fini(&s->place);
    bkt_s3_server_leave(s->server);
    free(s);
}

static void s3_close(struct bkt_store *st)
{
    bkt_net_fini(&((struct bkt_http *)st)->net);
    s3_free((struct bkt_s3 *)st);
}

static const struct bkt_store_ops s3_ops = {.will_write = bkt_s3_will_write,
                                            .pace = bkt_http_pace,
                                            .ahead = bkt_http_ahead,
                                            .start = bkt_http_start_object,
                                            .change = bkt_s3_change,
                                            .delete_many = bkt_s3_delete,
                                            .list = bkt_s3_list,
                                            .many_lists = true,
                                            .uploads = bkt_s3_uploads,
                                            .abort = bkt_s3_abort,
                                            .facts = s3_facts,
                                            .close = s3_close};

/* A value of the user's profile, the caller's; NULL: none.  Keys of the environment need no profile, so a
 * file that can't be read ends nothing here; if the keys are in it, the search for credentials reports it. */
static char *of_profile(const struct bkt_settings *set, enum bkt_cred_what what)
{
    static const char *const names[] = {"region", "endpoint", "use_fips_endpoint", "use_dualstack_endpoint"};
    struct bkt_err why = {.n = 0};
    char *value = NULL;
    bool needed = !set->anonymous || what == BKT_CRED_FIPS || what == BKT_CRED_DUALSTACK;
    int rc = !needed ? BKT_OK : bkt_cred_of_profile(set, what, &value, &why);
    if (rc < 0)
        bkt_trace(BKT_TRACE_CRED, "the profile's %s isn't used: %s", names[what], bkt_err_reason(&why, rc));
    return rc < 0 ? NULL : value;
}

/* AWS's own hosts of another kind. */
static void choose_hosts(struct bkt_s3 *s, const struct bkt_settings *set)
{
    if (s->place.host)
        return;
    BKT_CLEANUP(bkt_freep) char *fips = of_profile(set, BKT_CRED_FIPS);
    BKT_CLEANUP(bkt_freep) char *dualstack = of_profile(set, BKT_CRED_DUALSTACK);
    s->place.fips = fips != NULL;
    s->place.dualstack = dualstack != NULL;
}

static int choose_region(struct bkt_s3 *s, const struct bkt_settings *set, struct bkt_err *err)
{
    if (bkt_s3_server_region(s->server, s->region)) /* no other thread has the store yet */
        return BKT_OK;
    bool own = set->region && *set->region;
    BKT_CLEANUP(bkt_freep) char *profile = own ? NULL : of_profile(set, BKT_CRED_REGION);
    const char *region = own ? set->region : profile ? profile : DEFAULT_REGION;
    BKT_FAIL_IF(err, !bkt_s3_region_ok(region), BKT_EINVAL, "region '%.100s' is not a region name", region);
    memcpy(s->region, region, strlen(region) + 1);
    return BKT_OK;
}

int bkt_s3_open(const char *uri, const char *rest, const struct bkt_settings *set, struct bkt_store **out,
                struct bkt_err *err)
{
    struct bkt_s3 *s = calloc(1, sizeof *s);
    BKT_NEED(err, s);
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf origin = {0};
    bool own = set->endpoint && *set->endpoint;
    BKT_CLEANUP(bkt_freep) char *endpoint = own ? NULL : of_profile(set, BKT_CRED_ENDPOINT);
    int rc = bkt_s3_place_init(&s->place, rest, endpoint ? endpoint : set->endpoint, set->addressing, err);
    if (rc == BKT_OK)
        choose_hosts(s, set);
    if (rc == BKT_OK && (bkt_buf_addf(&origin, "%s://", s->place.scheme) < 0 ||
                         bkt_s3_place_host(&s->place, "*", &origin) < 0))
        rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
    if (rc == BKT_OK && !(s->server = bkt_s3_server_find(&s->place, set->conditional)))
        rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
    if (rc == BKT_OK)
        rc = choose_region(s, set, err);
    if (rc == BKT_OK && !set->anonymous)
        rc = bkt_cred_open(set, &s->cred, err);
    if (rc == BKT_OK)
        rc = bkt_http_init(&s->http, &s3_ops, &s3_http_ops, uri, bkt_buf_str(&origin), set, err);
    if (rc < 0) {
        s3_free(s);
        return rc;
    }
    s->requester_pays = set->requester_pays;
    bool https        = strcmp(s->place.scheme, "https") == 0;
    s->sign_payload = !set->anonymous && (set->sign_payload ? strcmp(set->sign_payload, "yes") == 0 : !https);
    s->one_writer     = strcmp(set->writers, "one") == 0;
    s->upload_part    = set->upload_part;
    *out              = &s->http.base;
    return BKT_OK;
}
