/* The subject of a link call: the group, and the link in it by name or by index. */
#ifndef BKT_VOL_LINK_H
#define BKT_VOL_LINK_H

#include "vol/core/vol.h"

struct bkt_link_place {
    struct bkt_vobj       *group;
    char                  *name; /* "" or ".": the group itself; NULL: by index, in a plain HDF5 file */
    const struct bkt_link *link; /* NULL: the group has no such link, or is native; valid until the group changes */
};
/** @p loc: by name or by index.  A missing link is not yet an error. */
BKT_NODISCARD int bkt_link_place(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, struct bkt_link_place *out, struct bkt_err *err);
/** The same by name alone. */
BKT_NODISCARD int bkt_link_place_at(struct bkt_vobj *obj, const char *path, hid_t lapl, struct bkt_link_place *out, struct bkt_err *err);
void              bkt_link_place_fini(struct bkt_link_place *p);
/** BKT_ENOENT if the link is missing. */
BKT_NODISCARD int bkt_link_need(const struct bkt_link_place *p, struct bkt_err *err);

/** As H5Ldelete() and H5Ldelete_by_idx(). */
BKT_NODISCARD int bkt_link_delete(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, struct bkt_err *err);

#endif
