/* See s3_impl.h: look (with conditions only), begin, parts, complete, look; or abort.
 *
 * The upload carries the PUT's id.  So the last look shows whether the upload became the object, whatever the
 * answer to "complete" was, even if it never came. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/os/pool.h"
#include "base/random.h"
#include "storage/s3/s3_impl.h"
#include "storage/aws/xml.h"

#define MAX_PARTS 10000U /* S3 takes no more */
/* Parts under way.  S3 moves each part at a limited rate. */
#define AT_ONCE   32
#define ENDS      3 /* tries of "complete": S3 may answer 200 and then report a failure, and requires that it
                       is asked again */

struct part {
    struct bkt_req       req;
    struct multi        *m;
    struct bkt_http_call call;
    struct bkt_buf       query;
    unsigned             number; /* from 1 */
};

struct multi {
    struct bkt_job        job; /* first */
    struct bkt_s3        *s;
    struct bkt_req       *req;  /* the caller's */
    struct bkt_req        step; /* the request under way besides the parts */
    struct bkt_http_call  call;
    struct bkt_buf        upload, query, xml; /* the upload's id, percent-encoded */
    char                  id[BKT_PUT_ID], seen[BKT_PUT_ID], sum[BKT_SUM_TEXT];
    pthread_mutex_t       lock; /* guards the next three */
    unsigned              next, active;
    bool                  failed;
    unsigned              n_parts, ends;
    bool                  again; /* the last "complete" may be repeated */
    uint64_t              part_len;
    char                (*etags)[BKT_ETAG_MAX];
    struct part           part[AT_ONCE];
};

static void finish(struct multi *m)
{
    struct bkt_s3  *s   = m->s;
    struct bkt_req *req = m->req;
    bkt_req_fini(&m->step);
    for (size_t i = 0; i < AT_ONCE; i++) {
        bkt_req_fini(&m->part[i].req);
        bkt_buf_fini(&m->part[i].query);
    }
    bkt_buf_fini(&m->upload);
    bkt_buf_fini(&m->query);
    bkt_buf_fini(&m->xml);
    (void)pthread_mutex_destroy(&m->lock);
    free(m->etags);
    free(m);
    bkt_store_finish(&s->http.base, req);
}

static void fail(struct multi *m, int rc, const struct bkt_err *err)
{
    if (m->req->rc == BKT_OK)
        m->req->rc = bkt_err_copy(bkt_req_err(m->req), rc, err);
}

/* Begin a request besides the parts. */
static void go(struct multi *m, enum bkt_op op, struct bkt_http_call call, void (*done)(struct bkt_req *req))
{
    bkt_req_fini(&m->step);
    m->call = call;
    m->step = (struct bkt_req){.op = op, .key = m->req->key, .len = BKT_WHOLE, .done = done, .arg = m};
    if (op == BKT_GET && call.len && !m->s->one_writer) { /* "complete" */
        m->step.if_match      = m->req->if_match;
        m->step.if_none_match = m->req->if_none_match;
    }
    bkt_s3_call(m->s, &m->step, &m->call);
}

/* ---- abort ---- */

static void aborted(struct bkt_req *req) { finish(req->arg); }

static void abort_upload(struct multi *m)
{
    bkt_buf_clear(&m->query);
    if (!m->upload.len || bkt_buf_addf(&m->query, "uploadId=%s", bkt_buf_str(&m->upload)) < 0)
        finish(m);
    else
        go(m, BKT_DELETE, (struct bkt_http_call){.query = bkt_buf_str(&m->query)}, aborted);
}

/* ---- complete ---- */

static void complete(struct multi *m);

static void looked_after(struct bkt_req *req)
{
    struct multi *m    = req->arg;
    bool          ours = req->rc == BKT_OK && strcmp(m->seen, m->id) == 0;
    if (ours) {
        bkt_err_clear(m->req->err);
        m->req->rc    = BKT_OK;
        m->req->mtime = req->mtime;
        memcpy(m->req->etag, req->etag, sizeof req->etag);
    }
    if (m->req->rc < 0 && m->again && m->ends < ENDS) {
        bkt_err_clear(m->req->err);
        m->req->rc = BKT_OK;
        complete(m);
    } else if (m->req->rc < 0) {
        abort_upload(m);
    } else {
        finish(m); /* stored; if another object has replaced it, the ETag stays unknown */
    }
}

static void completed(struct bkt_req *req)
{
    struct multi       *m = req->arg;
    struct bkt_s3_error e;
    int rc   = req->rc;
    m->again = req->rc == BKT_OK && !bkt_s3_parse_complete(req->body.ptr, req->body.len,
                                                           &e); /* 200, but the document reports a failure */
    if (m->again)
        rc = BKT_ERR(bkt_req_err(req), BKT_ENET, "PUT %s/%.150s: end of upload: %s (%.160s)",
                     m->s->http.base.uri, req->key, e.code[0] ? e.code : "HTTP 200",
                     e.code[0] ? e.message : "the answer is cut short, or not S3's");
    if (rc == BKT_ENOENT) /* the upload does not exist any more, or the object that it was to replace */
        rc = m->step.if_match ? BKT_EPRECOND : BKT_ENET;
    if (rc < 0)
        fail(m, rc, req->err);
    go(m, BKT_HEAD, (struct bkt_http_call){.seen_id = m->seen}, looked_after);
}

static void complete(struct multi *m)
{
    m->ends++;
    bkt_buf_clear(&m->xml);
    int rc = bkt_buf_add_str(&m->xml, "<CompleteMultipartUpload>");
    for (unsigned i = 0; rc == BKT_OK && i < m->n_parts; i++)
        rc = bkt_buf_addf(&m->xml, "<Part><PartNumber>%u</PartNumber><ETag>%s</ETag></Part>", i + 1,
                          m->etags[i]);
    bkt_buf_clear(&m->query);
    if (rc < 0 || bkt_buf_add_str(&m->xml, "</CompleteMultipartUpload>") < 0 ||
        bkt_buf_addf(&m->query, "uploadId=%s", bkt_buf_str(&m->upload)) < 0) {
        (void)BKT_REQ_FAIL(m->req, BKT_ENOMEM, "PUT %s: out of memory", m->req->key);
        abort_upload(m);
        return;
    }
    go(m, BKT_GET,
       (struct bkt_http_call){
           .method = "POST", .query = bkt_buf_str(&m->query), .body = m->xml.ptr, .len = m->xml.len},
       completed);
}

/* ---- parts ---- */

static void start_part(struct part *p)
{
    struct multi *m   = p->m;
    uint64_t      off = (p->number - 1) * m->part_len;
    p->call           = (struct bkt_http_call){.query = bkt_buf_str(&p->query)};
    p->req            = (struct bkt_req){.op      = BKT_PUT,
                                         .key     = m->req->key,
                                         .put     = (const char *)m->req->put + off,
                                         .put_len = (size_t)bkt_min_u64(m->part_len, m->req->put_len - off),
                                         .cancel  = m->req->cancel,
                                         .done    = p->req.done,
                                         .arg     = p};
    bkt_s3_call(m->s, &p->req, &p->call);
}

/* Take the next part; false: there are no more parts.  Locked. */
static bool next_part(struct part *p)
{
    struct multi *m = p->m;
    if (m->failed || m->next > m->n_parts)
        return false;
    p->number = m->next++;
    bkt_buf_clear(&p->query);
    if (bkt_buf_addf(&p->query, "partNumber=%u&uploadId=%s", p->number, bkt_buf_str(&m->upload)) == BKT_OK)
        return true;
    m->failed = true;
    (void)BKT_REQ_FAIL(m->req, BKT_ENOMEM, "PUT %s: out of memory", m->req->key);
    return false;
}

static void part_done(struct bkt_req *req)
{
    struct part  *p = req->arg;
    struct multi *m = p->m;
    (void)pthread_mutex_lock(&m->lock);
    if (req->rc == BKT_OK && req->etag[0] && !strpbrk(req->etag, "<>&"))
        memcpy(m->etags[p->number - 1], req->etag, BKT_ETAG_MAX);
    else if (req->rc == BKT_OK)
        req->rc = BKT_ERR(bkt_req_err(req), BKT_EFORMAT, "PUT %s: the answer for part %u has no ETag",
                          req->key, p->number);
    if (req->rc < 0) {
        /* the upload does not exist any more; this is not a missing object */
        fail(m, req->rc == BKT_ENOENT ? BKT_ENET : req->rc, req->err);
        m->failed = true;
    }
    bkt_req_fini(req);
    bool more = next_part(p), last = !more && --m->active == 0;
    bool bad  = m->failed;
    (void)pthread_mutex_unlock(&m->lock);
    if (more)
        start_part(p);
    else if (last && bad)
        abort_upload(m);
    else if (last)
        complete(m);
}

static void begun(struct bkt_req *req)
{
    struct multi *m = req->arg;
    if (req->rc < 0) {
        fail(m, req->rc, req->err);
        finish(m);
        return;
    }
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf id = {0};
    if (bkt_s3_parse_upload(req->body.ptr, req->body.len, &id, bkt_req_err(m->req)) < 0 ||
        bkt_percent_encode(&m->upload, bkt_buf_str(&id), id.len, "") < 0) {
        m->req->rc = BKT_EFORMAT;
        finish(m);
        return;
    }
    struct part *ready[AT_ONCE];
    size_t       n = 0;
    (void)pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < AT_ONCE; i++) {
        m->part[i].m        = m;
        m->part[i].req.done = part_done;
        if (next_part(&m->part[i]))
            ready[n++] = &m->part[i];
    }
    m->active = (unsigned)n;
    (void)pthread_mutex_unlock(&m->lock);
    for (size_t i = 0; i < n; i++)
        start_part(ready[i]);
    if (!n)
        abort_upload(m);
}

/* ---- start ---- */

static void begin(struct multi *m)
{
    go(m, BKT_GET,
       (struct bkt_http_call){.method = "POST", .query = "uploads=", .put_id = m->id, .sum = m->sum}, begun);
}

static void looked_before(struct bkt_req *req)
{
    struct multi *m = req->arg;
    if (req->rc == BKT_OK || req->rc == BKT_ENOENT)
        (void)bkt_req_condition(m->req, req->rc == BKT_OK ? req->etag : NULL);
    else
        fail(m, req->rc, req->err);
    if (m->req->rc < 0)
        finish(m);
    else
        begin(m);
}

/* Sum the whole body here, not by its parts: the begin of the upload sends the sum. */
static void sum_and_begin(struct bkt_job *job)
{
    struct multi *m = (struct multi *)job;
    bkt_http_sum_text(m->req->put, m->req->put_len, m->sum);
    if ((m->req->if_match || m->req->if_none_match) && !m->s->one_writer)
        go(m, BKT_HEAD, (struct bkt_http_call){0}, looked_before);
    else
        begin(m);
}

void bkt_s3_multi(struct bkt_s3 *s, struct bkt_req *req)
{
    uint64_t      len = bkt_max_u64(s->upload_part, (req->put_len + MAX_PARTS - 1) / MAX_PARTS);
    unsigned      n   = (unsigned)((req->put_len + len - 1) / len);
    struct multi *m   = calloc(1, sizeof *m);
    if (!m || !(m->etags = calloc(n, sizeof *m->etags))) {
        free(m);
        (void)BKT_REQ_FAIL(req, BKT_ENOMEM, "PUT %s: out of memory", req->key);
        bkt_store_finish(&s->http.base, req);
        return;
    }
    m->s        = s;
    m->req      = req;
    m->part_len = len;
    m->n_parts  = n;
    m->next     = 1;
    (void)pthread_mutex_init(&m->lock, NULL);
    (void)snprintf(m->id, sizeof m->id, "%016llx", (unsigned long long)bkt_random());
    m->job.run = sum_and_begin;
    if (bkt_pool_is_worker())
        sum_and_begin(&m->job);
    else
        bkt_pool_submit(&m->job);
}
