/* Blocking requests to credential servers: small, with short timeouts, separate from the store's
 * connections. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include <arpa/inet.h>
#include <curl/curl.h>

#include "storage/aws/cred/cred_impl.h"
#include "storage/http/engine.h"
#include "storage/stats.h"
#include "base/trace.h"
#include "base/url.h"

#define MAX_ANSWER (1U << 20) /* bytes; credentials take a few KiB */

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
    if (atomic_load(&x->place->cancel))
        BKT_FAIL(err, BKT_ECANCEL, "%s %.200s: cancelled", req->method, url);
    if (x->rc == BKT_EFORMAT)
        BKT_FAIL(err, BKT_EFORMAT, "%s %.200s: the answer is longer than %u bytes", req->method, url,
                 MAX_ANSWER);
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
    if (!e)
        BKT_NOMEM(err);
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
static void wait_ms(const struct bkt_cred_place *pl, unsigned ms)
{
    const struct timespec step = {0, 20000000}; /* 20 ms: the caller that closes the last store waits no
                                                   longer than that */
    for (unsigned t = 0; t < ms && !atomic_load(&pl->cancel); t += 20)
        (void)nanosleep(&step, NULL);
}

int bkt_cred_http(const struct bkt_cred_place *pl, const struct bkt_cred_http *req, long *status,
                  struct bkt_buf *body, struct bkt_err *err)
{
    int rc = BKT_ENET;
    bkt_engine_curl_init();
    for (unsigned i = 0; i == 0 || i < req->tries; i++) {
        struct bkt_err last = {0};
        if (i)
            wait_ms(pl, 100U << (i < 5 ? i : 5)); /* ms; the usual three tries wait 0.6 s in all */
        bkt_secret_fini(body);
        rc = once(pl, req, status, body, &last);
        bool again =
            rc == BKT_ENET || rc == BKT_ETIME || (rc == BKT_OK && (*status == 429 || *status >= 500));
        if (!again || i + 1 >= req->tries)
            return bkt_err_copy(err, rc, &last);
    }
    return rc;
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
