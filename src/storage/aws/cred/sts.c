/* AssumeRole and AssumeRoleWithWebIdentity of AWS's security token service, or one like it (MinIO, Ceph).
 * Source: AWS STS API reference, version 2011-06-15. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/url.h"
#include "storage/aws/cred/cred_impl.h"
#include "storage/aws/partition.h"
#include "storage/aws/sigv4.h"
#include "storage/aws/xml.h"
#include "storage/web/web_url.h"

/* ---- the answer ---- */

static void answer_fini(struct bkt_sts_answer *a)
{
    bkt_secret_fini(&a->id);
    bkt_secret_fini(&a->secret);
    bkt_secret_fini(&a->token);
    bkt_secret_fini(&a->expiration);
}

int bkt_creds_from_sts(const void *xml, size_t n, const char *source, struct bkt_creds **out,
                       struct bkt_err *err)
{
    BKT_CLEANUP(answer_fini) struct bkt_sts_answer a = {0};
    int64_t expires = 0;
    int rc = bkt_sts_parse(xml, n, &a);
    if (rc == BKT_ENOMEM)
        BKT_NOMEM(err);
    BKT_FAIL_IF(err, rc < 0, BKT_EFORMAT, "%.250s: the answer is not valid XML", source);
    BKT_FAIL_IF(err, !a.id.len || !a.secret.len || !a.token.len, BKT_EFORMAT,
                "%.250s: the answer has no credentials", source);
    BKT_FAIL_IF(err, !bkt_cred_time(bkt_buf_str(&a.expiration), &expires), BKT_EFORMAT,
                "%.250s: the answer's Expiration is not an ISO 8601 time", source);
    return bkt_creds_make(bkt_buf_str(&a.id), bkt_buf_str(&a.secret), bkt_buf_str(&a.token), expires, source,
                          out, err);
}

/* ---- where ---- */

struct target {
    char url[512], host[300], path[256];
    char region[64];
};

static bool is_region(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-");
    return n > 0 && n < 64 && s[n] == 0;
}

/* Without a region, use the global endpoint, which is in us-east-1. */
static int default_url(const char *region, bool fips, char *url, size_t room, struct bkt_err *err)
{
    if (!region && fips)
        region = "us-east-1";
    if (!region)
        (void)snprintf(url, room, "https://sts.amazonaws.com/");
    else if (!is_region(region))
        BKT_FAIL(err, BKT_EINVAL, "'%.60s' is not a region", region);
    else
        (void)snprintf(url, room, "https://sts%s.%s.%s/", fips ? "-fips" : "", region,
                       bkt_aws_domain(region));
    return BKT_OK;
}

/* Host and path are signed.  So the request goes to them, and not to another spelling of the host. */
static int take_apart(struct target *t)
{
    BKT_CLEANUP(bkt_web_url_fini) struct bkt_web_url u = {.port = 0};
    if (strpbrk(t->url, "?#"))
        return BKT_EINVAL;
    BKT_PASS(bkt_web_url_parse(t->url, &u, NULL));
    const char *path = strchr(strstr(bkt_buf_str(&u.text), "://") + 3, '/');
    int n = snprintf(t->host, sizeof t->host, "%s", strstr(u.origin, "://") + 3);
    int m = snprintf(t->path, sizeof t->path, "%s", path ? path : "/");
    int all = snprintf(t->url, sizeof t->url, "%s%s", u.origin, t->path);
    bool fits = (size_t)n < sizeof t->host && (size_t)m < sizeof t->path && (size_t)all < sizeof t->url;
    return fits ? BKT_OK : BKT_EINVAL;
}

static int find_target(const struct bkt_cred_role *role, struct target *t, struct bkt_err *err)
{
    int n = 0;
    if (role->endpoint)
        n = snprintf(t->url, sizeof t->url, "%s", role->endpoint);
    else
        BKT_PASS(default_url(role->region, role->fips, t->url, sizeof t->url, err));
    int rc = n < 0 || (size_t)n >= sizeof t->url ? BKT_EINVAL : take_apart(t);
    if (rc == BKT_ENOMEM)
        BKT_NOMEM(err);
    BKT_FAIL_IF(err, rc < 0, BKT_EINVAL, "the STS endpoint '%.200s' is not a valid URL", BKT_SHOWN(t->url));
    (void)snprintf(t->region, sizeof t->region, "%s", role->region ? role->region : "us-east-1");
    return BKT_OK;
}

/* ---- the question ---- */

static int read_token(const char *path, struct bkt_buf *out, struct bkt_err *err)
{
    int rc = bkt_cred_read_file(path, out, err);
    BKT_FAIL_IF(err, rc == BKT_ENOENT, BKT_EACCES, "the web identity token file %.250s does not exist", path);
    BKT_PASS(rc);
    while (out->len && strchr(" \t\r\n", out->ptr[out->len - 1]))
        bkt_buf_cut(out, out->len - 1);
    BKT_FAIL_IF(err, !out->len || strlen(bkt_buf_str(out)) != out->len, BKT_EFORMAT,
                "the web identity token file %.250s is empty or not text", path);
    return BKT_OK;
}

static int add_value(struct bkt_buf *body, const char *name, const char *value)
{
    BKT_PASS(bkt_buf_addf(body, "%s%s=", body->len ? "&" : "", name));
    return bkt_percent_encode(body, value, strlen(value), "");
}

/* The token is a secret: the body is reserved so that it never moves. */
static int print_form(const struct bkt_cred_role *role, const char *session, const struct bkt_buf *token,
                      struct bkt_buf *body)
{
    const char *const pairs[][2] = {
        {"Action", role->token_file ? "AssumeRoleWithWebIdentity" : "AssumeRole"},
        {"DurationSeconds", role->duration},
        {"ExternalId", role->token_file ? NULL : role->external_id},
        {"RoleArn", role->arn},
        {"RoleSessionName", role->session_name ? role->session_name : session},
        {"Version", "2011-06-15"},
        {"WebIdentityToken", role->token_file ? bkt_buf_str(token) : NULL},
    };
    size_t most = 3 * token->len;
    for (size_t i = 0; i + 1 < BKT_COUNT(pairs); i++)
        most += pairs[i][1] ? strlen(pairs[i][0]) + 3 * strlen(pairs[i][1]) + 2 : 0;
    BKT_PASS(bkt_buf_reserve(body, most + sizeof "&WebIdentityToken="));
    for (size_t i = 0; i < BKT_COUNT(pairs); i++)
        if (pairs[i][1])
            BKT_PASS(add_value(body, pairs[i][0], pairs[i][1]));
    return BKT_OK;
}

static int question(const struct bkt_cred_role *role, struct bkt_buf *body, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_secret_fini) struct bkt_buf token = {0};
    char session[64];
    (void)snprintf(session, sizeof session, "vol-bucket-%lld-%ld", (long long)time(NULL), (long)getpid());
    if (role->token_file)
        BKT_PASS(read_token(role->token_file, &token, err));
    BKT_PASS_MEM(err, print_form(role, session, &token, body));
    return BKT_OK;
}

struct headers {
    struct bkt_buf date, authorization, token;
};

static void headers_fini(struct headers *h)
{
    bkt_buf_fini(&h->date);
    bkt_secret_fini(&h->authorization);
    bkt_secret_fini(&h->token);
}

static int sign(const struct bkt_cred_role *role, const struct target *t, const struct bkt_buf *body,
                struct headers *h, struct bkt_err *err)
{
    static const struct bkt_sign_pair type = {"content-type", "application/x-www-form-urlencoded"};
    struct bkt_sign_output out = {0};
    char hash[BKT_SHA256_HEX];
    BKT_TRY(err, bkt_sha256_hex(body->ptr, body->len, hash), "SHA-256 failed");
    const struct bkt_sign_input in = {.method = "POST",
                                      .host = t->host,
                                      .path = t->path,
                                      .headers = &type,
                                      .n_headers = 1,
                                      .payload_hash = hash,
                                      .now = (time_t)bkt_cred_now(),
                                      .region = t->region,
                                      .service = "sts",
                                      .creds = role->by,
                                      .no_sha256 = true};
    int rc = bkt_sign(&in, NULL, &out, err);
    if (rc == BKT_OK &&
        (bkt_buf_addf(&h->date, "X-Amz-Date: %s", out.amz_date) < 0 ||
         bkt_buf_addf(&h->authorization, "Authorization: %s", bkt_buf_str(&out.authorization)) < 0 ||
         (role->by->session_token &&
          bkt_secret_addf(&h->token, "X-Amz-Security-Token: %s", role->by->session_token) < 0)))
        rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
    bkt_sign_output_fini(&out);
    return rc;
}

static int refused(long status, const struct bkt_buf *body, const struct target *t, const char *source,
                   struct bkt_err *err)
{
    struct bkt_s3_error e = {0};
    (void)bkt_s3_parse_error(body->ptr, body->len, &e);
    BKT_FAIL(err, status >= 500 ? BKT_ENET : BKT_EACCES, "%.150s: STS at %.60s: HTTP %ld %.40s %.120s",
             source, t->host, status, e.code, e.message);
}

int bkt_cred_assume(struct bkt_cred_fetch *f, const struct bkt_cred_role *role, struct bkt_creds **out,
                    struct bkt_err *err)
{
    BKT_CLEANUP(bkt_secret_fini) struct bkt_buf body = {0}, reply = {0};
    BKT_CLEANUP(headers_fini) struct headers h = {0};
    struct target t;
    char source[300];
    long status;
    (void)snprintf(source, sizeof source, "role %.150s%s (%.100s)", role->arn,
                   role->token_file ? " by web identity" : "", role->who);
    f->asked = true;
    BKT_PASS(find_target(role, &t, err));
    BKT_PASS(question(role, &body, err));
    if (!role->token_file)
        BKT_PASS(sign(role, &t, &body, &h, err));
    const char *const headers[] = {
        "Content-Type: application/x-www-form-urlencoded", h.date.len ? bkt_buf_str(&h.date) : NULL,
        h.date.len ? bkt_buf_str(&h.authorization) : NULL, h.token.len ? bkt_buf_str(&h.token) : NULL, NULL};
    BKT_TRY(err,
            bkt_cred_http(f->place,
                          &(struct bkt_cred_http){.method = "POST",
                                                  .url = t.url,
                                                  .headers = headers,
                                                  .body = bkt_buf_str(&body),
                                                  /* STS may be far away; AWS has no such limit */
                                                  .timeout_ms = 10000,
                                                  /* two SYNs, sent after 0 and 1 s */
                                                  .connect_ms = 3000,
                                                  .tries = 3},
                          &status, &reply, err),
            "%.250s", source);
    return status == 200 ? bkt_creds_from_sts(reply.ptr, reply.len, source, out, err)
                         : refused(status, &reply, &t, source, err);
}
