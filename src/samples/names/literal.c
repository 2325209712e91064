#include "samples/names/literal.h"

#include <string.h>

#define DEPTH_MAX 16

/* A parser: `p` moves on, `end` stays. */
struct text {
    const char *p, *end;
};

static void skip_blanks(struct text *t)
{
    while (t->p < t->end && strchr(" \t\r\n", *t->p) && *t->p)
        t->p++;
}

static bool take(struct text *t, char c)
{
    skip_blanks(t);
    if (t->p == t->end || *t->p != c)
        return false;
    t->p++;
    return true;
}

static bool skip_string(struct text *t)
{
    char quote = *t->p++;
    for (; t->p < t->end && *t->p != quote; t->p++) {
        if (*t->p == '\\' && ++t->p == t->end)
            return false;
    }
    return t->p++ < t->end;
}

/* A number or a name. */
static bool skip_word(struct text *t)
{
    const char *begin = t->p;
    while (t->p < t->end && *t->p &&
           strchr("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_+-.", *t->p))
        t->p++;
    return t->p > begin;
}

static bool skip_value(struct text *t, int depth);

static bool skip_items(struct text *t, char close, bool pairs, int depth)
{
    t->p++;
    while (!take(t, close)) {
        if (!skip_value(t, depth + 1) || (pairs && (!take(t, ':') || !skip_value(t, depth + 1))))
            return false;
        if (take(t, close))
            return true;
        if (!take(t, ','))
            return false;
    }
    return true;
}

static bool skip_value(struct text *t, int depth)
{
    skip_blanks(t);
    if (t->p == t->end || depth > DEPTH_MAX)
        return false;
    switch (*t->p) {
    case '\'':
    case '"':
        return skip_string(t);
    case '(':
        return skip_items(t, ')', false, depth);
    case '[':
        return skip_items(t, ']', false, depth);
    case '{':
        return skip_items(t, '}', true, depth);
    default:
        return skip_word(t);
    }
}

int bkt_literal_check(struct bkt_literal text, struct bkt_err *err)
{
    struct text t = {text.p, text.p + text.n};
    skip_blanks(&t);
    bool ok = t.p < t.end && *t.p == '{' && skip_value(&t, 0);
    skip_blanks(&t);
    BKT_FAIL_IF(err, !ok || t.p != t.end, BKT_EFORMAT, "not a dict of Python's literals: byte %zu",
                (size_t)(t.p - text.p));
    return BKT_OK;
}

/* The next value; the parser stands behind it. */
static bool next_value(struct text *t, struct bkt_literal *out)
{
    skip_blanks(t);
    const char *begin = t->p;
    if (!skip_value(t, 0))
        return false;
    *out = (struct bkt_literal){begin, (size_t)(t->p - begin)};
    return true;
}

bool bkt_literal_find(struct bkt_literal dict, const char *key, struct bkt_literal *value)
{
    struct text t = {dict.p, dict.p + dict.n};
    struct bkt_literal name, found;
    size_t n = strlen(key);
    if (!take(&t, '{'))
        return false;
    while (!take(&t, '}')) {
        if (!next_value(&t, &name) || !take(&t, ':') || !next_value(&t, &found))
            return false;
        if (name.n == n + 2 && memcmp(name.p + 1, key, n) == 0) {
            *value = found;
            return true;
        }
        (void)take(&t, ',');
    }
    return false;
}

bool bkt_literal_text(struct bkt_literal value, char *out, size_t size)
{
    if (value.n < 2 || (value.p[0] != '\'' && value.p[0] != '"') || !size)
        return false;
    size_t n = value.n - 2 < size - 1 ? value.n - 2 : size - 1;
    memcpy(out, value.p + 1, n);
    out[n] = 0;
    return true;
}

static bool number(struct text *t, hsize_t *out)
{
    hsize_t v = 0;
    skip_blanks(t);
    const char *begin = t->p;
    for (; t->p < t->end && *t->p >= '0' && *t->p <= '9'; t->p++) {
        if (v > (INT64_MAX - 9) / 10)
            return false;
        v = 10 * v + (hsize_t)(*t->p - '0');
    }
    *out = v;
    return t->p > begin;
}

bool bkt_literal_shape(struct bkt_literal value, int *rank, hsize_t shape[H5S_MAX_RANK])
{
    struct text t = {value.p, value.p + value.n};
    *rank = 0;
    if (t.p == t.end || (*t.p != '(' && *t.p != '['))
        return false;
    char close = *t.p++ == '(' ? ')' : ']';
    while (!take(&t, close)) {
        if (*rank == H5S_MAX_RANK || !number(&t, &shape[*rank]))
            return false;
        ++*rank;
        if (!take(&t, ',') && !(t.p < t.end && *t.p == close))
            return false;
    }
    return true;
}
