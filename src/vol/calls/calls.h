/* Attributes, links, groups and objects: the calls that begin in any kind of file, and entries of the tables
 * of domains (ops.h). */
#pragma once

#include "vol/convert/convert.h"
#include "vol/core/vol.h"

/** Find the link that a call is about.  @p loc: by name or by index.  A missing link is not yet an error.
 *  @param out  zeroed; bkt_link_place_fini(), also after a failure */
BKT_NODISCARD int bkt_link_place(struct bkt_vobj *obj, const H5VL_loc_params_t *loc,
                                 struct bkt_link_place *out, struct bkt_err *err);
/** As bkt_link_place(), by name alone. */
BKT_NODISCARD int bkt_link_place_at(struct bkt_vobj *obj, const char *path, hid_t lapl,
                                    struct bkt_link_place *out, struct bkt_err *err);
void bkt_link_place_fini(struct bkt_link_place *p); /* closes its group */

/** H5Lcreate_*() in any kind of file, as the two below. */
BKT_NODISCARD int bkt_link_make(H5VL_link_create_args_t *args, struct bkt_vobj *obj,
                                const H5VL_loc_params_t *loc, hid_t lcpl, hid_t lapl, struct bkt_err *err);
/** H5Lcopy(), or with @p move H5Lmove().  Either object may be NULL: the other one counts. */
BKT_NODISCARD int bkt_link_transfer(struct bkt_vobj *src, const H5VL_loc_params_t *sloc, struct bkt_vobj *dst,
                                    const H5VL_loc_params_t *dloc, hid_t lcpl, bool move,
                                    struct bkt_err *err);
/** H5Ldelete() and H5Ldelete_by_idx(). */
BKT_NODISCARD int bkt_link_delete(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, struct bkt_err *err);

/** H5Fmount() on the group @p name, from an object of any kind of file.  BKT_EUNSUP: a plain HDF5 file on
 * either side; BKT_EINVAL: not a group, or behind an external link; … */
BKT_NODISCARD int bkt_group_mount(struct bkt_vobj *o, const char *name, struct bkt_vobj *child,
                                  struct bkt_err *err);
/** H5Funmount(): @p name leads to the root group of the mounted file, or to a group opened before it was
 * mounted there.  BKT_ENOENT: nothing is mounted. */
BKT_NODISCARD int bkt_group_unmount(struct bkt_vobj *o, const char *name, struct bkt_err *err);

/** The callback H5VL_object_get. */
BKT_NODISCARD int bkt_vobj_query(struct bkt_vobj *obj, const H5VL_loc_params_t *loc,
                                 H5VL_object_get_args_t *args, struct bkt_err *err);
/** H5VL_OBJECT_LOOKUP: the token of an object of any kind of file.  BKT_ENOENT: no such object; … */
BKT_NODISCARD int bkt_vobj_lookup(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, H5O_token_t *out,
                                  struct bkt_err *err);
/** H5Oexists_by_name.  @p depth: of soft links, see ops.h */
BKT_NODISCARD int bkt_vobj_exists_at(struct bkt_vobj *from, const char *path, hid_t lapl, unsigned depth,
                                     hbool_t *out, struct bkt_err *err);

/** H5Giterate, H5Gget_objinfo; the return value of the program's callback, or a negative code. */
herr_t bkt_old_group_call(struct bkt_vobj *o, H5VL_optional_args_t *args, struct bkt_err *err);
/** H5Aiterate1; the same. */
herr_t bkt_old_attr_call(H5VL_optional_args_t *args, struct bkt_err *err);

/** H5Gget_objinfo of an object; entry of bkt_domain_ops (see ops.h).
 *  @param out  zeroed; gets the address, number of hard links, type and time
 *  @return BKT_OK; the errors of reading the object */
int bkt_vobj_stat(struct bkt_vobj *o, H5G_stat_t *out, struct bkt_err *err);
/** H5Gget_objinfo of a link that is not followed; entry of bkt_domain_ops.
 *  @param out  zeroed; gets the type and the value's length
 *  @return 1; 0: no link, or a hard link, so its object is to be described */
int bkt_link_stat(struct bkt_link_place *p, H5G_stat_t *out, struct bkt_err *err);
