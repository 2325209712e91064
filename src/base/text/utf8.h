/* UTF-8, and text in JSON's spelling. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

#define BKT_UTF8_ESCAPED 13 /* the most bytes that bkt_utf8_escape() writes, including the NUL */

/** The length of the UTF-8 sequence at @p p, of at most @p n bytes; @p cp gets its code point.  0: not
 *  UTF-8. */
size_t bkt_utf8_at(const unsigned char *p, size_t n, uint32_t *cp);
/** Write the sequence of a code point; a surrogate's is not UTF-8.  @return its length */
size_t bkt_utf8_put(uint32_t cp, unsigned char out[4]);
/** Whether @p n bytes are UTF-8; NULs are allowed. */
bool bkt_utf8_is(const void *text, size_t n);
/** The number of bytes, from the first one on, that a JSON string contains unchanged. */
size_t bkt_utf8_plain(const unsigned char *p, size_t n);
/** Write one character, or a lone surrogate, as a JSON string contains it, in ASCII, with a NUL after it. */
void bkt_utf8_escape(uint32_t cp, char out[BKT_UTF8_ESCAPED]);
/** Append any @p n bytes as a JSON string in ASCII.  A byte that is not UTF-8 becomes the lone surrogate
 *  \udc80..\udcff, as in Python's surrogateescape and HSDS. */
BKT_NODISCARD int bkt_utf8_quote(struct bkt_buf *out, const void *text, size_t n);
/** Copy a text of @p n bytes from elsewhere for a one-line message: without control characters, and cut. */
void bkt_one_line(char *to, size_t room, const void *p, size_t n);
