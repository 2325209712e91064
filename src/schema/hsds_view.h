/* What HSDS makes of a dataset whose chunk objects hold what HDF5's filters made ("chunk_encoding": "hdf5").
 *
 * HSDS 0.9 knows the filters by class and name.  It changes a chunk by decoding it, and stores it anew in its own form: a blosc frame
 * where it knows the compressor, else the plain elements.  It unshuffles plain elements on reading where the list has a shuffle,
 * though it doesn't shuffle them. */
#ifndef BKT_SCHEMA_HSDS_VIEW_H
#define BKT_SCHEMA_HSDS_VIEW_H

#include "model.h"

enum bkt_hsds_view {
    BKT_HSDS_READS,   /* it decodes what we store, and stores blosc frames */
    BKT_HSDS_RAW,     /* it finds our chunks too short or too long, and stores plain elements */
    BKT_HSDS_REFUSES, /* it could take our chunks for something else: the list is written so that it fails */
};
/** By the filters alone. */
enum bkt_hsds_view bkt_hsds_view(const struct bkt_filter_desc *f, size_t n);
/** Whether that is all its filters do; then chunk objects of ours hold plain elements, whichever the list says. */
bool bkt_only_shuffled(const struct bkt_dset *d);
/** The name of the compressor inside of HDF5's filter blosc, which is one of HSDS's. */
const char *bkt_blosc_codec(const struct bkt_filter_desc *f);

#endif
