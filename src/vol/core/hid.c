#include "vol/core/hid.h"

#include <string.h>

#include <H5VLconnector.h>

#include "bkt_config.h"

void bkt_hid_closep(const hid_t *id)
{
    if (*id >= 0)
        (void)H5Idec_ref(*id);
}

hid_t bkt_hid_hold(hid_t id) { return H5Iinc_ref(id) < 0 ? H5I_INVALID_HID : id; }

bool bkt_hid_is_ours(hid_t id)
{
    char name[16] = "";
    return H5VLget_connector_name(id, name, sizeof name) >= 0 && strcmp(name, BKT_CONNECTOR_NAME) == 0;
}
