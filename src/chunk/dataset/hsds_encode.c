/* Chunk objects as HSDS would store them: for datasets that were made by HSDS, or by others by its rules.  At
 * most one compressor and one shuffle, in a fixed order.  Gzip becomes a zlib stream of HDF5-shuffled bytes;
 * HSDS and every version of our reader accept it as well as HSDS's own blosc frames. */
#include <blosc.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "chunk/dataset/dataset.h"
#include "chunk/filter/filters_impl.h"
#include "schema/model/hsds_view.h"

#define LEVEL 5 /* HSDS's */

static const struct {
    int         id;
    const char *name, *codec;
} codecs[] = {
    {BKT_FILTER_LZ4, "lz4", BLOSC_LZ4_COMPNAME},
    {32005, "lz4hc", BLOSC_LZ4HC_COMPNAME},
    {BKT_FILTER_ZSTD, "zstd", BLOSC_ZSTD_COMPNAME},
    {BKT_FILTER_SNAPPY, "snappy", BLOSC_SNAPPY_COMPNAME},
    {BKT_FILTER_BLOSC, "blosclz", BLOSC_BLOSCLZ_COMPNAME},
    {BKT_FILTER_BLOSC, "blosc", BLOSC_LZ4_COMPNAME},
};

/* The codec for a filter's name (first) or id. */
static const char *codec_of(const struct bkt_filter_desc *f)
{
    if (f->id == BKT_FILTER_BLOSC && f->n_cd && bkt_blosc_codec(f))
        return bkt_blosc_codec(f);
    for (size_t i = 0; i < BKT_COUNT(codecs); i++)
        if (!strcasecmp(f->name, codecs[i].name))
            return codecs[i].codec;
    for (size_t i = 0; i < BKT_COUNT(codecs); i++)
        if (f->id == codecs[i].id)
            return codecs[i].codec;
    return NULL;
}

static int blosc_encode(const struct bkt_dset *ds, const struct bkt_hsds_codec *c, struct bkt_span in,
                        struct bkt_buf *out, struct bkt_err *err)
{
    const char *codec = NULL;
    int         level = LEVEL, shuffle = c->shuffle == 1 ? BLOSC_SHUFFLE : BLOSC_NOSHUFFLE;
    size_t      size = c->elem_size && c->elem_size <= BLOSC_MAX_TYPESIZE ? c->elem_size : 1;
    for (size_t i = 0; !codec && i < ds->n_filters; i++)
        if ((codec = codec_of(&ds->filters[i])) && ds->filters[i].has_level && ds->filters[i].level <= 9)
            level = (int)ds->filters[i].level;
    if (in.n > BLOSC_MAX_BUFFERSIZE)
        BKT_FAIL(err, BKT_EUNSUP, "a chunk of %zu bytes is more than a blosc frame can hold", in.n);
    if (bkt_buf_resize(out, in.n + BLOSC_MAX_OVERHEAD) < 0)
        BKT_NOMEM(err);
    int n = blosc_compress_ctx(level, shuffle, size, in.n, in.p, out->ptr, in.n + BLOSC_MAX_OVERHEAD,
                               codec ? codec : "lz4", 0, 1);
    if (n <= 0)
        BKT_FAIL(err, BKT_EUNSUP, "the installed libblosc can't compress with %s", codec ? codec : "lz4");
    bkt_buf_cut(out, (size_t)n);
    return BKT_OK;
}

static int zlib_encode(const struct bkt_dset *ds, const struct bkt_hsds_codec *c, struct bkt_span in,
                       struct bkt_buf *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf shuffled = {0};
    int                                      level    = LEVEL;
    for (size_t i = 0; i < ds->n_filters; i++)
        if (ds->filters[i].id == BKT_FILTER_DEFLATE && ds->filters[i].has_level && ds->filters[i].level <= 9)
            level = (int)ds->filters[i].level;
    if (c->shuffle == 1 && c->elem_size > 1) {
        if (bkt_buf_resize(&shuffled, in.n) < 0)
            BKT_NOMEM(err);
        bkt_shuffle(in.p, shuffled.ptr, in.n, c->elem_size);
        in.p = shuffled.ptr;
    }
    return bkt_zlib_encode(in, level, out, err);
}

int bkt_hsds_encode(const struct bkt_dset *ds, const struct bkt_hsds_codec *c, const void *src, size_t n,
                    struct bkt_buf *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf bits = {0};
    struct bkt_span                          in   = {src, n};
    bkt_buf_clear(out);
    if (c->shuffle == 2 && c->elem_size > 0) {
        BKT_PASS(bkt_bitshuffle_frame(in, c->elem_size, 0, false, 0, &bits, err));
        in = (struct bkt_span){bits.ptr, bits.len};
    }
    if (c->zlib)
        return zlib_encode(ds, c, in, out, err);
    if (c->compressed)
        return blosc_encode(ds, c, in, out, err);
    if (bits.len) {
        bkt_buf_fini(out);
        bkt_buf_move(out, &bits);
        return BKT_OK;
    }
    if (bkt_buf_resize(out, n) < 0)
        BKT_NOMEM(err);
    if (n)
        memcpy(out->ptr, src, n);
    return BKT_OK;
}
