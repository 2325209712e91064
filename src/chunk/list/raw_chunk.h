/* Chunks as the program's own filters made them: H5Dwrite_chunk, H5Dread_chunk. */
#pragma once

#include "chunk/chunk.h"

/** Whether HDF5 leaves the filters out of the chunk that begins at @p offset, within the extent: a partial
 *  chunk, if H5Pset_chunk_opts() asks for that.  Such a chunk is nevertheless stored with filters. */
bool bkt_chunk_skips_filters(const struct bkt_dset *ds, const uint64_t *offset);

/** bkt_raw_chunk_write() stores a chunk as HDF5's filters make it, for H5Dwrite_chunk.  bkt_raw_chunk_read()
 * reads one so, for H5Dread_chunk, in place of the contents of @p out.
 * @param offset  of the chunk's first element in the dataset; a multiple of the requested chunk shape
 * @param mask    filters that were left out; a chunk that skips filters ignores it
 * @return BKT_OK; BKT_EINVAL: the extent has no such chunk, or the dataset has none; BKT_EUNSUP: as for
 *         bkt_write_datasets(), and variable-length types; BKT_EFORMAT: bytes that the filters can't decode,
 *         or a senseless chunk shape; reading: BKT_ENOENT: the chunk isn't stored */
BKT_NODISCARD int bkt_raw_chunk_write(struct bkt_dsetio *io, const uint64_t *offset, uint32_t mask,
                                      const void *p, size_t n, struct bkt_err *err);
BKT_NODISCARD int bkt_raw_chunk_read(struct bkt_dsetio *io, const uint64_t *offset, struct bkt_buf *out,
                                     uint32_t *mask, struct bkt_err *err);
