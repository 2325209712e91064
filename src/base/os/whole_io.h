/* Reading and writing all bytes of a range of a file, however many calls the kernel needs. */
#ifndef BKT_WHOLE_IO_H
#define BKT_WHOLE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Write @p n bytes at @p at.  False: errno has the reason. */
bool bkt_write_at(int fd, const void *from, size_t n, uint64_t at);
/** Read @p n bytes at @p at.  False: the file ends before, or errno has the reason. */
bool bkt_read_at(int fd, void *to, size_t n, uint64_t at);

#endif
