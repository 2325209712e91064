/* Chunk-location JSON: the places of a file's data, apart from the file (`h5bucket chunks`, `load
 * --chunk-map`).
 *
 *   {"format": "h5bucket-chunks", "version": 1,
 *    "files": [{"uri": "s3://bucket/f.h5", "start": 0, "size": 1234, "etag": "..."}],
 *    "datasets": {
 *      "/a": {"layout": "chunked", "shape": [100, 100], "maxshape": [100, "unlimited"], "chunk": [10, 10],
 *             "item_size": 4, "type": BASE64, "creation": BASE64,
 *             "chunks": {"0_0": [4016, 119], "0_1": [4135, 121, 1]}},
 *      "/b": {"layout": "contiguous", ..., "offset": 18764, "size": 400},
 *      "/c": {"layout": "external", ..., "segments": [["file:///d/raw.bin", 0, 400], [null, 0, 12]]},
 *      "/d": {"layout": "none" | "compact" | "virtual", ...}}}
 *
 * Offsets count in the file.  If the file is made of several (a family, split and multi files), they are
 * HDF5's addresses, and each file holds those from its "start" on.  A chunk's third number is its filter
 * mask.  "type" is H5Tencode's bytes, "creation" H5Pencode2's of the creation list.  Unknown keys are
 * ignored; another version is refused. */
#pragma once

#include "schema/model/model.h"

#define BKT_CHUNK_MAP_FORMAT  "h5bucket-chunks"
#define BKT_CHUNK_MAP_VERSION 1

enum bkt_map_kind {
    BKT_MAP_NONE,
    BKT_MAP_COMPACT,
    BKT_MAP_CONTIGUOUS,
    BKT_MAP_CHUNKED,
    BKT_MAP_EXTERNAL,
    BKT_MAP_VIRTUAL
};
/** The layout's word in the JSON; static. */
const char *bkt_map_kind_name(enum bkt_map_kind k);

struct bkt_map_file {
    uint64_t start, size; /* start: first, for bkt_by_u64() */
    char *uri, *etag;     /* etag NULL: unknown */
};
struct bkt_map_dset {
    char                 *path;
    enum bkt_map_kind     kind;
    struct bkt_space      space;
    uint64_t              cdims[BKT_MAX_RANK], grid[BKT_MAX_RANK]; /* CHUNKED */
    uint64_t              item_size;
    struct bkt_buf        type, creation;
    uint64_t              offset, size; /* CONTIGUOUS */
    struct bkt_file_chunk *chunks;      /* by index */
    size_t                n_chunks;
    struct bkt_segment   *segs;         /* EXTERNAL */
    size_t                n_segs;
};
struct bkt_chunk_map {
    struct bkt_map_file *files;
    size_t               n_files;
    struct bkt_map_dset *dsets;
    size_t               n_dsets;
    struct bkt_map      *by_path; /* of dsets */
};

/** Parse and check: every chunk must be in its grid and inside the files.  BKT_EFORMAT: the message names
 *  dataset and key; BKT_EUNSUP: an unknown version. */
BKT_NODISCARD int bkt_chunk_map_parse(const void *json, size_t n, struct bkt_chunk_map *out,
                                      struct bkt_err *err);
void              bkt_chunk_map_fini(struct bkt_chunk_map *m);
/** The dataset of that path; NULL: not in the map. */
const struct bkt_map_dset *bkt_chunk_map_find(const struct bkt_chunk_map *m, const char *path);
