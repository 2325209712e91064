/* Objects of domains as HDF5 sees them: their identity, and references to them. */
#pragma once

#include "schema/json/reference_text.h"
#include "vol/core/vol.h"

/** HDF5's name for its kind. */
H5O_type_t bkt_object_type(const struct bkt_object *obj);
/** H5Oget_info: @p fields as H5O_INFO_…; rc counts hard links in the whole domain. */
BKT_NODISCARD int bkt_vobj_info(struct bkt_vobj *o, unsigned fields, H5O_info2_t *out, struct bkt_err *err);
/** The object that an id stands for; its links are not counted. */
BKT_NODISCARD int bkt_vobj_identify(hid_t obj, unsigned long *fileno, H5O_token_t *token,
                                    struct bkt_err *err);
/** An id of the root group of the file that @p in_file is in, the caller's: for HDF5's calls that want a
 *  location. */
BKT_NODISCARD int bkt_vobj_root_id(struct bkt_vobj *in_file, hid_t *out, struct bkt_err *err);
/** The id of the object that a reference into the domain of @p in_file leads to, also of a deleted
 *  object.  BKT_ENOENT: the reference leads to another domain, or there never was such an object. */
BKT_NODISCARD int bkt_vobj_ref_id(const H5R_ref_t *ref, struct bkt_vobj *in_file, struct bkt_id *out);
/** H5Rcreate() of a region: 12 bytes. */
BKT_NODISCARD int bkt_vobj_ref_make_old(struct bkt_vobj *in_file, const struct bkt_id *id, hid_t region,
                                        unsigned char *out, struct bkt_err *err);

/** Whether a reference is null: all zeros. */
bool bkt_ref_is_null(const H5R_ref_t *ref);
/** H5Rget_obj_name(), whose reference stays as it is. */
ssize_t bkt_ref_object_name(const H5R_ref_t *ref, char *buf, size_t size);
/** A reference value for reading into H5T_STD_REF memory, by id.
 *  @param region  H5Rcreate_region(): the dataset's dataspace with its selection; negative: none
 *  @param attr    H5Rcreate_attr(); NULL: H5Rcreate_object(), unless @p region is given */
BKT_NODISCARD int bkt_vobj_ref_make(struct bkt_vobj *in_file, const struct bkt_id *id, hid_t region,
                                    const char *attr, H5R_ref_t *out, struct bkt_err *err);

/* ---- for the callbacks: HDF5 makes references by asking the connector ---- */
/** H5VL_OBJECT_GET_NAME: whether bkt_vobj_ref_id() asks, which needs only the target and no name. */
bool bkt_vobj_is_only_asked(const struct bkt_vobj *obj, const H5VL_loc_params_t *loc);
/** H5VL_OBJECT_LOOKUP: the id to return for any name; NULL: the name counts. */
const struct bkt_id *bkt_vobj_lookup_answer(void);

/** The reference that @p r describes (r->file is set), found in a value of @p in_file.
 * @param region  a dataspace with the region selected; negative: the reference is to an object or attribute
 * @param out     the caller's, H5Rdestroy() */
BKT_NODISCARD int bkt_outside_ref(struct bkt_vobj *in_file, const struct bkt_regref *r, hid_t region,
                                  H5R_ref_t *out, struct bkt_err *err);

/** A token that identifies it: the same for the same names. */
void bkt_outside_token(const struct bkt_vobj *o, H5O_token_t *out);

/** A text that one of HDF5's calls returns about a reference; the caller's (free()). */
BKT_NODISCARD int bkt_outside_text(ssize_t (*ask)(const H5R_ref_t *ref, char *buf, size_t size),
                                   const H5R_ref_t *ref, const char *what, char **out, struct bkt_err *err);
/** Describe a reference that leads out of the file in which it will be stored: r->file, r->name.
 *  BKT_EUNSUP: the object has no name. */
BKT_NODISCARD int bkt_outside_describe(const H5R_ref_t *ref, struct bkt_regref *r, struct bkt_err *err);

/* ---- HDF5's values of links -> struct bkt_link ---- */
/** A soft link's target.  BKT_ENOMEM; l is the caller's (bkt_link_fini()), also on failure. */
BKT_NODISCARD int bkt_link_soft(struct bkt_link *l, const char *target, struct bkt_err *err);
/** The value of an external or user-defined link in the form of H5Lcreate_ud().  BKT_EINVAL: HDF5 doesn't
 * know the class. */
BKT_NODISCARD int bkt_link_user(struct bkt_link *l, int type, const void *value, size_t n,
                                struct bkt_err *err);
