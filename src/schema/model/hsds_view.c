#include "schema/model/hsds_view.h"

enum {
    DEFLATE = 1,
    SHUFFLE = 2,
    FLETCHER32 = 3,
    SZIP = 4,
    NBIT = 5,
    SCALEOFFSET = 6,
    BZIP2 = 307,
    LZF = 32000,
    BLOSC = 32001,
    BITSHUFFLE = 32008,
};
enum { BITSHUFFLE_CODEC = 4, BITSHUFFLE_LZ4 = 2, BLOSC_CODEC = 6 };

static bool is_one_of(int id, const int *ids, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (ids[i] == id)
            return true;
    return false;
}

/* The filters are at most: a shuffle, then one filter, then a checksum. */
enum bkt_hsds_view bkt_hsds_view(const struct bkt_filter_desc *f, size_t n)
{
    static const int own[] = {SZIP, NBIT, SCALEOFFSET, BZIP2, LZF};
    bool             shuffled = n && f[0].id == SHUFFLE, checked = n && f[n - 1].id == FLETCHER32;
    if (n == 1 && f->id == BLOSC)
        return BKT_HSDS_READS;
    if (n == 1 && f->id == BITSHUFFLE)
        return f->n_cd > BITSHUFFLE_CODEC && f->cd[BITSHUFFLE_CODEC] == BITSHUFFLE_LZ4 ? BKT_HSDS_READS
                                                                                       : BKT_HSDS_REFUSES;
    f += shuffled;
    n -= (size_t)shuffled + checked;
    if (n == 0)
        return BKT_HSDS_RAW;
    if (n == 1 && f->id == DEFLATE)
        return BKT_HSDS_READS;
    return n == 1 && is_one_of(f->id, own, BKT_COUNT(own)) ? BKT_HSDS_RAW : BKT_HSDS_REFUSES;
}

bool bkt_only_shuffled(const struct bkt_dset *d) { return d->n_filters == 1 && d->filters[0].id == SHUFFLE; }

const char *bkt_blosc_codec(const struct bkt_filter_desc *f)
{
    static const char *const names[] = {"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"};
    unsigned                 code    = f->n_cd > BLOSC_CODEC ? f->cd[BLOSC_CODEC] : 0;
    return code < BKT_COUNT(names) ? names[code] : NULL;
}
