/* A dataset opened for input: the filters of its chunks, its grid, its names in the cache. */
#include "chunk/dataset/dataset.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/map.h"
#include "base/num.h"
#include "schema/json/reference_text.h"

/* HDF5's own pipeline from a dataset's filter list.
 *
 * The list seldom holds the parameters that HDF5 keeps in the file (cd values).  If a decoder needs them,
 * they are computed as the filter's set_local callback does when a dataset is created (H5Zshuffle.c,
 * H5Zszip.c, H5Zscaleoffset.c). */
struct local { /* arguments of set_local */
    const struct bkt_dset        *ds;
    const struct bkt_filter_desc *f;
    uint64_t                      chunk_elems;
    unsigned                      cd[20];
    size_t                        n_cd;
};
typedef void local_fn(struct local *l);

static void local_shuffle(struct local *l)
{
    l->cd[0] = (unsigned)l->ds->type->size;
    l->n_cd  = 1;
}

/* If the parameters are unknown, the type must have no unused bits: only such a type can be expressed, and
 * HDF5 stores it unchanged. */
static void local_nbit(struct local *l)
{
    l->cd[0] = 3;
    l->cd[1] = 1;
    l->cd[2] = (unsigned)l->chunk_elems;
    l->n_cd  = 3;
}

#define SZIP_EC 4u
#define SZIP_NN 32u
#define SZIP_RAW 128u
#define SZIP_LSB 8u
#define SZIP_MSB 16u
#define SZIP_MAX_BLOCKS 128u
#define SZIP_MAX_LINE 4096u

static unsigned szip_line(const struct local *l, unsigned block)
{
    uint64_t line = l->ds->layout.dims[l->ds->layout.rank - 1];
    if (line < block)
        line = bkt_min_u64((uint64_t)block * SZIP_MAX_BLOCKS, l->chunk_elems);
    else if (line > SZIP_MAX_LINE)
        line = bkt_min_u64((uint64_t)block * SZIP_MAX_BLOCKS, line);
    else
        line = bkt_min_u64(line, (uint64_t)block * SZIP_MAX_BLOCKS);
    return (unsigned)line;
}

static void local_szip(struct local *l)
{
    const struct bkt_filter_desc *f = l->f;
    const struct bkt_type        *t = l->ds->type;
    unsigned bits  = f->bits_per_pixel > 0 ? (unsigned)f->bits_per_pixel : (unsigned)t->size * 8;
    unsigned block = f->pixels_per_block > 0 ? (unsigned)f->pixels_per_block : f->n_cd > 1 ? f->cd[1] : 16;
    unsigned mask  = f->coding >= 0 ? (unsigned)f->coding : f->n_cd > 0 ? f->cd[0] : SZIP_NN;
    if (bits > 24) /* set_local: 32 and 64 are coded by bytes */
        bits = bits <= 32 ? 32 : 64;
    if (!(mask & (SZIP_EC | SZIP_NN)))
        mask |= SZIP_NN;
    mask &= ~(SZIP_LSB | SZIP_MSB);
    l->cd[0] = mask | SZIP_RAW | (t->big_endian ? SZIP_MSB : SZIP_LSB);
    l->cd[1] = block;
    l->cd[2] = bits;
    l->cd[3] = f->pixels_per_scanline > 0 ? (unsigned)f->pixels_per_scanline : szip_line(l, block);
    l->n_cd  = 4;
}

static void local_scaleoffset(struct local *l)
{
    const struct bkt_type *t        = l->ds->type;
    bool                   is_float = t->cls == BKT_T_FLOAT;
    int64_t                type = l->f->scale_type, factor = l->f->scale_offset;
    if (type < 0)
        type = l->f->n_cd > 0 ? (int64_t)l->f->cd[0] : is_float ? 0 : 2;
    if (factor < 0)
        factor = l->f->n_cd > 1 ? (int64_t)(int)l->f->cd[1] : 0;
    l->cd[0] = (unsigned)type;
    l->cd[1] = (unsigned)factor;
    l->cd[2] = (unsigned)l->chunk_elems;
    l->cd[3] = is_float ? 1 : 0;
    l->cd[4] = (unsigned)t->size;
    l->cd[5] = t->cls == BKT_T_INTEGER && t->is_signed ? 1 : 0;
    l->cd[6] = t->big_endian ? 1 : 0;
    l->cd[7] = 1; /* a dataset without its own fill value has HDF5's default, zeros */
    if (l->ds->has_fill && l->ds->fill.len == t->size && t->size <= 8) {
        uint64_t v = t->big_endian ? bkt_get_be(l->ds->fill.ptr, (unsigned)t->size)
                                   : bkt_get_le(l->ds->fill.ptr, (unsigned)t->size);
        l->cd[8]   = (unsigned)v;
        l->cd[9]   = (unsigned)(v >> 32);
    }
    l->n_cd = 20;
}

static const struct {
    int       id;
    size_t    enough; /* cd values that make the list's own complete */
    local_fn *local;
} locals[] = {
    {BKT_FILTER_SHUFFLE, 1, local_shuffle},
    {BKT_FILTER_NBIT, 5, local_nbit},
    {BKT_FILTER_SZIP, 4, local_szip},
    {BKT_FILTER_SCALEOFFSET, 20, local_scaleoffset},
};

static int add(const struct bkt_dset *ds, const struct bkt_filter_desc *f, uint64_t chunk_elems,
               struct bkt_pipeline *out, struct bkt_err *err)
{
    struct local    l    = {.ds = ds, .f = f, .chunk_elems = chunk_elems};
    const unsigned *cd   = f->cd;
    size_t          n_cd = f->n_cd;
    for (size_t i = 0; i < BKT_COUNT(locals); i++)
        if (locals[i].id == f->id && f->n_cd < locals[i].enough) {
            locals[i].local(&l);
            cd = l.cd, n_cd = l.n_cd;
        }
    return bkt_pipeline_add(out, f->id, f->flags >= 0 ? (unsigned)f->flags : f->optional, cd, n_cd,
                            f->name[0] ? f->name : NULL, err);
}

int bkt_pipeline_of(const struct bkt_dset *ds, uint64_t chunk_elems, bkt_filter_find *find,
                    struct bkt_pipeline *out, struct bkt_err *err)
{
    memset(out, 0, sizeof *out);
    out->elem_size = ds->type->size;
    for (size_t i = 0; i < ds->n_filters; i++) {
        const struct bkt_filter_desc *f = &ds->filters[i];
        BKT_PASS(add(ds, f, chunk_elems, out, err));
        struct bkt_filter *added = &out->f[out->n - 1];
        if (!bkt_filter_builtin(f->id) && find)
            bkt_filter_set(out, added, find(f->id, added->name));
    }
    return BKT_OK;
}

/* ---- the codec that HSDS uses for a native dataset's filter list (hsds_codec.c) ---- */

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

static void hsds_codec_of(const struct bkt_dset *ds, const struct bkt_settings *set, size_t chunk_bytes,
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

struct bkt_chunk_label bkt_dsetio_label(const struct bkt_dsetio *io)
{
    struct bkt_chunk_label l;
    const char            *id = io->obj->id.text;
    if (io->path && *io->path)
        (void)snprintf(l.text, sizeof l.text, "dataset %.120s (%s)", io->path, id);
    else
        (void)snprintf(l.text, sizeof l.text, "dataset %s", id);
    return l;
}

void bkt_dsetio_name(struct bkt_dsetio *io, const char *path)
{
    if (!io->path && path)
        io->path = strdup(path); /* out of memory: messages name the id instead */
}

struct bkt_chunk_label bkt_chunk_label(const struct bkt_dsetio *io, const uint64_t *coord)
{
    struct bkt_chunk_label l = bkt_dsetio_label(io);
    size_t                 n = strlen(l.text);
    n += (size_t)snprintf(l.text + n, sizeof l.text - n, " chunk ");
    for (unsigned d = 0; d < io->rank && n < sizeof l.text; d++)
        n += (size_t)snprintf(l.text + n, sizeof l.text - n, "%s%" PRIu64, d ? "_" : "", coord[d]);
    return l;
}

bool bkt_chunk_coord(const struct bkt_dsetio *io, uint64_t number, uint64_t *coord)
{
    for (unsigned d = io->rank; d-- > 0;) {
        uint64_t n = io->ds->space.rank ? bkt_ceil_div(io->ds->space.dims[d], io->cdims[d]) : 1;
        if (!n)
            return false;
        coord[d] = number % n;
        number /= n;
    }
    return number == 0;
}

/* Sets the grid by which storage is addressed. */
static int set_grid(struct bkt_dsetio *io, struct bkt_err *err)
{
    const struct bkt_space  *s = &io->ds->space;
    const struct bkt_layout *l = &io->ds->layout;
    io->rank                   = s->cls == BKT_S_SIMPLE && s->rank ? s->rank : 1;
    io->chunk_elems            = 1;
    BKT_FAIL_IF(err, io->where != BKT_AT_CONTIGUOUS && l->rank != io->rank, BKT_EFORMAT,
                "layout of rank %u for a dataspace of rank %u", l->rank, io->rank);
    for (unsigned d = 0; d < io->rank; d++) {
        io->cdims[d] = l->dims[d];
        if (io->where == BKT_AT_CONTIGUOUS) /* one piece, however large */
            io->cdims[d] = s->cls == BKT_S_SIMPLE && s->rank ? bkt_max_u64(s->dims[d], 1) : 1;
        BKT_FAIL_IF(err, !io->cdims[d], BKT_EFORMAT, "chunk dimension %u is 0", d);
        BKT_FAIL_IF(err, !bkt_mul_u64(io->chunk_elems, io->cdims[d], &io->chunk_elems), BKT_EFORMAT,
                    "chunk has 2^64 elements or more");
    }
    uint64_t bytes = 0;
    BKT_FAIL_IF(err,
                !io->var && (!bkt_mul_u64(io->chunk_elems, io->elem_size, &bytes) || bytes > SIZE_MAX / 2),
                BKT_EFORMAT, "chunk of %llu elements of %zu bytes: larger than memory can hold",
                (unsigned long long)io->chunk_elems, io->elem_size);
    io->chunk_bytes = (size_t)bytes;
    return BKT_OK;
}

#define ZERO_MAX (256u << 20) /* stored bytes of one element of zeros; only a malicious type needs more */

static int zeros(struct bkt_buf *out, uint64_t n)
{
    if (n > ZERO_MAX - out->len)
        return BKT_EFORMAT;
    size_t at = out->len;
    BKT_PASS(bkt_buf_resize(out, at + (size_t)n));
    if (n)
        memset(out->ptr + at, 0, (size_t)n);
    return BKT_OK;
}

/* One element of zeros in stored form. */
static int zero_element(const struct bkt_type *t, struct bkt_buf *out)
{
    if (out->len > ZERO_MAX)
        return BKT_EFORMAT;
    if (!t->is_var)
        return zeros(out, t->size);
    if (t->cls == BKT_T_COMPOUND) {
        for (size_t i = 0; i < t->n_fields; i++)
            BKT_PASS(zero_element(t->fields[i].type, out));
        return BKT_OK;
    }
    if (t->cls == BKT_T_ARRAY && t->base) {
        for (uint64_t i = 0; i < t->n_elems; i++)
            BKT_PASS(zero_element(t->base, out));
        return BKT_OK;
    }
    return zeros(out, 4); /* a count of 0 bytes */
}

static int set_fill(struct bkt_dsetio *io, struct bkt_err *err)
{
    const struct bkt_dset              *ds    = io->ds;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf e = {0};
    if (!ds->has_fill) {
        BKT_TRY(err, zero_element(ds->type, &e), "an element of zeros");
        if (ds->null_fill)
            (void)bkt_nulls_put(ds->type, e.ptr, e.len, &(struct bkt_nulls){.all = true});
    } else {
        struct bkt_rd r = bkt_rd_of(ds->fill.ptr, ds->fill.len);
        BKT_FAIL_IF(err,
                    io->var ? bkt_value_skip(ds->type, &r, BKT_VAR_NULL, NULL) < 0
                            : ds->fill.len != io->elem_size,
                    BKT_EFORMAT, "dataset %s: fill value of %zu bytes does not fit the type",
                    io->obj->id.text, ds->fill.len);
        BKT_PASS(bkt_buf_add(&e, ds->fill.ptr, io->var ? (size_t)(r.p - ds->fill.ptr) : ds->fill.len));
    }
    struct bkt_cache_entry *c = bkt_cache_entry_new(e.len);
    BKT_NEED(err, c);
    io->zero_fill = true;
    for (size_t i = 0; i < e.len; i++) {
        c->data[i] = e.ptr[i];
        io->zero_fill &= e.ptr[i] == 0;
    }
    io->fill = c;
    return BKT_OK;
}

static const enum bkt_where places[] = {
    [BKT_D_COMPACT]              = BKT_AT_OBJECTS,
    [BKT_D_CONTIGUOUS]           = BKT_AT_OBJECTS,
    [BKT_D_CHUNKED]              = BKT_AT_OBJECTS,
    [BKT_D_CONTIGUOUS_REF]       = BKT_AT_CONTIGUOUS,
    [BKT_D_CHUNKED_REF]          = BKT_AT_CHUNKS,
    [BKT_D_CHUNKED_REF_INDIRECT] = BKT_AT_TABLE,
    [BKT_D_NONE]                 = BKT_AT_NONE,
};

/* If every element of the dataset is unreadable, the reason is kept, and reported by the first read. */
static int set_up(struct bkt_dsetio *io, bkt_filter_find *find, struct bkt_err *err)
{
    if (io->where == BKT_AT_NONE)
        return BKT_OK;
    BKT_FAIL_IF(err, io->ds->bad, BKT_EFORMAT, "%s", io->ds->bad);
    BKT_PASS(set_grid(io, err));
    if (io->where == BKT_AT_OBJECTS) {
        hsds_codec_of(io->ds, io->set, io->chunk_bytes, &io->codec);
        io->hdf5 = io->ds->layout.hdf5_chunks && !io->var;
        if (io->hdf5)
            return bkt_pipeline_of(io->ds, io->chunk_elems, find, &io->pipe, err);
        return BKT_OK;
    }
    BKT_FAIL_IF(err, io->var, BKT_EUNSUP, "references into files can't hold a variable-length type");
    if (io->where == BKT_AT_CONTIGUOUS)
        return BKT_OK;
    io->filtered = io->ds->n_filters > 0;
    return bkt_pipeline_of(io->ds, io->chunk_elems, find, &io->pipe, err);
}

/* The cache name of a dataset's chunks holds everything that their decoding depends on.  So a dataset that
 * has changed since has another name. */
static void set_space(struct bkt_dsetio *io)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name = {0};
    const struct bkt_space                  *s    = &io->ds->space;
    io->cache                                     = bkt_cache_of(io->dom);
    io->space = io->slice_space = 0;
    memcpy(io->space_dims, s->dims, s->rank * sizeof *s->dims);
    if (!io->cache || bkt_buf_addf(&name, "%s %.6f", io->obj->id.text, io->obj->modified) < 0 ||
        bkt_buf_add(&name, s->dims, s->rank * sizeof *s->dims) < 0 ||
        bkt_buf_add(&name, io->cdims, io->rank * sizeof *io->cdims) < 0)
        return;
    io->space = bkt_cache_space(io->cache, name.ptr, name.len, &io->holds[0]);
    if (bkt_buf_add_str(&name, " bytes") == BKT_OK)
        io->slice_space = bkt_cache_space(io->cache, name.ptr, name.len, &io->holds[1]);
}

void bkt_dsetio_follow(struct bkt_dsetio *io)
{
    if (memcmp(io->space_dims, io->ds->space.dims, io->ds->space.rank * sizeof *io->space_dims) != 0)
        set_space(io);
}

int bkt_dsetio_open(struct bkt_domain *dom, const struct bkt_object *obj, bkt_filter_find *find,
                    struct bkt_dsetio **out, struct bkt_err *err)
{
    BKT_FAIL_IF(err, obj->kind != BKT_DATASET, BKT_EINVAL, "%s is not a dataset", obj->id.text);
    struct bkt_dsetio *io = calloc(1, sizeof *io);
    BKT_NEED(err, io);
    (void)pthread_mutex_init(&io->lock, NULL);
    io->dom       = bkt_domain_retain(dom);
    io->obj       = bkt_object_retain(obj);
    io->ds        = &obj->dset;
    io->set       = bkt_domain_settings(dom);
    io->var       = io->ds->type->is_var;
    io->elem_size = io->var ? 0 : io->ds->type->size;
    io->where     = (size_t)io->ds->layout.cls < BKT_COUNT(places) ? places[io->ds->layout.cls] : BKT_AT_NONE;
    if (io->ds->space.cls == BKT_S_NULL)
        io->where = BKT_AT_NONE;
    int rc = set_up(io, find, &io->bad);
    if (rc < 0 && rc != BKT_ENOMEM)
        (void)BKT_ERR(&io->bad, rc, "dataset %s", io->obj->id.text);
    if (rc != BKT_ENOMEM && set_fill(io, &io->bad_fill) == BKT_ENOMEM)
        rc = BKT_ENOMEM;
    io->files = bkt_map_new();
    if (rc == BKT_ENOMEM || !io->files) {
        bkt_dsetio_close(io);
        BKT_NOMEM(err);
    }
    set_space(io);
    *out = io;
    return BKT_OK;
}

int bkt_dsetio_open_places(struct bkt_domain *dom, const struct bkt_object *obj, bkt_bad_place_fn *bad,
                           void *arg, struct bkt_dsetio **out, struct bkt_err *err)
{
    BKT_PASS(bkt_dsetio_open(dom, obj, NULL, out, err));
    (*out)->places_only = true;
    (*out)->bad_place = bad;
    (*out)->bad_arg = arg;
    return BKT_OK;
}

void bkt_chunk_file_free(void *p)
{
    struct bkt_chunk_file *f = p;
    if (f->cache)
        bkt_cache_release(f->cache, &f->hold);
    if (f->own_store)
        bkt_store_close(f->store);
    free(f->uri);
    free(f->key);
    free(f->etag);
    free(f);
}

static void end_ahead(struct bkt_dsetio *io)
{
    if (io->pattern.forget)
        io->pattern.forget(io);
}

void bkt_dsetio_close(struct bkt_dsetio *io)
{
    if (!io)
        return;
    end_ahead(io);
    if (io->first)
        io->first_free(io);
    bkt_dsetio_close(io->table);
    free(io->found);
    free(io->path);
    bkt_map_free(io->files, bkt_chunk_file_free);
    for (size_t i = 0; io->cache && i < BKT_COUNT(io->holds); i++)
        bkt_cache_release(io->cache, &io->holds[i]);
    bkt_pipeline_fini(&io->pipe);
    bkt_cache_entry_release(io->fill);
    bkt_object_release(io->obj);
    if (!io->shared)
        bkt_domain_close(io->dom);
    (void)pthread_mutex_destroy(&io->lock);
    free(io);
}

void bkt_dsetio_find(struct bkt_dsetio *io, bkt_filter_find *find)
{
    for (unsigned i = 0; i < io->pipe.n; i++) {
        struct bkt_filter *f  = &io->pipe.f[i];
        bkt_filter_fn *fn = f->fn || bkt_filter_builtin(f->id) ? NULL : find(f->id, f->name);
        if (!fn)
            continue;
        end_ahead(io);
        bkt_filter_set(&io->pipe, f, fn);
    }
}

size_t bkt_dsetio_elem_size(const struct bkt_dsetio *io) { return io->elem_size; }
bool   bkt_dsetio_is_var(const struct bkt_dsetio *io) { return io->var; }

int bkt_dsetio_check_extent(const struct bkt_dsetio *io, const struct bkt_sel *sel, struct bkt_err *err)
{
    const struct bkt_space *s = &io->ds->space;
    bool ok = s->cls == BKT_S_SIMPLE ? sel->rank == s->rank : sel->rank == 0;
    for (unsigned d = 0; ok && d < sel->rank; d++)
        ok = sel->dims[d] == s->dims[d];
    BKT_FAIL_IF(err, !ok, BKT_EINVAL, "dataset %s: the selection's extent differs from the dataset's",
                io->obj->id.text);
    return BKT_OK;
}

void bkt_chunk_select(const struct bkt_dsetio *io, const uint64_t *coord, struct bkt_sel *s)
{
    const struct bkt_space *sp = &io->ds->space;
    *s = (struct bkt_sel){.kind = BKT_SEL_ALL, .n_elems = 1};
    if (sp->cls != BKT_S_SIMPLE || !sp->rank)
        return;
    s->kind = BKT_SEL_HYPER;
    s->rank = sp->rank;
    for (unsigned d = 0; d < sp->rank; d++) {
        uint64_t org = coord[d] * io->cdims[d];
        s->dims[d] = sp->dims[d];
        s->start[d] = org;
        s->stride[d] = s->count[d] = 1;
        s->block[d] = org < sp->dims[d] ? bkt_min_u64(io->cdims[d], sp->dims[d] - org) : 0;
        s->stride[d] = bkt_max_u64(s->block[d], 1);
        s->n_elems *= s->block[d];
    }
}

/* The copy of a dataset that belongs to its written chunks.  While chunks are kept, the domain may be closed,
 * and the dataset be deleted. */

int bkt_dset_copy_filters(const struct bkt_dset *from, struct bkt_dset *to)
{
    for (size_t i = 0; i < to->n_filters; i++)
        free(to->filters[i].cd);
    free(to->filters);
    to->n_filters = 0;
    if (!(to->filters = calloc(from->n_filters + 1, sizeof *to->filters)))
        return BKT_ENOMEM;
    for (size_t i = 0; i < from->n_filters; i++) {
        struct bkt_filter_desc *f = &to->filters[i];
        *f                        = from->filters[i];
        f->cd                     = NULL;
        to->n_filters             = i + 1;
        if (f->n_cd && !(f->cd = malloc(f->n_cd * sizeof *f->cd))) {
            f->n_cd = 0;
            return BKT_ENOMEM;
        }
        if (f->n_cd)
            memcpy(f->cd, from->filters[i].cd, f->n_cd * sizeof *f->cd);
    }
    return BKT_OK;
}

/* The members that chunks depend on, without attributes and the like. */
static int copy_object(const struct bkt_object *from, struct bkt_object *to)
{
    const struct bkt_layout *l = &from->dset.layout;
    to->id                     = from->id;
    to->root                   = from->root;
    to->dset.space             = from->dset.space;
    to->dset.init              = from->dset.init;
    to->dset.arange_start      = from->dset.arange_start;
    to->dset.arange_step       = from->dset.arange_step;
    to->dset.layout = (struct bkt_layout){.cls = l->cls,
                                          .rank = l->rank,
                                          .partition_count = l->partition_count,
                                          .hdf5_chunks = l->hdf5_chunks,
                                          .user_cls = l->user_cls,
                                          .user_rank = l->user_rank};
    memcpy(to->dset.layout.dims, l->dims, sizeof l->dims);
    memcpy(to->dset.layout.user_dims, l->user_dims, sizeof l->user_dims);
    BKT_PASS(bkt_type_copy(from->dset.type, &to->dset.type));
    return bkt_dset_copy_filters(&from->dset, &to->dset);
}

static int copy_pipeline(const struct bkt_pipeline *from, struct bkt_pipeline *to, struct bkt_err *err)
{
    for (const struct bkt_filter *f = from->f; f < from->f + from->n; f++)
        BKT_PASS(bkt_pipeline_add(to, f->id, f->flags, f->cd, f->n_cd, f->name, err));
    bkt_pipeline_follow(to, from);
    return BKT_OK;
}

int bkt_dsetio_share(const struct bkt_dsetio *io, struct bkt_dsetio **out, struct bkt_err *err)
{
    struct bkt_dsetio *s = calloc(1, sizeof *s);
    struct bkt_object *o = bkt_object_make(BKT_DATASET);
    if (!s || !o || copy_object(io->obj, o) < 0) {
        bkt_object_free(o);
        free(s);
        BKT_NOMEM(err);
    }
    s->dom = io->dom, s->obj = o, s->ds = &o->dset, s->set = io->set, s->cache = io->cache;
    s->shared = true;
    bkt_dsetio_name(s, io->path);
    s->where = io->where, s->var = io->var, s->hdf5 = io->hdf5, s->codec = io->codec;
    s->elem_size = io->elem_size, s->rank = io->rank, s->chunk_elems = io->chunk_elems,
    s->chunk_bytes = io->chunk_bytes;
    memcpy(s->cdims, io->cdims, sizeof s->cdims);
    s->zero_fill = io->zero_fill;
    if (io->bad.code) /* they are large, and a new dataset's memory isn't touched without need */
        s->bad = io->bad;
    if (io->bad_fill.code)
        s->bad_fill = io->bad_fill;
    s->fill           = io->fill ? bkt_cache_entry_retain(io->fill) : NULL;
    s->pipe.elem_size = io->pipe.elem_size;
    (void)pthread_mutex_init(&s->lock, NULL);
    int rc = copy_pipeline(&io->pipe, &s->pipe, err);
    if (rc < 0) {
        bkt_dsetio_close(s);
        return rc;
    }
    *out = s;
    return BKT_OK;
}
