/* The chunks of a dataset that hold data, and so the blocks that are worth a copy or a comparison. */
#pragma once

#include <hdf5.h>
#include <stdbool.h>

#include "vol/dataset/extent_blocks.h"
#include "base/err.h"

struct bkt_written_chunk {
    uint64_t index; /* row-major in the grid of the extent */
    uint64_t size;
    uint64_t block; /* set by bkt_written_to_blocks() */
    uint32_t mask;
};
/** The stored chunks of a dataset. */
struct bkt_written {
    struct bkt_written_chunk *v;
    size_t                    n, cap;
    unsigned                  rank;
    bool                      other_shape; /* they are stored in another shape than H5Pget_chunk() reports */
    bool                      no_grid;     /* nothing is stored, and the dataset has no chunks: cdims and grid
                                              are meaningless */
    bool                      absent;      /* all its raw files are absent: HDF5 can't read any of it */
    hsize_t                   cdims[H5S_MAX_RANK], grid[H5S_MAX_RANK];
    hsize_t                   dims[H5S_MAX_RANK]; /* the extent; bkt_written_parts() only */
};
/** List the stored chunks of a dataset of a domain or a plain file, in any order.  @p c: all zero;
 *  bkt_written_fini().  For a contiguous dataset of a domain they are its objects; in a file either nothing
 *  is stored (no_grid), or they are unknown.
 *  @return false: unknown; *c is empty then */
bool bkt_written_list(hid_t dset, struct bkt_written *c);
void bkt_written_fini(struct bkt_written *c);
/** Whether bkt_written_list() takes few requests.  Chunks on a plain web server, and chunks of version 1
 *  unless there may be very many, are asked for one by one. */
bool bkt_written_listable(hid_t dset);
/** Whether stored chunks of @p from, if they have the shape of those of @p to, are chunks of it as they are:
 * both have the same filters, and the same chunks are filtered.  With chunk options (H5Pset_chunk_opts())
 * HDF5 doesn't filter chunks at the edge of a plain file's dataset, but the connector filters them. */
bool bkt_written_fits(hid_t from, hid_t to);
/** Add the chunks of another dataset with chunks of the same shape. */
BKT_NODISCARD int bkt_written_join(struct bkt_written *c, const struct bkt_written *other);
/** Turn the list into one of chunks of @p grid: all in which the present chunks lie, some of them several
 *  times.  BKT_EUNSUP: there are too many. */
BKT_NODISCARD int bkt_written_regrid(struct bkt_written *c, const struct bkt_written *grid);
/** Add all chunks from @p lo to @p hi, places in its grid.  BKT_EUNSUP: there are too many. */
BKT_NODISCARD int bkt_written_cells(struct bkt_written *c, const hsize_t *lo, const hsize_t *hi);
/** As bkt_written_cells(), for a range of indices. */
BKT_NODISCARD int bkt_written_range(struct bkt_written *c, uint64_t first, uint64_t last);
/** The offset of the chunk's first element. */
void bkt_written_offset(const struct bkt_written *c, uint64_t index, hsize_t *offset);
/** The offset of a chunk that isn't stored; from then on chunks are in order, each once.  False: all chunks
 *  are stored. */
bool bkt_written_hole(struct bkt_written *c, hsize_t *offset);
/** Set the block in which each chunk lies; no block cuts a chunk.  From then on chunks are in the order of
 *  blocks, each once. */
void bkt_written_to_blocks(struct bkt_written *c, const struct bkt_blocks *b);
/** Number of chunks from number i on that lie in the same block. */
size_t bkt_written_of_block(const struct bkt_written *c, size_t i);

/* ---- written_parts.c ---- */
struct bkt_vobj;
/** As bkt_written_list() for a dataset whose elements lie in other datasets or raw files.  The chunks are
 *  blocks of a shape of their own: those that existing sources or files reach.
 *  @p dcpl: its creation list.  @p o: NULL for a plain file's dataset.
 *  @return false: unknown, or there are too many */
BKT_NODISCARD bool bkt_written_parts(hid_t dset, struct bkt_vobj *o, hid_t dcpl, struct bkt_written *c);
