/* S3: addresses, regions, the meaning of its answers, lists.
 *
 * Settings or profile give the region until the server names another one.  The server's region is kept per
 * bucket for the process, so that only the first request pays for it. */
#include "storage/s3/s3.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/aws/cred/cred.h"
#include "storage/s3/s3_impl.h"
#include "storage/s3/region.h"
#include "storage/aws/sigv4.h"
#include "storage/aws/xml.h"

#define MAX_DETOURS    3 /* detours of one request: to the bucket's region, and repetitions that S3 asks for;
                            more is a loop */
#define DEFAULT_REGION "us-east-1"

static int prepare(struct bkt_http *h, struct bkt_http_op *op)
{
    struct bkt_s3                               *s    = (struct bkt_s3 *)h;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf host = {0}, path = {0};
    bkt_state_lock();
    memcpy(op->region, s->region, sizeof op->region);
    bkt_state_unlock();
    if (bkt_s3_place_host(&s->place, op->region, &host) < 0 ||
        bkt_s3_place_path(&s->place, op->bucket ? NULL : op->req->key, &path) < 0 ||
        bkt_buf_addf(&op->url, "%s://%s%s%s%s", s->place.scheme, bkt_buf_str(&host), bkt_buf_str(&path),
                     op->query ? "?" : "", op->query ? op->query : "") < 0)
        return BKT_REQ_FAIL(op->req, BKT_ENOMEM, "out of memory");
    char                 sum[12];
    bool                 put = strcmp(op->x.method, "PUT") == 0;
    op->put.sum_said         = put && op->put.sum[0] && bkt_s3_kind_sums(s);
    if (op->put.sum_said && bkt_s3_sum(op->put.sum, sum) < 0)
        return BKT_REQ_FAIL(op->req, BKT_ENOMEM, "out of memory");
    struct bkt_s3_target t = {.host           = bkt_buf_str(&host),
                              .path           = bkt_buf_str(&path),
                              .query          = op->query ? op->query : "",
                              .region         = op->region,
                              .payload_hash   = op->x.put_len ? op->payload_hash : BKT_SHA256_EMPTY,
                              .requester_pays = s->requester_pays,
                              .put_id         = op->put.id[0] && !op->put.looking ? op->put.id : NULL,
                              .sum            = op->put.sum[0] && !op->put.looking ? op->put.sum : NULL,
                              .crc32c         = op->put.sum_said ? sum : NULL};
    if (op->md5 && bkt_http_header(op, "Content-MD5", op->md5) < 0)
        return BKT_REQ_FAIL(op->req, BKT_ENOMEM, "out of memory");
    return bkt_s3_auth_sign(s->auth, op, &t);
}

/* ---- answers ---- */

/* The server may name the bucket's region: in a header, or in the document of an error. */
static bool new_region(struct bkt_s3 *s, struct bkt_http_op *op, const struct bkt_s3_error *e)
{
    bool        malformed = strcmp(e->code, "AuthorizationHeaderMalformed") == 0;
    const char *region    = op->reply.region[0] ? op->reply.region : malformed ? e->region : "";
    if (!bkt_s3_region_ok(region) || strcmp(region, op->region) == 0 || op->detours >= MAX_DETOURS)
        return false;
    op->detours++;
    bkt_state_lock();
    memcpy(s->region, region, strlen(region) + 1);
    bkt_state_unlock();
    bkt_s3_region_learn(s->place.host ? s->place.host : "", s->place.bucket, region);
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
    bool                     bad     = false;
    for (size_t i = 0; i < BKT_COUNT(codes); i++)
        bad |= strcmp(e->code, codes[i]) == 0;
    return bad && strcmp(op->x.method, "PUT") == 0 && op->detours++ < MAX_DETOURS;
}

/* A server that does not know x-amz-checksum-crc32c mostly ignores it.  A server that refuses it does not get
 * it any more. */
static bool sum_refused(struct bkt_s3 *s, struct bkt_http_op *op, const struct bkt_s3_error *e)
{
    static const char *const codes[] = {"NotImplemented", "InvalidRequest", "InvalidArgument"};
    bool                     maybe   = strcasestr(e->message, "checksum") != NULL;
    for (size_t i = 0; i < BKT_COUNT(codes); i++)
        maybe |= strcmp(e->code, codes[i]) == 0;
    if (!op->put.sum_said || !maybe || (op->x.status != 400 && op->x.status != 501))
        return false;
    bkt_s3_kind_no_sums(s);
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
            (!hints[i].query || (op->query && strstr(op->query, hints[i].query))))
            return hints[i].hint;
    return "without permission to list the bucket, S3 also reports missing keys as 403";
}

static int judge(struct bkt_http *h, struct bkt_http_op *op)
{
    struct bkt_s3          *s = (struct bkt_s3 *)h;
    struct bkt_s3_error e;
    (void)bkt_s3_parse_error(op->trouble.ptr, op->trouble.len, &e);
    if (new_region(s, op, &e) || bkt_s3_auth_late(s->auth, op, e.code) || too_slow(op, &e) ||
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
    char        source[100], text[240];
    if (op->x.status == 403 && !hint)
        hint = denied_hint(op);
    if (rc == BKT_EACCES) {
        bkt_s3_auth_source(s->auth, source, sizeof source);
        (void)snprintf(text, sizeof text, "%s%s; %s",
                       source[0] ? "signed with credentials from " : "sent unsigned", source,
                       hint ? hint : "");
        hint = text;
    }
    rc = bkt_http_say(op, rc, e.code, e.message, hint);
    return bkt_s3_auth_refused(s->auth, op, e.code, rc) ? BKT_HTTP_AGAIN : rc;
}

static const struct bkt_http_ops s3_http_ops = {
    .init = bkt_s3_put_init, .prepare = prepare, .judge = judge, .misfit = bkt_s3_misfit};

/* ---- the store ---- */

static void s3_facts(struct bkt_store *st, struct bkt_store_facts *out)
{
    struct bkt_s3                           *s    = (struct bkt_s3 *)st;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf host = {0};
    bkt_state_lock();
    memcpy(out->region, s->region, sizeof out->region);
    bkt_state_unlock();
    if (bkt_s3_place_host(&s->place, out->region, &host) == BKT_OK)
        (void)snprintf(out->endpoint, sizeof out->endpoint, "%s://%s", s->place.scheme, bkt_buf_str(&host));
    bkt_s3_auth_source(s->auth, out->credentials, sizeof out->credentials);
}

static void s3_close(struct bkt_store *st)
{
    struct bkt_s3 *s = (struct bkt_s3 *)st;
    bkt_s3_auth_close(s->auth);
    bkt_s3_place_fini(&s->place);
    bkt_http_fini(&s->http);
    free(s);
}

static const struct bkt_store_ops s3_ops = {.name = "s3",
                                            .will_write = bkt_s3_will_write,
                                            .pace = bkt_http_pace,
                                            .ahead = bkt_http_ahead,
                                            .start = bkt_s3_start,
                                            .delete_many = bkt_s3_delete,
                                            .list = bkt_s3_list,
                                            .list_parts = bkt_s3_list_parts,
                                            .list_each = bkt_s3_list_each,
                                            .uploads = bkt_s3_uploads,
                                            .abort = bkt_s3_abort,
                                            .facts = s3_facts,
                                            .close = s3_close};

static int choose_region(struct bkt_s3 *s, const struct bkt_settings *set, struct bkt_err *err)
{
    if (bkt_s3_region_known(s->place.host ? s->place.host : "", s->place.bucket, s->region))
        return BKT_OK;
    BKT_CLEANUP(bkt_freep) char *profile = NULL;
    if (!set->region || !*set->region)
        bkt_s3_region_of_profile(set, &profile);
    const char *region = set->region && *set->region ? set->region : profile ? profile : DEFAULT_REGION;
    if (!bkt_s3_region_ok(region))
        BKT_FAIL(err, BKT_EINVAL, "region '%.100s' is not a region name", region);
    memcpy(s->region, region, strlen(region) + 1);
    return BKT_OK;
}

int bkt_s3_open(const char *uri, const char *rest, const struct bkt_settings *set, struct bkt_store **out,
                struct bkt_err *err)
{
    struct bkt_s3 *s = calloc(1, sizeof *s);
    if (!s)
        BKT_NOMEM(err);
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf origin = {0};
    BKT_CLEANUP(bkt_freep) char *endpoint = NULL;
    if (!(set->endpoint && *set->endpoint) && !set->anonymous && bkt_cred_endpoint(set, &endpoint, NULL) < 0)
        endpoint = NULL; /* a bad profile is reported when credentials are wanted */
    int rc = bkt_s3_place_init(&s->place, rest, endpoint ? endpoint : set->endpoint, set->addressing, err);
    if (rc == BKT_OK && (bkt_buf_addf(&origin, "%s://", s->place.scheme) < 0 ||
                         bkt_s3_place_host(&s->place, "*", &origin) < 0))
        rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
    if (rc == BKT_OK)
        rc = choose_region(s, set, err);
    if (rc == BKT_OK)
        rc = bkt_s3_auth_open(set, &s->auth, err);
    if (rc == BKT_OK)
        rc = bkt_http_init(&s->http, &s3_ops, &s3_http_ops, uri, bkt_buf_str(&origin), set, err);
    if (rc == BKT_OK && (rc = bkt_s3_kind_open(s, set->conditional, err)) < 0)
        bkt_http_fini(&s->http);
    if (rc < 0) {
        bkt_s3_auth_close(s->auth);
        bkt_s3_place_fini(&s->place);
        free(s);
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

void bkt_s3_shutdown(void)
{
    bkt_s3_region_forget();
    bkt_s3_kind_forget();
}
