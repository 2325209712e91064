/* Bytes in and out of a filter, and the streams and frames that are also used without a pipeline. */
#pragma once

#include "chunk/filter/pipeline.h"

struct bkt_span {
    const unsigned char *p;
    size_t               n;
};

struct bkt_room {
    unsigned char *p;
    size_t         cap;
    size_t         n; /* bytes written; set by the decoder on success */
};

/** The type of all decoders.  Filters whose client data lack an element's size use f->elem_size.
 * @return BKT_OK with out->n set (it may be less than cap); BKT_EFORMAT: not a valid stream; BKT_ERANGE:
 *         valid so far, but longer than out->cap; BKT_EUNSUP: a variant that cannot be decoded; BKT_ENOMEM */
typedef int bkt_decode_fn(const struct bkt_filter *f, struct bkt_span in, struct bkt_room *out,
                          struct bkt_err *err);

bkt_decode_fn bkt_blosc_decode;
/** The header of a blosc 1.x frame (c-blosc README_CHUNK_FORMAT.rst), checked for consistency with n. */
struct bkt_blosc_head {
    size_t   n_bytes, c_bytes; /* decoded and encoded size; the latter with the header */
    unsigned type_size;
};
/** False: the bytes don't begin with a header. */
bool bkt_blosc_head(struct bkt_span in, struct bkt_blosc_head *h);
/** Decode a frame whose codec is zlib by libdeflate: h->n_bytes to out.  False: leave
 *  it to libblosc. */
bool bkt_blosc_zlib(struct bkt_span in, const struct bkt_blosc_head *h, unsigned char *out);

/** A zlib stream, added to @p out; level 0 to 9. */
BKT_NODISCARD int bkt_zlib_encode(struct bkt_span in, int level, struct bkt_buf *out, struct bkt_err *err);
/** Bitshuffle with its 12-byte header and LZ4 or zstd blocks, added to @p out; block: elements, 0: the
 *  default. */
BKT_NODISCARD int bkt_bitshuffle_frame(struct bkt_span in, size_t elem_size, size_t block, bool zstd,
                                       int level, struct bkt_buf *out, struct bkt_err *err);
