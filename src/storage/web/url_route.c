#include "storage/web/url_route.h"

#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include "base/trace.h"
#include "storage/aws/secret.h"

#define MAX_REDIRECTS 10 /* logins take five (there and back, and to the signed address); more is a loop */
#define COOKIES_MAX   (64U * 1024) /* bytes; a login needs some hundred */

/* ---- places ---- */

static struct bkt_place *place_ref(struct bkt_place *p)
{
    if (p)
        atomic_fetch_add(&p->refs, 1);
    return p;
}

static void place_unref(struct bkt_place *p)
{
    if (!p || atomic_fetch_sub(&p->refs, 1) != 1)
        return;
    bkt_web_url_fini(&p->url);
    bkt_secret_free(p->login);
    free(p);
}

/* Moves @p url. */
static struct bkt_place *place_new(const struct bkt_login *l, struct bkt_web_url *url,
                                   const struct bkt_net *net)
{
    struct bkt_place *p = calloc(1, sizeof *p);
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

static void set_place(struct bkt_place **to, struct bkt_place *p)
{
    struct bkt_place *old = *to;
    *to                   = place_ref(p);
    place_unref(old);
}

/* The way to a server; NULL: out of memory, or too many servers. */
static const struct bkt_net *net_of(struct bkt_route *r, const char *origin)
{
    if (strcmp(r->own->net->origin, origin) == 0)
        return r->own->net;
    for (size_t i = 0; i < r->n_nets; i++)
        if (strcmp(r->nets[i].origin, origin) == 0)
            return &r->nets[i];
    if (r->n_nets == BKT_ROUTE_SERVERS || bkt_net_copy(&r->nets[r->n_nets], r->own->net, origin) < 0)
        return NULL;
    return &r->nets[r->n_nets++];
}

int bkt_route_init(struct bkt_route *r, struct bkt_web_url *own, const struct bkt_net *net,
                   const struct bkt_settings *set, struct bkt_err *err)
{
    BKT_PASS(bkt_login_init(&r->login, own, set, err));
    r->own        = place_new(&r->login, own, net);
    r->generation = bkt_fork_generation();
    if (!r->own)
        BKT_NOMEM(err);
    return BKT_OK;
}

void bkt_route_fini(struct bkt_route *r)
{
    place_unref(r->known);
    place_unref(r->own);
    for (size_t i = 0; i < r->n_nets; i++)
        bkt_net_fini(&r->nets[i]);
    curl_slist_free_all(r->cookies);
    bkt_login_fini(&r->login);
    *r = (struct bkt_route){0};
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
static void keep_cookies(struct bkt_route *r, struct bkt_http_op *op)
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

static void after_fork(struct bkt_route *r)
{
    if (r->generation == bkt_fork_generation())
        return;
    r->asker = r->waiting = NULL;
    r->generation         = bkt_fork_generation();
}

const struct bkt_net *bkt_route_net(struct bkt_route *r)
{
    bkt_state_lock();
    const struct bkt_net *net = r->known ? r->known->net : r->own->net;
    bkt_state_unlock();
    return net;
}

void bkt_route_begin(struct bkt_route *r, struct bkt_http_op *op) { op->x.net = bkt_route_net(r); }

/* Under the lock.  False: the request waits for the one that asks. */
static bool choose(struct bkt_route *r, struct bkt_http_op *op)
{
    after_fork(r);
    if (op->route.asks)
        return true;
    if (!r->known && r->asker) {
        op->route.next = r->waiting;
        r->waiting     = op;
        return false;
    }
    set_place(&op->route.at, r->known ? r->known : r->own);
    if (!r->known) {
        r->asker       = op;
        op->route.asks = true;
    }
    return true;
}

int bkt_route_prepare(struct bkt_route *r, struct bkt_http_op *op)
{
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
    bkt_http_submit(op);
    return BKT_HTTP_LATER;
}

/* The asking is over, under the lock.  Returns the requests that waited, linked by route.next. */
static struct bkt_http_op *stop_asking(struct bkt_route *r, struct bkt_http_op *op)
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

static void go_on(struct bkt_route *r, struct bkt_http_op *waiting)
{
    for (struct bkt_http_op *next; waiting; waiting = next) {
        next = waiting->route.next;
        bkt_route_begin(r, waiting);
        bkt_http_submit(waiting);
    }
}

void bkt_route_found(struct bkt_route *r, struct bkt_http_op *op)
{
    if (!op->route.asks)
        return;
    bkt_state_lock();
    set_place(&r->known, op->route.at);
    struct bkt_http_op *waiting = stop_asking(r, op);
    bkt_state_unlock();
    go_on(r, waiting);
}

/* A redirect must not give away an address or a header that was sent over https. */
static const char *refusal(const struct bkt_place *from, const struct bkt_web_url *to)
{
    return from->url.https && !to->https ? "redirects from https to http are not followed" : NULL;
}

/* Moves @p to. */
static int go_to(struct bkt_route *r, struct bkt_http_op *op, struct bkt_web_url *to)
{
    bkt_trace(BKT_TRACE_HTTP, "%s %s: redirected to %s", op->x.method, op->req->key, bkt_buf_str(&to->text));
    bkt_state_lock();
    const struct bkt_net *net = net_of(r, to->origin);
    bool                  full = r->n_nets == BKT_ROUTE_SERVERS;
    keep_cookies(r, op);
    bkt_state_unlock();
    struct bkt_place *p = net ? place_new(&r->login, to, net) : NULL;
    if (!net && full)
        return bkt_http_say(op, BKT_EINVAL, "", "", "redirects lead to too many servers");
    if (!p)
        return BKT_REQ_FAIL(op->req, BKT_ENOMEM, "out of memory");
    set_place(&op->route.at, p);
    place_unref(p);
    op->x.net = net;
    return BKT_HTTP_AGAIN;
}

int bkt_route_follow(struct bkt_route *r, struct bkt_http_op *op)
{
    if (!op->route.asks && bkt_route_renew(r, op)) /* the address that served requests redirects now */
        return BKT_HTTP_AGAIN;
    if (!op->route.asks)
        return bkt_http_say(op, BKT_EINVAL, "", "", "the address at the end of redirects redirects again");
    if (op->detours++ >= MAX_REDIRECTS)
        return bkt_http_say(op, BKT_EINVAL, "", "",
                            "too many redirects; does the server want a login (~/.netrc, setting token)?");
    struct bkt_web_url to;
    if (bkt_web_url_parse(op->x.redirect, &to, NULL) < 0)
        return bkt_http_say(op, BKT_EACCES, "", "",
                            "only redirects to http(s) addresses without a password are followed");
    const char *why = refusal(op->route.at, &to);
    int         rc  = why ? bkt_http_say(op, BKT_EACCES, "", "", why) : go_to(r, op, &to);
    bkt_web_url_fini(&to);
    return rc;
}

bool bkt_route_renew(struct bkt_route *r, struct bkt_http_op *op)
{
    if (op->route.asks || op->route.renewed)
        return false;
    op->route.renewed = true;
    op->detours       = 0;
    bkt_state_lock();
    if (r->known == op->route.at) /* else another request has asked already */
        set_place(&r->known, NULL);
    bkt_state_unlock();
    return true;
}

/* Those that wait fail like the request that asked, unless its failure is its own. */
static void fail_all(struct bkt_http_op *waiting, const struct bkt_req *req)
{
    for (struct bkt_http_op *next; waiting; waiting = next) {
        next = waiting->route.next;
        bkt_http_give_up(waiting, req->rc, req->err);
    }
}

void bkt_route_end(struct bkt_route *r, struct bkt_http_op *op)
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
    set_place(&op->route.at, NULL);
    curl_slist_free_all(op->x.cookies);
    curl_slist_free_all(op->x.kept_cookies);
    op->x.cookies = op->x.kept_cookies = NULL;
}
