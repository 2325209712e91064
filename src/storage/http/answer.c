/* Checks of an answer: the facts in its headers, the form that the request requires, and the object's bytes
 * against the sums of the stored ones.
 *
 * Answers without that form come from a gateway, a proxy or a cache in between, or from a server of another
 * kind. Such an answer is never used as data.  It does not prove either that an object is missing, or that a
 * change was made.  A request that only reads is sent again.  If that does not help, the failure describes
 * the answer: the status, the request's id, the first bytes.  The result of a request that changes something
 * is unknown, so a HEAD finds it out (change_outcome.c).  The store defines the form of its answers
 * (bkt_http_ops.misfit).  A plain web server has no such form: its 404 is a page.
 *
 * A PUT stores the CRC-32C of its bytes with the object, as metadata that servers return with each answer. If
 * the answer to a GET has the sum and is the whole object, the bytes are summed while they arrive.  Then they
 * come in order, and are still in the processor's cache.  If the sum is wrong, the bytes in the caller's
 * memory are wrong, too.  Then the request is sent again, and fails if that does not help.  Objects of other
 * writers have no such sum: they cost nothing, and are read as they are. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <curl/curl.h>

#include "base/crc32c.h"
#include "base/trace.h"
#include "storage/http/request.h"

/* ---- headers ---- */

/* Digits only: strtoull() would accept signs and blanks. */
static bool take_number(const char **p, uint64_t *out)
{
    uint64_t v = 0;
    if (**p < '0' || **p > '9')
        return false;
    for (; **p >= '0' && **p <= '9'; ++*p)
        if (__builtin_mul_overflow(v, UINT64_C(10), &v) ||
            __builtin_add_overflow(v, (uint64_t)(**p - '0'), &v))
            return false;
    *out = v;
    return true;
}

bool bkt_http_parse_range(const char *p, uint64_t *first, uint64_t *last, uint64_t *total)
{
    *first = *last = 0;
    *total         = UINT64_MAX;
    if (strncasecmp(p, "bytes ", 6) != 0)
        return false;
    p += 6 + strspn(p + 6, " ");
    bool none = *p == '*';
    if (none)
        p++;
    else if (!take_number(&p, first) || *p++ != '-' || !take_number(&p, last) || *last < *first)
        return false;
    if (*p++ != '/')
        return false;
    if (*p == '*')
        return !none && p[1] == 0;
    return take_number(&p, total) && *p == 0 && (none || *last < *total);
}

static void set_range(struct bkt_http_reply *r, const char *v)
{
    r->has_range = true;
    r->bad_range = !bkt_http_parse_range(v, &r->first, &r->last, &r->total);
}

static void set_length(struct bkt_http_reply *r, const char *v)
{
    const char *p = v;
    if (!take_number(&p, &r->length))
        r->length = UINT64_MAX;
}

static void set_type(struct bkt_http_reply *r, const char *v)
{
    r->is_s3 |= strcasestr(v, "/xml") != NULL;
    r->is_page = strncasecmp(v, "text/html", 9) == 0;
}

/* Some servers send an empty one for each object. */
static void set_etag(struct bkt_http_reply *r, const char *v)
{
    size_t n;
    (void)bkt_etag_bare(v, &n);
    if (n && strlen(v) < sizeof r->etag)
        memcpy(r->etag, v, strlen(v) + 1);
}

static void set_sum(struct bkt_http_reply *r, const char *v) { r->has_sum = bkt_crc32c_parse(v, &r->sum); }

static long seconds(const char *v)
{
    time_t t = curl_getdate(v, NULL);
    return t < 0 ? 0 : (long)t;
}
static void set_mtime(struct bkt_http_reply *r, const char *v) { r->mtime = (double)seconds(v); }
static void set_date(struct bkt_http_reply *r, const char *v) { r->date = seconds(v); }

/* A text is copied if there is room for it. */
#define TEXT(field)                                                                                          \
    .at = offsetof(struct bkt_http_reply, field), .room = sizeof((struct bkt_http_reply *)0)->field
static const struct {
    const char *name;
    size_t      at, room;
    bool        s3; /* a mark of S3 */
    void (*set)(struct bkt_http_reply *r, const char *value);
} headers[] = {
    {"etag", .set = set_etag},
    {"x-amz-bucket-region", TEXT(region)},
    {"x-amz-request-id", TEXT(request_id), .s3 = true},
    {"x-request-id", TEXT(request_id)},
    {"x-amz-id-2", TEXT(request_id2), .s3 = true},
    {"x-guploader-uploadid", .s3 = true},
    {BKT_PUT_ID_HEADER, TEXT(put_id)},
    {BKT_SUM_HEADER, .set = set_sum},
    {"content-length", .set = set_length},
    {"content-range", .set = set_range},
    {"content-type", .set = set_type},
    {"last-modified", .set = set_mtime},
    {"date", .set = set_date},
};

void bkt_http_reply_header(struct bkt_http_reply *r, const char *name, const char *value)
{
    for (size_t i = 0; i < BKT_COUNT(headers); i++) {
        if (strcasecmp(headers[i].name, name) != 0)
            continue;
        r->is_s3 |= headers[i].s3 && (*value || headers[i].room); /* a request id may be empty */
        if (headers[i].set)
            headers[i].set(r, value);
        else if (strlen(value) < headers[i].room)
            memcpy((char *)r + headers[i].at, value, strlen(value) + 1);
    }
}

/* ---- the form ---- */

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
                        "look for a proxy or a gateway in between");
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
    if (!bkt_http_may_retry(op, class, &wait))
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
    if (op->x.status == 412 && op->quoted && !op->as_given) { /* the server's ETags may have no quotes */
        op->as_given = true;
        return bkt_http_send_again(op, 0);
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

/* ---- the sum of the bytes ---- */

void bkt_http_sum_text(const void *p, size_t n, char text[BKT_SUM_TEXT])
{
    (void)snprintf(text, BKT_SUM_TEXT, "%08" PRIx32, bkt_crc32c(0, p, n));
}

/* Whether the answer is the whole object, according to its headers. */
static bool is_all(const struct bkt_http_op *op)
{
    const struct bkt_req        *req = op->req;
    const struct bkt_http_reply *r   = &op->reply;
    uint64_t                     all = op->x.status == 206 ? r->total : r->length;
    return req->op == BKT_GET && !op->call.query &&
           (req->len == BKT_WHOLE || (req->off == 0 && all <= req->len));
}

void bkt_http_sum_begin(struct bkt_http_op *op)
{
    if (op->got) /* the rest of a body: the ETag is that of the first part */
        return;
    op->sum.on   = op->reply.has_sum && is_all(op);
    op->sum.want = op->reply.sum;
    op->sum.have = 0;
    op->sum.n    = 0;
}

void bkt_http_sum_add(struct bkt_http_op *op, uint64_t at, const void *p, size_t n)
{
    if (!op->sum.on || at != op->sum.n)
        return;
    op->sum.have = bkt_crc32c(op->sum.have, p, n);
    op->sum.n += n;
}

int bkt_http_sum_check(struct bkt_http_op *op)
{
    char text[100];
    if (!op->body_begun)
        bkt_http_sum_begin(op);
    if (!op->sum.on || op->sum.n != op->got || op->sum.have == op->sum.want)
        return BKT_OK;
    (void)snprintf(text, sizeof text, "its bytes have CRC-32C %08" PRIx32 ", but %08" PRIx32 " is recorded",
                   op->sum.have, op->sum.want);
    bkt_trace(BKT_TRACE_HTTP, "%s %s: %s", op->x.method, op->req->key, text);
    if (bkt_http_another(op))
        return BKT_HTTP_AGAIN;
    return bkt_http_say(op, BKT_EFORMAT, "", text, "the object is damaged in the store or on the way; store "
                        "it again, or restore it");
}
