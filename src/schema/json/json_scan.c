/* See json_scan.h.  jansson is slower: it moves each character through four functions, after a pass of ours. */
#include "schema/json/json_scan.h"

#include <string.h>

#include "base/utf8.h"

#define MAX_DEPTH  128 /* jansson takes 2048; nothing of the schema's nests that far */
#define MAX_DIGITS 18  /* of an integer with its sign; longer ones are kept as text (json.h) */
#define MAX_NUMBER 300 /* characters of a real */

enum kind { PLAIN, QUOTE, BACKSLASH, CONTROL, HIGH };

static enum kind kind_of(unsigned char c)
{
    if (c >= 0x80)
        return HIGH;
    if (c < 0x20)
        return CONTROL;
    return c == '"' ? QUOTE : c == '\\' ? BACKSLASH : PLAIN;
}

static void skip_space(struct bkt_scan *s)
{
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\n' || *s->p == '\t' || *s->p == '\r'))
        s->p++;
}

/* The next character that isn't white space, without consuming it; 0: the end. */
static int peek(struct bkt_scan *s)
{
    skip_space(s);
    return s->p < s->end ? *s->p : 0;
}

static bool take(struct bkt_scan *s, int c)
{
    if (peek(s) != c)
        return false;
    s->p++;
    return true;
}

/* ---- strings ---- */

/* Skip eight characters at a time, as long as all are PLAIN. */
static const unsigned char *skip_plain(const unsigned char *p, const unsigned char *end)
{
    const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
    uint64_t       v;
    for (; end - p >= 8; p += 8) {
        memcpy(&v, p, 8);
        uint64_t quote = v ^ ones * '"', back = v ^ ones * '\\';
        if ((v | (v - ones * 0x20) | ((quote - ones) & ~quote) | ((back - ones) & ~back)) & tops)
            break;
    }
    while (p < end && kind_of(*p) == PLAIN)
        p++;
    return p;
}

/* Consume an escape at s->p.  Returns its code point, lone surrogates included, or -1. */
static int32_t take_escape(struct bkt_scan *s)
{
    static const char letters[] = "\"\\/bfnrt", stand_for[] = "\"\\/\b\f\n\r\t";
    int unit = bkt_json_unit_at(s->p, s->end);
    if (unit < 0) {
        const char *at = s->end - s->p >= 2 && s->p[1] ? strchr(letters, s->p[1]) : NULL;
        s->p += 2;
        return at ? stand_for[at - letters] : -1;
    }
    s->p += 6;
    int low = unit >= 0xd800 && unit < 0xdc00 ? bkt_json_unit_at(s->p, s->end) : -1;
    if (low < 0xdc00 || low > 0xdfff)
        return unit;
    s->p += 6;
    return 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
}

/* Collect the string at @p start, which can be borrowed only up to s->p. */
static int put_together(struct bkt_scan *s, const unsigned char *start)
{
    bkt_buf_clear(&s->text);
    for (;;) {
        if (bkt_buf_add(&s->text, start, (size_t)(s->p - start)) < 0)
            return BKT_ENOMEM;
        if (s->p >= s->end)
            return BKT_EUNSUP;
        size_t   n;
        uint32_t cp;
        switch (kind_of(*s->p)) {
        case QUOTE: return BKT_OK;
        case BACKSLASH: {
            int32_t unit = take_escape(s);
            if (unit <= 0) /* a NUL: only some strings may have one */
                return BKT_EUNSUP;
            if (unit == 1 && !s->text.len)
                BKT_PASS(bkt_json_add_unit(&s->text, 1)); /* so that it isn't taken for a number's mark */
            BKT_PASS(bkt_json_add_unit(&s->text, (uint32_t)unit));
            break;
        }
        case HIGH:
            if ((n = bkt_utf8_at(s->p, (size_t)(s->end - s->p), &cp)) == 0)
                return BKT_EUNSUP;
            BKT_PASS(bkt_json_add_unit(&s->text, cp));
            s->p += n;
            break;
        default: return BKT_EUNSUP;
        }
        start = s->p;
        s->p  = skip_plain(s->p, s->end);
    }
}

int bkt_scan_string(struct bkt_scan *s, struct bkt_scan_text *out)
{
    if (!take(s, '"'))
        return BKT_EUNSUP;
    const unsigned char *start = s->p;
    s->p                       = skip_plain(s->p, s->end);
    if (s->p < s->end && *s->p == '"') {
        *out = (struct bkt_scan_text){(const char *)start, (size_t)(s->p - start), true};
    } else {
        BKT_PASS(put_together(s, start));
        *out = (struct bkt_scan_text){bkt_buf_str(&s->text), s->text.len, false};
    }
    s->p++;
    return BKT_OK;
}

/* ---- numbers ---- */

static const unsigned char *skip_digits(const unsigned char *p, const unsigned char *end)
{
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    return p;
}

static bool in_token(unsigned char c)
{
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '-' || c == '+' || c == '.';
}

/* The end of the number at s->p, which must not be the document's end; NULL: not a supported number. */
static const unsigned char *number_end(const struct bkt_scan *s, bool *real)
{
    const unsigned char *p = s->p + (s->p < s->end && *s->p == '-'), *from = p;
    p     = skip_digits(p, s->end);
    *real = false;
    if (p == from || (*from == '0' && p - from > 1))
        return NULL;
    if (p < s->end && *p == '.') {
        from  = ++p;
        p     = skip_digits(p, s->end);
        *real = true;
        if (p == from)
            return NULL;
    }
    if (p < s->end && (*p | 32) == 'e') {
        p += 1 + (s->end - p > 1 && (p[1] == '+' || p[1] == '-'));
        from  = p;
        p     = skip_digits(p, s->end);
        *real = true;
        if (p == from)
            return NULL;
    }
    return p < s->end && !in_token(*p) && p - s->p < MAX_NUMBER ? p : NULL;
}

static int64_t integer_of(const unsigned char *p, const unsigned char *end)
{
    bool    neg = *p == '-';
    int64_t v   = 0;
    for (p += neg; p < end; p++)
        v = v * 10 + (*p - '0');
    return neg ? -v : v;
}

/* Set *v if the number is real, else *i. */
static int scan_number(struct bkt_scan *s, bool *real, double *v, int64_t *i)
{
    const unsigned char *from = s->p, *to = number_end(s, real);
    if (!to || (!*real && to - from > MAX_DIGITS))
        return BKT_EUNSUP;
    s->p = to;
    if (*real)
        return bkt_json_real_at((const char *)from, (const char *)to, v) ? BKT_OK : BKT_EUNSUP;
    *i = integer_of(from, to);
    return BKT_OK;
}

int bkt_scan_real(struct bkt_scan *s, double *out)
{
    bool    real = false;
    int64_t i    = 0;
    skip_space(s);
    BKT_PASS(scan_number(s, &real, out, &i));
    if (!real)
        *out = (double)i;
    return BKT_OK;
}

/* ---- values ---- */

static int made(json_t *j, json_t **out)
{
    *out = j;
    return j ? BKT_OK : BKT_ENOMEM;
}

/* A number of n characters that is kept as text (json.h). */
static int tagged_value(struct bkt_scan *s, size_t n, json_t **out)
{
    bkt_buf_clear(&s->text);
    BKT_PASS(bkt_buf_add(&s->text, "\x01", 1));
    BKT_PASS(bkt_buf_add(&s->text, s->p, n));
    s->p += n;
    return made(json_stringn_nocheck(bkt_buf_str(&s->text), s->text.len), out);
}

static size_t odd_number(const struct bkt_scan *s)
{
    static const char *const names[] = {"NaN", "Infinity", "-Infinity"};
    size_t                   left    = (size_t)(s->end - s->p), n;
    bool                     real    = false;
    const unsigned char     *end     = number_end(s, &real);
    if (end)
        return !real && end - s->p > MAX_DIGITS ? (size_t)(end - s->p) : 0;
    for (size_t i = 0; i < BKT_COUNT(names); i++)
        if (left > (n = strlen(names[i])) && memcmp(s->p, names[i], n) == 0 && !in_token(s->p[n]))
            return n;
    return 0;
}

static int number_value(struct bkt_scan *s, json_t **out)
{
    bool    real = false;
    double  v    = 0;
    int64_t i    = 0;
    size_t  odd  = odd_number(s);
    if (odd)
        return tagged_value(s, odd, out);
    BKT_PASS(scan_number(s, &real, &v, &i));
    return made(real ? json_real(v) : json_integer(i), out);
}

static int word_value(struct bkt_scan *s, const char *word, json_t *j, json_t **out)
{
    size_t n = strlen(word);
    if ((size_t)(s->end - s->p) <= n || memcmp(s->p, word, n) != 0 || in_token(s->p[n]))
        return BKT_EUNSUP;
    s->p += n;
    return made(j, out);
}

int bkt_scan_open(struct bkt_scan *s) { return take(s, '{') ? BKT_OK : BKT_EUNSUP; }

int bkt_scan_member(struct bkt_scan *s, bool first, struct bkt_scan_text *key, bool *more)
{
    *more = false;
    if (take(s, '}')) /* an empty object, or behind the last member */
        return BKT_OK;
    if (!first && !take(s, ','))
        return BKT_EUNSUP;
    BKT_PASS(bkt_scan_string(s, key));
    if (!take(s, ':'))
        return BKT_EUNSUP;
    skip_space(s);
    *more = true;
    return BKT_OK;
}

static int copy_key(const struct bkt_scan_text *key, struct bkt_buf *out)
{
    bkt_buf_clear(out);
    return bkt_buf_add(out, key->p, key->n);
}

static int object_members(struct bkt_scan *s, struct bkt_aside *aside, json_t *obj)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name = {0};
    struct bkt_scan_text key;
    bool                 more = false;
    BKT_PASS(bkt_scan_open(s));
    for (bool first = true;; first = false) {
        json_t *value = NULL;
        BKT_PASS(bkt_scan_member(s, first, &key, &more));
        if (!more)
            return BKT_OK;
        BKT_PASS(copy_key(&key, &name));
        if (aside && strcmp(bkt_buf_str(&name), aside->key) == 0) {
            if (aside->found) /* a duplicate: the last one counts */
                return BKT_EUNSUP;
            aside->found = true;
            BKT_PASS(aside->scan(s, aside->arg));
            BKT_PASS(made(json_object(), &value));
        } else {
            BKT_PASS(bkt_scan_value(s, &value));
        }
        if (json_object_set_new_nocheck(obj, bkt_buf_str(&name), value) < 0)
            return BKT_ENOMEM;
    }
}

static int list_entries(struct bkt_scan *s, json_t *list)
{
    s->p++;
    if (take(s, ']'))
        return BKT_OK;
    for (;;) {
        json_t *value = NULL;
        BKT_PASS(bkt_scan_value(s, &value));
        if (json_array_append_new(list, value) < 0)
            return BKT_ENOMEM;
        if (take(s, ']'))
            return BKT_OK;
        if (!take(s, ','))
            return BKT_EUNSUP;
    }
}

static int nested_value(struct bkt_scan *s, struct bkt_aside *aside, json_t *j, json_t **out)
{
    if (!j)
        return BKT_ENOMEM;
    int rc = s->depth >= MAX_DEPTH ? BKT_EUNSUP : BKT_OK;
    s->depth++;
    if (rc == BKT_OK)
        rc = json_is_object(j) ? object_members(s, aside, j) : list_entries(s, j);
    s->depth--;
    if (rc == BKT_OK)
        *out = j;
    else
        json_decref(j);
    return rc;
}

int bkt_scan_value(struct bkt_scan *s, json_t **out)
{
    struct bkt_scan_text text;
    switch (peek(s)) {
    case '{': return nested_value(s, NULL, json_object(), out);
    case '[': return nested_value(s, NULL, json_array(), out);
    case '"':
        BKT_PASS(bkt_scan_string(s, &text));
        return made(json_stringn_nocheck(text.p, text.n), out);
    case 't': return word_value(s, "true", json_true(), out);
    case 'f': return word_value(s, "false", json_false(), out);
    case 'n': return word_value(s, "null", json_null(), out);
    default: return number_value(s, out);
    }
}

int bkt_scan_document(const void *p, size_t n, struct bkt_aside *aside, json_t **out)
{
    struct bkt_scan s  = {.p = p, .end = (const unsigned char *)p + n};
    int             rc = peek(&s) == '{' ? nested_value(&s, aside, json_object(), out) : BKT_EUNSUP;
    skip_space(&s);
    if (rc == BKT_OK && s.p < s.end) { /* more text follows */
        json_decref(*out);
        *out = NULL;
        rc   = BKT_EUNSUP;
    }
    bkt_buf_fini(&s.text);
    return rc;
}
