/* Shared by the files of the tree copier. */
#ifndef TREE_IMPL_H
#define TREE_IMPL_H

#include "vol/dataset/extent_blocks.h"
#include "tools/source/hdf5_glue.h"
#include "base/map.h"
#include "tools/tree/tree.h"

/** The place of an object's copy. */
struct tree_place {
    char *path; /* NULL: no link leads to it yet */
    hid_t held; /* open until a link is made, else H5I_INVALID_HID */
};
struct tree_pending { /* a value with references: written when all objects are there */
    char *path, *attr; /* attr NULL: the dataset's data */
};
struct tree_outside { /* a file that references lead into */
    char *name;
    hid_t file; /* H5I_INVALID_HID: it can't be opened */
};
struct tree {
    hid_t                      src, dst;
    const struct tree_options *o;
    struct bkt_map            *places; /* token -> struct tree_place */
    struct tree_pending       *pending;
    size_t                     n_pending;
    unsigned                   depth; /* of the group that is being copied */
    hid_t                      src_pair, dst_pair; /* while a pending value is written: owner of it */
    struct tree_outside       *outside;
    size_t                     n_outside;
    hid_t                      ours; /* access list of our connector, made on first use */
};

/* ---- tree.c ---- */
/** Report a message about the object at @p path. */
void               tree_tell(const struct tree *t, const char *path, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/** The place of the copy of a source object; borrowed; NULL: not copied yet. */
struct tree_place *tree_place_of(const struct tree *t, hid_t obj);
/** Postpone the value of a dataset (@p attr NULL) or attribute that names objects: it is written once all
 *  objects have their places. */
BKT_NODISCARD int  tree_postpone(struct tree *t, const char *path, const char *attr, struct bkt_err *err);
/** After a failure with @p rc: whether something can't be read, and is left out.  If so, that has been
 *  reported, and *err is clear. */
bool               tree_leaves_out(const struct tree *t, const char *path, const char *attr, int rc, struct bkt_err *err);
/** The type for a new object: a committed type's copy, or a transient copy. */
BKT_NODISCARD int tree_type(struct tree *t, hid_t src_type, hid_t *out, struct bkt_err *err);

/* ---- tree_object.c ---- */
/** Copy all attributes from @p src to @p dst; @p path for messages. */
BKT_NODISCARD int tree_attributes(struct tree *t, hid_t src, hid_t dst, const char *path, struct bkt_err *err);
/** Make the dataset, with its attributes and data.  @p out: the new dataset's id, owned by the caller. */
BKT_NODISCARD int tree_dataset(struct tree *t, hid_t src, hid_t dst_group, const char *name, const char *path, hid_t lcpl,
                               hid_t *out, struct bkt_err *err);
/** Write a value that tree_postpone() noted. */
BKT_NODISCARD int tree_write_pending(struct tree *t, const struct tree_pending *p, struct bkt_err *err);

/* ---- tree_value.c ---- */
/** Both sides' memory types of a stored type: equal unless there are references in it. */
struct tree_mem {
    hid_t in, out;
    bool  has_ref, is_var; /* is_var: memory hangs off the values */
};
/** Whether a type has variable-length lists or strings anywhere. */
bool tree_is_var(hid_t type);
BKT_NODISCARD int tree_mem_of(const struct tree *t, hid_t stored, struct tree_mem *m, struct bkt_err *err);
void              tree_mem_fini(struct tree_mem *m);
/** Translate n values, from as read to as to be written.  vlen parts of @p to have memory of their own, freed
 *  by tree_reclaim(). */
BKT_NODISCARD int tree_translate(struct tree *t, const struct tree_mem *m, const char *path, const void *from, void *to, size_t n,
                                 struct bkt_err *err);
void              tree_reclaim(const struct tree_mem *m, hid_t space, void *from, void *to, size_t n);

/** Make the reference @p from anew, for the object @p name at @p loc. */
herr_t tree_ref_again(hid_t loc, const char *name, const H5R_ref_t *from, H5R_ref_t *to);

/* ---- tree_outside.c ---- */
/** Translate the reference @p from, which leads into another file, @p file, to the one to be written;
 *  H5Rdestroy(). */
BKT_NODISCARD int tree_outside(struct tree *t, const H5R_ref_t *from, const char *file, H5R_ref_t *to, struct bkt_err *err);
void              tree_outside_fini(struct tree *t);

/* ---- tree_chunks.c ---- */
struct tree_chunk {
    uint64_t index; /* row-major in the grid of the extent */
    uint64_t size;
    uint64_t block; /* set by tree_chunks_to_blocks() */
    uint32_t mask;
};
/** The stored chunks of a dataset. */
struct tree_chunks {
    struct tree_chunk *v;
    size_t             n, cap;
    unsigned           rank;
    bool               other_shape; /* they are stored in another shape than H5Pget_chunk() reports */
    bool               no_grid;     /* nothing is stored, and there are no chunks: cdims and grid are
                                       meaningless */
    bool absent;                    /* all its raw files are absent: HDF5 can't read any of it */
    hsize_t            cdims[H5S_MAX_RANK], grid[H5S_MAX_RANK];
    hsize_t            dims[H5S_MAX_RANK]; /* the extent; tree_parts_list() only */
};
/** List the stored chunks, in any order.  @p c: all zero; tree_chunks_fini().  @p native: an id of HDF5's own
 *  connector.  For a contiguous dataset of a domain they are its objects; in a file either nothing is stored
 *  (no_grid), or they are unknown.
 *  @return false: unknown; *c is empty then */
bool tree_chunks_list(hid_t dset, bool native, struct tree_chunks *c);
void tree_chunks_fini(struct tree_chunks *c);
/** Whether tree_chunks_list() takes few requests.  Chunks on a plain web server, and chunks of version 1
 *  unless there may be very many, are asked for one by one. */
bool tree_chunks_listable(hid_t dset, bool native);
/** Add the chunks of another dataset with chunks of the same shape. */
BKT_NODISCARD int tree_chunks_join(struct tree_chunks *c, const struct tree_chunks *other);
/** Turn the list into one of chunks of @p grid: all in which the present chunks lie, some of them several
 *  times.  BKT_EUNSUP: there are too many. */
BKT_NODISCARD int tree_chunks_regrid(struct tree_chunks *c, const struct tree_chunks *grid);
/** Add all chunks from @p lo to @p hi, places in its grid.  BKT_EUNSUP: there are too many. */
BKT_NODISCARD int tree_chunks_cells(struct tree_chunks *c, const hsize_t *lo, const hsize_t *hi);
/** The same for a range of indices. */
BKT_NODISCARD int tree_chunks_range(struct tree_chunks *c, uint64_t first, uint64_t last);
/** The offset of the chunk's first element. */
void tree_chunk_offset(const struct tree_chunks *c, uint64_t index, hsize_t *offset);
/** The offset of a chunk that isn't stored; sorts the list for that.  False: all chunks are stored. */
bool tree_chunks_hole(struct tree_chunks *c, hsize_t *offset);
/** Set the block in which each chunk lies; no block cuts a chunk.  From then on chunks are in the order of
 *  blocks, each once. */
void tree_chunks_to_blocks(struct tree_chunks *c, const struct bkt_blocks *b);
/** Number of chunks from number i on that lie in the same block. */
size_t tree_chunks_of_block(const struct tree_chunks *c, size_t i);

/* ---- tree_parts.c ---- */
struct bkt_vobj;
/** As tree_chunks_list() for a dataset whose elements lie in other datasets or raw files, in blocks of a
 *  shape of its own: the blocks that existing sources or files reach.  @p dcpl: its creation list.  @p o:
 *  NULL for a plain file's dataset.
 *  @return false: unknown, or there are too many */
BKT_NODISCARD bool tree_parts_list(hid_t dset, struct bkt_vobj *o, hid_t dcpl, struct tree_chunks *c);

/* ---- tree_data.c ---- */
/** The fill value of the creation list; HDF5 can't read one of variable length from a file that is open for
 *  reading only.
 *  @param out  a value of @p type, for H5Treclaim(); false: there is none */
bool tree_fill_of(hid_t dset, hid_t type, void *out);
/** Copy the elements of @p src to @p dst, which has the same extent. */
BKT_NODISCARD int tree_data(struct tree *t, hid_t src, hid_t dst, const char *path, struct bkt_err *err);

#endif
