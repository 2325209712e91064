/* Writes JSON; see json_out.h. */
#include "tools/show/json_out.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/text/utf8.h"
#include "base/url.h"

void bkt_jout_init(struct bkt_jout *j, FILE *to)
{
    memset(j, 0, sizeof *j);
    j->to = to;
}

static void put_text(FILE *to, const void *p, size_t n)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    if (bkt_utf8_quote(&b, p, n) == BKT_OK)
        (void)fwrite(b.ptr, 1, b.len, to); /* checked at the end of the output */
    else
        fputs("null", to);
}

/* Writes the text before a value: comma, line, name.  False: nothing is written at all. */
static bool begin(struct bkt_jout *j, const char *key)
{
    if (!j->to || j->depth == 0)
        return j->to;
    fprintf(j->to, "%s\n%*s", j->some[j->depth] ? "," : "", (int)j->depth * 2, "");
    j->some[j->depth] = true;
    if (j->kind[j->depth] == '{') {
        put_text(j->to, key ? key : "", key ? strlen(key) : 0);
        fputs(": ", j->to);
    }
    return true;
}

void bkt_jout_open(struct bkt_jout *j, const char *key, char kind)
{
    if (!begin(j, key))
        return;
    fputc(kind, j->to);
    if (j->depth == BKT_JOUT_DEPTH)
        abort(); /* the depth of the tool's code, never of the data */
    j->depth++;
    j->some[j->depth] = false;
    j->kind[j->depth] = kind;
}

void bkt_jout_raw(struct bkt_jout *j, const char *text)
{
    if (!j->to || !*text)
        return;
    fprintf(j->to, "%s%s", j->some[j->depth] ? "," : "", text);
    j->some[j->depth] = true;
}

void bkt_jout_close(struct bkt_jout *j)
{
    if (!j->to)
        return;
    bool some = j->some[j->depth];
    char kind = j->kind[j->depth--];
    if (some)
        fprintf(j->to, "\n%*s", (int)j->depth * 2, "");
    fputc(kind == '{' ? '}' : ']', j->to);
    if (j->depth == 0)
        fputc('\n', j->to);
}

void bkt_jout_text(struct bkt_jout *j, const char *key, const void *p, size_t n)
{
    if (begin(j, key))
        put_text(j->to, p, n);
}

void bkt_jout_null(struct bkt_jout *j, const char *key)
{
    if (begin(j, key))
        fputs("null", j->to);
}

void bkt_jout_str(struct bkt_jout *j, const char *key, const char *text)
{
    if (text)
        bkt_jout_text(j, key, text, strlen(text));
    else
        bkt_jout_null(j, key);
}

void bkt_jout_url(struct bkt_jout *j, const char *key, const char *text)
{
    BKT_CLEANUP(bkt_freep) char *shown = text ? strdup(text) : NULL;
    bkt_jout_str(j, key, shown ? bkt_url_shown(shown, strlen(text) + 1, text, false) : NULL);
}

void bkt_jout_u64(struct bkt_jout *j, const char *key, uint64_t v)
{
    if (begin(j, key))
        fprintf(j->to, "%" PRIu64, v);
}

void bkt_jout_i64(struct bkt_jout *j, const char *key, int64_t v)
{
    if (begin(j, key))
        fprintf(j->to, "%" PRId64, v);
}

void bkt_jout_bool(struct bkt_jout *j, const char *key, bool v)
{
    if (begin(j, key))
        fputs(v ? "true" : "false", j->to);
}

void bkt_jout_real(struct bkt_jout *j, const char *key, double v)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    if (!begin(j, key))
        return;
    if (!isfinite(v))
        fputs(isnan(v) ? "\"NaN\"" : v > 0 ? "\"Infinity\"" : "\"-Infinity\"", j->to);
    else if (bkt_buf_add_real(&b, v) == BKT_OK)
        fputs(bkt_buf_str(&b), j->to);
}

static void members(struct bkt_jout *j, const char *what, va_list ap)
{
    for (char key[32]; *what; what += *what == ' ') {
        size_t n = strcspn(what, ":");
        (void)snprintf(key, sizeof key, "%.*s", (int)n, what);
        what += n + 2;
        switch (what[-1]) {
        case 's': bkt_jout_str(j, key, va_arg(ap, const char *)); break;
        case 'u': bkt_jout_url(j, key, va_arg(ap, const char *)); break;
        case 'n': bkt_jout_u64(j, key, va_arg(ap, uint64_t)); break;
        case 'r': bkt_jout_real(j, key, va_arg(ap, double)); break;
        default: bkt_jout_bool(j, key, va_arg(ap, int));
        }
    }
}

void bkt_jout_members(struct bkt_jout *j, const char *what, ...)
{
    va_list ap;
    va_start(ap, what);
    members(j, what, ap);
    va_end(ap);
}

void bkt_jout_object(struct bkt_jout *j, const char *what, ...)
{
    va_list ap;
    va_start(ap, what);
    bkt_jout_open(j, NULL, '{');
    members(j, what, ap);
    bkt_jout_close(j);
    va_end(ap);
}

void bkt_jout_dims(struct bkt_jout *j, const char *key, const uint64_t *v, unsigned n)
{
    if (!begin(j, key))
        return;
    fputc('[', j->to);
    for (unsigned i = 0; i < n; i++) {
        fputs(i ? ", " : "", j->to);
        if (v[i] == UINT64_MAX)
            fputs("\"unlimited\"", j->to);
        else
            fprintf(j->to, "%" PRIu64, v[i]);
    }
    fputc(']', j->to);
}
