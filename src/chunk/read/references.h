/* Places of chunks that are references into files: references.c and reference_table.c. */
#pragma once

#include "chunk/dataset/dataset.h"

struct bkt_target;
struct bkt_reference {
    struct bkt_chunk_file *file; /* NULL: unallocated */
    uint64_t               off, size;
    uint32_t               mask;
};
struct bkt_references_find { /* the chunks of one dataset whose places are wanted */
    struct bkt_dsetio *io;
    const uint64_t    *coords; /* n * io->rank, in grid order */
    size_t             n;
    struct bkt_reference    *out;
    /* the caller's own, as `k`: the read of the dataset, and the numbers of the n chunks in it */
    struct bkt_target *t;
    uint64_t          *k;
};
/** Find the places of reference chunks.  The chunk tables of all @p n datasets are read as one plan. */
BKT_NODISCARD int bkt_references_find(struct bkt_references_find *q, size_t n, struct bkt_err *err);
/** Check that the range can hold a chunk; BKT_EFORMAT: it can't. */
BKT_NODISCARD int bkt_reference_check(const struct bkt_dsetio *io, const uint64_t *coord, uint64_t off,
                                      uint64_t size, struct bkt_err *err);
/** The mask of filters that were left out of a chunk of @p size stored bytes.  It has the @p recorded
 *  filters.  If the bytes have no room for a checksum, it has the checksum filter, too. */
uint32_t bkt_reference_mask(const struct bkt_dsetio *io, uint32_t recorded, uint64_t size);
/** A file by URI, under the domain's policy; looked up once per URI.  Borrowed from @p io.
 *  @p etag: the file's ETag or stamp (model.h) when it was linked; NULL or "": unknown.  BKT_EPRECOND: the
 *  file has changed. */
BKT_NODISCARD int bkt_reference_file(struct bkt_dsetio *io, const char *uri, size_t n_uri, const char *etag,
                                  struct bkt_chunk_file **out, struct bkt_err *err);
/** Get the file, or the joined segments of files, that the layout names. */
BKT_NODISCARD int bkt_reference_layout_file(struct bkt_dsetio *io, struct bkt_chunk_file **out,
                                            struct bkt_err *err);
/** Reduce a grid to the size of the chunk table, beyond which no chunk is allocated.
 *  @param grid  chunks per dimension
 *  @param some  false: the table is empty */
BKT_NODISCARD int bkt_reference_table_clip(struct bkt_dsetio *io, uint64_t *grid, bool *some,
                                           struct bkt_err *err);
/** The rows of chunk tables; called by bkt_references_find(). */
BKT_NODISCARD int bkt_reference_table_rows(struct bkt_references_find *q, size_t n, struct bkt_err *err);
