/* From a location and a name to an object of any kind of file, to the place of a new link, and through all
 * links of a group. */
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
 *  @param n_links  the number of soft and external links that may be followed; left alone by a default
 *  list
 *  @return BKT_OK; BKT_EINVAL */
BKT_NODISCARD int bkt_path_check_lapl(hid_t lapl, size_t *n_links, struct bkt_err *err);

/* ---- new_link.c: the place of a new link, a group and the name in it ---- */

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

/* ---- iterate.c: from HDF5's index of links to the model's arrays, and walks over whole subtrees ---- */

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
