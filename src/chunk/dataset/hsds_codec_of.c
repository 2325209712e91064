/* From a dataset's filter list to the decoding of its chunks. */
#include <string.h>
#include <strings.h>

#include "chunk/dataset/dataset.h"

/* HSDS's rule: the first of these in the list is the compressor, whatever its place.  A compressor that HSDS
 * knows but can't run leaves the chunk unchanged. */
static const struct {
    int         id;
    const char *name;
    enum { RAW, BLOSC, ZLIB } what;
} compressors[] = {
    {BKT_FILTER_DEFLATE, "gzip", ZLIB}, {BKT_FILTER_DEFLATE, "deflate", ZLIB},
    {BKT_FILTER_SZIP, "szip", RAW},     {BKT_FILTER_SCALEOFFSET, "scaleoffset", RAW},
    {BKT_FILTER_LZF, "lzf", RAW},       {BKT_FILTER_BLOSC, "blosclz", BLOSC},
    {BKT_FILTER_BLOSC, "blosc", BLOSC}, {BKT_FILTER_SNAPPY, "snappy", BLOSC},
    {BKT_FILTER_LZ4, "lz4", BLOSC},     {32005, "lz4hc", BLOSC},
    {BKT_FILTER_ZSTD, "zstd", BLOSC},
};

static int compressor(const struct bkt_filter_desc *f)
{
    for (size_t i = 0; i < BKT_COUNT(compressors); i++)
        if (f->id == compressors[i].id)
            return compressors[i].what;
    for (size_t i = 0; i < BKT_COUNT(compressors); i++)
        if (!strcasecmp(f->name, compressors[i].name))
            return compressors[i].what;
    return -1;
}

void bkt_hsds_codec_of(const struct bkt_dset *ds, const struct bkt_settings *set, size_t chunk_bytes,
                       struct bkt_hsds_codec *out)
{
    int what = -1;
    memset(out, 0, sizeof *out);
    out->elem_size = ds->type->is_var ? 0 : ds->type->size;
    out->max_out   = ds->type->is_var ? (size_t)bkt_settings_max_object(set) : chunk_bytes;
    for (size_t i = 0; i < ds->n_filters; i++) {
        const struct bkt_filter_desc *f = &ds->filters[i];
        if (what < 0)
            what = compressor(f);
        if (!out->shuffle && !ds->type->is_var) {
            if (!f->aside && (f->id == BKT_FILTER_SHUFFLE || !strcasecmp(f->name, "shuffle")))
                out->shuffle = 1;
            else if (f->id == BKT_FILTER_BITSHUFFLE || !strcasecmp(f->name, "bitshuffle"))
                out->shuffle = 2;
        }
    }
    out->compressed = what == BLOSC || what == ZLIB;
    out->zlib       = what == ZLIB;
}
