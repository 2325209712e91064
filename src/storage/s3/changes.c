/* PUT and DELETE: the way of each request.
 *
 * Conditions are sent in the form that the server understands.  Its behaviour is found out before the first
 * condition is sent (condition_probe.c).  A worker hashes bodies for the signature; small bodies are hashed
 * on the thread that starts the request. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/pool.h"
#include "base/text/utf8.h"
#include "storage/s3/s3_impl.h"
#include "storage/aws/sigv4.h"
#include "storage/aws/xml.h"
#include "storage/md5.h"
#include "storage/stats.h"

/* Bytes that any thread may hash at once, even the I/O thread: all connections wait while it hashes. */
#define HASH_INLINE (64U * 1024)
/* Bytes that any thread may sum (CRC-32C) at once; summing is faster than hashing. */
#define SUM_INLINE (1024U * 1024)

void bkt_s3_change_init(struct bkt_http *h, struct bkt_http_op *op)
{
    struct bkt_s3 *s = (struct bkt_s3 *)h;
    bool           sign = s->sign_payload && op->x.put_len;
    /* without a hash, the server decides whether to accept it */
    if (!sign || bkt_sha256_hex(op->x.put, op->x.put_len, op->payload_hash) < 0)
        (void)snprintf(op->payload_hash, sizeof op->payload_hash, "%s", BKT_UNSIGNED_PAYLOAD);
    if (op->req->op == BKT_PUT && !op->own)
        bkt_http_sum_text(op->req->put, op->req->put_len, op->put.sum);
    bool writes = op->req->op == BKT_PUT || op->req->op == BKT_DELETE;
    if (op->own ? strcmp(op->x.method, "POST") != 0
                : !writes) /* conditions of the probe are sent unchanged */
        return;
    enum bkt_s3_condition known = s->one_writer ? BKT_COND_NONE : bkt_s3_condition(s, NULL);
    op->unquoted = known == BKT_COND_BARE;
    if (known != BKT_COND_QUOTED && known != BKT_COND_BARE)
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

void bkt_s3_change(struct bkt_store *st, struct bkt_req *req)
{
    struct bkt_s3 *s           = (struct bkt_s3 *)st;
    bool           conditional = (req->if_match || req->if_none_match) && !s->one_writer;
    char           why[160];
    if (req->op == BKT_DELETE && req->if_match && !s->one_writer) {
        delete_if(s, req);
        return;
    }
    if (req->op == BKT_DELETE) {
        bkt_http_start(&s->http, req, NULL);
        return;
    }
    switch (conditional ? bkt_s3_condition(s, why) : BKT_COND_QUOTED) {
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
        bkt_s3_condition_ask(s, req->key, req);
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

/* ---- DELETEs that belong together ----
 *
 * They are sent as few requests: DeleteObjects, POST ?delete.
 *
 * Some keys are deleted one by one in the usual way: keys that XML cannot express, and keys whose error may
 * not occur again.  If a request is refused or gets another answer, all its keys are deleted one by one.  One
 * use per store shows whether the server knows the request; some servers answer 500 to unknown requests.  A
 * server that knows the request may give no answer, or ask to slow down.  Then it is not sent as many
 * requests as there are keys. */

/* Keys of a request.  S3 takes 1,000, but servers work on several shorter requests side by side. */
#define AT_ONCE 250

struct group {
    struct bkt_s3       *s;
    struct bkt_req       post;
    struct bkt_http_call call;
    struct bkt_buf       xml, md5;
    size_t               last; /* the request whose key the answer named last */
    size_t               n;
    struct bkt_req      *reqs[AT_ONCE]; /* impl: not NULL for requests that are to be sent one by one */
};

static void one(struct bkt_s3 *s, struct bkt_req *req)
{
    req->impl = NULL;
    bkt_stats_add(BKT_STAT(del), 1);
    bkt_http_start(&s->http, req, NULL);
}

/* End all requests of the group.  The store may have been freed after the last one. */
static void finish(struct group *g)
{
    struct bkt_s3 *s = g->s;
    bkt_req_fini(&g->post);
    bkt_buf_fini(&g->xml);
    bkt_buf_fini(&g->md5);
    for (size_t i = 0; i < g->n; i++)
        if (g->reqs[i]->impl)
            one(s, g->reqs[i]);
        else
            bkt_store_finish(&s->http.base, g->reqs[i]);
    free(g);
}

static void all_fail(struct group *g, int rc, const struct bkt_err *err)
{
    for (size_t i = 0; i < g->n; i++) {
        bkt_err_clear(g->reqs[i]->err);
        g->reqs[i]->rc   = bkt_err_copy(bkt_req_err(g->reqs[i]), rc, err);
        g->reqs[i]->impl = NULL;
    }
}

static void all_one_by_one(struct group *g)
{
    for (size_t i = 0; i < g->n; i++) {
        g->reqs[i]->rc   = BKT_OK;
        g->reqs[i]->impl = g;
        bkt_err_clear(g->reqs[i]->err);
    }
}

/* Servers list keys in the order of the request, or nearly so. */
static struct bkt_req *find(struct group *g, const char *key)
{
    for (size_t i = 0; i < g->n; i++) {
        size_t at = (g->last + i) % g->n;
        if (strcmp(g->reqs[at]->key, key) == 0) {
            g->last = at;
            return g->reqs[at];
        }
    }
    return NULL;
}

static int not_deleted(const char *key, const struct bkt_s3_error *e, void *arg)
{
    struct group   *g   = arg;
    struct bkt_req *req = find(g, key);
    if (!req)
        return BKT_EFORMAT;
    if (strcmp(e->code, "AccessDenied") == 0)
        (void)BKT_REQ_FAIL(req, BKT_EACCES,
                           "DELETE %s/%.150s: %s (%.160s); the policy must allow s3:DeleteObject here",
                           g->s->http.base.uri, key, e->code, e->message);
    else if (strcmp(e->code, "NoSuchKey") != 0)
        req->impl = g;
    return BKT_OK;
}

/* Whether single requests would end in the same way. */
static bool is_final(const struct bkt_s3 *s, int rc)
{
    return rc == BKT_EBUSY || rc == BKT_ETIME || rc == BKT_ENOMEM ||
           (rc == BKT_ENET && atomic_load(&s->many) == BKT_MANY_KNOWN);
}

static void posted(struct bkt_req *post)
{
    struct group *g  = post->arg;
    int           rc = post->rc;
    if (rc == BKT_OK)
        rc = bkt_s3_parse_deleted(post->body.ptr, post->body.len, not_deleted, g, NULL);
    if (rc == BKT_OK) {
        atomic_store(&g->s->many, BKT_MANY_KNOWN);
    } else if (is_final(g->s, rc)) {
        all_fail(g, rc, post->err);
    } else {
        if (rc != BKT_EACCES) /* EACCES: single DELETEs may be allowed nevertheless */
            atomic_store(&g->s->many, BKT_MANY_NONE);
        all_one_by_one(g);
    }
    finish(g);
}

/* Whether XML can express the key.  Some parsers drop blanks at its ends, and another object would be
 * deleted. */
static bool xml_can_say(const char *key)
{
    const char *end = key;
    while ((unsigned char)*end >= ' ')
        end++;
    return !*end && *key != ' ' && end[-1] != ' ' && bkt_utf8_is(key, (size_t)(end - key));
}

static int add_key(struct bkt_buf *xml, const char *key)
{
    BKT_PASS(bkt_buf_add_str(xml, "<Object><Key>"));
    for (; *key; key++)
        if (*key == '&' || *key == '<' || *key == '>')
            BKT_PASS(bkt_buf_addf(xml, "&#%d;", *key));
        else
            BKT_PASS(bkt_buf_add(xml, key, 1));
    return bkt_buf_add_str(xml, "</Key></Object>");
}

/* Write the request's body, and its MD5, which S3 requires.  False: out of memory, or MD5 is not
 * available. */
static bool say(struct group *g)
{
    unsigned char md[BKT_MD5_BYTES];
    int rc = bkt_buf_add_str(&g->xml,
                             "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Quiet>true</Quiet>");
    for (size_t i = 0; i < g->n && rc == BKT_OK; i++)
        rc = add_key(&g->xml, g->reqs[i]->key);
    return rc == BKT_OK && bkt_buf_add_str(&g->xml, "</Delete>") == BKT_OK &&
           bkt_md5(g->xml.ptr, g->xml.len, md) == BKT_OK &&
           bkt_base64_encode(md, sizeof md, &g->md5) == BKT_OK;
}

static void send_group(struct group *g)
{
    if (g->n < 2 || !say(g)) {
        all_one_by_one(g);
        finish(g);
        return;
    }
    g->call = (struct bkt_http_call){.method = "POST",
                                     .query = "delete=",
                                     .bucket = true,
                                     .body = g->xml.ptr,
                                     .len = g->xml.len,
                                     .md5 = bkt_buf_str(&g->md5)};
    g->post = (struct bkt_req){.op = BKT_GET, .key = "?delete", .len = BKT_WHOLE, .done = posted, .arg = g};
    bkt_stats_add(BKT_STAT(del), 1);
    bkt_s3_call(g->s, &g->post, &g->call);
}

void bkt_s3_delete(struct bkt_store *st, struct bkt_req *const *reqs, size_t n)
{
    struct bkt_s3 *s    = (struct bkt_s3 *)st;
    struct group  *g    = NULL;
    bool           many = atomic_load(&s->many) != BKT_MANY_NONE;
    for (size_t i = 0; i < n; i++) {
        if (many && !g && (g = calloc(1, sizeof *g)))
            g->s = s;
        if (!many || !g || !xml_can_say(reqs[i]->key)) {
            one(s, reqs[i]);
            continue;
        }
        g->reqs[g->n++] = reqs[i];
        if (g->n == AT_ONCE) {
            send_group(g);
            g = NULL;
        }
    }
    if (g && g->n)
        send_group(g);
    else
        free(g);
}
