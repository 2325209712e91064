/* Shared by the files for H5A. */
#ifndef BKT_VOL_ATTR_H
#define BKT_VOL_ATTR_H

#include "vol/convert/convert.h"

/** The attribute at a place in an order.  BKT_ENOENT: the object has fewer attributes. */
BKT_NODISCARD int bkt_attr_at(const struct bkt_vobj *owner, const H5VL_loc_by_idx_t *at,
                              const struct bkt_attr **out, struct bkt_err *err);
/** An object for HDF5 that is open on attribute @p name. */
BKT_NODISCARD int bkt_attr_handle(struct bkt_vobj *owner, const char *name, struct bkt_vobj **out,
                                  struct bkt_err *err);
/** A stored value in slices of one element each (free()). */
BKT_NODISCARD int bkt_attr_split(const struct bkt_attr *a, size_t n, struct bkt_slice **out,
                                 struct bkt_err *err);

/** Entries of bkt_domain_ops (see ops.h). */
int bkt_attr_create(struct bkt_vobj *owner, const char *name, hid_t type, hid_t space, hid_t acpl,
                    struct bkt_vobj **out, struct bkt_err *err);
int bkt_attr_write(struct bkt_vobj *o, hid_t mem_type, const void *buf, hid_t dxpl, struct bkt_err *err);
/** H5VL_ATTR_DELETE, _DELETE_BY_IDX and _RENAME */
int bkt_attr_change(struct bkt_vobj *owner, H5VL_attr_specific_args_t *args, struct bkt_err *err);

#endif
