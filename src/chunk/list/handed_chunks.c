#include "chunk/list/handed_chunks.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "chunk/dataset/chunk_object.h"
#include "chunk/dataset/dataset.h"
#include "chunk/select/grid.h"
#include "chunk/write/write_cache.h"

size_t bkt_chunk_handed_bytes(const struct bkt_dsetio *io)
{
    return io->var || io->bad.code || io->where == BKT_AT_NONE || !io->cache || !io->ds->space.rank
               ? 0
               : io->chunk_bytes;
}

/* Processes that need different parts of a plain chunk fetch only these parts. */
bool bkt_chunk_is_worth_it(const struct bkt_dsetio *io, uint64_t elems)
{
    return (io->where == BKT_AT_OBJECTS ? !bkt_chunk_object_is_plain(io) : io->filtered) ||
           elems > io->chunk_elems;
}

static bool has(struct bkt_dsetio *io, uint64_t chunk)
{
    struct bkt_cache_entry *e = bkt_cache_get(io->cache, io->space, chunk);
    bkt_cache_entry_release(e);
    return e != NULL;
}

int bkt_chunks_needed(struct bkt_dsetio *io, const struct bkt_sel *file, size_t most, struct bkt_buf *out,
                      struct bkt_err *err)
{
    struct bkt_grid g;
    uint64_t coord[BKT_MAX_RANK];
    int rc = BKT_OK;
    if (!bkt_chunk_handed_bytes(io) || file->kind == BKT_SEL_NONE || !file->n_elems)
        return BKT_OK;
    (void)bkt_write_cache_space(io);
    bkt_grid_none(&g);
    BKT_PASS(bkt_grid_init(&g, file, io->cdims, err));
    for (uint64_t k = 0; rc == BKT_OK && k < g.n_chunks && most; k++) {
        bkt_grid_coord(&g, k, coord);
        struct bkt_needed n = {.chunk = bkt_grid_linear(&g, coord), .elems = bkt_grid_n_elems(&g, k)};
        if (has(io, n.chunk))
            continue;
        rc = bkt_buf_add(out, &n, sizeof n);
        most--;
    }
    bkt_grid_fini(&g);
    return rc < 0 ? BKT_ERR(err, rc, "out of memory") : BKT_OK;
}

/* ---- chunk <-> its part inside the dataset ---- */

static struct bkt_sel inside(const struct bkt_dsetio *io, uint64_t chunk)
{
    uint64_t coord[BKT_MAX_RANK] = {0};
    struct bkt_sel s = {.kind = BKT_SEL_HYPER, .rank = io->rank, .n_elems = 1};
    (void)bkt_chunk_coord(io, chunk, coord); /* the number is from bkt_chunks_needed() */
    for (unsigned d = 0; d < io->rank; d++) {
        s.dims[d] = io->ds->space.dims[d];
        s.start[d] = coord[d] * io->cdims[d];
        s.stride[d] = s.count[d] = 1;
        s.block[d] = bkt_min_u64(io->cdims[d], s.dims[d] - s.start[d]);
        s.n_elems *= s.block[d];
    }
    return s;
}

/* The same elements in the chunk itself, as a selection of memory. */
static struct bkt_sel in_chunk(const struct bkt_dsetio *io, const struct bkt_sel *s)
{
    struct bkt_sel m = *s;
    for (unsigned d = 0; d < io->rank; d++) {
        m.dims[d] = io->cdims[d];
        m.start[d] = 0;
    }
    return m;
}

int bkt_chunks_fetch(struct bkt_dsetio *io, const uint64_t *chunks, size_t n, struct bkt_buf *out,
                     struct bkt_err *err)
{
    size_t bytes = bkt_chunk_handed_bytes(io), all;
    BKT_CLEANUP(bkt_freep) struct bkt_sel *sels = calloc(2 * n + 1, sizeof *sels);
    BKT_CLEANUP(bkt_freep) struct bkt_read *reads = calloc(n + 1, sizeof *reads);
    if (!sels || !reads || !bkt_mul_size(n, bytes, &all) || bkt_buf_resize(out, all) < 0)
        BKT_NOMEM(err);
    if (all)
        memset(out->ptr, 0, all);
    for (size_t i = 0; i < n; i++) {
        sels[2 * i] = inside(io, chunks[i]);
        sels[2 * i + 1] = in_chunk(io, &sels[2 * i]);
        reads[i] = (struct bkt_read){
            .io = io, .file = &sels[2 * i], .mem = &sels[2 * i + 1], .dst = out->ptr + i * bytes};
    }
    return n ? bkt_read_datasets(reads, n, err) : BKT_OK;
}

void bkt_chunk_take(struct bkt_dsetio *io, uint64_t chunk, const unsigned char *bytes)
{
    struct bkt_cache_entry *e = io->space ? bkt_cache_entry_new(io->chunk_bytes) : NULL;
    if (!e)
        return;
    memcpy(e->data, bytes, io->chunk_bytes);
    bkt_cache_put(io->cache, io->space, chunk, e);
    bkt_cache_entry_release(e);
}
