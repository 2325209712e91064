#include "samples/filters.h"

#include <string.h>

#include "chunk/filter/pipeline.h"
#include "samples/h5bucket_samples.h"
#include "vol/core/h5err.h"

#define BLOSC_PREFIX  4 /* options that blosc's filter fills in itself */
#define DEFAULT_LEVEL 5
#define SMALL         16 /* bytes: LZF is Hangar's default for samples up to this size */

enum shuffle { NONE, BYTE, BIT };

static const struct {
    const char *word;
    H5Z_filter_t id;
    unsigned codec; /* blosc's */
    bool levels;    /* it has levels 0 to 9 */
} complibs[] = {
    {"blosc:blosclz", BKT_FILTER_BLOSC, 0, true}, {"blosc:lz4", BKT_FILTER_BLOSC, 1, true},
    {"blosc:lz4hc", BKT_FILTER_BLOSC, 2, true},   {"blosc:zlib", BKT_FILTER_BLOSC, 4, true},
    {"blosc:zstd", BKT_FILTER_BLOSC, 5, true},    {"lzf", BKT_FILTER_LZF, 0, false},
    {"gzip", H5Z_FILTER_DEFLATE, 0, true},        {"none", H5Z_FILTER_NONE, 0, false},
};

static const char *const shuffles[] = {[NONE] = "none", [BYTE] = "byte", [BIT] = "bit"};

static int find_complib(const char *word, size_t *i, struct bkt_err *err)
{
    for (*i = 0; *i < BKT_COUNT(complibs); ++*i)
        if (strcmp(word, complibs[*i].word) == 0)
            return BKT_OK;
    BKT_FAIL(err, BKT_EINVAL,
             "complib '%.40s': known are blosc:blosclz, blosc:lz4, blosc:lz4hc, blosc:zlib, blosc:zstd, lzf, "
             "gzip and none",
             word);
}

static int find_shuffle(const char *word, size_t complib, unsigned *shuffle, struct bkt_err *err)
{
    H5Z_filter_t id = complibs[complib].id;
    unsigned most = id == BKT_FILTER_BLOSC ? BIT : id == H5Z_FILTER_NONE ? NONE : BYTE;
    *shuffle = most < BYTE ? most : BYTE;
    for (unsigned i = 0; word && i <= most; i++)
        if (strcmp(word, shuffles[i]) == 0)
            return *shuffle = i, BKT_OK;
    if (!word)
        return BKT_OK;
    BKT_FAIL(err, BKT_EINVAL, "shuffle '%.40s': %s has none%s%s", word, complibs[complib].word,
             most >= BYTE ? ", byte" : "", most >= BIT ? ", bit" : "");
}

static void put(struct bkt_sample_filters *out, size_t complib, unsigned level, unsigned shuffle)
{
    *out = (struct bkt_sample_filters){.id = complibs[complib].id};
    if (out->id == BKT_FILTER_BLOSC) {
        out->n_cd = BLOSC_PREFIX + 3;
        out->cd[BLOSC_PREFIX] = level;
        out->cd[BLOSC_PREFIX + 1] = shuffle;
        out->cd[BLOSC_PREFIX + 2] = complibs[complib].codec;
        return;
    }
    out->shuffle = shuffle == BYTE;
    out->n_cd = out->id == H5Z_FILTER_DEFLATE;
    out->cd[0] = level;
}

int bkt_sample_filters_parse(const struct h5bucket_samples_schema *schema, uint64_t bytes,
                             struct bkt_sample_filters *out, struct bkt_err *err)
{
    const char *word = schema->complib ? schema->complib : bytes > SMALL ? "blosc:lz4hc" : "lzf";
    int level = schema->complib ? schema->complevel : DEFAULT_LEVEL;
    size_t complib;
    unsigned shuffle;
    BKT_PASS(find_complib(word, &complib, err));
    BKT_PASS(find_shuffle(schema->complib ? schema->shuffle : NULL, complib, &shuffle, err));
    if (complibs[complib].levels && (level < 0 || level > 9))
        BKT_FAIL(err, BKT_EINVAL, "complevel %d: %s has levels 0 to 9", level, word);
    put(out, complib, (unsigned)level, shuffle);
    return BKT_OK;
}

/* As h5py does: all filters are optional, so that bytes that don't get shorter are stored as they are. */
int bkt_sample_filters_set(const struct bkt_sample_filters *f, hid_t dcpl, struct bkt_err *err)
{
    if (f->shuffle)
        BKT_PASS(PASS_ON(err, H5Pset_shuffle(dcpl), "shuffle of a collection"));
    if (f->id != H5Z_FILTER_NONE)
        BKT_PASS(PASS_ON(err, H5Pset_filter(dcpl, f->id, H5Z_FLAG_OPTIONAL, f->n_cd, f->cd),
                         "compressor of a collection"));
    return BKT_OK;
}
