/* Shared by the dataset files of this folder. */
#pragma once

#include "vol/convert/convert.h"

/** The dataset's pipeline, opened on first use; borrowed from @p o. */
BKT_NODISCARD int bkt_dataset_io(struct bkt_vobj *o, struct bkt_dsetio **out, struct bkt_err *err);

/** Read as H5Dread_multi() does datasets whose elements are in their own chunks. */
BKT_NODISCARD int bkt_dataset_read(const struct bkt_io *io, struct bkt_err *err);
/** Write as H5Dwrite_multi() does such datasets. */
BKT_NODISCARD int bkt_dataset_write_all(const struct bkt_io *io, struct bkt_err *err);

/** Whether any element was ever written.  As long as none was, each handle sends a request for that only once
 *  after a write of this process.  True also if the store can't say it at that price. */
BKT_NODISCARD int bkt_dataset_was_written(struct bkt_vobj *o, bool *out, struct bkt_err *err);
/** Before a dataset without a fill value shrinks: note that it was written, since afterwards this may be
 *  lost. */
BKT_NODISCARD int bkt_dataset_note_written(struct bkt_vobj *o, struct bkt_err *err);

/** Chunks of a dataset were written or removed: earlier lists of chunks become invalid. */
void bkt_dataset_chunks_changed(void);
/** The number of such calls in this process. */
unsigned long bkt_dataset_chunk_changes(void);

/** The shape of the chunks that H5Dchunk_iter() shows of a chunked dataset.  Its creation list may have
 *  smaller ones. */
const uint64_t *bkt_dataset_chunk_shown(const struct bkt_vobj *o);
/** bkt_dataset_create() and bkt_dataset_set_extent() are entries of bkt_domain_ops (see ops.h). */
int bkt_dataset_create(struct bkt_vobj *at, const char *name, hid_t lcpl, hid_t type, hid_t space, hid_t dcpl,
                       hid_t dapl, struct bkt_vobj **out, struct bkt_err *err);
int bkt_dataset_set_extent(struct bkt_vobj *o, const hsize_t *dims, struct bkt_err *err);
/** Native-optional operations (H5VLnative.h) that have a meaning here. */
int bkt_dataset_optional(struct bkt_vobj *o, H5VL_optional_args_t *args, hid_t dxpl, struct bkt_err *err);

/** Bytes of memory that the conversion of a dataset takes, about, before it is done in pieces (selection.c;
 *  they are shorter where possible).  Up to this size a read is one plan, and one round trip.  A write's
 *  shorter pieces cut chunks, which are then stored twice. */
#define BKT_CONVERT_PIECE (64U << 20)
/** Bytes per element of variable size, for cutting pieces.  A smaller guess takes more memory, a larger one
 *  more time. */
#define BKT_VAR_BYTES_READ 64
#define BKT_VAR_BYTES_WRITTEN 256

/* ---- selection.c: the selections of a dataset and of the program's memory ---- */
struct bkt_dsel {
    struct bkt_sel file, mem;
    void          *file_runs, *mem_runs;
    hid_t          mem_space; /* borrowed; H5S_ALL is resolved */
    bool           flat;      /* memory is one stretch, from element flat_at */
    uint64_t       flat_at;
};
/** A selection of @p extent as a struct of chunk.  @p space may be H5S_ALL (all of it), or made of another
 *  extent.  @p extent NULL: the extent of @p space.  @p runs_out gets the memory that sel->runs points to
 *  (free()), or NULL. */
BKT_NODISCARD int bkt_dsel_convert(hid_t space, const struct bkt_space *extent, struct bkt_sel *sel,
                                   void **runs_out, struct bkt_err *err);
/** Take the selections of a transfer from the program's spaces.  @p s is zeroed before.  Call bkt_dsel_fini()
 *  also after a failure. */
BKT_NODISCARD int bkt_dsel_init(struct bkt_dsel *s, const struct bkt_vobj *dset, hid_t mem_space,
                                hid_t file_space, struct bkt_err *err);
void              bkt_dsel_fini(struct bkt_dsel *s);
/** Copy @p n packed elements to the next stretches of memory (@p out), or from them.  @p iter:
 *  H5Ssel_iter_create() */
BKT_NODISCARD int bkt_dsel_move(hid_t iter, unsigned char *buf, unsigned char *packed, size_t n, bool out,
                                struct bkt_err *err);
/** Whether a transfer list has a transform (H5Pset_data_transform()). */
bool              bkt_dsel_has_transform(hid_t dxpl);
/** Apply it to @p n of the program's elements, in place.  BKT_EHDF5. */
BKT_NODISCARD int bkt_dsel_transform(hid_t dxpl, hid_t mem_type, void *elems, size_t n, struct bkt_err *err);

/* A selection in pieces of bounded size, in selection order. */
struct bkt_pieces {
    struct bkt_sel whole;
    uint64_t       max;              /* elements of a piece, about */
    unsigned       dim;              /* the dimension that is cut */
    uint64_t n[BKT_MAX_RANK]; /* selected places per dimension; in dimension `dim` steps of a whole block */
    uint64_t       at[BKT_MAX_RANK]; /* next place, of dimensions 0 .. dim */
    uint64_t       chunk;            /* cuts are put on multiples of it where possible */
    bool           whole_chunks;     /* no chunk lies in two pieces */
    size_t         run;              /* RUNS: next run, and the part of it that was used */
    uint64_t       used;
    struct bkt_run *runs;
    bool           done;
};
/** The number of elements, of @p each bytes, in a piece.  A piece has up to @p most bytes if short pieces
 *  would cut chunks, which are then read twice. */
uint64_t bkt_piece_elems(const struct bkt_sel *sel, const uint64_t *chunk_dims, size_t each, uint64_t most);
/** Begin to cut a selection, which is borrowed while pieces are taken.  @p chunk_dims: sel->rank entries. */
void bkt_pieces_init(struct bkt_pieces *p, const struct bkt_sel *sel, const uint64_t *chunk_dims,
                     uint64_t max);
/** 1: *piece is set, its runs are p's and valid until the next call; 0: the end; BKT_ENOMEM. */
int  bkt_pieces_next(struct bkt_pieces *p, struct bkt_sel *piece);
void bkt_pieces_fini(struct bkt_pieces *p);
