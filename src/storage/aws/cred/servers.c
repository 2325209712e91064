/* Blocking requests to credential servers: small, with short timeouts, separate from the store's
 * connections. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include <arpa/inet.h>
#include <curl/curl.h>

#include "base/os/clock.h"
#include "base/random.h"
#include "base/text/utf8.h"
#include "base/trace.h"
#include "base/url.h"
#include "storage/aws/cred/cred_impl.h"
#include "storage/http/engine.h"
#include "storage/http/retry_policy.h"
#include "storage/stats.h"

#define MAX_ANSWER (1U << 20) /* bytes; credentials take a few KiB */
#define BACKOFF_MS 400        /* the first wait is half of it on average: a service that starts gets time */

struct exchange {
    const struct bkt_cred_place *place;
    struct bkt_buf *body;
    int rc;
    CURL *easy;
    struct bkt_whole whole;
};

static size_t on_header(char *p, size_t one, size_t n, void *arg)
{
    struct exchange *x = arg;
    bkt_whole_line(&x->whole, x->easy, p, one * n);
    return one * n;
}

static size_t on_data(char *p, size_t one, size_t n, void *arg)
{
    struct exchange *x = arg;
    n *= one; /* libcurl: one is 1 */
    if (x->body->len + n > MAX_ANSWER)
        x->rc = BKT_EFORMAT;
    else
        x->rc = bkt_secret_add(x->body, p, n);
    return x->rc < 0 ? 0 : n;
}

static int on_progress(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const struct exchange *x = arg;
    (void)a, (void)b, (void)c, (void)d;
    return atomic_load(&x->place->cancel);
}

static bool add_headers(CURL *e, const struct bkt_cred_http *req, struct curl_slist **list)
{
    static const char *const ours[] = {"Expect:", "Accept:", NULL};
    const char *const *sets[] = {ours, req->headers};
    for (size_t s = 0; s < BKT_COUNT(sets); s++)
        for (const char *const *h = sets[s]; h && *h; h++) {
            struct curl_slist *l = curl_slist_append(*list, *h);
            if (!l)
                return false;
            *list = l;
        }
    return curl_easy_setopt(e, CURLOPT_HTTPHEADER, *list) == CURLE_OK;
}

static bool set_up(CURL *e, const struct bkt_cred_http *req, struct exchange *x)
{
    bool ok = bkt_engine_usual_options(e, req->url, x->place->ca_bundle);
    ok &= curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, req->method) == CURLE_OK;
    ok &= curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK;
    ok &= curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, (long)req->timeout_ms) == CURLE_OK;
    ok &= curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)req->connect_ms) == CURLE_OK;
    ok &= curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header) == CURLE_OK;
    ok &= curl_easy_setopt(e, CURLOPT_HEADERDATA, x) == CURLE_OK;
    ok &= curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_data) == CURLE_OK;
    ok &= curl_easy_setopt(e, CURLOPT_WRITEDATA, x) == CURLE_OK;
    ok &= curl_easy_setopt(e, CURLOPT_NOPROGRESS, 0L) == CURLE_OK;
    ok &= curl_easy_setopt(e, CURLOPT_XFERINFOFUNCTION, on_progress) == CURLE_OK;
    ok &= curl_easy_setopt(e, CURLOPT_XFERINFODATA, x) == CURLE_OK;
    ok &= curl_easy_setopt(e, CURLOPT_FORBID_REUSE, 1L) == CURLE_OK;
    if (req->direct)
        ok &= curl_easy_setopt(e, CURLOPT_NOPROXY, "*") == CURLE_OK;
    if (req->body) {
        ok &= curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE, (long)strlen(req->body)) == CURLE_OK;
        ok &= curl_easy_setopt(e, CURLOPT_POSTFIELDS, req->body) == CURLE_OK;
    }
    return ok;
}

static int judge(CURLcode cc, const struct exchange *x, const struct bkt_cred_http *req, const char *why,
                 struct bkt_err *err)
{
    const char *url = BKT_SHOWN(req->url);
    const char *missing = cc == CURLE_OK ? bkt_whole_missing(&x->whole) : NULL;
    if (missing)
        why = missing;
    else if (cc == CURLE_OK)
        return BKT_OK;
    BKT_FAIL_IF(err, atomic_load(&x->place->cancel), BKT_ECANCEL, "%s %.200s: cancelled", req->method, url);
    BKT_FAIL_IF(err, x->rc == BKT_EFORMAT, BKT_EFORMAT, "%s %.200s: the answer is longer than %u bytes",
                req->method, url, MAX_ANSWER);
    if (x->rc == BKT_ENOMEM || cc == CURLE_OUT_OF_MEMORY)
        BKT_NOMEM(err);
    int code = cc == CURLE_OPERATION_TIMEDOUT                                  ? BKT_ETIME
               : cc == CURLE_URL_MALFORMAT || cc == CURLE_UNSUPPORTED_PROTOCOL ? BKT_EINVAL
                                                                               : BKT_ENET;
    BKT_FAIL(err, code, "%s %.200s: %.120s", req->method, url, *why ? why : curl_easy_strerror(cc));
}

static int once(const struct bkt_cred_place *pl, const struct bkt_cred_http *req, long *status,
                struct bkt_buf *body, struct bkt_err *err)
{
    struct exchange x = {.place = pl, .body = body};
    struct curl_slist *headers = NULL;
    char why[CURL_ERROR_SIZE];
    CURL *e = x.easy = curl_easy_init();
    why[0] = 0;
    BKT_NEED(err, e);
    (void)curl_easy_setopt(e, CURLOPT_ERRORBUFFER, why);
    CURLcode cc = CURLE_OUT_OF_MEMORY;
    if (set_up(e, req, &x) && add_headers(e, req, &headers)) {
        bkt_stats_add(BKT_STAT(cred_requests), 1);
        cc = curl_easy_perform(e);
    }
    *status = 0;
    (void)curl_easy_getinfo(e, CURLINFO_RESPONSE_CODE, status);
    bkt_trace(BKT_TRACE_CRED, "%s %s: HTTP %ld%s%s", req->method, BKT_SHOWN(req->url), *status,
              cc == CURLE_OK ? "" : ", ", cc == CURLE_OK ? "" : curl_easy_strerror(cc));
    int rc = judge(cc, &x, req, why, err);
    bkt_whole_fini(&x.whole);
    curl_easy_cleanup(e);
    for (struct curl_slist *h = headers; h; h = h->next) /* headers can contain tokens */
        explicit_bzero(h->data, strlen(h->data));
    curl_slist_free_all(headers);
    return rc;
}

/* Wait, unless or until the fetch is cancelled. */
static void wait_ms(const struct bkt_cred_place *pl, uint64_t ms)
{
    const struct timespec step = {0, 20000000}; /* 20 ms: the caller that closes the last store waits no
                                                   longer than that */
    for (uint64_t t = 0; t < ms && !atomic_load(&pl->cancel); t += 20)
        (void)nanosleep(&step, NULL);
}

static enum bkt_retry_class class_of(int rc, long status)
{
    if (rc != BKT_OK && rc != BKT_ENET && rc != BKT_ETIME)
        return BKT_RETRY_NO;
    return bkt_retry_classify(rc == BKT_OK ? BKT_WIRE_OK : BKT_WIRE_RESET, status);
}

int bkt_cred_http(const struct bkt_cred_place *pl, const struct bkt_cred_http *req, long *status,
                  struct bkt_buf *body, struct bkt_err *err)
{
    const struct bkt_retry_policy policy = {.retries = req->tries ? req->tries - 1 : 0,
                                            .backoff_ms = BACKOFF_MS,
                                            .deadline_ms = UINT64_MAX}; /* each try has a limit of its own */
    struct bkt_retry retry = {.started_ms = bkt_ms_now()};
    bkt_engine_curl_init();
    for (;;) {
        struct bkt_err last = {0};
        uint64_t wait;
        bkt_secret_fini(body);
        int rc = once(pl, req, status, body, &last);
        if (!bkt_retry_next(&policy, &retry, class_of(rc, *status), 0, bkt_ms_now(), bkt_random(), &wait))
            return bkt_err_copy(err, rc, &last);
        wait_ms(pl, wait);
    }
}

/* ---- which hosts may be asked without TLS ---- */

static bool is_near(const char *host)
{
    static const char *const containers[] = {"169.254.170.2", "169.254.170.23"}; /* ECS, EKS */
    struct in_addr v4;
    struct in6_addr v6, eks6;
    char text[80];
    if (strcasecmp(host, "localhost") == 0)
        return true;
    for (size_t i = 0; i < BKT_COUNT(containers); i++)
        if (strcmp(host, containers[i]) == 0)
            return true;
    if (inet_pton(AF_INET, host, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    size_t n = strlen(host); /* "[::1]" */
    if (n < 3 || n >= sizeof text || host[0] != '[' || host[n - 1] != ']')
        return false;
    memcpy(text, host + 1, n - 2);
    text[n - 2] = 0;
    if (inet_pton(AF_INET6, text, &v6) != 1)
        return false;
    return IN6_IS_ADDR_LOOPBACK(&v6) ||
           (inet_pton(AF_INET6, "fd00:ec2::23", &eks6) == 1 && memcmp(&v6, &eks6, sizeof v6) == 0);
}

/* libcurl parses the URL here as it does for connecting, so both use one host. */
bool bkt_cred_full_uri_ok(const char *url)
{
    char *scheme = NULL, *host = NULL;
    CURLU *u = curl_url();
    bool ok = u && curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
              curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
              curl_url_get(u, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
              (strcmp(scheme, "https") == 0 || (strcmp(scheme, "http") == 0 && is_near(host)));
    curl_free(scheme);
    curl_free(host);
    curl_url_cleanup(u);
    return ok;
}

/* ---- the machine's own servers ----
 *
 * ECS/EKS container endpoints and EC2's instance metadata service.  Source: "Container credential provider"
 * and "IMDS credential provider" in AWS's SDK guide.  Only IMDSv2 is used: version 1 answers any program that
 * can make the machine send a GET. */

#define ECS_HOST   "http://169.254.170.2"
#define IMDS_HOST  "http://169.254.169.254"
#define IMDS_HOST6 "http://[fd00:ec2::254]"
#define ROLES      "/latest/meta-data/iam/security-credentials/"
#define TTL        "X-aws-ec2-metadata-token-ttl-seconds: 21600" /* the longest that EC2 grants */

static void cut_line(struct bkt_buf *b)
{
    bkt_buf_cut(b, strcspn(bkt_buf_str(b), "\r\n"));
}

/* ---- containers ---- */

static int container_url(struct bkt_cred_fetch *f, struct bkt_buf *url, struct bkt_err *err)
{
    char *const *env = f->place->env;
    const char *relative = env[BKT_VAR_AWS_CONTAINER_CREDENTIALS_RELATIVE_URI];
    const char *full = env[BKT_VAR_AWS_CONTAINER_CREDENTIALS_FULL_URI];
    if (!relative && !full) {
        BKT_PASS(bkt_cred_looked(f, "container endpoint (no AWS_CONTAINER_CREDENTIALS_*_URI)"));
        return BKT_ENOENT;
    }
    if (relative && relative[0] != '/') /* "http://169.254.170.2" + "@evil" would be another host */
        BKT_FAIL(err, BKT_EINVAL, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI does not begin with '/'");
    BKT_FAIL_IF(err, !relative && !bkt_cred_full_uri_ok(full), BKT_EINVAL,
                "AWS_CONTAINER_CREDENTIALS_FULL_URI: only https, or http to a loopback or container host "
                "address");
    BKT_PASS_MEM(err, bkt_buf_addf(url, "%s%s", relative ? ECS_HOST : "", relative ? relative : full));
    return BKT_OK;
}

/* Read the token.  Its file is read each time: EKS renews it. */
static int container_token(struct bkt_cred_fetch *f, struct bkt_buf *header, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_secret_fini) struct bkt_buf text = {0};
    const char *file = f->place->env[BKT_VAR_AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE];
    const char *token = f->place->env[BKT_VAR_AWS_CONTAINER_AUTHORIZATION_TOKEN];
    if (file) {
        int rc = bkt_cred_read_file(file, &text, err);
        BKT_FAIL_IF(err, rc == BKT_ENOENT, BKT_EACCES,
                    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: no file %.200s", file);
        BKT_PASS(rc);
        while (text.len && strchr("\r\n", text.ptr[text.len - 1]))
            bkt_buf_cut(&text, text.len - 1);
        token = bkt_buf_str(&text);
    }
    if (!token || !*token)
        return BKT_OK;
    BKT_FAIL_IF(err, strpbrk(token, "\r\n"), BKT_EINVAL,
                "the container authorization token has line breaks in it");
    BKT_PASS_MEM(err, bkt_secret_addf(header, "Authorization: %s", token));
    return BKT_OK;
}

int bkt_cred_from_container(struct bkt_cred_fetch *f, struct bkt_creds **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf url = {0};
    BKT_CLEANUP(bkt_secret_fini) struct bkt_buf body = {0}, header = {0};
    char source[260], said[120];
    long status;
    BKT_PASS(container_url(f, &url, err));
    f->asked = true;
    BKT_PASS(container_token(f, &header, err));
    const char *const headers[] = {header.len ? bkt_buf_str(&header) : NULL, NULL};
    (void)snprintf(source, sizeof source, "container endpoint %s", BKT_SHOWN(bkt_buf_str(&url)));
    BKT_TRY(err,
            bkt_cred_http(f->place,
                          &(struct bkt_cred_http){.method = "GET",
                                                  .url = bkt_buf_str(&url),
                                                  .headers = headers,
                                                  .timeout_ms = 2000, /* as in botocore: 2 s, three times */
                                                  .connect_ms = 1000,
                                                  .tries = 3,
                                                  .direct = true},
                          &status, &body, err),
            "no credentials from the container endpoint");
    if (status != 200) {
        bkt_one_line(said, sizeof said, body.ptr, body.len);
        BKT_FAIL(err, status >= 500 ? BKT_ENET : BKT_EACCES, "%.200s: HTTP %ld %s", source, status, said);
    }
    return bkt_creds_from_json(body.ptr, body.len, "Token", source, out, err);
}

/* ---- EC2 ---- */

struct imds {
    struct bkt_cred_fetch *f;
    struct bkt_buf base, token; /* "http://…"; the header sent with each request */
    unsigned timeout_ms, tries;
};

static void imds_fini(struct imds *m)
{
    bkt_buf_fini(&m->base);
    bkt_secret_fini(&m->token);
}

static const char *choice(const struct bkt_cred_fetch *f, enum bkt_cred_var var, const char *key)
{
    const char *v = f->place->env[var];
    return v ? v : bkt_aws_config_profile(&f->config, f->place->profile, key);
}

/* 1: no number, or 0. */
static unsigned number(const char *text, unsigned most)
{
    char *end;
    unsigned long v = text ? strtoul(text, &end, 10) : 0;
    return v == 0 ? 1 : v > most ? most : (unsigned)v;
}

static int imds_init(struct imds *m, struct bkt_err *err)
{
    const struct bkt_cred_fetch *f = m->f;
    const char *url = choice(f, BKT_VAR_AWS_EC2_METADATA_SERVICE_ENDPOINT, "ec2_metadata_service_endpoint");
    const char *mode =
        choice(f, BKT_VAR_AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE, "ec2_metadata_service_endpoint_mode");
    m->timeout_ms = /* by default one try of one second, as in the AWS CLI */
        1000 * number(choice(f, BKT_VAR_AWS_METADATA_SERVICE_TIMEOUT, "metadata_service_timeout"), 60);
    m->tries =
        number(choice(f, BKT_VAR_AWS_METADATA_SERVICE_NUM_ATTEMPTS, "metadata_service_num_attempts"), 3);
    if (!url)
        url = mode && strcasecmp(mode, "ipv6") == 0 ? IMDS_HOST6 : IMDS_HOST;
    size_t n = strlen(url);
    while (n && url[n - 1] == '/')
        n--;
    BKT_PASS_MEM(err, bkt_buf_add(&m->base, url, n));
    return BKT_OK;
}

static int imds_ask(struct imds *m, const char *method, const char *path, const char *header, long *status,
                    struct bkt_buf *body, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf url = {0};
    const char *const headers[] = {header, NULL};
    BKT_PASS_MEM(err, bkt_buf_addf(&url, "%s%s", bkt_buf_str(&m->base), path));
    return bkt_cred_http(m->f->place,
                         &(struct bkt_cred_http){.method = method,
                                                 .url = bkt_buf_str(&url),
                                                 .headers = headers,
                                                 .timeout_ms = m->timeout_ms,
                                                 .connect_ms = m->timeout_ms,
                                                 .tries = m->tries,
                                                 .direct = true},
                         status, body, err);
}

/* Get a token.  Without an answer, this is not an EC2 machine. */
static int imds_token(struct imds *m, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_secret_fini) struct bkt_buf body = {0};
    struct bkt_err own = {0};
    long status = 0;
    int rc = imds_ask(m, "PUT", "/latest/api/token", TTL, &status, &body, &own);
    if (rc == BKT_ENET || rc == BKT_ETIME || (rc == BKT_OK && status != 200)) {
        if (rc == BKT_OK)
            BKT_PASS(bkt_cred_looked(m->f, "EC2 metadata at %.60s (HTTP %ld, no token)",
                                     BKT_SHOWN(bkt_buf_str(&m->base)), status));
        else
            BKT_PASS(
                bkt_cred_looked(m->f, "EC2 metadata at %.60s (no answer)", BKT_SHOWN(bkt_buf_str(&m->base))));
        return BKT_ENOENT;
    }
    if (rc < 0)
        return bkt_err_copy(err, rc, &own);
    BKT_FAIL_IF(err, !body.len || body.len > 4096 || strcspn(bkt_buf_str(&body), "\r\n") != body.len,
                BKT_EFORMAT, "EC2 instance metadata at %.100s: the token is empty or malformed",
                BKT_SHOWN(bkt_buf_str(&m->base)));
    BKT_PASS_MEM(err, bkt_secret_addf(&m->token, "X-aws-ec2-metadata-token: %s", bkt_buf_str(&body)));
    return BKT_OK;
}

static int imds_get(struct imds *m, const char *path, long *status, struct bkt_buf *body, struct bkt_err *err)
{
    BKT_PASS(imds_ask(m, "GET", path, bkt_buf_str(&m->token), status, body, err));
    if (*status == 200 || *status == 404)
        return BKT_OK;
    BKT_FAIL(err, *status >= 500 ? BKT_ENET : BKT_EACCES, "EC2 instance metadata %.60s%.100s: HTTP %ld",
             BKT_SHOWN(bkt_buf_str(&m->base)), path, *status);
}

static bool is_role_name(const char *s)
{
    size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+=,.@_-");
    return n > 0 && n <= 128 && s[n] == 0;
}

static int imds_role(struct imds *m, struct bkt_buf *role, struct bkt_err *err)
{
    long status;
    BKT_PASS(imds_get(m, ROLES, &status, role, err));
    cut_line(role);
    if (status == 404 || !role->len) {
        BKT_PASS(bkt_cred_looked(m->f, "EC2 metadata (no role is attached)"));
        return BKT_ENOENT;
    }
    BKT_FAIL_IF(err, !is_role_name(bkt_buf_str(role)), BKT_EFORMAT,
                "EC2 instance metadata at %.100s: the answer is not a role name",
                BKT_SHOWN(bkt_buf_str(&m->base)));
    return BKT_OK;
}

int bkt_cred_from_imds(struct bkt_cred_fetch *f, struct bkt_creds **out, struct bkt_err *err)
{
    BKT_CLEANUP(imds_fini) struct imds m = {.f = f};
    BKT_CLEANUP(bkt_secret_fini) struct bkt_buf role = {0}, body = {0};
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf path = {0};
    char source[200];
    long status;
    const char *off = f->place->env[BKT_VAR_AWS_EC2_METADATA_DISABLED];
    if (off && strcasecmp(off, "true") == 0) {
        BKT_PASS(bkt_cred_looked(f, "EC2 metadata (AWS_EC2_METADATA_DISABLED)"));
        return BKT_ENOENT;
    }
    f->asked = true;
    BKT_PASS(imds_init(&m, err));
    BKT_PASS(imds_token(&m, err));
    BKT_PASS(imds_role(&m, &role, err));
    BKT_PASS_MEM(err, bkt_buf_addf(&path, ROLES "%s", bkt_buf_str(&role)));
    (void)snprintf(source, sizeof source, "EC2 instance metadata (IMDSv2), role %.130s", bkt_buf_str(&role));
    BKT_PASS(imds_get(&m, bkt_buf_str(&path), &status, &body, err));
    BKT_FAIL_IF(err, status != 200, BKT_EACCES, "%s: HTTP %ld", source, status);
    return bkt_creds_from_json(body.ptr, body.len, "Token", source, out, err);
}
