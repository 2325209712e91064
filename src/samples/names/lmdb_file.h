/* LMDB files, read-only.  Their bytes come from anywhere; liblmdb reads a checked copy in memory that only
 * this process has. */
#pragma once

#include <stddef.h>

#include "base/err.h"

struct bkt_lmdb;

/** Open a copy of @p n bytes.  BKT_EFORMAT: not an LMDB file, or damaged; BKT_EIO; BKT_ENOMEM */
BKT_NODISCARD int bkt_lmdb_open(const void *bytes, size_t n, struct bkt_lmdb **out, struct bkt_err *err);
void bkt_lmdb_close(struct bkt_lmdb *l); /* NULL is allowed */

/** The value of a key; borrowed until bkt_lmdb_close().
 *  @return BKT_OK; BKT_ENOENT, without a message; BKT_EFORMAT; BKT_EIO */
BKT_NODISCARD int bkt_lmdb_get(struct bkt_lmdb *l, const void *key, size_t n, const void **value,
                               size_t *n_value, struct bkt_err *err);

/** Call @p each for all keys that begin with @p prefix, in order.  A negative return of it ends this, and is
 * returned. */
BKT_NODISCARD int bkt_lmdb_each(struct bkt_lmdb *l, const char *prefix,
                                int (*each)(void *arg, const char *key, size_t n, const void *value,
                                            size_t n_value),
                                void *arg, struct bkt_err *err);
