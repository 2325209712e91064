/* URLs in texts for people: messages, traces, output of the tools.
 *
 * User, password, signatures and tokens in a query are secrets.  bkt_url_shown() is the one function that
 * makes URLs printable.  Whole errors (err.c) and traces (trace.c) pass through it.  Code that cuts a URL or
 * a setting's value (%.80s), or prints one without an error, calls it first.  In a URL that was cut before
 * its '@' the user cannot be recognised any more. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define BKT_URL_SHOWN 600 /* bytes that a message reserves for a URL */

/** Copy @p text, which may contain any number of URLs.  Stars replace user and password ("host" alone stays),
 *  and the values of parameters ("?X-Amz-Signature=***") that are or may be secrets.  The copy is never
 *  longer than the text.
 *  @param to    gets the copy, ended by a NUL, at most @p room bytes; may be @p text itself
 *  @param bare  the text is one or several URLs, whose scheme may be missing: "user:password@host"
 *  @return to */
char *bkt_url_shown(char *to, size_t room, const char *text, bool bare);

/** A printable copy of one URL or a setting's value, for a format that cuts it; valid in the enclosing
 * block. */
#define BKT_SHOWN(text) bkt_url_shown((char[BKT_URL_SHOWN]){0}, BKT_URL_SHOWN, (text), true)
