/* Public calls: their errors go to HDF5's stack once, after all cleanup. */
#ifndef BKT_SAMPLES_CALL_H
#define BKT_SAMPLES_CALL_H

#include "vol/core/h5err.h"

/** End a public call: a failure is published (h5err.h).
 *  @return non-negative, or -1 */
herr_t bkt_samples_done(int rc, const struct bkt_err *err);

#endif
