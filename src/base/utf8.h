/* UTF-8, and text as JSON spells it. */
#ifndef BKT_UTF8_H
#define BKT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"

#define BKT_UTF8_ESCAPED 13 /* bytes that bkt_utf8_escape() writes at most, the NUL among them */

/** Length of the UTF-8 sequence at @p p, its code point in @p cp; 0: it is none. */
size_t bkt_utf8_at(const unsigned char *p, size_t n, uint32_t *cp);
/** Whether @p n bytes are UTF-8 (NULs are). */
bool bkt_utf8_is(const void *text, size_t n);
/** How many of the bytes stand in a JSON string as they are, up to the first that doesn't. */
size_t bkt_utf8_plain(const unsigned char *p, size_t n);
/** One character, or a lone surrogate, as it stands in a JSON string, in ASCII; with a NUL behind it. */
void bkt_utf8_escape(uint32_t cp, char out[BKT_UTF8_ESCAPED]);
/** Append any @p n bytes as a JSON string in ASCII.  One that isn't UTF-8 becomes the lone surrogate \udc80..\udcff, as Python's
 *  surrogateescape and HSDS have it. */
BKT_NODISCARD int bkt_utf8_quote(struct bkt_buf *out, const void *text, size_t n);

#endif
