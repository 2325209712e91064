/* See zarr_codecs.h.  numcodecs' documentation describes each codec's bytes. */
#include "tools/kerchunk/zarr_codecs.h"

#include <string.h>

#include "base/num.h"
#include "chunk/filter/pipeline.h"
#include "schema/model/hsds_view.h"
#include "tools/source/hdf5_glue.h"

struct kerchunk_codec_row {
    const char *id;
    int filter; /* HDF5's filter that makes the same bytes; 0: HDF5 has no such filter; -1: it needs none */
    bool compresses;
    int (*parse)(const struct kerchunk_doc *d,
                 struct kerchunk_codec *out); /* NULL: no settings that matter */
    int (*decode)(const struct kerchunk_codec *c, const void *in, size_t n, void *dst, size_t room,
                  size_t *got, struct bkt_err *err);
    unsigned level, most; /* of a compressor: the level without a setting, the highest one */
};

/* ---- settings ---- */

static uint64_t setting(const struct kerchunk_doc *d, const char *key, uint64_t otherwise, uint64_t most)
{
    uint64_t v;
    return kerchunk_doc_size(kerchunk_doc_get(d, key), &v) && v <= most ? v : otherwise;
}

static int level(const struct kerchunk_doc *d, struct kerchunk_codec *out)
{
    out->cd[0] = (unsigned)setting(d, "level", out->row->level, out->row->most);
    out->n_cd = 1;
    return BKT_OK;
}

static int shuffle(const struct kerchunk_doc *d, struct kerchunk_codec *out)
{
    const struct kerchunk_doc *size = kerchunk_doc_get(d, "elementsize");
    out->cd[0] = (unsigned)setting(d, "elementsize", size ? 0 : 4, UINT16_MAX);
    out->n_cd = 1;
    return out->cd[0] ? BKT_OK : BKT_EUNSUP;
}

const char *kerchunk_blosc_name(unsigned code)
{
    unsigned cd[] = {2, 2, 0, 0, 0, 0, code};
    return bkt_blosc_codec(&(const struct bkt_filter_desc){.cd = cd, .n_cd = BKT_COUNT(cd)});
}

/* Version and form, element, chunk (both set later), level, shuffle, codec: as the filter's own set_local. */
static int blosc(const struct kerchunk_doc *d, struct kerchunk_codec *out)
{
    const char *name = kerchunk_doc_text(d, "cname"), *known = NULL;
    unsigned k = 0;
    while (name && (known = kerchunk_blosc_name(k)) && strcmp(name, known) != 0)
        k++;
    if (name && !known)
        return BKT_EUNSUP;
    out->cd[0] = 2, out->cd[1] = 2;
    out->cd[4] = (unsigned)setting(d, "clevel", 5, 9);
    out->cd[5] = (unsigned)setting(d, "shuffle", 1, 2);
    out->cd[6] = name ? k : 1;
    out->n_cd = 7;
    return BKT_OK;
}

/* ---- undoing ---- */

static int by_filter(const struct kerchunk_codec *c, const void *in, size_t n, void *dst, size_t room,
                     size_t *got, struct bkt_err *err)
{
    struct kerchunk_codec copy = *c; /* the filter's client data are not const */
    struct bkt_filter f = {.id = c->row->filter, .cd = copy.cd, .n_cd = c->n_cd};
    return bkt_filter_decode(&f, in, n, dst, room, got, err);
}

/* The decoded size in 4 bytes, little-endian, and an LZ4 block. */
static int lz4(const struct kerchunk_codec *c, const void *in, size_t n, void *dst, size_t room, size_t *got,
               struct bkt_err *err)
{
    (void)c;
    uint64_t size = n >= 4 ? bkt_get_le(in, 4) : 0;
    BKT_FAIL_IF(err, n < 4, BKT_EFORMAT, "lz4: %zu bytes are too short for its header", n);
    BKT_FAIL_IF(err, size > room, BKT_ERANGE, "lz4: %llu bytes, at most %zu are expected",
                (unsigned long long)size, room);
    *got = (size_t)size;
    return bkt_lz4_block((const unsigned char *)in + 4, n - 4, dst, (size_t)size, err);
}

static int nothing(const struct kerchunk_codec *c, const void *in, size_t n, void *dst, size_t room,
                   size_t *got, struct bkt_err *err)
{
    (void)c;
    BKT_FAIL_IF(err, n > room, BKT_ERANGE, "%zu bytes, at most %zu are expected", n, room);
    if (n)
        memcpy(dst, in, n);
    *got = n;
    return BKT_OK;
}

static const struct kerchunk_codec_row rows[] = {
    {"zlib", BKT_FILTER_DEFLATE, true, level, by_filter, 1, 9},
    {"zstd", BKT_FILTER_ZSTD, true, level, by_filter, 3, 22},
    {"blosc", BKT_FILTER_BLOSC, true, blosc, by_filter, 0, 0},
    {"bz2", BKT_FILTER_BZIP2, true, level, by_filter, 1, 9},
    {"shuffle", BKT_FILTER_SHUFFLE, false, shuffle, by_filter, 0, 0},
    {"fletcher32", BKT_FILTER_FLETCHER32, false, NULL, by_filter, 0, 0},
    {"lz4", 0, true, NULL, lz4, 0, 0},
    {"bitround", -1, false, NULL, nothing, 0, 0},  /* rounds when writing; its bytes are plain values */
    {"vlen-utf8", -1, false, NULL, nothing, 0, 0}, /* strings to bytes; array_values.c takes them apart */
};

/* Reasons to refuse other codecs. */
static const struct {
    const char *id, *why;
} refused[] = {
    {"fixedscaleoffset", "it changes values, and HDF5 has no filter that changes them back"},
    {"delta", "HDF5 has no filter that undoes it"},
    {"astype", "the stored type differs from the array's"},
    {"categorize", "its labels are apart from the values"},
    {"gzip", "HDF5's deflate reads zlib streams only"},
    {"lzma", "HDF5 has no such filter"},
    {"pickle", "it stores Python objects"},
    {"json2", "it stores Python objects"},
    {"vlen-bytes", "HDF5 has no such type"},
    {"vlen-array", "HDF5 stores such values elsewhere"},
    {"grib", "GRIB messages are decoded by eccodes"},
};

static int refuse(const char *id, struct bkt_err *err)
{
    const char *why = "it is not known here";
    for (size_t i = 0; i < BKT_COUNT(refused); i++)
        if (strcmp(refused[i].id, id) == 0)
            why = refused[i].why;
    BKT_FAIL(err, BKT_EUNSUP,
             "codec %.60s: %s; decode the array in Python (xarray's to_netcdf) and load that file, or leave "
             "it out by "
             "--ignore-errors",
             id, why);
}

static int add(const struct kerchunk_doc *d, struct kerchunk_codecs *out, struct bkt_err *err)
{
    const char *id = kerchunk_doc_text(d, "id");
    size_t k = 0;
    BKT_FAIL_IF(err, !id, BKT_EFORMAT, "codec: it has no id");
    BKT_FAIL_IF(err, out->n == KERCHUNK_CODECS_MAX, BKT_EUNSUP, "more than %d codecs", KERCHUNK_CODECS_MAX);
    while (k < BKT_COUNT(rows) && strcmp(rows[k].id, id) != 0)
        k++;
    if (k == BKT_COUNT(rows))
        return refuse(id, err);
    struct kerchunk_codec *c = &out->v[out->n];
    *c = (struct kerchunk_codec){.row = &rows[k]};
    int rc = c->row->parse ? c->row->parse(d, c) : BKT_OK;
    BKT_FAIL_IF(err, rc < 0, rc, "codec %.60s: settings that are not understood", id);
    bool strings = strcmp(id, "vlen-utf8") == 0;
    BKT_FAIL_IF(err, strings && out->n, BKT_EUNSUP,
                "codec vlen-utf8: behind another codec; only strings become bytes");
    out->vlen_utf8 |= strings;
    out->compresses |= c->row->compresses;
    out->n++;
    return BKT_OK;
}

int kerchunk_codecs_parse(const struct kerchunk_doc *filters, const struct kerchunk_doc *compressor,
                          struct kerchunk_codecs *out, struct bkt_err *err)
{
    *out = (struct kerchunk_codecs){.n = 0};
    BKT_FAIL_IF(err, filters && filters->kind != KERCHUNK_NULL && filters->kind != KERCHUNK_LIST, BKT_EFORMAT,
                "filters: not a list");
    for (const struct kerchunk_doc *d = filters && filters->kind == KERCHUNK_LIST ? filters->first : NULL; d;
         d = d->next)
        BKT_PASS(add(d, out, err));
    return compressor && compressor->kind != KERCHUNK_NULL ? add(compressor, out, err) : BKT_OK;
}

/* ---- HDF5's filters ---- */

const char *kerchunk_codecs_differ(const struct kerchunk_codecs *c, size_t elem_size)
{
    for (unsigned i = 0; i < c->n; i++) {
        const struct kerchunk_codec *k = &c->v[i];
        if (k->row->filter == 0 || c->vlen_utf8 ||
            (k->row->filter == BKT_FILTER_SHUFFLE && k->cd[0] > 1 && k->cd[0] != elem_size))
            return k->row->id;
    }
    return NULL;
}

int kerchunk_codecs_filters(const struct kerchunk_codecs *c, hid_t dcpl, size_t elem_size, size_t chunk_bytes,
                            struct bkt_err *err)
{
    for (unsigned i = 0; i < c->n; i++) {
        struct kerchunk_codec k = c->v[i];
        if (k.row->filter <= 0 || (k.row->filter == BKT_FILTER_SHUFFLE && k.cd[0] <= 1))
            continue;
        if (k.row->filter == BKT_FILTER_BLOSC)
            k.cd[2] = (unsigned)bkt_min_u64(elem_size, 255), k.cd[3] = (unsigned)chunk_bytes;
        if (H5Pset_filter(dcpl, k.row->filter, k.row->filter < 256 ? H5Z_FLAG_MANDATORY : H5Z_FLAG_OPTIONAL,
                          k.n_cd, k.cd) < 0)
            return h5_fail(err, "setting a filter");
    }
    return BKT_OK;
}

/* ---- all at once ---- */

static int undo(const struct kerchunk_codec *c, const struct bkt_buf *in, uint64_t most, struct bkt_buf *out,
                struct bkt_err *err)
{
    size_t room = (size_t)bkt_min_u64(most, bkt_max_u64(4 * (uint64_t)in->len, 65536));
    for (;;) {
        size_t got = 0;
        BKT_PASS_MEM(err, bkt_buf_resize(out, room ? room : 1));
        struct bkt_err why = {.n = 0};
        int rc = c->row->decode(c, in->ptr, in->len, out->ptr, room, &got, &why);
        if (rc == BKT_OK) {
            bkt_buf_cut(out, got);
            return BKT_OK;
        }
        if (rc != BKT_ERANGE || room >= most)
            return bkt_err_copy(err, rc == BKT_ERANGE ? BKT_EFORMAT : rc, &why);
        room = (size_t)bkt_min_u64(most, 4 * (uint64_t)room);
    }
}

int kerchunk_codecs_decode(const struct kerchunk_codecs *c, const void *in, size_t n, uint64_t most,
                           struct bkt_buf *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf a = {0}, b = {0};
    BKT_NEED(err, bkt_buf_add(&a, in, n) >= 0 && bkt_buf_reserve(&a, 1) >= 0);
    most = bkt_min_u64(most, SIZE_MAX / 4) + 64; /* checksums of codecs that are applied first */
    const uint64_t between = most + most / 64 + 1024; /* a compressor adds to bytes that can't be packed */
    for (unsigned i = c->n; i-- > 0;) {
        BKT_TRY(err, undo(&c->v[i], &a, i ? between : most, &b, err), "codec %s", c->v[i].row->id);
        bkt_buf_move(&a, &b);
    }
    bkt_buf_move(out, &a);
    return BKT_OK;
}
