/* Addresses of files on web servers: http(s)://host[:port]/path[?query].  libcurl parses them, so that it
 * connects to the server that was checked here. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"
#include "base/err.h"

/** A zeroed struct is empty. */
struct bkt_web_url {
    struct bkt_buf text;       /* as it is requested */
    char          *host;       /* in small letters; an IPv6 address has its brackets */
    char          *origin;     /* scheme://host, and :port if it is not the scheme's own */
    unsigned       port;
    bool           https;
};

/** Parse @p text.  The address is kept byte for byte, with two exceptions.  A fragment ('#') is cut off.
 * Bytes that no URL may have (blanks, control characters, non-ASCII) are percent-encoded.
 * @param out  gets the address, to be freed with bkt_web_url_fini(); empty on failure
 * @return BKT_OK; BKT_EINVAL: not such an address, or one with user and password; BKT_ENOMEM */
BKT_NODISCARD int bkt_web_url_parse(const char *text, struct bkt_web_url *out, struct bkt_err *err);
void              bkt_web_url_fini(struct bkt_web_url *u);

/** The name for messages, in two parts to be joined by '/': the address without the file's name and without
 *  its query; the file's name, with "?***" for a query.  Both are the caller's.
 * @return BKT_OK; BKT_EINVAL: the address has neither path nor query; BKT_ENOMEM */
BKT_NODISCARD int bkt_web_url_name(const struct bkt_web_url *u, char **folder, char **file,
                                   struct bkt_err *err);
