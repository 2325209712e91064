/* `h5bucket load --column`: a domain with one dataset of all samples of a column. */
#pragma once

#include "tools/load/load_domain.h"

/** Make @p domain: `samples` refers to the chunks of the samples in their files, in the order of their names,
 * which are in `names`.  If all samples have the same shape, it is (n, *shape), else (n, ...) with the
 * collections' dimensions, and `shapes` has each sample's.  In backend 00, it is flat, unless a sample is one
 * chunk.
 *
 *  @param column  [BRANCH:]COLUMN
 *  @return BKT_OK; BKT_EUNSUP, BKT_EINVAL: the column can't be expressed, with the reason; ... */
BKT_NODISCARD int load_column(struct load_job *l, const char *repository, const char *column,
                              const char *domain, hid_t fapl, struct bkt_err *err);
