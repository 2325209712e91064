/* load --link --flatten-vds: a virtual dataset becomes a chunked one, whose chunk table refers to its
 * sources' chunks.
 *
 * That is possible if every mapping is a box, or a regular pattern of boxes (such as frames of several files
 * in turns).  Each box must begin and end at borders of its source's chunks (or at the end of the dataset),
 * at the same place in the virtual dataset's grid.  All sources must have one type, one chunk shape and the
 * same filters.  A contiguous source counts as one chunk.  Dimensions of one step may be on either side
 * alone: 2-D frames in a 3-D stack. */
#pragma once

#include "tools/load/load_domain.h"

struct load_flat {
    struct load_job *l;
    hid_t                type, dcpl; /* of the virtual dataset; dcpl later the flattened one's */
    bool                 known;      /* cdims and the filters are known, from the first source */
    unsigned             rank;
    hsize_t              dims[BKT_MAX_RANK], max[BKT_MAX_RANK];
    uint64_t             cdims[BKT_MAX_RANK], grid[BKT_MAX_RANK];
    struct load_row     *rows;
    size_t               n_rows, cap;
    struct bkt_strs      names;      /* memory of the rows' uri and etag */
    hid_t                made;       /* creation list of the flattened dataset */
    /* the current source, kept for the next mapping of it */
    char                *file;       /* its name in the mapping */
    struct source       *src;        /* NULL: the loaded file itself */
    size_t first;                    /* in `names`: those of its parts in the domain, then their ETags */
};

void load_flat_free(struct load_flat *f); /* NULL is fine */
/** The hook `shape` of the copier (vol/copy/copier.h).  If @p src can be flattened, *dcpl is replaced,
 *  *space gets the present length of its sources, and l->flat is set for load_flat_link().  If not, the
 *  reason is reported. */
BKT_NODISCARD int load_flat_shape(struct load_job *l, hid_t src, const char *path, hid_t *space, hid_t *dcpl,
                                  struct bkt_err *err);
/** Make the dataset made with that list refer to the sources.  1: done; 0: its elements must be copied
 *  (reported). */
BKT_NODISCARD int load_flat_link(struct load_job *l, hid_t dst, const char *path, struct bkt_err *err);

/* ---- flatten_vds_source.c ---- */
/** Open the file of a mapping by HDF5's rules; sets f->src and f->first. */
BKT_NODISCARD int load_flat_open(struct load_flat *f, const char *file, struct bkt_err *err);
/** Add rows for the selection of one mapping in one dataset of f's source. */
BKT_NODISCARD int load_flat_add(struct load_flat *f, hid_t vspace, hid_t srcspace, hid_t dset,
                                struct bkt_err *err);
