/* Changes of an extent: elements that fall outside are deleted, and read as the fill value if the dataset
 * grows again.
 *
 * Growing costs nothing.  Before a shrink the store is asked which chunks there are.  If some lie outside, or
 * are cut in two, the smaller extent is stored first, with a mark (schema/edit/extent.c).  Then the chunks
 * outside are deleted, and the parts of others beyond the border are overwritten with the fill value, at the
 * next flush like any other write.  The mark goes with the flush of the metadata, which follows that of the
 * chunks.  So a writer that is killed in between leaves the old extent with all its data, or the new one.
 * The next writer that lets the dataset grow, in this process or another, first does the remaining work.
 *
 * [R1] If the smaller extent can't be stored, nothing has changed.  Once it is stored, the shrink has
 * happened.  The next flush tries again to delete chunks that could not be deleted, and reports them; so does
 * a call that lets the dataset grow. */
#include <string.h>

#include "base/map.h"
#include "base/num.h"
#include "base/os/thread.h"
#include "chunk/dataset/chunk_list.h"
#include "chunk/write/plan.h"
#include "chunk/write/write_cache.h"
#include "schema/edit/edit.h"

#define TRIES 8 /* marks of other writers that are cleared for one call */

struct resize {
    struct bkt_dsetio *io;
    struct bkt_write_cache  *d;
    struct bkt_wset   *ws;
    uint64_t           old[BKT_MAX_RANK], new[BKT_MAX_RANK]; /* extent where there may be elements; where
                                                                there are to be */
    bool alone;                                              /* no other process writes to the dataset */
    bool               listed;                               /* gone and cut are filled in */
    struct bkt_buf     gone, cut;                            /* stored chunks, rank coordinates each */
};

enum where { INSIDE, CUT, OUTSIDE };

/* Another writer may let the dataset grow in a dimension that isn't shrunk, and stores chunks before the
 * extent.  So elements beyond the extent in such a dimension are left alone. */
static bool is_shrunk(const struct resize *r, unsigned d)
{
    return r->new[d] < r->old[d];
}

static enum where where_is(const struct resize *r, const uint64_t *coord)
{
    enum where w = INSIDE;
    for (unsigned d = 0; d < r->io->rank; d++) {
        if (!is_shrunk(r, d))
            continue;
        uint64_t org = coord[d] * r->io->cdims[d], end = bkt_min_u64(org + r->io->cdims[d], r->old[d]);
        if (org >= r->new[d])
            return OUTSIDE;
        if (end > r->new[d])
            w = CUT;
    }
    return w;
}

static size_t one_coord(const struct resize *r) { return r->io->rank * sizeof(uint64_t); }

static bool is_alone(const struct bkt_dsetio *io)
{
    return bkt_domain_is_new(io->dom) || bkt_edit_new_object(io->dom, &io->obj->id) ||
           strcmp(bkt_domain_settings(io->dom)->writers, "one") == 0;
}

static int begin(struct resize *r, struct bkt_dsetio *io, struct bkt_err *err)
{
    *r = (struct resize){.io = io, .d = bkt_write_cache_of(io->dom, true), .alone = is_alone(io)};
    BKT_NEED(err, r->d);
    (void)pthread_mutex_lock(&r->d->window.lock);
    r->ws = bkt_wset_of(r->d, io);
    (void)pthread_mutex_unlock(&r->d->window.lock);
    BKT_NEED(err, r->ws);
    return BKT_OK;
}

static void end(struct resize *r)
{
    bkt_buf_fini(&r->gone);
    bkt_buf_fini(&r->cut);
}

/* ---- a chunk at the border ---- */

static int fill_run(struct bkt_wchunk *c, uint64_t off, uint64_t n, struct bkt_err *err)
{
    const struct bkt_dsetio *io = c->ws->io;
    if (io->var)
        return bkt_wchunk_fill_var(c, off, n, err);
    bkt_fill_run(io, c->coord, off, n, c->e->data + (size_t)off * io->elem_size);
    return bkt_wchunk_mark(c, off, n, err);
}

/* Whether elements beyond the extent are overwritten.  HDF5 does it in all dimensions: a chunk that the
 * program encoded (H5Dwrite_chunk) may have such elements. */
static bool is_filled(const struct resize *r, unsigned d)
{
    return r->alone || is_shrunk(r, d);
}

/* Row by row of the fastest dimension: all of a row lies outside, or its end.  Elements beyond the largest
 * extent are left alone, since bkt_chunk_reach() doesn't count them. */
static int cut_off(const struct resize *r, struct bkt_wchunk *c, struct bkt_err *err)
{
    const struct bkt_dsetio *io  = c->ws->io;
    unsigned                 m   = io->rank - 1;
    uint64_t row = io->cdims[m], org = c->coord[m] * row;
    uint64_t in = !is_filled(r, m) ? row : r->new[m] > org ? r->new[m] - org : 0;
    const uint64_t          *max = io->ds->space.maxdims;
    uint64_t                 end = bkt_min_u64(row, max[m] - org);
    BKT_PASS(bkt_fill_check(io, c->coord, true, err));
    BKT_PASS(bkt_wchunk_unraw(c, err));
    if (!io->var)
        BKT_PASS(bkt_wchunk_open(c, err));
    for (uint64_t off = 0; off < io->chunk_elems; off += row) {
        uint64_t rest = off / row;
        bool     out  = false, beyond = false;
        for (unsigned d = m; d-- > 0; rest /= io->cdims[d]) {
            uint64_t at = c->coord[d] * io->cdims[d] + rest % io->cdims[d];
            out |= is_filled(r, d) && at >= r->new[d];
            beyond |= at >= max[d];
        }
        uint64_t from = out ? 0 : in;
        if (!beyond && from < end)
            BKT_PASS(fill_run(c, off + from, end - from, err));
    }
    bkt_wchunk_check_whole(c);
    return BKT_OK;
}

static int cut_chunk(const struct resize *r, const uint64_t *coord, struct bkt_err *err)
{
    struct bkt_wchunk *c;
    BKT_PASS(bkt_wchunk_reserve(r->ws, coord, &c, err));
    if (!bkt_wchunk_is_dirty(c) && c->base == BKT_BASE_ABSENT) /* another process of a group has stored it */
        c->base = BKT_BASE_UNKNOWN;
    int rc = cut_off(r, c, err);
    bkt_wchunk_settle(c);
    BKT_FAIL_IF(err, rc < 0, rc, "%s", bkt_chunk_label(r->io, coord).text);
    bkt_store_tasks_push(r->d);
    return BKT_OK;
}

static int cut_all(const struct resize *r, struct bkt_err *err)
{
    int rc = BKT_OK;
    BKT_HOLD(&r->d->window.lock);
    for (size_t at = 0; rc == BKT_OK && at < r->cut.len; at += one_coord(r)) {
        uint64_t coord[BKT_MAX_RANK];
        memcpy(coord, r->cut.ptr + at, one_coord(r));
        rc = cut_chunk(r, coord, err);
    }
    return rc;
}

/* ---- which are stored ---- */

static int add_stored(const uint64_t *coord, uint64_t size, void *arg)
{
    struct resize *r = arg;
    enum where w = where_is(r, coord);
    (void)size;
    return w == INSIDE ? BKT_OK : bkt_buf_add(w == OUTSIDE ? &r->gone : &r->cut, coord, one_coord(r));
}

static bool is_affected(const uint64_t *coord, void *arg)
{
    return where_is(arg, coord) != INSIDE;
}

/* Asks for every chunk that there may be if the keys of a version 1 dataset can't be listed. */
static int find_stored(struct resize *r, struct bkt_err *err)
{
    uint64_t grid[BKT_MAX_RANK];
    for (unsigned d = 0; d < r->io->rank; d++)
        grid[d] = bkt_ceil_div(r->old[d], r->io->cdims[d]);
    if (bkt_id_is_v2(&r->io->obj->id) || bkt_v1_are_many(grid, r->io->rank))
        return bkt_chunk_keys_each(r->io, add_stored, r, err);
    return bkt_chunks_head(r->io, grid, is_affected, add_stored, r, err);
}

/* Waits for chunks under way to the store first, so that none is missed.  Once others can find the dataset,
 * they may have stored chunks of it, too. */
static int list_stored(struct resize *r, struct bkt_err *err)
{
    (void)pthread_mutex_lock(&r->d->window.lock);
    bool stored = !r->alone || !r->ws->is_new || bkt_wset_any_stored(r->ws);
    bkt_wset_wait(r->ws);
    stored |= bkt_wset_any_stored(r->ws);
    (void)pthread_mutex_unlock(&r->d->window.lock);
    if (stored)
        BKT_PASS(find_stored(r, err));
    r->listed = true;
    return BKT_OK;
}

/* ---- clearing up ---- */

/* Drops cached chunks outside, and notes cached chunks at the border.  The lock is held. */
static int clear_kept(struct resize *r, struct bkt_err *err)
{
    struct bkt_map_at at = {.pos = 0};
    bkt_wset_wait(r->ws);
    while (bkt_map_walk(r->ws->chunks, &at)) {
        struct bkt_wchunk *c = at.value;
        enum where         w = where_is(r, c->coord);
        /* perhaps stored by a flush after the list was made */
        bool               stored = c->base != BKT_BASE_ABSENT;
        if (w != INSIDE && (stored || (w == CUT && bkt_wchunk_is_dirty(c))) && add_stored(c->coord, 0, r) < 0)
            BKT_NOMEM(err);
        if (w == OUTSIDE) /* deleting doesn't disturb the walk */
            bkt_wchunk_drop(c);
    }
    return BKT_OK;
}

static int delete_some(const struct resize *r, const unsigned char *coords, size_t n, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_reqs_fini) struct bkt_reqs reqs = {0};
    BKT_PASS_MEM(err, bkt_reqs_init(&reqs, n));
    for (size_t i = 0; i < n; i++) {
        uint64_t coord[BKT_MAX_RANK];
        memcpy(coord, coords + i * one_coord(r), one_coord(r));
        reqs.v[i].op = BKT_DELETE;
        BKT_PASS_MEM(err, bkt_chunk_key(&r->io->obj->id, &r->io->ds->layout, coord, &reqs.keys[i]));
    }
    bkt_reqs_perform(bkt_domain_store(r->io->dom), &reqs);
    for (size_t i = 0; i < n; i++)
        if (reqs.v[i].rc < 0 && reqs.v[i].rc != BKT_ENOENT)
            return bkt_err_copy(err, reqs.v[i].rc, reqs.v[i].err);
    return BKT_OK;
}

static int delete_gone(const struct resize *r, struct bkt_err *err)
{
    for (size_t at = 0, n = r->io->rank ? r->gone.len / one_coord(r) : 0; at < n;
         at += BKT_REQUESTS_AT_ONCE)
        BKT_PASS(delete_some(r, r->gone.ptr + at * one_coord(r), bkt_min_u64(n - at, BKT_REQUESTS_AT_ONCE),
                             err));
    return BKT_OK;
}

static int clear_outside(struct resize *r, struct bkt_err *err)
{
    (void)pthread_mutex_lock(&r->d->window.lock);
    int rc = clear_kept(r, err);
    (void)pthread_mutex_unlock(&r->d->window.lock);
    BKT_PASS(rc);
    BKT_PASS(delete_gone(r, err));
    BKT_PASS(cut_all(r, err));
    return bkt_edit_trimmed(r->io->dom, &r->io->obj->id, err);
}

static void set_extents(struct resize *r, const struct bkt_dset *ds, const uint64_t *dims)
{
    for (unsigned d = 0; d < r->io->rank; d++) {
        r->old[d] = ds->trim ? bkt_max_u64(ds->trim[d], ds->space.dims[d]) : ds->space.dims[d];
        r->new[d] = dims[d];
    }
}

/* Deletes the chunks that the dataset's mark is about. */
static int clear_marked(struct resize *r, const struct bkt_dset *ds, struct bkt_err *err)
{
    set_extents(r, ds, ds->space.dims);
    if (!r->listed)
        BKT_PASS(list_stored(r, err));
    return clear_outside(r, err);
}

/* ---- shrinking ---- */

static bool shrinks(const uint64_t *from, const uint64_t *to, unsigned rank)
{
    for (unsigned d = 0; d < rank; d++)
        if (to[d] < from[d])
            return true;
    return false;
}

static bool needs_fill(const struct resize *r)
{
    for (unsigned d = 0; d < r->io->rank; d++)
        if (is_shrunk(r, d) && r->new[d] % r->io->cdims[d])
            return true;
    return false;
}

/* Sets the smaller extent in memory, and stores it if that matters. */
static int set_smaller(const struct resize *r, bool store_first, struct bkt_err *err)
{
    const struct bkt_id     *id  = &r->io->obj->id;
    const struct bkt_dset   *ds  = r->io->ds;
    struct bkt_domain       *dom = r->io->dom;
    uint64_t                 dims[BKT_MAX_RANK], trim[BKT_MAX_RANK] = {0};
    bool                     marked = ds->trim != NULL;
    memcpy(dims, ds->space.dims, one_coord(r));
    if (marked)
        memcpy(trim, ds->trim, one_coord(r));
    if (store_first) /* together with elements for which the extent may have grown since it was stored */
        BKT_PASS(bkt_chunks_flush_dataset(dom, id, err));
    BKT_PASS(bkt_edit_extent(dom, id, r->new, err));
    int rc = store_first ? bkt_domain_flush_object(dom, id, err) : BKT_OK;
    BKT_FAIL_IF(err, rc < 0 && bkt_edit_extent_undo(dom, id, dims, marked ? trim : NULL, NULL) < 0, rc,
                "dataset %s: out of memory", id->text);
    return rc;
}

static int shrink(struct resize *r, const uint64_t *dims, struct bkt_err *err)
{
    const struct bkt_dset *ds                = r->io->ds;
    uint64_t               any[BKT_MAX_RANK] = {0};
    set_extents(r, ds, dims);
    if (needs_fill(r))
        BKT_PASS(bkt_fill_check(r->io, any, true, err));
    BKT_PASS(list_stored(r, err));
    bool marked = r->gone.len || r->cut.len;
    BKT_PASS(set_smaller(r, marked, err));
    r->ws->marked |= marked;
    bool cleared = clear_marked(r, ds, NULL) == BKT_OK;
    BKT_HOLD(&r->d->window.lock);
    for (unsigned d = 0; cleared && d < r->io->rank; d++)
        r->ws->known[d] = bkt_min_u64(r->ws->known[d], r->new[d]);
    r->ws->untrimmed = !cleared; /* [R1] */
    r->d->any_untrimmed |= !cleared;
    return BKT_OK;
}

/* Whether an earlier shrink isn't all stored: its chunks, or the end of its mark. */
static bool has_mark(const struct bkt_dsetio *io, const struct bkt_wset *ws)
{
    return io->ds->trim || (ws->marked && bkt_edit_trim_waits(io->dom, &io->obj->id));
}

/* Deletes what an earlier shrink has left, of this process or of a killed one, before it could be seen again.
 * The end of that work is stored at once: other writers that let the dataset grow must not repeat it over
 * elements that are written there next.  If that fails, the next call does it. */
static int clear_mark(struct bkt_dsetio *io, bool *more, struct bkt_err *err)
{
    struct resize r;
    BKT_PASS(begin(&r, io, err));
    *more = has_mark(io, r.ws);
    r.ws->marked |= *more;
    int rc = io->ds->trim ? clear_marked(&r, io->ds, err) : BKT_OK;
    end(&r);
    if (rc < 0 || !*more)
        return rc;
    BKT_PASS(bkt_chunks_flush_dataset(io->dom, &io->obj->id, err));
    BKT_PASS(bkt_domain_flush_object(io->dom, &io->obj->id, err));
    r.ws->marked = false;
    return BKT_OK;
}

/* The version that is stored afterwards may have the mark of another writer's shrink. */
static int clear_before(struct bkt_dsetio *io, struct bkt_err *err)
{
    bool more = true;
    for (unsigned i = 0; more && i < TRIES && (io->ds->trim || bkt_edit_trim_waits(io->dom, &io->obj->id));
         i++)
        BKT_PASS(clear_mark(io, &more, err));
    return BKT_OK;
}

void bkt_chunks_follow_extent(uint64_t *dims, const uint64_t *before, const uint64_t *now, unsigned rank)
{
    for (unsigned d = 0; d < rank; d++)
        if (dims[d] >= before[d])
            dims[d] = dims[d] == before[d] ? now[d] : bkt_max_u64(dims[d], now[d]);
}

/* Stores an earlier shrink if the dataset is to grow from @p dims. */
static int clear_to_grow(struct bkt_dsetio *io, uint64_t *dims, struct bkt_err *err)
{
    uint64_t before[BKT_MAX_RANK];
    const uint64_t *now = io->ds->space.dims;
    memcpy(before, now, io->rank * sizeof *now);
    if (!shrinks(dims, before, io->rank))
        return BKT_OK;
    BKT_PASS(clear_before(io, err));
    bkt_chunks_follow_extent(dims, before, now, io->rank);
    return BKT_OK;
}

int bkt_chunks_resize(struct bkt_dsetio *io, const uint64_t *to, struct bkt_err *err)
{
    const struct bkt_space *s = &io->ds->space;
    struct resize           r = {.io = io};
    uint64_t dims[BKT_MAX_RANK];
    if (io->where != BKT_AT_OBJECTS || s->cls != BKT_S_SIMPLE)
        return bkt_edit_extent(io->dom, &io->obj->id, to, err);
    memcpy(dims, to, io->rank * sizeof *to);
    int rc = clear_to_grow(io, dims, err);
    BKT_FAIL_IF(err, rc < 0 || (rc = begin(&r, io, err)) < 0, rc, "dataset %s keeps its extent",
                io->obj->id.text);
    bool smaller = shrinks(s->dims, dims, io->rank);
    (void)pthread_mutex_lock(&r.d->window.lock);
    for (unsigned d = 0; d < io->rank; d++)
        r.ws->known[d] = bkt_min_u64(r.ws->known[d], s->dims[d]);
    (void)pthread_mutex_unlock(&r.d->window.lock);
    rc = smaller ? shrink(&r, dims, err) : bkt_edit_extent(io->dom, &io->obj->id, dims, err);
    (void)pthread_mutex_lock(&r.d->window.lock);
    bkt_wset_respace(r.ws); /* places in the grid have changed */
    (void)pthread_mutex_unlock(&r.d->window.lock);
    end(&r);
    BKT_FAIL_IF(err, rc < 0, rc, "dataset %s keeps its extent", io->obj->id.text);
    return BKT_OK;
}

/* ---- at a flush ---- */

static struct bkt_wset *next_untrimmed(struct bkt_write_cache *d)
{
    struct bkt_map_at at = {.pos = 0};
    struct bkt_wset *found = NULL;
    BKT_HOLD(&d->window.lock);
    while (!found && bkt_map_walk(d->sets, &at))
        found = ((struct bkt_wset *)at.value)->untrimmed ? at.value : NULL;
    if (found)
        found->untrimmed = false; /* reported once: the mark stays, and the next writer that lets the dataset
                                     grow tries again */
    else
        d->any_untrimmed = false;
    return found;
}

static int clear_one(struct bkt_write_cache *d, struct bkt_wset *ws, struct bkt_err *err)
{
    const struct bkt_object *o = NULL;
    struct resize            r = {.io = ws->io, .d = d, .ws = ws};
    BKT_PASS(bkt_domain_get(d->dom, &ws->id, &o, err));
    int rc = o->dset.trim ? clear_marked(&r, &o->dset, err) : BKT_OK;
    end(&r);
    bkt_object_release(o);
    BKT_FAIL_IF(err, rc < 0, rc, "dataset %s: the elements outside the smaller extent stay in the store",
                ws->id.text);
    return BKT_OK;
}

int bkt_chunks_trim(struct bkt_domain *dom, struct bkt_err *err)
{
    struct bkt_write_cache *d = bkt_write_cache_of(dom, false);
    struct bkt_wset *ws;
    struct bkt_err why = {.n = 0};
    int rc = BKT_OK;
    while (d && d->any_untrimmed && (ws = next_untrimmed(d)))
        bkt_err_keep_first(&rc, err, clear_one(d, ws, &why), &why);
    return rc;
}
