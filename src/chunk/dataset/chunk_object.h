/* The contents of chunk objects: from the stored bytes to elements, and back. */
#ifndef BKT_CHUNK_OBJECT_H
#define BKT_CHUNK_OBJECT_H

#include "chunk/dataset/chunk_cache.h"
#include "chunk/dataset/dataset.h"

/** Whether the stored bytes are the elements. */
bool bkt_chunk_object_is_plain(const struct bkt_dsetio *io);
/** Decode fixed-size elements: chunk_bytes bytes.  @p pipe: the dataset's own filters, or a copy of them. */
BKT_NODISCARD int bkt_chunk_object_decode(const struct bkt_dsetio *io, const struct bkt_pipeline *pipe,
                                          const void *in, size_t n, void *dst, struct bkt_err *err);
/** Decode elements of fixed or variable size.  @p stored may be taken over. */
BKT_NODISCARD int bkt_chunk_object_read(const struct bkt_dsetio *io, struct bkt_buf *stored,
                                        struct bkt_cache_entry **out, struct bkt_err *err);
/** Encode @p n bytes of elements (fixed-size types: chunk_bytes), and append them to @p out. */
BKT_NODISCARD int bkt_chunk_object_encode(const struct bkt_dsetio *io, const void *src, size_t n,
                                          struct bkt_buf *out, struct bkt_err *err);
/** Wrap the output of HDF5's filters for storing: adds a header if @p mask or the bytes need one
 *  (DESIGN.md). */
BKT_NODISCARD int bkt_chunk_object_wrap(const struct bkt_dsetio *io, const void *p, size_t n, uint32_t mask,
                                        struct bkt_buf *out, struct bkt_err *err);
/** The length of the header (0: the bytes have no header), and its mask. */
#define BKT_CHUNK_OBJECT_HEAD 12
size_t bkt_chunk_object_head(const void *p, size_t n, uint32_t *mask);
/** Whether HSDS stored the chunk object, by its own rule and not by HDF5's filters.  Such an object is
 *  reported as a chunk without filters.
 *  @p head: the first @p n_head bytes of @p n; BKT_CHUNK_OBJECT_LOOK of them are enough. */
#define BKT_CHUNK_OBJECT_LOOK 16
bool bkt_chunk_object_is_hsds(const struct bkt_dsetio *io, const void *head, size_t n_head, size_t n);
/** Turn a chunk object without a header into the result of H5Dread_chunk.  If HSDS stored it, the result is
 *  the elements, and the mask of no filter. */
BKT_NODISCARD int bkt_chunk_object_as_hdf5(const struct bkt_dsetio *io, struct bkt_buf *b, uint32_t *mask,
                                           struct bkt_err *err);
/** The filter mask that means "no filter was applied". */
uint32_t bkt_chunk_object_no_filter(const struct bkt_dsetio *io);

#endif
