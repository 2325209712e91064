/* From a location and a name to an object of any kind of file. */
#pragma once

#include "vol/core/vol.h"

/** Follow @p path (absolute or relative to @p from) through hard, soft and external links and mounts.
 * @param out  a new object of the type found; BKT_ENOENT when a component does not exist (the message names
 *         it) */
BKT_NODISCARD int bkt_path_open(struct bkt_vobj *from, const char *path, hid_t lapl, struct bkt_vobj **out,
                                struct bkt_err *err);
/** The object that H5VL_loc_params_t points to: by self, name, index or token.  A new object. */
BKT_NODISCARD int bkt_path_locate(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, struct bkt_vobj **out,
                                  struct bkt_err *err);
/** The group that holds the last component of @p path, for link calls.  The last component itself is not
 * followed.
 * @param name  that component, without the slashes that may follow it; the caller's (free()).  "" if the
 * path has no component: "/" */
BKT_NODISCARD int bkt_path_parent(struct bkt_vobj *from, const char *path, hid_t lapl,
                                  struct bkt_vobj **group, char **name, struct bkt_err *err);

/** Check an access list of a call: a link access list, or a list of groups, datasets, types or attributes.
 *  Each of them is also a link access list.  H5P_DEFAULT is fine.
 *  @param n_links  gets the number of soft and external links that may be followed; 16 by a default list
 *  @return BKT_OK; BKT_EINVAL */
BKT_NODISCARD int bkt_path_check_lapl(hid_t lapl, size_t *n_links, struct bkt_err *err);
