/* One file on a web server as a store of one object, by its address as it is. */
#include <stdlib.h>
#include <string.h>

#include "storage/aws/xml.h"
#include "storage/http/request.h"
#include "storage/http/web_url.h"

struct url_store {
    struct bkt_http    http;
    struct bkt_web_url own; /* the address that the user named */
};

static int prepare(struct bkt_http *h, struct bkt_http_op *op)
{
    struct url_store *s = (struct url_store *)h;
    if (bkt_buf_add_str(&op->url, bkt_buf_str(&s->own.text)) < 0)
        return BKT_REQ_FAIL(op->req, BKT_ENOMEM, "out of memory");
    return BKT_OK;
}

static int judge(struct bkt_http *h, struct bkt_http_op *op)
{
    (void)h;
    struct bkt_s3_error e = {.code = ""};
    (void)bkt_s3_parse_error(op->trouble.ptr, op->trouble.len, &e);
    return bkt_http_say(op, bkt_http_code(op->x.status), e.code, e.message, "");
}

static const struct bkt_http_ops http_ops = {.prepare = prepare, .judge = judge};

/* ---- HEAD ---- */

/* A signature in an address holds for GET only, and many servers refuse HEAD.  So a GET of one byte reports the
 * size. */
struct look {
    struct bkt_req  get;
    struct bkt_req *head;
    unsigned char   byte;
};

static void looked(struct bkt_req *get)
{
    struct look    *l     = get->arg;
    struct bkt_req *head  = l->head;
    bool            empty = get->rc == BKT_ERANGE && get->size == 0;
    head->rc              = empty ? BKT_OK : get->rc;
    head->size            = get->size;
    head->mtime           = get->mtime;
    memcpy(head->etag, get->etag, sizeof head->etag);
    if (head->rc < 0) {
        head->err = get->err;
        get->err  = NULL;
    }
    struct bkt_store *st = l->get.impl;
    bkt_req_fini(get);
    free(l);
    bkt_store_finish(st, head);
}

static void start(struct bkt_store *st, struct bkt_req *req)
{
    if (req->op != BKT_HEAD) {
        bkt_http_start_object(st, req);
        return;
    }
    struct look *l = calloc(1, sizeof *l);
    if (!l) {
        (void)BKT_REQ_FAIL(req, BKT_ENOMEM, "HEAD %s: out of memory", req->key);
        bkt_store_finish(st, req);
        return;
    }
    l->head = req;
    l->get  = (struct bkt_req){.op = BKT_GET, .key = req->key, .len = 1, .may_be_short = true, .dst = &l->byte,
                               .if_match = req->if_match, .if_none_match = req->if_none_match, .small = true,
                               .cancel = req->cancel, .done = looked, .arg = l, .uri = st->uri, .impl = st,
                               .size = UINT64_MAX};
    const struct bkt_http_call call = {.method = NULL};
    bkt_http_start((struct bkt_http *)st, &l->get, &call);
}

/* ---- opening and closing ---- */

static void url_close(struct bkt_store *st)
{
    struct url_store *s = (struct url_store *)st;
    bkt_http_fini(&s->http);
    bkt_web_url_fini(&s->own);
    free(s);
}

static const struct bkt_store_ops url_ops = {
    .name = "url", .readonly = true, .pace = bkt_http_pace, .ahead = bkt_http_ahead, .start = start, .close = url_close};

static int fill(struct url_store *s, const char *url, const struct bkt_settings *set, char **key, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *folder = NULL;
    BKT_PASS(bkt_web_url_parse(url, &s->own, err));
    BKT_PASS(bkt_web_url_name(&s->own, &folder, key, err));
    return bkt_http_init(&s->http, &url_ops, &http_ops, folder, s->own.origin, set, err);
}

int bkt_url_store_open(const char *url, const struct bkt_settings *set, struct bkt_store **out, char **key, struct bkt_err *err)
{
    struct url_store *s = calloc(1, sizeof *s);
    if (!s)
        BKT_NOMEM(err);
    *key   = NULL;
    int rc = fill(s, url, set, key, err);
    if (rc < 0) {
        bkt_web_url_fini(&s->own);
        free(s);
        free(*key);
        *key = NULL;
        return rc;
    }
    *out = &s->http.base;
    return BKT_OK;
}
