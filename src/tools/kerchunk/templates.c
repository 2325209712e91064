/* See templates.h. */
#include "tools/kerchunk/templates.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct value {
    bool is_text;
    int64_t i;
    struct bkt_buf text;
};
struct expr {
    const char *p, *end; /* the expression */
    const struct kerchunk_doc *templates;
    const struct kerchunk_var *vars;
    unsigned depth, *steps;
    struct bkt_err *err;
};
#define STEPS_MAX 4096 /* of one text: templates that use others twice take more and more */

static int render(const struct expr *at, const char *text, const struct kerchunk_var *vars,
                  struct bkt_buf *out);
static int series(struct expr *e, bool product, struct value *out);

static void value_fini(struct value *v)
{
    bkt_buf_fini(&v->text);
}

static int bad(const struct expr *e, const char *why)
{
    BKT_FAIL(e->err, BKT_EUNSUP, "template: %s at \"%.*s\"", why,
             (int)(e->end - e->p > 40 ? 40 : e->end - e->p), e->p);
}

static bool next_is(struct expr *e, const char *what)
{
    size_t n = strlen(what);
    while (e->p < e->end && isspace((unsigned char)*e->p))
        e->p++;
    return (size_t)(e->end - e->p) >= n && memcmp(e->p, what, n) == 0;
}

static bool take(struct expr *e, const char *what)
{
    if (!next_is(e, what))
        return false;
    e->p += strlen(what);
    return true;
}

/* The length of a name at p; 0: none. */
static size_t name_at(struct expr *e)
{
    (void)next_is(e, "");
    const char *p = e->p;
    if (p < e->end && (isalpha((unsigned char)*p) || *p == '_'))
        while (p < e->end && (isalnum((unsigned char)*p) || *p == '_'))
            p++;
    return (size_t)(p - e->p);
}

static int as_text(struct value *v, struct bkt_err *err)
{
    if (!v->is_text && bkt_buf_addf(&v->text, "%lld", (long long)v->i) < 0)
        BKT_NOMEM(err);
    v->is_text = true;
    return BKT_OK;
}

/* printf's %d with a width, as in '%03d'; other text around it. */
static int format(struct expr *e, struct value *form, const struct value *arg)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf out = {0};
    const char *f = bkt_buf_str(&form->text), *at = strchr(f, '%'), *p = at ? at + 1 : f;
    bool zero = *p == '0';
    long width = at ? strtol(p, (char **)&p, 10) : 0;
    if (!at || (*p != 'd' && (*p != 's' || p != at + 1)) || width < 0 || width > 64 || strchr(p, '%') ||
        (*p == 'd') == arg->is_text)
        return bad(e, "only one %d, %03d or %s can be formatted");
    if (form->text.len + arg->text.len + 64 > KERCHUNK_TEMPLATE_BYTES)
        return bad(e, "a text that is too long");
    int rc = *p == 's' ? bkt_buf_addf(&out, "%.*s%s%s", (int)(at - f), f, bkt_buf_str(&arg->text), p + 1)
             : zero
                 ? bkt_buf_addf(&out, "%.*s%0*lld%s", (int)(at - f), f, (int)width, (long long)arg->i, p + 1)
                 : bkt_buf_addf(&out, "%.*s%*lld%s", (int)(at - f), f, (int)width, (long long)arg->i, p + 1);
    BKT_PASS_MEM(e->err, rc);
    bkt_buf_move(&form->text, &out);
    return BKT_OK;
}

/* An expression within parentheses. */
static int inner(struct expr *e, struct value *out)
{
    e->depth++;
    int rc = series(e, false, out);
    e->depth--;
    return rc;
}

/* NAME(a=…, b=…): the template with these names; each argument's frame lies on the stack of this function. */
static int call(struct expr *e, const char *text, const struct kerchunk_var *vars, struct value *out)
{
    BKT_CLEANUP(value_fini) struct value arg = {0};
    if (take(e, ")")) {
        out->is_text = true;
        return render(e, text, vars, &out->text);
    }
    size_t n = name_at(e);
    if (!n || e->depth >= KERCHUNK_TEMPLATE_DEPTH)
        return bad(e, n ? "calls are nested too deep" : "an argument NAME=VALUE is expected");
    BKT_CLEANUP(bkt_freep) char *name = strndup(e->p, n);
    BKT_NEED(e->err, name);
    e->p += n;
    if (!take(e, "="))
        return bad(e, "an argument NAME=VALUE is expected");
    e->depth++;
    int rc = series(e, false, &arg);
    if (rc == BKT_OK && !take(e, ",") && !next_is(e, ")"))
        rc = bad(e, "a comma or ) is expected");
    const struct kerchunk_var var = {name, arg.is_text, arg.i, bkt_buf_str(&arg.text), vars};
    rc = rc ? rc : call(e, text, &var, out);
    e->depth--;
    return rc;
}

static int named(struct expr *e, size_t n, struct value *out)
{
    BKT_CLEANUP(bkt_freep) char *name = strndup(e->p, n);
    BKT_NEED(e->err, name);
    e->p += n;
    const char *text = kerchunk_doc_text(e->templates, name);
    if (take(e, "("))
        return text ? call(e, text, e->vars, out) : bad(e, "no template of that name");
    for (const struct kerchunk_var *v = e->vars; v; v = v->outer)
        if (strcmp(v->name, name) == 0) {
            out->is_text = v->is_text, out->i = v->i;
            return v->is_text && bkt_buf_add_str(&out->text, v->text) < 0
                       ? BKT_ERR(e->err, BKT_ENOMEM, "out of memory")
                       : BKT_OK;
        }
    BKT_FAIL_IF(e->err, !text, BKT_EFORMAT, "template: nothing has the name %.100s", name);
    out->is_text = true;
    return render(e, text, e->vars, &out->text);
}

static int quoted(struct expr *e, struct value *out)
{
    char q = *e->p++;
    const char *close = memchr(e->p, q, (size_t)(e->end - e->p));
    if (!close || memchr(e->p, '\\', (size_t)(close - e->p)))
        return bad(e, close ? "a backslash in a text" : "a text without its closing quote");
    out->is_text = true;
    BKT_PASS_MEM(e->err, bkt_buf_add(&out->text, e->p, (size_t)(close - e->p)));
    e->p = close + 1;
    return BKT_OK;
}

static int number(struct expr *e, struct value *out)
{
    char digits[20] = "";
    size_t n = 0;
    while (e->p + n < e->end && isdigit((unsigned char)e->p[n]))
        n++;
    if (!n || n > 18)
        return bad(e, "a number, text or name is expected");
    memcpy(digits, e->p, n);
    out->i = strtoll(digits, NULL, 10);
    e->p += n;
    return BKT_OK;
}

static int atom(struct expr *e, struct value *out)
{
    if (e->depth > KERCHUNK_TEMPLATE_DEPTH)
        return bad(e, "nested too deep");
    size_t n = name_at(e);
    if (n)
        return named(e, n, out);
    if (e->p < e->end && (*e->p == '\'' || *e->p == '"'))
        return quoted(e, out);
    bool minus = take(e, "-");
    if (!minus && take(e, "(")) {
        BKT_PASS(inner(e, out));
        return take(e, ")") ? BKT_OK : bad(e, ") is expected");
    }
    (void)next_is(e, "");
    BKT_PASS(number(e, out));
    out->i = minus ? -out->i : out->i;
    return BKT_OK;
}

/* An atom, and |format(…) behind it. */
static int filtered(struct expr *e, struct value *out)
{
    BKT_PASS(atom(e, out));
    while (take(e, "|")) {
        BKT_CLEANUP(value_fini) struct value arg = {0};
        if (!take(e, "format") || !take(e, "(") || !out->is_text)
            return bad(e, "the only filter here is format");
        BKT_PASS(inner(e, &arg));
        BKT_PASS(format(e, out, &arg));
        if (!take(e, ")"))
            return bad(e, ") is expected");
    }
    return BKT_OK;
}

/* Whole numbers as Python's: // and % round down. */
static int number_op(struct expr *e, char op, int64_t b, int64_t *a)
{
    bool over = false;
    if ((op == '/' || op == '%') && (b == 0 || (*a == INT64_MIN && b == -1)))
        return bad(e, "a division by zero");
    if (op == '*')
        over = __builtin_mul_overflow(*a, b, a);
    else if (op == '+')
        over = __builtin_add_overflow(*a, b, a);
    else if (op == '-')
        over = __builtin_sub_overflow(*a, b, a);
    else {
        int64_t rest = *a % b, q = *a / b;
        bool down = rest != 0 && (rest < 0) != (b < 0);
        *a = op == '/' ? q - down : rest + (down ? b : 0);
    }
    return over ? bad(e, "a number beyond 64 bits") : BKT_OK;
}

static int join(struct expr *e, struct value *a, struct value *b)
{
    BKT_PASS(as_text(a, e->err));
    BKT_PASS(as_text(b, e->err));
    if (a->text.len + b->text.len > KERCHUNK_TEMPLATE_BYTES)
        return bad(e, "a text that is too long");
    BKT_PASS_MEM(e->err, bkt_buf_add(&a->text, b->text.ptr, b->text.len));
    return BKT_OK;
}

/* A product of such, or a sum of products. */
static int series(struct expr *e, bool product, struct value *out)
{
    BKT_PASS(product ? filtered(e, out) : series(e, true, out));
    for (;;) {
        BKT_CLEANUP(value_fini) struct value b = {0};
        char op = product          ? (take(e, "//") ? '/' : take(e, "*") ? '*' : take(e, "%") ? '%' : 0)
                  : take(e, "+")   ? '+'
                  : take(e, "-")   ? '-'
                  : take(e, "~")   ? '~'
                                   : 0;
        if (!op)
            return product && next_is(e, "/") ? bad(e, "/ makes no whole number; use //") : BKT_OK;
        BKT_PASS(product ? filtered(e, &b) : series(e, true, &b));
        if (op == '%' && out->is_text)
            BKT_PASS(format(e, out, &b));
        else if (op == '~' || (op == '+' && out->is_text && b.is_text))
            BKT_PASS(join(e, out, &b));
        else if (out->is_text || b.is_text)
            return bad(e, "arithmetic with a text");
        else
            BKT_PASS(number_op(e, op, b.i, &out->i));
    }
}

/* @p at: where the text is used */
static int render(const struct expr *at, const char *text, const struct kerchunk_var *vars,
                  struct bkt_buf *out)
{
    struct bkt_err *err = at->err;
    for (;;) {
        BKT_CLEANUP(value_fini) struct value v = {0};
        const char *open = strstr(text, "{{"), *close = open ? strstr(open, "}}") : NULL;
        size_t n = open ? (size_t)(open - text) : strlen(text);
        BKT_FAIL_IF(err, out->len + n > KERCHUNK_TEMPLATE_BYTES || ++*at->steps > STEPS_MAX, BKT_EFORMAT,
                    "template: more than %d bytes or %d parts of text", KERCHUNK_TEMPLATE_BYTES, STEPS_MAX);
        BKT_PASS_MEM(err, bkt_buf_add(out, text, n));
        if (!open)
            return BKT_OK;
        BKT_FAIL_IF(err, !close, BKT_EFORMAT, "template: {{ without }}: %.60s", open);
        struct expr e = {open + 2, close, at->templates, vars, at->depth + 1, at->steps, err};
        BKT_PASS(series(&e, false, &v));
        (void)next_is(&e, "");
        if (e.p != e.end)
            return bad(&e, "not understood");
        BKT_PASS(as_text(&v, err));
        BKT_PASS_MEM(err, bkt_buf_add(out, v.text.ptr, v.text.len));
        text = close + 2;
    }
}

int kerchunk_template(const char *text, const struct kerchunk_doc *templates, const struct kerchunk_var *vars,
                      struct bkt_buf *out, struct bkt_err *err)
{
    unsigned steps = 0;
    struct expr top = {.templates = templates, .steps = &steps, .err = err};
    return render(&top, text, vars, out);
}
