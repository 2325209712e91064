/* One file on a web server as a store of one object, by its address as it is. */
#include <stdlib.h>
#include <string.h>

#include "storage/aws/xml.h"
#include "storage/http/request.h"
#include "storage/web/url_route.h"

struct url_store {
    struct bkt_http    http;
    struct bkt_route   route;
    struct bkt_version version; /* of the first answer */
};

static void init(struct bkt_http *h, struct bkt_http_op *op)
{
    bkt_route_begin(&((struct url_store *)h)->route, op);
}

static int prepare(struct bkt_http *h, struct bkt_http_op *op)
{
    return bkt_route_prepare(&((struct url_store *)h)->route, op);
}

static void fits(struct bkt_http *h, struct bkt_http_op *op)
{
    bkt_route_found(&((struct url_store *)h)->route, op);
}

/* A signed address that has expired is refused by one of these, depending on the server. */
static bool is_refused(long status)
{
    return status == 400 || status == 401 || status == 403 || status == 404 || status == 410;
}

static int judge(struct bkt_http *h, struct bkt_http_op *op)
{
    struct url_store *s      = (struct url_store *)h;
    long              status = op->x.status;
    if (status >= 300 && status < 400 && op->x.redirect)
        return bkt_route_follow(&s->route, op);
    if (is_refused(status) && op->route.at != s->route.own && bkt_route_renew(&s->route, op))
        return BKT_HTTP_AGAIN;
    struct bkt_s3_error e = {.code = ""};
    (void)bkt_s3_parse_error(op->trouble.ptr, op->trouble.len, &e);
    bool denied = status == 401 || status == 403;
    return bkt_http_say(
        op, bkt_http_code(status), e.code, e.message,
        denied ? "the address may have expired, or a login is missing (~/.netrc, setting token)" : "");
}

/* The end of a shorter file shows as a range past its end. */
static bool is_replaced(struct url_store *s, const struct bkt_req *req)
{
    struct bkt_version v;
    if (req->rc == BKT_OK)
        return !bkt_version_fits(&s->version, req);
    bool ended = (req->rc == BKT_ERANGE || req->rc == BKT_EFORMAT) && req->size != UINT64_MAX;
    return req->rc == BKT_EPRECOND ||
           (ended && bkt_version_get(&s->version, &v) && v.size != UINT64_MAX && v.size != req->size);
}

static void end(struct bkt_http *h, struct bkt_http_op *op)
{
    struct url_store *s   = (struct url_store *)h;
    struct bkt_req   *req = op->req;
    bkt_route_end(&s->route, op);
    if (!is_replaced(s, req))
        return;
    bkt_err_clear(req->err);
    (void)BKT_REQ_FAIL(req, BKT_EPRECOND,
                       BKT_REQ_NAME ": the file was replaced while it was open; open it again",
                       BKT_REQ_NAMED(req));
}

static const struct bkt_http_ops http_ops = {
    .init = init, .prepare = prepare, .judge = judge, .fits = fits, .end = end, .must_range = true};

/* ---- HEAD ---- */

/* A signature in an address holds for GET only, and many servers refuse HEAD.  So a GET of one byte reports
 * the size. */
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
    l->get = (struct bkt_req){.op = BKT_GET,
                              .key = req->key,
                              .len = 1,
                              .may_be_short = true,
                              .dst = &l->byte,
                              .if_match = req->if_match,
                              .if_none_match = req->if_none_match,
                              .small = true,
                              .cancel = req->cancel,
                              .done = looked,
                              .arg = l,
                              .uri = st->uri,
                              .impl = st,
                              .size = UINT64_MAX};
    const struct bkt_http_call call = {.method = NULL};
    bkt_http_start((struct bkt_http *)st, &l->get, &call);
}

/* ---- opening and closing ---- */

static void pace(struct bkt_store *st, double *first_byte_s, double *bytes_per_s)
{
    const struct bkt_pace *p = bkt_route_net(&((struct url_store *)st)->route)->pace;
    *first_byte_s            = (double)atomic_load(&p->first_us) / 1e6;
    *bytes_per_s             = (double)atomic_load(&p->bytes_per_s);
}

static void url_close(struct bkt_store *st)
{
    struct url_store *s = (struct url_store *)st;
    bkt_route_fini(&s->route);
    bkt_http_fini(&s->http);
    free(s);
}

static const struct bkt_store_ops url_ops = {.name = "url",
                                             .readonly = true,
                                             .pace = pace,
                                             .facts = bkt_http_facts,
                                             .ahead = bkt_http_ahead,
                                             .start = start,
                                             .close = url_close};

/* Begin the store of an address, which moves there. */
static int fill(struct url_store *s, struct bkt_web_url *own, const struct bkt_settings *set, char **key,
                struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *folder = NULL;
    BKT_PASS(bkt_web_url_name(own, &folder, key, err));
    BKT_PASS(bkt_http_init(&s->http, &url_ops, &http_ops, folder, own->origin, set, err));
    int rc = bkt_route_init(&s->route, own, &s->http.net, set, err);
    if (rc < 0) {
        bkt_route_fini(&s->route);
        bkt_http_fini(&s->http);
        free(s->http.base.uri);
    }
    return rc;
}

int bkt_url_store_open(const char *url, const struct bkt_settings *set, struct bkt_store **out, char **key,
                       struct bkt_err *err)
{
    BKT_CLEANUP(bkt_web_url_fini) struct bkt_web_url own = {.port = 0};
    *key                                                 = NULL;
    BKT_PASS(bkt_web_url_parse(url, &own, err));
    struct url_store *s = calloc(1, sizeof *s);
    if (!s)
        BKT_NOMEM(err);
    int rc = fill(s, &own, set, key, err);
    if (rc == BKT_OK) {
        *out = &s->http.base;
        return BKT_OK;
    }
    free(s);
    free(*key);
    *key = NULL;
    return rc;
}
