/* Writing a dataset: one request is one plan, however many chunks and datasets it touches.
 *
 *   selection x chunk grid -> the touched chunks, and the part of each  (grid.c)
 *   chunks written into the domain's dirty cache                         (write_cache.h)
 *   encoded on workers, PUT in the background, many in flight            (store_task.c)
 *   or, for large requests, straight from the caller's memory            (write_uncached.c)
 *
 * Written elements are visible to every read of this process at once.  They are in the store after
 * bkt_chunks_flush().  Writes go to the background as the cache fills (bkt_settings_write_cache()).  If such
 * a write fails, the data are kept for another try, and the next flush reports the failure.
 *
 * Several writers: a chunk object of which this process wrote only some elements is never overwritten
 * blindly.  It is read, the written elements are put over it, and it is stored on condition that no other
 * writer has changed it since.  If the condition fails, the chunk is read again.  So writers of different
 * elements of one chunk all succeed.  A chunk all of whose elements were written is stored without condition.
 *
 * Calls for one domain come from one thread at a time (HDF5's lock guarantees that). */
#pragma once

#include "chunk/chunk.h"
#include "chunk/dataset/chunk_cache.h"

struct bkt_message_names; /* edit.h */

struct bkt_write {
    struct bkt_dsetio *io;
    const struct bkt_sel *file; /* in the dataset's current extent (its rank and dims are checked) */
    /* fixed-size types: packed stored elements */
    /* where in src, in elements of elem_size; NULL: contiguous, in selection order */
    const struct bkt_sel *mem;
    const void *src;
    /* variable-size types: one stored element each, in selection order (mem and src unused) */
    const struct bkt_slice *slices;
};

/** Write @p n datasets' selections as one plan.  The caller may reuse its memory when it returns.
 * @return BKT_OK; BKT_EUNSUP: a layout that refers to other files, a filter that can't be applied, a store
 *         that can only be read; BKT_EINVAL: selection outside the extent, malformed element; a store's code
 *         if data had to be written at once (the cache is full of data that can't be stored, or the request
 *         is large) */
BKT_NODISCARD int bkt_write_datasets(const struct bkt_write *writes, size_t n, struct bkt_err *err);

/** Set a new extent.  Chunks outside are deleted; elements cut off of other chunks read as the fill value if
 *  the dataset grows again.  If that changes stored chunks, the dataset's dirty chunks and its new extent are
 *  stored first.
 *  @return BKT_OK; a failure: nothing has changed.  Chunks that can't be deleted any more are left to
 *          bkt_chunks_trim() */
BKT_NODISCARD int bkt_chunks_resize(struct bkt_dsetio *io, const uint64_t *dims, struct bkt_err *err);
/** The extent @p dims was chosen when the dataset had the extent @p before.  Meanwhile a flush has shown that
 *  other writers made it @p now.  A dimension that the caller doesn't shrink keeps what they added.
 *  @param dims  changed; rank entries, as in the others */
void bkt_chunks_follow_extent(uint64_t *dims, const uint64_t *before, const uint64_t *now, unsigned rank);
/** Try again to delete the chunks outside of smaller extents; part of a flush.  A failure is reported once,
 *  and does no harm: the dataset has a mark of it (schema/edit/extent.c). */
BKT_NODISCARD int bkt_chunks_trim(struct bkt_domain *dom, struct bkt_err *err);

/** Store all dirty chunks of the domain, and wait for that.  Call it before the domain's metadata are
 * flushed, so that no reader finds an extent whose data are missing.  Chunks that fail stay dirty, and the
 * extent of their dataset waits (bkt_edit_extent_waits()); all others are stored.  Returns the first
 * failure. */
BKT_NODISCARD int bkt_chunks_flush(struct bkt_domain *dom, struct bkt_err *err);
/** bkt_chunks_flush() in two steps.  bkt_chunks_flush_begin() returns when as much is under way as
 *  bkt_settings_in_flight() allows; bkt_chunks_flush_end() returns failures. */
void              bkt_chunks_flush_begin(struct bkt_domain *dom);
BKT_NODISCARD int bkt_chunks_flush_end(struct bkt_domain *dom, struct bkt_err *err);
/** As bkt_chunks_flush(), for one dataset. */
BKT_NODISCARD int bkt_chunks_flush_dataset(struct bkt_domain *dom, const struct bkt_id *dset,
                                           struct bkt_err *err);
/** Names of chunks that the last flush could not store, for a message. */
void bkt_unstored_names(struct bkt_domain *dom, struct bkt_message_names *out);
/** Whether any chunk waits for a flush. */
bool bkt_chunks_dirty(struct bkt_domain *dom);
/** The domain is about to close: between bkt_chunks_free_begin() and bkt_chunks_free_end() a worker frees
 * the memory of stored chunks, while the caller does other work.  No chunk is written or read then. */
void bkt_chunks_free_begin(struct bkt_domain *dom);
void bkt_chunks_free_end(struct bkt_domain *dom);

/* Fill and allocation times need no code here.  An element that was never written reads as the fill value
 * whether or not its chunk is stored, so early allocation allocates nothing.  A chunk is stored when some of
 * it has been written, even if only the fill value was written. */

/** The dataset was just made, and nothing of it is stored: saves requests for its chunks. */
void bkt_chunks_new(struct bkt_dsetio *io);
/** Drop all chunks of a dataset that is being deleted, written or not.  Waits for tasks under way. */
void bkt_chunks_forget(struct bkt_domain *dom, const struct bkt_id *dset);
/** Another writer may have stored elements of the dataset: they are read from now on, below this process's
 *  written ones.  Waits for its chunks under way. */
void bkt_chunks_refresh(struct bkt_domain *dom, const struct bkt_id *dset);
