/* Order of links: from HDF5's index to the model's arrays.  Also the walks over whole subtrees. */
#pragma once

#include "vol/core/vol.h"

/** Place of the @p k-th of @p n named things in an index order; H5_ITER_NATIVE is increasing. */
size_t bkt_iterate_place(const uint32_t *by_creation, size_t n, H5_index_t idx, H5_iter_order_t order,
                         size_t k);

/** The n-th link of a group; BKT_ERANGE past the end. */
BKT_NODISCARD int bkt_iterate_nth_link(const struct bkt_vobj *group, H5_index_t idx, H5_iter_order_t order,
                                       hsize_t n, const struct bkt_link **out, struct bkt_err *err);

/** H5Lget_info.  Moves links (model.h, bkt_links_settle) where their order was tracked. */
void bkt_iterate_link_info(const struct bkt_object *group, const struct bkt_link *l, H5L_info2_t *out);

/** H5Literate and H5Lvisit on one of our groups; returns the value of the program's callback, or a
 *  negative code. */
herr_t bkt_iterate_links(struct bkt_vobj *group, const H5VL_link_iterate_args_t *a, struct bkt_err *err);

/** H5Ovisit from one of our objects. */
herr_t bkt_iterate_objects(struct bkt_vobj *start, const H5VL_object_visit_args_t *a, struct bkt_err *err);
