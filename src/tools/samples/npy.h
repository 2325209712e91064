/* numpy's .npy files, version 1.0 to 3.0: one array, with its type and shape. */
#pragma once

#include <hdf5.h>

#include "base/bytes.h"

struct npy {
    hid_t   type;            /* of the elements as they are stored; H5Tclose() */
    int     rank;
    hsize_t shape[H5S_MAX_RANK];
    size_t  elem, at, bytes; /* of an element; where the elements begin, and all their bytes */
};

/** Append the header of an array.  BKT_EUNSUP: numpy has no such type. */
BKT_NODISCARD int npy_head(hid_t type, int rank, const hsize_t *shape, struct bkt_buf *out,
                           struct bkt_err *err);
/** Parse a file's bytes.  Its type is set on success only.  BKT_EFORMAT; BKT_EUNSUP: Fortran order, or a type
 * that no sample can have */
BKT_NODISCARD int npy_parse(const struct bkt_buf *file, struct npy *out, struct bkt_err *err);

/** The type of such letters; the first may be absent.  Negative: not a number's or a boolean's. */
hid_t npy_type(const char *descr);
/** numpy's name of a type ("float32"); "?" if it has none. */
void npy_name(hid_t type, char out[16]);
