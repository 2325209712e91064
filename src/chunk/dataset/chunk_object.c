/* Encoding and decoding of chunk objects.
 *
 *   fixed-size elements   as HSDS stores them (hsds_codec.c), or, if the layout says so
 *                         ("chunk_encoding": "hdf5"), the output of HDF5's filters for the chunk (pipeline.h)
 *   variable size         the serialised elements, and which strings are NULL (null_strings.c), compressed by
 *                         HSDS's rule
 *
 * HSDS has no place for HDF5's filter mask: which filters were left out for one chunk.  A chunk with a mask
 * has a header in front: 8 bytes of magic and the mask.  The bytes alone show the header.  So a chunk is one
 * object and one PUT, and a chunk without a mask, as nearly every chunk is, needs no header.  If the chunk's
 * own bytes begin with the magic, it gets the header too, with mask 0.  HSDS, which can't express such
 * chunks, finds them corrupt rather than wrong.
 *
 * HSDS may have stored a chunk of such a dataset again, in its own form: a blosc frame, or the unencoded
 * elements (hsds_view.h).  The bytes show that.  For filters whose chunks HSDS replaces by unencoded
 * elements, a filtered chunk that happens to be as long as these gets the header. */
#include <blosc.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "chunk/dataset/dataset.h"
#include "chunk/filter/frames.h"
#include "schema/json/reference_text.h"
#include "schema/model/hsds_view.h"

/* Find where each element of a decoded variable-length chunk begins: the elements are stored back to back.
 * Takes @p bytes over. */
static int var_index(const struct bkt_dsetio *io, struct bkt_buf *bytes, struct bkt_cache_entry **out,
                     struct bkt_err *err)
{
    /* every element has a count of 4 bytes at least, so a malicious chunk shape allocates no memory */
    BKT_FAIL_IF(err, io->chunk_elems > bytes->len / 4, BKT_EFORMAT,
                "%zu bytes are too few for the chunk's %llu elements", bytes->len,
                (unsigned long long)io->chunk_elems);
    size_t n = (size_t)io->chunk_elems;
    struct bkt_rd r = bkt_rd_of(bytes->ptr, bytes->len);
    BKT_CLEANUP(bkt_cache_entry_releasep) struct bkt_cache_entry *e = bkt_cache_entry_indexed(n);
    BKT_NEED(err, e);
    for (size_t i = 0; i < n; i++) {
        e->starts[i] = (size_t)(r.p - bytes->ptr);
        BKT_TRY(err, bkt_value_skip(io->ds->type, &r, 0, err), "element %zu of %zu", i, n);
    }
    e->len = e->starts[n] = (size_t)(r.p - bytes->ptr); /* behind the last element: leftover bytes of HSDS, or
                                                           our list of NULL strings (null_strings.c) */
    BKT_PASS(bkt_nulls_read(io->ds->type, bytes->ptr, bytes->len, e->len, err));
    e->data = bkt_buf_steal(bytes);
    *out = bkt_cache_entry_take(&e);
    return BKT_OK;
}

/* Chunk objects as HSDS would store them: for datasets that were made by HSDS, or by others by its rules.  At
 * most one compressor and one shuffle, in a fixed order.  Gzip becomes a zlib stream of HDF5-shuffled bytes;
 * HSDS and every version of the connector accept it as well as HSDS's own blosc frames. */

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
    BKT_FAIL_IF(err, in.n > BLOSC_MAX_BUFFERSIZE, BKT_EUNSUP,
                "a chunk of %zu bytes is more than a blosc frame can hold", in.n);
    BKT_PASS_MEM(err, bkt_buf_resize(out, in.n + BLOSC_MAX_OVERHEAD));
    int n = blosc_compress_ctx(level, shuffle, size, in.n, in.p, out->ptr, in.n + BLOSC_MAX_OVERHEAD,
                               codec ? codec : "lz4", 0, 1);
    BKT_FAIL_IF(err, n <= 0, BKT_EUNSUP, "the installed libblosc can't compress with %s",
                codec ? codec : "lz4");
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
        BKT_PASS_MEM(err, bkt_buf_resize(&shuffled, in.n));
        bkt_shuffle(in.p, shuffled.ptr, in.n, c->elem_size);
        in.p = shuffled.ptr;
    }
    return bkt_zlib_encode(in, level, out, err);
}

/* Encode n bytes of elements (fixed-size, or serialised) as HSDS would store them.  Replaces the content of
 *  @p out. */
static int hsds_encode(const struct bkt_dset *ds, const struct bkt_hsds_codec *c, const void *src, size_t n,
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
    BKT_PASS_MEM(err, bkt_buf_resize(out, n));
    if (n)
        memcpy(out->ptr, src, n);
    return BKT_OK;
}

/* ---- encoding and decoding ---- */

#define HEAD BKT_CHUNK_OBJECT_HEAD
static const unsigned char magic[8] = {0x89, 'B', 'K', 'T', 'm', '\r', '\n', 0x1a};

size_t bkt_chunk_object_head(const void *p, size_t n, uint32_t *mask)
{
    *mask = 0;
    if (n < HEAD || memcmp(p, magic, sizeof magic) != 0)
        return 0;
    *mask = (uint32_t)bkt_get_le((const unsigned char *)p + sizeof magic, 4);
    return HEAD;
}

static bool looks_unencoded(const struct bkt_dsetio *io, size_t n)
{
    return n == io->chunk_bytes && bkt_pipeline_compresses(&io->pipe) &&
           bkt_hsds_view(io->ds->filters, io->ds->n_filters) == BKT_HSDS_RAW;
}

int bkt_chunk_object_wrap(const struct bkt_dsetio *io, const void *p, size_t n, uint32_t mask,
                          struct bkt_buf *out, struct bkt_err *err)
{
    unsigned char head[HEAD];
    uint32_t      other;
    bool needed = mask || bkt_chunk_object_head(p, n, &other) || looks_unencoded(io, n);
    memcpy(head, magic, sizeof magic);
    bkt_put_le(head + sizeof magic, 4, mask);
    if ((needed && bkt_buf_add(out, head, sizeof head) < 0) || bkt_buf_add(out, p, n) < 0)
        BKT_NOMEM(err);
    return BKT_OK;
}

bool bkt_chunk_object_is_unencoded(const struct bkt_dsetio *io)
{
    const struct bkt_hsds_codec *c = &io->codec;
    if (io->hdf5)
        return io->pipe.n == 0;
    return !io->var && !c->compressed && c->shuffle != 2;
}

/* ---- chunks that HSDS stored ---- */

/* Whether the bytes are one frame of all elements.  If HDF5's last filter is blosc itself, the frame is
 * HSDS's if it has HSDS's element size, 1.  If blosc is the only filter, both forms are the same. */
static bool is_frame(const struct bkt_dsetio *io, struct bkt_span head, size_t n)
{
    struct bkt_blosc_head h;
    const unsigned        last = io->pipe.n - 1;
    if (head.n < BKT_CHUNK_OBJECT_LOOK || !bkt_blosc_head((struct bkt_span){head.p, n}, &h) ||
        h.c_bytes != n || h.n_bytes != io->chunk_bytes)
        return false;
    return io->pipe.f[last].id != BKT_FILTER_BLOSC || (last > 0 && h.type_size == 1 && io->elem_size > 1);
}

bool bkt_chunk_object_is_hsds(const struct bkt_dsetio *io, const void *head, size_t n_head, size_t n)
{
    struct bkt_span s = {head, n_head < n ? n_head : n};
    uint32_t        mask;
    if (!io->hdf5 || !io->pipe.n || !bkt_pipeline_builtin(&io->pipe) ||
        bkt_chunk_object_head(head, s.n, &mask))
        return false;
    return is_frame(io, s, n) ||
           (n == io->chunk_bytes && !bkt_pipeline_may_give(&io->pipe, head, s.n, n, io->chunk_bytes));
}

uint32_t bkt_chunk_object_no_filter(const struct bkt_dsetio *io)
{
    return io->pipe.n >= 32 ? UINT32_MAX : (UINT32_C(1) << io->pipe.n) - 1;
}

static int decode_hsds(const struct bkt_dsetio *io, const void *in, size_t n, void *dst, struct bkt_err *err)
{
    const struct bkt_hsds_codec c = {.compressed = is_frame(io, (struct bkt_span){in, n}, n),
                                     .elem_size = io->elem_size,
                                     .max_out = io->chunk_bytes};
    return bkt_hsds_decode(&c, in, n, dst, io->chunk_bytes, err);
}

/* ---- decode ---- */

/* Whether the bytes may be unencoded elements that only looked like the filters' output. */
static bool may_be_unencoded(const struct bkt_dsetio *io, size_t n)
{
    return n == io->chunk_bytes && io->pipe.n && bkt_pipeline_builtin(&io->pipe) &&
           bkt_hsds_view(io->ds->filters, io->ds->n_filters) == BKT_HSDS_RAW;
}

int bkt_chunk_object_decode(const struct bkt_dsetio *io, const struct bkt_pipeline *pipe, const void *in,
                            size_t n, void *dst, struct bkt_err *err)
{
    if (!io->hdf5)
        return bkt_hsds_decode(&io->codec, in, n, dst, io->chunk_bytes, err);
    uint32_t mask;
    size_t   head = pipe->n ? bkt_chunk_object_head(in, n, &mask) : 0;
    if (!head && bkt_chunk_object_is_hsds(io, in, n, n))
        return decode_hsds(io, in, n, dst, err);
    struct bkt_err why = {.n = 0};
    int rc = bkt_pipeline_decode(pipe, head ? mask : 0, (const unsigned char *)in + head, n - head, dst,
                                 io->chunk_bytes, &why);
    if (rc == BKT_EFORMAT && !head && may_be_unencoded(io, n))
        return decode_hsds(io, in, n, dst, err);
    return rc < 0 ? bkt_err_copy(err, rc, &why) : rc;
}

/* Bytes as long as the unencoded elements: only decoding shows whether they are the filters' output. */
static bool is_hsds(const struct bkt_dsetio *io, const struct bkt_buf *b, unsigned char *room)
{
    if (bkt_chunk_object_is_hsds(io, b->ptr, b->len, b->len))
        return true;
    return may_be_unencoded(io, b->len) &&
           bkt_pipeline_decode(&io->pipe, 0, b->ptr, b->len, room, io->chunk_bytes, NULL) == BKT_EFORMAT;
}

int bkt_chunk_object_as_hdf5(const struct bkt_dsetio *io, struct bkt_buf *b, uint32_t *mask,
                             struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf elements = {0};
    if (!bkt_chunk_object_is_hsds(io, b->ptr, b->len, b->len) && !may_be_unencoded(io, b->len))
        return BKT_OK;
    BKT_PASS_MEM(err, bkt_buf_resize(&elements, io->chunk_bytes));
    if (!is_hsds(io, b, elements.ptr))
        return BKT_OK;
    BKT_PASS(decode_hsds(io, b->ptr, b->len, elements.ptr, err));
    bkt_buf_fini(b);
    bkt_buf_move(b, &elements);
    *mask = bkt_chunk_object_no_filter(io);
    return BKT_OK;
}

int bkt_chunk_object_read(const struct bkt_dsetio *io, struct bkt_buf *stored, struct bkt_cache_entry **out,
                          struct bkt_err *err)
{
    if (io->var) {
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
        if (io->codec.compressed)
            BKT_PASS(bkt_hsds_decode_var(&io->codec, stored->ptr, stored->len, &b, err));
        else
            bkt_buf_move(&b, stored);
        return var_index(io, &b, out, err);
    }
    BKT_CLEANUP(bkt_cache_entry_releasep) struct bkt_cache_entry *e = bkt_cache_entry_new(io->chunk_bytes);
    BKT_NEED(err, e);
    BKT_PASS(bkt_chunk_object_decode(io, &io->pipe, stored->ptr, stored->len, e->data, err));
    *out = bkt_cache_entry_take(&e);
    return BKT_OK;
}

/* ---- encode ---- */

static int encode_hdf5(const struct bkt_dsetio *io, const void *src, size_t n, struct bkt_buf *out,
                       struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    uint32_t                                 mask, other;
    BKT_PASS(bkt_pipeline_encode(&io->pipe, src, n, &b, &mask, err));
    if (mask || bkt_chunk_object_head(b.ptr, b.len, &other) || looks_unencoded(io, b.len))
        return bkt_chunk_object_wrap(io, b.ptr, b.len, mask, out, err);
    bkt_buf_fini(out);
    bkt_buf_move(out, &b);
    return BKT_OK;
}

static int encode_nulls(const struct bkt_dsetio *io, const void *src, size_t n, struct bkt_buf *out,
                        struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf rest = {0};
    BKT_CLEANUP(bkt_nulls_fini) struct bkt_nulls nulls = {.n_empty = 0};
    BKT_PASS_MEM(err, bkt_buf_add(&rest, src, n));
    BKT_PASS(bkt_nulls_take(io->ds->type, rest.ptr, rest.len, &nulls, err));
    BKT_PASS(bkt_nulls_append(&nulls, &rest, err));
    return hsds_encode(io->ds, &io->codec, rest.ptr, rest.len, out, err);
}

int bkt_chunk_object_encode(const struct bkt_dsetio *io, const void *src, size_t n, struct bkt_buf *out,
                            struct bkt_err *err)
{
    if (io->var && bkt_value_has_null(io->ds->type, src, n))
        return encode_nulls(io, src, n, out, err);
    if (io->hdf5)
        return encode_hdf5(io, src, n, out, err);
    return hsds_encode(io->ds, &io->codec, src, n, out, err);
}

/* ---- a dataset's stored objects, by listing their keys ---- */

/* Gives 1 and the grid coordinate that a key names; 0: the key of another object; or a failure. */
static int coord_of_key(const struct bkt_dsetio *io, const char *key, uint64_t *coord)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf same = {0};
    const char *p =
        strrchr(key, bkt_id_is_v2(&io->obj->id) ? '/' : '-'); /* version 1: ...-<end of the id>_<place> */
    if (p && !bkt_id_is_v2(&io->obj->id))
        p = strchr(p, '_');
    p = p ? p + 1 : key;
    for (unsigned d = 0; d < io->rank; d++) {
        char *end;
        if (!isdigit((unsigned char)*p))
            return 0;
        coord[d] = strtoull(p, &end, 10);
        if (*end != (d + 1 < io->rank ? '_' : 0))
            return 0;
        p = end + 1;
    }
    BKT_PASS(bkt_chunk_key(&io->obj->id, &io->ds->layout, coord, &same));
    return strcmp(bkt_buf_str(&same), key) == 0;
}

/* Version 1 keys begin with a hash of each id, so all of the bucket is listed. */
static int list_keys(struct bkt_dsetio *io, int (*each)(const struct bkt_listed *e, void *arg), void *arg,
                     struct bkt_err *err)
{
    static const uint64_t                    zero[BKT_MAX_RANK];
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf prefix = {0};
    if (!bkt_id_is_v2(&io->obj->id))
        return bkt_store_list(bkt_domain_store(io->dom), "", "", each, arg, err);
    BKT_PASS(bkt_chunk_key(&io->obj->id, &io->ds->layout, zero, &prefix));
    for (int up = io->ds->layout.partition_count >= 2 ? 2 : 1; up > 0; up--) {
        while (prefix.len && prefix.ptr[prefix.len - 1] != '/')
            prefix.len--;
        prefix.len -= prefix.len && up > 1;
    }
    BKT_PASS(bkt_buf_resize(&prefix, prefix.len));
    return bkt_store_list(bkt_domain_store(io->dom), bkt_buf_str(&prefix), "", each, arg, err);
}

struct keys {
    struct bkt_dsetio *io;
    bkt_chunk_key_fn *each;
    void *arg;
};

static int on_key(const struct bkt_listed *e, void *arg)
{
    const struct keys *k = arg;
    uint64_t           coord[BKT_MAX_RANK];
    int                is = e->is_prefix ? 0 : coord_of_key(k->io, e->key, coord);
    return is > 0 ? k->each(coord, e->size, k->arg) : is;
}

int bkt_chunk_keys_each(struct bkt_dsetio *io, bkt_chunk_key_fn *each, void *arg, struct bkt_err *err)
{
    struct keys k = {io, each, arg};
    return list_keys(io, on_key, &k, err);
}
