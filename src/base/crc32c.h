/* CRC-32C (Castagnoli), as iSCSI, ext4 and S3 have it: by the processor's instructions where there are any, else by tables. */
#ifndef BKT_CRC32C_H
#define BKT_CRC32C_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The sum of what gave @p sum (0: nothing yet) and of @p n further bytes.  Any thread. */
uint32_t bkt_crc32c(uint32_t sum, const void *p, size_t n);

/** The same by tables alone; for tests. */
uint32_t bkt_crc32c_by_tables(uint32_t sum, const void *p, size_t n);

/** Whether bkt_crc32c() uses instructions of the processor. */
bool bkt_crc32c_is_fast(void);

/** Eight hexadecimal digits to @p sum.  False: @p text is anything else. */
bool bkt_crc32c_parse(const char *text, uint32_t *sum);

#endif
