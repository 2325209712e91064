/* Datasets and attributes of plain HDF5 files that external links led to: calls are passed on to HDF5 by
 * native_id. */
#ifndef BKT_NATIVE_DATA_H
#define BKT_NATIVE_DATA_H

#include "vol/core/vol.h"

/** Each is the callback of that name, with HDF5's arguments.  BKT_EHDF5: HDF5's own message. */
BKT_NODISCARD int bkt_native_dataset_read(struct bkt_vobj *o, hid_t mem_type, hid_t mem_space, hid_t file_space, hid_t dxpl,
                                          void *buf, struct bkt_err *err);
BKT_NODISCARD int bkt_native_dataset_get(struct bkt_vobj *o, H5VL_dataset_get_args_t *args, struct bkt_err *err);
/** Calls that HDF5 keeps for its own files, passed on whichever they are; for a dataset, > 0 is the return
 *  value of the program's callback. */
int bkt_native_dataset_optional(struct bkt_vobj *o, H5VL_optional_args_t *args, hid_t dxpl, struct bkt_err *err);
BKT_NODISCARD int bkt_native_file_optional(struct bkt_vobj *o, H5VL_optional_args_t *args, hid_t dxpl, struct bkt_err *err);

/** By name, or by index when @p idx is given. */
BKT_NODISCARD int bkt_native_attr_open(struct bkt_vobj *owner, const char *name, const H5VL_loc_by_idx_t *idx,
                                       struct bkt_vobj **out, struct bkt_err *err);
BKT_NODISCARD int bkt_native_attr_read(struct bkt_vobj *attr, hid_t mem_type, void *buf, struct bkt_err *err);
BKT_NODISCARD int bkt_native_attr_get(struct bkt_vobj *attr, H5VL_attr_get_args_t *args, struct bkt_err *err);
/** > 0: the return value of the program's callback. */
int bkt_native_attr_specific(struct bkt_vobj *owner, H5VL_attr_specific_args_t *args, struct bkt_err *err);

/* ---- writing (plain_write.c) ---- */
/** As above; @p out: a new object. */
BKT_NODISCARD int bkt_native_dataset_create(struct bkt_vobj *at, const char *name, hid_t lcpl, hid_t type, hid_t space, hid_t dcpl,
                                            hid_t dapl, struct bkt_vobj **out, struct bkt_err *err);
BKT_NODISCARD int bkt_native_dataset_write(struct bkt_vobj *o, hid_t mem_type, hid_t mem_space, hid_t file_space, hid_t dxpl,
                                           const void *buf, struct bkt_err *err);
BKT_NODISCARD int bkt_native_dataset_specific(struct bkt_vobj *o, H5VL_dataset_specific_args_t *args, struct bkt_err *err);
BKT_NODISCARD int bkt_native_attr_create(struct bkt_vobj *owner, const char *name, hid_t type, hid_t space, hid_t acpl,
                                         struct bkt_vobj **out, struct bkt_err *err);
BKT_NODISCARD int bkt_native_attr_write(struct bkt_vobj *attr, hid_t mem_type, const void *buf, struct bkt_err *err);
/** Delete or rename. */
BKT_NODISCARD int bkt_native_attr_change(struct bkt_vobj *owner, H5VL_attr_specific_args_t *args, struct bkt_err *err);

#endif
