/* The layer's entrance for programs' reads: read-ahead comes before and after a read.  The caches of a domain
 * are dropped here, too: decoded chunks, and written chunks that are stored. */
#include "chunk/chunk.h"

#include "chunk/ahead/predict.h"
#include "chunk/dataset/chunk_cache.h"
#include "chunk/read/read.h"
#include "chunk/write/write_cache.h"
#include "chunk/dataset/dataset.h"

int bkt_read_datasets(struct bkt_read *reads, size_t n, struct bkt_err *err)
{
    if (!n)
        return BKT_OK;
    if (bkt_read_is_blind(reads))
        return bkt_read_now(reads, n, err);
    bkt_ahead_before(reads, n);
    int rc = bkt_read_now(reads, n, err);
    if (rc == BKT_OK)
        bkt_ahead_after(reads, n);
    return rc;
}

void bkt_chunk_cache_drop(struct bkt_domain *dom)
{
    struct bkt_cache *c = bkt_domain_attached(dom);
    bkt_ahead_stop(dom); /* read-ahead would bring dropped entries back */
    bkt_write_cache_drop_clean(dom);
    if (c)
        bkt_cache_clear(c);
}
