/* Layouts: JSON <-> model.
 *
 * A dataset has up to two layout objects.  The top-level one describes how HSDS 0.9 addresses its chunk
 * objects.  creationProperties.layout has what the program asked for, and is the only place for references
 * (and in 1.0 the only layout at all).  Before May 2023 references were in both. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "schema/json/documents.h"
#include "schema/json/schema_json.h"
#include "schema/model/chunk_shape_rule.h"

static const struct bkt_word layout_classes[] = {
    {"H5D_COMPACT", BKT_D_COMPACT},
    {"H5D_CONTIGUOUS", BKT_D_CONTIGUOUS},
    {"H5D_CHUNKED", BKT_D_CHUNKED},
    {"H5D_CONTIGUOUS_REF", BKT_D_CONTIGUOUS_REF},
    {"H5D_CHUNKED_REF", BKT_D_CHUNKED_REF},
    {"H5D_CHUNKED_REF_INDIRECT", BKT_D_CHUNKED_REF_INDIRECT},
    {"H5D_VIRTUAL", BKT_D_VIRTUAL},
};

const char *bkt_layout_name(enum bkt_layout_class c)
{
    return bkt_word_of(layout_classes, BKT_COUNT(layout_classes), (int)c);
}

static int class_of(const json_t *j, enum bkt_layout_class *out, struct bkt_err *err)
{
    const char *name = bkt_json_word(j, "class");
    int         cls  = bkt_word_find(layout_classes, BKT_COUNT(layout_classes), name, -1);
    *out             = BKT_D_NONE;
    if (!j)
        return BKT_OK;
    BKT_FAIL_IF(err, !name, BKT_EFORMAT, "layout has no class");
    BKT_FAIL_IF(err, cls < 0, BKT_EUNSUP, "layout class \"%.60s\" is unknown", name);
    *out = (enum bkt_layout_class)cls;
    return BKT_OK;
}

static bool is_ref(enum bkt_layout_class c)
{
    return c == BKT_D_CONTIGUOUS_REF || c == BKT_D_CHUNKED_REF || c == BKT_D_CHUNKED_REF_INDIRECT;
}

/* A chunk shape; an extent of 0 is stored for empty datasets and would be divided by. */
static int parse_dims(const json_t *j, const char *what, unsigned rank, uint64_t *dims, struct bkt_err *err)
{
    unsigned n;
    BKT_PASS(bkt_dims_parse(j, what, INT64_MAX, dims, &n, err));
    BKT_FAIL_IF(err, n != rank, BKT_EFORMAT, "%s has %u entries, the dataset has rank %u", what, n, rank);
    for (unsigned i = 0; i < n; i++)
        dims[i] = dims[i] ? dims[i] : 1;
    return BKT_OK;
}

/* The whole dataset as one chunk. */
static void whole_extent(const struct bkt_dset *d, unsigned rank, uint64_t *dims)
{
    dims[0] = 1;
    for (unsigned i = 0; i < rank && d->space.rank; i++)
        dims[i] = bkt_max_u64(d->space.dims[i], 1);
}

static int check_shape(struct bkt_dset *d, struct bkt_err *err);

/* ---- the files of references, in the connector's own keys ----
 *
 * These are their ETags, and segments of several files that make up the data.  HSDS looks for file_uri and
 * fails without it.  That is right, since it could not read such a dataset. */

#define MAX_SEGMENTS 1000000u /* 32 MB of them: a limit against malicious documents */

static int parse_etag(const json_t *j, char **out, struct bkt_err *err)
{
    return json_is_string(j) ? bkt_json_dup(j, "file_etag", out, err) : BKT_OK;
}

static int parse_segment(const json_t *j, struct bkt_segment *s, struct bkt_err *err)
{
    const json_t *uri = json_array_get(j, 0);
    BKT_FAIL_IF(err, json_array_size(j) < 3 || (!json_is_null(uri) && !json_is_string(uri)), BKT_EFORMAT,
                "layout.segments: an entry is not [file_uri, offset, size]");
    if (json_is_string(uri))
        BKT_PASS(bkt_json_dup(uri, "layout.segments", &s->file_uri, err));
    BKT_PASS(bkt_json_u64(json_array_get(j, 1), "segment offset", INT64_MAX, &s->offset, err));
    BKT_PASS(bkt_json_u64(json_array_get(j, 2), "segment size", INT64_MAX, &s->size, err));
    return parse_etag(json_array_get(j, 3), &s->etag, err);
}

static int parse_files(const json_t *j, struct bkt_layout *l, struct bkt_err *err)
{
    const json_t *list = bkt_json_get(j, "segments");
    size_t n = json_array_size(list);
    BKT_PASS(parse_etag(bkt_json_get(j, "file_etag"), &l->file_etag, err));
    if (!list)
        return BKT_OK;
    BKT_FAIL_IF(err, !json_is_array(list) || n == 0 || n > MAX_SEGMENTS, BKT_EFORMAT,
                "layout.segments is not a list of file segments");
    l->segments = calloc(n, sizeof *l->segments);
    BKT_NEED(err, l->segments);
    for (size_t i = 0; i < n; i++) {
        l->n_segments = i + 1;
        BKT_PASS(parse_segment(json_array_get(list, i), &l->segments[i], err));
    }
    return BKT_OK;
}

/* ---- references ---- */

struct located {
    const uint64_t *coord;
    unsigned        rank;
    size_t          place;
};

static int by_coord(const void *a, const void *b)
{
    const struct located *x = a, *y = b;
    return bkt_coords_compare(x->coord, y->coord, x->rank);
}

bool bkt_coord_parse(const char *key, unsigned rank, uint64_t *out)
{
    bool ok = true;
    for (unsigned i = 0; ok && i < rank; i++) {
        uint64_t v = 0;
        ok = *key >= '0' && *key <= '9';
        for (; ok && *key >= '0' && *key <= '9'; key++)
            ok = bkt_mul_u64(v, 10, &v) && bkt_add_u64(v, (uint64_t)(*key - '0'), &v);
        ok = ok && *key++ == (i + 1 < rank ? '_' : 0);
        out[i] = v;
    }
    return ok;
}

static int parse_chunk_entry(const json_t *v, struct bkt_chunk_ref *c, struct bkt_err *err)
{
    uint64_t mask = 0;
    BKT_FAIL_IF(err, json_array_size(v) != 2 && json_array_size(v) != 3, BKT_EFORMAT,
                "layout.chunks: an entry is not a pair of offset and size");
    if (json_array_size(v) == 3) /* a third number is the connector's */
        BKT_PASS(bkt_json_u64(json_array_get(v, 2), "filter mask", UINT32_MAX, &mask, err));
    c->mask = (uint32_t)mask;
    BKT_PASS(bkt_json_u64(json_array_get(v, 0), "chunk offset", INT64_MAX, &c->offset, err));
    return bkt_json_u64(json_array_get(v, 1), "chunk size", INT64_MAX, &c->size, err);
}

static int sort_chunks(struct bkt_layout *l)
{
    BKT_CLEANUP(bkt_freep) struct located *p = calloc(l->n_chunks + 1, sizeof *p);
    struct bkt_chunk_ref *chunks             = calloc(l->n_chunks + 1, sizeof *chunks);
    uint64_t             *coords             = calloc(l->n_chunks + 1, sizeof *coords * l->rank);
    if (!p || !chunks || !coords) {
        free(chunks);
        free(coords);
        return BKT_ENOMEM;
    }
    for (size_t i = 0; i < l->n_chunks; i++)
        p[i] = (struct located){l->chunk_coords + i * l->rank, l->rank, i};
    qsort(p, l->n_chunks, sizeof *p, by_coord);
    for (size_t i = 0; i < l->n_chunks; i++) {
        chunks[i] = l->chunks[p[i].place];
        memcpy(coords + i * l->rank, p[i].coord, sizeof *coords * l->rank);
    }
    free(l->chunks);
    free(l->chunk_coords);
    l->chunks       = chunks;
    l->chunk_coords = coords;
    return BKT_OK;
}

static int parse_chunks(const json_t *j, struct bkt_layout *l, struct bkt_err *err)
{
    json_t *obj = (json_t *)(uintptr_t)j; /* jansson's iterators lack const */
    size_t  n   = json_object_size(j);
    BKT_FAIL_IF(err, !json_is_object(j), BKT_EFORMAT, "layout.chunks is %s", j ? "not an object" : "missing");
    l->chunks       = calloc(n + 1, sizeof *l->chunks);
    l->chunk_coords = calloc(n + 1, sizeof *l->chunk_coords * l->rank);
    BKT_NEED(err, l->chunks && l->chunk_coords);
    for (void *it = json_object_iter(obj); it; it = json_object_iter_next(obj, it)) {
        const char *key = json_object_iter_key(it);
        BKT_FAIL_IF(err, !bkt_coord_parse(key, l->rank, l->chunk_coords + l->n_chunks * l->rank), BKT_EFORMAT,
                    "layout.chunks: \"%.60s\" is not a chunk index of rank %u", key, l->rank);
        BKT_PASS(parse_chunk_entry(json_object_iter_value(it), &l->chunks[l->n_chunks], err));
        l->n_chunks++;
    }
    BKT_PASS_MEM(err, sort_chunks(l));
    return BKT_OK;
}

static int parse_contiguous_ref(const json_t *j, struct bkt_dset *d, struct bkt_err *err)
{
    struct bkt_layout *l = &d->layout;
    uint64_t           n, want;
    whole_extent(d, l->rank, l->dims);
    l->user_cls = BKT_D_CONTIGUOUS;
    BKT_PASS(bkt_json_u64(bkt_json_get(j, "offset"), "layout.offset", INT64_MAX, &l->offset, err));
    BKT_PASS(bkt_json_u64(bkt_json_get(j, "size"), "layout.size", INT64_MAX, &l->size, err));
    BKT_PASS(bkt_space_count(&d->space, &n, err));
    if (l->size == 0) /* unallocated: reads as fill value */
        return BKT_OK;
    /* A source type with padding or of another kind must not be cut at wrong places. */
    if (!d->type->is_var && bkt_mul_u64(n, d->type->size, &want) && want == l->size)
        return BKT_OK;
    if (d->bad) /* the fill value is bad as well: one reason is enough */
        return BKT_OK;
    BKT_PASS_MEM(err,
                 bkt_text(&d->bad,
                          "layout.size is %" PRIu64 ", but %" PRIu64 " elements of %zu bytes take another "
                          "size: the file that it refers to holds another type",
                          l->size, n, d->type->size));
    return BKT_OK;
}

static int parse_ref(const json_t *j, const json_t *top, struct bkt_dset *d, struct bkt_err *err)
{
    struct bkt_layout *l   = &d->layout;
    const json_t      *uri = bkt_json_get(j, "file_uri");
    if (uri)
        BKT_PASS(bkt_json_dup(uri, "layout.file_uri", &l->file_uri, err));
    BKT_PASS(parse_files(j, l, err));
    BKT_FAIL_IF(err, !uri && !l->n_segments && l->cls != BKT_D_CHUNKED_REF_INDIRECT, BKT_EFORMAT,
                "layout.file_uri is missing");
    if (l->cls == BKT_D_CONTIGUOUS_REF)
        return parse_contiguous_ref(j, d, err);

    const json_t *dims = bkt_json_get(j, "hyper_dims");
    if (!dims)
        dims = bkt_json_get(j, "dims");
    if (!dims)
        dims = bkt_json_get(top, "dims");
    BKT_PASS(parse_dims(dims, "layout.dims", l->rank, l->dims, err));
    BKT_PASS(check_shape(d, err));
    l->user_cls  = BKT_D_CHUNKED;
    l->user_rank = l->rank;
    memcpy(l->user_dims, l->dims, sizeof l->dims);
    if (l->cls == BKT_D_CHUNKED_REF)
        return parse_chunks(bkt_json_get(j, "chunks"), l, err);

    const char *id = bkt_json_word(j, "chunk_table");
    BKT_FAIL_IF(err,
                !id || bkt_ref_parse(id, strlen(id), &l->chunk_table, NULL) < 0 ||
                    bkt_id_kind(&l->chunk_table) != BKT_DATASET || !l->chunk_table.text[0],
                BKT_EFORMAT, "layout.chunk_table is not a dataset id");
    return BKT_OK;
}

/* ---- native chunks ---- */

static bool is_extensible(const struct bkt_space *s)
{
    for (unsigned i = 0; i < s->rank; i++)
        if (s->maxdims[i] != s->dims[i])
            return true;
    return false;
}

/* HDF5's class of the layout: the requested one; without a request, contiguous if that is possible. */
static int parse_user_layout(const json_t *cpl, enum bkt_layout_class cls, bool has_filters,
                             struct bkt_dset *d, struct bkt_err *err)
{
    struct bkt_layout *l    = &d->layout;
    const json_t      *dims = bkt_json_get(cpl, "dims");
    l->user_cls             = cls;
    if (cls == BKT_D_NONE)
        l->user_cls =
            d->space.rank && (has_filters || is_extensible(&d->space)) ? BKT_D_CHUNKED : BKT_D_CONTIGUOUS;
    if (l->user_cls != BKT_D_CHUNKED)
        return BKT_OK;
    l->user_rank = l->rank;
    memcpy(l->user_dims, l->dims, sizeof l->dims);
    return cls == BKT_D_CHUNKED && dims
               ? parse_dims(dims, "creationProperties.layout.dims", l->rank, l->user_dims, err)
               : BKT_OK;
}

static int parse_native(const json_t *top, const json_t *cpl, enum bkt_layout_class cpl_cls,
                        struct bkt_dset *d, struct bkt_err *err)
{
    struct bkt_layout *l    = &d->layout;
    const json_t      *dims = bkt_json_get(top, "dims");
    uint64_t           parts = 0;
    if (!dims && cpl_cls == BKT_D_CHUNKED)
        dims = bkt_json_get(cpl, "dims");
    if (dims) {
        BKT_PASS(parse_dims(dims, "layout.dims", l->rank, l->dims, err));
        BKT_PASS(check_shape(d, err));
    } else
        whole_extent(d, l->rank, l->dims);
    const json_t *count = bkt_json_get(top, "partition_count");
    if (!count)
        count = bkt_json_get(cpl, "partition_count");
    if (count)
        BKT_PASS(bkt_json_u64(count, "layout.partition_count", UINT32_MAX, &parts, err));
    l->partition_count   = (uint32_t)parts;
    const char *encoding = bkt_json_word(top, "chunk_encoding");
    l->hdf5_chunks       = encoding && strcmp(encoding, "hdf5") == 0;
    BKT_FAIL_IF(err, encoding && !l->hdf5_chunks, BKT_EUNSUP, "layout.chunk_encoding \"%.40s\" is unknown",
                encoding);
    return BKT_OK;
}

/* ---- senseless shapes ---- */

static int say_bad(struct bkt_dset *d, unsigned dim, struct bkt_err *err)
{
    const struct bkt_layout *l = &d->layout;
    BKT_PASS_MEM(
        err,
        dim < l->rank
            ? bkt_text(&d->bad,
                       "layout.dims: chunks of %" PRIu64 " in dimension %u, which has no more than %" PRIu64,
                       l->dims[dim], dim, bkt_max_u64(d->space.maxdims[dim], d->space.dims[dim]))
            : bkt_text(&d->bad, "layout.dims: a chunk of more than 2^32 - 1 bytes, which HDF5 can't have"));
    return BKT_OK;
}

/* Bytes of a chunk that are accepted whatever the extent is */
#define CHUNK_FREE (64u << 20)

/* HDF5 refuses chunks that are larger than a dimension can become, unless that was empty when the dataset was
 * made.  The connector's chunks may be up to twice as large, if small ones are stored together
 * (chunk_shape_rule.c). */
static bool is_too_long(const struct bkt_space *s, unsigned i, uint64_t chunk)
{
    uint64_t most = bkt_max_u64(s->maxdims[i], s->dims[i]);
    return s->dims[i] && s->maxdims[i] != BKT_UNLIMITED && chunk > most && chunk / 2 >= most;
}

#define VAR_BYTES 16u /* stored by HDF5 in a chunk for an element of variable length */

/* If the dataset may grow, chunks may be longer than its extent is now, but only up to a number of bytes. */
static int say_beyond(struct bkt_dset *d, unsigned dim, uint64_t bytes, struct bkt_err *err)
{
    BKT_PASS_MEM(err,
                 bkt_text(&d->bad,
                          "layout.dims: chunks of %" PRIu64 " bytes, %" PRIu64
                          " elements long in dimension %u, which has %" PRIu64 " now: more than %" PRIu64
                          " MiB are accepted only for chunks that the extent fills",
                          bytes, d->layout.dims[dim], dim, d->space.dims[dim], bkt_layout_most(d) >> 20));
    return BKT_OK;
}

/* A chunk is made in memory, and stored, as a whole: more than the extent can need isn't accepted. */
static int check_shape(struct bkt_dset *d, struct bkt_err *err)
{
    const struct bkt_layout *l     = &d->layout;
    uint64_t                 bytes = d->type->is_var ? VAR_BYTES : bkt_max_u64(d->type->size, 1);
    bool                     fits  = true;
    for (unsigned i = 0; i < l->rank; i++)
        fits = fits && bkt_mul_u64(bytes, l->dims[i], &bytes);
    if (d->bad || (fits && bytes <= CHUNK_FREE)) /* one reason is enough */
        return BKT_OK;
    for (unsigned i = 0; i < d->space.rank; i++)
        if (is_too_long(&d->space, i, l->dims[i]))
            return say_bad(d, i, err);
    if (!fits || bytes > UINT32_MAX)
        return say_bad(d, l->rank, err);
    for (unsigned i = 0; i < d->space.rank && bytes > bkt_layout_most(d); i++)
        if (bkt_layout_is_beyond(&d->space, i, l->dims[i]))
            return say_beyond(d, i, bytes, err);
    return BKT_OK;
}

int bkt_layout_parse(const json_t *top, const json_t *cprops, struct bkt_dset *d, struct bkt_err *err)
{
    struct bkt_layout    *l   = &d->layout;
    const json_t         *cpl = json_is_object(cprops) ? bkt_json_get(cprops, "layout") : NULL;
    enum bkt_layout_class top_cls, cpl_cls;
    uint64_t              opts = 0;

    l->cls = l->user_cls = BKT_D_NONE;
    l->rank              = d->space.rank ? d->space.rank : 1;
    BKT_PASS(class_of(top, &top_cls, err));
    BKT_TRY(err, class_of(cpl, &cpl_cls, err), "creationProperties");
    if (bkt_json_get(cpl, "h5chunkopts"))
        BKT_PASS(
            bkt_json_u64(bkt_json_get(cpl, "h5chunkopts"), "layout.h5chunkopts", UINT32_MAX, &opts, err));
    l->chunk_opts = (unsigned)opts;
    if (d->space.cls == BKT_S_NULL) {
        l->user_cls = cpl_cls == BKT_D_COMPACT ? BKT_D_COMPACT : BKT_D_CONTIGUOUS;
        return BKT_OK;
    }
    if (cpl_cls == BKT_D_VIRTUAL) {
        l->user_cls = BKT_D_VIRTUAL;
        return BKT_OK;
    }
    if (is_ref(cpl_cls) || is_ref(top_cls)) {
        l->cls = is_ref(cpl_cls) ? cpl_cls : top_cls;
        return parse_ref(is_ref(cpl_cls) ? cpl : top, top, d, err);
    }
    l->cls = BKT_D_CHUNKED; /* contiguous and compact data are one chunk object, too */
    BKT_PASS(parse_native(top, cpl, cpl_cls, d, err));
    l->external                = json_is_true(bkt_json_get(cpl, "h5external"));
    enum bkt_layout_class user = cpl_cls == BKT_D_NONE && top_cls != BKT_D_CHUNKED ? top_cls : cpl_cls;
    return parse_user_layout(cpl, user, d->n_filters > 0, d, err);
}

/* ---- model -> JSON ---- */

static int emit_segment(const struct bkt_segment *s, json_t *list)
{
    json_t *one = json_array();
    BKT_PASS(bkt_json_push(list, one));
    BKT_PASS(bkt_json_push(one, s->file_uri ? bkt_json_new_str(s->file_uri) : json_null()));
    BKT_PASS(bkt_json_push(one, bkt_json_new_u64(s->offset)));
    BKT_PASS(bkt_json_push(one, bkt_json_new_u64(s->size)));
    return s->etag ? bkt_json_push(one, bkt_json_new_str(s->etag)) : BKT_OK;
}

static int emit_files(const struct bkt_layout *l, json_t *j)
{
    if (l->file_etag)
        BKT_PASS(bkt_json_set(j, "file_etag", bkt_json_new_str(l->file_etag)));
    if (!l->n_segments)
        return BKT_OK;
    json_t *list = json_array();
    BKT_PASS(bkt_json_set(j, "segments", list));
    for (size_t i = 0; i < l->n_segments; i++)
        BKT_PASS(emit_segment(&l->segments[i], list));
    return BKT_OK;
}

static int emit_class(enum bkt_layout_class cls, json_t **out)
{
    json_t *j = json_object();
    return bkt_json_give(j, bkt_json_set(j, "class", json_string(bkt_layout_name(cls))), out);
}

static int emit_chunks(const struct bkt_layout *l, json_t *j)
{
    json_t *map = json_object();
    BKT_PASS(bkt_json_set(j, "chunks", map));
    for (size_t i = 0; i < l->n_chunks; i++) {
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
        for (unsigned k = 0; k < l->rank; k++)
            BKT_PASS(bkt_buf_addf(&key, "%s%" PRIu64, k ? "_" : "", l->chunk_coords[i * l->rank + k]));
        json_t *one = json_array();
        BKT_PASS(bkt_json_set(map, bkt_buf_str(&key), one));
        BKT_PASS(bkt_json_push(one, bkt_json_new_u64(l->chunks[i].offset)));
        BKT_PASS(bkt_json_push(one, bkt_json_new_u64(l->chunks[i].size)));
        if (l->chunks[i].mask)
            BKT_PASS(bkt_json_push(one, bkt_json_new_u64(l->chunks[i].mask)));
    }
    return BKT_OK;
}

/* Whether rows of the chunk table name files.  HSDS reads all HDF5 chunks of one of its own chunks from the
 * file of one row.  So each of its chunks must be one HDF5 chunk then. */
static bool rows_name_files(const struct bkt_layout *l)
{
    return l->cls == BKT_D_CHUNKED_REF_INDIRECT && !l->file_uri && !l->n_segments;
}

/* HSDS 0.9 asks for chunks of 1 MiB and finds several of HDF5's (hyper_dims) in each.  These are whole
 * multiples, the last dimensions first, as long as the dataset is larger.  Their offsets go
 * from one of its servers to another in a URL of 8,190 bytes. */
static void hyper_chunk(const struct bkt_dset *d, uint64_t *dims)
{
    const uint64_t least = 1U << 20, most = 256;
    uint64_t       bytes = d->type->size ? d->type->size : 128, n = 1;
    memcpy(dims, d->layout.dims, sizeof d->layout.dims);
    for (unsigned i = 0; i < d->layout.rank; i++)
        if (!bkt_mul_u64(bytes, dims[i], &bytes))
            return;
    for (unsigned i = d->layout.rank; i-- > 0;)
        while (bytes < least && n < most && dims[i] < d->space.dims[i]) {
            dims[i] *= 2;
            bytes *= 2;
            n *= 2;
        }
}

/* The pieces into which HSDS 0.9 divides a contiguous reference: chunks of at most 4 MiB, each one segment
 * of the file. */
static void contiguous_chunk(const struct bkt_dset *d, uint64_t *dims)
{
    const uint64_t most = 4U << 20;
    uint64_t       bytes = d->type->size ? d->type->size : 1;
    whole_extent(d, d->layout.rank, dims);
    for (unsigned i = d->layout.rank; i-- > 0;) {
        if (bytes >= most)
            dims[i] = 1;
        while (dims[i] > 1 && dims[i] > most / bytes)
            dims[i] = dims[i] / 2 + dims[i] % 2;
        bytes *= dims[i];
        if (dims[i] < d->space.dims[i])
            bytes = most;
    }
}

static int emit_ref(const struct bkt_dset *d, uint64_t *top_dims, json_t *j)
{
    const struct bkt_layout *l = &d->layout;
    if (l->file_uri)
        BKT_PASS(bkt_json_set(j, "file_uri", bkt_json_new_str(l->file_uri)));
    BKT_PASS(emit_files(l, j));
    if (l->cls == BKT_D_CONTIGUOUS_REF) {
        contiguous_chunk(d, top_dims);
        BKT_PASS(bkt_json_set(j, "offset", bkt_json_new_u64(l->offset)));
        return bkt_json_set(j, "size", bkt_json_new_u64(l->size));
    }
    memcpy(top_dims, l->dims, sizeof l->dims);
    if (l->cls == BKT_D_CHUNKED_REF) {
        BKT_PASS(bkt_json_set_dims(j, "dims", l->dims, l->rank));
        return emit_chunks(l, j);
    }
    if (!rows_name_files(l))
        hyper_chunk(d, top_dims);
    BKT_PASS(bkt_json_set_dims(j, "dims", top_dims, l->rank));
    if (!rows_name_files(l))
        BKT_PASS(bkt_json_set_dims(j, "hyper_dims", l->dims, l->rank));
    return bkt_json_set(j, "chunk_table", json_string(l->chunk_table.text));
}

/* HSDS 0.9 takes the chunk's dims from here, and references from creationProperties (@p ref; NULL: it has
 * none).  In its next version these entries replace the others.  So both have the same contents. */
static int emit_top(const struct bkt_layout *l, const uint64_t *dims, const json_t *ref, json_t **out)
{
    json_t *j = ref ? json_deep_copy(ref) : NULL;
    if (ref && !j)
        return BKT_ENOMEM;
    if (!ref)
        BKT_PASS(emit_class(BKT_D_CHUNKED, &j)); /* HSDS 0.9 reads nothing else */
    int rc = bkt_json_set_dims(j, "dims", dims, l->rank);
    if (rc == BKT_OK && l->partition_count >= 2)
        rc = bkt_json_set(j, "partition_count", bkt_json_new_u64(l->partition_count));
    if (rc == BKT_OK && l->hdf5_chunks)
        rc = bkt_json_set(j, "chunk_encoding", json_string("hdf5"));
    return bkt_json_give(j, rc, out);
}

static int emit_layout(const struct bkt_dset *d, json_t **top, json_t *cpl)
{
    const struct bkt_layout *l    = &d->layout;
    uint64_t                 dims[BKT_MAX_RANK];
    json_t                  *user = NULL;
    bool                     ref  = is_ref(l->cls), null = d->space.cls == BKT_S_NULL;
    memcpy(dims, l->dims, sizeof dims);
    BKT_PASS(emit_class(ref ? l->cls : l->user_cls == BKT_D_NONE ? BKT_D_CONTIGUOUS : l->user_cls, &user));
    BKT_PASS(bkt_json_set(cpl, "layout", user));
    if (l->chunk_opts)
        BKT_PASS(bkt_json_set(user, "h5chunkopts", bkt_json_new_u64(l->chunk_opts)));
    if (l->external && !ref)
        BKT_PASS(bkt_json_set(user, "h5external", json_true()));
    if (ref)
        BKT_PASS(emit_ref(d, dims, user));
    else if (l->user_cls == BKT_D_CHUNKED)
        BKT_PASS(bkt_json_set_dims(user, "dims", l->user_dims, l->user_rank));
    return null || l->cls == BKT_D_NONE ? BKT_OK : emit_top(l, dims, ref ? user : NULL, top);
}

int bkt_layout_emit(const struct bkt_dset *d, json_t **top, json_t *cpl, struct bkt_err *err)
{
    BKT_PASS_MEM(err, emit_layout(d, top, cpl));
    return BKT_OK;
}
