/* JSON written to a file as it is made, without a tree in memory.
 *
 * Text is written as ASCII.  A byte that isn't UTF-8 becomes the lone surrogate \udc80..\udcff, as in
 * Python's surrogateescape and in HSDS.  Numbers that JSON lacks (NaN, infinities) become the strings "NaN",
 * "Infinity", "-Infinity". */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define BKT_JOUT_DEPTH 64 /* the verbs' output nests less than 10 deep, whatever the data */

struct bkt_jout {
    FILE    *to;
    unsigned depth;
    bool     some[BKT_JOUT_DEPTH + 1]; /* whether this level has a member already */
    char     kind[BKT_JOUT_DEPTH + 1]; /* '{' or '[' */
};

/** Begin a document.  @p to is borrowed; NULL: nothing is written (the verb prints text). */
void bkt_jout_init(struct bkt_jout *j, FILE *to);

/* bkt_jout_*() write one value or bracket each.  @p key: the member's name in an object; NULL in an array,
 * and at the top. */
void bkt_jout_open(struct bkt_jout *j, const char *key, char kind); /* '{' or '[' */
void bkt_jout_close(struct bkt_jout *j); /* the innermost; the last one ends the line */
void bkt_jout_str(struct bkt_jout *j, const char *key, const char *text); /* NULL: null */
/** URLs in it without their secrets (url.h); NULL: null. */
void bkt_jout_url(struct bkt_jout *j, const char *key, const char *text);
void bkt_jout_text(struct bkt_jout *j, const char *key, const void *p, size_t n);
void bkt_jout_u64(struct bkt_jout *j, const char *key, uint64_t v);
void bkt_jout_i64(struct bkt_jout *j, const char *key, int64_t v);
/** The shortest text that gives the value back. */
void bkt_jout_real(struct bkt_jout *j, const char *key, double v);
void bkt_jout_bool(struct bkt_jout *j, const char *key, bool v);
void bkt_jout_null(struct bkt_jout *j, const char *key);
/** Members of an object, whose names and kinds are in @p what: "path:s bytes:n".  s: text, u: text with URLs
 *  (both may be NULL), n: uint64_t, b: bool, r: double. */
void bkt_jout_members(struct bkt_jout *j, const char *what, ...);
/** An object of such members, in a list or at the top. */
void bkt_jout_object(struct bkt_jout *j, const char *what, ...);
/** A member of the same depth that another bkt_jout wrote, here without a comma. */
void bkt_jout_raw(struct bkt_jout *j, const char *text);
/** An array of numbers on one line; UINT64_MAX is written as "unlimited". */
void bkt_jout_dims(struct bkt_jout *j, const char *key, const uint64_t *v, unsigned n);
