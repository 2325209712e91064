/* Zarr's dtypes (numpy's) as HDF5's types, and fill values. */
#pragma once

#include <hdf5.h>

#include "base/bytes.h"
#include "tools/kerchunk/format/json_doc.h"

/** The form of an element's bytes in a Zarr chunk. */
enum kerchunk_form {
    KERCHUNK_AS_IS,     /* the same bytes as of the HDF5 type */
    KERCHUNK_UTF32,     /* <U: code points of 4 bytes, HDF5: UTF-8 of a fixed size */
    KERCHUNK_VLEN_UTF8, /* |O with vlen-utf8: HDF5's strings of variable length */
};
struct kerchunk_type {
    hid_t h5;    /* closed by kerchunk_type_fini() */
    size_t size; /* bytes of an element in a chunk; VLEN_UTF8: 0 */
    enum kerchunk_form form;
    bool swap;         /* UTF32: big-endian */
    const char *units; /* datetime64, timedelta64: CF's word for the unit, static; NULL: another type, or a
                          unit that CF lacks */
    bool datetime;     /* datetime64: a time, not a difference */
};
#define KERCHUNK_TYPE_MAX ((size_t)16 << 20) /* bytes of an element */

/** Find the type of HDF5 that an array's elements have.
 *  @param d  .zarray's dtype
 *  @return BKT_OK; BKT_EUNSUP: no type of HDF5 for it (named); BKT_EFORMAT */
BKT_NODISCARD int kerchunk_type_parse(const struct kerchunk_doc *d, struct kerchunk_type *out,
                                      struct bkt_err *err);
void kerchunk_type_fini(struct kerchunk_type *t);

/** The bytes of a fill value in t->h5's form.  @p out stays empty: the array has no fill value, or HDF5 uses
 * the same one anyway. */
BKT_NODISCARD int kerchunk_type_fill(const struct kerchunk_type *t, const struct kerchunk_doc *fill,
                                     struct bkt_buf *out, struct bkt_err *err);

/** A number as an element of an integer or floating-point type.  False: it doesn't fit. */
bool kerchunk_type_number(hid_t type, const struct kerchunk_doc *d, void *out);

/** Convert @p n code points of 4 bytes to UTF-8, at most @p room bytes, filled up with zeros.  False: not
 * Unicode. */
bool kerchunk_utf32(const unsigned char *p, size_t n, bool swap, char *out, size_t room);
