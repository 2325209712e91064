/* Places of the chunks of a dataset in an HDF5 file, as HDF5's own connector reports them, corrected. */
#pragma once

#include <hdf5.h>
#include <stdint.h>

#include "chunk/chunk.h"

/** Call @p each for all chunks that are stored and lie within the extent, in HDF5's order.
 *
 * HDF5 1.14 counts wrong in an extensible array whose unlimited dimension isn't the first; a test, made
 * once, shows whether the HDF5 in use does.  Partial chunks that skip the filters
 * (H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) have a mask for that.
 * @param dset  open chunked dataset of HDF5's native connector
 * @param each  @p c is borrowed for the call; a negative bkt_code ends the walk and is returned
 * @return BKT_OK; BKT_EHDF5; BKT_EFORMAT: a grid of more than 2^64 chunks */
BKT_NODISCARD int bkt_file_chunks(hid_t dset, int (*each)(void *arg, const struct bkt_file_chunk *c),
                                  void *arg, struct bkt_err *err);
/** As bkt_file_chunks(), as a list for bkt_dsetio_set_found().  BKT_EFORMAT: there are more than @p most.
 *  @param out  never NULL; the caller's (free()) */
BKT_NODISCARD int bkt_file_chunks_found(hid_t dset, size_t most, struct bkt_file_chunk **out, size_t *n,
                                        struct bkt_err *err);
