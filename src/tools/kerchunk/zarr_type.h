/* Zarr's dtypes (numpy's) as HDF5's types, and fill values. */
#pragma once

#include <hdf5.h>

#include "base/bytes.h"
#include "tools/kerchunk/format/json_doc.h"

/** The form of an element's bytes in a Zarr chunk. */
enum kc_form {
    KC_AS_IS,     /* the same bytes as of the HDF5 type */
    KC_UTF32,     /* <U: code points of 4 bytes, HDF5: UTF-8 of a fixed size */
    KC_VLEN_UTF8, /* |O with vlen-utf8: HDF5's strings of variable length */
};
struct kc_type {
    hid_t h5;    /* closed by kc_type_fini() */
    size_t size; /* bytes of an element in a chunk; VLEN_UTF8: 0 */
    enum kc_form form;
    bool swap;         /* UTF32: big-endian */
    const char *units; /* datetime64, timedelta64: CF's word for the unit, static; NULL: another type, or a
                          unit that CF lacks */
    bool datetime;     /* datetime64: a time, not a difference */
};
#define KC_TYPE_MAX ((size_t)16 << 20) /* bytes of an element */

/** @param d  .zarray's dtype
 *  @return BKT_OK; BKT_EUNSUP: no type of HDF5 for it (named); BKT_EFORMAT */
BKT_NODISCARD int kc_type_parse(const struct kc_doc *d, struct kc_type *out, struct bkt_err *err);
void kc_type_fini(struct kc_type *t);

/** The bytes of a fill value in t->h5's form.  @p out stays empty: the array has no fill value, or HDF5 uses
 * the same one anyway. */
BKT_NODISCARD int kc_type_fill(const struct kc_type *t, const struct kc_doc *fill, struct bkt_buf *out,
                               struct bkt_err *err);

/** A number as an element of an integer or floating-point type.  False: it doesn't fit. */
bool kc_type_number(hid_t type, const struct kc_doc *d, void *out);

/** Convert @p n code points of 4 bytes to UTF-8, at most @p room bytes, filled up with zeros.  False: not
 * Unicode. */
bool kc_utf32(const unsigned char *p, size_t n, bool swap, char *out, size_t room);
