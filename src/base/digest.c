#include "base/digest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t bkt_digest(const void *p, size_t n, uint64_t before)
{
    return XXH3_64bits_withSeed(n ? p : "", n, before);
}
