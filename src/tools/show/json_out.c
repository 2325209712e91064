/* Writes JSON; see json_out.h. */
#include "tools/show/json_out.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/url.h"
#include "base/utf8.h"

void bkt_jout_init(struct bkt_jout *j, FILE *to)
{
    memset(j, 0, sizeof *j);
    j->to = to;
}

/* As bkt_utf8_quote(), to the file. */
static void put_text(FILE *to, const unsigned char *p, size_t n)
{
    fputc('"', to);
    while (n) {
        char     one[BKT_UTF8_ESCAPED];
        uint32_t cp  = 0;
        size_t   run = bkt_utf8_plain(p, n), k = run;
        if (run) {
            (void)fwrite(p, 1, run, to); /* checked at the end of the output */
        } else {
            k = bkt_utf8_at(p, n, &cp);
            bkt_utf8_escape(k ? cp : 0xdc00u + p[0], one);
            fputs(one, to);
            k = k ? k : 1;
        }
        p += k, n -= k;
    }
    fputc('"', to);
}

/* Writes the text before a value: comma, line, name. */
static void begin(struct bkt_jout *j, const char *key)
{
    if (j->depth == 0)
        return;
    fprintf(j->to, "%s\n%*s", j->some[j->depth] ? "," : "", (int)j->depth * 2, "");
    j->some[j->depth] = true;
    if (j->kind[j->depth] == '{') {
        put_text(j->to, (const unsigned char *)(key ? key : ""), key ? strlen(key) : 0);
        fputs(": ", j->to);
    }
}

void bkt_jout_open(struct bkt_jout *j, const char *key, char kind)
{
    begin(j, key);
    fputc(kind, j->to);
    if (j->depth == BKT_JOUT_DEPTH)
        abort(); /* the depth of our own code, never of the data */
    j->depth++;
    j->some[j->depth] = false;
    j->kind[j->depth] = kind;
}

void bkt_jout_close(struct bkt_jout *j)
{
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
    begin(j, key);
    put_text(j->to, p, n);
}

void bkt_jout_null(struct bkt_jout *j, const char *key)
{
    begin(j, key);
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
    begin(j, key);
    fprintf(j->to, "%" PRIu64, v);
}

void bkt_jout_i64(struct bkt_jout *j, const char *key, int64_t v)
{
    begin(j, key);
    fprintf(j->to, "%" PRId64, v);
}

void bkt_jout_bool(struct bkt_jout *j, const char *key, bool v)
{
    begin(j, key);
    fputs(v ? "true" : "false", j->to);
}

void bkt_jout_real(struct bkt_jout *j, const char *key, double v)
{
    char text[40];
    begin(j, key);
    if (!isfinite(v)) {
        fputs(isnan(v) ? "\"NaN\"" : v > 0 ? "\"Infinity\"" : "\"-Infinity\"", j->to);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    fputs(text, j->to);
}

void bkt_jout_dims(struct bkt_jout *j, const char *key, const uint64_t *v, unsigned n)
{
    begin(j, key);
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
