#include "chunk/list/collective_chunks.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "chunk/dataset/dataset.h"
#include "chunk/select/grid.h"
#include "chunk/write/plan.h"
#include "chunk/write/write_cache.h"

size_t bkt_chunk_handed_bytes(const struct bkt_dsetio *io)
{
    return io->var || io->bad.code || io->where == BKT_AT_NONE || !io->cache || !io->ds->space.rank
               ? 0
               : io->chunk_bytes;
}

/* Processes that need different parts of an unencoded chunk fetch only these parts. */
bool bkt_chunk_is_worth_it(const struct bkt_dsetio *io, uint64_t elems)
{
    return (io->where == BKT_AT_OBJECTS ? !bkt_chunk_object_is_unencoded(io) : io->filtered) ||
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
        struct bkt_chunk_share n = {.chunk = bkt_grid_linear(&g, coord), .elems = bkt_grid_n_elems(&g, k)};
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
    struct bkt_sel s;
    (void)bkt_chunk_coord(io, chunk, coord); /* the number is from bkt_chunks_needed() */
    bkt_chunk_select(io, coord, &s);
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
    BKT_NEED(err, sels && reads && bkt_mul_size(n, bytes, &all) && bkt_buf_resize(out, all) >= 0);
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

struct bkt_collective_plan {
    struct bkt_write_plan plan; /* zeros, if nothing is written */
};

int bkt_collective_plan_new(const struct bkt_write *w, struct bkt_collective_plan **out, struct bkt_err *err)
{
    struct bkt_collective_plan *p = calloc(1, sizeof *p);
    BKT_NEED(err, p);
    int rc = w ? bkt_write_plan_init(&p->plan, w, err) : BKT_OK;
    if (rc < 0)
        bkt_collective_plan_free(p);
    else
        *out = p;
    return rc;
}

void bkt_collective_plan_free(struct bkt_collective_plan *p)
{
    if (p)
        bkt_write_plan_fini(&p->plan);
    free(p);
}

bool bkt_collective_plan_at(const struct bkt_collective_plan *p, uint64_t i, struct bkt_chunk_share *out)
{
    uint64_t coord[BKT_MAX_RANK];
    if (!p->plan.grid.n_elems || i >= p->plan.grid.n_chunks)
        return false;
    bkt_grid_coord(&p->plan.grid, i, coord);
    *out = (struct bkt_chunk_share){.chunk = bkt_grid_linear(&p->plan.grid, coord),
                                    .elems = bkt_grid_n_elems(&p->plan.grid, i)};
    return true;
}

/* ---- messages ---- */

static int add_fixed(const struct bkt_write_plan *p, struct bkt_grid_run run, size_t *hint,
                     struct bkt_buf *out)
{
    size_t at = out->len;
    BKT_PASS(bkt_buf_resize(out, at + (size_t)run.len * p->io->elem_size));
    bkt_write_plan_copy(p, run, hint, out->ptr + at);
    return BKT_OK;
}

static int add_var(const struct bkt_write_plan *p, const struct bkt_grid_run *run, struct bkt_buf *out)
{
    for (uint64_t i = 0; i < run->len; i++) {
        const struct bkt_slice *s = &p->w->slices[run->seq + i];
        BKT_PASS(bkt_buf_add_le(out, 8, s->n));
        BKT_PASS(s->n ? bkt_buf_add(out, s->p, s->n) : BKT_OK);
    }
    return BKT_OK;
}

static int add_message(const struct bkt_write_plan *p, uint64_t number, uint64_t k, struct bkt_buf *out)
{
    struct bkt_grid_iter it;
    struct bkt_grid_run run;
    size_t hint = 0;
    BKT_PASS(bkt_buf_add_le(out, 8, number));
    BKT_PASS(bkt_buf_add_le(out, 8, bkt_grid_n_runs(&p->grid, k)));
    bkt_grid_iter(&it, &p->grid, k, 0, UINT64_MAX);
    while (bkt_grid_next(&it, &run)) {
        BKT_PASS(bkt_buf_add_le(out, 8, run.off));
        BKT_PASS(bkt_buf_add_le(out, 8, run.len));
    }
    bkt_grid_iter(&it, &p->grid, k, 0, UINT64_MAX);
    while (bkt_grid_next(&it, &run))
        BKT_PASS(p->io->var ? add_var(p, &run, out) : add_fixed(p, run, &hint, out));
    return BKT_OK;
}

int bkt_collective_plan_add(const struct bkt_collective_plan *p, uint64_t i, struct bkt_buf *out,
                            struct bkt_err *err)
{
    struct bkt_chunk_share piece;
    BKT_FAIL_IF(err, !bkt_collective_plan_at(p, i, &piece), BKT_EINVAL, "the write has no chunk %llu",
                (unsigned long long)i);
    BKT_PASS_MEM(err, add_message(&p->plan, piece.chunk, i, out));
    return BKT_OK;
}

/* ---- at the owner ---- */

/* The messages of one process, as far as they are not used yet. */
struct source {
    struct bkt_rd rd;
    uint64_t chunk; /* of its next message; UINT64_MAX: none */
};

static void advance(struct source *s)
{
    s->chunk = bkt_rd_left(&s->rd) ? bkt_rd_le(&s->rd, 8) : UINT64_MAX;
}

static int malformed(struct bkt_err *err)
{
    BKT_FAIL(err, BKT_EFORMAT, "message about a chunk: malformed; all processes must run the same version");
}

static int put_fixed(struct bkt_wchunk *c, uint64_t off, uint64_t len, struct bkt_rd *rd, struct bkt_err *err)
{
    size_t es = c->ws->io->elem_size;
    const void *from = bkt_rd_take(rd, (size_t)len * es);
    if (!from)
        return malformed(err);
    memcpy(c->e->data + (size_t)off * es, from, (size_t)len * es);
    return bkt_wchunk_mark(c, off, len, err);
}

static int put_var(struct bkt_wchunk *c, uint64_t off, uint64_t len, struct bkt_rd *rd, struct bkt_err *err)
{
    for (uint64_t i = 0; i < len; i++) {
        uint64_t n = bkt_rd_le(rd, 8);
        if (!rd->ok || n > bkt_rd_left(rd))
            return malformed(err);
        struct bkt_slice s = {bkt_rd_take(rd, (size_t)n), (size_t)n};
        BKT_PASS(bkt_wchunk_put_element(c, off + i, &s, err));
    }
    return BKT_OK;
}

/* The rest of a message, behind the chunk's number. */
static int put_message(struct bkt_wchunk *c, struct bkt_rd *rd, struct bkt_err *err)
{
    const struct bkt_dsetio *io = c->ws->io;
    uint64_t n = bkt_rd_le(rd, 8);
    if (!rd->ok || n > bkt_rd_left(rd) / 16)
        return malformed(err);
    struct bkt_rd runs = bkt_rd_of(bkt_rd_take(rd, (size_t)n * 16), (size_t)n * 16);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t off = bkt_rd_le(&runs, 8), len = bkt_rd_le(&runs, 8);
        if (off > io->chunk_elems || len > io->chunk_elems - off)
            return malformed(err);
        BKT_PASS(io->var ? put_var(c, off, len, rd, err) : put_fixed(c, off, len, rd, err));
    }
    return BKT_OK;
}

/* All messages about one chunk.  The lock is held.  @p io: the caller's, with the present extent */
static int put_chunk(struct bkt_wset *ws, const struct bkt_dsetio *io, uint64_t number, struct source *s,
                     size_t n, struct bkt_err *err)
{
    uint64_t coord[BKT_MAX_RANK];
    struct bkt_wchunk *c;
    if (!bkt_chunk_coord(io, number, coord))
        return malformed(err);
    BKT_PASS(bkt_wchunk_reserve(ws, coord, &c, err));
    BKT_PASS(bkt_wchunk_unraw(c, err));
    int rc = ws->io->var ? BKT_OK : bkt_wchunk_open(c, err);
    for (size_t i = 0; rc == BKT_OK && i < n; i++)
        while (rc == BKT_OK && s[i].chunk == number) {
            rc = put_message(c, &s[i].rd, err);
            advance(&s[i]);
        }
    bkt_wchunk_check_whole(c);
    bkt_wchunk_note(c, BKT_OK, NULL);
    bkt_wchunk_settle(c);
    BKT_FAIL_IF(err, rc < 0, rc, "%s", bkt_chunk_label(ws->io, coord).text);
    bkt_store_tasks_push(ws->cache);
    return BKT_OK;
}

static uint64_t lowest(const struct source *s, size_t n)
{
    uint64_t low = UINT64_MAX;
    for (size_t i = 0; i < n; i++)
        low = bkt_min_u64(low, s[i].chunk);
    return low;
}

int bkt_collective_plan_put(struct bkt_dsetio *io, const struct bkt_slice *msgs, size_t n,
                            struct bkt_err *err)
{
    struct bkt_write_cache *d = bkt_write_cache_of(io->dom, true);
    BKT_CLEANUP(bkt_freep) struct source *s = calloc(n + 1, sizeof *s);
    int rc = BKT_OK;
    BKT_NEED(err, d && s);
    for (size_t i = 0; i < n; i++) {
        s[i].rd = bkt_rd_of(msgs[i].p, msgs[i].n);
        advance(&s[i]);
    }
    (void)pthread_mutex_lock(&d->window.lock);
    struct bkt_wset *ws = bkt_wset_of(d, io);
    if (ws)
        ws->users++;
    while (ws && rc == BKT_OK && lowest(s, n) != UINT64_MAX)
        rc = put_chunk(ws, io, lowest(s, n), s, n, err);
    if (ws)
        ws->users--;
    (void)pthread_mutex_unlock(&d->window.lock);
    return ws ? rc : BKT_ERR(err, BKT_ENOMEM, "out of memory");
}
