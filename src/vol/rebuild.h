/* HDF5's values out of encodings that were taken apart (schema/h5enc.h), by the calls that a program has:
 * HDF5's decoders trust their input, so nothing that is stored reaches them.  Ids are new ones; BKT_EHDF5
 * where HDF5 itself refuses a value. */
#ifndef BKT_REBUILD_H
#define BKT_REBUILD_H

#include "convert.h"
#include "h5enc.h"

/** H5Tequal() to what was encoded.  BKT_EUNSUP: references of a kind that HDF5 has no type for. */
BKT_NODISCARD int bkt_rebuild_type(const struct bkt_h5type *t, hid_t *out, struct bkt_err *err);
/** From the bytes; BKT_EFORMAT, BKT_EUNSUP as bkt_h5type_parse(). */
BKT_NODISCARD int bkt_rebuild_encoded_type(const struct bkt_buf *b, hid_t *out, struct bkt_err *err);
/** The extent with its selection. */
BKT_NODISCARD int bkt_rebuild_space(const struct bkt_h5space *s, hid_t *out, struct bkt_err *err);
BKT_NODISCARD int bkt_rebuild_encoded_space(const struct bkt_buf *b, hid_t *out, struct bkt_err *err);
/** Select the union of blocks; @p coords as bkt_h5blocks_check(), which has looked at them, of the dataspace's rank. */
herr_t bkt_rebuild_blocks(hid_t space, size_t n, const uint64_t *coords);
/** A list of class @p plist_class with all that it has a property for: a file's list gives a group's too. */
BKT_NODISCARD int bkt_rebuild_plist(const struct bkt_h5plist *l, hid_t plist_class, hid_t *out,
                                    struct bkt_err *err);
/** The creation list of the dataset @p d; plugins' filters have the names that @p d says (filter_names.h). */
BKT_NODISCARD int bkt_rebuild_dcpl(const struct bkt_h5plist *l, const struct bkt_dset *d, hid_t *out,
                                   struct bkt_err *err);
/** A dataset's creation list, from the bytes; BKT_EFORMAT, BKT_EUNSUP as bkt_h5plist_parse(). */
BKT_NODISCARD int bkt_rebuild_encoded_dcpl(const struct bkt_buf *b, hid_t *out, struct bkt_err *err);

/** Whether HDF5 makes its values of everything that an object has encoded: types and creation list. */
BKT_NODISCARD int bkt_rebuild_check(const struct bkt_object *o, struct bkt_err *err);

#endif
