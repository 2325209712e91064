/* References into other files.
 *
 * HDF5 keeps the file of such a reference closed until the program follows the reference, and so do we.
 * The reference's location is an object of ours that stands for an object of a closed file.  It knows the
 * names of the file (H5Rget_file_name) and of the object.  When the object is opened, it opens the file by
 * the rules of external links [I2]. */
#ifndef BKT_VOL_OUTSIDE_H
#define BKT_VOL_OUTSIDE_H

#include "schema/json/reference_text.h"
#include "vol/core/vol.h"

/** The reference that @p r describes (r->file is set), found in a value of @p in_file.
 * @param region  a dataspace with the region selected; negative: the reference is to an object or attribute
 * @param out     the caller's, H5Rdestroy() */
BKT_NODISCARD int bkt_outside_ref(struct bkt_vobj *in_file, const struct bkt_regref *r, hid_t region,
                                  H5R_ref_t *out, struct bkt_err *err);

/** A token that identifies it: the same for the same names. */
void bkt_outside_token(const struct bkt_vobj *o, H5O_token_t *out);

/** Describe a reference that leads out of the file in which it will be stored: r->file, r->name.
 *  BKT_EUNSUP: the object has no name. */
BKT_NODISCARD int bkt_outside_describe(const H5R_ref_t *ref, struct bkt_regref *r, struct bkt_err *err);

#endif
