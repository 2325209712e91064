/* https://host/base as a store: key k is BASE/k, read by plain GET with ranges.  Read-only, no list. */
#include <stdlib.h>
#include <string.h>

#include "base/url.h"
#include "base/bytes.h"
#include "storage/aws/xml.h"
#include "storage/http/request.h"
#include "storage/web/login.h"

#define MAX_REDIRECTS 5 /* the number that HTTP once recommended (RFC 9110, 15.4); more is a loop */

struct web_store {
    struct bkt_http http;
    char           *login; /* Authorization; NULL: none */
};

static int prepare(struct bkt_http *h, struct bkt_http_op *op)
{
    const char *login = ((struct web_store *)h)->login;
    if (login && bkt_http_header(op, "Authorization", login) < 0) /* redirects stay on the server */
        return BKT_REQ_FAIL(op->req, BKT_ENOMEM, "out of memory");
    if (op->location)
        return BKT_OK;
    /* servers resolve "." and "..", so the key would name another object, perhaps outside of the store */
    if (bkt_key_has_dots(op->req->key))
        return BKT_REQ_FAIL(op->req, BKT_EINVAL, "key '%.200s' has a '.' or '..' component", op->req->key);
    if (bkt_buf_addf(&op->url, "%s/", h->base.uri) < 0 ||
        bkt_percent_encode(&op->url, op->req->key, strlen(op->req->key), "/!$&'()*+,;=:@") < 0)
        return BKT_REQ_FAIL(op->req, BKT_ENOMEM, "out of memory");
    return BKT_OK;
}

/* A redirect may lead elsewhere on the same server only.  Otherwise a server could make this library fetch
 * from any address. */
static int follow(struct bkt_http *h, struct bkt_http_op *op)
{
    BKT_CLEANUP(bkt_web_url_fini) struct bkt_web_url to = {.port = 0};
    if (bkt_web_url_parse(op->x.redirect, &to, NULL) < 0 || strcmp(h->net.origin, to.origin) != 0)
        return bkt_http_say(op, BKT_EACCES, "", "", "redirects to another server are not followed");
    if (op->detours++ >= MAX_REDIRECTS)
        return bkt_http_say(op, BKT_EINVAL, "", "", "too many redirects");
    free(op->location);
    op->location = bkt_buf_steal(&to.text);
    return BKT_HTTP_AGAIN;
}

/* Go's file servers and others answer 500 if the path goes on below a file.  S3's 500 is an outage. */
static int code_of(const struct bkt_http_op *op)
{
    bool odd = op->req->guess && op->x.status == 500 && !op->reply.is_s3;
    return odd ? BKT_EUNSUP : bkt_http_code(op->x.status);
}

static int judge(struct bkt_http *h, struct bkt_http_op *op)
{
    long status = op->x.status;
    if (status >= 300 && status < 400 && op->x.redirect)
        return follow(h, op);
    struct bkt_s3_error e;
    if (status == 404 && bkt_s3_parse_error(op->trouble.ptr, op->trouble.len, &e) &&
        strcmp(e.code, "NoSuchKey") != 0) /* S3 */
        return bkt_http_say(op, BKT_EINVAL, e.code, e.message, "check host and path");
    const char *hint = status == 401 || status == 403 ? "set a login in ~/.netrc or by setting token" : "";
    return bkt_http_say(op, code_of(op), "", "", hint);
}

static const struct bkt_http_ops http_ops = {.prepare = prepare, .judge = judge};

static void plain_close(struct bkt_store *st)
{
    struct web_store *p = (struct web_store *)st;
    bkt_net_fini(&p->http.net);
    bkt_secret_free(p->login);
    free(p);
}

static int take_login(struct web_store *p, const struct bkt_web_url *own, const struct bkt_settings *set,
                      struct bkt_err *err)
{
    BKT_CLEANUP(bkt_login_fini) struct bkt_login login = {.token = NULL};
    BKT_PASS(bkt_login_init(&login, own, set, err));
    BKT_PASS_MEM(err, bkt_login_for(&login, own, &p->login));
    return BKT_OK;
}

static const struct bkt_store_ops web_ops = {.readonly = true,
                                             .pace = bkt_http_pace,
                                             .facts = bkt_http_facts,
                                             .ahead = bkt_http_ahead,
                                             .start = bkt_http_start_object,
                                             .close = plain_close};

int bkt_web_open(const char *uri, const char *rest, const struct bkt_settings *set, struct bkt_store **out,
                 struct bkt_err *err)
{
    size_t host = strcspn(rest, "/");
    BKT_FAIL_IF(err, !host || strpbrk(rest, "?#\\ \r\n\t") || memchr(rest, '@', host), BKT_EINVAL,
                "'%.200s': https://host[:port][/path] is expected, without user, query or fragment",
                BKT_SHOWN(uri));
    BKT_CLEANUP(bkt_web_url_fini) struct bkt_web_url own = {.port = 0};
    BKT_PASS(bkt_web_url_parse(uri, &own, err));
    struct web_store *p = calloc(1, sizeof *p);
    BKT_NEED(err, p);
    int rc = take_login(p, &own, set, err);
    if (rc == BKT_OK)
        rc = bkt_http_init(&p->http, &web_ops, &http_ops, uri, own.origin, set, err);
    if (rc < 0) {
        bkt_secret_free(p->login);
        free(p);
        return rc;
    }
    *out = &p->http.base;
    return BKT_OK;
}
