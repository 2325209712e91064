/* Objects, types, layouts, times and sizes as text and as JSON, alike in all verbs. */
#pragma once

#include <stdarg.h>
#include <stdio.h>

#include "schema/json/acl.h"
#include "schema/domain/domain.h"
#include "tools/show/json_out.h"
#include "tools/source/key_list.h"

/** The text that vprintf would write; owned by the caller (free()); NULL: out of memory. */
char *bkt_vtext(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));

/* bkt_say*() append text.  If memory is short, @p b becomes empty: nothing is shown rather than a part. */
void bkt_say(struct bkt_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void bkt_say_str(struct bkt_buf *b, const char *text);
void bkt_say_err(struct bkt_buf *b, const struct bkt_err *err); /* what went wrong, root cause last */

/* Appended to @p b. */
void bkt_show_type(struct bkt_buf *b, const struct bkt_type *t);   /* H5T_STD_I32LE, {a: …, b: …} */
void bkt_show_space(struct bkt_buf *b, const struct bkt_space *s); /* {10, 20/Inf}, scalar, null */
void bkt_show_filters(struct bkt_buf *b, const struct bkt_dset *ds); /* "shuffle, deflate 9"; "" for none */
void bkt_show_time(struct bkt_buf *b, double seconds);             /* 2026-01-31T09:30:00Z, "-" for 0 */
void bkt_show_bytes(struct bkt_buf *b, uint64_t n, bool human);    /* 1234567, or 1.2M */
/** Text for a terminal: control characters and what isn't UTF-8 become \xNN. */
void bkt_show_name(struct bkt_buf *b, const char *name);
/** As bkt_show_name(), for a message, or for a text that may be a URL: without its secrets (url.h). */
void bkt_show_url(struct bkt_buf *b, const char *text);

const char *bkt_show_kind(enum bkt_kind k);                 /* group, dataset, datatype */
const char *bkt_show_layout(enum bkt_layout_class c);       /* as the schema spells it: H5D_CHUNKED, … */
const char *bkt_show_link(enum bkt_link_class c);           /* hard, soft, external, other */

/* Members of an object of JSON. */
void bkt_jout_shape(struct bkt_jout *j, const struct bkt_space *s); /* "shape": {…} */
void bkt_jout_layout(struct bkt_jout *j, const struct bkt_dset *ds);    /* layout, chunk, filters, … */
void bkt_jout_where(struct bkt_jout *j, const struct bkt_extent_use *u); /* "storage": {…} */
/** "attributes": [{name, type, shape, value}]. */
void bkt_jout_attrs(struct bkt_jout *j, const struct bkt_object *o);
/** The entries of an access list: "acls": {…}, or lines that begin with @p before. */
void bkt_show_acls(struct bkt_jout *j, const struct bkt_acl_entry *v, size_t n, const char *before);
void bkt_jout_time(struct bkt_jout *j, const char *key, double seconds); /* seconds; null for 0 */

/* ---- values (value_text.c) ---- */
/** An attribute in a line: name: type space = value, of which at most @p most bytes, and then "…". */
void bkt_show_attr(struct bkt_buf *b, const struct bkt_attr *a, size_t most);
/** The value of an attribute, as a flat list in C order unless it is a scalar. null: it has none, or it can't
 * be read. */
void bkt_jout_value(struct bkt_jout *j, const char *key, const struct bkt_attr *a);

/* ---- a record that a verb states once: members of an object of JSON, or rows of text ---- */
struct bkt_shown_record {
    struct bkt_jout *j;      /* silent: the record is text */
    int              indent, width; /* of the names of rows */
    bool             human;  /* sizes as 1.2M */
};

/* bkt_shown_record_*() show one value each.  @p key: its name in JSON, NULL: it is left out there.  @p name:
 * its name as a row, NULL: it is left out there; "": the row continues the one above.  A text of NULL is
 * null, or "-". */
void bkt_shown_record_str(const struct bkt_shown_record *r, const char *key, const char *name,
                          const char *text);
/** A text that may be a URL: without its secrets (url.h). */
void bkt_shown_record_url(const struct bkt_shown_record *r, const char *key, const char *name,
                          const char *text);
void bkt_shown_record_u64(const struct bkt_shown_record *r, const char *key, const char *name, uint64_t v);
void bkt_shown_record_bytes(const struct bkt_shown_record *r, const char *key, const char *name, uint64_t v);
void bkt_shown_record_time(const struct bkt_shown_record *r, const char *key, const char *name,
                           double seconds);
void bkt_shown_record_type(const struct bkt_shown_record *r, const char *key, const char *name,
                           const struct bkt_type *t);
/** The places of a dataset's data, and its files if there are several: rows alone. */
void bkt_shown_record_where(const struct bkt_shown_record *r, const struct bkt_extent_use *where);
/** A row of text alone; @p b is empty afterwards. */
void bkt_shown_record_row(const struct bkt_shown_record *r, const char *name, struct bkt_buf *b);
