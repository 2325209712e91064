/* Where a new link goes: the group, and the name in it. */
#ifndef BKT_VOL_SPOT_H
#define BKT_VOL_SPOT_H

#include "change.h"

struct bkt_spot {
    struct bkt_vobj *group;     /* native_id >= 0: in a plain HDF5 file, which HDF5 has to be asked about */
    char            *name;      /* one component */
    bool             name_utf8; /* H5Pset_char_encoding */
};

/** The group that is to hold the last component of @p path.
 * @param lcpl  link creation list: missing groups on the way are created where it says so; H5P_DEFAULT: none
 * @param ocpl  creation list of the new object, of which such groups get how attributes are kept; H5P_DEFAULT: there is none
 * @param what  for bkt_change_may(), which is asked for BKT_ACL_CREATE
 * @return BKT_OK: bkt_spot_fini(); BKT_EEXIST: there is a link of that name, or it is none that a link can have;
 *         BKT_ENOENT: a group on the way is missing; BKT_EACCES */
BKT_NODISCARD int bkt_spot_find(struct bkt_vobj *from, const char *path, hid_t lcpl, hid_t lapl, hid_t ocpl,
                                const char *what, struct bkt_spot *out, struct bkt_err *err);
void              bkt_spot_fini(struct bkt_spot *s);

/** Add a link there. @p l: class and target are set; what it holds is taken over, even on failure. */
BKT_NODISCARD int bkt_spot_link(struct bkt_spot *s, struct bkt_link *l, struct bkt_err *err);

/** Add a new object there.
 * @param o    from bkt_object_make(); taken over, even on failure
 * @param out  an object for HDF5; NULL: not wanted */
BKT_NODISCARD int bkt_spot_put(struct bkt_spot *s, struct bkt_object *o, struct bkt_vobj **out, struct bkt_err *err);
/** The same in two steps, for what has to be completed before anybody sees it: a new object that knows the path it will have, and
 *  the link to it.  It goes when it is closed before it gets one. */
BKT_NODISCARD int bkt_spot_make(struct bkt_spot *s, struct bkt_object *o, struct bkt_vobj **out, struct bkt_err *err);
BKT_NODISCARD int bkt_spot_show(struct bkt_spot *s, const struct bkt_vobj *made, struct bkt_err *err);
/** One with no link to it yet (H5Dcreate_anon and the like); it goes when it is closed before it gets one. */
BKT_NODISCARD int bkt_spot_put_anonymous(struct bkt_file *f, struct bkt_object *o, struct bkt_vobj **out, struct bkt_err *err);

#endif
