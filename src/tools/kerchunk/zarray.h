/* An array of a reference set: its .zarray of Zarr version 2, and the references of its chunks. */
#pragma once

#include "schema/model/model.h"
#include "tools/kerchunk/ref_set.h"
#include "tools/kerchunk/zarr_codecs.h"
#include "tools/kerchunk/zarr_type.h"

struct kerchunk_chunk {
    uint64_t index; /* row-major in the grid */
    size_t ref;     /* in kerchunk_set.refs */
};
struct kerchunk_array {
    char *path; /* without a leading '/' */
    unsigned rank;
    uint64_t dims[BKT_MAX_RANK], chunk[BKT_MAX_RANK], grid[BKT_MAX_RANK];
    uint64_t chunk_elements;
    struct kerchunk_type type;
    struct kerchunk_codecs codecs;
    struct bkt_buf fill; /* in the form of type.h5; empty: zeros */
    bool column_order;   /* elements of a chunk: the first index runs fastest, and that matters */
    bool whole;          /* one chunk that is the array, without codecs: HDF5's contiguous layout */
    char separator;
    struct kerchunk_chunk *chunks; /* by index; those with a reference */
    size_t n_chunks;
};
#define KERCHUNK_CHUNK_MAX ((uint64_t)1 << 30) /* bytes of a decoded chunk */

/** Parse .zarray of the array at @p path.
 *  @return BKT_OK; BKT_EUNSUP, BKT_EFORMAT: the message has the fault, without the path.  @p out:
 *          kerchunk_array_fini(), also after a failure */
BKT_NODISCARD int kerchunk_array_parse(const char *path, const void *json, size_t n,
                                       struct kerchunk_array *out, struct bkt_err *err);
/** The sizes in the member @p what of .zarray: "shape" or "chunks".  BKT_EFORMAT, BKT_EUNSUP. */
BKT_NODISCARD int kerchunk_array_sizes(const struct kerchunk_doc *zarray, const char *what,
                                       uint64_t out[BKT_MAX_RANK], unsigned *n, struct bkt_err *err);
/** Append the end of a chunk's key, as "1.0". @p index: row-major in @p grid */
BKT_NODISCARD int kerchunk_chunk_key(const uint64_t *grid, unsigned rank, char separator, uint64_t index,
                                     struct bkt_buf *out);
/** Find the references of its chunks.  Keys that are not chunks of the grid are refused. */
BKT_NODISCARD int kerchunk_array_find_chunks(struct kerchunk_array *a, const struct kerchunk_set *set,
                                             struct bkt_err *err);
void kerchunk_array_fini(struct kerchunk_array *a);

/** The reason why HDF5 can't read the stored chunks as they are: a codec, or the order or form of elements.
 * NULL: it can. */
const char *kerchunk_array_differs(const struct kerchunk_array *a);

/** Whether HDF5's dimension scales, netCDF-4 or Zarr's dimensions own the name. */
bool kerchunk_attr_is_reserved(const char *name);
