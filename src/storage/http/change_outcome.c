/* Finding out the result of a PUT, and of a DELETE.
 *
 * A GET can be repeated at will.  A PUT with an unclear answer (a broken connection, a server error, a 200
 * without S3's form) may have been carried out.  Repeating it could destroy the data that another writer has
 * put there since.  So the object is examined first (HEAD).  A PUT stores a random id with its object.  If
 * the server does not keep the id, the bytes' CRC-32C that it keeps is compared, else the ETag with the
 * bytes' MD5.  If a server never shows any of these, but answered 200 without a body, an object of the right
 * length counts as this PUT's object.
 *      this PUT's object      it arrived: success, whatever the answer was
 *      the condition failed   another writer was first (radosgw answers 409 or 500 then): BKT_EPRECOND
 *      otherwise              it did not arrive: it is sent again, under the same condition
 * A 412 after an unclear attempt may be caused by that attempt itself, and is examined likewise.  One case
 * cannot be recognised: the PUT arrived, and another writer read and replaced the object before the HEAD.
 * That case is reported as BKT_EPRECOND.  A writer that then applies its change again must accept that the
 * change is there already (store.h).
 *
 * A DELETE is found out in the same way: an object that is still there is deleted again. */
#include "storage/http/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/trace.h"
#include "storage/md5.h"

/* ---- looking ---- */

static int look(struct bkt_http_op *op, uint64_t wait)
{
    op->put.looking = true;
    op->doubt       = false;
    op->x.method    = "HEAD";
    op->x.put       = NULL;
    op->x.put_len   = 0;
    return bkt_http_send_again(op, wait);
}

/* The change was not made. */
static int change_again(struct bkt_http_op *op)
{
    if (op->put.failed)
        return op->put.failed;
    /* in doubt, the request would be sent without its condition */
    op->put.looking = op->put.refused = op->doubt = false;
    op->x.method = bkt_op_name(op->req->op);
    if (op->req->op == BKT_PUT) {
        op->x.put = op->req->put;
        op->x.put_len = op->req->put_len;
    }
    return bkt_http_send_again(op, 0);
}

static bool is_ours(const struct bkt_http_op *op)
{
    if (op->reply.put_id[0])
        return strcmp(op->reply.put_id, op->put.id) == 0;
    char          hex[2 * BKT_MD5_BYTES + 1] = "", sum[BKT_SUM_TEXT];
    bool          size_fits         = op->reply.length == op->req->put_len;
    if (size_fits && op->reply.has_sum && op->put.sum[0]) {
        (void)snprintf(sum, sizeof sum, "%08" PRIx32, op->reply.sum);
        return strcmp(sum, op->put.sum) == 0;
    }
    if (!op->reply.etag[0])
        return size_fits && op->put.no_etag;
    return size_fits && bkt_md5_hex(op->req->put, op->req->put_len, hex) == BKT_OK &&
           bkt_etag_same(op->reply.etag, hex);
}

static int lost(struct bkt_http_op *op, const char *how)
{
    bkt_err_clear(op->req->err);
    return BKT_REQ_FAIL(op->req, BKT_EPRECOND, "%s %s/%.150s: the object %s", bkt_op_name(op->req->op),
                        op->http->base.uri, op->req->key, how);
}

static int is_deleted(struct bkt_http_op *op, bool exists)
{
    const char *match = op->req->if_match;
    if (exists && match && strcmp(match, "*") != 0 && !bkt_etag_same(match, op->reply.etag))
        return lost(op, "has changed"); /* another object under its key */
    if (exists)
        return change_again(op);
    bkt_err_clear(op->req->err);
    return BKT_OK;
}

static int arrived(struct bkt_http_op *op)
{
    bkt_trace(BKT_TRACE_HTTP, "PUT %s: it had arrived", op->req->key);
    bkt_err_clear(op->req->err);
    return bkt_http_take(op);
}

static int seen(struct bkt_http_op *op, bool exists)
{
    if (op->req->op == BKT_DELETE)
        return is_deleted(op, exists);
    if (exists && is_ours(op))
        return arrived(op);
    if (op->if_match && !exists)
        return lost(op, "is gone");
    if (op->if_match && strcmp(op->if_match, "*") != 0 && !bkt_etag_same(op->reply.etag, op->if_match))
        return lost(op, "has changed");
    if (op->if_none_match && exists)
        return lost(op, "exists");
    if (op->put.refused)
        return lost(op, "was changed by another writer");
    return change_again(op);
}

static int looked(struct bkt_http_op *op)
{
    enum bkt_wire wire   = op->x.wire;
    long          status = op->x.status;
    const char   *what   = NULL;
    if (bkt_http_doubts(op))
        return BKT_HTTP_AGAIN;
    if (wire == BKT_WIRE_OK)
        what = bkt_http_misfit(op);
    if (wire == BKT_WIRE_OK && status >= 200 && status < 300 && !what)
        return seen(op, true);
    if (wire == BKT_WIRE_OK && status == 404 && !what)
        return seen(op, false);
    if (what && op->req->op == BKT_DELETE ? bkt_http_another(op) : !what && bkt_http_retry(op, wire))
        return BKT_HTTP_AGAIN;
    if (what && !op->put.failed)
        return op->req->op == BKT_DELETE ? bkt_http_say_odd(op, what) : bkt_http_odd(op, what);
    if (op->put.failed)
        return op->put.failed;
    if (wire != BKT_WIRE_OK)
        return bkt_http_wire_failure(op, wire);
    int rc = op->http->ops->judge(op->http, op);
    return rc == BKT_HTTP_AGAIN ? bkt_http_send_again(op, 0) : rc;
}

/* ---- answers to the PUT itself ---- */

static int failure(struct bkt_http_op *op, const char *what)
{
    if (what)
        return bkt_http_say_odd(op, what);
    if (op->x.wire != BKT_WIRE_OK)
        return bkt_http_wire_failure(op, op->x.wire);
    return op->http->ops->judge(op->http, op);
}

/* The change may have been made: look after the usual wait, even if no further try is allowed. */
static int unclear(struct bkt_http_op *op, enum bkt_retry_class class, const char *what)
{
    uint64_t wait  = 0;
    op->put.unsure = true;
    op->put.no_etag =
        op->x.wire == BKT_WIRE_OK && op->x.status == 200 && !op->trouble.len && !op->reply.etag[0];
    if (!bkt_http_may_retry(op, class, &wait)) {
        int rc = failure(op, what);
        if (rc == BKT_HTTP_AGAIN || rc == BKT_ETIME)
            return rc == BKT_HTTP_AGAIN ? bkt_http_send_again(op, 0) : rc;
        op->put.failed = rc;
    }
    return look(op, wait);
}

static int refused(struct bkt_http_op *op)
{
    if (!op->put.unsure)
        return lost(op, op->if_match ? "has changed" : "exists");
    op->put.refused = true;
    return look(op, 0);
}

int bkt_http_put_judge(struct bkt_http_op *op)
{
    if (op->put.looking)
        return looked(op);
    enum bkt_wire        wire   = op->x.wire;
    long                 status = wire == BKT_WIRE_OK || wire == BKT_WIRE_STOPPED ? op->x.status : 0;
    enum bkt_retry_class class = bkt_http_class(op, wire, status);
    const char *what = status ? bkt_http_misfit(op) : NULL;
    if (what) /* also a 200 without S3's form */
        return unclear(op, BKT_RETRY_YES, what);
    if (status >= 200 && status < 300)
        return bkt_http_take(op);
    if (status == 412)
        return refused(op);
    if (status == 409)
        return unclear(op, BKT_RETRY_YES, NULL);
    if (class != BKT_RETRY_NO && wire != BKT_WIRE_CONNECT && wire != BKT_WIRE_CROWDED && status != 429 &&
        status != 503)
        return unclear(op, class, NULL);
    op->put.unsure |= status == 503; /* a gateway may have passed the PUT on */
    if (class != BKT_RETRY_NO && bkt_http_retry(op, wire))
        return BKT_HTTP_AGAIN;
    int rc = failure(op, NULL);
    if (rc == BKT_HTTP_AGAIN)
        return bkt_http_send_again(op, 0);
    return rc == BKT_ENOENT && op->if_match ? lost(op, "is gone") : rc;
}

int bkt_http_delete_judge(struct bkt_http_op *op, const char *what)
{
    if (op->put.looking)
        return looked(op);
    bkt_trace(BKT_TRACE_HTTP, "DELETE %s: HTTP %ld: %s", op->req->key, op->x.status,
              what ? what : "a conflict");
    return unclear(op, BKT_RETRY_YES, what);
}
