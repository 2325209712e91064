/* Links: the subject of a link call in any kind of file, and the entries of bkt_domain_ops. */
#ifndef BKT_VOL_LINK_H
#define BKT_VOL_LINK_H

#include "vol/core/vol.h"

/** @p loc: by name or by index.  A missing link is not yet an error. */
BKT_NODISCARD int bkt_link_place(struct bkt_vobj *obj, const H5VL_loc_params_t *loc,
                                 struct bkt_link_place *out, struct bkt_err *err);
/** The same by name alone. */
BKT_NODISCARD int bkt_link_place_at(struct bkt_vobj *obj, const char *path, hid_t lapl,
                                    struct bkt_link_place *out, struct bkt_err *err);
void bkt_link_place_fini(struct bkt_link_place *p);

/** H5Lcreate_*() in any kind of file, as the two below. */
BKT_NODISCARD int bkt_link_make(H5VL_link_create_args_t *args, struct bkt_vobj *obj,
                                const H5VL_loc_params_t *loc, hid_t lcpl, hid_t lapl, struct bkt_err *err);
/** H5Lcopy(), or with @p move H5Lmove().  Either object may be NULL: the other one counts. */
BKT_NODISCARD int bkt_link_transfer(struct bkt_vobj *src, const H5VL_loc_params_t *sloc, struct bkt_vobj *dst,
                                    const H5VL_loc_params_t *dloc, hid_t lcpl, bool move,
                                    struct bkt_err *err);
/** H5Ldelete() and H5Ldelete_by_idx(). */
BKT_NODISCARD int bkt_link_delete(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, struct bkt_err *err);

/** Entries of bkt_domain_link_ops (see ops.h). */
int bkt_link_find(struct bkt_link_place *p, struct bkt_err *err);
int bkt_link_check(struct bkt_link_place *p, const char *removing, struct bkt_err *err);
int bkt_link_get(struct bkt_link_place *p, H5VL_link_get_args_t *args, struct bkt_err *err);
int bkt_link_exists(struct bkt_link_place *p, hbool_t *exists, struct bkt_err *err);

#endif
