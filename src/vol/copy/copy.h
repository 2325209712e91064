#pragma once

#include "vol/core/vol.h"

/** H5Ocopy: copy @p src to @p name below @p dst.  Each lies in a domain or in a plain file (native_id).
 *  Objects with several links are copied once.  References lead to the same objects within a file; into
 *  another file they become null references, as in HDF5. */
BKT_NODISCARD int bkt_copy(struct bkt_vobj *src, struct bkt_vobj *dst, const char *name, hid_t ocpypl,
                           hid_t lcpl, struct bkt_err *err);
