/* LZ4 in HDF5's plugin framing (filter 32004, https://support.hdfgroup.org/services/filters/HDF5_LZ4.pdf):
 * total size (8 bytes, big-endian), block size (4), then per block its stored size (4) and an LZ4 block, or
 * the plain bytes if the stored size equals the block's. */
#include <limits.h>
#include <lz4.h>

#include "chunk/filter/filters_impl.h"

static int block_decode(struct bkt_rd *rd, unsigned char *dst, size_t n, size_t at, struct bkt_err *err)
{
    size_t      n_c = (size_t)bkt_rd_be(rd, 4);
    const void *c   = rd->ok ? bkt_rd_take(rd, n_c) : NULL;
    if (!c)
        BKT_FAIL(err, BKT_EFORMAT, "lz4: data end within the block at byte %zu", at);
    if (n_c == n) {
        memcpy(dst, c, n);
        return BKT_OK;
    }
    int got = n <= INT_MAX && n_c <= INT_MAX ? LZ4_decompress_safe(c, (char *)dst, (int)n_c, (int)n) : -1;
    if (got < 0 || (size_t)got != n)
        BKT_FAIL(err, BKT_EFORMAT, "lz4: corrupt block at byte %zu", at);
    return BKT_OK;
}

int bkt_lz4_decode(const struct bkt_filter *f, size_t elem_size, struct bkt_span in, struct bkt_room *out,
                   struct bkt_err *err)
{
    (void)f, (void)elem_size;
    struct bkt_rd rd    = bkt_rd_of(in.p, in.n);
    uint64_t      total = bkt_rd_be(&rd, 8);
    size_t        block = (size_t)bkt_rd_be(&rd, 4);
    if (!rd.ok)
        BKT_FAIL(err, BKT_EFORMAT, "lz4: %zu bytes are too short for its header", in.n);
    if (total > out->cap)
        BKT_FAIL(err, BKT_ERANGE, "lz4: %llu bytes, expected %zu", (unsigned long long)total, out->cap);
    if (total && block == 0)
        BKT_FAIL(err, BKT_EFORMAT, "lz4: block size is 0");
    for (size_t at = 0; at < total;) {
        size_t n = total - at < block ? (size_t)total - at : block;
        BKT_PASS(block_decode(&rd, out->p + at, n, at, err));
        at += n;
    }
    out->n = (size_t)total;
    return BKT_OK;
}

int bkt_lz4_block(const void *in, size_t n_in, void *dst, size_t n, struct bkt_err *err)
{
    int got = n <= INT_MAX && n_in <= INT_MAX ? LZ4_decompress_safe(in, dst, (int)n_in, (int)n) : -1;
    if (got < 0 || (size_t)got != n)
        BKT_FAIL(err, BKT_EFORMAT, "lz4: a corrupt block of %zu bytes", n_in);
    return BKT_OK;
}
