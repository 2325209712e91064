/* Files of a reference set: inside ref_set_*.c. */
#ifndef KERCHUNK_REF_SET_FILES_H
#define KERCHUNK_REF_SET_FILES_H

#include "tools/kerchunk/ref_set.h"

/** All bytes of a file by its name with a scheme, at most KC_SET_BYTES.  BKT_ENOENT. */
BKT_NODISCARD int kc_file_read(const char *uri, const struct bkt_settings *set, struct bkt_buf *out,
                               struct bkt_err *err);
/** Read the Parquet layout. @p folder: its name with a scheme, without a '/' at the end.  The set is sorted
 * then. */
BKT_NODISCARD int kc_set_read_parquet(const char *folder, const struct bkt_settings *set, struct kc_set *out,
                                      struct bkt_err *err);

#endif
