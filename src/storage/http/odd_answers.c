/* Answers that do not have the form that the request requires.  They come from a gateway, a proxy or a cache
 * in between, or from a server of another kind.
 *
 * Such an answer is never used as data.  It does not prove either that an object is missing, or that a change
 * was made.  A request that only reads is sent again.  If that does not help, the failure describes the
 * answer: the status, the request's id, the first bytes.  The result of a request that changes something is
 * unknown, so a HEAD finds it out (put_outcome.c; for a DELETE here).
 *
 * The store defines the form of its answers (bkt_http_ops.misfit).  A plain web server has no such form: its
 * 404 is a page. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "storage/http/request.h"
#include "base/num.h"
#include "base/random.h"
#include "base/trace.h"

static bool is_method(const struct bkt_http_op *op, const char *name)
{
    return strcmp(op->x.method, name) == 0;
}

/* Whether this attempt sent a condition. */
static bool has_condition(const struct bkt_http_op *op)
{
    return !op->put.looking && !op->doubt && (op->got || bkt_http_match(op) || op->if_none_match);
}

static const char *misfit_416(const struct bkt_http_op *op)
{
    const struct bkt_req        *req  = op->req;
    const struct bkt_http_reply *r    = &op->reply;
    bool sent = op->doubt || (req->op == BKT_GET && (req->len != BKT_WHOLE || op->got));
    if (!sent)
        return "the request has no range";
    if (req->op == BKT_GET && r->has_range && !r->bad_range && r->total != UINT64_MAX &&
        r->total > req->off + op->got)
        return "the answer's own Content-Range contains the range";
    return NULL;
}

const char *bkt_http_misfit(struct bkt_http_op *op)
{
    long status = op->x.status;
    bool reads  = is_method(op, "GET") || is_method(op, "HEAD");
    if (op->doubt && status >= 200 && status < 300)
        return "HEAD does not find the object, but GET does";
    if (reads && status >= 201 && status < 300 && status != 206)
        return "not an answer to a read request";
    if (is_method(op, "POST") && status >= 300)
        return NULL; /* judged by the code that sent it */
    if (status == 304 && !(reads && !op->put.looking && op->if_none_match))
        return "not an answer to this request";
    if ((status == 412 || (status == 409 && !reads)) && !has_condition(op))
        return "the request has no condition";
    if (status == 409 && reads)
        return "not an answer to a read request";
    const char *what = status == 416 ? misfit_416(op) : NULL;
    return what || !op->http->ops->misfit ? what : op->http->ops->misfit(op->http, op);
}

/* ---- the failure ---- */

int bkt_http_say_odd(struct bkt_http_op *op, const char *what)
{
    char text[BKT_HTTP_FIRST + 1], message[200];
    for (size_t i = 0; i < op->n_first; i++)
        text[i] = op->first[i] < ' ' || op->first[i] > '~' ? '.' : (char)op->first[i];
    text[op->n_first] = 0;
    (void)snprintf(message, sizeof message, "%.80s%s%s%s", what, *text ? "; it begins with '" : "", text,
                   *text ? "'" : "");
    return bkt_http_say(op, op->x.status >= 400 ? BKT_ENET : BKT_EFORMAT, "", message,
                        "is there a proxy or a gateway in between?");
}

static void ask_as_before(struct bkt_http_op *op)
{
    if (op->doubt)
        op->x.method = "HEAD";
    op->doubt = false;
}

/* Send the request again if @p class allows it.  A server that answers every request with a page keeps doing
 * so: then few tries are enough. */
static bool again(struct bkt_http_op *op, enum bkt_retry_class class)
{
    uint64_t wait = 0;
    if (!bkt_retry_next(&op->http->policy, &op->retry, class, op->x.retry_after_ms, bkt_engine_now(),
                        bkt_random(), &wait))
        return false;
    bkt_http_start_over(op);
    ask_as_before(op);
    (void)bkt_http_send_again(op, wait);
    return true;
}

int bkt_http_odd(struct bkt_http_op *op, const char *what)
{
    bkt_trace(BKT_TRACE_HTTP, "%s %s: HTTP %ld: %s", op->x.method, op->req->key, op->x.status, what);
    return again(op, op->x.status >= 300 ? BKT_RETRY_FEW : BKT_RETRY_YES) ? BKT_HTTP_AGAIN
                                                                          : bkt_http_say_odd(op, what);
}

bool bkt_http_another(struct bkt_http_op *op) { return again(op, BKT_RETRY_FEW); }

bool bkt_http_doubts(struct bkt_http_op *op)
{
    if (op->x.wire != BKT_WIRE_OK || op->x.status != 404 || op->reply.is_s3 || !is_method(op, "HEAD") ||
        !op->http->ops->misfit)
        return false;
    op->doubt    = true;
    op->x.method = "GET";
    (void)bkt_http_send_again(op, 0);
    return true;
}

int bkt_http_end_condition(struct bkt_http_op *op)
{
    struct bkt_req *req = op->req;
    if (op->got && op->x.status != 304) { /* the object changed between two parts: read the new one */
        bkt_http_start_over(op);
        return ++op->detours <= 3
                   ? bkt_http_send_again(op, 0)
                   : BKT_REQ_FAIL(req, BKT_EPRECOND, "GET %s/%.150s: the object keeps changing",
                                  op->http->base.uri, req->key);
    }
    memcpy(req->etag, op->reply.etag, sizeof req->etag);
    if (op->x.status == 304)
        return BKT_REQ_FAIL(req, BKT_ENOTMOD, "%s: not modified", req->key);
    if (op->x.status == 412)
        return BKT_REQ_FAIL(req, BKT_EPRECOND, "%s %s/%.150s: the object %s", op->x.method,
                            op->http->base.uri, req->key, req->if_match ? "has changed" : "exists");
    if (op->reply.has_range && op->reply.total != UINT64_MAX)
        req->size = op->reply.total;
    return BKT_REQ_FAIL(req, BKT_ERANGE, "GET %s/%.150s: bytes from %" PRIu64 " lie past the object's end",
                        op->http->base.uri, req->key, req->off);
}

/* ---- DELETE ---- */

static int look(struct bkt_http_op *op, uint64_t wait)
{
    op->put.looking = true;
    op->doubt       = false;
    op->x.method    = "HEAD";
    return bkt_http_send_again(op, wait);
}

static int delete_again(struct bkt_http_op *op)
{
    if (op->put.failed)
        return op->put.failed;
    op->put.looking = op->doubt = false;
    op->x.method    = "DELETE";
    return bkt_http_send_again(op, 0);
}

/* The object still exists, or another one under its key. */
static int is_there(struct bkt_http_op *op)
{
    const char *match = op->req->if_match;
    if (!match || strcmp(match, "*") == 0 || bkt_etag_same(match, op->reply.etag))
        return delete_again(op);
    bkt_err_clear(op->req->err);
    return BKT_REQ_FAIL(op->req, BKT_EPRECOND, "DELETE %s/%.150s: the object has changed", op->http->base.uri,
                        op->req->key);
}

static int looked(struct bkt_http_op *op)
{
    long        status = op->x.wire == BKT_WIRE_OK ? op->x.status : 0;
    const char *what   = NULL;
    if (bkt_http_doubts(op))
        return BKT_HTTP_AGAIN;
    if (status && !(what = bkt_http_misfit(op)) && status == 404) {
        bkt_err_clear(op->req->err);
        return BKT_OK;
    }
    if (status >= 200 && status < 300 && !what)
        return is_there(op);
    if (what ? again(op, BKT_RETRY_FEW) : bkt_http_retry(op, op->x.wire) == BKT_HTTP_AGAIN)
        return BKT_HTTP_AGAIN;
    if (op->put.failed)
        return op->put.failed;
    if (what)
        return bkt_http_say_odd(op, what);
    int rc = status ? op->http->ops->judge(op->http, op) : bkt_http_wire_failure(op, op->x.wire);
    return rc == BKT_HTTP_AGAIN ? bkt_http_send_again(op, 0) : rc;
}

int bkt_http_delete_judge(struct bkt_http_op *op, const char *what)
{
    uint64_t wait = 0;
    if (op->put.looking)
        return looked(op);
    bkt_trace(BKT_TRACE_HTTP, "DELETE %s: HTTP %ld: %s", op->req->key, op->x.status,
              what ? what : "a conflict");
    if (!bkt_retry_next(&op->http->policy, &op->retry, BKT_RETRY_YES, op->x.retry_after_ms, bkt_engine_now(),
                        bkt_random(), &wait))
        op->put.failed = what ? bkt_http_say_odd(op, what) : op->http->ops->judge(op->http, op);
    return look(op, wait);
}
