/* This build's LZF and blosc as entries of HDF5's table of filters, for files that HDF5 itself reads and
 * writes. */
#ifndef BKT_SAMPLES_REGISTERED_H
#define BKT_SAMPLES_REGISTERED_H

#include "base/err.h"

/** Register both, if HDF5 has neither them nor a plugin for them.  They stay registered, since open files may
 * need them. */
BKT_NODISCARD int bkt_sample_filters_register(struct bkt_err *err);

#endif
