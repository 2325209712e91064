/* Messages of attempts that failed: object, problem, remedy. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "storage/http/request.h"

static const char *const endings[] = {
    [BKT_WIRE_OK] = "",
    [BKT_WIRE_STOPPED] = "stopped",
    [BKT_WIRE_RESET] = "connection broken",
    [BKT_WIRE_SHORT] = "answer cut short",
    [BKT_WIRE_STALL] = "transfer stalled",
    [BKT_WIRE_SLOW] = "transfer slow",
    [BKT_WIRE_CANCEL] = "cancelled",
    [BKT_WIRE_CONNECT] = "cannot connect",
    [BKT_WIRE_CROWDED] = "cannot connect",
    [BKT_WIRE_DEADLINE] = "deadline passed",
    [BKT_WIRE_FATAL] = "transfer failed",
};

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
        op->retry.tries < op->http->policy.retries && bkt_http_class(op, wire, op->x.status) == BKT_RETRY_YES;
    /* more: only the time is over */
    if (more || bkt_http_spent_ms(op) >= bkt_retry_time(&op->http->policy, &op->retry))
        code = BKT_ETIME;
    /* if a request never began, the network is not the reason */
    const char *tip = op->retry.started_ms ? advice(wire, op->x.tls_failed, op->http->base.uri) : "";
    char        server[120];
    server_of(op, server, sizeof server);
    return BKT_REQ_FAIL(op->req, code, "%s %s/%.150s%s%s: %s (%.140s), after %u retries in %" PRIu64 " ms%s",
                        op->x.method, op->http->base.uri, op->req->key, *server ? " at " : "", server,
                        endings[wire], why, op->retry.tries, bkt_http_spent_ms(op), tip);
}
