/* PUT and DELETE: the way of each request.
 *
 * Conditions are sent in the form that the server understands.  Its kind is found out before the first
 * condition is sent (condition_probe.c).  A worker hashes bodies for the signature; small bodies are hashed
 * on the thread that starts the request. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/pool.h"
#include "storage/s3/s3_impl.h"
#include "storage/aws/sigv4.h"

/* Bytes that any thread may hash at once, even the I/O thread, on which all connections wait meanwhile. */
#define HASH_INLINE (64U * 1024)
/* Bytes that any thread may sum (CRC-32C) at once; summing is faster than hashing. */
#define SUM_INLINE (1024U * 1024)

void bkt_s3_put_init(struct bkt_http *h, struct bkt_http_op *op)
{
    struct bkt_s3 *s = (struct bkt_s3 *)h;
    bool           sign = s->sign_payload && op->x.put_len;
    if (!sign ||
        bkt_sha256_hex(op->x.put, op->x.put_len, op->payload_hash) < 0) /* without a hash, the server decides
                                                                           whether to accept it */
        (void)snprintf(op->payload_hash, sizeof op->payload_hash, "%s", BKT_UNSIGNED_PAYLOAD);
    if (op->req->op == BKT_PUT && !op->own)
        bkt_http_sum_text(op->req->put, op->req->put_len, op->put.sum);
    bool writes = op->req->op == BKT_PUT || op->req->op == BKT_DELETE;
    if (op->own ? strcmp(op->x.method, "POST") != 0
                : !writes) /* conditions of the probe are sent unchanged */
        return;
    enum bkt_s3_cond kind = s->one_writer ? BKT_COND_NONE : bkt_s3_kind(s, NULL);
    op->bare              = kind == BKT_COND_BARE;
    if (kind != BKT_COND_QUOTED && kind != BKT_COND_BARE)
        op->if_match = op->if_none_match = NULL;
}

/* ---- hashing elsewhere ---- */

struct later {
    struct bkt_job        job;
    struct bkt_s3        *s;
    struct bkt_req       *req;
    bool                  own;
    struct bkt_http_call  call;
};

static void run_later(struct bkt_job *job)
{
    struct later l = *(struct later *)job;
    free(job);
    bkt_http_start(&l.s->http, l.req, l.own ? &l.call : NULL);
}

void bkt_s3_call(struct bkt_s3 *s, struct bkt_req *req, const struct bkt_http_call *call)
{
    size_t        n = req->op == BKT_PUT ? req->put_len : call ? call->len : 0;
    size_t        most = s->sign_payload ? HASH_INLINE : SUM_INLINE;
    struct later *l = n > most && !bkt_pool_is_worker() ? malloc(sizeof *l) : NULL;
    if (!l) {
        bkt_http_start(&s->http, req, call);
        return;
    }
    *l = (struct later){.job = {.run = run_later}, .s = s, .req = req, .own = call != NULL};
    if (call)
        l->call = *call;
    bkt_pool_submit(&l->job);
}

/* ---- DELETE with a condition ---- */

/* Few servers know conditions of a DELETE: look first, and also send the condition if the server takes it for
 * PUTs. */
struct delete {
    struct bkt_req  look;
    struct bkt_s3  *s;
    struct bkt_req *req;
};

static void looked(struct bkt_req *look)
{
    struct delete  *d   = look->arg;
    struct bkt_s3  *s   = d->s;
    struct bkt_req *req = d->req;
    bool            ok  = look->rc == BKT_OK || look->rc == BKT_ENOENT;
    if (!ok)
        req->rc = bkt_err_copy(bkt_req_err(req), look->rc, look->err);
    else
        (void)bkt_req_condition(req, look->rc == BKT_OK ? look->etag : NULL);
    bkt_req_fini(look);
    free(d);
    if (req->rc < 0)
        bkt_store_finish(&s->http.base, req);
    else
        bkt_http_start(&s->http, req, NULL);
}

static void delete_if(struct bkt_s3 *s, struct bkt_req *req)
{
    static const struct bkt_http_call own = {0};
    struct delete                    *d   = malloc(sizeof *d);
    if (!d) {
        (void)BKT_REQ_FAIL(req, BKT_ENOMEM, "DELETE %s: out of memory", req->key);
        bkt_store_finish(&s->http.base, req);
        return;
    }
    *d = (struct delete){
        .look = {.op = BKT_HEAD, .key = req->key, .done = looked, .arg = d, .cancel = req->cancel},
        .s = s,
        .req = req};
    bkt_http_start(&s->http, &d->look, &own);
}

/* ---- the way of a request ---- */

void bkt_s3_start(struct bkt_store *st, struct bkt_req *req)
{
    struct bkt_s3 *s           = (struct bkt_s3 *)st;
    bool           conditional = (req->if_match || req->if_none_match) && !s->one_writer;
    char           why[160];
    if (req->op == BKT_DELETE && req->if_match && !s->one_writer) {
        delete_if(s, req);
        return;
    }
    if (req->op != BKT_PUT) {
        bkt_http_start(&s->http, req, NULL);
        return;
    }
    switch (conditional ? bkt_s3_kind(s, why) : BKT_COND_QUOTED) {
        case BKT_COND_NONE:
            (void)BKT_REQ_FAIL(req, BKT_EUNSUP,
                               "PUT %s/%.100s: this server has no conditional PUT (%.120s), so that writers "
                               "could overwrite each "
                               "other's changes; set writers=one if this program is the only one that writes",
                               st->uri, req->key, why);
            bkt_store_finish(st, req);
            return;
        case BKT_COND_UNKNOWN:
        case BKT_COND_ASKING:
            bkt_s3_kind_ask(s, req->key, req);
            return;
        case BKT_COND_QUOTED:
        case BKT_COND_BARE:
        default:
            break;
    }
    if (req->put_len > s->upload_part)
        bkt_s3_multi(s, req);
    else
        bkt_s3_call(s, req, NULL);
}
