/* Chunk objects of a dataset, with what requests find of them. */
#pragma once

#include "base/num.h"
#include "chunk/dataset/dataset.h"

struct bkt_listed_chunk {
    struct bkt_chunk_info info;
    uint64_t coord[];
};
/** Chunks, one behind the other.  Begin with the rank and zeros; release v. */
struct bkt_chunk_list {
    unsigned rank;
    struct bkt_buf v;
};
/** Bytes from one chunk of the list to the next. */
static inline size_t bkt_chunk_list_stride(const struct bkt_chunk_list *c)
{
    return sizeof(struct bkt_listed_chunk) + c->rank * sizeof(uint64_t);
}
static inline size_t bkt_chunk_list_count(const struct bkt_chunk_list *c)
{
    return c->v.len / bkt_chunk_list_stride(c);
}
static inline struct bkt_listed_chunk *bkt_chunk_list_at(const struct bkt_chunk_list *c, size_t i)
{
    return (struct bkt_listed_chunk *)(void *)(c->v.ptr + i * bkt_chunk_list_stride(c));
}
/** Append a chunk; a bkt_chunk_fn, whose argument is the list.  BKT_ENOMEM. */
int bkt_chunk_list_add(const uint64_t *coord, const struct bkt_chunk_info *info, void *list);
/** Find which of the chunk objects from number @p first on exist, at most BKT_REQUESTS_AT_ONCE of them, and
 *  their sizes.  If @p op is BKT_GET, the headers that they may begin with (chunk_object.c) are read, too. */
BKT_NODISCARD int bkt_chunk_list_look(const struct bkt_dsetio *io, enum bkt_op op, struct bkt_chunk_list *c,
                                      size_t first, struct bkt_err *err);
/** Put the chunks into grid order, and call @p each for those that exist.  A negative return of @p each stops
 *  and is returned. */
int bkt_chunk_list_each(struct bkt_chunk_list *c, bkt_chunk_fn *each, void *arg);
/** Request a HEAD for each chunk of @p grid (chunks per dimension) that @p wanted accepts (NULL:
 * all), and call @p each for those that exist, in grid order. */
BKT_NODISCARD int bkt_chunks_head(struct bkt_dsetio *io, const uint64_t *grid,
                                  bool (*wanted)(const uint64_t *coord, void *arg), bkt_chunk_key_fn *each,
                                  void *arg, struct bkt_err *err);

/** Chunks per dimension of the present extent; false: the dataset has none. */
bool bkt_dsetio_grid(const struct bkt_dsetio *io, uint64_t *grid);
/** The request that finds a chunk object's size, and the filter mask that it may begin with. */
enum bkt_op bkt_chunk_list_op(const struct bkt_dsetio *io);
/** Call @p each for all stored chunk objects within @p grid, in grid order.  @p masks: with their filter
 * masks, if they have any.  BKT_EUNSUP: they can't be listed, and are too many for single requests. */
BKT_NODISCARD int bkt_chunk_objects_each(struct bkt_dsetio *io, const uint64_t *grid, bool masks,
                                         bkt_chunk_fn *each, void *arg, struct bkt_err *err);
