/* A small JSON document as a tree: Zarr's metadata, templates and gen entries of a reference set. */
#pragma once

#include "base/text/json_scan.h"

enum kerchunk_kind {
    KERCHUNK_NULL,
    KERCHUNK_BOOL,
    KERCHUNK_INT,
    KERCHUNK_REAL,
    KERCHUNK_TEXT,
    KERCHUNK_LIST,
    KERCHUNK_OBJECT
};

struct kerchunk_doc {
    enum kerchunk_kind kind;
    char *key;   /* in an object, else NULL */
    char *text;  /* TEXT: UTF-8 without a NUL; INT and REAL: the number as it was written */
    int64_t i;   /* INT that fits, BOOL */
    double real; /* INT and REAL */
    bool is_u64; /* INT beyond int64_t that fits u: then u counts */
    uint64_t u;
    struct kerchunk_doc *first, *next; /* LIST and OBJECT: the members, in order */
    size_t n;
};

#define KERCHUNK_DOC_DEPTH 64                 /* values within values */
#define KERCHUNK_DOC_MAX   ((size_t)64 << 20) /* bytes of one document */

/** Parse a value of @p n bytes.  @p out: free by kerchunk_doc_free().  BKT_EFORMAT: not JSON, a string with a
 * NUL or a lone surrogate, deeper than KERCHUNK_DOC_DEPTH or longer than KERCHUNK_DOC_MAX. */
BKT_NODISCARD int kerchunk_doc_parse(const void *p, size_t n, struct kerchunk_doc **out, struct bkt_err *err);
void kerchunk_doc_free(struct kerchunk_doc *d);
void kerchunk_doc_freep(struct kerchunk_doc **d);

/** The member of an object; the last one if the name occurs twice, as in Python.  NULL: none, or @p d is
 * not an object. */
const struct kerchunk_doc *kerchunk_doc_get(const struct kerchunk_doc *d, const char *key);
/** The text of a member; NULL: it has none. */
const char *kerchunk_doc_text(const struct kerchunk_doc *d, const char *key);
/** A whole number of 0 or more; false: another value. */
bool kerchunk_doc_size(const struct kerchunk_doc *d, uint64_t *out);

/** Append the value as JSON. */
BKT_NODISCARD int kerchunk_doc_write(const struct kerchunk_doc *d, struct bkt_buf *out);
