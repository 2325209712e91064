/* Places of chunks that another folder found (HDF5's own index, a chunk locator), and the file that holds
 * them. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/num.h"
#include "chunk/read/references.h"

static int by_index(const void *a, const void *b)
{
    const struct bkt_found_chunk *x = a, *y = b;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Chunks in the grid; UINT64_MAX: more than the type can count. */
static uint64_t grid_total(const struct bkt_dsetio *io)
{
    uint64_t total = 1;
    for (unsigned d = 0; d < io->rank; d++)
        if (!bkt_mul_u64(total, bkt_ceil_div(io->ds->space.dims[d], io->cdims[d]), &total))
            return UINT64_MAX;
    return total;
}

/* Check sorted chunks.  False: @p bad is the number of a chunk that the dataset can't have. */
static bool check(const struct bkt_dsetio *io, const struct bkt_found_chunk *v, size_t n, uint64_t *bad)
{
    uint64_t total = grid_total(io);
    for (size_t i = 0; i < n; i++)
        if (total == UINT64_MAX || v[i].index >= total || (i && v[i].index == v[i - 1].index)) {
            *bad = v[i].index;
            return false;
        }
    return true;
}

/* Takes @p v over. */
static int replace(struct bkt_dsetio *io, struct bkt_found_chunk *v, size_t n, bool partly,
                   struct bkt_err *err)
{
    uint64_t bad;
    if (n)
        qsort(v, n, sizeof *v, by_index);
    if (!check(io, v, n, &bad)) {
        free(v);
        BKT_FAIL(err, BKT_EFORMAT, "dataset %s has no chunk number %llu", io->obj->id.text,
                 (unsigned long long)bad);
    }
    (void)pthread_mutex_lock(&io->lock);
    free(io->found);
    io->found        = v;
    io->n_found      = n;
    io->found_partly = partly;
    (void)pthread_mutex_unlock(&io->lock);
    return BKT_OK;
}

int bkt_dsetio_set_found(struct bkt_dsetio *io, struct bkt_found_chunk *chunks, size_t n, struct bkt_err *err)
{
    return replace(io, chunks, n, false, err);
}

int bkt_dsetio_add_found(struct bkt_dsetio *io, const struct bkt_found_chunk *chunks, size_t n,
                         struct bkt_err *err)
{
    struct bkt_found_chunk *v = reallocarray(NULL, io->n_found + n + 1, sizeof *v);
    if (!v)
        BKT_NOMEM(err);
    if (io->n_found)
        memcpy(v, io->found, io->n_found * sizeof *v);
    if (n)
        memcpy(v + io->n_found, chunks, n * sizeof *v);
    return replace(io, v, io->n_found + n, true, err);
}

static const struct bkt_found_chunk *find(const struct bkt_dsetio *io, const uint64_t *coord)
{
    struct bkt_found_chunk want = {.index = 0};
    for (unsigned d = 0; d < io->rank; d++)
        want.index = want.index * bkt_ceil_div(io->ds->space.dims[d], io->cdims[d]) + coord[d];
    return io->n_found ? bsearch(&want, io->found, io->n_found, sizeof want, by_index) : NULL;
}

int bkt_found_place(const struct bkt_dsetio *io, const uint64_t *coord, struct bkt_reference *out,
                    struct bkt_err *err)
{
    const struct bkt_found_chunk *c = find(io, coord);
    if (!c && io->found_partly)
        BKT_FAIL(err, BKT_EFORMAT, "%s: its place in the file is unknown", bkt_chunk_label(io, coord).text);
    if (c)
        *out = (struct bkt_reference){NULL, c->offset, c->size, c->mask};
    return BKT_OK;
}

static int touch(const struct bkt_dsetio *io, const struct bkt_grid *g, size_t most, struct bkt_touched *out,
                 struct bkt_err *err)
{
    uint64_t coord[BKT_MAX_RANK];
    if (!(out->coords = calloc(most + 1, io->rank * sizeof *out->coords)))
        BKT_NOMEM(err);
    for (uint64_t k = 0; k < g->n_chunks; k++) {
        bkt_grid_coord(g, k, coord);
        const struct bkt_found_chunk *c = find(io, coord);
        bool unknown = !c && io->found_partly;
        out->missing += !unknown && (!c || !c->size);
        out->n_unknown += unknown;
        if (unknown && out->n_coords < most)
            memcpy(out->coords + out->n_coords++ * io->rank, coord, io->rank * sizeof *coord);
    }
    return BKT_OK;
}

int bkt_dsetio_touched(struct bkt_dsetio *io, const struct bkt_sel *file, size_t most,
                       struct bkt_touched *out, struct bkt_err *err)
{
    struct bkt_grid g;
    memset(out, 0, sizeof *out);
    if (io->bad.code)
        return bkt_err_copy(err, io->bad.code, &io->bad);
    if (file->kind == BKT_SEL_NONE || !file->n_elems)
        return BKT_OK;
    bkt_grid_none(&g);
    int rc = bkt_grid_init(&g, file, io->cdims, err);
    out->n = rc == BKT_OK ? g.n_chunks : 0;
    bool all = !io->found_partly && io->n_found == grid_total(io); /* every chunk is known to exist */
    if (rc == BKT_OK && !all)
        rc = touch(io, &g, most, out, err);
    bkt_grid_fini(&g);
    return rc;
}

/* ---- the file ---- */

int bkt_dsetio_set_file(struct bkt_dsetio *io, struct bkt_store *store, const char *key,
                        struct bkt_version *version, struct bkt_err *err)
{
    struct bkt_chunk_file *f = calloc(1, sizeof *f);
    if (!f)
        BKT_NOMEM(err);
    f->store = store;
    f->key   = strdup(key);
    f->uri   = strdup(key);
    f->version = version;
    const char *etag = version ? bkt_version_condition(version) : NULL;
    if (etag)
        f->etag = strdup(etag);
    int rc = f->key && f->uri && (!etag || f->etag) ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory");
    if (rc == BKT_OK && io->cache)
        bkt_reference_file_space(io, f, etag);
    if (rc == BKT_OK && bkt_map_put(io->files, "", 1, f, NULL) < 0)
        rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
    if (rc < 0)
        bkt_chunk_file_free(f);
    else
        io->given = f;
    return rc;
}

void bkt_dsetio_know_first(struct bkt_dsetio *io, size_t n, uint64_t (*read)(void *arg, size_t n, void *to),
                           void *arg)
{
    const struct bkt_chunk_file *f = io->given;
    size_t                       delta;
    if (!f || !f->space || n > io->set->chunk_cache / 8)
        return;
    struct bkt_cache_entry *e = bkt_cache_cover(io->cache, f->space, f->base, 1, &delta);
    if (!e && (e = bkt_cache_entry_new(n)) != NULL) {
        e->len = bkt_min_u64(read(arg, n, e->data), n);
        if (e->len)
            bkt_cache_put(io->cache, f->space, f->base, e);
    }
    bkt_cache_entry_release(e);
}
