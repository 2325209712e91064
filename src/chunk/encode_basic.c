/* Encoders of HDF5's own deflate, shuffle and fletcher32. */
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#include "bkt_config.h"
#include "filter_impl.h"

#if BKT_HAVE_LIBDEFLATE
#include <libdeflate.h>

static int encode(struct bkt_span in, int level, struct bkt_buf *out, struct bkt_err *err)
{
    /* libdeflate has no level for "stored" alike in all versions; its 1 to 9 compress about as zlib's */
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(level < 0 ? 6 : level);
    if (!c)
        BKT_NOMEM(err);
    size_t at = out->len, room = libdeflate_zlib_compress_bound(c, in.n), n = 0;
    int    rc = bkt_buf_resize(out, at + room);
    if (rc == BKT_OK)
        n = libdeflate_zlib_compress(c, in.p, in.n, out->ptr + at, room);
    libdeflate_free_compressor(c);
    if (rc < 0)
        BKT_NOMEM(err);
    bkt_buf_cut(out, at + n);
    return n ? BKT_OK : BKT_ERANGE;
}

#else

static int encode(struct bkt_span in, int level, struct bkt_buf *out, struct bkt_err *err)
{
    size_t at   = out->len;
    uLongf room = compressBound(in.n);
    if (bkt_buf_resize(out, at + room) < 0)
        BKT_NOMEM(err);
    int rc = compress2(out->ptr + at, &room, in.p, in.n, level);
    if (rc != Z_OK) {
        bkt_buf_cut(out, at);
        if (rc == Z_MEM_ERROR)
            BKT_NOMEM(err);
        return BKT_ERANGE;
    }
    bkt_buf_cut(out, at + room);
    return BKT_OK;
}

#endif

#if BKT_HAVE_ISAL
#include <isa-l/igzip_lib.h>

#include "scratch.h"

#define BLOCK_MIN 32768 /* bytes; more blocks than so many are not made of what can't be compressed, 5 bytes longer each */

/* Level 1 asks for speed: 256 MiB of floats, smooth with noise, take ISA-L 0.7 s (0.28 of them are left), libdeflate 1.3 s
 * (0.26), zlib 3.6 s (0.28); shuffled 0.4 s, 1.1 s and 2.5 s. */
static int encode_fast(struct bkt_span in, struct bkt_buf *out, struct bkt_err *err)
{
    size_t at = out->len, room = in.n + 5 * (in.n / BLOCK_MIN + 1) + 64;
    void  *levels = bkt_scratch_take(ISAL_DEF_LVL1_DEFAULT);
    if (!levels || bkt_buf_resize(out, at + room) < 0) {
        bkt_scratch_give(levels);
        BKT_NOMEM(err);
    }
    struct isal_zstream z;
    isal_deflate_stateless_init(&z);
    z.level          = 1;
    z.level_buf      = levels;
    z.level_buf_size = ISAL_DEF_LVL1_DEFAULT;
    z.gzip_flag      = IGZIP_ZLIB;
    z.end_of_stream  = 1;
    z.next_in        = (unsigned char *)(uintptr_t)in.p;
    z.avail_in       = (uint32_t)in.n;
    z.next_out       = out->ptr + at;
    z.avail_out      = (uint32_t)room;
    int rc = isal_deflate_stateless(&z);
    bkt_scratch_give(levels);
    bkt_buf_cut(out, at + (rc == COMP_OK ? z.total_out : 0));
    return rc == COMP_OK ? BKT_OK : BKT_ERANGE;
}

int bkt_zlib_encode(struct bkt_span in, int level, struct bkt_buf *out, struct bkt_err *err)
{
    return level == 1 && in.n && in.n <= UINT32_MAX / 2 ? encode_fast(in, out, err) : encode(in, level, out, err);
}

#else

int bkt_zlib_encode(struct bkt_span in, int level, struct bkt_buf *out, struct bkt_err *err) { return encode(in, level, out, err); }

#endif

int bkt_deflate_encode(const struct bkt_filter *f, size_t elem_size, struct bkt_span in, struct bkt_buf *out,
                       struct bkt_err *err)
{
    (void)elem_size;
    return bkt_zlib_encode(in, f->n_cd && f->cd[0] <= 9 ? (int)f->cd[0] : 6, out, err);
}

int bkt_shuffle_encode(const struct bkt_filter *f, size_t elem_size, struct bkt_span in, struct bkt_buf *out,
                       struct bkt_err *err)
{
    size_t es = f->n_cd && f->cd[0] ? f->cd[0] : elem_size, at = out->len;
    if (bkt_buf_resize(out, at + in.n) < 0)
        BKT_NOMEM(err);
    bkt_shuffle(in.p, out->ptr + at, in.n, es);
    return BKT_OK;
}

int bkt_fletcher32_encode(const struct bkt_filter *f, size_t elem_size, struct bkt_span in, struct bkt_buf *out,
                          struct bkt_err *err)
{
    unsigned char sum[4];
    (void)f, (void)elem_size;
    bkt_put_le(sum, 4, bkt_fletcher32_sum(in.p, in.n));
    if (bkt_buf_reserve(out, in.n + sizeof sum) < 0 || bkt_buf_add(out, in.p, in.n) < 0 || bkt_buf_add(out, sum, sizeof sum) < 0)
        BKT_NOMEM(err);
    return BKT_OK;
}
