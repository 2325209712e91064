/* See json_scan.h. */
#include "base/text/json_scan.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/utf8.h"

#define MAX_DIGITS 18 /* of an integer with its sign; longer ones are kept as text */

void bkt_json_scan_init(struct bkt_json_scan *s, const void *p, size_t n)
{
    const unsigned char *from = n ? p : (const unsigned char *)"";
    *s = (struct bkt_json_scan){.p = from, .begin = from, .end = from + n, .max_depth = BKT_JSON_DEPTH};
}

static int wrong(struct bkt_json_scan *s, const char *what)
{
    s->wrong = what;
    return BKT_EFORMAT;
}

int bkt_json_scan_fail(const struct bkt_json_scan *s, int rc, struct bkt_err *err)
{
    if (rc == BKT_ENOMEM)
        BKT_NOMEM(err);
    BKT_FAIL(err, BKT_EFORMAT, "not JSON at byte %zu of %zu: %s", (size_t)(s->p - s->begin),
             (size_t)(s->end - s->begin), s->wrong);
}

enum kind { ORDINARY, QUOTE, BACKSLASH, CONTROL, HIGH };

static enum kind kind_of(unsigned char c)
{
    if (c >= 0x80)
        return HIGH;
    if (c < 0x20)
        return CONTROL;
    return c == '"' ? QUOTE : c == '\\' ? BACKSLASH : ORDINARY;
}

int bkt_json_scan_peek(struct bkt_json_scan *s)
{
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\n' || *s->p == '\t' || *s->p == '\r'))
        s->p++;
    return s->p < s->end ? *s->p : 0;
}

static bool take(struct bkt_json_scan *s, int c)
{
    if (bkt_json_scan_peek(s) != c)
        return false;
    s->p++;
    return true;
}

/* ---- strings ---- */

/* The unit of an escape \uXXXX at @p p; -1: no such escape. */
static int unit_at(const unsigned char *p, const unsigned char *end)
{
    int v = 0;
    if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
        return -1;
    for (unsigned i = 2; i < 6; i++) {
        int d = bkt_hex_digit((char)p[i]);
        if (d < 0)
            return -1;
        v = v * 16 + d;
    }
    return v;
}

static int add_raw(struct bkt_buf *out, unsigned byte)
{
    unsigned char two[2] = {(unsigned char)(0xc0 | byte >> 6), (unsigned char)(0x80 | (byte & 0x3f))};
    BKT_PASS(bkt_buf_add_str(out, BKT_JSON_RAW_MARK));
    return bkt_buf_add(out, two, 2);
}

/* A surrogate without its other half. */
static int add_lone(struct bkt_buf *out, unsigned unit)
{
    if (unit >= 0xdc80 && unit <= 0xdcff)
        return add_raw(out, unit & 0xff);
    BKT_PASS(add_raw(out, 0xe0 | unit >> 12));
    BKT_PASS(add_raw(out, 0x80 | (unit >> 6 & 0x3f)));
    return add_raw(out, 0x80 | (unit & 0x3f));
}

static int add_utf8(struct bkt_buf *out, uint32_t unit)
{
    unsigned char c[4];
    return bkt_buf_add(out, c, bkt_utf8_put(unit, c));
}

int bkt_json_add_unit(struct bkt_buf *out, uint32_t unit)
{
    if (unit >= 0xd800 && unit <= 0xdfff)
        return add_lone(out, unit);
    if (unit == 0x10ffff)
        BKT_PASS(bkt_buf_add_str(out, BKT_JSON_RAW_MARK));
    return add_utf8(out, unit);
}

/* Skip eight characters at a time, as long as all are ORDINARY. */
static const unsigned char *skip_ordinary(const unsigned char *p, const unsigned char *end)
{
    const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
    uint64_t       v;
    for (; end - p >= 8; p += 8) {
        memcpy(&v, p, 8);
        uint64_t quote = v ^ ones * '"', back = v ^ ones * '\\';
        if ((v | (v - ones * 0x20) | ((quote - ones) & ~quote) | ((back - ones) & ~back)) & tops)
            break;
    }
    while (p < end && kind_of(*p) == ORDINARY)
        p++;
    return p;
}

/* Consume an escape at s->p; *unit gets its code point, lone surrogates included. */
static int take_escape(struct bkt_json_scan *s, uint32_t *unit)
{
    static const char letters[] = "\"\\/bfnrt", stand_for[] = "\"\\/\b\f\n\r\t";
    int               high      = unit_at(s->p, s->end);
    if (high < 0) {
        const char *at = s->end - s->p >= 2 && s->p[1] ? strchr(letters, s->p[1]) : NULL;
        if (!at)
            return wrong(s, "an unknown escape");
        s->p += 2;
        *unit = (uint32_t)stand_for[at - letters];
        return BKT_OK;
    }
    int low = high >= 0xd800 && high < 0xdc00 ? unit_at(s->p + 6, s->end) : -1;
    *unit = low >= 0xdc00 && low <= 0xdfff
                ? 0x10000 + ((uint32_t)(high - 0xd800) << 10) + (uint32_t)(low - 0xdc00)
                : (uint32_t)high;
    if (s->unmarked && (!*unit || (*unit >= 0xd800 && *unit <= 0xdfff)))
        return wrong(s, "a string with a NUL or half a surrogate pair");
    s->p += *unit > 0xffff ? 12 : 6;
    return BKT_OK;
}

static int add_unit(struct bkt_json_scan *s, uint32_t unit)
{
    if (s->unmarked)
        return add_utf8(&s->text, unit);
    if (unit == 1 && !s->text.len)
        BKT_PASS(bkt_json_add_unit(&s->text, 1)); /* so that it isn't taken for a number's mark */
    return bkt_json_add_unit(&s->text, unit);
}

/* Collect the string at @p start, which can be borrowed only up to s->p. */
static int put_together(struct bkt_json_scan *s, const unsigned char *start)
{
    bkt_buf_clear(&s->text);
    for (;;) {
        BKT_PASS(bkt_buf_add(&s->text, start, (size_t)(s->p - start)));
        if (s->p >= s->end)
            return wrong(s, "a string without end");
        size_t        n;
        uint32_t      unit;
        enum kind     kind = kind_of(*s->p);
        if (kind == QUOTE)
            return BKT_OK;
        if (kind == CONTROL)
            return wrong(s, "a control character in a string");
        if (kind == BACKSLASH) {
            BKT_PASS(take_escape(s, &unit));
        } else {
            if ((n = bkt_utf8_at(s->p, (size_t)(s->end - s->p), &unit)) == 0)
                return wrong(s, "a byte that is not UTF-8");
            s->p += n;
        }
        BKT_PASS(add_unit(s, unit));
        start = s->p;
        s->p = skip_ordinary(s->p, s->end);
    }
}

int bkt_json_scan_string(struct bkt_json_scan *s, struct bkt_json_scan_text *out)
{
    if (!take(s, '"'))
        return wrong(s, "expected a string");
    const unsigned char *start = s->p;
    s->p = skip_ordinary(s->p, s->end);
    if (s->p < s->end && *s->p == '"') {
        *out = (struct bkt_json_scan_text){(const char *)start, (size_t)(s->p - start), true};
    } else {
        BKT_PASS(put_together(s, start));
        *out = (struct bkt_json_scan_text){bkt_buf_str(&s->text), s->text.len, false};
    }
    s->p++;
    return BKT_OK;
}

/* ---- numbers ---- */

static locale_t c_locale;

static void make_c_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

locale_t bkt_c_locale(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, make_c_locale);
    return c_locale;
}

/* strtod() with a decimal point, whatever the program's locale. */
static double c_strtod(const char *text, char **end)
{
    locale_t c = bkt_c_locale();
    return c ? strtod_l(text, end, c) : strtod(text, end);
}

bool bkt_json_strtod(const char *text, double *out)
{
    char *end;
    *out = c_strtod(text, &end);
    return end != text && *end == 0 && !isspace((unsigned char)*text);
}

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

/* The end of the number at @p p, which must not be the document's end; NULL: not a number. */
static const unsigned char *number_end(const unsigned char *p, const unsigned char *end, bool *real)
{
    const unsigned char *from;
    p += p < end && *p == '-';
    from  = p;
    p     = skip_digits(p, end);
    *real = false;
    if (p == from || (*from == '0' && p - from > 1))
        return NULL;
    if (p < end && *p == '.') {
        from  = ++p;
        p     = skip_digits(p, end);
        *real = true;
        if (p == from)
            return NULL;
    }
    if (p < end && (*p | 32) == 'e') {
        p += 1 + (end - p > 1 && (p[1] == '+' || p[1] == '-'));
        from  = p;
        p     = skip_digits(p, end);
        *real = true;
        if (p == from)
            return NULL;
    }
    return p < end && !in_token(*p) ? p : NULL;
}

static int64_t integer_of(const unsigned char *p, const unsigned char *end)
{
    bool    neg = *p == '-';
    int64_t v   = 0;
    for (p += neg; p < end; p++)
        v = v * 10 + (*p - '0');
    return neg ? -v : v;
}

/* A number before a character that can't belong to it; false: it overflows. */
static bool real_at(const char *p, const char *end, double *out)
{
    char *stop;
    *out = c_strtod(p, &stop);
    return stop == end && isfinite(*out);
}

/* The length of NaN or Infinity at s->p; 0: neither. */
static size_t odd_word(const struct bkt_json_scan *s)
{
    static const char *const names[] = {"NaN", "Infinity", "-Infinity"};
    size_t                   left    = (size_t)(s->end - s->p), n;
    for (size_t i = 0; i < BKT_COUNT(names); i++)
        if (left > (n = strlen(names[i])) && memcmp(s->p, names[i], n) == 0 && !in_token(s->p[n]))
            return n;
    return 0;
}

int bkt_json_scan_number(struct bkt_json_scan *s, struct bkt_json_scan_number *out)
{
    (void)bkt_json_scan_peek(s);
    bool                 real = false;
    const unsigned char *end  = number_end(s->p, s->end, &real);
    size_t               n    = end ? (size_t)(end - s->p) : odd_word(s);
    if (!n)
        return wrong(s, s->p < s->end ? "not a value" : "the end is missing");
    *out = (struct bkt_json_scan_number){.kind = BKT_JSON_ODD, .p = (const char *)s->p, .n = n};
    s->p += n;
    if (real && real_at(out->p, out->p + n, &out->real)) {
        out->kind = BKT_JSON_REAL;
    } else if (end && !real && n <= MAX_DIGITS) {
        out->kind = BKT_JSON_INT;
        out->i    = integer_of((const unsigned char *)out->p, end);
        out->real = (double)out->i;
    }
    return BKT_OK;
}

/* ---- values ---- */

int bkt_json_scan_word(struct bkt_json_scan *s, const char *word)
{
    size_t n = strlen(word);
    (void)bkt_json_scan_peek(s);
    if ((size_t)(s->end - s->p) <= n || memcmp(s->p, word, n) != 0 || in_token(s->p[n]))
        return wrong(s, "not a value");
    s->p += n;
    return BKT_OK;
}

int bkt_json_scan_enter(struct bkt_json_scan *s, char bracket)
{
    if (bkt_json_scan_peek(s) != bracket)
        return wrong(s, bracket == '{' ? "expected '{'" : "expected '['");
    if (s->depth >= s->max_depth)
        return wrong(s, "nested too deeply");
    s->depth++;
    s->p++;
    return BKT_OK;
}

void bkt_json_scan_leave(struct bkt_json_scan *s)
{
    s->depth--;
}

static int next(struct bkt_json_scan *s, bool first, char bracket, bool *more)
{
    *more = false;
    if (take(s, bracket)) /* empty, or behind the last one */
        return BKT_OK;
    if (!first && !take(s, ','))
        return wrong(s, s->p < s->end ? "expected ','" : "the end is missing");
    *more = true;
    return BKT_OK;
}

int bkt_json_scan_member(struct bkt_json_scan *s, bool first, struct bkt_json_scan_text *key, bool *more)
{
    BKT_PASS(next(s, first, '}', more));
    if (!*more)
        return BKT_OK;
    BKT_PASS(bkt_json_scan_string(s, key));
    if (!key->ready && memchr(key->p, 0, key->n))
        return wrong(s, "a name with a NUL");
    if (!take(s, ':'))
        return wrong(s, "expected ':' after a name");
    (void)bkt_json_scan_peek(s);
    return BKT_OK;
}

int bkt_json_scan_entry(struct bkt_json_scan *s, bool first, bool *more)
{
    return next(s, first, ']', more);
}

static int skip_nested(struct bkt_json_scan *s, char bracket)
{
    struct bkt_json_scan_text key;
    bool                 more = false;
    BKT_PASS(bkt_json_scan_enter(s, bracket));
    for (bool first = true;; first = false) {
        BKT_PASS(bracket == '{' ? bkt_json_scan_member(s, first, &key, &more)
                                : bkt_json_scan_entry(s, first, &more));
        if (!more)
            return bkt_json_scan_leave(s), BKT_OK;
        BKT_PASS(bkt_json_scan_skip(s));
    }
}

int bkt_json_scan_skip(struct bkt_json_scan *s)
{
    struct bkt_json_scan_text text;
    struct bkt_json_scan_number number;
    int c = bkt_json_scan_peek(s);
    switch (c) {
    case '{':
    case '[': return skip_nested(s, (char)c);
    case '"':
        return bkt_json_scan_string(s, &text);
    case 't':
        return bkt_json_scan_word(s, "true");
    case 'f':
        return bkt_json_scan_word(s, "false");
    case 'n':
        return bkt_json_scan_word(s, "null");
    default:
        return bkt_json_scan_number(s, &number);
    }
}

int bkt_json_scan_end(struct bkt_json_scan *s)
{
    return bkt_json_scan_peek(s) || s->p < s->end ? wrong(s, "text after the end") : BKT_OK;
}
