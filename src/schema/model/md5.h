/* MD5 (RFC 1321), only for the key prefix of version 1 ids.  Security doesn't depend on it, and a crypto
 * library in FIPS mode refuses to compute it. */
#ifndef BKT_MD5_H
#define BKT_MD5_H

#include <stddef.h>

#include "base/err.h"

/** The digest of @p n bytes at @p p.  BKT_ENOMEM */
BKT_NODISCARD int bkt_md5(const void *p, size_t n, unsigned char digest[16]);

#endif
