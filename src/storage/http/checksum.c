/* Whether the bytes of an object are those that were stored.
 *
 * A PUT stores the CRC-32C of its bytes with the object, as metadata that servers return with each answer.
 * If the answer to a GET has the sum and is the whole object, the bytes are summed while they arrive.  Then
 * they come in order, and are still in the processor's cache.  If the sum is wrong, the bytes in the caller's
 * memory are wrong, too.  Then the request is sent again, and fails if that does not help.  Objects of other
 * writers have no such sum: they cost nothing, and are read as they are. */
#include <inttypes.h>
#include <stdio.h>

#include "base/crc32c.h"
#include "storage/http/request.h"
#include "base/trace.h"

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
    return req->op == BKT_GET && !op->query && (req->len == BKT_WHOLE || (req->off == 0 && all <= req->len));
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
