/* HSDS's view of a dataset whose chunk objects hold the output of HDF5's filters ("chunk_encoding": "hdf5").
 *
 * HSDS 0.9 knows the filters by class and name.  To change a chunk it decodes the chunk, and stores it in its
 * own form: a blosc frame if it knows the compressor, else the unencoded elements.  If the list has a
 * shuffle, it unshuffles unencoded elements on reading, although it doesn't shuffle them. */
#pragma once

#include "schema/model/model.h"

enum bkt_hsds_view {
    BKT_HSDS_READS, /* it decodes the connector's chunks, and stores blosc frames */
    BKT_HSDS_RAW,   /* it finds the connector's chunks too short or too long, and stores unencoded ones */
    /* it could misread the connector's chunks: the list is written so that it fails */
    BKT_HSDS_REFUSES,
};
/** By the filters alone. */
enum bkt_hsds_view bkt_hsds_view(const struct bkt_filter_desc *f, size_t n);
/** Whether shuffle is the only filter; then the connector's chunk objects hold unencoded elements, whatever
 * the list has. */
bool bkt_only_shuffled(const struct bkt_dset *d);
/** The name of the compressor inside HDF5's blosc filter, which is one of HSDS's. */
const char *bkt_blosc_codec(const struct bkt_filter_desc *f);
