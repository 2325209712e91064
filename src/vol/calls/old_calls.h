/* Calls of HDF5 1.6 that reach a connector as operations of the native one (H5VLnative.h). */
#ifndef BKT_VOL_OLD_CALLS_H
#define BKT_VOL_OLD_CALLS_H

#include "vol/core/vol.h"

/** H5Giterate, H5Gget_objinfo; the return value of the program's callback, or a negative code. */
herr_t bkt_old_group_call(struct bkt_vobj *o, H5VL_optional_args_t *args, struct bkt_err *err);
/** H5Aiterate1; the same. */
herr_t bkt_old_attr_call(H5VL_optional_args_t *args, struct bkt_err *err);

/** Entries of bkt_domain_ops (see ops.h). */
int bkt_object_stat(struct bkt_vobj *o, H5G_stat_t *out, struct bkt_err *err);
int bkt_link_stat(struct bkt_link_place *p, H5G_stat_t *out, struct bkt_err *err);

#endif
