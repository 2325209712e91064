/* Texts of another process than the first: standard output and standard error go to memory, and from there
 * with messages to the first process, which prints them. */
#ifndef BKT_CAPTURED_H
#define BKT_CAPTURED_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/err.h"

/** Begin.  BKT_EIO: not possible here. */
BKT_NODISCARD int bkt_captured_begin(struct bkt_err *err);
/** Take the texts since the last call: appended, and forgotten. */
void bkt_captured_take(struct bkt_buf *out, struct bkt_buf *errors);
/** Whether the texts are so long that they should be taken. */
bool bkt_captured_is_long(void);
/** End; texts that nobody took go to the process's own outputs. */
void bkt_captured_end(void);

#endif
