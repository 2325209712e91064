/* Writing a dataset: one request is one plan, however many chunks and datasets it touches.
 *
 *   selection x chunk grid -> the chunks touched and what of each      (grid.c)
 *   chunks written into the domain's dirty cache                       (dirty.h)
 *   encoded on workers, PUT in the background, many in flight          (wtask.c)
 *   or, for large requests, straight from the caller's memory          (write.c)
 *
 * What a program wrote is seen by every read of this process at once and is in the store after bkt_chunks_flush().
 * Writes go to the background as the cache fills (setting write_cache); a failure then stays with the data, which are kept
 * for another try, and is reported by the next flush.
 *
 * Several writers: a chunk object of which this process wrote only some elements is never overwritten blindly.  It is
 * read, our elements are put over it, and it is stored on condition that nobody else changed it meanwhile; who loses reads it
 * again.  So writers of different elements of one chunk all win.  A chunk all of whose elements were written is just stored.
 *
 * Calls for one domain come from one thread at a time (HDF5's lock sees to that). */
#ifndef BKT_WRITE_H
#define BKT_WRITE_H

#include "chunk.h"

struct bkt_names; /* edit.h */

struct bkt_write {
    struct bkt_dsetio      *io;
    const struct bkt_sel   *file;   /* in the dataset's current extent (its rank and dims are checked) */
    /* fixed-size types: packed stored elements */
    const struct bkt_sel   *mem;    /* where in src, in elements of elem_size; NULL: contiguous, in selection order */
    const void             *src;
    /* variable-size types: one stored element each, in selection order (mem and src unused) */
    const struct bkt_slice *slices;
};

/** Write @p n datasets' selections as one plan.  The caller's memory is free again when it returns.
 * @return BKT_OK; BKT_EUNSUP: a layout that refers to other files, a filter that can't be applied, a store that can only be
 *         read; BKT_EINVAL: selection outside the extent, element malformed; a store's code when data had to be written at once
 *         (the cache is full of data that can't be stored, or a large request) */
BKT_NODISCARD int bkt_dataset_write(const struct bkt_write *writes, size_t n, struct bkt_err *err);

/** Whether HDF5 leaves the filters out of the chunk that begins at @p offset, within the extent: a partial one, where
 *  H5Pset_chunk_opts() says so.  It is stored with filters all the same. */
bool bkt_chunk_is_plain(const struct bkt_dset *ds, const uint64_t *offset);

/** Store (or read) a chunk as HDF5's filters make it, H5Dwrite_chunk and H5Dread_chunk.
 * @param offset  of the chunk's first element in the dataset; a multiple of the chunk shape that was asked for
 * @param mask    filters that were left out; of a plain chunk none, it is all the elements
 * @return BKT_OK; BKT_EINVAL: no such chunk, not chunked; BKT_EUNSUP: as for bkt_dataset_write(), and variable-length types;
 *         reading: BKT_ENOENT, the chunk isn't stored */
BKT_NODISCARD int bkt_dataset_write_chunk(struct bkt_dsetio *io, const uint64_t *offset, uint32_t mask, const void *p, size_t n,
                                          struct bkt_err *err);
BKT_NODISCARD int bkt_dataset_read_chunk(struct bkt_dsetio *io, const uint64_t *offset, struct bkt_buf *out, uint32_t *mask,
                                         struct bkt_err *err);

/** New extent: chunks outside are deleted, what is cut off of others reads as the fill value if the dataset grows again.  Where
 *  that changes stored chunks, what is dirty of the dataset and its new extent are stored first.
 * @return BKT_OK; a failure: nothing has changed.  What can't be deleted any more is bkt_chunks_trim()'s */
BKT_NODISCARD int bkt_chunks_resize(struct bkt_dsetio *io, const uint64_t *dims, struct bkt_err *err);
/** Try again to delete what smaller extents have left; part of a flush.  A failure is told once, and does no harm: it is known
 *  to the dataset (schema/extent.c). */
BKT_NODISCARD int bkt_chunks_trim(struct bkt_domain *dom, struct bkt_err *err);

/** Store all that is dirty in the domain; waits.  Call it before the domain's metadata are flushed, so that
 * nobody finds an extent whose data are missing.  What fails stays dirty, and the extent of its dataset waits
 * (bkt_edit_extent_waits()); all else is stored.  The first failure is returned. */
BKT_NODISCARD int bkt_chunks_flush(struct bkt_domain *dom, struct bkt_err *err);
/** The same in two steps: what fits setting in_flight is on its way when the first returns, and what fails the second tells. */
void              bkt_chunks_flush_begin(struct bkt_domain *dom);
BKT_NODISCARD int bkt_chunks_flush_end(struct bkt_domain *dom, struct bkt_err *err);
/** The same for one dataset. */
BKT_NODISCARD int bkt_dataset_flush(struct bkt_domain *dom, const struct bkt_id *dset, struct bkt_err *err);
/** Those that the last flush could not store, for a message. */
void bkt_chunks_name_unstored(struct bkt_domain *dom, struct bkt_names *out);
/** Whether something waits for a flush. */
bool bkt_chunks_dirty(struct bkt_domain *dom);
/** The domain is about to close: memory of chunks that are stored is given back by a worker, beside whatever comes between the two
 *  calls.  No chunk is written or read meanwhile. */
void bkt_chunks_let_go_begin(struct bkt_domain *dom);
void bkt_chunks_let_go_end(struct bkt_domain *dom);

/* Fill and allocation times need nothing here: an element that was never written reads as the fill value whether or not its
 * chunk is stored, so early allocation allocates nothing, and a chunk is stored when some of it has been written, even if that
 * was the fill value. */

/** The dataset was made just now, nothing of it is stored: spares looking. */
void bkt_chunks_new(struct bkt_dsetio *io);
/** Drop what is kept of a dataset, written or not: it is being deleted.  Waits for what is under way. */
void bkt_chunks_forget(struct bkt_domain *dom, const struct bkt_id *dset);

#endif
