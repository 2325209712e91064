/* URLs in what people read: messages, traces, what the tools print.
 *
 * User and password are secrets, and so are signatures and tokens in a query.  bkt_url_shown() is the one function that makes them
 * printable.  Errors (err.c) and traces (trace.c) pass through it as a whole.  Who cuts a URL or a setting's value (%.80s), or
 * prints one without an error, calls it first: in a URL that was cut before its '@' a user can't be seen any more. */
#ifndef BKT_URL_H
#define BKT_URL_H

#include <stdbool.h>
#include <stddef.h>

#define BKT_URL_SHOWN 600 /* bytes that a message has room for */

/** Copy @p text, in which any number of URLs may stand.  Stars take the place of user and password ("host" alone stays), and of the
 *  values of parameters ("?X-Amz-Signature=***") that are or may be secrets.  The copy is never longer than the text.
 * @param to    gets the copy, ended by a 0, at most @p room bytes; may be @p text itself
 * @param bare  the text is itself a URL or several, whose scheme may be left out: "user:password@host"
 * @return to */
char *bkt_url_shown(char *to, size_t room, const char *text, bool bare);

/** One URL or a setting's value for a format that cuts it; of the enclosing block. */
#define BKT_SHOWN(text) bkt_url_shown((char[BKT_URL_SHOWN]){0}, BKT_URL_SHOWN, (text), true)

#endif
