/* The way to a file whose address may redirect, also to other servers.
 *
 * The first request asks the address that the user named, and follows its redirects.  All other requests wait
 * until it gets an answer that is not a redirect.  From then on the address of that answer serves all
 * requests. If it is refused later (it was signed, and has expired), one request asks anew from the
 * beginning, and the others wait again.
 *
 * Cookies that servers set on the way are kept, and sent where libcurl's rules send them.  All functions may
 * be called on any thread. */
#ifndef BKT_URL_ROUTE_H
#define BKT_URL_ROUTE_H

#include "storage/http/request.h"
#include "storage/web/login.h"
#include "storage/web/web_url.h"

/* Servers that redirects of one file may name; more only come from hostile ones. */
#define BKT_ROUTE_SERVERS 16

/** An address and the way to its server; counted. */
struct bkt_place {
    atomic_uint        refs;
    struct bkt_web_url url;
    const struct bkt_net *net;
    char              *login; /* Authorization; NULL: none */
};

/** Guarded by bkt_state_lock(). */
struct bkt_route {
    struct bkt_login    login;
    struct bkt_place   *own, *known;   /* the user's address; the one that serves requests, NULL: not known */
    struct bkt_net      nets[BKT_ROUTE_SERVERS]; /* of other servers than the user's */
    size_t              n_nets;
    struct bkt_http_op *asker, *waiting; /* the request that finds out the address; those that wait for it */
    unsigned generation; /* of the process: a parent's requests do not go on in a forked child */
    struct curl_slist  *cookies;         /* as libcurl lists them */
};

/** Begin with the user's address, whose server @p net leads to.  Moves @p own; borrows @p net, and @p set for
 * the call.
 * @return BKT_OK; failures of bkt_login_init(), after which bkt_route_fini() frees the members */
BKT_NODISCARD int bkt_route_init(struct bkt_route *r, struct bkt_web_url *own, const struct bkt_net *net,
                                 const struct bkt_settings *set, struct bkt_err *err);
/** Free the members; a zeroed struct is allowed. */
void bkt_route_fini(struct bkt_route *r);

/** A request begins: choose the server to whose queue it goes. */
void bkt_route_begin(struct bkt_route *r, struct bkt_http_op *op);
/** Choose the address of an attempt: op->route.at, and op->url.  Returns as bkt_http_ops.prepare(). */
int bkt_route_prepare(struct bkt_route *r, struct bkt_http_op *op);
/** The attempt got an answer for the file itself. */
void bkt_route_found(struct bkt_route *r, struct bkt_http_op *op);
/** The attempt got a redirect.  BKT_HTTP_AGAIN, or the code of a failure, recorded in the request. */
int bkt_route_follow(struct bkt_route *r, struct bkt_http_op *op);
/** Ask for the address again, once in the request, if it may have expired.  False: it was
 * asked for just now. */
bool bkt_route_renew(struct bkt_route *r, struct bkt_http_op *op);
/** The request ends. */
void bkt_route_end(struct bkt_route *r, struct bkt_http_op *op);

/** The way to the server that serves requests, as far as it is known. */
const struct bkt_net *bkt_route_net(struct bkt_route *r);

#endif
