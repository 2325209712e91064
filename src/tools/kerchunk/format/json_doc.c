/* See json_doc.h. */
#include "tools/kerchunk/format/json_doc.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/utf8.h"

static int read_value(struct bkt_json_scan *s, struct kerchunk_doc *d);

void kerchunk_doc_free(struct kerchunk_doc *d)
{
    while (d) {
        struct kerchunk_doc *next = d->next;
        kerchunk_doc_free(d->first); /* at most KERCHUNK_DOC_DEPTH deep */
        free(d->key);
        free(d->text);
        free(d);
        d = next;
    }
}

void kerchunk_doc_freep(struct kerchunk_doc **d)
{
    kerchunk_doc_free(*d);
}

/* No text has a NUL (scan.unmarked). */
static int copy(const struct bkt_json_scan_text *t, char **out)
{
    *out = strndup(t->p, t->n);
    return *out ? BKT_OK : BKT_ENOMEM;
}

/* One more member; p is at its value. */
static int read_member(struct bkt_json_scan *s, struct kerchunk_doc *d, struct kerchunk_doc ***end,
                       const struct bkt_json_scan_text *key)
{
    struct kerchunk_doc *m = calloc(1, sizeof *m);
    if (!m)
        return BKT_ENOMEM;
    **end = m;
    *end = &m->next;
    d->n++;
    if (key)
        BKT_PASS(copy(key, &m->key));
    return read_value(s, m);
}

static int read_members(struct bkt_json_scan *s, struct kerchunk_doc *d, bool object)
{
    struct kerchunk_doc **end = &d->first;
    bool more = true;
    struct bkt_json_scan_text key;
    d->kind = object ? KERCHUNK_OBJECT : KERCHUNK_LIST;
    BKT_PASS(bkt_json_scan_enter(s, object ? '{' : '['));
    for (bool first = true;; first = false) {
        BKT_PASS(object ? bkt_json_scan_member(s, first, &key, &more) : bkt_json_scan_entry(s, first, &more));
        if (!more)
            break;
        BKT_PASS(read_member(s, d, &end, object ? &key : NULL));
    }
    bkt_json_scan_leave(s);
    return BKT_OK;
}

/* NaN, Infinity, and numbers that are too long for the scanner's own types. */
static int read_odd(struct kerchunk_doc *d)
{
    char *end;
    (void)bkt_json_strtod(d->text, &d->real); /* independent of the locale */
    if (strspn(d->text, "-0123456789") != strlen(d->text)) {
        d->kind = KERCHUNK_REAL;
        d->real = strcmp(d->text, "NaN") == 0         ? NAN
                  : strcmp(d->text, "Infinity") == 0  ? INFINITY
                  : strcmp(d->text, "-Infinity") == 0 ? -INFINITY
                                                      : d->real;
        return BKT_OK;
    }
    d->kind = KERCHUNK_INT;
    errno = 0;
    d->i = strtoll(d->text, &end, 10);
    if (errno == 0)
        return BKT_OK;
    errno = 0;
    d->u = strtoull(d->text, &end, 10);
    d->is_u64 = errno == 0 && d->text[0] != '-';
    d->kind = d->is_u64 ? KERCHUNK_INT : KERCHUNK_REAL;
    return BKT_OK;
}

static int read_number(struct bkt_json_scan *s, struct kerchunk_doc *d)
{
    struct bkt_json_scan_number n;
    BKT_PASS(bkt_json_scan_number(s, &n));
    d->text = strndup(n.p, n.n);
    if (!d->text)
        return BKT_ENOMEM;
    if (n.kind == BKT_JSON_ODD)
        return read_odd(d);
    d->kind = n.kind == BKT_JSON_INT ? KERCHUNK_INT : KERCHUNK_REAL;
    d->i = n.kind == BKT_JSON_INT ? n.i : 0;
    d->real = n.kind == BKT_JSON_INT ? (double)n.i : n.real;
    return BKT_OK;
}

static int read_value(struct bkt_json_scan *s, struct kerchunk_doc *d)
{
    struct bkt_json_scan_text text;
    switch (bkt_json_scan_peek(s)) {
    case '{':
        return read_members(s, d, true);
    case '[':
        return read_members(s, d, false);
    case '"':
        d->kind = KERCHUNK_TEXT;
        BKT_PASS(bkt_json_scan_string(s, &text));
        return copy(&text, &d->text);
    case 't':
        d->kind = KERCHUNK_BOOL, d->i = 1;
        return bkt_json_scan_word(s, "true");
    case 'f':
        d->kind = KERCHUNK_BOOL;
        return bkt_json_scan_word(s, "false");
    case 'n':
        d->kind = KERCHUNK_NULL;
        return bkt_json_scan_word(s, "null");
    default:
        return read_number(s, d);
    }
}

int kerchunk_doc_parse(const void *p, size_t n, struct kerchunk_doc **out, struct bkt_err *err)
{
    struct bkt_json_scan s;
    BKT_FAIL_IF(err, n > KERCHUNK_DOC_MAX, BKT_EFORMAT, "document of %zu bytes: at most %zu are read", n,
                KERCHUNK_DOC_MAX);
    bkt_json_scan_init(&s, p, n);
    s.unmarked = true;
    s.max_depth = KERCHUNK_DOC_DEPTH;
    struct kerchunk_doc *d = calloc(1, sizeof *d);
    int rc = d ? read_value(&s, d) : BKT_ENOMEM;
    rc = rc ? rc : bkt_json_scan_end(&s);
    if (rc < 0) {
        rc = bkt_json_scan_fail(&s, rc, err);
        kerchunk_doc_free(d);
        d = NULL;
    }
    bkt_buf_fini(&s.text);
    *out = d;
    return rc;
}

const struct kerchunk_doc *kerchunk_doc_get(const struct kerchunk_doc *d, const char *key)
{
    const struct kerchunk_doc *found = NULL;
    for (const struct kerchunk_doc *m = d && d->kind == KERCHUNK_OBJECT ? d->first : NULL; m; m = m->next)
        if (strcmp(m->key, key) == 0)
            found = m;
    return found;
}

const char *kerchunk_doc_text(const struct kerchunk_doc *d, const char *key)
{
    const struct kerchunk_doc *m = kerchunk_doc_get(d, key);
    return m && m->kind == KERCHUNK_TEXT ? m->text : NULL;
}

bool kerchunk_doc_size(const struct kerchunk_doc *d, uint64_t *out)
{
    if (!d || d->kind != KERCHUNK_INT || (!d->is_u64 && d->i < 0))
        return false;
    *out = d->is_u64 ? d->u : (uint64_t)d->i;
    return true;
}

static int write_members(const struct kerchunk_doc *d, struct bkt_buf *out)
{
    bool object = d->kind == KERCHUNK_OBJECT;
    BKT_PASS(bkt_buf_add_str(out, object ? "{" : "["));
    for (const struct kerchunk_doc *m = d->first; m; m = m->next) {
        if (m != d->first)
            BKT_PASS(bkt_buf_add_str(out, ", "));
        if (object) {
            BKT_PASS(bkt_utf8_quote(out, m->key, strlen(m->key)));
            BKT_PASS(bkt_buf_add_str(out, ": "));
        }
        BKT_PASS(kerchunk_doc_write(m, out));
    }
    return bkt_buf_add_str(out, object ? "}" : "]");
}

int kerchunk_doc_write(const struct kerchunk_doc *d, struct bkt_buf *out)
{
    switch (d->kind) {
    case KERCHUNK_NULL:
        return bkt_buf_add_str(out, "null");
    case KERCHUNK_BOOL:
        return bkt_buf_add_str(out, d->i ? "true" : "false");
    case KERCHUNK_TEXT:
        return bkt_utf8_quote(out, d->text, strlen(d->text));
    case KERCHUNK_INT:
    case KERCHUNK_REAL:
        return bkt_buf_add_str(out, d->text);
    default:
        return write_members(d, out);
    }
}
