/* JSON as HSDS writes it, as jansson's trees.  Only src/schema includes this.
 *
 * Python's json module writes what JSON (and jansson) lacks.  A pass over the text rewrites that before jansson
 * sees it (or scan.h does so at once), and the accessors below undo it, so that nothing is lost:
 *   NaN, Infinity, -Infinity, integers of 19 digits or more, reals that overflow a double
 *       -> a string that starts with U+0001, then the token.  A real string that starts with U+0001 gets a second one.
 *   lone surrogates \udc80..\udcff (Python's surrogateescape of the raw bytes 0x80..0xff)
 *       -> U+10FFFF, then U+0080..U+00FF.  U+10FFFF itself is doubled.
 *   other lone surrogates -> the three bytes that encode them (as in CESU-8), each as a raw byte.
 * So text that may hold user data is read by bkt_json_text() or bkt_json_dup(), never by json_string_value() alone.
 * The last of duplicate keys wins, as in Python. */
#ifndef BKT_JSON_H
#define BKT_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "buf.h"
#include "err.h"

/** Parse a whole document, which must be an object.  BKT_EFORMAT tells where it breaks off; BKT_ENOMEM.
 *  The caller's, json_decref(). */
BKT_NODISCARD int bkt_json_load(const void *p, size_t n, json_t **out, struct bkt_err *err);
/** The same by jansson's own parser, whose word is the last (scan.h). */
BKT_NODISCARD int bkt_json_load_strict(const void *p, size_t n, json_t **out, struct bkt_err *err);
void              bkt_json_decrefp(json_t **j); /* for BKT_CLEANUP */

/** Number of any size. */
enum bkt_num_kind { BKT_NUM_INT, BKT_NUM_REAL };
struct bkt_num {
    enum bkt_num_kind kind;
    bool              neg;  /* INT: value is -mag */
    bool              huge; /* INT: beyond 64 bits; only real is right */
    uint64_t          mag;
    double            real; /* the nearest double, for either kind */
};
/** False when @p j is no number (true and false are none). */
bool bkt_json_num(const json_t *j, struct bkt_num *out);
/** A whole decimal number in @p text in the C locale; false when there is more or less in it. */
bool bkt_json_strtod(const char *text, double *out);
/** A number known to be one, from @p p to @p end, where something follows that can't belong to it; false: it overflows. */
bool bkt_json_real_at(const char *p, const char *end, double *out);

/** Whether @p j is text: a string, and not a number in disguise. */
bool bkt_json_is_text(const json_t *j);
/** The bytes of a text (or of an object's key, by _key), decoded, appended to @p out. */
BKT_NODISCARD int bkt_json_text(const json_t *j, struct bkt_buf *out);
BKT_NODISCARD int bkt_json_key(const char *key, struct bkt_buf *out);
/** The same as a new C string (free()); @p what names it.  BKT_EFORMAT: no text, or a NUL in it. */
BKT_NODISCARD int bkt_json_dup(const json_t *j, const char *what, char **out, struct bkt_err *err);
BKT_NODISCARD int bkt_json_dup_key(const char *key, char **out, struct bkt_err *err);

/* Members of an object.  Missing and null are the same: NULL. */
const json_t *bkt_json_get(const json_t *obj, const char *key);
const char   *bkt_json_word(const json_t *obj, const char *key); /* a plain ASCII string, or NULL */
double        bkt_json_seconds(const json_t *obj, const char *key); /* a time stamp; 0 when absent */
/** An integer in 0 .. @p max; BKT_EFORMAT names @p what. */
BKT_NODISCARD int bkt_json_u64(const json_t *j, const char *what, uint64_t max, uint64_t *out, struct bkt_err *err);
/** A list of at most @p max_n integers, or one integer in place of the list. */
BKT_NODISCARD int bkt_json_u64_list(const json_t *j, const char *what, uint64_t max, unsigned max_n, uint64_t *v,
                                    unsigned *n, struct bkt_err *err);

/* ---- making and writing trees; text and numbers of any kind ----
 * new: a new reference, or NULL when memory is short; set and push take their value's reference over, NULL included
 * (BKT_ENOMEM), so that they can be nested. */
json_t           *bkt_json_new_text(const void *p, size_t n); /* any bytes */
json_t           *bkt_json_new_str(const char *s);
json_t           *bkt_json_new_u64(uint64_t v);
json_t           *bkt_json_new_real(double v);
json_t           *bkt_json_new_base64(const struct bkt_buf *b);
BKT_NODISCARD int bkt_json_set(json_t *obj, const char *key, json_t *value); /* a key of the schema's */
BKT_NODISCARD int bkt_json_push(json_t *list, json_t *value);
/* The same for keys that are somebody's names, in whatever bytes. */
BKT_NODISCARD int bkt_json_set_named(json_t *obj, const char *name, json_t *value);
BKT_NODISCARD int bkt_json_get_named(const json_t *obj, const char *name, json_t **out); /* borrowed; NULL: none */
BKT_NODISCARD int bkt_json_del_named(json_t *obj, const char *name);
/** The unit of an escape \uXXXX at @p p; -1: there is none. */
int bkt_json_unit_at(const unsigned char *p, const unsigned char *end);
/** A character, or a lone surrogate, as it stands in a text of the tree. */
BKT_NODISCARD int bkt_json_add_unit(struct bkt_buf *out, uint32_t unit);
/** Append the text of a tree, as Python's json.dumps() writes it. */
BKT_NODISCARD int bkt_json_dump(const json_t *j, struct bkt_buf *out, struct bkt_err *err);

/** What to look up in a table of words: the index, or -1. */
struct bkt_word {
    const char *text;
    int         value;
};
/** The value of the row with @p text, else @p missing. */
int bkt_word_find(const struct bkt_word *table, size_t n, const char *text, int missing);
const char *bkt_word_of(const struct bkt_word *table, size_t n, int value); /* the first; NULL */

#endif
