/* An extent that changed: what falls outside is gone, and comes back as fill values if the dataset grows again.
 *
 * Growing costs nothing.  After a shrink the store is asked which chunks there are.  Those outside are deleted, and what the
 * border cuts off of others is overwritten with the fill value, at the next flush like any other write.  Both only after the
 * smaller extent is stored, so that nobody finds a dataset whose data are missing. */
#include <stdlib.h>
#include <string.h>

#include "dirty.h"
#include "edit.h"
#include "map.h"
#include "num.h"
#include "write_plan.h"

#define BATCH 256 /* deletions under way at once */

struct resize {
    struct bkt_dsetio *io;
    struct bkt_dirty  *d;
    struct bkt_wset   *ws;
    const uint64_t    *old, *new; /* extents */
    /* stored chunks, rank coordinates each */
    struct bkt_buf     gone, cut;
};

enum where { INSIDE, CUT, OUTSIDE };

static enum where where_is(const struct resize *r, const uint64_t *coord)
{
    enum where w = INSIDE;
    for (unsigned d = 0; d < r->io->rank; d++) {
        uint64_t org = coord[d] * r->io->cdims[d], end = bkt_min_u64(org + r->io->cdims[d], r->old[d]);
        if (org >= r->new[d])
            return OUTSIDE;
        if (end > r->new[d])
            w = CUT;
    }
    return w;
}

/* ---- a chunk at the border ---- */

static int fill_run(struct bkt_dchunk *c, uint64_t off, uint64_t n, struct bkt_err *err)
{
    const struct bkt_dsetio *io = c->ws->io;
    if (io->var)
        return bkt_dchunk_fill_var(c, off, n, err);
    bkt_fill_run(io, c->coord, off, n, c->e->data + (size_t)off * io->elem_size);
    return bkt_dchunk_mark(c, off, n, err);
}

/* Row by row of the fastest dimension: all of a row lies outside, or its end.  What lies beyond the largest extent is let
 * be: who counts what was written (bkt_chunk_reach()) doesn't count that. */
static int cut_off(const struct resize *r, struct bkt_dchunk *c, struct bkt_err *err)
{
    const struct bkt_dsetio *io  = c->ws->io;
    unsigned                 m   = io->rank - 1;
    uint64_t                 row = io->cdims[m], org = c->coord[m] * row, in = r->new[m] > org ? r->new[m] - org : 0;
    const uint64_t          *max = io->ds->space.maxdims;
    uint64_t                 end = bkt_min_u64(row, max[m] - org);
    BKT_PASS(bkt_fill_check(io, c->coord, true, err));
    BKT_PASS(bkt_dchunk_unraw(c, err));
    if (!io->var)
        BKT_PASS(bkt_dchunk_open(c, err));
    for (uint64_t off = 0; off < io->chunk_elems; off += row) {
        uint64_t rest = off / row;
        bool     out  = false, beyond = false;
        for (unsigned d = m; d-- > 0; rest /= io->cdims[d]) {
            uint64_t at = c->coord[d] * io->cdims[d] + rest % io->cdims[d];
            out |= at >= r->new[d];
            beyond |= at >= max[d];
        }
        uint64_t from = out ? 0 : in;
        if (!beyond && from < end)
            BKT_PASS(fill_run(c, off + from, end - from, err));
    }
    bkt_dchunk_check_whole(c);
    return BKT_OK;
}

static int cut_chunk(struct resize *r, const uint64_t *coord, struct bkt_err *err)
{
    struct bkt_dchunk *c;
    BKT_PASS(bkt_dchunk_reserve(r->ws, coord, &c, err));
    int rc = cut_off(r, c, err);
    bkt_dchunk_settle(c);
    if (rc < 0)
        BKT_FAIL(err, rc, "%s", bkt_chunk_label(r->io, coord).text);
    bkt_dirty_push(r->d);
    return BKT_OK;
}

/* ---- what is in the cache; the lock is held ---- */

/* One that is outside; or at the border, not yet seen: those are moved to `cut`. */
static int resize_kept(struct resize *r, struct bkt_err *err)
{
    struct bkt_buf cut = {0};
    size_t         pos = 0, n;
    const void    *key;
    void          *v;
    int            rc = BKT_OK;
    while (rc == BKT_OK && bkt_map_next(r->ws->chunks, &pos, &key, &n, &v)) {
        struct bkt_dchunk *c = v;
        enum where         w = where_is(r, c->coord);
        if (w == OUTSIDE && c->task) {
            bkt_dirty_wait(r->d);
            pos = 0;
        } else if (w == OUTSIDE) {
            bkt_dchunk_drop(c);
            pos = 0;
        } else if (w == CUT && (bkt_dchunk_is_dirty(c) || c->task)) {
            if (bkt_buf_add(&cut, c->coord, r->io->rank * sizeof *c->coord) < 0)
                rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
        }
    }
    for (size_t at = 0; rc == BKT_OK && at < cut.len; at += r->io->rank * sizeof(uint64_t)) {
        uint64_t coord[BKT_MAX_RANK];
        memcpy(coord, cut.ptr + at, r->io->rank * sizeof *coord);
        rc = cut_chunk(r, coord, err);
    }
    bkt_buf_fini(&cut);
    return rc;
}

/* ---- what is stored ---- */

static int on_stored(const uint64_t *coord, const struct bkt_chunk_info *info, void *arg)
{
    struct resize *r = arg;
    enum where     w = where_is(r, coord);
    (void)info;
    return w == INSIDE ? BKT_OK : bkt_buf_add(w == OUTSIDE ? &r->gone : &r->cut, coord, r->io->rank * sizeof *coord);
}

static int delete_batch(const struct resize *r, size_t at, size_t n, struct bkt_err *err)
{
    struct bkt_req reqs[BATCH];
    struct bkt_buf keys[BATCH];
    int            rc = BKT_OK;
    memset(reqs, 0, sizeof reqs);
    memset(keys, 0, sizeof keys);
    for (size_t i = 0; rc == BKT_OK && i < n; i++) {
        uint64_t coord[BKT_MAX_RANK];
        memcpy(coord, r->gone.ptr + (at + i) * r->io->rank * sizeof *coord, r->io->rank * sizeof *coord);
        if (bkt_chunk_key(&r->io->obj->id, &r->io->ds->layout, coord, &keys[i]) < 0)
            rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
        reqs[i] = (struct bkt_req){.op = BKT_DELETE, .key = bkt_buf_str(&keys[i])};
    }
    if (rc == BKT_OK)
        (void)bkt_store_run(bkt_domain_store(r->io->dom), reqs, n, NULL);
    for (size_t i = 0; i < n; i++) {
        if (rc == BKT_OK && reqs[i].rc < 0 && reqs[i].rc != BKT_ENOENT)
            rc = bkt_err_copy(err, reqs[i].rc, reqs[i].err);
        bkt_req_fini(&reqs[i]);
        bkt_buf_fini(&keys[i]);
    }
    return rc;
}

static int resize_stored(struct resize *r, struct bkt_err *err)
{
    uint64_t grid[BKT_MAX_RANK];
    size_t   one = r->io->rank * sizeof(uint64_t);
    for (unsigned d = 0; d < r->io->rank; d++)
        if (!(grid[d] = bkt_ceil_div(r->old[d], r->io->cdims[d])))
            return BKT_OK;
    BKT_PASS(bkt_chunk_list(r->io, grid, on_stored, r, err));
    if (!r->gone.len && !r->cut.len)
        return BKT_OK;
    BKT_PASS(bkt_domain_flush_object(r->io->dom, &r->io->obj->id, err));
    for (size_t at = 0, n = r->gone.len / one; at < n; at += BATCH)
        BKT_PASS(delete_batch(r, at, n - at < BATCH ? n - at : BATCH, err));
    (void)pthread_mutex_lock(&r->d->lock);
    int rc = BKT_OK;
    for (size_t at = 0; rc == BKT_OK && at < r->cut.len; at += one) {
        uint64_t coord[BKT_MAX_RANK];
        memcpy(coord, r->cut.ptr + at, one);
        rc = cut_chunk(r, coord, err);
    }
    (void)pthread_mutex_unlock(&r->d->lock);
    return rc;
}

int bkt_chunks_resize(struct bkt_dsetio *io, const uint64_t *old_dims, struct bkt_err *err)
{
    struct resize r      = {.io = io, .old = old_dims, .new = io->ds->space.dims};
    bool          shrink = false, stored = true;
    int           rc     = BKT_OK;
    if (io->where != BKT_AT_OBJECTS || io->ds->space.cls != BKT_S_SIMPLE)
        return BKT_OK;
    if (!(r.d = bkt_dirty_of(io->dom, true)))
        BKT_NOMEM(err);
    (void)pthread_mutex_lock(&r.d->lock);
    r.ws = bkt_wset_of(r.d, io);
    for (unsigned d = 0; r.ws && d < io->rank; d++) {
        shrink |= r.new[d] < old_dims[d];
        r.ws->known[d] = bkt_min_u64(r.ws->known[d], old_dims[d]);
    }
    if (!r.ws)
        rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
    else if (shrink)
        rc = resize_kept(&r, err);
    if (r.ws) {
        bkt_wset_respace(r.ws); /* places in the grid have changed */
        stored = !r.ws->is_new || r.ws->stored != NULL;
    }
    (void)pthread_mutex_unlock(&r.d->lock);
    if (rc == BKT_OK && shrink && stored)
        rc = resize_stored(&r, err);
    bkt_buf_fini(&r.gone);
    bkt_buf_fini(&r.cut);
    if (rc < 0)
        BKT_FAIL(err, rc, "dataset %s: what a smaller extent leaves out", io->obj->id.text);
    return BKT_OK;
}
