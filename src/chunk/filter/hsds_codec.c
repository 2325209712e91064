/* HSDS's chunk objects: at most one compressor and one shuffle, in a fixed order whatever the list of
 * filters, as HSDS 0.9 does it.  The bytes themselves show their form.  A blosc frame begins with 2.  A
 * zlib stream begins with a byte whose low nibble is 8, and its first two bytes are a multiple of 31. */
#include <string.h>

#include "chunk/filter/filters_impl.h"
#include "base/os/scratch_pool.h"

static const struct bkt_filter no_params = {0};

static bool is_zlib(struct bkt_span s)
{
    return s.n >= 2 && (s.p[0] & 15) == 8 && s.p[0] >> 4 <= 7 && (s.p[0] * 256 + s.p[1]) % 31 == 0;
}

/* Whether the bytes need no decoding: they are as long as the chunk, or 4 longer (a checksum). */
static bool is_raw(struct bkt_span s, size_t n) { return s.n == n || s.n - n == 4; }

/* Whether the bytes must be a blosc frame: their length can't be that of an unencoded chunk, or all of the
 * header fits. */
static bool is_blosc(struct bkt_span s, size_t n_dst)
{
    struct bkt_blosc_head h;
    return bkt_blosc_head(s, &h) && (s.n != n_dst || (h.n_bytes == n_dst && h.c_bytes == s.n));
}

static int wrong_length(size_t got, size_t want, struct bkt_err *err)
{
    BKT_FAIL(err, BKT_EFORMAT, "chunk object has %zu bytes instead of %zu", got, want);
}

static int copy_raw(struct bkt_span s, void *dst, size_t n_dst, struct bkt_err *err)
{
    if (!is_raw(s, n_dst))
        return wrong_length(s.n, n_dst, err);
    if (n_dst)
        memcpy(dst, s.p, n_dst);
    return BKT_OK;
}

static int exact(int rc, const struct bkt_room *out, size_t n_dst, struct bkt_err *err)
{
    if (rc == BKT_ERANGE)
        return BKT_EFORMAT; /* the decoder reported that it is too long */
    if (rc == BKT_OK && out->n != n_dst)
        return wrong_length(out->n, n_dst, err);
    return rc;
}

static int blosc_exact(struct bkt_span s, unsigned char *dst, size_t n, struct bkt_err *err)
{
    struct bkt_room out = {dst, n, 0};
    return exact(bkt_blosc_decode(&no_params, s, &out, err), &out, n, err);
}

static void givep(unsigned char **p) { bkt_scratch_give(*p); }

/* zlib, then the byte shuffle: data from before 2020, and from other programs. */
static int decode_zlib(const struct bkt_hsds_codec *c, struct bkt_span s, unsigned char *dst, size_t n_dst,
                       struct bkt_err *err)
{
    bool                              shuffled = c->shuffle == 1 && c->elem_size > 1;
    BKT_CLEANUP(givep) unsigned char *tmp = shuffled ? bkt_scratch_take(n_dst + 1) : NULL;
    if (shuffled && !tmp)
        BKT_NOMEM(err);
    struct bkt_room out = {shuffled ? tmp : dst, n_dst, 0};
    BKT_PASS(exact(bkt_deflate_decode(&no_params, s, &out, err), &out, n_dst, err));
    if (shuffled)
        bkt_unshuffle(tmp, dst, n_dst, c->elem_size);
    return BKT_OK;
}

static bool is_bitshuffled(struct bkt_span s, size_t n_dst)
{
    return s.n >= 12 && bkt_get_be(s.p, 8) == n_dst;
}

static int decode_bitshuffle(const struct bkt_hsds_codec *c, struct bkt_span s, unsigned char *dst,
                             size_t n_dst, struct bkt_err *err)
{
    if (!is_bitshuffled(s, n_dst))
        return copy_raw(s, dst, n_dst, err);
    struct bkt_room out = {dst, n_dst, 0};
    int             rc  = exact(bkt_bitshuffle_framed(s, c->elem_size, false, &out, err), &out, n_dst, err);
    if (rc == BKT_EFORMAT && is_raw(s, n_dst)) { /* the first elements only looked like a header */
        bkt_err_clear(err);
        return copy_raw(s, dst, n_dst, err);
    }
    return rc;
}

/* Undoes the compressor, then bitshuffle, whose stream may be longer than the chunk. */
static int decode_wrapped(const struct bkt_hsds_codec *c, struct bkt_span s, unsigned char *dst, size_t n_dst,
                          struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf inner = {0};
    size_t                                   max   = n_dst + n_dst / 2 + 65536;
    struct bkt_blosc_head                    h;
    if (bkt_blosc_head(s, &h)) {
        if (h.n_bytes > max)
            return wrong_length(h.n_bytes, n_dst, err);
        BKT_PASS_MEM(err, bkt_buf_resize(&inner, h.n_bytes));
        BKT_PASS(blosc_exact(s, inner.ptr, h.n_bytes, err));
    } else {
        BKT_PASS(bkt_deflate_grow(s, max, &inner, err));
    }
    return decode_bitshuffle(c, (struct bkt_span){inner.ptr, inner.len}, dst, n_dst, err);
}

static int decode_compressed(const struct bkt_hsds_codec *c, struct bkt_span s, unsigned char *dst,
                             size_t n_dst, struct bkt_err *err)
{
    bool bits = c->shuffle == 2 && c->elem_size > 0;
    int  rc;
    if (is_blosc(s, n_dst))
        return bits ? decode_wrapped(c, s, dst, n_dst, err) : blosc_exact(s, dst, n_dst, err);
    if (c->zlib && is_zlib(s)) {
        rc = bits ? decode_wrapped(c, s, dst, n_dst, err) : decode_zlib(c, s, dst, n_dst, err);
        if (rc != BKT_EFORMAT || s.n != n_dst)
            return rc;
        bkt_err_clear(err); /* about one unencoded chunk in 500 begins like a zlib stream */
    }
    if (bits && is_bitshuffled(s, n_dst))
        return decode_bitshuffle(c, s, dst, n_dst, err);
    BKT_FAIL_IF(err, !is_raw(s, n_dst), BKT_EFORMAT,
                "chunk object of %zu bytes is neither a blosc frame%s nor the plain %zu "
                "bytes",
                s.n, c->zlib ? " nor a zlib stream" : "", n_dst);
    return copy_raw(s, dst, n_dst, err);
}

int bkt_hsds_decode(const struct bkt_hsds_codec *c, const void *in, size_t n_in, void *dst, size_t n_dst,
                    struct bkt_err *err)
{
    struct bkt_span s = {in, n_in};
    if (c->compressed)
        return decode_compressed(c, s, dst, n_dst, err);
    if (c->shuffle == 2 && c->elem_size > 0)
        return decode_bitshuffle(c, s, dst, n_dst, err);
    return copy_raw(s, dst, n_dst, err);
}

int bkt_hsds_decode_var(const struct bkt_hsds_codec *c, const void *in, size_t n_in, struct bkt_buf *out,
                        struct bkt_err *err)
{
    struct bkt_span       s = {in, n_in};
    struct bkt_blosc_head h;
    bkt_buf_clear(out);
    if (c->compressed && bkt_blosc_head(s, &h)) {
        BKT_FAIL_IF(err, h.n_bytes > c->max_out, BKT_EFORMAT, "chunk of %zu bytes is over the limit of %zu",
                    h.n_bytes, c->max_out);
        BKT_PASS_MEM(err, bkt_buf_resize(out, h.n_bytes));
        return blosc_exact(s, out->ptr, h.n_bytes, err);
    }
    if (c->compressed && c->zlib && is_zlib(s))
        return bkt_deflate_grow(s, c->max_out, out, err);
    BKT_FAIL_IF(err, n_in > c->max_out, BKT_EFORMAT, "chunk of %zu bytes is over the limit of %zu", n_in,
                c->max_out);
    BKT_PASS_MEM(err, bkt_buf_add(out, in, n_in));
    return BKT_OK;
}
