/* Files, and the descriptors of this process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>

#include "base/bytes.h"

/** @return the last component of a path or key: the text after the last '/', or all of it; borrowed */
static inline const char *bkt_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/** Write @p n bytes at @p at, however many calls the kernel needs.  False: errno has the reason. */
bool bkt_write_at(int fd, const void *from, size_t n, uint64_t at);
/** Read @p n bytes at @p at.  False: the file ends before, or errno has the reason. */
bool bkt_read_at(int fd, void *to, size_t n, uint64_t at);

#define BKT_CONFIG_FILE_MAX (1U << 20) /* bytes of such a file; reading /dev/zero would never end */

/** Read a whole file that a setting names (settings, credentials, tokens), or a character device such as
 * /dev/null. Anything else is refused: a FIFO would block the reader, and a directory has no bytes.
 *  @param out   gets the bytes, which may be secrets; on failure, too
 *  @return BKT_OK; BKT_ENOENT: it can't be opened, and errno has the reason, EMEDIUMTYPE for another kind of
 *          file; BKT_EIO: errno; BKT_ERANGE: it is longer than BKT_CONFIG_FILE_MAX; BKT_ENOMEM */
BKT_NODISCARD int bkt_file_read_whole(const char *path, struct bkt_buf *out);

/** Occupy those of the descriptors 0, 1 and 2 that are closed.  Otherwise a connection or file of this
 * library could get such a number, and the program would print to it or read from it.  Reading from and
 * writing to these descriptors fail as before.  Programs started from this one find them closed. */
void bkt_stdfd_take(void);
