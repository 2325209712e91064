/* Attributes of domains, between the files that implement them (attr*.c). */
#pragma once

#include "vol/core/vol.h"

/** The number of a new attribute.  HDF5 numbers attributes even if no order is tracked: by their places. */
#define BKT_ATTR_NO_NUMBER SIZE_MAX

/** The @p i-th attribute in an order, borrowed from @p all; NULL past the end. */
const struct bkt_attr *bkt_attr_nth(const struct bkt_attrs *all, H5_index_t by, H5_iter_order_t order,
                                    hsize_t i);
/** The character set that the attribute declares for its name. */
H5T_cset_t bkt_attr_name_cset(const struct bkt_attr *a);
/** Bytes of the value as HDF5 would store it in a file. */
BKT_NODISCARD int bkt_attr_data_size(const struct bkt_attr *a, hsize_t *out, struct bkt_err *err);
/** Fill in the outputs of H5Aget_info(), with the given number. */
BKT_NODISCARD int bkt_attr_describe(const struct bkt_attr *a, size_t number, H5A_info_t *out,
                                    struct bkt_err *err);
/** As bkt_attr_describe(), with the attribute's own number.  @p a: an attribute of @p obj, whose list is
 * settled. */
BKT_NODISCARD int bkt_attr_info(const struct bkt_object *obj, const struct bkt_attr *a, H5A_info_t *out,
                                struct bkt_err *err);
/** H5Aiterate().  Returns the value of the program's callback; BKT_ECANCEL if that is negative; BKT_EINVAL:
 * the object has no attribute to begin at; … */
int bkt_attr_iterate(struct bkt_vobj *owner, H5VL_attr_iterate_args_t *it, struct bkt_err *err);
