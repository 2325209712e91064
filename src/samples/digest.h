/* Digests of samples: xxh64 with seed 0 of a sample's bytes, as they are stored. */
#ifndef BKT_SAMPLES_DIGEST_H
#define BKT_SAMPLES_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/** The digest of @p n bytes.  @p p may be NULL if n is 0. */
uint64_t bkt_sample_digest(const void *p, size_t n);

#endif
