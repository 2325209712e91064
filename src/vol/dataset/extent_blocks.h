/* An extent in blocks of bounded size, for callers that move its elements through memory. */
#pragma once

#include <hdf5.h>

#include <stdbool.h>
#include <stdint.h>

/** The current block is `count` elements from `at` on, `n` in all. */
struct bkt_blocks {
    unsigned rank;
    hsize_t  dims[H5S_MAX_RANK], step[H5S_MAX_RANK], at[H5S_MAX_RANK], count[H5S_MAX_RANK];
    uint64_t n;
};

/** Begin with the first block.  A block is whole chunks with @p elems elements at most, but at least one
 *  chunk.
 *  @param dims   @p rank entries, none of them 0; rank 0: one block of one element
 *  @param chunk  their shape; NULL: the dataset has no chunks */
void bkt_blocks_begin(struct bkt_blocks *b, unsigned rank, const hsize_t *dims, const hsize_t *chunk,
                      uint64_t elems);
/** Go on to the next block.  False: all blocks are done. */
bool bkt_blocks_next(struct bkt_blocks *b);

/** The number of the block that holds the element @p at, in the sequence of bkt_blocks_next(), from 0.
 *  Extents have less than 2^64 elements. */
uint64_t bkt_blocks_number(const struct bkt_blocks *b, const hsize_t *at);
/** The number of all blocks. */
uint64_t bkt_blocks_all(const struct bkt_blocks *b);
/** Go to the block of that number, < bkt_blocks_all(). */
void bkt_blocks_goto(struct bkt_blocks *b, uint64_t number);
