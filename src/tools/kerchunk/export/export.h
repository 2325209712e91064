/* h5bucket export --kerchunk: a reference set of a domain or HDF5 file. */
#pragma once

#include <hdf5.h>
#include <stdio.h>

#include "base/list.h"
#include "base/map.h"
#include "schema/model/model.h"
#include "tools/cli/tool.h"
#include "tools/source/hdf5_source.h"

struct zarr_export {
    struct bkt_tool *t;
    hid_t file;           /* open, by the connector or by HDF5's own */
    struct source *src;   /* of a plain file; NULL: a domain */
    struct bkt_strs urls; /* each once */
    struct bkt_map *by_url;
    struct bkt_map *groups; /* by HDF5's token: those that were written */
    struct bkt_map *phony; /* names of dimensions without a scale, by size and occurrence */
    FILE *out;
    bool some; /* an entry was written */
    uint64_t n_arrays, n_chunks, n_inline, n_left_out;
    struct bkt_err *err;
    int rc;
};

/** Print the name of a part that can't be expressed, with the reason, on stderr, and count it.
 *  @param attr  the attribute of the object at @p path; NULL: the object itself */
void zarr_left_out(struct zarr_export *x, const char *path, const char *attr, const char *why);

/* ---- types (export_types.c) ---- */
/** The dtype's JSON, and the type of its bytes in memory (H5Tclose).
 *  @return 1; 0: it can't be expressed, *why is the reason; negative: failed */
BKT_NODISCARD int zarr_dtype(hid_t type, struct bkt_buf *out, hid_t *mem, const char **why,
                             struct bkt_err *err);
/** The JSON of a dataset's fill value. @p mem: of zarr_dtype() */
BKT_NODISCARD int zarr_fill(hid_t dcpl, hid_t mem, struct bkt_buf *out, struct bkt_err *err);
/** Append a number of an integer or floating-point type as JSON.  @p quoted: NaN and infinities as texts. */
BKT_NODISCARD int zarr_number(hid_t type, const void *p, bool quoted, struct bkt_buf *out,
                              struct bkt_err *err);

/* ---- attributes and dimensions (export_attrs.c) ---- */
/** The JSON of an object's attributes; those that can't be expressed are named.  @p rank >= 0: of a dataset,
 * whose dimensions' names are added. */
BKT_NODISCARD int zarr_attrs(struct zarr_export *x, hid_t object, const char *path, int rank,
                             const uint64_t *dims, struct bkt_buf *out, struct bkt_err *err);
/** Whether it is a netCDF dimension without values. */
bool zarr_is_bare_dimension(hid_t dset);

/* ---- places of chunks (export_places.c) ---- */
struct zarr_chunk {
    uint64_t index; /* row-major in the grid */
    size_t url;
    uint64_t off, len; /* len BKT_WHOLE: all of the file */
};
struct zarr_places {
    unsigned rank;
    uint64_t dims[BKT_MAX_RANK], chunk[BKT_MAX_RANK], grid[BKT_MAX_RANK];
    struct zarr_chunk *v;
    size_t n, cap;
    struct bkt_buf codecs; /* JSON of the codecs, separated by commas */
    char why[200];         /* the reason why chunks can't be expressed; "": they can */
};
void zarr_places_fini(struct zarr_places *p);
/** Find the chunks of an open dataset, of @p elem_size packed bytes an element. */
BKT_NODISCARD int zarr_places(struct zarr_export *x, hid_t dset, size_t elem_size, struct zarr_places *out,
                              struct bkt_err *err);
