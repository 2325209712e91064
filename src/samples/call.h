/* Public calls: their errors go to HDF5's stack once, after all cleanup. */
#ifndef BKT_SAMPLES_CALL_H
#define BKT_SAMPLES_CALL_H

#include "vol/core/h5err.h"

/** End a public call: a failure is published (h5err.h).
 *  @return non-negative, or -1 */
herr_t bkt_samples_done(int rc, const struct bkt_err *err);

/** The body of a public call: @p call may use `err`, a struct bkt_err, and HDF5 prints nothing meanwhile. */
#define BKT_SAMPLES_CALL(call)                                                                               \
    __extension__({                                                                                          \
        struct bkt_err err;                                                                                  \
        struct bkt_h5err_print print_;                                                                       \
        bkt_err_clear(&err);                                                                                 \
        bkt_h5err_mute(&print_);                                                                             \
        int call_rc_ = (call);                                                                               \
        bkt_h5err_unmute(&print_);                                                                           \
        bkt_samples_done(call_rc_, &err);                                                                    \
    })

#endif
