#include "storage/aws/secret.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int bkt_secret_add(struct bkt_buf *b, const void *p, size_t n)
{
    if (n >= b->cap || b->len >= b->cap - n) { /* realloc() would not wipe the old block */
        struct bkt_buf bigger = {0};
        BKT_PASS(bkt_buf_reserve(&bigger, 2 * b->len + n + 64));
        BKT_PASS(bkt_buf_add(&bigger, b->ptr, b->len));
        bkt_secret_fini(b);
        *b = bigger;
    }
    return bkt_buf_add(b, p, n);
}

int bkt_secret_addf(struct bkt_buf *b, const char *fmt, ...)
{
    va_list ap;
    char *text = NULL;
    va_start(ap, fmt);
    int n = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (n < 0)
        return BKT_ENOMEM;
    int rc = bkt_secret_add(b, text, (size_t)n);
    bkt_secret_free(text);
    return rc;
}

void bkt_secret_fini(struct bkt_buf *b)
{
    if (b->ptr)
        explicit_bzero(b->ptr, b->cap);
    bkt_buf_fini(b);
}

void bkt_secret_free(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}
