/* Objects: calls that begin in any kind of file. */
#ifndef BKT_VOL_OBJECT_H
#define BKT_VOL_OBJECT_H

#include "vol/core/vol.h"

/** The callbacks H5VL_object_get, and H5VL_OBJECT_LOOKUP. */
BKT_NODISCARD int bkt_object_query(struct bkt_vobj *obj, const H5VL_loc_params_t *loc,
                                   H5VL_object_get_args_t *args, struct bkt_err *err);
BKT_NODISCARD int bkt_object_lookup(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, H5O_token_t *out,
                                    struct bkt_err *err);
/** H5Oexists_by_name.  @p depth: of soft links, see ops.h */
BKT_NODISCARD int bkt_object_exists_at(struct bkt_vobj *from, const char *path, hid_t lapl, unsigned depth,
                                       hbool_t *out, struct bkt_err *err);

#endif
