/* The rules of both formats: how many collections a file has, their extents and chunks, and where a sample
 * lies in them.  Pure: no HDF5 but its types.
 *
 * Format 00 keeps each sample flat, in a row of 250 x P elements, P elements being the schema's.  Format 01
 * keeps its dimensions, in 100 rows, and each dimension is padded to whole chunks. */
#ifndef BKT_SAMPLES_COLLECTIONS_H
#define BKT_SAMPLES_COLLECTIONS_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define BKT_COLLECTIONS 100 /* datasets "0" to "99" of a file; the last one is never filled */

struct bkt_collections {
    int format; /* 0 or 1 */
    int rank;   /* of the schema's samples */
    hsize_t shape[H5S_MAX_RANK];
    uint64_t item;     /* bytes of an element */
    uint64_t elements; /* of the largest sample; 0: samples have no elements */
    unsigned rows;     /* samples in a collection */
    int dims;          /* of a dataset, whose first one is the row */
    hsize_t extent[H5S_MAX_RANK], chunk[H5S_MAX_RANK];
    uint64_t chunk_bytes;
    uint64_t rdcc_nbytes, rdcc_nslots; /* the chunk cache that the format's attributes propose */
};
#define BKT_RDCC_W0 0.75

/** The collections for samples of up to @p shape, of elements of @p item bytes.
 *  @return BKT_OK; BKT_EINVAL: no such format, a rank or shape that HDF5's datasets can't have */
BKT_NODISCARD int bkt_collections_init(struct bkt_collections *c, int format, int rank, const hsize_t *shape,
                                       size_t item, struct bkt_err *err);

/** Check the shape of a sample, and count its elements.
 *  @param variable  it may be smaller than the schema's
 *  @return BKT_OK; BKT_EINVAL: it doesn't fit; the message names the dimension */
BKT_NODISCARD int bkt_collections_fits(const struct bkt_collections *c, bool variable, const hsize_t *shape,
                                       uint64_t *elements, struct bkt_err *err);

/** The block of a dataset that holds a sample of @p shape in @p row: c->dims starts and counts. */
void bkt_collections_block(const struct bkt_collections *c, unsigned row, const hsize_t *shape,
                           hsize_t *start, hsize_t *count);

#endif
