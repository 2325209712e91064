/* The places of a dataset's data in its file, as structs that need no HDF5. */
#pragma once

#include "base/list.h"
#include "schema/json/chunk_locations.h"
#include "schema/model/model.h"
#include "tools/source/hdf5_source.h"

struct survey {
    enum bkt_map_kind    kind;       /* NONE: a null space, or nothing is allocated; COMPACT: no address */
    unsigned             rank;
    uint64_t             dims[BKT_MAX_RANK];                      /* extent */
    uint64_t cdims[BKT_MAX_RANK], grid[BKT_MAX_RANK]; /* CHUNKED: chunk shape, chunks per dimension */
    uint64_t             addr, size; /* CONTIGUOUS */
    struct bkt_file_chunk *chunks;   /* CHUNKED, by index; the offsets are HDF5's addresses */
    size_t n_chunks;
    struct source_seg   *segs;       /* EXTERNAL: the pieces of the data, in order, clipped to what is
                                        stored */
    size_t               n_segs, cap_segs;
    struct bkt_strs      names;      /* memory of the segs' uri and etag */
    const char          *missing;    /* EXTERNAL: a missing file of it; NULL: none is missing */
};

/** Look at one open dataset of a source; survey_fini().  BKT_EFORMAT: it can't be
 * read, whatever the reason. */
BKT_NODISCARD int survey_dataset(const struct source *src, hid_t dset, struct survey *out,
                                 struct bkt_err *err);
void              survey_fini(struct survey *s);
