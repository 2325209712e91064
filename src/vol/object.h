#ifndef BKT_VOL_OBJECT_H
#define BKT_VOL_OBJECT_H

#include "vol.h"

/** H5Oget_info: @p fields as H5O_INFO_…; rc counts hard links in the whole domain (setting link_count). */
BKT_NODISCARD int bkt_object_info(struct bkt_vobj *o, unsigned fields, H5O_info2_t *out, struct bkt_err *err);
/** Which object an id stands for, without counting its links. */
BKT_NODISCARD int bkt_object_identify(hid_t obj, unsigned long *fileno, H5O_token_t *token, struct bkt_err *err);

#endif
