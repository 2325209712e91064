#include "samples/sample_filters.h"

#include <hdf5.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "chunk/filter/pipeline.h"
#include "samples/h5bucket_samples.h"
#include "samples/repository.h"
#include "vol/core/h5err.h"
#include "vol/core/hid.h"

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
             "complib '%.40s': unknown; known values: blosc:blosclz, blosc:lz4, blosc:lz4hc, blosc:zlib, "
             "blosc:zstd, lzf, gzip, none",
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
    BKT_FAIL_IF(err, complibs[complib].levels && (level < 0 || level > 9), BKT_EINVAL,
                "complevel %d: %s has levels 0 to 9", level, word);
    put(out, complib, (unsigned)level, shuffle);
    return BKT_OK;
}

/* As h5py does: all filters are optional, so that bytes that don't get shorter are stored as they are. */
int bkt_sample_filters_set(const struct bkt_sample_filters *f, hid_t dcpl, struct bkt_err *err)
{
    if (f->shuffle)
        BKT_PASS(BKT_PASS_H5(err, H5Pset_shuffle(dcpl), "shuffle of a collection"));
    if (f->id != H5Z_FILTER_NONE)
        BKT_PASS(BKT_PASS_H5(err, H5Pset_filter(dcpl, f->id, H5Z_FLAG_OPTIONAL, f->n_cd, f->cd),
                             "compressor of a collection"));
    return BKT_OK;
}

/* ---- LZF and blosc in HDF5's table of filters ----
 *
 * HDF5 calls these functions with a chunk's bytes and the client data that are stored with the dataset.
 * Neither is trusted: no decoder writes more than there is room for, and a chunk that isn't as long as the
 * client data say is an error. */

enum { LZF_CHUNK = 2, LZF_N = 3, BLOSC_TYPE = 2, BLOSC_CHUNK = 3, BLOSC_LEVEL = 4, BLOSC_N = 7 };

#define LZF_GROWTH      132 /* two stored bytes make at most 264 */
#define BLOSC_MAX_BYTES (INT_MAX - 16)

/* ---- chunks ---- */

/* Bytes that the encoded chunk may become. */
static size_t room_for(const struct bkt_filter *f, const void *in, size_t n)
{
    size_t most;
    if (f->id == BKT_FILTER_BLOSC)
        return n < 16 ? 0 : bkt_min_u64(bkt_get_le((const unsigned char *)in + 4, 4), BLOSC_MAX_BYTES);
    most = n < SIZE_MAX / LZF_GROWTH ? n * LZF_GROWTH : n;
    return f->n_cd > LZF_CHUNK && f->cd[LZF_CHUNK] ? bkt_min_u64(f->cd[LZF_CHUNK], most) : most;
}

static int decode(const struct bkt_filter *f, const void *in, size_t n_in, void **out, size_t *n,
                  size_t *size, struct bkt_err *err)
{
    size_t room = room_for(f, in, n_in), at = f->id == BKT_FILTER_BLOSC ? BLOSC_CHUNK : LZF_CHUNK;
    BKT_NEED(err, (*out = malloc(room ? room : 1)));
    *size = room;
    BKT_PASS(bkt_filter_decode(f, in, n_in, *out, room, n, err));
    BKT_FAIL_IF(err, f->n_cd > at && f->cd[at] && f->cd[at] != *n, BKT_EFORMAT,
                "filter %s: a chunk of %u bytes has %zu bytes", f->name, f->cd[at], *n);
    return BKT_OK;
}

static int encode(const struct bkt_filter *f, const void *in, size_t n_in, void **out, size_t *n,
                  size_t *size, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf bytes = {0};
    BKT_CLEANUP(bkt_pipeline_fini) struct bkt_pipeline p = {.n = 0, .elem_size = 1};
    uint32_t mask;
    BKT_PASS(bkt_pipeline_add(&p, f->id, 0, f->cd, f->n_cd, NULL, err));
    BKT_PASS(bkt_pipeline_encode(&p, in, n_in, &bytes, &mask, err));
    *n = bytes.len;
    *size = bytes.cap;
    *out = bkt_buf_steal(&bytes);
    return BKT_OK;
}

/* H5Z_func_t: the new length, or 0. */
static size_t run(int id, const char *name, unsigned flags, size_t n_cd, const unsigned cd[], size_t n_bytes,
                  size_t *buf_size, void **buf)
{
    struct bkt_filter f = {.id = id, .cd = (unsigned *)(uintptr_t)cd, .n_cd = n_cd};
    struct bkt_err why = {.n = 0};
    void *out = NULL;
    size_t n = 0, size = 0;
    (void)snprintf(f.name, sizeof f.name, "%s", name);
    bool reverse = flags & H5Z_FLAG_REVERSE;
    int rc = reverse ? decode(&f, *buf, n_bytes, &out, &n, &size, &why)
                     : encode(&f, *buf, n_bytes, &out, &n, &size, &why);
    if (rc < 0 || n == 0) {
        free(out);
        if (reverse || rc == BKT_ENOMEM) /* a chunk that doesn't get shorter is stored as it is */
            (void)bkt_samples_done(
                rc < 0 ? rc : BKT_ERR(&why, BKT_EFORMAT, "filter %s: an empty chunk", name), &why);
        return 0;
    }
    free(*buf);
    *buf = out;
    *buf_size = size;
    return n;
}

static size_t run_lzf(unsigned flags, size_t n_cd, const unsigned cd[], size_t n_bytes, size_t *buf_size,
                      void **buf)
{
    return run(BKT_FILTER_LZF, "lzf", flags, n_cd, cd, n_bytes, buf_size, buf);
}

static size_t run_blosc(unsigned flags, size_t n_cd, const unsigned cd[], size_t n_bytes, size_t *buf_size,
                        void **buf)
{
    return run(BKT_FILTER_BLOSC, "blosc", flags, n_cd, cd, n_bytes, buf_size, buf);
}

/* ---- client data of a new dataset ---- */

/* The bytes of a chunk; 0: not a chunk that the filters can have. */
static unsigned chunk_bytes(hid_t dcpl, hid_t type)
{
    hsize_t dims[H5S_MAX_RANK];
    int rank = H5Pget_chunk(dcpl, H5S_MAX_RANK, dims);
    uint64_t n = H5Tget_size(type);
    for (int i = 0; i < rank; i++)
        if (!bkt_mul_u64(n, dims[i], &n))
            return 0;
    return rank > 0 && n <= UINT_MAX ? (unsigned)n : 0;
}

static herr_t local_lzf(hid_t dcpl, hid_t type, hid_t space)
{
    unsigned cd[LZF_N] = {4, 0x105,
                          chunk_bytes(dcpl, type)}; /* revision of the filter, version of LZF's format */
    (void)space;
    return cd[LZF_CHUNK] ? H5Pmodify_filter(dcpl, BKT_FILTER_LZF, H5Z_FLAG_OPTIONAL, LZF_N, cd) : -1;
}

/* Blosc shuffles the elements of an array type. */
static unsigned blosc_element(hid_t type)
{
    BKT_CLEANUP(bkt_hid_closep)
    hid_t super = H5Tget_class(type) == H5T_ARRAY ? H5Tget_super(type) : H5I_INVALID_HID;
    size_t n = H5Tget_size(super >= 0 ? super : type);
    return n && n <= UCHAR_MAX ? (unsigned)n : 1;
}

static herr_t local_blosc(hid_t dcpl, hid_t type, hid_t space)
{
    unsigned flags = 0, cd[BLOSC_N] = {[BLOSC_LEVEL] = 5, [BLOSC_LEVEL + 1] = 1};
    size_t n = BLOSC_N, given = 0;
    (void)space;
    if (H5Pget_filter_by_id2(dcpl, BKT_FILTER_BLOSC, &flags, &n, cd, 0, NULL, NULL) < 0)
        return -1;
    given = n < BLOSC_N ? n : BLOSC_N;
    cd[0] = 2; /* revision of the filter, version of blosc's format */
    cd[1] = 2;
    cd[BLOSC_TYPE] = blosc_element(type);
    if (!(cd[BLOSC_CHUNK] = chunk_bytes(dcpl, type)))
        return -1;
    return H5Pmodify_filter(dcpl, BKT_FILTER_BLOSC, flags, given > BLOSC_LEVEL ? given : BLOSC_LEVEL, cd);
}

static const H5Z_class2_t classes[] = {
    {H5Z_CLASS_T_VERS, BKT_FILTER_LZF, 1, 1, "lzf", NULL, local_lzf, run_lzf},
    {H5Z_CLASS_T_VERS, BKT_FILTER_BLOSC, 1, 1, "blosc", NULL, local_blosc, run_blosc},
};

int bkt_sample_filters_register(struct bkt_err *err)
{
    for (size_t i = 0; i < BKT_COUNT(classes); i++) {
        htri_t is = -1;
        BKT_PASS(BKT_PASS_H5(err, is = H5Zfilter_avail(classes[i].id), "looking for a filter"));
        if (is == 0)
            BKT_PASS(BKT_PASS_H5(err, H5Zregister(&classes[i]), "registering a filter"));
    }
    return BKT_OK;
}
