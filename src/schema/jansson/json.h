/* JSON as HSDS writes it, as jansson's trees.  Only src/schema includes this.  base/text/json_scan.h reads
 * and checks all JSON; jansson's parser is not used, and its process-wide allocator is the program's.
 *
 * Python's json module writes some things that JSON (and jansson) lacks.  A tree has them as marked texts.
 * The accessors below undo that, so that nothing is lost.  The marks are:
 *   NaN, Infinity, -Infinity, integers of 19 digits or more, reals that overflow a double
 *       -> a string of U+0001, then the token
 *   a text that starts with U+0001
 *       -> one U+0001 more
 *   lone surrogates \udc80..\udcff (Python's surrogateescape of the raw bytes 0x80..0xff)
 *       -> U+10FFFF, then U+0080..U+00FF; U+10FFFF itself is doubled
 *   other lone surrogates
 *       -> the three bytes that encode them (as in CESU-8), each as a raw byte
 *
 * So text that may hold user data must be read by bkt_json_text() or bkt_json_dup(), never by
 * json_string_value() alone.  The last of duplicate keys wins, as in Python. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/text/json_scan.h"

#define BKT_NUMBER_TAG "\x01" /* before a number that is kept as text */

/** Parse a whole document, which must be an object.  BKT_EFORMAT: the message has the place of the error;
 *  BKT_ENOMEM.  The tree is the caller's, json_decref(). */
BKT_NODISCARD int bkt_json_load(const void *p, size_t n, json_t **out, struct bkt_err *err);
void              bkt_json_decrefp(json_t **j); /* for BKT_CLEANUP */

/** A member of the document that isn't wanted as a tree: the tree has an empty object in its place. */
struct bkt_aside {
    const char *key;
    /* its value, white space before it skipped.  BKT_OK, BKT_EFORMAT or BKT_ENOMEM as the scanner's;
     * BKT_EUNSUP: it can be read as a tree only.  A second member of the name gives BKT_EUNSUP, too: the last
     * member counts */
    int (*scan)(struct bkt_json_scan *s, void *arg);
    void *arg;
    bool found;
};

/** bkt_json_load() with @p aside, which may be NULL.  BKT_EUNSUP (no message): the aside's. */
BKT_NODISCARD int bkt_json_document(const void *p, size_t n, struct bkt_aside *aside, json_t **out,
                                    struct bkt_err *err);
/** Any value, to a tree.  BKT_OK, or the scanner's BKT_EFORMAT or BKT_ENOMEM. */
BKT_NODISCARD int bkt_json_value(struct bkt_json_scan *s, json_t **out);

/** Number of any size. */
enum bkt_num_kind { BKT_NUM_INT, BKT_NUM_REAL };
struct bkt_num {
    enum bkt_num_kind kind;
    bool              neg;  /* INT: value is -mag */
    bool              huge; /* INT: beyond 64 bits; only real is right */
    uint64_t          mag;
    double            real; /* the nearest double, for either kind */
};
/** False if @p j is not a number (true and false are not numbers). */
bool bkt_json_num(const json_t *j, struct bkt_num *out);

/** Whether @p j is text: a string, and not a number in disguise. */
bool bkt_json_is_text(const json_t *j);
/** The bytes of a text, decoded, appended to @p out. */
BKT_NODISCARD int bkt_json_text(const json_t *j, struct bkt_buf *out);
/** As bkt_json_text(), as a new C string (free()).  @p what names it in messages.  BKT_EFORMAT: not a text,
 *  or with a NUL. */
BKT_NODISCARD int bkt_json_dup(const json_t *j, const char *what, char **out, struct bkt_err *err);
/** A member's key as a new C string (free()), decoded.  BKT_ENOMEM. */
BKT_NODISCARD int bkt_json_dup_key(const char *key, char **out, struct bkt_err *err);

/** Bytes that are base64 in the JSON, appended.  @p j NULL: none.  BKT_EFORMAT: the message has @p what. */
BKT_NODISCARD int bkt_json_base64(const json_t *j, const char *what, struct bkt_buf *out,
                                  struct bkt_err *err);

/* Members of an object.  Missing and null are the same: NULL. */
const json_t *bkt_json_get(const json_t *obj, const char *key);
const char *bkt_json_word(const json_t *obj, const char *key);      /* an ASCII string, or NULL */
double        bkt_json_seconds(const json_t *obj, const char *key); /* a time stamp; 0 when absent */
/** An integer in 0 .. @p max.  BKT_EFORMAT: the message has @p what. */
BKT_NODISCARD int bkt_json_u64(const json_t *j, const char *what, uint64_t max, uint64_t *out,
                               struct bkt_err *err);

/* ---- making and writing trees; text and numbers of any kind ---- */
/* bkt_json_new_*() return a new reference, or NULL if memory is short.  bkt_json_set*() and bkt_json_push()
 * take over their value's reference, NULL included (BKT_ENOMEM), so that calls can be nested. */
json_t           *bkt_json_new_text(const void *p, size_t n); /* any bytes */
json_t           *bkt_json_new_str(const char *s);
json_t           *bkt_json_new_u64(uint64_t v);
json_t           *bkt_json_new_real(double v);
json_t           *bkt_json_new_base64(const struct bkt_buf *b);
BKT_NODISCARD int bkt_json_set(json_t *obj, const char *key, json_t *value); /* a key of the schema's */
BKT_NODISCARD int bkt_json_push(json_t *list, json_t *value);
/** bkt_json_set_dims() and bkt_json_push_dims() set or push a list of numbers.  BKT_ENOMEM. */
BKT_NODISCARD int bkt_json_set_dims(json_t *obj, const char *key, const uint64_t *dims, unsigned rank);
BKT_NODISCARD int bkt_json_push_dims(json_t *list, const uint64_t *dims, unsigned rank);
/** The end of making a tree (NULL: no memory): @p rc, and *out gets the tree, which is freed if @p rc is a
 *  failure. */
BKT_NODISCARD int bkt_json_give(json_t *j, int rc, json_t **out);
/* bkt_json_*_named(): the same for keys that are names of users' links and attributes, in whatever bytes. */
BKT_NODISCARD int bkt_json_set_named(json_t *obj, const char *name, json_t *value);
/** Get the member @p name; *out is borrowed; NULL: the object has none. */
BKT_NODISCARD int bkt_json_get_named(const json_t *obj, const char *name, json_t **out);
/** A missing member is not an error.  BKT_ENOMEM. */
BKT_NODISCARD int bkt_json_del_named(json_t *obj, const char *name);
/** Append the text of a tree, as Python's json.dumps() writes it. */
BKT_NODISCARD int bkt_json_dump(const json_t *j, struct bkt_buf *out, struct bkt_err *err);
/** As bkt_json_dump(), without blanks. */
BKT_NODISCARD int bkt_json_dump_compact(const json_t *j, struct bkt_buf *out, struct bkt_err *err);

/** A row of a table of words. */
struct bkt_word {
    const char *text;
    int         value;
};
/** The value of the row with @p text, else @p missing. */
int bkt_word_find(const struct bkt_word *table, size_t n, const char *text, int missing);
/** The text of the first row with @p value; NULL: no row has it. */
const char *bkt_word_of(const struct bkt_word *table, size_t n, int value);
