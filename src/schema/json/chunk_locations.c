#include "schema/json/chunk_locations.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/num.h"
#include "schema/json/schema_json.h"

static const struct bkt_word kinds[] = {
    {"none", BKT_MAP_NONE},       {"compact", BKT_MAP_COMPACT},   {"contiguous", BKT_MAP_CONTIGUOUS},
    {"chunked", BKT_MAP_CHUNKED}, {"external", BKT_MAP_EXTERNAL}, {"virtual", BKT_MAP_VIRTUAL},
};

const char *bkt_map_kind_name(enum bkt_map_kind k) { return bkt_word_of(kinds, BKT_COUNT(kinds), (int)k); }

void bkt_chunk_map_fini(struct bkt_chunk_map *m)
{
    for (size_t i = 0; i < m->n_files; i++) {
        free(m->files[i].uri);
        free(m->files[i].etag);
    }
    for (size_t i = 0; i < m->n_dsets; i++) {
        struct bkt_map_dset *d = &m->dsets[i];
        free(d->path);
        free(d->chunks);
        bkt_buf_fini(&d->type);
        bkt_buf_fini(&d->creation);
        for (size_t k = 0; k < d->n_segs; k++)
            free(d->segs[k].file_uri);
        free(d->segs);
    }
    bkt_map_free(m->by_path, NULL);
    free(m->files);
    free(m->dsets);
    memset(m, 0, sizeof *m);
}

const struct bkt_map_dset *bkt_chunk_map_find(const struct bkt_chunk_map *m, const char *path)
{
    return bkt_map_get(m->by_path, path, strlen(path));
}

/* ---- files ---- */

static int parse_files(const json_t *list, struct bkt_chunk_map *m, struct bkt_err *err)
{
    size_t n = json_array_size(list);
    BKT_FAIL_IF(err, !n, BKT_EFORMAT, "files: not a list, or empty");
    m->files = calloc(n, sizeof *m->files);
    BKT_NEED(err, m->files);
    for (size_t i = 0; i < n; i++) {
        const json_t *j = json_array_get(list, i), *start = bkt_json_get(j, "start"),
                     *etag = bkt_json_get(j, "etag");
        struct bkt_map_file *f = &m->files[m->n_files++];
        BKT_PASS(bkt_json_dup(bkt_json_get(j, "uri"), "files: uri", &f->uri, err));
        BKT_PASS(bkt_json_u64(bkt_json_get(j, "size"), "files: size", INT64_MAX, &f->size, err));
        if (start)
            BKT_PASS(bkt_json_u64(start, "files: start", UINT64_MAX - 1, &f->start, err));
        if (etag)
            BKT_PASS(bkt_json_dup(etag, "files: etag", &f->etag, err));
    }
    qsort(m->files, n, sizeof *m->files, bkt_by_u64);
    return BKT_OK;
}

/* The last file that begins at or before @p off; n_files: none does. */
static size_t file_at(const struct bkt_chunk_map *m, uint64_t off)
{
    size_t lo = 0, hi = m->n_files;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (m->files[mid].start <= off)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo ? lo - 1 : m->n_files;
}

/* Whether every byte lies in a file.  A range that goes over a file's end continues in the next file. */
static bool is_inside(const struct bkt_chunk_map *m, uint64_t off, uint64_t size)
{
    for (size_t i = file_at(m, off); i < m->n_files && size; i++) {
        const struct bkt_map_file *f   = &m->files[i];
        uint64_t                   in  = off - f->start, end = f->size;
        if (i + 1 < m->n_files) /* bytes from the next file's begin on are that file's */
            end = bkt_min_u64(end, f[1].start - f->start);
        if (off < f->start || in >= end)
            return false;
        uint64_t here = bkt_min_u64(size, end - in);
        off += here, size -= here;
    }
    return size == 0;
}

/* ---- datasets ---- */

static int parse_shape(const json_t *j, struct bkt_map_dset *d, struct bkt_err *err)
{
    const json_t     *dims = bkt_json_get(j, "shape"), *max = bkt_json_get(j, "maxshape");
    struct bkt_space *s    = &d->space;
    s->cls                 = BKT_S_NULL;
    if (!dims)
        return BKT_OK;
    s->cls = BKT_S_SCALAR;
    if (json_array_size(dims) == 0)
        return BKT_OK;
    s->cls = BKT_S_SIMPLE;
    BKT_PASS(bkt_dims_parse(dims, "shape", INT64_MAX, s->dims, &s->rank, err));
    memcpy(s->maxdims, s->dims, sizeof s->dims);
    BKT_FAIL_IF(err, max && json_array_size(max) != s->rank, BKT_EFORMAT,
                "maxshape and shape differ in their number of entries");
    for (unsigned i = 0; max && i < s->rank; i++) {
        const json_t *v = json_array_get(max, i);
        if (json_is_string(v) && strcmp(json_string_value(v), "unlimited") == 0)
            s->maxdims[i] = BKT_UNLIMITED;
        else
            BKT_PASS(bkt_json_u64(v, "maxshape", INT64_MAX, &s->maxdims[i], err));
        BKT_FAIL_IF(err, s->dims[i] > s->maxdims[i], BKT_EFORMAT, "maxshape is less than shape");
    }
    return bkt_space_check(s, err);
}

static int chunk_index(const struct bkt_map_dset *d, const char *key, uint64_t *out, struct bkt_err *err)
{
    uint64_t at[BKT_MAX_RANK];
    bool ok = bkt_coord_parse(key, d->space.rank, at);
    *out = 0;
    for (unsigned i = 0; ok && i < d->space.rank; i++) {
        ok = at[i] < d->grid[i];
        *out = *out * d->grid[i] + at[i];
    }
    BKT_FAIL_IF(err, !ok, BKT_EFORMAT, "chunks: the dataset has no chunk \"%.60s\"", key);
    return BKT_OK;
}

static int parse_chunks(const struct bkt_chunk_map *m, const json_t *j, struct bkt_map_dset *d,
                        struct bkt_err *err)
{
    json_t  *list = (json_t *)(uintptr_t)bkt_json_get(j, "chunks"); /* jansson's iterators lack const */
    unsigned rank;
    uint64_t n = 1, mask;
    BKT_PASS(bkt_dims_parse(bkt_json_get(j, "chunk"), "chunk", UINT32_MAX, d->cdims, &rank, err));
    BKT_FAIL_IF(err, rank != d->space.rank || !json_is_object(list), BKT_EFORMAT,
                "chunked without chunks, or with another rank than the shape");
    for (unsigned i = 0; i < rank; i++) {
        d->grid[i] = d->cdims[i] ? bkt_ceil_div(d->space.dims[i], d->cdims[i]) : 0;
        BKT_FAIL_IF(err, !d->cdims[i] || (d->grid[i] && !bkt_mul_u64(n, d->grid[i], &n)), BKT_EFORMAT,
                    "chunk: not a chunk shape");
    }
    d->chunks = calloc(json_object_size(list) + 1, sizeof *d->chunks);
    BKT_NEED(err, d->chunks);
    for (void *it = json_object_iter(list); it; it = json_object_iter_next(list, it)) {
        const json_t         *v = json_object_iter_value(it);
        struct bkt_file_chunk *c = &d->chunks[d->n_chunks++];
        mask                    = 0;
        BKT_PASS(chunk_index(d, json_object_iter_key(it), &c->index, err));
        BKT_PASS(bkt_json_u64(json_array_get(v, 0), "chunks: offset", UINT64_MAX - 1, &c->offset, err));
        BKT_PASS(bkt_json_u64(json_array_get(v, 1), "chunks: size", UINT32_MAX, &c->size, err));
        if (json_array_size(v) > 2)
            BKT_PASS(bkt_json_u64(json_array_get(v, 2), "chunks: filter mask", UINT32_MAX, &mask, err));
        c->mask = (uint32_t)mask;
        BKT_FAIL_IF(err, !is_inside(m, c->offset, c->size), BKT_EFORMAT,
                    "chunk %s: %" PRIu64 " bytes at %" PRIu64 " are not in the file",
                    json_object_iter_key(it), c->size, c->offset);
    }
    if (d->n_chunks)
        qsort(d->chunks, d->n_chunks, sizeof *d->chunks, bkt_by_u64);
    for (size_t i = 1; i < d->n_chunks; i++)
        if (d->chunks[i].index == d->chunks[i - 1].index) /* keys such as 1 and 01 */
            BKT_FAIL(err, BKT_EFORMAT, "chunks: an index occurs twice");
    return BKT_OK;
}

static int parse_segments(const json_t *list, struct bkt_map_dset *d, struct bkt_err *err)
{
    size_t n = json_array_size(list);
    d->segs  = calloc(n + 1, sizeof *d->segs);
    BKT_NEED(err, d->segs);
    for (size_t i = 0; i < n; i++) {
        const json_t       *j = json_array_get(list, i);
        struct bkt_segment *s = &d->segs[d->n_segs++];
        if (!json_is_null(json_array_get(j, 0)))
            BKT_PASS(bkt_json_dup(json_array_get(j, 0), "segments: file", &s->file_uri, err));
        BKT_PASS(bkt_json_u64(json_array_get(j, 1), "segments: offset", INT64_MAX, &s->offset, err));
        BKT_PASS(bkt_json_u64(json_array_get(j, 2), "segments: size", INT64_MAX, &s->size, err));
        BKT_FAIL_IF(err, !bkt_add_u64(d->size, s->size, &d->size), BKT_EFORMAT,
                    "segments: longer than 2^64 bytes");
    }
    return BKT_OK;
}

static int parse_dset(const struct bkt_chunk_map *m, const json_t *j, struct bkt_map_dset *d,
                      struct bkt_err *err)
{
    int kind = bkt_word_find(kinds, BKT_COUNT(kinds), bkt_json_word(j, "layout"), -1);
    BKT_FAIL_IF(err, kind < 0, BKT_EFORMAT, "layout is missing or unknown");
    d->kind = (enum bkt_map_kind)kind;
    BKT_PASS(parse_shape(j, d, err));
    BKT_PASS(bkt_json_u64(bkt_json_get(j, "item_size"), "item_size", UINT32_MAX, &d->item_size, err));
    BKT_PASS(bkt_json_base64(bkt_json_get(j, "type"), "type", &d->type, err));
    BKT_PASS(bkt_json_base64(bkt_json_get(j, "creation"), "creation", &d->creation, err));
    if (d->kind == BKT_MAP_CHUNKED)
        return parse_chunks(m, j, d, err);
    if (d->kind == BKT_MAP_EXTERNAL)
        return parse_segments(bkt_json_get(j, "segments"), d, err);
    if (d->kind != BKT_MAP_CONTIGUOUS)
        return BKT_OK;
    BKT_PASS(bkt_json_u64(bkt_json_get(j, "offset"), "offset", UINT64_MAX - 1, &d->offset, err));
    BKT_PASS(bkt_json_u64(bkt_json_get(j, "size"), "size", INT64_MAX, &d->size, err));
    BKT_FAIL_IF(err, !is_inside(m, d->offset, d->size), BKT_EFORMAT,
                "%" PRIu64 " bytes at %" PRIu64 " are not in the file", d->size, d->offset);
    return BKT_OK;
}

static int parse_map(json_t *j, struct bkt_chunk_map *m, struct bkt_err *err)
{
    const char *format  = bkt_json_word(j, "format");
    uint64_t    version = 0;
    BKT_FAIL_IF(err, !format || strcmp(format, BKT_CHUNK_MAP_FORMAT) != 0, BKT_EFORMAT,
                "no chunk locations: \"format\" is not \"" BKT_CHUNK_MAP_FORMAT "\"");
    BKT_PASS(bkt_json_u64(bkt_json_get(j, "version"), "version", UINT32_MAX, &version, err));
    BKT_FAIL_IF(err, version != BKT_CHUNK_MAP_VERSION, BKT_EUNSUP,
                "chunk locations of version %" PRIu64 ": only version %d is known", version,
                BKT_CHUNK_MAP_VERSION);
    BKT_PASS(parse_files(bkt_json_get(j, "files"), m, err));
    json_t *all = (json_t *)(uintptr_t)bkt_json_get(j, "datasets");
    BKT_FAIL_IF(err, !json_is_object(all), BKT_EFORMAT, "datasets is missing");
    m->dsets = calloc(json_object_size(all) + 1, sizeof *m->dsets);
    BKT_NEED(err, m->dsets);
    for (void *it = json_object_iter(all); it; it = json_object_iter_next(all, it)) {
        struct bkt_map_dset *d = &m->dsets[m->n_dsets++];
        BKT_PASS(bkt_json_dup_key(json_object_iter_key(it), &d->path, err));
        BKT_PASS_MEM(err, bkt_map_set(&m->by_path, d->path, strlen(d->path), d, NULL));
        BKT_TRY(err, parse_dset(m, json_object_iter_value(it), d, err), "dataset %s", d->path);
    }
    return BKT_OK;
}

int bkt_chunk_map_parse(const void *json, size_t n, struct bkt_chunk_map *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_json_decrefp) json_t *j = NULL;
    memset(out, 0, sizeof *out);
    BKT_PASS(bkt_json_load(json, n, &j, err));
    int rc = parse_map(j, out, err);
    if (rc < 0)
        bkt_chunk_map_fini(out);
    return rc;
}
