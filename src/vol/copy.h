/* H5Ocopy from a domain into a plain HDF5 file. */
#ifndef BKT_VOL_COPY_H
#define BKT_VOL_COPY_H

#include "vol.h"

/** Copy @p src and what hangs below it to @p name under the plain HDF5 location @p dst.
 *  @p ocpypl's flags are honoured but for the merging of committed types.  As with H5Ocopy, object references become null:
 *  what they point to may not be there.  What was copied before a failure stays. */
BKT_NODISCARD int bkt_copy_to_native(struct bkt_vobj *src, hid_t dst, const char *name, hid_t ocpypl, hid_t lcpl, struct bkt_err *err);

#endif
