/* The place of a new link: the group, and the name in it. */
#pragma once

#include "vol/open/permission_and_flush.h"

/** The group that is to hold the last component of @p path.
 * @param lcpl  link creation list: missing groups on the way are created if it says so; H5P_DEFAULT: none
 * @param ocpl  creation list of the new object; created groups get its settings for attributes;
 * H5P_DEFAULT: none
 * @param what  for bkt_change_may(), which is asked for BKT_ACL_CREATE
 * @return BKT_OK: bkt_spot_fini(); BKT_EEXIST: a link of that name exists, or no link can have that name;
 * BKT_ENOENT: a group on the way is missing; BKT_EACCES */
BKT_NODISCARD int bkt_spot_find(struct bkt_vobj *from, const char *path, hid_t lcpl, hid_t lapl, hid_t ocpl,
                                const char *what, struct bkt_spot *out, struct bkt_err *err);
void              bkt_spot_fini(struct bkt_spot *s);

/** Add a link there.  @p l: class and target are set; its memory is taken over, even on failure. */
BKT_NODISCARD int bkt_spot_link(struct bkt_spot *s, struct bkt_link *l, struct bkt_err *err);

/** Add a new object there.
 * @param o    from bkt_object_make(); taken over, even on failure
 * @param out  an object for HDF5; NULL: not wanted */
BKT_NODISCARD int bkt_spot_put(struct bkt_spot *s, struct bkt_object *o, struct bkt_vobj **out,
                               struct bkt_err *err);
/** The same in two steps, for an object that has to be completed before other writers see it: a new object
 *  that knows its future path, and the link to it.  If it is closed before it gets the link, it is
 *  deleted. */
BKT_NODISCARD int bkt_spot_make(struct bkt_spot *s, struct bkt_object *o, struct bkt_vobj **out,
                                struct bkt_err *err);
BKT_NODISCARD int bkt_spot_show(struct bkt_spot *s, const struct bkt_vobj *made, struct bkt_err *err);
/** A new object without a link (H5Dcreate_anon and the like).  If it is closed before it gets one, it is
 *  deleted. */
BKT_NODISCARD int bkt_spot_put_anonymous(struct bkt_file *f, struct bkt_object *o, struct bkt_vobj **out,
                                         struct bkt_err *err);

/** An entry of bkt_domain_link_ops. */
int bkt_spot_is_free(const struct bkt_spot *s, const char *path, struct bkt_err *err);
