/* Deflate (filter 1) is a zlib stream, RFC 1950.  Bytes behind the stream are ignored, as HDF5 does: they may
 * be the checksum of a filter that the list of filters no longer names.
 *
 * Decoded by libdeflate, the fastest, if it was found, and otherwise by zlib. */
#include <limits.h>
#include <zlib.h>

#include "bkt_config.h"
#include "chunk/filter/filters_impl.h"
#include "base/os/scratch_pool.h"

#if BKT_HAVE_LIBDEFLATE
#include <libdeflate.h>

int bkt_deflate_decode(const struct bkt_filter *f, struct bkt_span in, struct bkt_room *out,
                       struct bkt_err *err)
{
    (void)f;
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    BKT_NEED(err, d);
    size_t                 used;
    enum libdeflate_result rc =
        libdeflate_zlib_decompress_ex(d, in.p, in.n, out->p, out->cap, &used, &out->n);
    libdeflate_free_decompressor(d);
    BKT_FAIL_IF(err, rc == LIBDEFLATE_INSUFFICIENT_SPACE, BKT_ERANGE,
                "deflate: more than the %zu bytes expected", out->cap);
    BKT_FAIL_IF(err, rc != LIBDEFLATE_SUCCESS, BKT_EFORMAT, "deflate: corrupt zlib stream of %zu bytes",
                in.n);
    return BKT_OK;
}

#else

static uInt clip(size_t n) { return n > UINT_MAX ? UINT_MAX : (uInt)n; }

int bkt_deflate_decode(const struct bkt_filter *f, struct bkt_span in, struct bkt_room *out,
                       struct bkt_err *err)
{
    (void)f;
    z_stream z = {0};
    if (inflateInit(&z) != Z_OK)
        BKT_NOMEM(err);
    size_t        used = 0, made = 0;
    unsigned char spare = 0; /* distinguishes "exactly full" from "more to come" */
    int           rc;
    do {
        bool full   = made == out->cap;
        z.next_in   = (unsigned char *)(uintptr_t)(in.p + used);
        z.avail_in  = clip(in.n - used);
        z.next_out  = full ? &spare : out->p + made;
        z.avail_out = full ? 1 : clip(out->cap - made);
        uInt n_in = z.avail_in, n_out = z.avail_out;
        rc = inflate(&z, Z_NO_FLUSH);
        used += n_in - z.avail_in;
        if (full && z.avail_out == 0) {
            inflateEnd(&z);
            BKT_FAIL(err, BKT_ERANGE, "deflate: more than the %zu bytes expected", out->cap);
        }
        if (!full)
            made += n_out - z.avail_out;
    } while (rc == Z_OK);
    inflateEnd(&z);
    BKT_FAIL_IF(err, rc != Z_STREAM_END, BKT_EFORMAT, "deflate: corrupt zlib stream of %zu bytes", in.n);
    out->n = made;
    return BKT_OK;
}

#endif

int bkt_deflate_grow(struct bkt_span in, size_t max, struct bkt_buf *out, struct bkt_err *err)
{
    static const struct bkt_filter none = {0};
    /* 1032:1 is deflate's limit, so failed first guesses cost little. */
    size_t cap = in.n < max / 4 ? 4 * in.n : max;
    for (;;) {
        bkt_buf_clear(out);
        BKT_PASS_MEM(err, bkt_buf_resize(out, cap ? cap : 1));
        struct bkt_room room = {out->ptr, cap, 0};
        int rc = bkt_deflate_decode(&none, in, &room, cap == max ? err : NULL);
        if (rc == BKT_OK) {
            BKT_PASS(bkt_buf_resize(out, room.n));
            return BKT_OK;
        }
        if (cap == max && rc == BKT_ERANGE)
            return BKT_EFORMAT;
        BKT_FAIL_IF(err, rc != BKT_ERANGE, rc, "deflate: corrupt zlib stream of %zu bytes", in.n);
        size_t more = cap < max / 4 ? 4 * cap + 64 : max;
        cap         = more < max ? more : max;
    }
}

/* Copies a compressor's output from worst-case memory to memory of its own size.  The large memory is free
 * again at once, and data that wait to be sent take no more than they need. */
static int shrink(unsigned char *room, size_t n, struct bkt_buf *out, struct bkt_err *err)
{
    int rc = n ? bkt_buf_add(out, room, n) : BKT_ERANGE;
    bkt_scratch_give(room);
    if (rc == BKT_ENOMEM)
        BKT_NOMEM(err);
    return rc;
}

#if BKT_HAVE_LIBDEFLATE
static int encode(struct bkt_span in, int level, struct bkt_buf *out, struct bkt_err *err)
{
    /* not all versions of libdeflate have a level for "stored"; its levels 1 to 9 compress about as zlib's */
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(level < 0 ? 6 : level);
    BKT_NEED(err, c);
    size_t         room = libdeflate_zlib_compress_bound(c, in.n), n = 0;
    unsigned char *to   = bkt_scratch_take(room);
    if (to)
        n = libdeflate_zlib_compress(c, in.p, in.n, to, room);
    libdeflate_free_compressor(c);
    BKT_NEED(err, to);
    return shrink(to, n, out, err);
}

#else

static int encode(struct bkt_span in, int level, struct bkt_buf *out, struct bkt_err *err)
{
    uLongf         room = compressBound(in.n);
    unsigned char *to   = bkt_scratch_take(room);
    BKT_NEED(err, to);
    int rc = compress2(to, &room, in.p, in.n, level);
    if (rc == Z_OK)
        return shrink(to, room, out, err);
    bkt_scratch_give(to);
    if (rc == Z_MEM_ERROR)
        BKT_NOMEM(err);
    return BKT_ERANGE;
}

#endif

#if BKT_HAVE_ISAL
#include <isa-l/igzip_lib.h>

/* Bytes: incompressible data are stored in blocks of at least this size, each 5 bytes longer. */
#define BLOCK_MIN 32768

/* Level 1 asks for speed, and ISA-L is the fastest of the encoders.  Its largest buffer is the fastest,
 * too. */
static int encode_fast(struct bkt_span in, struct bkt_buf *out, struct bkt_err *err)
{
    size_t         room   = in.n + 5 * (in.n / BLOCK_MIN + 1) + 64;
    void          *levels = bkt_scratch_take(ISAL_DEF_LVL1_EXTRA_LARGE);
    unsigned char *to     = bkt_scratch_take(room);
    if (!levels || !to) {
        bkt_scratch_give(levels);
        bkt_scratch_give(to);
        BKT_NOMEM(err);
    }
    struct isal_zstream z;
    isal_deflate_stateless_init(&z);
    z.hist_bits      = 0; /* isal_deflate_stateless_init() leaves it unset: the same bytes would be compressed
                             to different lengths, and callers of H5Dread_chunk ask for the length first */
    z.level          = 1;
    z.level_buf      = levels;
    z.level_buf_size = ISAL_DEF_LVL1_EXTRA_LARGE;
    z.gzip_flag      = IGZIP_ZLIB;
    z.end_of_stream  = 1;
    z.next_in        = (unsigned char *)(uintptr_t)in.p;
    z.avail_in       = (uint32_t)in.n;
    z.next_out       = to;
    z.avail_out      = (uint32_t)room;
    int rc           = isal_deflate_stateless(&z);
    bkt_scratch_give(levels);
    return shrink(to, rc == COMP_OK ? z.total_out : 0, out, err);
}

#endif

int bkt_zlib_encode(struct bkt_span in, int level, struct bkt_buf *out, struct bkt_err *err)
{
#if BKT_HAVE_ISAL
    if (level == 1 && in.n && in.n <= UINT32_MAX / 2)
        return encode_fast(in, out, err);
#endif
    return encode(in, level, out, err);
}

int bkt_deflate_encode(const struct bkt_filter *f, struct bkt_span in, struct bkt_buf *out,
                       struct bkt_err *err)
{
    return bkt_zlib_encode(in, f->n_cd && f->cd[0] <= 9 ? (int)f->cd[0] : 6, out, err);
}
