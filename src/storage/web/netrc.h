/* Logins in the form of ~/.netrc: "machine HOST login NAME password WORD".  Pure, safe on any input.
 *
 * libcurl's own reader (CURLOPT_NETRC) sends a `default` entry's login to any host.  It also reads the file
 * for each transfer, in an I/O thread, which a FIFO or an endless device of that name would hold up. */
#ifndef BKT_NETRC_H
#define BKT_NETRC_H

#include <stdbool.h>

#include "base/bytes.h"

/** Find the first entry of a host.  Words are separated by white space, or stand in "quotes" with backslash
 *  escapes; '#' in place of a keyword begins a comment.  A `default` entry is not used: it names no host.
 * @param host            compared without regard to case
 * @param user, password  get the words, appended by bkt_secret_add(); the caller's on failure, too
 * @return BKT_OK; BKT_ENOENT: no such entry, or one without login and password; BKT_ENOMEM */
BKT_NODISCARD int bkt_netrc_find(const char *text, const char *host, struct bkt_buf *user,
                                 struct bkt_buf *password);

#endif
