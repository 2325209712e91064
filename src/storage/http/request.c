/* See request.h.  Everything except bkt_http_start() runs on I/O threads, for one
 * request on one thread at a time. */
#include "storage/http/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <curl/curl.h>

#include "base/num.h"
#include "base/os/clock.h"
#include "base/random.h"
#include "base/trace.h"
#include "storage/stats.h"

/* Limits against odd servers; S3 does not come near any of them.  DRAIN_MAX bytes arrive sooner than a new
 * connection, which takes a round trip, or two or three with TLS. */
#define MAX_TROUBLE  (64U * 1024)          /* bytes of an error's document; S3's documents have less than 1
                                              KiB */
#define SKIP_MAX     (UINT64_C(16) << 20)  /* bytes read in vain from a server that ignores ranges */
#define DRAIN_MAX    (UINT64_C(256) << 10) /* bytes: up to so many are read to keep the connection */
#define RESERVE_MAX  (UINT64_C(64) << 20)  /* bytes allocated on the server's word alone; more memory follows
                                              with the bytes that arrive */

static bool is_whole(const struct bkt_http_op *op) { return op->req->len == BKT_WHOLE; }
static bool in_body(const struct bkt_req *req) { return !req->dst && !req->sink; }

/* ---- sending ---- */

int bkt_http_header(struct bkt_http_op *op, const char *name, const char *value)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf line = {0};
    BKT_PASS(bkt_buf_addf(&line, "%s: %s", name, value));
    struct curl_slist *l = curl_slist_append(op->x.headers, bkt_buf_str(&line));
    if (!l)
        return BKT_ENOMEM;
    op->x.headers = l;
    return BKT_OK;
}

static int add_range(struct bkt_http_op *op)
{
    const struct bkt_req *req = op->req;
    char                  text[64];
    if (op->doubt)
        return bkt_http_header(op, "Range", "bytes=0-0");
    if (req->op != BKT_GET || op->call.query || (is_whole(op) && !op->got))
        return BKT_OK;
    if (is_whole(op))
        (void)snprintf(text, sizeof text, "bytes=%" PRIu64 "-", op->got);
    else
        (void)snprintf(text, sizeof text, "bytes=%" PRIu64 "-%" PRIu64, req->off + op->got,
                       req->off + req->len - 1);
    return bkt_http_header(op, "Range", text);
}

const char *bkt_http_match(const struct bkt_http_op *op)
{
    bool reads = op->req->op == BKT_GET || op->req->op == BKT_HEAD;
    return reads && op->if_match && strncmp(op->if_match, "W/", 2) == 0 ? NULL : op->if_match;
}

/* S3 takes an ETag of a read without its quotes.  Other servers refuse it, unless their own ETags have no
 * quotes. */
static bool lacks_quotes(const struct bkt_http_op *op)
{
    return (op->req->op == BKT_GET || op->req->op == BKT_HEAD) && !strchr(op->if_match, '"') &&
           strcmp(op->if_match, "*") != 0 && !op->as_given && !atomic_load(&op->http->no_quotes);
}

static int add_conditions(struct bkt_http_op *op)
{
    if (op->got)
        return bkt_http_header(op, "If-Match", op->etag);
    if (op->put.looking || op->doubt)
        return BKT_OK;
    if (bkt_http_match(op)) {
        char        text[BKT_ETAG_MAX + 2];
        size_t      n     = strlen(op->if_match);
        const char *match = op->unquoted ? bkt_etag_bare(op->if_match, &n) : op->if_match;
        op->quoted = lacks_quotes(op);
        const char *quote = op->quoted ? "\"" : "";
        (void)snprintf(text, sizeof text, "%s%.*s%s", quote, (int)n, match, quote);
        if (!n) /* libcurl does not send a header without content, and the condition would be lost */
            (void)snprintf(text, sizeof text, "%s", op->if_match);
        BKT_PASS(bkt_http_header(op, "If-Match", text));
    }
    if (op->if_none_match)
        BKT_PASS(bkt_http_header(op, "If-None-Match", op->if_none_match));
    return BKT_OK;
}

static void drop_headers(struct bkt_http_op *op)
{
    curl_slist_free_all(op->x.headers);
    op->x.headers = NULL;
}

uint64_t bkt_http_spent_ms(const struct bkt_http_op *op)
{
    return op->retry.started_ms ? bkt_ms_now() - op->retry.started_ms : 0;
}

static void report(struct bkt_http *h, struct bkt_req *req, bool own)
{
    if (!own)
        bkt_store_finish(&h->base, req);
    else if (req->batch)
        bkt_req_batch_end_one(req->batch);
    else
        req->done(req);
}

static void finish(struct bkt_http_op *op)
{
    struct bkt_http *h     = op->http;
    struct bkt_req  *req   = op->req;
    bool             own   = op->own;
    if (h->ops->end)
        h->ops->end(h, op);
    drop_headers(op);
    bkt_buf_fini(&op->url);
    bkt_buf_fini(&op->trouble);
    free(op->location);
    free(op->x.redirect);
    free(op);
    report(h, req, own);
}

static bool on_begin(struct bkt_xfer *x)
{
    struct bkt_http_op *op = (struct bkt_http_op *)x;
    struct bkt_http    *h  = op->http;
    if (!op->retry.started_ms)
        op->retry.started_ms = bkt_ms_now(); /* the time before the first connection does not count */
    if (op->req->cancel && atomic_load(op->req->cancel)) {
        (void)BKT_REQ_FAIL(op->req, BKT_ECANCEL, "%s %s: cancelled", x->method, op->req->key);
        finish(op);
        return false;
    }
    uint64_t spent = bkt_http_spent_ms(op);
    if (spent >= bkt_retry_time(&h->policy, &op->retry)) {
        (void)BKT_REQ_FAIL(op->req, BKT_ETIME, "%s %s/%s: not done after %" PRIu64 " ms (deadline_ms)",
                           x->method, h->base.uri, op->req->key, h->policy.deadline_ms);
        finish(op);
        return false;
    }
    op->reply = (struct bkt_http_reply){.length = UINT64_MAX, .total = UINT64_MAX};
    bkt_buf_clear(&op->trouble);
    bkt_buf_clear(&op->url);
    drop_headers(op);
    op->pos        = 0;
    op->n_first    = 0;
    op->body_begun = op->complete = op->odd = false;
    op->refused                   = (struct bkt_refusal){BKT_OK, NULL};
    int rc                        = h->ops->prepare(h, op);
    if (rc == BKT_HTTP_LATER)
        return false;
    /* no "Expect: 100-continue", which costs a round trip; no guessed content type */
    if (rc == BKT_OK &&
        (add_range(op) < 0 || add_conditions(op) < 0 || bkt_http_header(op, "Expect", "") < 0))
        rc = BKT_REQ_FAIL(op->req, BKT_ENOMEM, "%s %s: out of memory", x->method, op->req->key);
    if (rc < 0) {
        op->req->rc = rc;
        finish(op);
        return false;
    }
    x->url        = op->location ? op->location : bkt_buf_str(&op->url);
    x->timeout_ms    = bkt_retry_time(&h->policy, &op->retry) - spent;
    x->first_in_line = false;
    bkt_stats_add(BKT_STAT(attempts), 1);
    return true;
}

/* ---- receiving ---- */

static void on_header(struct bkt_xfer *x, const char *name, const char *value)
{
    bkt_http_reply_header(&((struct bkt_http_op *)x)->reply, name, value);
}

/* Stop the transfer.  Returns @p code. */
static int refuse(struct bkt_http_op *op, int code, const char *text)
{
    op->refused = (struct bkt_refusal){code, text};
    return code;
}

/* A cache in between ignores some ranges.  Then the request is sent again. */
static int no_ranges(struct bkt_http_op *op)
{
    op->odd = atomic_load(&op->http->ranges);
    return refuse(
        op, BKT_EUNSUP,
        op->odd ? "the server ignores ranges now and then"
                : "the server ignores ranges; a server that answers them is needed, or a copy of the file");
}

/* Whether a 200 answers a range, since the object ends in it. */
static bool is_whole_in_range(const struct bkt_http_op *op)
{
    const struct bkt_req *req = op->req;
    return req->off == 0 &&
           (op->reply.length == UINT64_MAX ? req->may_be_short : op->reply.length <= req->len);
}

static int must_range(struct bkt_http_op *op)
{
    if (op->x.status != 200 || !op->http->ops->must_range)
        return BKT_OK;
    if (op->reply.is_page)
        return refuse(op, BKT_EACCES,
                      "the server answers with a web page, not with the file; if it wants a login, set "
                      "one in ~/.netrc or by setting token");
    return is_whole(op) || is_whole_in_range(op) ? BKT_OK : no_ranges(op);
}

static void fits(struct bkt_http_op *op)
{
    if (op->http->ops->fits)
        op->http->ops->fits(op->http, op);
}

static int begin_body(struct bkt_http_op *op)
{
    struct bkt_http_reply *r   = &op->reply;
    struct bkt_req        *req = op->req;
    uint64_t               want = is_whole(op) ? op->got : req->off + op->got;
    BKT_PASS(must_range(op));
    if (op->x.status == 206) {
        op->odd = true;
        if (!r->has_range || r->bad_range)
            return refuse(op, BKT_EFORMAT, "the answer's Content-Range is missing or malformed");
        if (r->first != want || (!is_whole(op) && r->last > req->off + req->len - 1))
            return refuse(op, BKT_EFORMAT, "the answer is for another range than requested");
        if (is_whole(op) && r->total == UINT64_MAX)
            return refuse(op, BKT_EFORMAT, "the answer is a part of an object of unknown size");
        if (r->length != UINT64_MAX && r->length != r->last - r->first + 1)
            return refuse(op, BKT_EFORMAT, "the answer's Content-Length and Content-Range differ");
        op->odd = false;
        op->pos = r->first;
        atomic_store(&op->http->ranges, true);
    } else if (!is_whole(op) && req->off > SKIP_MAX && r->length > DRAIN_MAX) {
        return refuse(op, BKT_EFORMAT, "the server ignores ranges");
    }
    if (op->x.status == 200) { /* a 200 begins at the object's first byte, whatever range was requested */
        op->got = 0;
        if (in_body(req))
            bkt_buf_clear(&req->body);
    }
    fits(op);
    bkt_http_sum_begin(op);
    uint64_t room = is_whole(op) ? (r->length == UINT64_MAX ? 0 : r->length) : req->len;
    if (in_body(req) && is_whole(op) && room > op->http->max_body)
        return refuse(op, BKT_EFORMAT, "the object is larger than 256 MiB and than 4 times meta_cache");
    if (in_body(req) && bkt_buf_reserve(&req->body, (size_t)bkt_min_u64(room, RESERVE_MAX)) < 0)
        return refuse(op, BKT_ENOMEM, "out of memory");
    return BKT_OK;
}

/* Copy body bytes [pos, pos+n) of the object: the part in the requested range goes to its place. */
static int place(struct bkt_http_op *op, const unsigned char *p, size_t n)
{
    struct bkt_req *req = op->req;
    uint64_t        off = is_whole(op) ? 0 : req->off, lo = bkt_max_u64(op->pos, off), hi;
    uint64_t        end = is_whole(op) ? UINT64_MAX : off + req->len;
    if (!bkt_add_u64(op->pos, n, &hi))
        return refuse(op, BKT_EFORMAT, "the answer does not end");
    if (op->x.status == 206 && hi && hi - 1 > op->reply.last) {
        op->odd = true; /* perhaps the whole object, from its first byte on */
        return refuse(op, BKT_EFORMAT, "the answer has more bytes than its Content-Range");
    }
    uint64_t cut = bkt_min_u64(hi, end);
    if (lo < cut) {
        size_t at = (size_t)(lo - off), k = (size_t)(cut - lo);
        if (in_body(req)) {
            if (at + k > op->http->max_body && is_whole(op))
                return refuse(op, BKT_EFORMAT,
                              "the object is larger than 256 MiB and than 4 times meta_cache");
            if (at + k > req->body.len && bkt_buf_resize(&req->body, at + k) < 0)
                return refuse(op, BKT_ENOMEM, "out of memory");
        }
        if (req->sink)
            req->sink(req->sink_arg, at, p + (lo - op->pos), k);
        else
            memcpy((req->dst ? (unsigned char *)req->dst : req->body.ptr) + at, p + (lo - op->pos), k);
        bkt_http_sum_add(op, at, p + (lo - op->pos), k);
        op->got = at + k;
    }
    op->pos = hi;
    if (op->http->ops->must_range && op->x.status == 200)
        return hi > end ? no_ranges(op) : BKT_OK;
    if (hi >= end && op->x.status == 200) {
        op->complete = true;
        if (op->reply.length == UINT64_MAX ||
            op->reply.length - bkt_min_u64(hi, op->reply.length) > DRAIN_MAX)
            return refuse(op, BKT_EFORMAT, "enough");
    }
    return BKT_OK;
}

static bool on_data(struct bkt_xfer *x, const void *p, size_t n)
{
    struct bkt_http_op *op = (struct bkt_http_op *)x;
    bool   ours = op->req->op == BKT_GET && (x->status == 200 || (x->status == 206 && !op->call.query));
    size_t k    = bkt_min_u64(n, sizeof op->first - op->n_first);
    memcpy(op->first + op->n_first, p, k);
    op->n_first += k;
    if (!ours) {
        size_t room = MAX_TROUBLE - bkt_min_u64(MAX_TROUBLE, op->trouble.len);
        /* if this fails, the message has less detail */
        int rc = bkt_buf_add(&op->trouble, p, n < room ? n : room);
        return rc == BKT_OK && (n <= room || op->reply.length < DRAIN_MAX);
    }
    if (!op->body_begun) {
        op->body_begun = true;
        if (begin_body(op) < 0)
            return false;
    }
    return !op->refused.code && place(op, p, n) == BKT_OK;
}

/* With a strong ETag the rest of the same object can be requested. */
static bool can_resume(struct bkt_xfer *x)
{
    const struct bkt_http_op *op   = (const struct bkt_http_op *)x;
    const char               *etag = op->reply.etag;
    return op->req->op == BKT_GET && !op->call.query && op->body_begun && !op->refused.code &&
           !op->complete && etag[0] == '"' && (!op->etag[0] || strcmp(op->etag, etag) == 0) &&
           (x->status == 200 || x->status == 206);
}

/* ---- judging ---- */

static const struct {
    long status;
    int  code;
} codes[] = {
    {304, BKT_ENOTMOD}, {400, BKT_EINVAL},   {401, BKT_EACCES}, {403, BKT_EACCES},   {404, BKT_ENOENT},
    {405, BKT_EUNSUP},  {409, BKT_EPRECOND}, {410, BKT_ENOENT}, {412, BKT_EPRECOND}, {416, BKT_ERANGE},
    {429, BKT_EBUSY},   {501, BKT_EUNSUP},   {503, BKT_EBUSY},
};

int bkt_http_code(long status)
{
    for (size_t i = 0; i < BKT_COUNT(codes); i++)
        if (codes[i].status == status)
            return codes[i].code;
    return status >= 500 ? BKT_ENET : status >= 400 ? BKT_EINVAL : BKT_EUNSUP;
}

void bkt_http_start_over(struct bkt_http_op *op)
{
    op->got     = 0;
    op->etag[0] = 0;
    if (in_body(op->req))
        bkt_buf_clear(&op->req->body);
}

/* Keep the bytes received if the rest of the same object can be requested. */
static void keep_or_start_over(struct bkt_http_op *op)
{
    const char *etag = op->reply.etag;
    bool        same = op->etag[0] == 0 || strcmp(op->etag, etag) == 0 || etag[0] == 0;
    if (op->got && op->body_begun && etag[0] == '"' && same && !op->call.query)
        memcpy(op->etag, etag, sizeof op->etag);
    else if (op->body_begun || !op->etag[0])
        bkt_http_start_over(op);
}

int bkt_http_send_again(struct bkt_http_op *op, uint64_t wait)
{
    op->x.not_before_ms = wait ? bkt_ms_now() + wait : 0;
    bkt_stats_add(BKT_STAT(retries), 1);
    bkt_engine_submit(&op->x);
    return BKT_HTTP_AGAIN;
}

bool bkt_http_may_retry(struct bkt_http_op *op, enum bkt_retry_class class, uint64_t *wait)
{
    return bkt_retry_next(&op->http->policy, &op->retry, class, op->x.retry_after_ms, bkt_ms_now(),
                          bkt_random(), wait);
}

enum bkt_retry_class bkt_http_class(const struct bkt_http_op *op, enum bkt_wire wire, long status)
{
    bool was_there = wire == BKT_WIRE_CONNECT && atomic_load(&op->http->spoke);
    return was_there ? BKT_RETRY_YES : bkt_retry_classify(wire, status);
}

int bkt_http_retry(struct bkt_http_op *op, enum bkt_wire wire)
{
    uint64_t wait;
    keep_or_start_over(op);
    if (!bkt_http_may_retry(op, bkt_http_class(op, wire, op->x.status), &wait))
        return BKT_OK;
    bkt_trace(BKT_TRACE_HTTP, "%s %s: again in %" PRIu64 " ms, %" PRIu64 " bytes kept", op->x.method,
              op->req->key, wait, op->got);
    return bkt_http_send_again(op, wait);
}

static int end_get(struct bkt_http_op *op)
{
    struct bkt_req        *req   = op->req;
    struct bkt_http_reply *r     = &op->reply;
    uint64_t total = op->x.status == 206 ? r->total : r->length != UINT64_MAX ? r->length : op->pos;
    if (op->complete && r->length == UINT64_MAX)
        total = UINT64_MAX; /* this side stopped before the body's end */
    if (op->refused.code && !op->complete)
        return BKT_REQ_FAIL(req, op->refused.code, "%s %s/%.150s: HTTP %ld, %s", op->x.method,
                            op->http->base.uri, req->key, op->x.status, op->refused.text);
    if (op->x.status == 206 && (!op->body_begun || (op->etag[0] && strcmp(op->etag, r->etag) != 0))) {
        bkt_http_start_over(op); /* no body, or the rest of another object */
        return bkt_http_retry(op, BKT_WIRE_SHORT) ? BKT_HTTP_AGAIN
                                                  : bkt_http_wire_failure(op, BKT_WIRE_SHORT);
    }
    if (op->if_match && !op->call.query && !r->etag[0])
        return bkt_http_odd(op, "the answer has no ETag, but the request names one");
    if (op->if_match && !op->call.query && !bkt_etag_same(op->if_match, r->etag)) {
        if (op->http->ops->misfit && bkt_http_another(op)) /* S3 answers 412 in this case */
            return BKT_HTTP_AGAIN;
        return BKT_REQ_FAIL(req, BKT_EPRECOND, "GET %s/%.150s: the object has changed%s", op->http->base.uri,
                            req->key, bkt_http_match(op) ? " (and the server ignores If-Match)" : "");
    }
    memcpy(req->etag, r->etag, sizeof req->etag);
    req->mtime     = r->mtime;
    req->size      = total;
    uint64_t want  = is_whole(op) ? total : req->len;
    if (total != UINT64_MAX && !op->call.query && bkt_req_span(req, total, &want) < 0)
        return req->rc;
    bool broken = op->x.status == 206 && op->pos <= r->last; /* fewer bytes than the answer announced */
    if (op->got < want && (total != UINT64_MAX || broken)) {
        (void)snprintf(op->x.why, sizeof op->x.why, "%" PRIu64 " of %" PRIu64 " bytes arrived", op->got,
                       want);
        return bkt_http_retry(op, BKT_WIRE_SHORT) ? BKT_HTTP_AGAIN
                                                  : bkt_http_wire_failure(op, BKT_WIRE_SHORT);
    }
    if (op->got < want && !is_whole(op) && !req->may_be_short)
        return BKT_REQ_FAIL(req, BKT_EFORMAT, "GET %s/%.150s: %" PRIu64 " of %" PRIu64 " bytes arrived",
                            op->http->base.uri,
                            req->key, op->got, want);
    req->n = op->got;
    return bkt_http_sum_check(op);
}

int bkt_http_take(struct bkt_http_op *op)
{
    struct bkt_req *req = op->req;
    memcpy(req->etag, op->reply.etag, sizeof req->etag);
    req->mtime = op->reply.mtime;
    if (strcmp(op->x.method, "HEAD") == 0)
        req->size = op->reply.length;
    return BKT_OK;
}

static int judge(struct bkt_http_op *op)
{
    enum bkt_wire wire   = op->x.wire;
    long          status = op->x.status;
    op->retry.moved += op->x.moved;
    if (wire == BKT_WIRE_SLOW) {
        keep_or_start_over(op);
        op->x.not_before_ms = 0;
        op->x.first_in_line = true;
        bkt_engine_submit(&op->x);
        return BKT_HTTP_AGAIN;
    }
    if (wire == BKT_WIRE_CANCEL)
        return BKT_REQ_FAIL(op->req, BKT_ECANCEL, "%s %s: cancelled", op->x.method, op->req->key);
    if (op->req->op == BKT_PUT && op->put.id[0])
        return bkt_http_put_judge(op);
    if (op->put.looking)
        return bkt_http_delete_judge(op, NULL);
    if (wire != BKT_WIRE_OK && !(wire == BKT_WIRE_STOPPED && (op->refused.code || status >= 300)))
        return bkt_http_retry(op, wire) ? BKT_HTTP_AGAIN : bkt_http_wire_failure(op, wire);
    if (bkt_http_doubts(op))
        return BKT_HTTP_AGAIN;
    const char *what = op->odd ? op->refused.text : op->refused.code ? NULL : bkt_http_misfit(op);
    bool conflict = status == 409 && wire == BKT_WIRE_OK; /* a conflict with a concurrent request: neither
                                                             done nor refused for good */
    if ((what || conflict) && op->req->op == BKT_DELETE && !op->call.query)
        return bkt_http_delete_judge(op, what);
    if (what)
        return bkt_http_odd(op, what);
    if (!op->refused.code && (status < 300 || status == 304 || status == 412 || status == 416))
        fits(op);
    if (status >= 200 && status < 300)
        return op->req->op == BKT_GET ? end_get(op) : bkt_http_take(op);
    if (status == 304 || status == 412 || status == 416)
        return bkt_http_end_condition(op);
    if (bkt_http_retry(op, wire))
        return BKT_HTTP_AGAIN;
    int rc = op->http->ops->judge(op->http, op);
    /* AWS answers 204 here; elsewhere an earlier try may have deleted the object, and its answer was lost */
    if (rc == BKT_ENOENT && op->req->op == BKT_DELETE && !op->req->if_match) {
        bkt_err_clear(op->req->err);
        return BKT_OK;
    }
    return rc == BKT_HTTP_AGAIN ? bkt_http_send_again(op, 0) : rc;
}

static void on_done(struct bkt_xfer *x)
{
    struct bkt_http_op *op = (struct bkt_http_op *)x;
    if (bkt_trace_on(BKT_TRACE_HTTP))
        bkt_trace(BKT_TRACE_HTTP, "%s %s/%s%s%s: HTTP %ld, %" PRIu64 " bytes in place, try %u%s%s%s%s",
                  x->method, op->http->base.uri, op->req->key, x->net == &op->http->net ? "" : " at ",
                  x->net == &op->http->net ? "" : x->net->origin, x->status, op->got, op->retry.tries + 1,
                  *x->why ? ", " : "", x->why, op->reply.request_id[0] ? ", request id " : "",
                  op->reply.request_id);
    if (x->status > 0)
        atomic_store(&op->http->spoke, true);
    if (op->reply.date)
        atomic_store(&op->http->ahead, (int64_t)op->reply.date - (int64_t)time(NULL));
    if (op->reply.etag[0] && x->status < 300)
        atomic_store(&op->http->no_quotes, !strchr(op->reply.etag, '"'));
    int rc = judge(op);
    if (rc == BKT_HTTP_AGAIN)
        return;
    op->req->rc = rc;
    if (op->call.seen_id)
        memcpy(op->call.seen_id, op->reply.put_id, BKT_PUT_ID);
    finish(op);
}

/* ---- interface ---- */

void bkt_http_give_up(struct bkt_http_op *op, int code, const struct bkt_err *err)
{
    op->req->rc = bkt_err_copy(bkt_req_err(op->req), code, err);
    finish(op);
}

void bkt_http_start(struct bkt_http *h, struct bkt_req *req, const struct bkt_http_call *call)
{
    struct bkt_http_op *op = calloc(1, sizeof *op);
    if (!op) {
        (void)BKT_REQ_FAIL(req, BKT_ENOMEM, "%s %s: out of memory", bkt_op_name(req->op), req->key);
        report(h, req, call != NULL);
        return;
    }
    bool put          = req->op == BKT_PUT;
    op->http          = h;
    op->req           = req;
    op->own           = call != NULL;
    op->if_match      = req->if_match;
    op->if_none_match = req->if_none_match;
    if (call)
        op->call = *call;
    op->x = (struct bkt_xfer){.net = &h->net,
                              .method = op->call.method ? op->call.method : bkt_op_name(req->op),
                              .put = put ? req->put : op->call.body,
                              .put_len = put ? req->put_len : op->call.len,
                              .small = req->small,
                              .cancel = req->cancel,
                              .begin = on_begin,
                              .header = on_header,
                              .data = on_data,
                              .can_resume = can_resume,
                              .done = on_done};
    if (put && !op->own)
        (void)snprintf(op->put.id, sizeof op->put.id, "%016llx", (unsigned long long)bkt_random());
    if (op->call.put_id)
        (void)snprintf(op->put.id, sizeof op->put.id, "%s", op->call.put_id);
    if (op->call.sum)
        (void)snprintf(op->put.sum, sizeof op->put.sum, "%s", op->call.sum);
    if (h->ops->init)
        h->ops->init(h, op);
    if (h->ops->init_change && (op->call.method || (req->op != BKT_GET && req->op != BKT_HEAD)))
        h->ops->init_change(h, op);
    bkt_engine_submit(&op->x);
}

void bkt_http_start_object(struct bkt_store *st, struct bkt_req *req)
{
    bkt_http_start((struct bkt_http *)st, req, NULL);
}

int bkt_http_init(struct bkt_http *h, const struct bkt_store_ops *ops, const struct bkt_http_ops *hops,
                  const char *uri, const char *origin, const struct bkt_settings *set, struct bkt_err *err)
{
    h->ops      = hops;
    h->policy   = (struct bkt_retry_policy){set->retries, set->backoff_ms, set->deadline_ms};
    h->max_body = bkt_min_u64(bkt_settings_max_object(set), SIZE_MAX / 4);
    BKT_PASS(bkt_net_init(&h->net, origin, set, err));
    int rc = bkt_store_init(&h->base, ops, uri, err);
    if (rc < 0)
        bkt_net_fini(&h->net);
    return rc;
}

void bkt_http_facts(struct bkt_store *st, struct bkt_store_facts *out)
{
    (void)snprintf(out->endpoint, sizeof out->endpoint, "%s", ((struct bkt_http *)st)->net.origin);
}

void bkt_http_pace(struct bkt_store *st, double *first_byte_s, double *bytes_per_s)
{
    bkt_net_pace(&((struct bkt_http *)st)->net, first_byte_s, bytes_per_s);
}

int64_t bkt_http_ahead(struct bkt_store *st) { return atomic_load(&((struct bkt_http *)st)->ahead); }
