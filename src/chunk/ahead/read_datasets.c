/* The layer's entrance for programs' reads: read-ahead learns from each, and serves it. */
#include "chunk/ahead/predict.h"
#include "chunk/chunk.h"
#include "chunk/read/read.h"

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
