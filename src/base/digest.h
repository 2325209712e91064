/* A digest for comparing values in memory, also between processes of one program.  It isn't stored, and
 * doesn't withstand somebody who looks for equal ones. */
#ifndef BKT_DIGEST_H
#define BKT_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/** @param before  the digest of what comes before; 0: nothing */
uint64_t bkt_digest(const void *p, size_t n, uint64_t before);

#endif
