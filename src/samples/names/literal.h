/* Python's literals as repr() writes them: dicts, tuples, lists, strings, numbers, True, False, None.  A
 * repository keeps the schemas of its columns in this form. */
#pragma once

#include <hdf5.h>

#include "base/err.h"

/** A part of a text; borrowed. */
struct bkt_literal {
    const char *p;
    size_t      n;
};

/** Check that the text is one dict.  BKT_EFORMAT names the byte where parsing ended. */
BKT_NODISCARD int bkt_literal_check(struct bkt_literal text, struct bkt_err *err);
/** The value of a key of a dict that was checked.  False: it has no such key. */
bool bkt_literal_find(struct bkt_literal dict, const char *key, struct bkt_literal *value);
/** A string without its quotes, cut to @p size - 1 bytes; escapes stay as they are.  False: not a string. */
bool bkt_literal_text(struct bkt_literal value, char *out, size_t size);
/** A tuple or list of numbers from 0 to 2^63.  False: it is another value, or has more than H5S_MAX_RANK. */
bool bkt_literal_shape(struct bkt_literal value, int *rank, hsize_t shape[H5S_MAX_RANK]);
