#include "vol/core/hid.h"

void bkt_hid_closep(const hid_t *id)
{
    if (*id >= 0)
        (void)H5Idec_ref(*id);
}

hid_t bkt_hid_hold(hid_t id) { return H5Iinc_ref(id) < 0 ? H5I_INVALID_HID : id; }
