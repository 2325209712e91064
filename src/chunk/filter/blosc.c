/* Blosc 1.x frames: HDF5 filter 32001, and all compressed data of HSDS.  The frame records its codec, shuffle
 * and sizes. blosc_decompress_ctx has no global state.  It uses one thread per call, since decoding already
 * runs on several. */
#include <blosc.h>
#include <stdlib.h>

#include "chunk/filter/filters_impl.h"

#define HEAD 16 /* BLOSC_MIN_HEADER_LENGTH */

bool bkt_blosc_head(struct bkt_span in, struct bkt_blosc_head *h)
{
    if (in.n < HEAD || in.p[0] != BLOSC_VERSION_FORMAT || in.p[1] == 0 || in.p[3] == 0)
        return false;
    h->type_size = in.p[3];
    h->n_bytes   = (size_t)bkt_get_le(in.p + 4, 4);
    h->c_bytes   = (size_t)bkt_get_le(in.p + 12, 4);
    return h->n_bytes <= BLOSC_MAX_BUFFERSIZE && h->c_bytes >= HEAD && h->c_bytes <= in.n;
}

/* Why libblosc may refuse a frame: it was built without the codec. */
static const char *missing_codec(const unsigned char *frame)
{
    const char *lib = blosc_cbuffer_complib(frame);
    char       *name, *version;
    if (lib && blosc_get_complib_info(lib, &name, &version) >= 0) {
        free(name);
        free(version);
        return NULL;
    }
    return lib ? lib : "unknown";
}

int bkt_blosc_decode(const struct bkt_filter *f, size_t elem_size, struct bkt_span in, struct bkt_room *out,
                     struct bkt_err *err)
{
    (void)f, (void)elem_size;
    struct bkt_blosc_head h;
    size_t                n;
    if (!bkt_blosc_head(in, &h) || blosc_cbuffer_validate(in.p, h.c_bytes, &n) < 0)
        BKT_FAIL(err, BKT_EFORMAT, "blosc: %zu bytes are not a blosc 1.x frame", in.n);
    if (h.n_bytes > out->cap)
        BKT_FAIL(err, BKT_ERANGE, "blosc: frame holds %zu bytes, expected %zu", h.n_bytes, out->cap);
    if (h.n_bytes && bkt_blosc_zlib(in, &h, out->p)) {
        out->n = h.n_bytes;
        return BKT_OK;
    }
    int got = h.n_bytes ? blosc_decompress_ctx(in.p, out->p, out->cap, 1) : 0;
    if (got < 0 || (size_t)got != h.n_bytes) {
        const char *codec = missing_codec(in.p);
        if (codec)
            BKT_FAIL(err, BKT_EUNSUP, "blosc: the installed libblosc lacks the codec of this frame (%s)",
                     codec);
        BKT_FAIL(err, BKT_EFORMAT, "blosc: corrupt frame of %zu bytes (code %d)", in.n, got);
    }
    out->n = h.n_bytes;
    return BKT_OK;
}
