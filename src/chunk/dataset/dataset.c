#include "chunk/dataset/dataset.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/num.h"
#include "schema/json/reference_text.h"

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
    if (io->where != BKT_AT_CONTIGUOUS && l->rank != io->rank)
        BKT_FAIL(err, BKT_EFORMAT, "layout of rank %u for a dataspace of rank %u", l->rank, io->rank);
    for (unsigned d = 0; d < io->rank; d++) {
        io->cdims[d] = l->dims[d];
        if (io->where == BKT_AT_CONTIGUOUS) /* one piece, however large */
            io->cdims[d] = s->cls == BKT_S_SIMPLE && s->rank ? bkt_max_u64(s->dims[d], 1) : 1;
        if (!io->cdims[d])
            BKT_FAIL(err, BKT_EFORMAT, "chunk dimension %u is 0", d);
        if (!bkt_mul_u64(io->chunk_elems, io->cdims[d], &io->chunk_elems))
            BKT_FAIL(err, BKT_EFORMAT, "chunk has more than 2^64 elements");
    }
    uint64_t bytes = 0;
    if (!io->var && (!bkt_mul_u64(io->chunk_elems, io->elem_size, &bytes) || bytes > SIZE_MAX / 2))
        BKT_FAIL(err, BKT_EFORMAT, "chunk of %llu elements of %zu bytes", (unsigned long long)io->chunk_elems,
                 io->elem_size);
    io->chunk_bytes = (size_t)bytes;
    return BKT_OK;
}

static int set_fill(struct bkt_dsetio *io, struct bkt_err *err)
{
    const struct bkt_dset              *ds    = io->ds;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf e = {0};
    if (!ds->has_fill) {
        BKT_TRY(err, bkt_fill_zero_element(ds->type, &e), "an element of zeros");
        if (ds->null_fill)
            (void)bkt_nulls_put(ds->type, e.ptr, e.len, &(struct bkt_nulls){.all = true});
    } else {
        struct bkt_rd r = bkt_rd_of(ds->fill.ptr, ds->fill.len);
        if (io->var ? bkt_value_skip(ds->type, &r, NULL) < 0 : ds->fill.len != io->elem_size)
            BKT_FAIL(err, BKT_EFORMAT, "dataset %s: fill value of %zu bytes does not fit the type",
                     io->obj->id.text, ds->fill.len);
        BKT_PASS(bkt_buf_add(&e, ds->fill.ptr, io->var ? (size_t)(r.p - ds->fill.ptr) : ds->fill.len));
    }
    struct bkt_cache_entry *c = bkt_cache_entry_new(e.len);
    if (!c)
        BKT_NOMEM(err);
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
static int set_up(struct bkt_dsetio *io, bkt_filter_find *find, void *arg, struct bkt_err *err)
{
    if (io->where == BKT_AT_NONE)
        return BKT_OK;
    if (io->ds->bad)
        BKT_FAIL(err, BKT_EFORMAT, "%s", io->ds->bad);
    BKT_PASS(set_grid(io, err));
    if (io->where == BKT_AT_OBJECTS) {
        bkt_hsds_codec_of(io->ds, io->set, io->chunk_bytes, &io->codec);
        io->hdf5 = io->ds->layout.hdf5_chunks && !io->var;
        if (io->hdf5)
            return bkt_pipeline_of(io->ds, io->chunk_elems, find, arg, &io->pipe, err);
        return BKT_OK;
    }
    if (io->var)
        BKT_FAIL(err, BKT_EUNSUP, "references into files can't hold a variable-length type");
    if (io->where == BKT_AT_CONTIGUOUS)
        return BKT_OK;
    io->filtered = io->ds->n_filters > 0;
    return bkt_pipeline_of(io->ds, io->chunk_elems, find, arg, &io->pipe, err);
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

/* cppcheck-suppress funcArgOrderDifferent ; it takes the parameters of bkt_filter_find for ours */
int bkt_dsetio_open(struct bkt_domain *dom, const struct bkt_object *obj, bkt_filter_find *find, void *arg,
                    struct bkt_dsetio **out, struct bkt_err *err)
{
    if (obj->kind != BKT_DATASET)
        BKT_FAIL(err, BKT_EINVAL, "%s is not a dataset", obj->id.text);
    struct bkt_dsetio *io = calloc(1, sizeof *io);
    if (!io)
        BKT_NOMEM(err);
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
    int rc = set_up(io, find, arg, &io->bad);
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

void bkt_chunk_file_free(void *p)
{
    struct bkt_chunk_file *f = p;
    if (f->cache)
        bkt_cache_let_go(f->cache, &f->hold);
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
    bkt_reference_table_first_free(io);
    bkt_dsetio_close(io->table);
    free(io->found);
    free(io->path);
    bkt_map_free(io->files, bkt_chunk_file_free);
    for (size_t i = 0; io->cache && i < BKT_COUNT(io->holds); i++)
        bkt_cache_let_go(io->cache, &io->holds[i]);
    bkt_pipeline_fini(&io->pipe);
    bkt_cache_entry_release(io->fill);
    bkt_object_release(io->obj);
    if (!io->shared)
        bkt_domain_close(io->dom);
    (void)pthread_mutex_destroy(&io->lock);
    free(io);
}

/* cppcheck-suppress funcArgOrderDifferent ; as above */
void bkt_dsetio_find(struct bkt_dsetio *io, bkt_filter_find *find, void *arg)
{
    for (unsigned i = 0; i < io->pipe.n; i++) {
        struct bkt_filter *f  = &io->pipe.f[i];
        bkt_filter_fn     *fn = f->fn || bkt_filter_builtin(f->id) ? NULL : find(f->id, f->name, arg);
        if (!fn)
            continue;
        end_ahead(io);
        bkt_filter_set(&io->pipe, f, fn);
    }
}

size_t bkt_dsetio_elem_size(const struct bkt_dsetio *io) { return io->elem_size; }
bool   bkt_dsetio_is_var(const struct bkt_dsetio *io) { return io->var; }
