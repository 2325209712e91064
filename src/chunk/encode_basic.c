/* Encoders of HDF5's own deflate, shuffle and fletcher32. */
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#include "bkt_config.h"
#include "filter_impl.h"

#if BKT_HAVE_LIBDEFLATE
#include <libdeflate.h>

int bkt_zlib_encode(struct bkt_span in, int level, struct bkt_buf *out, struct bkt_err *err)
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

int bkt_zlib_encode(struct bkt_span in, int level, struct bkt_buf *out, struct bkt_err *err)
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
