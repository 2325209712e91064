/* Iteration: from HDF5's index of links to the model's arrays, and walks over whole subtrees. */
#pragma once

#include "vol/core/vol.h"

/** The n-th link of a group; BKT_ERANGE past the end; BKT_EINVAL: not a group. */
BKT_NODISCARD int bkt_iterate_nth_link(const struct bkt_vobj *group, H5_index_t idx, H5_iter_order_t order,
                                       hsize_t n, const struct bkt_link **out, struct bkt_err *err);

/** H5Lget_info.  Moves links (model.h, bkt_links_settle) where their order was tracked. */
void bkt_iterate_link_info(const struct bkt_object *group, const struct bkt_link *l, H5L_info2_t *out);

/** H5Literate and H5Lvisit on a group of the connector; returns the value of the program's callback, or a
 *  negative code. */
herr_t bkt_iterate_links(struct bkt_vobj *group, const H5VL_link_iterate_args_t *a, struct bkt_err *err);

/** H5Ovisit from an object of the connector. */
herr_t bkt_iterate_objects(struct bkt_vobj *start, const H5VL_object_visit_args_t *a, struct bkt_err *err);
