/* HDF5's values rebuilt from parsed encodings (schema/h5enc/h5enc.h), by the public calls that a program has:
 * HDF5's decoders trust their input, so stored bytes never reach them.  Ids are new ones; BKT_EHDF5: HDF5
 * itself refuses a value. */
#pragma once

#include "vol/convert/convert.h"
#include "schema/h5enc/h5enc.h"

/** A type that is H5Tequal() to the encoded one.  BKT_EUNSUP: references of a kind that HDF5 has no type
 *  for. */
BKT_NODISCARD int bkt_rebuild_type(const struct bkt_h5type *t, hid_t *out, struct bkt_err *err);
/** From the bytes; BKT_EFORMAT, BKT_EUNSUP as bkt_h5type_parse(). */
BKT_NODISCARD int bkt_rebuild_encoded_type(const struct bkt_buf *b, hid_t *out, struct bkt_err *err);
/** The extent with its selection. */
BKT_NODISCARD int bkt_rebuild_space(const struct bkt_h5space *s, hid_t *out, struct bkt_err *err);
/** From the bytes; errors as bkt_h5space_parse(). */
BKT_NODISCARD int bkt_rebuild_encoded_space(const struct bkt_buf *b, hid_t *out, struct bkt_err *err);
/** Select the union of blocks; @p coords as checked by bkt_h5blocks_check(), of the dataspace's rank. */
herr_t bkt_rebuild_blocks(hid_t space, size_t n, const uint64_t *coords);
/** A list of class @p plist_class with all values that the class has a property for: a file's list gives a
 *  group's too. */
BKT_NODISCARD int bkt_rebuild_plist(const struct bkt_h5plist *l, hid_t plist_class, hid_t *out,
                                    struct bkt_err *err);
/** A dataset's creation list, from the bytes; BKT_EFORMAT, BKT_EUNSUP as bkt_h5plist_parse(). */
BKT_NODISCARD int bkt_rebuild_encoded_dcpl(const struct bkt_buf *b, hid_t *out, struct bkt_err *err);

/** Whether HDF5 can make its values of all encodings of an object: types and creation list. */
BKT_NODISCARD int bkt_rebuild_check(const struct bkt_object *o, struct bkt_err *err);
