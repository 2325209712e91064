/* Logins at web servers: the header Authorization for an address.
 *
 * A bearer token (setting token) goes to the server of the user's own address only, and never to a server
 * that it redirects to.  User and password of ~/.netrc go to the host of their entry, with the first request,
 * as curl sends them.  They go over https only, unless the user's own address is one of
 * http on that server. */
#ifndef BKT_LOGIN_H
#define BKT_LOGIN_H

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

/** The value of the header Authorization for an address.
 * @param out  gets the value, to be freed with bkt_secret_free(); NULL: it is not to be sent
 * @return BKT_OK; BKT_ENOMEM */
BKT_NODISCARD int bkt_login_for(const struct bkt_login *l, const struct bkt_web_url *to, char **out);

#endif
