/* See json_doc.h. */
#include "tools/kerchunk/format/json_doc.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/utf8.h"

static int read_value(struct bkt_json_scan *s, struct kc_doc *d);

void kc_doc_free(struct kc_doc *d)
{
    while (d) {
        struct kc_doc *next = d->next;
        kc_doc_free(d->first); /* at most KC_DOC_DEPTH deep */
        free(d->key);
        free(d->text);
        free(d);
        d = next;
    }
}

void kc_doc_freep(struct kc_doc **d)
{
    kc_doc_free(*d);
}

/* No text has a NUL (scan.plain). */
static int copy(const struct bkt_json_scan_text *t, char **out)
{
    *out = strndup(t->p, t->n);
    return *out ? BKT_OK : BKT_ENOMEM;
}

/* One more member; p is at its value. */
static int read_member(struct bkt_json_scan *s, struct kc_doc *d, struct kc_doc ***end,
                       const struct bkt_json_scan_text *key)
{
    struct kc_doc *m = calloc(1, sizeof *m);
    if (!m)
        return BKT_ENOMEM;
    **end = m;
    *end = &m->next;
    d->n++;
    if (key)
        BKT_PASS(copy(key, &m->key));
    return read_value(s, m);
}

static int read_members(struct bkt_json_scan *s, struct kc_doc *d, bool object)
{
    struct kc_doc **end = &d->first;
    bool more = true;
    struct bkt_json_scan_text key;
    d->kind = object ? KC_OBJECT : KC_LIST;
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
static int read_odd(struct kc_doc *d)
{
    char *end;
    (void)bkt_json_strtod(d->text, &d->real); /* independent of the locale */
    if (strspn(d->text, "-0123456789") != strlen(d->text)) {
        d->kind = KC_REAL;
        d->real = strcmp(d->text, "NaN") == 0         ? NAN
                  : strcmp(d->text, "Infinity") == 0  ? INFINITY
                  : strcmp(d->text, "-Infinity") == 0 ? -INFINITY
                                                      : d->real;
        return BKT_OK;
    }
    d->kind = KC_INT;
    errno = 0;
    d->i = strtoll(d->text, &end, 10);
    if (errno == 0)
        return BKT_OK;
    errno = 0;
    d->u = strtoull(d->text, &end, 10);
    d->is_u64 = errno == 0 && d->text[0] != '-';
    d->kind = d->is_u64 ? KC_INT : KC_REAL;
    return BKT_OK;
}

static int read_number(struct bkt_json_scan *s, struct kc_doc *d)
{
    struct bkt_json_scan_number n;
    BKT_PASS(bkt_json_scan_number(s, &n));
    d->text = strndup(n.p, n.n);
    if (!d->text)
        return BKT_ENOMEM;
    if (n.kind == BKT_JSON_ODD)
        return read_odd(d);
    d->kind = n.kind == BKT_JSON_INT ? KC_INT : KC_REAL;
    d->i = n.kind == BKT_JSON_INT ? n.i : 0;
    d->real = n.kind == BKT_JSON_INT ? (double)n.i : n.real;
    return BKT_OK;
}

static int read_value(struct bkt_json_scan *s, struct kc_doc *d)
{
    struct bkt_json_scan_text text;
    switch (bkt_json_scan_peek(s)) {
    case '{':
        return read_members(s, d, true);
    case '[':
        return read_members(s, d, false);
    case '"':
        d->kind = KC_TEXT;
        BKT_PASS(bkt_json_scan_string(s, &text));
        return copy(&text, &d->text);
    case 't':
        d->kind = KC_BOOL, d->i = 1;
        return bkt_json_scan_word(s, "true");
    case 'f':
        d->kind = KC_BOOL;
        return bkt_json_scan_word(s, "false");
    case 'n':
        d->kind = KC_NULL;
        return bkt_json_scan_word(s, "null");
    default:
        return read_number(s, d);
    }
}

int kc_doc_parse(const void *p, size_t n, struct kc_doc **out, struct bkt_err *err)
{
    struct bkt_json_scan s;
    BKT_FAIL_IF(err, n > KC_DOC_MAX, BKT_EFORMAT, "a document of %zu bytes; at most %zu are read", n,
                KC_DOC_MAX);
    bkt_json_scan_init(&s, p, n);
    s.plain = true;
    s.max_depth = KC_DOC_DEPTH;
    struct kc_doc *d = calloc(1, sizeof *d);
    int rc = d ? read_value(&s, d) : BKT_ENOMEM;
    rc = rc ? rc : bkt_json_scan_end(&s);
    if (rc < 0) {
        rc = bkt_json_scan_fail(&s, rc, err);
        kc_doc_free(d);
        d = NULL;
    }
    bkt_buf_fini(&s.text);
    *out = d;
    return rc;
}

const struct kc_doc *kc_doc_get(const struct kc_doc *d, const char *key)
{
    const struct kc_doc *found = NULL;
    for (const struct kc_doc *m = d && d->kind == KC_OBJECT ? d->first : NULL; m; m = m->next)
        if (strcmp(m->key, key) == 0)
            found = m;
    return found;
}

const char *kc_doc_text(const struct kc_doc *d, const char *key)
{
    const struct kc_doc *m = kc_doc_get(d, key);
    return m && m->kind == KC_TEXT ? m->text : NULL;
}

bool kc_doc_size(const struct kc_doc *d, uint64_t *out)
{
    if (!d || d->kind != KC_INT || (!d->is_u64 && d->i < 0))
        return false;
    *out = d->is_u64 ? d->u : (uint64_t)d->i;
    return true;
}

static int write_members(const struct kc_doc *d, struct bkt_buf *out)
{
    bool object = d->kind == KC_OBJECT;
    BKT_PASS(bkt_buf_add_str(out, object ? "{" : "["));
    for (const struct kc_doc *m = d->first; m; m = m->next) {
        if (m != d->first)
            BKT_PASS(bkt_buf_add_str(out, ", "));
        if (object) {
            BKT_PASS(bkt_utf8_quote(out, m->key, strlen(m->key)));
            BKT_PASS(bkt_buf_add_str(out, ": "));
        }
        BKT_PASS(kc_doc_write(m, out));
    }
    return bkt_buf_add_str(out, object ? "}" : "]");
}

int kc_doc_write(const struct kc_doc *d, struct bkt_buf *out)
{
    switch (d->kind) {
    case KC_NULL:
        return bkt_buf_add_str(out, "null");
    case KC_BOOL:
        return bkt_buf_add_str(out, d->i ? "true" : "false");
    case KC_TEXT:
        return bkt_utf8_quote(out, d->text, strlen(d->text));
    case KC_INT:
    case KC_REAL:
        return bkt_buf_add_str(out, d->text);
    default:
        return write_members(d, out);
    }
}
