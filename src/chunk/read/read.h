/* Reads as one plan, without read-ahead.  Programs' reads come by bkt_read_datasets() (chunk.h). */
#pragma once

#include "chunk/dataset/dataset.h"

/** As bkt_read_datasets() of @p n > 0 reads, without read-ahead: for reads that no program asked for. */
BKT_NODISCARD int bkt_read_now(struct bkt_read *reads, size_t n, struct bkt_err *err);
/** Whether a read only fills the caches. */
static inline bool bkt_read_is_blind(const struct bkt_read *r)
{
    return !r->dst && !bkt_dsetio_is_var(r->io);
}
