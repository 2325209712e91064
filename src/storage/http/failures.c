/* Attempts that failed: whether the request is repeated (retry_policy.h), and messages: object, problem,
 * remedy. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "storage/http/request.h"

/* ---- policy ---- */

#define FEW         2     /* retries of class BKT_RETRY_FEW: a dead server should be reported soon */
#define BACKOFF_MAX 10000 /* ms */

/* Statuses that S3's clients retry: timeout, too many requests, and server errors. */
static const long statuses[] = {408, 429, 500, 502, 503, 504};

static const struct {
    const char          *what;
    enum bkt_retry_class class;
} wires[] = {
    [BKT_WIRE_OK] = {"", BKT_RETRY_NO},
    [BKT_WIRE_STOPPED] = {"stopped", BKT_RETRY_NO},
    [BKT_WIRE_RESET] = {"connection broken", BKT_RETRY_YES},
    [BKT_WIRE_SHORT] = {"answer cut short", BKT_RETRY_YES},
    [BKT_WIRE_STALL] = {"transfer stalled", BKT_RETRY_YES},
    [BKT_WIRE_SLOW] = {"transfer slow", BKT_RETRY_YES},
    [BKT_WIRE_CANCEL] = {"cancelled", BKT_RETRY_NO},
    [BKT_WIRE_CONNECT] = {"cannot connect", BKT_RETRY_FEW},
    [BKT_WIRE_CROWDED] = {"cannot connect", BKT_RETRY_YES},
    [BKT_WIRE_DEADLINE] = {"deadline passed", BKT_RETRY_NO},
    [BKT_WIRE_FATAL] = {"transfer failed", BKT_RETRY_NO},
};

enum bkt_retry_class bkt_retry_classify(enum bkt_wire wire, long status)
{
    if (wire != BKT_WIRE_OK && wire != BKT_WIRE_STOPPED)
        return wires[wire].class;
    for (size_t i = 0; i < BKT_COUNT(statuses); i++)
        if (statuses[i] == status)
            return BKT_RETRY_YES;
    return BKT_RETRY_NO;
}

uint64_t bkt_retry_time(const struct bkt_retry_policy *p, const struct bkt_retry *r)
{
    return p->deadline_ms + bkt_retry_allowance(r->moved);
}

bool bkt_retry_next(const struct bkt_retry_policy *p, struct bkt_retry *r, enum bkt_retry_class class,
                    uint64_t retry_after_ms, uint64_t now_ms, uint64_t rnd, uint64_t *wait_ms)
{
    if (class == BKT_RETRY_NO || r->tries >= p->retries || (class == BKT_RETRY_FEW && r->few >= FEW))
        return false;
    /* full jitter: a random wait up to the doubled step, so that clients that failed together do not return
     * together */
    unsigned shift = r->tries < 20 ? r->tries : 20;
    uint64_t cap   = bkt_min_u64(p->backoff_ms << shift, BACKOFF_MAX);
    uint64_t wait  = bkt_max_u64(cap ? rnd % (cap + 1) : 0, retry_after_ms);
    uint64_t spent = now_ms - r->started_ms, limit = bkt_retry_time(p, r);
    if (spent >= limit || wait >= limit - spent)
        return false;
    r->tries++;
    r->few += class == BKT_RETRY_FEW;
    *wait_ms = wait;
    return true;
}

/* ---- messages ---- */

/* The server of the attempt, if the store's name does not contain it; else "". */
static void server_of(const struct bkt_http_op *op, char *to, size_t room)
{
    const char *url = bkt_buf_str(&op->url), *uri = op->http->base.uri, *host = strstr(url, "://");
    *to = 0;
    if (!host)
        return;
    size_t scheme = (size_t)(host - url), n = scheme + 3 + strcspn(host + 3, "/?");
    if (strncmp(url, uri, n) != 0 && !memchr(url, '@', n)) /* without user and password */
        (void)snprintf(to, room, "%.*s", (int)n, url);
}

int bkt_http_say(struct bkt_http_op *op, int code, const char *code_text, const char *message,
                 const char *hint)
{
    const struct bkt_http_reply *r = &op->reply;
    char                         tries[64] = "";
    if (op->retry.tries)
        (void)snprintf(tries, sizeof tries, "; given up after %u retries", op->retry.tries);
    bool text = code_text && *code_text, msg = message && *message, tip = hint && *hint;
    char server[120] = "";
    if (strncmp(op->http->base.uri, "http", 4) == 0)
        server_of(op, server, sizeof server);
    return BKT_REQ_FAIL(op->req, code, "%s %s/%.150s%s%s: HTTP %ld%s%.60s%s%.200s%s%s%.80s%s%s%.200s",
                        op->x.method, op->http->base.uri, op->req->key, *server ? " at " : "", server,
                        op->x.status, text ? " " : "", text ? code_text : "", msg ? " (" : "",
                        msg ? message : "", msg ? ")" : "", r->request_id[0] ? ", request id " : "",
                        r->request_id, tries, tip ? "; " : "", tip ? hint : "");
}

/* The variables that libcurl reads, as curl does; HTTP_PROXY does not count. */
static bool has_proxy(void)
{
    static const char *const names[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};
    for (size_t i = 0; i < BKT_COUNT(names); i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return true;
    }
    return false;
}

static const char *advice(enum bkt_wire wire, bool tls, const char *uri)
{
    bool s3 = strncmp(uri, "s3://", 5) == 0;
    if (tls)
        return s3 ? "; check that the endpoint speaks https, and that ca_bundle (AWS_CA_BUNDLE) has the CA "
                    "that "
                    "signed its certificate"
                  : "; check that the server speaks https, and that ca_bundle (CURL_CA_BUNDLE) has the CA "
                    "that "
                    "signed its certificate";
    if (wire == BKT_WIRE_CONNECT || wire == BKT_WIRE_CROWDED || wire == BKT_WIRE_FATAL)
        return has_proxy() ? "; check address or endpoint (AWS_ENDPOINT_URL), the network, and the proxy "
                             "(http_proxy, no_proxy)"
               : s3        ? "; check setting endpoint (AWS_ENDPOINT_URL) and the network"
                           : "; check the address and the network";
    if (wire == BKT_WIRE_STALL)
        return "; a sixth of setting deadline_ms limits the wait for a byte";
    return "";
}

int bkt_http_wire_failure(struct bkt_http_op *op, enum bkt_wire wire)
{
    int         code = wire == BKT_WIRE_DEADLINE ? BKT_ETIME : BKT_ENET;
    const char *why  = op->refused.code ? op->refused.text : op->x.why;
    bool more =
        op->retry.tries < op->http->policy.retries && bkt_retry_classify(wire, op->x.status) == BKT_RETRY_YES;
    /* more: only the time is over */
    if (more || bkt_http_spent_ms(op) >= bkt_retry_time(&op->http->policy, &op->retry))
        code = BKT_ETIME;
    /* if a request never began, the network is not the reason */
    const char *tip = op->retry.started_ms ? advice(wire, op->x.tls_failed, op->http->base.uri) : "";
    char        server[120];
    server_of(op, server, sizeof server);
    return BKT_REQ_FAIL(op->req, code, "%s %s/%.150s%s%s: %s (%.140s), after %u retries in %" PRIu64 " ms%s",
                        op->x.method, op->http->base.uri, op->req->key, *server ? " at " : "", server,
                        wires[wire].what, why, op->retry.tries, bkt_http_spent_ms(op), tip);
}
