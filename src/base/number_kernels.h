/* Conversion of stored elements to the program's without HDF5.  It converts numbers of one kind to another in
 * either byte order, and copies other bytes.  Elements lie one after the other, or are fields of a compound.
 *
 * HDF5 converts on the calling thread, under HDF5's lock, one step after all data have arrived.  A recast is
 * a struct that workers run on each chunk as it comes, straight to where the selection has it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum bkt_num {
    BKT_I8,
    BKT_U8,
    BKT_I16,
    BKT_U16,
    BKT_I32,
    BKT_U32,
    BKT_I64,
    BKT_U64,
    BKT_F32,
    BKT_F64,
    BKT_N_NUMS
};

typedef void bkt_num_fn(void *restrict dst, const void *restrict src, size_t n);

/** A value, or several side by side, of each element. */
struct bkt_recast_step {
    size_t      src, dst;         /* offset in the element, bytes */
    size_t      from_size, to_size; /* of one value */
    size_t      count;
    bool        from_swapped, to_swapped; /* not in the machine's byte order */
    bkt_num_fn *fn;               /* machine's order on both sides; NULL: the value stays unchanged, sizes are
                                     the same */
};

#define BKT_RECAST_STEPS 32
#define BKT_RECAST_ELEM  4096 /* bytes of an element, on either side, at most */

struct bkt_recast {
    size_t                 src, dst; /* bytes of an element */
    size_t                 n;
    struct bkt_recast_step step[BKT_RECAST_STEPS];
};

/** The step that converts @p from to @p to, at 0, count 1.  Integers saturate.  Floats become infinite if
 *  they overflow, and are truncated towards zero if they become integers.  HDF5 1.14 does the same for the
 *  machine's own types.
 *  @param nan_of_ones  replace a NaN without sign and payload by the NaN of all ones.  HDF5 does so when it
 *                      widens floats of another byte order */
void bkt_recast_number(enum bkt_num from, bool from_swapped, enum bkt_num to, bool to_swapped,
                       bool nan_of_ones, struct bkt_recast_step *out);
/** Convert @p n elements at distances of @p sstride and @p dstride bytes.  Neither need be aligned; they must
 *  not overlap. */
void bkt_recast_step(const struct bkt_recast_step *s, const unsigned char *src, size_t sstride,
                     unsigned char *dst, size_t dstride, size_t n);
/** Run all steps on @p n elements, packed on both sides.  Bytes of dst that no step fills stay unchanged. */
void bkt_recast_apply(const struct bkt_recast *r, const unsigned char *src, unsigned char *dst, size_t n);
