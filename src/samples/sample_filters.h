/* The filters of collections: of new ones, from the words of Hangar's options, and in HDF5's table. */
#pragma once

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct h5bucket_samples_schema;

struct bkt_sample_filters {
    bool shuffle;    /* HDF5's shuffle comes first */
    H5Z_filter_t id; /* H5Z_FILTER_NONE: no compressor */
    unsigned cd[7];  /* the compressor's options, as h5py stores them in the attribute compression_opts */
    size_t n_cd;
};

/** Take complib, complevel and shuffle of a schema.  If complib is NULL, it is Hangar's default for samples
 *  of @p bytes.
 *  @return BKT_OK; BKT_EINVAL: the message names the option, and the values that it may have */
BKT_NODISCARD int bkt_sample_filters_parse(const struct h5bucket_samples_schema *schema, uint64_t bytes,
                                           struct bkt_sample_filters *out, struct bkt_err *err);

/** Append the filters to a creation list.  bkt_sample_filters_register() comes before. */
BKT_NODISCARD int bkt_sample_filters_set(const struct bkt_sample_filters *f, hid_t dcpl, struct bkt_err *err);

/** Register this build's LZF and blosc for files that HDF5 itself reads and writes, if HDF5 has neither them
 * nor a plugin for them.  They stay registered, since open files may need them. */
BKT_NODISCARD int bkt_sample_filters_register(struct bkt_err *err);
