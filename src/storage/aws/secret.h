/* Secrets in memory: no copies stay behind. */
#ifndef BKT_SECRET_H
#define BKT_SECRET_H

#include <stddef.h>

#include "base/bytes.h"

/** Buffers for secrets: growing and freeing leave no copies behind. */
BKT_NODISCARD int bkt_secret_add(struct bkt_buf *b, const void *p, size_t n);
BKT_NODISCARD int bkt_secret_addf(struct bkt_buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void              bkt_secret_fini(struct bkt_buf *b);
void              bkt_secret_free(char *text); /* NULL is allowed */

#endif
