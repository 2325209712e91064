/* CRC-32C (Castagnoli), as in iSCSI, ext4 and S3: by the processor's instructions if it has them, else by
 * tables. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Add @p n bytes to a sum.  Any thread.
 * @param sum  the sum of the bytes before; 0 for the first bytes
 * @return the sum of all bytes */
uint32_t bkt_crc32c(uint32_t sum, const void *p, size_t n);

/** As bkt_crc32c(), by tables alone; for tests. */
uint32_t bkt_crc32c_by_tables(uint32_t sum, const void *p, size_t n);

/** Whether bkt_crc32c() uses instructions of the processor.  For tests. */
bool bkt_crc32c_is_fast(void);

/** Parse eight hexadecimal digits into @p sum.  False: @p text is anything else. */
bool bkt_crc32c_parse(const char *text, uint32_t *sum);
