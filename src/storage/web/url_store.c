/* One file on a web server as a store of one object, by its address as it is, which may redirect, also to
 * other servers.
 *
 * The first request asks the address that the user named, and follows its redirects.  All other requests wait
 * until it gets an answer that is not a redirect.  From then on the address of that answer serves all
 * requests. If it is refused later (it was signed, and has expired), one request asks again from the
 * beginning, and the others wait again.
 *
 * Cookies that servers set on the way are kept, and sent where libcurl's rules send them. */
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include "base/bytes.h"
#include "base/os/fork.h"
#include "base/trace.h"
#include "storage/aws/xml.h"
#include "storage/http/request.h"
#include "storage/web/login.h"
#include "storage/web/web_url.h"

#define MAX_REDIRECTS 10 /* logins take five (there and back, and to the signed address); more is a loop */
/* Servers that redirects of one file may name; more only come from hostile ones. */
#define MAX_SERVERS   16
#define COOKIES_MAX   (64U * 1024) /* bytes; a login needs some hundred */

/* An address and the way to its server; counted. */
struct bkt_web_address {
    atomic_uint        refs;
    struct bkt_web_url url;
    const struct bkt_net *net;
    char              *login; /* Authorization; NULL: none */
};

/* Guarded by bkt_state_lock(). */
struct route {
    struct bkt_login    login;
    struct bkt_web_address *own,
        *known; /* the user's address; the one that serves requests, NULL: not known */
    struct bkt_net      nets[MAX_SERVERS]; /* of other servers than the user's */
    size_t              n_nets;
    struct bkt_http_op *asker, *waiting; /* the request that finds out the address; those that wait for it */
    unsigned generation; /* of the process: a parent's requests do not go on in a forked child */
    struct curl_slist  *cookies;         /* as libcurl lists them */
};

struct url_store {
    struct bkt_http    http;
    struct route   route;
    struct bkt_version version; /* of the first answer */
};

static struct route *route_of(struct bkt_http *h) { return &((struct url_store *)h)->route; }

/* ---- addresses ---- */

static struct bkt_web_address *address_ref(struct bkt_web_address *p)
{
    if (p)
        atomic_fetch_add(&p->refs, 1);
    return p;
}

static void address_unref(struct bkt_web_address *p)
{
    if (!p || atomic_fetch_sub(&p->refs, 1) != 1)
        return;
    bkt_web_url_fini(&p->url);
    bkt_secret_free(p->login);
    free(p);
}

/* Moves @p url. */
static struct bkt_web_address *address_new(const struct bkt_login *l, struct bkt_web_url *url,
                                           const struct bkt_net *net)
{
    struct bkt_web_address *p = calloc(1, sizeof *p);
    if (!p || bkt_login_for(l, url, &p->login) < 0) {
        free(p);
        return NULL;
    }
    p->refs = 1;
    p->url  = *url;
    p->net  = net;
    *url    = (struct bkt_web_url){0};
    return p;
}

static void set_address(struct bkt_web_address **to, struct bkt_web_address *p)
{
    struct bkt_web_address *old = *to;
    *to = address_ref(p);
    address_unref(old);
}

/* The way to a server; NULL: out of memory, or too many servers. */
static const struct bkt_net *net_of(struct route *r, const char *origin)
{
    if (strcmp(r->own->net->origin, origin) == 0)
        return r->own->net;
    for (size_t i = 0; i < r->n_nets; i++)
        if (strcmp(r->nets[i].origin, origin) == 0)
            return &r->nets[i];
    if (r->n_nets == MAX_SERVERS || bkt_net_copy(&r->nets[r->n_nets], r->own->net, origin) < 0)
        return NULL;
    return &r->nets[r->n_nets++];
}

static int route_init(struct route *r, struct bkt_web_url *own, const struct bkt_net *net,
                   const struct bkt_settings *set, struct bkt_err *err)
{
    BKT_PASS(bkt_login_init(&r->login, own, set, err));
    r->own = address_new(&r->login, own, net);
    r->generation = bkt_fork_generation();
    BKT_NEED(err, r->own);
    return BKT_OK;
}

static void route_fini(struct route *r)
{
    address_unref(r->known);
    address_unref(r->own);
    for (size_t i = 0; i < r->n_nets; i++)
        bkt_net_fini(&r->nets[i]);
    curl_slist_free_all(r->cookies);
    bkt_login_fini(&r->login);
    *r = (struct route){0};
}

/* ---- cookies ---- */

static int copy_cookies(const struct curl_slist *from, struct curl_slist **to)
{
    curl_slist_free_all(*to);
    *to = NULL;
    for (; from; from = from->next) {
        struct curl_slist *l = curl_slist_append(*to, from->data);
        if (!l)
            return BKT_ENOMEM;
        *to = l;
    }
    return BKT_OK;
}

/* The answer's list has the cookies that were sent, too. */
static void keep_cookies(struct route *r, struct bkt_http_op *op)
{
    size_t n = 0;
    for (const struct curl_slist *l = op->x.kept_cookies; l; l = l->next)
        n += strlen(l->data);
    if (!n || n > COOKIES_MAX)
        return;
    struct curl_slist *old = r->cookies;
    r->cookies             = op->x.kept_cookies;
    op->x.kept_cookies     = NULL;
    curl_slist_free_all(old);
}

/* ---- requests ---- */

static void after_fork(struct route *r)
{
    if (r->generation == bkt_fork_generation())
        return;
    r->asker = r->waiting = NULL;
    r->generation         = bkt_fork_generation();
}

static const struct bkt_net *net_now(struct route *r)
{
    bkt_state_lock();
    const struct bkt_net *net = r->known ? r->known->net : r->own->net;
    bkt_state_unlock();
    return net;
}

/* Under the lock.  False: the request waits for the one that asks. */
static bool choose(struct route *r, struct bkt_http_op *op)
{
    after_fork(r);
    if (op->route.asks)
        return true;
    if (!r->known && r->asker) {
        op->route.next = r->waiting;
        r->waiting     = op;
        return false;
    }
    set_address(&op->route.at, r->known ? r->known : r->own);
    if (!r->known) {
        r->asker       = op;
        op->route.asks = true;
    }
    return true;
}

/* A request begins: choose the server to whose queue it goes. */
static void init(struct bkt_http *h, struct bkt_http_op *op)
{
    op->x.net = net_now(route_of(h));
}

static int prepare(struct bkt_http *h, struct bkt_http_op *op)
{
    struct route *r = route_of(h);
    bkt_state_lock();
    bool go = choose(r, op); /* if not, another thread may have the request by now */
    int  rc = go ? copy_cookies(r->cookies, &op->x.cookies) : BKT_OK;
    bkt_state_unlock();
    if (!go)
        return BKT_HTTP_LATER;
    op->x.keep_cookies = op->route.asks;
    if (rc < 0 || bkt_buf_add_str(&op->url, bkt_buf_str(&op->route.at->url.text)) < 0)
        return BKT_REQ_FAIL(op->req, BKT_ENOMEM, "out of memory");
    if (op->route.at->login && bkt_http_header(op, "Authorization", op->route.at->login) < 0)
        return BKT_REQ_FAIL(op->req, BKT_ENOMEM, "out of memory");
    if (op->x.net == op->route.at->net)
        return BKT_OK;
    op->x.net = op->route.at->net; /* it waited in another server's queue */
    bkt_engine_submit(&op->x);
    return BKT_HTTP_LATER;
}

/* The asking is over, under the lock.  Returns the requests that waited, linked by route.next. */
static struct bkt_http_op *stop_asking(struct route *r, struct bkt_http_op *op)
{
    struct bkt_http_op *waiting = NULL;
    if (r->asker == op) { /* not in a forked child */
        waiting    = r->waiting;
        r->asker   = NULL;
        r->waiting = NULL;
    }
    op->route.asks = false;
    return waiting;
}

static void go_on(struct route *r, struct bkt_http_op *waiting)
{
    for (struct bkt_http_op *next; waiting; waiting = next) {
        next = waiting->route.next;
        waiting->x.net = net_now(r);
        bkt_engine_submit(&waiting->x);
    }
}

/* The attempt got an answer for the file itself. */
static void fits(struct bkt_http *h, struct bkt_http_op *op)
{
    struct route *r = route_of(h);
    if (!op->route.asks)
        return;
    bkt_state_lock();
    set_address(&r->known, op->route.at);
    struct bkt_http_op *waiting = stop_asking(r, op);
    bkt_state_unlock();
    go_on(r, waiting);
}

/* A redirect must not give away an address or a header that was sent over https. */
static const char *refusal(const struct bkt_web_address *from, const struct bkt_web_url *to)
{
    return from->url.https && !to->https ? "redirects from https to http are not followed" : NULL;
}

/* Moves @p to. */
static int go_to(struct route *r, struct bkt_http_op *op, struct bkt_web_url *to)
{
    bkt_trace(BKT_TRACE_HTTP, "%s %s: redirected to %s", op->x.method, op->req->key, bkt_buf_str(&to->text));
    bkt_state_lock();
    const struct bkt_net *net = net_of(r, to->origin);
    bool                  full = r->n_nets == MAX_SERVERS;
    keep_cookies(r, op);
    bkt_state_unlock();
    struct bkt_web_address *p = net ? address_new(&r->login, to, net) : NULL;
    if (!net && full)
        return bkt_http_say(op, BKT_EINVAL, "", "", "redirects lead to too many servers");
    if (!p)
        return BKT_REQ_FAIL(op->req, BKT_ENOMEM, "out of memory");
    set_address(&op->route.at, p);
    address_unref(p);
    op->x.net = net;
    return BKT_HTTP_AGAIN;
}

/* Ask for the address again, once in the request, if it may have expired.  False: it is new. */
static bool renew(struct route *r, struct bkt_http_op *op)
{
    if (op->route.asks || op->route.renewed)
        return false;
    op->route.renewed = true;
    op->detours       = 0;
    bkt_state_lock();
    if (r->known == op->route.at) /* else another request has asked already */
        set_address(&r->known, NULL);
    bkt_state_unlock();
    return true;
}

static int follow(struct route *r, struct bkt_http_op *op)
{
    if (!op->route.asks && renew(r, op)) /* the address that served requests redirects now */
        return BKT_HTTP_AGAIN;
    if (!op->route.asks)
        return bkt_http_say(op, BKT_EINVAL, "", "", "the address at the end of redirects redirects again");
    if (op->detours++ >= MAX_REDIRECTS)
        return bkt_http_say(
            op, BKT_EINVAL, "", "",
            "too many redirects; if the server wants a login, set one in ~/.netrc or by setting token");
    struct bkt_web_url to;
    if (bkt_web_url_parse(op->x.redirect, &to, NULL) < 0)
        return bkt_http_say(op, BKT_EACCES, "", "",
                            "only redirects to http(s) addresses without a password are followed");
    const char *why = refusal(op->route.at, &to);
    int         rc  = why ? bkt_http_say(op, BKT_EACCES, "", "", why) : go_to(r, op, &to);
    bkt_web_url_fini(&to);
    return rc;
}

/* Those that wait fail like the request that asked, unless its failure is its own. */
static void fail_all(struct bkt_http_op *waiting, const struct bkt_req *req)
{
    for (struct bkt_http_op *next; waiting; waiting = next) {
        next = waiting->route.next;
        bkt_http_give_up(waiting, req->rc, req->err);
    }
}

static void route_end(struct route *r, struct bkt_http_op *op)
{
    struct bkt_http_op *waiting = NULL;
    if (op->route.asks) {
        bkt_state_lock();
        waiting = stop_asking(r, op);
        bkt_state_unlock();
    }
    if (op->req->rc < 0 && op->req->rc != BKT_ECANCEL)
        fail_all(waiting, op->req);
    else
        go_on(r, waiting);
    set_address(&op->route.at, NULL);
    curl_slist_free_all(op->x.cookies);
    curl_slist_free_all(op->x.kept_cookies);
    op->x.cookies = op->x.kept_cookies = NULL;
}

/* ---- answers ---- */

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
        return follow(&s->route, op);
    if (is_refused(status) && op->route.at != s->route.own && renew(&s->route, op))
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
    route_end(&s->route, op);
    if (!is_replaced(s, req))
        return;
    bkt_err_clear(req->err);
    (void)BKT_REQ_FAIL(req, BKT_EPRECOND, BKT_REQ_NAME ": the file " BKT_WHY_REPLACED, BKT_REQ_NAMED(req));
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
    bkt_net_pace(net_now(route_of((struct bkt_http *)st)), first_byte_s, bytes_per_s);
}

static void url_close(struct bkt_store *st)
{
    struct url_store *s = (struct url_store *)st;
    route_fini(&s->route);
    bkt_net_fini(&s->http.net);
    free(s);
}

static const struct bkt_store_ops url_ops = {.readonly = true,
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
    int rc = route_init(&s->route, own, &s->http.net, set, err);
    if (rc < 0) {
        route_fini(&s->route);
        bkt_net_fini(&s->http.net);
        free(s->http.base.uri);
    }
    return rc;
}

int bkt_url_store_open(const char *url, const struct bkt_settings *set, struct bkt_store **out, char **key,
                       struct bkt_err *err)
{
    BKT_CLEANUP(bkt_web_url_fini) struct bkt_web_url own = {.port = 0};
    *key                                                 = NULL;
    *out = NULL;
    BKT_PASS(bkt_web_url_parse(url, &own, err));
    struct url_store *s = calloc(1, sizeof *s);
    BKT_NEED(err, s);
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
