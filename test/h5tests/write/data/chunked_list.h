/* Creation lists of chunked datasets. */
#ifndef BKT_CHUNKED_LIST_H
#define BKT_CHUNKED_LIST_H

#include <hdf5.h>

/** A dataset creation list with chunks of that shape; H5Pclose(). */
static inline hid_t chunked(int rank, const hsize_t *chunk)
{
    hid_t p = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(p, rank, chunk);
    return p;
}

#endif
