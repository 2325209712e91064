/* Encoders of HDF5's own deflate, shuffle and fletcher32. */
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#include "bkt_config.h"
#include "chunk/filter/filters_impl.h"
#include "base/os/scratch_pool.h"

/* Copies a compressor's output from worst-case memory to memory of its own size.  The large memory is free
 * again at once, and data that wait to be sent take no more than they need. */
static int take(unsigned char *room, size_t n, struct bkt_buf *out, struct bkt_err *err)
{
    int rc = n ? bkt_buf_add(out, room, n) : BKT_ERANGE;
    bkt_scratch_give(room);
    if (rc == BKT_ENOMEM)
        BKT_NOMEM(err);
    return rc;
}

#if BKT_HAVE_LIBDEFLATE
#include <libdeflate.h>

static int encode(struct bkt_span in, int level, struct bkt_buf *out, struct bkt_err *err)
{
    /* not all versions of libdeflate have a level for "stored"; its levels 1 to 9 compress about as zlib's */
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(level < 0 ? 6 : level);
    if (!c)
        BKT_NOMEM(err);
    size_t         room = libdeflate_zlib_compress_bound(c, in.n), n = 0;
    unsigned char *to   = bkt_scratch_take(room);
    if (to)
        n = libdeflate_zlib_compress(c, in.p, in.n, to, room);
    libdeflate_free_compressor(c);
    if (!to)
        BKT_NOMEM(err);
    return take(to, n, out, err);
}

#else

static int encode(struct bkt_span in, int level, struct bkt_buf *out, struct bkt_err *err)
{
    uLongf         room = compressBound(in.n);
    unsigned char *to   = bkt_scratch_take(room);
    if (!to)
        BKT_NOMEM(err);
    int rc = compress2(to, &room, in.p, in.n, level);
    if (rc == Z_OK)
        return take(to, room, out, err);
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
    return take(to, rc == COMP_OK ? z.total_out : 0, out, err);
}

int bkt_zlib_encode(struct bkt_span in, int level, struct bkt_buf *out, struct bkt_err *err)
{
    return level == 1 && in.n && in.n <= UINT32_MAX / 2 ? encode_fast(in, out, err)
                                                        : encode(in, level, out, err);
}

#else

int bkt_zlib_encode(struct bkt_span in, int level, struct bkt_buf *out, struct bkt_err *err)
{
    return encode(in, level, out, err);
}

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

int bkt_fletcher32_encode(const struct bkt_filter *f, size_t elem_size, struct bkt_span in,
                          struct bkt_buf *out, struct bkt_err *err)
{
    unsigned char sum[4];
    (void)f, (void)elem_size;
    bkt_put_le(sum, 4, bkt_fletcher32_sum(in.p, in.n));
    if (bkt_buf_reserve(out, in.n + sizeof sum) < 0 || bkt_buf_add(out, in.p, in.n) < 0 ||
        bkt_buf_add(out, sum, sizeof sum) < 0)
        BKT_NOMEM(err);
    return BKT_OK;
}
