/* HDF5's values of links -> struct bkt_link. */
#ifndef BKT_LINK_VALUE_H
#define BKT_LINK_VALUE_H

#include "schema/model/model.h"

/** A soft link's target.  BKT_ENOMEM; l is the caller's (bkt_link_fini()), also on failure. */
BKT_NODISCARD int bkt_link_soft(struct bkt_link *l, const char *target, struct bkt_err *err);
/** The value of an external or user-defined link in the form of H5Lcreate_ud().  BKT_EINVAL: HDF5 doesn't
 * know the class. */
BKT_NODISCARD int bkt_link_user(struct bkt_link *l, int type, const void *value, size_t n,
                                struct bkt_err *err);

#endif
