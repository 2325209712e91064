/* Comparison of our scanner with jansson's parser: the same code and the same tree for the same bytes.  An
 * object must be the same with its links read from the text and from a tree.  Differences are printed. */
#ifndef BKT_SCAN_SAME_H
#define BKT_SCAN_SAME_H

#include "schema/jansson/json.h"
#include "schema/json/documents.h"
#include "schema/json/schema_json.h"
#include "unit/schema/json/jansson_load.h"
#include "unit/schema/json/model_equal.h"

static inline bool same_story(const struct bkt_err *a, const struct bkt_err *b)
{
    if (a->n != b->n)
        return false;
    for (unsigned i = 0; i < a->n; i++)
        if (strcmp(a->frame[i].msg, b->frame[i].msg) != 0)
            return false;
    return true;
}

static inline const char *trees_differ(const void *p, size_t n)
{
    static struct bkt_err e;
    struct bkt_buf        text = {0}, text2 = {0};
    json_t               *a = NULL, *b = NULL;
    e.n = 0;
    int ra = bkt_json_load(p, n, &a, &e), rb = jansson_load(p, n, &b);
    const char *what = ra != rb ? "codes of trees" : (ra == BKT_OK) != (e.n == 0) ? "no message of a tree" : NULL;
    if (!what && ra == BKT_OK && !json_equal(a, b))
        what = "trees";
    if (!what && ra == BKT_OK && (bkt_json_dump(a, &text, NULL) < 0 || bkt_json_dump(b, &text2, NULL) < 0 || !same_bytes(&text, &text2)))
        what = "texts of trees";
    json_decref(a);
    json_decref(b);
    bkt_buf_fini(&text);
    bkt_buf_fini(&text2);
    return what;
}

static inline const char *objects_differ(const void *p, size_t n)
{
    static struct bkt_err e, f;
    struct bkt_object    *a = NULL, *b = NULL;
    e.n = f.n = 0;
    int ra = bkt_object_parse(p, n, NULL, &a, &e), rb = bkt_object_parse_tree(p, n, NULL, &b, &f);
    const char *what = ra != rb ? "codes of objects" : !same_story(&e, &f) ? "messages of objects" : NULL;
    if (!what && ra == BKT_OK)
        what = object_differs(a, b);
    if (!what && ra == BKT_OK && a->kind == BKT_GROUP && a->group.links.next != b->group.links.next)
        what = "number of the next link";
    bkt_object_free(a);
    bkt_object_free(b);
    return what;
}

/* NULL: nothing does. */
static inline const char *ways_differ(const void *p, size_t n)
{
    const char *what = trees_differ(p, n);
    return what ? what : objects_differ(p, n);
}

#endif
