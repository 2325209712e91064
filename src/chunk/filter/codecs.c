/* Filters of one library call, with the framing of HDF5's plugins: LZ4, Zstandard, bzip2. */
#include <bzlib.h>
#include <limits.h>
#include <lz4.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "chunk/filter/filters_impl.h"

/* LZ4 in HDF5's plugin framing (filter 32004, https://support.hdfgroup.org/services/filters/HDF5_LZ4.pdf):
 * total size (8 bytes, big-endian), block size (4), then per block its stored size (4) and an LZ4 block, or
 * the bytes as they are if the stored size equals the block's. */
static int block_decode(struct bkt_rd *rd, unsigned char *dst, size_t n, size_t at, struct bkt_err *err)
{
    size_t      n_c = (size_t)bkt_rd_be(rd, 4);
    const void *c   = rd->ok ? bkt_rd_take(rd, n_c) : NULL;
    BKT_FAIL_IF(err, !c, BKT_EFORMAT, "lz4: data end within the block at byte %zu", at);
    if (n_c == n) {
        memcpy(dst, c, n);
        return BKT_OK;
    }
    BKT_FAIL_IF(err, bkt_lz4_block(c, n_c, dst, n, NULL) < 0, BKT_EFORMAT, "lz4: corrupt block at byte %zu",
                at);
    return BKT_OK;
}

int bkt_lz4_decode(const struct bkt_filter *f, struct bkt_span in, struct bkt_room *out, struct bkt_err *err)
{
    (void)f;
    struct bkt_rd rd    = bkt_rd_of(in.p, in.n);
    uint64_t      total = bkt_rd_be(&rd, 8);
    size_t        block = (size_t)bkt_rd_be(&rd, 4);
    BKT_FAIL_IF(err, !rd.ok, BKT_EFORMAT, "lz4: %zu bytes are too short for its header", in.n);
    BKT_FAIL_IF(err, total > out->cap, BKT_ERANGE, "lz4: %llu bytes, expected %zu", (unsigned long long)total,
                out->cap);
    BKT_FAIL_IF(err, total && block == 0, BKT_EFORMAT, "lz4: block size is 0");
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
    BKT_FAIL_IF(err, got < 0 || (size_t)got != n, BKT_EFORMAT, "lz4: a corrupt block of %zu bytes", n_in);
    return BKT_OK;
}

int bkt_lz4_encode(const struct bkt_filter *f, struct bkt_span in, struct bkt_buf *out, struct bkt_err *err)
{
    size_t         block = f->n_cd && f->cd[0] ? f->cd[0] : 1u << 30;
    unsigned char *p     = bkt_buf_room(out, 12);
    block = block < in.n ? block : in.n;
    BKT_NEED(err, p);
    BKT_FAIL_IF(err, block > LZ4_MAX_INPUT_SIZE, BKT_ERANGE, "lz4: block of %zu bytes", block);
    bkt_put_be(p, 8, in.n);
    bkt_put_be(p + 8, 4, block);
    for (size_t at = 0; at < in.n; at += block) {
        size_t n = in.n - at < block ? in.n - at : block, base = out->len,
               bound = (size_t)LZ4_compressBound((int)n);
        BKT_NEED(err, (p = bkt_buf_room(out, 4 + bound)));
        int got = LZ4_compress_default((const char *)in.p + at, (char *)p + 4, (int)n, (int)bound);
        if (got <= 0 || (size_t)got >= n) { /* the block uncompressed */
            memcpy(p + 4, in.p + at, n);
            got = (int)n;
        }
        bkt_put_be(p, 4, (uint64_t)got);
        bkt_buf_cut(out, base + 4 + (size_t)got);
    }
    return BKT_OK;
}

/* Zstandard (filter 32015): frames with or without their content size.  Bytes behind the frames are ignored,
 * as with deflate. */
int bkt_zstd_decode(const struct bkt_filter *f, struct bkt_span in, struct bkt_room *out, struct bkt_err *err)
{
    (void)f;
    size_t used = 0;
    out->n      = 0;
    do {
        size_t n_frame = ZSTD_findFrameCompressedSize(in.p + used, in.n - used);
        if (ZSTD_isError(n_frame)) {
            if (used)
                return BKT_OK;
            BKT_FAIL(err, BKT_EFORMAT, "zstd: %zu bytes are not a zstd frame: %s", in.n,
                     ZSTD_getErrorName(n_frame));
        }
        size_t got = ZSTD_decompress(out->p + out->n, out->cap - out->n, in.p + used, n_frame);
        if (ZSTD_isError(got)) {
            bool room = ZSTD_getErrorCode(got) != ZSTD_error_dstSize_tooSmall;
            BKT_FAIL(err, room ? BKT_EFORMAT : BKT_ERANGE, "zstd: %s (%zu bytes expected)",
                     ZSTD_getErrorName(got), out->cap);
        }
        used += n_frame;
        out->n += got;
    } while (used < in.n);
    return BKT_OK;
}

int bkt_zstd_encode(const struct bkt_filter *f, struct bkt_span in, struct bkt_buf *out, struct bkt_err *err)
{
    int            level = f->n_cd && f->cd[0] ? (int)f->cd[0] : ZSTD_CLEVEL_DEFAULT;
    size_t         at = out->len, bound = ZSTD_compressBound(in.n);
    unsigned char *p  = bkt_buf_room(out, bound);
    BKT_NEED(err, p);
    level = level > ZSTD_maxCLevel() ? ZSTD_maxCLevel() : level < ZSTD_minCLevel() ? ZSTD_minCLevel() : level;
    size_t got = ZSTD_compress(p, bound, in.p, in.n, level);
    BKT_FAIL_IF(err, ZSTD_isError(got), BKT_ERANGE, "zstd: %s", ZSTD_getErrorName(got));
    bkt_buf_cut(out, at + got);
    return BKT_OK;
}

/* bzip2 (filter 307): one bzip2 stream. */
int bkt_bzip2_decode(const struct bkt_filter *f, struct bkt_span in, struct bkt_room *out,
                     struct bkt_err *err)
{
    (void)f;
    /* bzlib counts in unsigned int; chunks are below 4 GiB */
    unsigned n_in = in.n > UINT_MAX ? UINT_MAX : (unsigned)in.n,
             n_out = out->cap > UINT_MAX ? UINT_MAX : (unsigned)out->cap;
    int      rc   = BZ2_bzBuffToBuffDecompress((char *)out->p, &n_out, (char *)(uintptr_t)in.p, n_in, 0, 0);
    if (rc == BZ_MEM_ERROR)
        BKT_NOMEM(err);
    BKT_FAIL_IF(err, rc == BZ_OUTBUFF_FULL, BKT_ERANGE, "bzip2: more than the %zu bytes expected", out->cap);
    BKT_FAIL_IF(err, rc != BZ_OK, BKT_EFORMAT, "bzip2: corrupt stream of %zu bytes (code %d)", in.n, rc);
    out->n = n_out;
    return BKT_OK;
}

int bkt_bzip2_encode(const struct bkt_filter *f, struct bkt_span in, struct bkt_buf *out, struct bkt_err *err)
{
    int            size = f->n_cd && f->cd[0] >= 1 && f->cd[0] <= 9 ? (int)f->cd[0] : 9;
    size_t         at = out->len, bound = in.n + in.n / 100 + 600;
    unsigned char *p = bound <= UINT_MAX ? bkt_buf_room(out, bound) : NULL;
    unsigned       n = (unsigned)bound;
    BKT_NEED(err, p);
    BKT_FAIL_IF(
        err,
        BZ2_bzBuffToBuffCompress((char *)p, &n, (char *)(uintptr_t)in.p, (unsigned)in.n, size, 0, 0) != BZ_OK,
        BKT_ERANGE, "bzip2: %zu bytes can't be compressed", in.n);
    bkt_buf_cut(out, at + n);
    return BKT_OK;
}
