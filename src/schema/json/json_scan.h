/* A scanner for the usual forms of JSON.  It accepts a part of the texts that bkt_json_load() accepts, makes
 * the same trees, and is faster than jansson's lexer.  Malformed or rare text is left to
 * jansson, which decides and makes the message: BKT_EUNSUP, which isn't an error.  Inside src/schema. */
#ifndef BKT_SCAN_H
#define BKT_SCAN_H

#include "schema/json/json.h"

struct bkt_scan {
    const unsigned char *p, *end;
    struct bkt_buf       text; /* of the string read last, if it had to be put together */
    unsigned             depth;
};
/** A string as json.h describes texts: borrowed from the document or from scan.text, until the next
 *  string. */
struct bkt_scan_text {
    const char *p;
    size_t      n;
    bool        ready; /* the document's bytes are the same and have no marks in them */
};

/** A member of the document that isn't wanted as a tree: the tree has an empty object in its place. */
struct bkt_aside {
    const char *key;
    /* its value, white space before it skipped; BKT_OK, BKT_EUNSUP or BKT_ENOMEM */
    int (*scan)(struct bkt_scan *s, void *arg);
    void *arg;
    bool  found;
};

/* All of them return BKT_OK, BKT_EUNSUP or BKT_ENOMEM; p is behind the read text, or anywhere after a
 * failure. */

/** A whole document.  @p aside may be NULL. */
BKT_NODISCARD int bkt_scan_document(const void *p, size_t n, struct bkt_aside *aside, json_t **out);
/** Any value, to a tree. */
BKT_NODISCARD int bkt_scan_value(struct bkt_scan *s, json_t **out);
/** A string from its opening quote on. */
BKT_NODISCARD int bkt_scan_string(struct bkt_scan *s, struct bkt_scan_text *out);
/** A number, as bkt_json_num() would give it as a real. */
BKT_NODISCARD int bkt_scan_real(struct bkt_scan *s, double *out);
/** Step into an object.  Then its members follow as long as _member() sets @p more: the key is read, p is at
 *  the value. */
BKT_NODISCARD int bkt_scan_open(struct bkt_scan *s);
BKT_NODISCARD int bkt_scan_member(struct bkt_scan *s, bool first, struct bkt_scan_text *key, bool *more);

#endif
