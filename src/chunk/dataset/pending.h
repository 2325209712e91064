/* Elements that were written and are not yet stored, as reads see them.  The write side implements this; a read
 * knows nothing else of it. */
#ifndef BKT_CHUNK_PENDING_H
#define BKT_CHUNK_PENDING_H

#include "chunk/dataset/dataset.h"

struct bkt_target;
/** Complete the chunks of the target that were only partly written. */
BKT_NODISCARD int bkt_dirty_prepare(struct bkt_target *t, struct bkt_err *err);
/** The elements of a written chunk, retained; NULL: it wasn't written. */
struct bkt_centry *bkt_dirty_get(const struct bkt_dsetio *io, const uint64_t *coord);
/** Whether the dataset was written to. */
bool bkt_dirty_knows(const struct bkt_dsetio *io);
/** Free the clean chunks of all of the domain's datasets. */
void bkt_dirty_drop_clean(struct bkt_domain *dom);
/** Set the current cache numbers of the dataset's chunks. */
void bkt_dirty_space(struct bkt_dsetio *io);

#endif
