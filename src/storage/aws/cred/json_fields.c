#include "storage/aws/cred/json_fields.h"

#include <string.h>

#include "storage/aws/cred/cred_impl.h"

#define MAX_DEPTH 32 /* AWS's answers are flat */

struct reader {
    const unsigned char *p, *begin, *end;
    const char *wrong;
    bool no_memory;
};

static bool bad(struct reader *r, const char *what)
{
    if (!r->wrong)
        r->wrong = what;
    return false;
}

static int peek(const struct reader *r)
{
    return r->p < r->end ? *r->p : -1;
}

static void skip_blanks(struct reader *r)
{
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\n' || *r->p == '\r'))
        r->p++;
}

static bool put(struct reader *r, struct bkt_buf *out, const void *p, size_t n)
{
    if (out && bkt_secret_add(out, p, n) < 0) {
        r->no_memory = true;
        return bad(r, "out of memory");
    }
    return true;
}

static bool put_code_point(struct reader *r, struct bkt_buf *out, unsigned long c)
{
    unsigned char u[4];
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; c >>= 6)
        u[i] = (unsigned char)(0x80 | (c & 0x3f));
    u[0] = (unsigned char)(n == 1 ? c : (0xf00 >> n & 0xff) | c);
    return put(r, out, u, n);
}

static bool take_hex4(struct reader *r, unsigned long *out)
{
    unsigned long v = 0;
    if (r->end - r->p < 4)
        return bad(r, "a broken \\u escape");
    for (int i = 0; i < 4; i++) {
        unsigned char c = *r->p++, low = (unsigned char)(c | 0x20);
        if (c >= '0' && c <= '9')
            v = v << 4 | (unsigned long)(c - '0');
        else if (low >= 'a' && low <= 'f')
            v = v << 4 | (unsigned long)(low - 'a' + 10);
        else
            return bad(r, "a broken \\u escape");
    }
    *out = v;
    return true;
}

static bool take_unicode(struct reader *r, struct bkt_buf *out)
{
    unsigned long hi, lo;
    if (!take_hex4(r, &hi))
        return false;
    if (hi == 0 || (hi >= 0xdc00 && hi < 0xe000))
        return bad(r, "a string with a NUL or half a surrogate pair");
    if (hi < 0xd800 || hi >= 0xe000)
        return put_code_point(r, out, hi);
    if (r->end - r->p < 6 || r->p[0] != '\\' || r->p[1] != 'u')
        return bad(r, "a string with half a surrogate pair");
    r->p += 2;
    if (!take_hex4(r, &lo))
        return false;
    if (lo < 0xdc00 || lo >= 0xe000)
        return bad(r, "a string with half a surrogate pair");
    return put_code_point(r, out, 0x10000 + ((hi - 0xd800) << 10) + (lo - 0xdc00));
}

static bool take_escape(struct reader *r, struct bkt_buf *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    int c = peek(r);
    if (c < 0)
        return bad(r, "a string without end");
    r->p++;
    if (c == 'u')
        return take_unicode(r, out);
    const char *at = c ? strchr(from, c) : NULL;
    return at ? put(r, out, to + (at - from), 1) : bad(r, "an unknown escape");
}

/* Read a string, from its opening quote; out may be NULL. */
static bool take_string(struct reader *r, struct bkt_buf *out)
{
    r->p++;
    while (r->p < r->end) {
        const unsigned char *start = r->p;
        while (r->p < r->end && *r->p != '"' && *r->p != '\\' && *r->p >= 0x20)
            r->p++;
        if (!put(r, out, start, (size_t)(r->p - start)))
            return false;
        int c = peek(r);
        if (c < 0)
            break;
        r->p++;
        if (c == '"')
            return true;
        if (c != '\\')
            return bad(r, "a control character in a string");
        if (!take_escape(r, out))
            return false;
    }
    return bad(r, "a string without end");
}

/* Read a number, true, false or null; only the set of characters is checked. */
static bool take_literal(struct reader *r, struct bkt_buf *out)
{
    const unsigned char *start = r->p;
    while (r->p < r->end && ((*r->p >= '0' && *r->p <= '9') || (*r->p >= 'a' && *r->p <= 'z') ||
                             *r->p == 'E' || *r->p == '-' || *r->p == '+' || *r->p == '.'))
        r->p++;
    return r->p > start ? put(r, out, start, (size_t)(r->p - start)) : bad(r, "an invalid value");
}

/* Skip an array or object that is not needed: brackets must match, strings must end. */
static bool skip_nested(struct reader *r)
{
    char open[MAX_DEPTH];
    size_t depth = 0;
    do {
        int c = peek(r);
        if (c < 0)
            return bad(r, "no end");
        if (c == '"') {
            if (!take_string(r, NULL))
                return false;
            continue;
        }
        r->p++;
        if (c == '{' || c == '[') {
            if (depth == MAX_DEPTH)
                return bad(r, "too many brackets");
            open[depth++] = (char)(c == '{' ? '}' : ']');
        } else if (c == '}' || c == ']') {
            if (!depth || open[--depth] != c)
                return bad(r, "brackets that do not match");
        }
    } while (depth);
    return true;
}

static bool take_value(struct reader *r, struct bkt_json_field *f)
{
    int c = peek(r);
    struct bkt_buf *out = f ? &f->value : NULL;
    if (f) {
        bkt_secret_fini(out);
        f->present = f->text = false;
    }
    if (c == '{' || c == '[')
        return skip_nested(r);
    if (c == '"') {
        if (f)
            f->present = f->text = true;
        return take_string(r, out) && put(r, out, "", 0);
    }
    if (!take_literal(r, out))
        return false;
    if (f)
        f->present = strcmp(bkt_buf_str(out), "null") != 0;
    return true;
}

static struct bkt_json_field *field_of(struct bkt_json_field *fields, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(fields[i].name, name) == 0)
            return &fields[i];
    return NULL;
}

static bool take_member(struct reader *r, struct bkt_json_field *fields, size_t n)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name = {0};
    if (peek(r) != '"')
        return bad(r, "a member without a name");
    if (!take_string(r, &name))
        return false;
    skip_blanks(r);
    if (peek(r) != ':')
        return bad(r, "a member without a value");
    r->p++;
    skip_blanks(r);
    bool ok = take_value(r, field_of(fields, n, bkt_buf_str(&name)));
    skip_blanks(r);
    return ok;
}

static bool take_object(struct reader *r, struct bkt_json_field *fields, size_t n)
{
    skip_blanks(r);
    if (peek(r) != '{')
        return bad(r, "no '{'");
    r->p++;
    skip_blanks(r);
    if (peek(r) != '}')
        for (;;) {
            if (!take_member(r, fields, n))
                return false;
            int c = peek(r);
            if (c == '}')
                break;
            if (c != ',')
                return bad(r, c < 0 ? "no end" : "no comma between members");
            r->p++;
            skip_blanks(r);
        }
    r->p++;
    skip_blanks(r);
    return r->p == r->end ? true : bad(r, "text after the object");
}

int bkt_json_fields(const void *text, size_t n, struct bkt_json_field *fields, size_t n_fields,
                    struct bkt_err *err)
{
    const unsigned char *p = n ? text : (const unsigned char *)"";
    struct reader r = {.p = p, .begin = p, .end = p + n};
    if (take_object(&r, fields, n_fields))
        return BKT_OK;
    bkt_json_fields_fini(fields, n_fields);
    if (r.no_memory)
        BKT_NOMEM(err);
    BKT_FAIL(err, BKT_EFORMAT, "not a JSON object: %s at byte %zu of %zu", r.wrong,
             (size_t)(r.p - r.begin), n);
}

void bkt_json_fields_fini(struct bkt_json_field *fields, size_t n_fields)
{
    for (size_t i = 0; i < n_fields; i++) {
        bkt_secret_fini(&fields[i].value);
        fields[i].present = fields[i].text = false;
    }
}
