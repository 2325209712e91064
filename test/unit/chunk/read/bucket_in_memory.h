/* A bucket in memory for the tests of reading: datasets of every layout are written as HSDS would, from one
 * array of int32 that is also the model. */
#ifndef BKT_BUCKET_IN_MEMORY_H
#define BKT_BUCKET_IN_MEMORY_H

#include <stdarg.h>
#include <zlib.h>

#include "chunk/chunk.h"
#include "unit/chunk/read/selection_testing.h"
#include "storage/stats.h"

#define WORLD_ROOT "g-00000001-00000002-8888-888988-88888a"
#define WORLD_DB "db/00000001-00000002"
#define WORLD_FILL (-7)
/* The layouts that put_dataset() takes, and creation properties that lead into a file. */
#define CHUNKED(dims) "{\"class\":\"H5D_CHUNKED\",\"dims\":" dims "}"
#define REF(cls, file, rest) "\"layout\":{\"class\":\"H5D_" cls "\",\"file_uri\":\"" file "\"," rest "}"
#define I32 "{\"class\":\"H5T_INTEGER\",\"base\":\"H5T_STD_I32LE\"}"

struct world {
    struct bkt_settings set;
    struct bkt_store   *st;
    struct bkt_domain  *dom;
};

static inline void put_object(struct world *w, const char *key, const void *p, size_t n)
{
    struct bkt_req q = {.op = BKT_PUT, .key = key, .put = p, .put_len = n};
    if (bkt_store_perform(w->st, &q, 1, NULL) < 0)
        abort();
    bkt_req_fini(&q);
}

static inline void del(struct world *w, const char *key)
{
    struct bkt_req q = {.op = BKT_DELETE, .key = key};
    (void)bkt_store_perform(w->st, &q, 1, NULL);
    bkt_req_fini(&q);
}

static inline char *text(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static inline char *text(const char *fmt, ...)
{
    char   *s = NULL;
    va_list ap;
    va_start(ap, fmt);
    if (vasprintf(&s, fmt, ap) < 0)
        abort();
    va_end(ap);
    return s;
}

static inline void put_text(struct world *w, const char *key, char *s) /* frees s */
{
    put_object(w, key, s, strlen(s));
    free(s);
}

/** Domain d.h5 with an empty root group. */
static inline void world_fill(struct world *w)
{
    put_text(w, "d.h5/.domain.json",
             text("{\"root\":\"" WORLD_ROOT "\",\"owner\":\"me\",\"acls\":{},\"created\":1,\"lastModified\":1}"));
    put_text(w, WORLD_DB "/.group.json",
             text("{\"id\":\"" WORLD_ROOT "\",\"root\":\"" WORLD_ROOT "\",\"created\":1,\"lastModified\":1,"
                  "\"links\":{},\"attributes\":{}}"));
}

/** "mem:NAME/d.h5" with an empty root group, opened with settings @p info. */
static inline void world_open(struct world *w, const char *name, const char *info)
{
    struct bkt_err err  = {0};
    char          *uri  = text("mem:%s", name), *path = text("mem:%s/d.h5", name);
    memset(w, 0, sizeof *w);
    int rc = bkt_settings_init(&w->set, info, &err);
    if (rc == BKT_OK)
        rc = bkt_store_open(uri, &w->set, &w->st, &err);
    if (rc == BKT_OK) {
        world_fill(w);
        rc = bkt_domain_open(path, &w->set, &w->dom, &err);
    }
    if (rc < 0) {
        fprintf(stderr, "world %s: %s\n", name, story(&err));
        abort();
    }
    free(uri);
    free(path);
}

static inline void world_close(struct world *w)
{
    bkt_domain_close(w->dom);
    bkt_store_close(w->st);
    bkt_settings_fini(&w->set);
}

static inline struct bkt_id world_id(unsigned n)
{
    struct bkt_id id = {{0}};
    snprintf(id.text, sizeof id.text, "d-00000001-00000002-%04x-%06x-%06x", n >> 16, n & 0xffff, 0xabcdef);
    return id;
}

static inline char *dims_text(const uint64_t *v, unsigned rank)
{
    char *s = text("[");
    for (unsigned d = 0; d < rank; d++) {
        char *t = text("%s%s%llu", s, d ? "," : "", (unsigned long long)v[d]);
        free(s);
        s = t;
    }
    char *t = text("%s]", s);
    free(s);
    return t;
}

/** Write a dataset's JSON. @p layout, @p cpl: JSON texts (cpl without braces). */
static inline void put_dataset(struct world *w, unsigned n, const char *type, unsigned rank, const uint64_t *dims,
                               const char *layout, const char *cpl)
{
    struct bkt_id id = world_id(n);
    char *key = text(WORLD_DB "/d/%s/.dataset.json", id.text + 20), *ds = dims_text(dims, rank);
    char *shape = rank ? text("{\"class\":\"H5S_SIMPLE\",\"dims\":%s,\"maxdims\":%s}", ds, ds) : text("{\"class\":\"H5S_SCALAR\"}");
    put_text(w, key, text("{\"id\":\"%s\",\"root\":\"" WORLD_ROOT "\",\"created\":1,\"lastModified\":1,\"attributes\":{},"
                          "\"type\":%s,\"shape\":%s,\"layout\":%s,\"creationProperties\":{%s}}", id.text, type, shape, layout, cpl));
    free(key);
    free(ds);
    free(shape);
}

/* All elements of a dataset. */
static inline struct bkt_sel all_of(unsigned rank, const uint64_t *dims)
{
    struct bkt_sel s = {.kind = BKT_SEL_ALL, .rank = rank, .n_elems = 1};
    for (unsigned d = 0; d < rank; d++) {
        s.dims[d] = dims[d];
        s.n_elems *= dims[d];
    }
    return s;
}

static inline struct bkt_dsetio *open_io(struct world *w, unsigned n)
{
    const struct bkt_object *o;
    struct bkt_dsetio       *io  = NULL;
    struct bkt_id            id  = world_id(n);
    struct bkt_err           err = {0};
    int                      rc  = bkt_domain_get(w->dom, &id, &o, &err);
    if (rc == BKT_OK) {
        rc = bkt_dsetio_open(w->dom, o, NULL, &io, &err);
        bkt_object_release(o);
    }
    if (rc < 0) {
        fprintf(stderr, "dataset %u: %s\n", n, story(&err));
        abort();
    }
    return io;
}

static inline uint64_t gets(void)
{
    struct bkt_stats s;
    bkt_stats_get(&s);
    return s.get;
}

/* ---- an array of int32 stored in some way ---- */

enum way { OBJECTS, OBJECTS_ZLIB, CONTIGUOUS, CHUNKS, CHUNKS_ZLIB, TABLE, TABLE_ZLIB, TABLE_URI, N_WAYS };
struct array {
    unsigned  n;     /* dataset number; its table has n+1 */
    enum way  way;
    unsigned  rank;
    uint64_t  dims[8], cdims[8], grid[8], n_chunks, n_elems, chunk_elems;
    int32_t  *v;     /* the model */
    unsigned char *stored; /* per chunk */
};

static inline unsigned char *deflate_of(const void *p, size_t n, size_t *out_n)
{
    uLongf         len = compressBound(n);
    unsigned char *z   = need(len);
    if (compress2(z, &len, p, n, 1) != Z_OK)
        abort();
    *out_n = len;
    return z;
}

/* Chunk c's elements, edges padded with junk that must never be seen. */
static inline int32_t *chunk_of(const struct array *a, uint64_t c)
{
    int32_t *p = need(a->chunk_elems * sizeof *p);
    uint64_t org[8], rest = c;
    for (unsigned d = a->rank; d-- > 0; rest /= a->grid[d])
        org[d] = rest % a->grid[d] * a->cdims[d];
    for (uint64_t i = 0; i < a->chunk_elems; i++) {
        uint64_t at = 0, step = 1, r = i;
        bool     in = true;
        for (unsigned d = a->rank; d-- > 0; r /= a->cdims[d]) {
            uint64_t x = org[d] + r % a->cdims[d];
            in         = in && x < a->dims[d];
            at += x * step;
            step *= a->dims[d];
        }
        p[i] = in ? a->v[at] : 0x55555555;
    }
    return p;
}

static inline char *coord_text(const struct array *a, uint64_t c)
{
    uint64_t co[8];
    char    *s = text("%s", "");
    for (unsigned d = a->rank; d-- > 0; c /= a->grid[d])
        co[d] = c % a->grid[d];
    for (unsigned d = 0; d < a->rank; d++) {
        char *t = text("%s%s%llu", s, d ? "_" : "", (unsigned long long)co[d]);
        free(s);
        s = t;
    }
    return s;
}

static inline char *chunk_key(unsigned n, const char *coord)
{
    struct bkt_id id = world_id(n);
    return text(WORLD_DB "/d/%s/%s", id.text + 20, coord);
}

static inline void put_objects(struct world *w, const struct array *a)
{
    for (uint64_t c = 0; c < a->n_chunks; c++) {
        int32_t       *p = chunk_of(a, c);
        char          *at = coord_text(a, c), *key = chunk_key(a->n, at);
        size_t         n  = a->chunk_elems * 4;
        unsigned char *z  = a->way == OBJECTS_ZLIB ? deflate_of(p, n, &n) : NULL;
        if (a->stored[c])
            put_object(w, key, z ? z : (void *)p, n);
        free(z);
        free(p);
        free(at);
        free(key);
    }
}

struct place {
    uint64_t off, size;
};

/* The file that references point into: chunks in random order of growth, with gaps. */
static inline struct place *put_file(struct world *w, const struct array *a, const char *key, uint32_t *seed)
{
    struct bkt_buf f  = {0};
    struct place  *pl = need((size_t)a->n_chunks * sizeof *pl);
    for (uint64_t c = 0; c < a->n_chunks; c++) {
        int32_t       *p = chunk_of(a, c);
        size_t         n = a->chunk_elems * 4;
        unsigned char *z = a->way == CHUNKS_ZLIB || a->way == TABLE_ZLIB ? deflate_of(p, n, &n) : NULL;
        char           gap[300];
        memset(gap, 0x66, sizeof gap);
        pl[c] = (struct place){0, 0};
        if (a->stored[c]) {
            if (bkt_buf_add(&f, gap, (size_t)below(seed, 3) * 100) < 0)
                abort();
            pl[c] = (struct place){f.len, n};
            if (bkt_buf_add(&f, z ? z : (void *)p, n) < 0)
                abort();
        }
        free(z);
        free(p);
    }
    put_object(w, key, f.len ? f.ptr : (void *)"x", f.len ? f.len : 1);
    bkt_buf_fini(&f);
    return pl;
}

static inline void put_table(struct world *w, const struct array *a, const struct place *pl, const char *uri)
{
    struct bkt_buf b = {0};
    uint64_t       n = 0;
    for (uint64_t c = 0; c < a->n_chunks; c++) {
        unsigned char row[16];
        bkt_put_le(row, 8, pl[c].off);
        bkt_put_le(row + 8, 4, pl[c].size);
        n = strlen(uri);
        bkt_put_le(row + 12, 4, pl[c].size ? n : 0);
        if (bkt_buf_add(&b, row, a->way == TABLE_URI ? 16 : 12) < 0 ||
            (a->way == TABLE_URI && pl[c].size && bkt_buf_add(&b, uri, n) < 0))
            abort();
    }
    char *dims = dims_text(a->grid, a->rank), *layout = text("{\"class\":\"H5D_CHUNKED\",\"dims\":%s}", dims);
    char *type = text("{\"class\":\"H5T_COMPOUND\",\"fields\":[{\"name\":\"o\",\"type\":\"H5T_STD_I64LE\"},"
                      "{\"name\":\"s\",\"type\":\"H5T_STD_I32LE\"}%s]}",
                      a->way != TABLE_URI ? "" :
                      ",{\"name\":\"u\",\"type\":{\"class\":\"H5T_STRING\",\"charSet\":\"H5T_CSET_ASCII\",\"length\":\"H5T_VARIABLE\","
                      "\"strPad\":\"H5T_STR_NULLTERM\"}}");
    char *zero = text("%s", "0"), *key;
    for (unsigned d = 1; d < a->rank; d++) {
        char *t = text("%s_0", zero);
        free(zero);
        zero = t;
    }
    key = chunk_key(a->n + 1, zero);
    put_dataset(w, a->n + 1, type, a->rank, a->grid, layout, "");
    put_object(w, key, b.ptr, b.len);
    bkt_buf_fini(&b);
    free(dims), free(layout), free(type), free(zero), free(key);
}

static inline void array_free(struct array *a)
{
    free(a->v);
    free(a->stored);
}

/** Store a->dims, a->cdims in a->way; a chunk in `miss` isn't stored (0: all are). */
static inline void array_put(struct world *w, struct array *a, const char *bucket, unsigned miss, uint32_t *seed)
{
    static const char *const zlib = "\"filters\":[{\"class\":\"H5Z_FILTER_DEFLATE\",\"id\":1,\"name\":\"gzip\",\"level\":1}]";
    a->n_elems = a->chunk_elems = a->n_chunks = 1;
    if (a->way == CONTIGUOUS)
        memcpy(a->cdims, a->dims, sizeof a->dims);
    for (unsigned d = 0; d < a->rank; d++) {
        a->n_elems *= a->dims[d];
        a->chunk_elems *= a->cdims[d];
        a->grid[d] = bkt_ceil_div(a->dims[d], a->cdims[d]);
        a->n_chunks *= a->grid[d];
    }
    a->v      = need((size_t)a->n_elems * 4);
    a->stored = need((size_t)a->n_chunks);
    for (uint64_t i = 0; i < a->n_elems; i++)
        a->v[i] = (int32_t)(i * 7 + a->n * 1000003);
    for (uint64_t c = 0; c < a->n_chunks; c++)
        a->stored[c] = !miss || below(seed, miss) != 0;
    char *dims = dims_text(a->dims, a->rank), *cdims = dims_text(a->cdims, a->rank);
    char *file = text("files/f%u.h5", a->n), *uri = text("%s/%s", bucket, file), *ref = NULL;
    struct place *pl = a->way >= CONTIGUOUS ? put_file(w, a, file, seed) : NULL;
    bool          z  = a->way == OBJECTS_ZLIB || a->way == CHUNKS_ZLIB || a->way == TABLE_ZLIB;
    switch (a->way) {
    case CONTIGUOUS:
        ref = text("\"layout\":{\"class\":\"H5D_CONTIGUOUS_REF\",\"file_uri\":\"%s\",\"offset\":%llu,\"size\":%llu},", uri,
                   (unsigned long long)pl[0].off, (unsigned long long)pl[0].size);
        break;
    case CHUNKS:
    case CHUNKS_ZLIB: {
        char *list = text("%s", "");
        for (uint64_t c = 0; c < a->n_chunks; c++) {
            char *at = coord_text(a, c);
            char *t  = a->stored[c] ? text("%s%s\"%s\":[%llu,%llu]", list, *list ? "," : "", at, (unsigned long long)pl[c].off,
                                           (unsigned long long)pl[c].size) : text("%s", list);
            free(at);
            free(list);
            list = t;
        }
        ref = text("\"layout\":{\"class\":\"H5D_CHUNKED_REF\",\"file_uri\":\"%s\",\"dims\":%s,\"chunks\":{%s}},", uri, cdims, list);
        free(list);
        break;
    }
    case TABLE:
    case TABLE_ZLIB:
    case TABLE_URI: {
        struct bkt_id table = world_id(a->n + 1);
        char         *named = a->way == TABLE_URI ? text("%s", "") : text("\"file_uri\":\"%s\",", uri);
        put_table(w, a, pl, uri);
        ref = text("\"layout\":{\"class\":\"H5D_CHUNKED_REF_INDIRECT\",%s\"dims\":%s,\"chunk_table\":\"%s\"},", named, cdims, table.text);
        free(named);
        break;
    }
    default: ref = text("%s", "");
    }
    char *layout = text("{\"class\":\"H5D_CHUNKED\",\"dims\":%s}", cdims);
    char *cpl    = text("%s%s%s\"fillValue\":%d", ref, z ? zlib : "", z ? "," : "", WORLD_FILL);
    put_dataset(w, a->n, I32, a->rank, a->dims, layout, cpl);
    if (a->way < CONTIGUOUS)
        put_objects(w, a);
    /* the model of elements that aren't stored */
    for (uint64_t i = 0; i < a->n_elems; i++) {
        uint64_t c = 0, step = 1, rest = i;
        for (unsigned d = a->rank; d-- > 0; rest /= a->dims[d]) {
            c += rest % a->dims[d] / a->cdims[d] * step;
            step *= a->grid[d];
        }
        if (!a->stored[c])
            a->v[i] = WORLD_FILL;
    }
    free(dims), free(cdims), free(file), free(uri), free(ref), free(layout), free(cpl), free(pl);
}

#endif
