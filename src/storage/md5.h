/* MD5, for keys of version 1 ids, ETags of S3 and Content-MD5.  Security doesn't depend on it, so it is
 * computed also where OpenSSL is restricted to FIPS algorithms. */
#pragma once

#include <stddef.h>

#include "base/err.h"

#define BKT_MD5_BYTES 16

/** The digest of @p n bytes at @p p.  BKT_ENOMEM, or BKT_EUNSUP: this OpenSSL has no MD5 at all. */
BKT_NODISCARD int bkt_md5(const void *p, size_t n, unsigned char digest[BKT_MD5_BYTES]);
/** As bkt_md5(), as a text of lower-case hexadecimal digits. */
BKT_NODISCARD int bkt_md5_hex(const void *p, size_t n, char hex[2 * BKT_MD5_BYTES + 1]);
/** Free the state of bkt_md5().  No thread may compute a digest during the call. */
void bkt_md5_shutdown(void);
