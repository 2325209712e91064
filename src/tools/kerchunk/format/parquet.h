/* A bounded reader of the Parquet files of kerchunk's reference sets.
 *
 * It takes flat tables with columns of INT32, INT64 and BYTE_ARRAY, plain or by a dictionary, in pages of
 * version 1 and 2, uncompressed or by zstd, snappy or raw LZ4.  All else is refused.
 * https://parquet.apache.org/docs/file-format/ */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

#define PARQUET_ROWS_MAX  ((uint64_t)1 << 24) /* of a file */
#define PARQUET_PAGE_MAX  ((size_t)1 << 30)   /* bytes of a decoded page */
#define PARQUET_BYTES_MAX ((uint64_t)4 << 30) /* bytes of all decoded pages of a file */

/** One value. */
struct parquet_value {
    bool null;
    int64_t i;              /* INT32, INT64 */
    const unsigned char *p; /* BYTE_ARRAY: @p n bytes, borrowed from the table */
    size_t n;
};
struct parquet_table {
    uint64_t n_rows;
    /* in the order of the names asked for; NULL: the file has no such column */
    struct parquet_value **columns;
    size_t n_columns;
    struct bkt_buf *pages; /* decoded pages that values point into */
    size_t n_pages, cap_pages;
    uint64_t bytes; /* of these pages */
};

/** Read the columns of the given names, at most 64.
 *  @param p      the file's bytes, borrowed as long as @p out is used
 *  @param out    parquet_table_fini(), also after a failure
 *  @return BKT_OK; BKT_EFORMAT; BKT_EUNSUP: beyond the subset */
BKT_NODISCARD int parquet_read(const void *p, size_t n, const char *const *names, size_t n_names,
                               struct parquet_table *out, struct bkt_err *err);
void parquet_table_fini(struct parquet_table *t);
