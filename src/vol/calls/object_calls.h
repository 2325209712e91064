#ifndef BKT_VOL_OBJECT_H
#define BKT_VOL_OBJECT_H

#include "vol/core/vol.h"

/** H5Oget_info: @p fields as H5O_INFO_…; rc counts hard links in the whole domain (setting link_count). */
BKT_NODISCARD int bkt_object_info(struct bkt_vobj *o, unsigned fields, H5O_info2_t *out, struct bkt_err *err);
/** The object that an id stands for; its links are not counted. */
BKT_NODISCARD int bkt_object_identify(hid_t obj, unsigned long *fileno, H5O_token_t *token, struct bkt_err *err);
/** An id of the root group of the file that @p in_file is in, the caller's: for HDF5's calls that want a
 *  location. */
BKT_NODISCARD int bkt_object_root_id(struct bkt_vobj *in_file, hid_t *out, struct bkt_err *err);
/** The id of the object that a reference into the domain of @p in_file leads to, also of a deleted
 *  object.  BKT_ENOENT: the reference leads to another domain, or there never was such an object. */
BKT_NODISCARD int bkt_object_of_ref(const H5R_ref_t *ref, struct bkt_vobj *in_file, struct bkt_id *out);
/** H5Rcreate() of a region: 12 bytes. */
BKT_NODISCARD int bkt_object_make_old_region(struct bkt_vobj *in_file, const struct bkt_id *id, hid_t region, unsigned char *out,
                                             struct bkt_err *err);

#endif
