/* numcodecs' codecs: HDF5's filters of the same bytes, and decoding without HDF5. */
#pragma once

#include <hdf5.h>

#include "base/bytes.h"
#include "tools/kerchunk/format/json_doc.h"

struct kerchunk_codec_row;
struct kerchunk_codec {
    const struct kerchunk_codec_row *row;
    unsigned cd[8]; /* client values of HDF5's filter; shuffle: bytes of an element */
    size_t n_cd;
};
#define KERCHUNK_CODECS_MAX 16
struct kerchunk_codecs {
    struct kerchunk_codec v[KERCHUNK_CODECS_MAX]; /* in the order in which they are applied when writing */
    unsigned n;
    bool compresses;
    bool vlen_utf8; /* the first one makes bytes of strings */
};

/** Parse .zarray's filters and compressor.
 *  @return BKT_OK; BKT_EUNSUP names a codec that can't be undone here; BKT_EFORMAT */
BKT_NODISCARD int kerchunk_codecs_parse(const struct kerchunk_doc *filters,
                                        const struct kerchunk_doc *compressor, struct kerchunk_codecs *out,
                                        struct bkt_err *err);

/** The first codec whose bytes differ from those of HDF5's filters, for elements of @p elem_size bytes; NULL:
 * chunks can be read by HDF5's filters. */
const char *kerchunk_codecs_differ(const struct kerchunk_codecs *c, size_t elem_size);
/** Put HDF5's filters into a creation list. @param chunk_bytes  of a decoded chunk */
BKT_NODISCARD int kerchunk_codecs_filters(const struct kerchunk_codecs *c, hid_t dcpl, size_t elem_size,
                                          size_t chunk_bytes, struct bkt_err *err);

/** The name of the compressor that has this number in HDF5's blosc filter; NULL: unknown. */
const char *kerchunk_blosc_name(unsigned code);

/** Undo all codecs on a chunk's bytes.
 * @param most  bytes that a decoded chunk may have
 * @param out   replaced */
BKT_NODISCARD int kerchunk_codecs_decode(const struct kerchunk_codecs *c, const void *in, size_t n,
                                         uint64_t most, struct bkt_buf *out, struct bkt_err *err);
