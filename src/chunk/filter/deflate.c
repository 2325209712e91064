/* Deflate (filter 1) is a zlib stream, RFC 1950.  Bytes behind the stream are ignored, as HDF5 does: they may
 * be the checksum of a filter that the list of filters no longer names.
 *
 * Decoded by libdeflate, the fastest, if it was found, and otherwise by zlib. */
#include <limits.h>
#include <zlib.h>

#include "bkt_config.h"
#include "chunk/filter/filters_impl.h"

#if BKT_HAVE_LIBDEFLATE
#include <libdeflate.h>

int bkt_deflate_decode(const struct bkt_filter *f, size_t elem_size, struct bkt_span in, struct bkt_room *out,
                       struct bkt_err *err)
{
    (void)f, (void)elem_size;
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    if (!d)
        BKT_NOMEM(err);
    size_t                 used;
    enum libdeflate_result rc =
        libdeflate_zlib_decompress_ex(d, in.p, in.n, out->p, out->cap, &used, &out->n);
    libdeflate_free_decompressor(d);
    if (rc == LIBDEFLATE_INSUFFICIENT_SPACE)
        BKT_FAIL(err, BKT_ERANGE, "deflate: more than the %zu bytes expected", out->cap);
    if (rc != LIBDEFLATE_SUCCESS)
        BKT_FAIL(err, BKT_EFORMAT, "deflate: corrupt zlib stream of %zu bytes", in.n);
    return BKT_OK;
}

#else

static uInt clip(size_t n) { return n > UINT_MAX ? UINT_MAX : (uInt)n; }

int bkt_deflate_decode(const struct bkt_filter *f, size_t elem_size, struct bkt_span in, struct bkt_room *out,
                       struct bkt_err *err)
{
    (void)f, (void)elem_size;
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
    if (rc != Z_STREAM_END)
        BKT_FAIL(err, BKT_EFORMAT, "deflate: corrupt zlib stream of %zu bytes", in.n);
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
        if (bkt_buf_resize(out, cap ? cap : 1) < 0)
            BKT_NOMEM(err);
        struct bkt_room room = {out->ptr, cap, 0};
        int             rc   = bkt_deflate_decode(&none, 0, in, &room, cap == max ? err : NULL);
        if (rc == BKT_OK) {
            BKT_PASS(bkt_buf_resize(out, room.n));
            return BKT_OK;
        }
        if (cap == max && rc == BKT_ERANGE)
            return BKT_EFORMAT;
        if (rc != BKT_ERANGE)
            BKT_FAIL(err, rc, "deflate: corrupt zlib stream of %zu bytes", in.n);
        size_t more = cap < max / 4 ? 4 * cap + 64 : max;
        cap         = more < max ? more : max;
    }
}
