/* The one reader of JSON: it accepts or refuses a text, and its message has the fault and the place.
 * schema/json makes trees from it, storage/aws/cred takes the fields of one object.
 *
 * Python's json module, and so HSDS, writes some things that JSON lacks: NaN, Infinity, -Infinity and lone
 * surrogates.  They are accepted. */
#pragma once

#include <locale.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

#define BKT_JSON_DEPTH 2048 /* values within values */

struct bkt_json_scan {
    const unsigned char *p, *begin, *end;
    /* of the string read last, if it had to be put together; free it with the caller's means */
    struct bkt_buf text;
    unsigned             depth, max_depth;
    bool unmarked; /* strings are UTF-8 without marks; one with a NUL or a lone surrogate is malformed */
    const char          *wrong; /* after BKT_EFORMAT: the fault at p */
};
/** A string, borrowed from the document or from scan.text, until the next string.  Unless scan.unmarked is
 *  set, it has marks (schema/jansson/json.h): U+10FFFF before U+0080..U+00FF is a byte of a lone surrogate.
 *  U+10FFFF itself is doubled, and so is U+0001 at the start. */
struct bkt_json_scan_text {
    const char *p;
    size_t      n;
    bool        ready; /* the document's bytes are the same and have no marks in them */
};
/** A number.  ODD: an integer of 19 digits or more, a real beyond a double, NaN or
 * Infinity; the text counts. */
struct bkt_json_scan_number {
    enum { BKT_JSON_INT, BKT_JSON_REAL, BKT_JSON_ODD } kind;
    int64_t     i;
    double      real;
    const char *p; /* its text, of n bytes */
    size_t      n;
};

/** Begin with @p n bytes; the struct needs no other care than freeing `text`. */
void bkt_json_scan_init(struct bkt_json_scan *s, const void *p, size_t n);
/** The message of a failure @p rc, BKT_EFORMAT or BKT_ENOMEM, which is returned. */
int bkt_json_scan_fail(const struct bkt_json_scan *s, int rc, struct bkt_err *err);

/** The next character that isn't white space, without consuming it; 0: the end. */
int bkt_json_scan_peek(struct bkt_json_scan *s);

/* Those that return int return BKT_OK, BKT_EFORMAT or BKT_ENOMEM; p is behind the value, or at the fault. */

/** A string from its opening quote on. */
BKT_NODISCARD int bkt_json_scan_string(struct bkt_json_scan *s, struct bkt_json_scan_text *out);
/** A number, NaN or Infinity.  At the document's very end it is malformed. */
BKT_NODISCARD int bkt_json_scan_number(struct bkt_json_scan *s, struct bkt_json_scan_number *out);
/** true, false or null.  At the document's very end it is malformed. */
BKT_NODISCARD int bkt_json_scan_word(struct bkt_json_scan *s, const char *word);
/** Step into an object or a list, by its opening bracket. */
BKT_NODISCARD int bkt_json_scan_enter(struct bkt_json_scan *s, char bracket);
/** Step out (depth), after @p more was false: the closing bracket is read then. */
void bkt_json_scan_leave(struct bkt_json_scan *s);
/** The members of an object that was entered follow as long as @p more is set: the key is read, p is at the
 *  value. */
BKT_NODISCARD int bkt_json_scan_member(struct bkt_json_scan *s, bool first, struct bkt_json_scan_text *key,
                                       bool *more);
/** The entries of a list that was entered follow as long as @p more is set: p is at the value. */
BKT_NODISCARD int bkt_json_scan_entry(struct bkt_json_scan *s, bool first, bool *more);
/** Any value, which is not needed. */
BKT_NODISCARD int bkt_json_scan_skip(struct bkt_json_scan *s);
/** Only white space may follow. */
BKT_NODISCARD int bkt_json_scan_end(struct bkt_json_scan *s);

/** The locale "C", for uselocale() and strtod_l(); made once.  (locale_t)0: out of memory. */
locale_t bkt_c_locale(void);
/** A whole decimal number in @p text in the C locale; false if @p text holds more or less than a number. */
bool bkt_json_strtod(const char *text, double *out);
/** Append a character, or a lone surrogate, with marks. */
BKT_NODISCARD int bkt_json_add_unit(struct bkt_buf *out, uint32_t unit);
#define BKT_JSON_RAW_MARK "\xf4\x8f\xbf\xbf" /* U+10FFFF */
