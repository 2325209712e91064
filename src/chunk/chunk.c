/* What programs' reads add to the parts of this layer: read-ahead, and data that were written and not yet stored. */
#include "chunk/chunk.h"

#include "chunk/ahead/predict.h"
#include "chunk/dataset/chunk_cache.h"
#include "chunk/write/write_cache.h"
#include "chunk/dataset/dataset.h"

int bkt_read_run(struct bkt_read *reads, size_t n, struct bkt_err *err)
{
    if (!n)
        return BKT_OK;
    if (!reads[0].dst && !bkt_dsetio_is_var(reads[0].io)) /* it only fills the caches */
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
    bkt_dirty_drop_clean(dom);
    if (c)
        bkt_cache_clear(c);
}
