/* The copy of a dataset that belongs to its written chunks: the domain must be free to close, and the dataset
 * to be deleted, while some chunks are kept. */
#include <stdlib.h>
#include <string.h>

#include "chunk/dataset/dataset.h"

static int copy_filters(const struct bkt_dset *from, struct bkt_dset *to)
{
    if (!from->n_filters)
        return BKT_OK;
    if (!(to->filters = calloc(from->n_filters, sizeof *to->filters)))
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
    return copy_filters(&from->dset, &to->dset);
}

static int copy_pipeline(const struct bkt_pipeline *from, struct bkt_pipeline *to, struct bkt_err *err)
{
    for (unsigned i = 0; i < from->n; i++) {
        const struct bkt_filter *f = &from->f[i];
        BKT_PASS(bkt_pipeline_add(to, f->id, f->flags, f->cd, f->n_cd, f->name, err));
        bkt_filter_set(to, &to->f[i], f->fn);
    }
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
