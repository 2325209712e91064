/* Texts to jansson's trees (base/text/json_scan.h reads them).  Inside src/schema. */
#pragma once

#include "schema/jansson/json.h"

/** A member of the document that isn't wanted as a tree: the tree has an empty object in its place. */
struct bkt_aside {
    const char *key;
    /* its value, white space before it skipped.  BKT_OK, BKT_EFORMAT or BKT_ENOMEM as the scanner's;
     * BKT_EUNSUP: it can be read as a tree only.  A second member of the name gives BKT_EUNSUP, too: the last
     * member counts */
    int (*scan)(struct bkt_scan *s, void *arg);
    void *arg;
    bool  found;
};

/** bkt_json_load() with @p aside, which may be NULL.  BKT_EUNSUP (no message): the aside's. */
BKT_NODISCARD int bkt_json_document(const void *p, size_t n, struct bkt_aside *aside, json_t **out,
                                    struct bkt_err *err);
/** Any value, to a tree.  BKT_OK, or the scanner's BKT_EFORMAT or BKT_ENOMEM. */
BKT_NODISCARD int bkt_json_value(struct bkt_scan *s, json_t **out);
