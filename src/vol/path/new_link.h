/* The place of a new link: a group, and the name in it. */
#pragma once

#include "vol/core/vol.h"

/** A call that makes a link, and its lists; 0 is H5P_DEFAULT. */
struct bkt_new_link_call {
    const char *what; /* "creating a link": for messages about missing permissions */
    hid_t lcpl;       /* of the link: missing groups on the way are created if it says so */
    hid_t lapl;       /* to follow links on the way */
    hid_t ocpl;       /* of the new object: groups created on the way get its settings for attributes */
};
/** The group that is to hold the last component of @p path.
 * @param path  NULL: the new object gets no link, and out->group stays NULL
 * @return BKT_OK: bkt_new_link_fini(); BKT_EEXIST: a link of that name exists, or no link can have that name;
 * BKT_ENOENT: a group on the way is missing; BKT_EACCES: the user may not create there */
BKT_NODISCARD int bkt_new_link_find(struct bkt_vobj *from, const char *path,
                                    const struct bkt_new_link_call *call, struct bkt_new_link *out,
                                    struct bkt_err *err);
void bkt_new_link_fini(struct bkt_new_link *s);

/** Add a link there.  @p l: class and target are set; its memory is taken over, even on failure. */
BKT_NODISCARD int bkt_new_link_link(struct bkt_new_link *s, struct bkt_link *l, struct bkt_err *err);

/** Add a new object there, or for H5Dcreate_anon() and the like without a link, to the file of @p at.  If it
 * is closed before it gets a link, it is deleted.
 * @param o    from bkt_object_make(); taken over, even on failure
 * @param out  an object for HDF5 */
BKT_NODISCARD int bkt_new_link_put(struct bkt_new_link *s, const struct bkt_vobj *at, struct bkt_object *o,
                                   struct bkt_vobj **out, struct bkt_err *err);
/** As bkt_new_link_put(), in two steps, for an object that has to be completed before other writers see it.
 * bkt_new_link_make() adds an object that knows its future path, bkt_new_link_show() the link to it. */
BKT_NODISCARD int bkt_new_link_make(const struct bkt_new_link *s, const struct bkt_vobj *at,
                                    struct bkt_object *o, struct bkt_vobj **out, struct bkt_err *err);
BKT_NODISCARD int bkt_new_link_show(struct bkt_new_link *s, const struct bkt_vobj *made, struct bkt_err *err);

/** An entry of bkt_domain_link_ops. */
int bkt_new_link_is_free(const struct bkt_new_link *s, const char *path, struct bkt_err *err);
