/* JSON written out; see jout.h. */
#include "jout.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void bkt_jout_init(struct bkt_jout *j, FILE *to)
{
    memset(j, 0, sizeof *j);
    j->to = to;
}

unsigned bkt_utf8(const unsigned char *p, size_t n, uint32_t *code)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned len = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
    if (len == 0 || len > n)
        return 0;
    uint32_t c = len == 1 ? p[0] : p[0] & (0x7fu >> len);
    for (unsigned i = 1; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (p[i] & 0x3f);
    }
    if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return 0;
    *code = c;
    return len;
}

static void put_code(FILE *to, uint32_t c)
{
    static const char special[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";
    const char *at = c && c < 0x80 ? strchr(special, (int)c) : NULL;
    if (at)
        fprintf(to, "\\%c", letter[at - special]);
    else if (c >= 0x20 && c < 0x7f)
        fputc((int)c, to);
    else if (c < 0x10000)
        fprintf(to, "\\u%04x", (unsigned)c);
    else
        fprintf(to, "\\u%04x\\u%04x", (unsigned)(0xd800 + ((c - 0x10000) >> 10)), (unsigned)(0xdc00 + ((c - 0x10000) & 0x3ff)));
}

static void put_text(FILE *to, const unsigned char *p, size_t n)
{
    fputc('"', to);
    for (size_t i = 0; i < n;) {
        uint32_t code = 0;
        unsigned len  = bkt_utf8(p + i, n - i, &code);
        put_code(to, len ? code : 0xdc00u + p[i]);
        i += len ? len : 1;
    }
    fputc('"', to);
}

/* What stands before a value: comma, line, name. */
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
        abort(); /* our own code's depth, never the data's */
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
