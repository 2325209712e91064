/* If the dataset holds HDF5's bytes in the requested chunk shape, they are stored and given back unchanged.
 * Otherwise (chunks stored together, datasets of HSDS) they are decoded and encoded on the way; the values
 * are the same.  Partial chunks that HDF5 leaves the filters out of are encoded too: in the store, where HSDS
 * reads them, they are filtered like all others. */
#include "chunk/list/raw_chunk.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "chunk/write/plan.h"
#include "chunk/write/write_cache.h"

/* The requested chunk, which may be a part of a stored one, or hold several. */
struct asked {
    struct bkt_sel box, mem; /* in the extent; in the chunk */
    uint64_t       elems;
    size_t         bytes;
    uint64_t       coord[BKT_MAX_RANK]; /* of the stored chunk, if `same` */
    bool           same;                /* it is one stored chunk, which holds the output of HDF5's filters */
    bool skips_filters;                 /* the program's bytes are the elements, without filters */
};

bool bkt_chunk_skips_filters(const struct bkt_dset *ds, const uint64_t *offset)
{
    const struct bkt_layout *l = &ds->layout;
    if (l->cls != BKT_D_CHUNKED || l->user_cls != BKT_D_CHUNKED ||
        !(l->chunk_opts & BKT_CHUNK_UNFILTERED_EDGES) || !ds->n_filters || ds->type->is_var)
        return false;
    for (unsigned d = 0; d < l->user_rank; d++)
        if (ds->space.dims[d] > offset[d] && ds->space.dims[d] - offset[d] < l->user_dims[d])
            return true;
    return false;
}

static int asked_chunk(const struct bkt_dsetio *io, const uint64_t *offset, struct asked *a,
                       struct bkt_err *err)
{
    const struct bkt_layout *l = &io->ds->layout;
    const struct bkt_space  *s = &io->ds->space;
    memset(a, 0, sizeof *a);
    BKT_FAIL_IF(err,
                l->user_cls != BKT_D_CHUNKED || io->where != BKT_AT_OBJECTS || s->cls != BKT_S_SIMPLE ||
                    l->user_rank != io->rank,
                BKT_EINVAL, "dataset %s is not chunked", io->obj->id.text);
    BKT_FAIL_IF(err, io->var, BKT_EUNSUP,
                "dataset %s: whole chunks can't be written for a variable-length type", io->obj->id.text);
    a->box   = (struct bkt_sel){.kind = BKT_SEL_HYPER, .rank = io->rank, .n_elems = 1};
    a->elems = 1;
    a->same  = io->hdf5 || !io->ds->n_filters;
    a->mem   = a->box;
    for (unsigned d = 0; d < io->rank; d++) {
        uint64_t dim = l->user_dims[d], n;
        BKT_FAIL_IF(err, offset[d] % dim || offset[d] >= s->dims[d], BKT_EINVAL,
                    "dataset %s: no chunk begins at %llu in dimension %u", io->obj->id.text,
                    (unsigned long long)offset[d], d);
        n               = bkt_min_u64(dim, s->dims[d] - offset[d]);
        a->same         = a->same && dim == io->cdims[d];
        a->coord[d]     = offset[d] / io->cdims[d];
        a->box.start[d] = offset[d];
        a->box.dims[d]  = s->dims[d];
        a->mem.dims[d]  = dim;
        a->box.stride[d] = a->mem.stride[d] = a->box.count[d] = a->mem.count[d] = 1;
        a->box.block[d] = a->mem.block[d] = n;
        a->box.n_elems *= n;
        BKT_FAIL_IF(err, !bkt_mul_u64(a->elems, dim, &a->elems), BKT_EFORMAT,
                    "dataset %s: chunk of 2^64 elements or more", io->obj->id.text);
    }
    a->mem.n_elems = a->box.n_elems;
    a->skips_filters = bkt_chunk_skips_filters(io->ds, offset);
    uint64_t bytes;
    BKT_FAIL_IF(err, !bkt_mul_u64(a->elems, io->elem_size, &bytes) || bytes > SIZE_MAX / 2, BKT_EFORMAT,
                "dataset %s: chunk of %llu elements", io->obj->id.text, (unsigned long long)a->elems);
    a->bytes = (size_t)bytes;
    return BKT_OK;
}

/* The dataset's filters as HDF5 applies them to a chunk of the requested shape. */
static int asked_pipeline(const struct bkt_dsetio *io, const struct asked *a, struct bkt_pipeline *p,
                          struct bkt_err *err)
{
    BKT_PASS(bkt_pipeline_of(io->ds, a->elems, NULL, p, err));
    bkt_pipeline_follow(p, &io->pipe);
    return BKT_OK;
}

/* ---- write ---- */

static int put_raw(struct bkt_dsetio *io, const struct asked *a, uint32_t mask, const void *p, size_t n,
                   struct bkt_err *err)
{
    struct bkt_write_cache  *d = bkt_write_cache_of(io->dom, true);
    struct bkt_buf     b = {0};
    struct bkt_wchunk *c;
    BKT_FAIL_IF(err, !io->pipe.n && n != io->chunk_bytes, BKT_EINVAL,
                "chunk: %zu bytes given, a chunk without filters has %zu", n, io->chunk_bytes);
    int rc = !d           ? BKT_ENOMEM
             : io->pipe.n ? bkt_chunk_object_wrap(io, p, n, mask, &b, err)
                          : bkt_buf_add(&b, p, n);
    BKT_PASS_MEM(err, rc);
    (void)pthread_mutex_lock(&d->window.lock);
    struct bkt_wset *ws = bkt_wset_of(d, io);
    rc = ws ? bkt_wchunk_reserve(ws, a->coord, &c, err) : BKT_ERR(err, BKT_ENOMEM, "out of memory");
    if (rc == BKT_OK) {
        bkt_wchunk_clear(c);
        bkt_buf_move(&c->raw, &b);
        c->is_raw = true;
        bkt_wchunk_note(c, BKT_OK, NULL);
        bkt_wchunk_settle(c);
        bkt_store_tasks_push(d);
    }
    (void)pthread_mutex_unlock(&d->window.lock);
    bkt_buf_fini(&b);
    return rc;
}

static int put_decoded(struct bkt_dsetio *io, const struct asked *a, uint32_t mask, const void *p, size_t n,
                       struct bkt_err *err)
{
    BKT_CLEANUP(bkt_pipeline_fini) struct bkt_pipeline pipe = {.n = 0};
    BKT_CLEANUP(bkt_freep) unsigned char              *all  = malloc(a->bytes + 1);
    BKT_NEED(err, all);
    BKT_PASS(asked_pipeline(io, a, &pipe, err));
    BKT_PASS(bkt_pipeline_decode(&pipe, mask, p, n, all, a->bytes, err));
    struct bkt_write w = {.io = io, .file = &a->box, .mem = &a->mem, .src = all};
    return bkt_write_datasets(&w, 1, err);
}

/* Store a partial chunk that skips the filters.  The mask is ignored, as in HDF5. */
static int put_unfiltered(struct bkt_dsetio *io, const struct asked *a, const void *p, size_t n,
                          struct bkt_err *err)
{
    BKT_CLEANUP(bkt_pipeline_fini) struct bkt_pipeline pipe = {.n = 0};
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf           enc  = {0};
    uint32_t mask = 0;
    BKT_FAIL_IF(err, n != a->bytes, BKT_EINVAL,
                "chunk: %zu bytes given, a partial chunk without filters (H5Pset_chunk_opts) has %zu", n,
                a->bytes);
    if (!a->same)
        return put_decoded(io, a, UINT32_MAX, p, n, err);
    BKT_PASS(asked_pipeline(io, a, &pipe, err));
    BKT_PASS(bkt_pipeline_encode(&pipe, p, n, &enc, &mask, err));
    return put_raw(io, a, mask, enc.ptr, enc.len, err);
}

int bkt_raw_chunk_write(struct bkt_dsetio *io, const uint64_t *offset, uint32_t mask, const void *p, size_t n,
                            struct bkt_err *err)
{
    struct asked a;
    BKT_PASS(bkt_write_check(io, err));
    BKT_PASS(asked_chunk(io, offset, &a, err));
    (void)bkt_write_cache_space(io);
    bkt_write_drop_cached(io, a.coord);
    if (a.skips_filters)
        return put_unfiltered(io, &a, p, n, err);
    return a.same ? put_raw(io, &a, mask, p, n, err) : put_decoded(io, &a, mask, p, n, err);
}

/* ---- read ---- */

/* Reads the chunk's elements from the stored chunks. */
static int get_elements(struct bkt_dsetio *io, const struct asked *a, unsigned char *all, struct bkt_err *err)
{
    for (size_t i = 0; io->fill && i < a->elems; i++)
        memcpy(all + i * io->elem_size, io->fill->data, io->elem_size);
    struct bkt_read r  = {.io = io, .file = &a->box, .mem = &a->mem, .dst = all};
    int             rc = bkt_read_datasets(&r, 1, err);
    bkt_read_fini(&r);
    return rc;
}

static int get_encoded(struct bkt_dsetio *io, const struct asked *a, struct bkt_buf *out, uint32_t *mask,
                       struct bkt_err *err)
{
    BKT_CLEANUP(bkt_pipeline_fini) struct bkt_pipeline pipe = {.n = 0};
    BKT_CLEANUP(bkt_freep) unsigned char              *all  = malloc(a->bytes + 1);
    BKT_NEED(err, all);
    BKT_PASS(get_elements(io, a, all, err));
    BKT_PASS(asked_pipeline(io, a, &pipe, err));
    return bkt_pipeline_encode(&pipe, all, a->bytes, out, mask, err);
}

static int get_unfiltered(struct bkt_dsetio *io, const struct asked *a, struct bkt_buf *out, uint32_t *mask,
                          struct bkt_err *err)
{
    BKT_CLEANUP(bkt_pipeline_fini) struct bkt_pipeline pipe = {.n = 0};
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf           raw  = {0};
    uint32_t left_out = 0;
    BKT_PASS_MEM(err, bkt_buf_resize(out, a->bytes));
    *mask = 0;
    if (!a->same)
        return get_elements(io, a, out->ptr, err);
    BKT_PASS(bkt_chunk_read_raw(io, a->coord, &raw, &left_out, err));
    BKT_PASS(asked_pipeline(io, a, &pipe, err));
    return bkt_pipeline_decode(&pipe, left_out, raw.ptr, raw.len, out->ptr, a->bytes, err);
}

int bkt_raw_chunk_read(struct bkt_dsetio *io, const uint64_t *offset, struct bkt_buf *out, uint32_t *mask,
                       struct bkt_err *err)
{
    struct asked a;
    if (io->bad.code)
        return bkt_err_copy(err, io->bad.code, &io->bad);
    BKT_PASS(asked_chunk(io, offset, &a, err));
    if (a.skips_filters)
        return get_unfiltered(io, &a, out, mask, err);
    return a.same ? bkt_chunk_read_raw(io, a.coord, out, mask, err) : get_encoded(io, &a, out, mask, err);
}
