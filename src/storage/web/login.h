/* Logins at web servers: the header Authorization for an address.
 *
 * A bearer token (setting token) goes to the server of the user's own address only, and never to a server
 * that it redirects to.  User and password of ~/.netrc go to the host of their entry, with the first request,
 * as curl sends them.  They go over https only, unless the user's own address is one of
 * http on that server. */
#pragma once

#include "base/settings.h"
#include "storage/web/web_url.h"

/** A zeroed struct has no login.  Constant once it is made; any thread. */
struct bkt_login {
    char           origin[300]; /* of the user's own address; longer ones get no login */
    char           host[280];
    bool           https, own_port; /* own_port: it is the scheme's own */
    char          *token;           /* for that address; NULL: none */
    struct bkt_buf netrc;           /* the file's text */
};

/** Read the logins for an address that the user named: the setting, and the file $NETRC or ~/.netrc, which
 * may be absent.
 * @param own  borrowed for the call
 * @return BKT_OK; BKT_EINVAL: the setting is malformed; BKT_ENOMEM; free with bkt_login_fini() in any case */
BKT_NODISCARD int bkt_login_init(struct bkt_login *l, const struct bkt_web_url *own,
                                 const struct bkt_settings *set, struct bkt_err *err);
void              bkt_login_fini(struct bkt_login *l);

/** Find the first entry of a host in the text of ~/.netrc: "machine HOST login NAME password WORD".  Pure,
 * safe on any input.  Words are separated by white space, or stand in "quotes" with backslash escapes; '#' in
 * place of a keyword begins a comment.  A `default` entry is not used: it names no host.
 *
 *  libcurl's own reader (CURLOPT_NETRC) sends a `default` entry's login to any host.  It also reads the file
 * for each transfer, in an I/O thread, which a FIFO or an endless device of that name would hold up.
 * @param host            compared without regard to case
 * @param user, password  get the words, appended by bkt_secret_add(); the caller's on failure, too
 * @return BKT_OK; BKT_ENOENT: no such entry, or one without login and password; BKT_ENOMEM */
BKT_NODISCARD int bkt_netrc_find(const char *text, const char *host, struct bkt_buf *user,
                                 struct bkt_buf *password);

/** The value of the header Authorization for an address.
 * @param out  gets the value, to be freed with bkt_secret_free(); NULL: it is not to be sent
 * @return BKT_OK; BKT_ENOMEM */
BKT_NODISCARD int bkt_login_for(const struct bkt_login *l, const struct bkt_web_url *to, char **out);
