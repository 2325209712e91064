/* h5bucket diff by the processes of an mpirun: blocks of datasets are compared by all of them.  The first one
 * prints the differences, in the order of one process alone. */
#ifndef BKT_DIFF_SHARED_H
#define BKT_DIFF_SHARED_H

#include "tools/cmd/diff.h"
#include "vol/dataset/extent_blocks.h"

/** Begin, once d->fa and d->fb are open.  Sets d->shared, which stays NULL if this process is alone. */
BKT_NODISCARD int bkt_diff_shared_begin(struct bkt_diff *d);
/** Wait for all blocks, print what is left, and end.  @p rc: the outcome so far */
BKT_NODISCARD int bkt_diff_shared_end(struct bkt_diff *d, int rc);

/** Keep a difference until those before it are printed.  False: print it now. */
bool bkt_diff_shared_keeps(struct bkt_diff *d, const char *path, const char *what, const char *text);

/** A dataset whose blocks are shared: its number.  BKT_ENOMEM */
BKT_NODISCARD int bkt_diff_shared_dataset(struct bkt_diff *d, const char *path,
                                          const struct bkt_blocks *whole, uint64_t elems, size_t *number);
BKT_NODISCARD int bkt_diff_shared_block(struct bkt_diff *d, size_t number, const struct bkt_blocks *at);
/** All its blocks are put.  @p bad, @p first: differences that were found without them */
void bkt_diff_shared_done(struct bkt_diff *d, size_t number, uint64_t bad, uint64_t first);

/** The other processes: compare until the first one ends.  @p d: files are open, or will be by @p open */
int bkt_diff_shared_serve(struct bkt_diff *d, int (*open)(struct bkt_diff *d));

#endif
