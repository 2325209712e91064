/* A scanner for JSON as it is nearly always: strictly a part of what bkt_json_load() takes, into the very same trees, several
 * times as fast as jansson's lexer.  Whatever is malformed, or rare enough, it leaves to jansson, which has the last word and
 * the message: BKT_EUNSUP, which is no error.  Inside src/schema. */
#ifndef BKT_SCAN_H
#define BKT_SCAN_H

#include "json.h"

struct bkt_scan {
    const unsigned char *p, *end;
    struct bkt_buf       text; /* of the string read last, where that had to be put together */
    unsigned             depth;
};
/** A string as json.h describes texts: borrowed from the document or from scan.text, until the next one. */
struct bkt_scan_text {
    const char *p;
    size_t      n;
    bool        ready; /* these are the bytes of the document, too, and no marks are in them */
};

/** A member of the document's that isn't wanted as a tree: it is there as an empty object. */
struct bkt_aside {
    const char *key;
    int (*scan)(struct bkt_scan *s, void *arg); /* its value, white space before it skipped; BKT_OK, BKT_EUNSUP or BKT_ENOMEM */
    void *arg;
    bool  found;
};

/* All of them: BKT_OK, BKT_EUNSUP or BKT_ENOMEM; p is behind what was read, or anywhere after a failure. */

/** A whole document.  @p aside may be NULL. */
BKT_NODISCARD int bkt_scan_document(const void *p, size_t n, struct bkt_aside *aside, json_t **out);
/** Any value, to a tree. */
BKT_NODISCARD int bkt_scan_value(struct bkt_scan *s, json_t **out);
/** A string from its opening quote on. */
BKT_NODISCARD int bkt_scan_string(struct bkt_scan *s, struct bkt_scan_text *out);
/** A number, as bkt_json_num() would give it as a real. */
BKT_NODISCARD int bkt_scan_real(struct bkt_scan *s, double *out);
/** Step into an object.  Then as long as _member() says so in @p more: its key is read, and p is at the value. */
BKT_NODISCARD int bkt_scan_open(struct bkt_scan *s);
BKT_NODISCARD int bkt_scan_member(struct bkt_scan *s, bool first, struct bkt_scan_text *key, bool *more);

#endif
