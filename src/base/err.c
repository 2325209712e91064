#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/url.h"

static const struct {
    int         code;
    const char *text;
} table[] = {
#define X(code, text) {code, text},
    BKT_ERRORS(X)
#undef X
};

/* Keys, names and servers' texts may hold any bytes, and URLs may hold secrets.  A message is one line. */
static void to_show(struct bkt_frame *f)
{
    (void)bkt_url_shown(f->msg, sizeof f->msg, f->msg, false);
    for (char *c = f->msg; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
}

int bkt_err_push(struct bkt_err *err, int code, const char *file, const char *func, int line, const char *fmt,
                 ...)
{
    if (!err || err->n >= BKT_ERR_FRAMES)
        return code;
    struct bkt_frame *f = &err->frame[err->n];
    f->file             = file;
    f->func             = func;
    f->line             = line;
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(f->msg, sizeof f->msg, fmt, ap);
    va_end(ap);
    to_show(f);
    if (err->n++ == 0)
        err->code = code;
    return code;
}

void bkt_err_name(struct bkt_err *err, int code, const char *name)
{
    char root[BKT_ERR_MSG];
    if (!err || !err->n) {
        (void)BKT_ERR(err, code, "%s", name);
        return;
    }
    memcpy(root, err->frame[0].msg, sizeof root);
    (void)snprintf(err->frame[0].msg, sizeof err->frame[0].msg, "%.290s: %.300s", name, root);
    to_show(&err->frame[0]);
}

const char *bkt_err_text(int code)
{
    for (size_t i = 0; i < BKT_COUNT(table); i++)
        if (table[i].code == code)
            return table[i].text;
    return code == BKT_OK ? "success" : "unknown error";
}

const char *bkt_err_reason(const struct bkt_err *err, int code)
{
    return err && err->n ? err->frame[0].msg : bkt_err_text(code);
}

void bkt_err_clear(struct bkt_err *err)
{
    if (err) {
        err->code = BKT_OK;
        err->n    = 0;
    }
}

struct bkt_err *bkt_err_dup(const struct bkt_err *err)
{
    if (!err)
        return NULL;
    struct bkt_err *copy = malloc(sizeof *copy);
    if (copy)
        memcpy(copy, err, sizeof *copy);
    return copy;
}

int bkt_err_copy(struct bkt_err *to, int code, const struct bkt_err *from)
{
    if (code < 0 && to && !to->n && !(from && from->n))
        return BKT_ERR(to, code, "%s%s", bkt_err_text(code), from ? "" : " (out of memory for the rest)");
    for (unsigned i = 0; to && from && i < from->n && to->n < BKT_ERR_FRAMES; i++) {
        if (to->n == 0)
            to->code = from->code;
        to->frame[to->n++] = from->frame[i];
    }
    return code;
}

void bkt_err_keep_first(int *first, struct bkt_err *to, int rc, struct bkt_err *why)
{
    if (rc < 0 && *first == BKT_OK)
        *first = bkt_err_copy(to, rc, why);
    bkt_err_clear(why);
}

int bkt_err_pack(const struct bkt_err *err, struct bkt_buf *out)
{
    for (unsigned i = 0; err && i < err->n; i++)
        BKT_PASS(bkt_buf_add(out, err->frame[i].msg, strlen(err->frame[i].msg) + 1));
    return BKT_OK;
}

void bkt_err_unpack(struct bkt_err *err, int code, const char *text, size_t n)
{
    if (!text || !n || text[n - 1])
        return;
    for (size_t at = 0; at < n; at += strlen(text + at) + 1)
        (void)BKT_ERR(err, code, "%s", text + at);
}
