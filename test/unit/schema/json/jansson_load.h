/* The reference for base/text/json_scan.h: jansson's parser, after a pass that marks what jansson lacks (json.h). */
#ifndef BKT_JANSSON_LOAD_H
#define BKT_JANSSON_LOAD_H

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "schema/jansson/json.h"

static const char raw_mark[] = BKT_JSON_RAW_MARK;

/* Copies lazily: out stays empty until something is changed. */
struct pass {
    const char    *text, *end, *copied; /* copied: the text before it is in out already */
    struct bkt_buf out;
};

static inline int pass_replace(struct pass *ps, const char *from, const char *to, const void *with, size_t n)
{
    BKT_PASS(bkt_buf_add(&ps->out, ps->copied, (size_t)(from - ps->copied)));
    ps->copied = to;
    return bkt_buf_add(&ps->out, with, n);
}

static inline int unit_at(const struct pass *ps, const char *s)
{
    int v = 0;
    if (ps->end - s < 6 || s[0] != '\\' || s[1] != 'u')
        return -1;
    for (unsigned i = 2; i < 6; i++) {
        if (!isxdigit((unsigned char)s[i]))
            return -1;
        v = v * 16 + (isdigit((unsigned char)s[i]) ? s[i] - '0' : (s[i] | 32) - 'a' + 10);
    }
    return v;
}

/* Handle one escape at *s, and move *s behind it. */
static inline int pass_escape(struct pass *ps, const char **s)
{
    int unit = unit_at(ps, *s), low;
    if (unit < 0xd800 || unit > 0xdfff) {
        *s += unit < 0 ? (ps->end - *s < 2 ? 1 : 2) : 6;
        return BKT_OK;
    }
    low = unit < 0xdc00 ? unit_at(ps, *s + 6) : -1;
    if (low >= 0xdc00 && low <= 0xdfff) {
        if (unit == 0xdbff && low == 0xdfff)
            BKT_PASS(pass_replace(ps, *s, *s, raw_mark, 4));
        *s += 12;
        return BKT_OK;
    }
    BKT_PASS(pass_replace(ps, *s, *s + 6, "", 0));
    BKT_PASS(bkt_json_add_unit(&ps->out, (uint32_t)unit));
    *s += 6;
    return BKT_OK;
}

/* Handle a string whose opening quote is at *at, and move *at behind the closing one. */
static inline int pass_string(struct pass *ps, const char **at)
{
    const char *s = *at + 1;
    if (unit_at(ps, s) == 1)
        BKT_PASS(pass_replace(ps, s, s, "\\u0001", 6));
    while (s < ps->end && *s != '"') {
        if (*s == '\\') {
            BKT_PASS(pass_escape(ps, &s));
        } else if ((unsigned char)*s == 0xf4 && ps->end - s >= 4 && memcmp(s, raw_mark, 4) == 0) {
            BKT_PASS(pass_replace(ps, s, s, raw_mark, 4));
            s += 4;
        } else {
            s++;
        }
    }
    *at = s < ps->end ? s + 1 : s;
    return BKT_OK;
}

static inline size_t digits_at(const char *p, size_t n)
{
    size_t k = 0;
    while (k < n && isdigit((unsigned char)p[k]))
        k++;
    return k;
}

/* -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)? */
static inline bool is_number(const char *p, size_t n)
{
    size_t at = n && p[0] == '-', k = digits_at(p + at, n - at);
    if (!k || (p[at] == '0' && k > 1))
        return false;
    at += k;
    if (at < n && p[at] == '.') {
        if (!(k = digits_at(p + at + 1, n - at - 1)))
            return false;
        at += 1 + k;
    }
    if (at < n && (p[at] | 32) == 'e') {
        at += 1 + (n - at > 1 && (p[at + 1] == '+' || p[at + 1] == '-'));
        if (!(k = digits_at(p + at, n - at)))
            return false;
        at += k;
    }
    return at == n;
}

static inline bool needs_tag(const char *token, size_t n)
{
    static const char *const names[] = {"NaN", "Infinity", "-Infinity"};
    for (size_t i = 0; i < BKT_COUNT(names); i++)
        if (strlen(names[i]) == n && memcmp(token, names[i], n) == 0)
            return true;
    if (!is_number(token, n))
        return false;
    size_t sign = token[0] == '-';
    if (sign + digits_at(token + sign, n - sign) == n)
        return n >= 19;
    if (!memchr(token, 'e', n) && !memchr(token, 'E', n) && n < 300)
        return false;
    double d;
    char  *text = strndup(token, n); /* rare; a token that can't be copied is left to jansson */
    bool   over = text && bkt_json_strtod(text, &d) && isinf(d);
    free(text);
    return over;
}

/* Handle a number or bare word at *at. */
static inline int pass_token(struct pass *ps, const char **at)
{
    const char *from = *at, *to = from;
    while (to < ps->end && (isalnum((unsigned char)*to) || *to == '-' || *to == '+' || *to == '.'))
        to++;
    *at = to;
    if (!needs_tag(from, (size_t)(to - from)))
        return BKT_OK;
    BKT_PASS(pass_replace(ps, from, from, "\"\\u0001", 7));
    return pass_replace(ps, to, to, "\"", 1);
}

static inline int pass_all(struct pass *ps)
{
    const char *at = ps->text;
    while (at < ps->end) {
        if (*at == '"')
            BKT_PASS(pass_string(ps, &at));
        else if (isalnum((unsigned char)*at) || *at == '-')
            BKT_PASS(pass_token(ps, &at));
        else
            at++;
    }
    if (ps->out.len)
        return bkt_buf_add(&ps->out, ps->copied, (size_t)(ps->end - ps->copied));
    return BKT_OK;
}

/* A tree by jansson's parser. */
static inline int jansson_load(const void *p, size_t n, json_t **out)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf own = {0};
    json_error_t je;
    struct pass  ps = {.text = p, .end = (const char *)p + n, .copied = p};
    int          rc = n ? pass_all(&ps) : BKT_EFORMAT;
    bkt_buf_move(&own, &ps.out);
    BKT_PASS(rc);
    json_t *j = own.len ? json_loadb((const char *)own.ptr, own.len, JSON_ALLOW_NUL, &je) : json_loadb(p, n, JSON_ALLOW_NUL, &je);
    if (!json_is_object(j)) {
        json_decref(j);
        return BKT_EFORMAT;
    }
    *out = j;
    return BKT_OK;
}

#endif
