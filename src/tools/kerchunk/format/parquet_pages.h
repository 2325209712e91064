/* The pages of one column of a Parquet file: inside parquet*.c. */
#ifndef KERCHUNK_PARQUET_PAGES_H
#define KERCHUNK_PARQUET_PAGES_H

#include "tools/kerchunk/format/parquet.h"

enum pq_type { PQ_INT32 = 1, PQ_INT64 = 2, PQ_BYTE_ARRAY = 6 };
enum pq_codec { PQ_PLAIN_BYTES = 0, PQ_SNAPPY = 1, PQ_ZSTD = 6, PQ_LZ4_RAW = 7 };

struct pq_column {
    struct pq_table *table;
    const unsigned char *file; /* n bytes */
    size_t n;
    int64_t type, codec;
    bool optional;        /* values may be null */
    uint64_t at;          /* of the first page */
    uint64_t end;         /* of the pages */
    uint64_t n_rows;      /* to be read */
    struct pq_value *out; /* n_rows of them */
    /* while reading */
    struct pq_value *dict;
    uint64_t n_dict, done;
};
/** Read the pages of a column of a row group.  BKT_EFORMAT, BKT_EUNSUP. */
BKT_NODISCARD int pq_column_read(struct pq_column *c, struct bkt_err *err);

#endif
