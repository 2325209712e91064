/* HDF5 ids in local variables. */
#pragma once

#include <hdf5.h>
#include <stdbool.h>

#include "base/err.h"

/** For BKT_CLEANUP on an id of any kind; H5P_DEFAULT and negative ones are left alone.  The id becomes
 *  invalid. */
static inline void bkt_hid_closep(hid_t *id)
{
    if (*id > 0)
        (void)H5Idec_ref(*id);
    *id = H5I_INVALID_HID;
}
/** One more reference to @p id, for bkt_hid_closep(); H5I_INVALID_HID: HDF5 refuses, the reason is on its
 *  stack. */
hid_t bkt_hid_hold(hid_t id);
/** Whether the connector answers for an id, also for an object of a plain file. */
bool bkt_hid_is_ours(hid_t id);
/** Hand an id over, so that the cleanup closes nothing. */
static inline hid_t bkt_hid_take(hid_t *id)
{
    hid_t taken = *id;
    *id         = H5I_INVALID_HID;
    return taken;
}
/** As bkt_hid_take(), to the caller's @p out; BKT_OK. */
static inline int bkt_hid_give(hid_t *id, hid_t *out)
{
    *out = bkt_hid_take(id);
    return BKT_OK;
}
