/* Shared by pipeline.c (which runs the pipeline), hsds_codec.c and the decoders, one file per family.
 *
 * A decoder turns `in` into `out`.  It trusts neither the bytes, nor the client data values, nor the sizes in
 * them.  It writes at most out->cap bytes, and allocates no more than a small multiple of them. */
#pragma once

#include <endian.h>
#include <string.h>

#include "chunk/filter/frames.h"

bkt_decode_fn bkt_deflate_decode;
bkt_decode_fn bkt_shuffle_decode;
bkt_decode_fn bkt_fletcher32_decode;
bkt_decode_fn bkt_szip_decode;
bkt_decode_fn bkt_nbit_decode;
bkt_decode_fn bkt_scaleoffset_decode;
bkt_decode_fn bkt_bzip2_decode;
bkt_decode_fn bkt_lzf_decode;
bkt_decode_fn bkt_snappy_decode;
bkt_decode_fn bkt_lz4_decode;
bkt_decode_fn bkt_bitshuffle_decode;
bkt_decode_fn bkt_zstd_decode;

/** Room for @p n more bytes behind the present ones.  NULL: out of memory. */
static inline unsigned char *bkt_buf_room(struct bkt_buf *out, size_t n)
{
    size_t at = out->len;
    return bkt_buf_resize(out, at + n) < 0 ? NULL : out->ptr + at;
}

/** The type of all encoders: the encoded `in` is appended to `out`.
 * @return BKT_OK; BKT_ERANGE: the result would not be shorter (for filters that require that), or the filter
 *         can't be applied to such data; BKT_EUNSUP: client data that no encoder understands; BKT_ENOMEM */
typedef int bkt_encode_fn(const struct bkt_filter *f, struct bkt_span in, struct bkt_buf *out,
                          struct bkt_err *err);

bkt_encode_fn bkt_deflate_encode;
bkt_encode_fn bkt_shuffle_encode;
bkt_encode_fn bkt_fletcher32_encode;
bkt_encode_fn bkt_szip_encode;
bkt_encode_fn bkt_nbit_encode;
bkt_encode_fn bkt_scaleoffset_encode;
bkt_encode_fn bkt_bzip2_encode;
bkt_encode_fn bkt_lzf_encode;
bkt_encode_fn bkt_blosc_encode;
bkt_encode_fn bkt_snappy_encode;
bkt_encode_fn bkt_lz4_encode;
bkt_encode_fn bkt_bitshuffle_encode;
bkt_encode_fn bkt_zstd_encode;

/** HDF5's checksum of n bytes (two sums modulo 65535 over big-endian 16-bit words). */
uint32_t bkt_fletcher32_sum(const void *p, size_t n);
/** Compare the last four bytes with the checksum of the others; BKT_EFORMAT when they differ. */
BKT_NODISCARD int bkt_fletcher32_check(struct bkt_span in, struct bkt_err *err);

/** bkt_*_is_noop(): whether client data say that the filter changes nothing for this dataset. */
bool bkt_nbit_is_noop(const struct bkt_filter *f);
bool bkt_scaleoffset_is_noop(const struct bkt_filter *f);
/** bkt_*_fits(): whether n bytes beginning with @p head may come from the filter. */
bool bkt_nbit_fits(const struct bkt_filter *f, struct bkt_span head, size_t n);
bool bkt_scaleoffset_fits(const struct bkt_filter *f, struct bkt_span head, size_t n);
/** Whether client data name a codec.  Else the filter only moves bits, and the length stays the same. */
bool bkt_bitshuffle_compresses(const struct bkt_filter *f);

/** Bitshuffle with its 12-byte header and LZ4 or zstd blocks; elem_size is the dataset's. */
BKT_NODISCARD int bkt_bitshuffle_framed(struct bkt_span in, size_t elem_size, bool zstd, struct bkt_room *out,
                                        struct bkt_err *err);

/** Inflate a zlib stream of unknown length, at most @p max bytes, into @p out (replacing what is there). */
BKT_NODISCARD int bkt_deflate_grow(struct bkt_span in, size_t max, struct bkt_buf *out, struct bkt_err *err);

/** Bits, most significant first, as nbit and scaleoffset pack them.  Past the end there are zeros: callers
 *  check the length beforehand. */
struct bkt_bits {
    const unsigned char *p;
    size_t               n;   /* bytes */
    size_t               pos; /* bits */
};

/** The next n_bits, 0 to 64, as a number. */
static inline uint64_t bkt_bits_take(struct bkt_bits *b, unsigned n_bits)
{
    unsigned char        end[9] = {0};
    size_t               at     = b->pos / 8;
    unsigned             skip   = (unsigned)(b->pos % 8);
    const unsigned char *p      = end;
    uint64_t             x;
    if (n_bits == 0)
        return 0;
    if (at < b->n && b->n - at >= sizeof end)
        p = b->p + at;
    else if (at < b->n)
        memcpy(end, b->p + at, b->n - at);
    memcpy(&x, p, 8);
    x = be64toh(x) << skip | (uint64_t)p[8] >> (8 - skip);
    b->pos += n_bits;
    return x >> (64 - n_bits);
}

/** Bits to be written one after the other, into bytes that are zero. */
struct bkt_bits_sink {
    unsigned char *p;
    size_t         pos; /* bits */
};

/** Append the low @p n_bits of @p v, 0 to 64. */
static inline void bkt_bits_give(struct bkt_bits_sink *s, uint64_t v, unsigned n_bits)
{
    while (n_bits) {
        unsigned room = 8 - (unsigned)(s->pos % 8), n = n_bits < room ? n_bits : room;
        unsigned bits = (unsigned)(v >> (n_bits - n)) & ((1u << n) - 1);
        s->p[s->pos / 8] |= (unsigned char)(bits << (room - n));
        s->pos += n;
        n_bits -= n;
    }
}
