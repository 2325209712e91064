#include "chunk/write/write_cache.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/map.h"
#include "base/num.h"
#include "base/os/thread.h"
#include "base/trace.h"
#include "chunk/filter/bits.h"
#include "schema/edit/edit.h"

/* Bits: one for each hash of a stored chunk, 64 KiB.  With fewer bits, more chunks that were never stored
 * would cost a GET. */
#define STORED_BITS (1u << 19)
/* Hashes in a list (8 KiB) before the bits are used.  Most datasets have fewer chunks, and the bits of many
 * datasets would take much memory. */
#define FEW_MAX     2048
#define OWN_SPACE (UINT64_C(1) << 63) /* the cache's own numbers are small */

/* ---- a domain's ---- */

/* No more chunks of a deleted dataset are stored. */
static void on_remove(struct bkt_domain *dom, const struct bkt_id *id)
{
    if (bkt_id_kind(id) == BKT_DATASET)
        bkt_chunks_forget(dom, id);
}

static void *cache_new(struct bkt_domain *dom)
{
    static const struct bkt_edit_hooks hooks = {on_remove, bkt_chunks_adopt, bkt_chunks_name_theirs};
    struct bkt_write_cache *x = calloc(1, sizeof *x);
    if (!x || !(x->sets = bkt_map_new())) {
        free(x);
        return NULL;
    }
    bkt_window_init(&x->window, bkt_settings_in_flight(bkt_domain_settings(dom)));
    bkt_forkguard_add(&x->guard, &x->window.lock, &x->window.wake);
    x->dom = dom;
    x->limit = bkt_settings_write_cache(bkt_domain_settings(dom));
    x->pid = getpid();
    bkt_edit_hook(dom, &hooks);
    return x;
}

static void chunk_free(struct bkt_wchunk *c);

void bkt_wset_free(void *set)
{
    struct bkt_wset *ws = set;
    struct bkt_map_at at = {.pos = 0};
    while (bkt_map_walk(ws->chunks, &at))
        chunk_free(at.value);
    bkt_map_free(ws->chunks, NULL);
    bkt_dsetio_close(ws->io);
    free(ws->few);
    free(ws->stored);
    free(ws);
}

/* The domain closes: the program has flushed if it wanted its data stored, and nothing is under way. */
static void cache_free(void *p)
{
    struct bkt_write_cache *d = p;
    bkt_forkguard_remove(&d->guard);
    if (d->pid == getpid())
        bkt_window_enter(&d->window, 0);
    if (d->n_dirty)
        bkt_trace(BKT_TRACE_CHUNK, "%llu bytes of chunks were not stored", (unsigned long long)d->n_dirty);
    bkt_map_free(d->sets, bkt_wset_free);
    bkt_map_free(d->refs, NULL);
    bkt_window_fini(&d->window);
    free(d);
}

/* Chunks that are dirty at fork() are stored by the parent.  The child leaves their memory alone, since
 * threads that are gone may have been working on it. */
static void forget_parent(struct bkt_write_cache *d)
{
    BKT_HOLD(&d->window.lock);
    struct bkt_map *sets = d->pid == getpid() ? NULL : bkt_map_new();
    if (sets) {
        d->sets  = sets;
        memset(d->list, 0, sizeof d->list);
        d->used = d->n_dirty = 0;
        d->window.in_flight = 0;
        d->window.n = 0;
        d->window.mine = (struct bkt_jobs){NULL, NULL};
        d->is_freeing = false;
        d->pid     = getpid();
    }
}

static const struct bkt_overlay overlay = {cache_new, cache_free, bkt_write_cache_get,
                                           bkt_write_cache_prepare, bkt_write_cache_space};

struct bkt_write_cache *bkt_write_cache_of(struct bkt_domain *dom, bool make)
{
    if (make) { /* read-ahead would read what was stored before the write */
        bkt_ahead_stop(dom);
        bkt_domain_touched(dom);
    }
    struct bkt_cache *cache = make ? bkt_cache_of(dom) : bkt_domain_attached(dom);
    struct bkt_write_cache *d     = cache ? bkt_cache_layer(cache, make ? &overlay : NULL, dom) : NULL;
    if (d && d->pid != getpid())
        forget_parent(d);
    return d;
}

struct bkt_write_cache *bkt_write_cache_enter(struct bkt_domain *dom)
{
    struct bkt_write_cache *d = bkt_write_cache_of(dom, false);
    if (d)
        (void)pthread_mutex_lock(&d->window.lock);
    return d;
}

/* ---- datasets ---- */

struct bkt_wset *bkt_wset_find(struct bkt_write_cache *d, const struct bkt_id *id)
{
    return bkt_map_get(d->sets, id->text, strlen(id->text));
}

void bkt_wset_respace(struct bkt_wset *ws)
{
    ws->space = OWN_SPACE | ++ws->cache->n_spaces;
    ws->slice_space = OWN_SPACE | ++ws->cache->n_spaces;
}

/* Whether a mark of a shrink may be in the store, which only the set knows. */
static bool has_mark(const struct bkt_wset *ws)
{
    return ws->untrimmed || (ws->marked && bkt_edit_trim_waits(ws->cache->dom, &ws->id));
}

/* Whether the set has no dirty chunk, and isn't in use.  To free it costs requests if the dataset is written
 * to again. */
static bool is_idle(const struct bkt_wset *ws)
{
    struct bkt_map_at at = {.pos = 0};
    if (ws->users || has_mark(ws) || ws->serial + ws->cache->trim_at / 2 > ws->cache->n_asked)
        return false;
    while (bkt_map_walk(ws->chunks, &at)) {
        const struct bkt_wchunk *c = at.value;
        if (c->task || bkt_wchunk_is_dirty(c))
            return false;
    }
    return true;
}

/* Bounds the memory of a program that writes a great many datasets.  Sets that weren't written to for long
 * are freed once all sets may take a quarter of the cache.  They are freed again when a quarter more have
 * come, so the search costs each set a few steps.  Only the set knows which numbers of the readers' cached
 * chunks are outdated, so the readers' cache is emptied. */
static void trim_sets(struct bkt_write_cache *d, uint64_t each)
{
    struct bkt_map_at at = {.pos = 0};
    size_t count = bkt_map_count(d->sets), gone = 0, least = (size_t)(d->limit / 4 / each) + 16;
    d->trim_at = bkt_max_u64(d->trim_at, least);
    if (count < d->trim_at)
        return;
    while (bkt_map_walk(d->sets, &at)) { /* deleting doesn't disturb the walk */
        struct bkt_wset *ws = at.value;
        if (!is_idle(ws))
            continue;
        bkt_edit_extent_waits(d->dom, &ws->id, false); /* a flush won't see that all of it is stored */
        bkt_wset_drop(ws);
        (void)bkt_map_del(d->sets, ws->id.text, strlen(ws->id.text));
        bkt_wset_free(ws);
        gone++;
    }
    if (gone)
        bkt_cache_forget_all(bkt_cache_of(d->dom));
    d->trim_at = bkt_max_u64(least, (count - gone) + (count - gone) / 4);
}

void bkt_wset_follow(struct bkt_wset *ws, const struct bkt_dsetio *io)
{
    struct bkt_pipeline       *to   = &ws->io->pipe;
    const struct bkt_pipeline *from = &io->pipe;
    for (unsigned i = 0; i < to->n && i < from->n; i++)
        if (to->f[i].fn != from->f[i].fn) {
            bkt_wset_wait(ws);
            bkt_filter_set(to, &to->f[i], from->f[i].fn);
        }
}

int bkt_write_cache_note_refs(struct bkt_write_cache *d, const struct bkt_object *o)
{
    if (!o->dset.type || !bkt_type_has_refs(o->dset.type))
        return BKT_OK;
    if (!d->refs && !(d->refs = bkt_map_new()))
        return BKT_ENOMEM;
    return bkt_map_put(d->refs, o->id.text, BKT_ID_LEN, d, NULL);
}

struct bkt_wset *bkt_wset_of(struct bkt_write_cache *d, const struct bkt_dsetio *io)
{
    struct bkt_wset *ws = bkt_wset_find(d, &io->obj->id);
    if (ws) {
        ws->serial = ++d->n_asked;
        bkt_wset_follow(ws, io);
    }
    if (ws || !(ws = calloc(1, sizeof *ws)))
        return ws;
    ws->cache = d;
    ws->id     = io->obj->id;
    ws->chunks = bkt_map_new();
    ws->serial = ++d->n_asked;
    ws->cost   = sizeof *ws + sizeof *io + sizeof *io->obj + 1024;
    trim_sets(d, ws->cost);
    bkt_wset_respace(ws);
    for (unsigned i = 0; i < io->rank; i++)
        ws->known[i] = UINT64_MAX;
    if (!ws->chunks || bkt_write_cache_note_refs(d, io->obj) < 0 || bkt_dsetio_share(io, &ws->io, NULL) < 0 ||
        bkt_map_put(d->sets, ws->id.text, strlen(ws->id.text), ws, NULL) < 0) {
        bkt_map_free(ws->chunks, NULL);
        bkt_dsetio_close(ws->io);
        free(ws);
        return NULL;
    }
    return ws;
}

bool bkt_write_cache_space(struct bkt_dsetio *io)
{
    const struct bkt_space *s = &io->ds->space;
    bkt_dsetio_follow(io);
    BKT_CLEANUP(bkt_write_cache_leave) struct bkt_write_cache *d = bkt_write_cache_enter(io->dom);
    struct bkt_wset *ws = d ? bkt_wset_find(d, &io->obj->id) : NULL;
    if (!ws)
        return false;
    if (memcmp(ws->space_dims, s->dims, s->rank * sizeof *s->dims) != 0) { /* another writer let it grow */
        memcpy(ws->space_dims, s->dims, s->rank * sizeof *s->dims);
        bkt_wset_respace(ws);
    }
    io->space = ws->space, io->slice_space = ws->slice_space;
    return true;
}

/* ---- lists ---- */

static void list_del(struct bkt_wlist *l, struct bkt_wchunk *c)
{
    *(c->prev ? &c->prev->next : &l->head) = c->next;
    *(c->next ? &c->next->prev : &l->tail) = c->prev;
    c->prev = c->next = NULL;
}

static void list_add(struct bkt_wlist *l, struct bkt_wchunk *c)
{
    c->prev                                = l->tail;
    c->next                                = NULL;
    *(l->tail ? &l->tail->next : &l->head) = c;
    l->tail                                = c;
}

static uint64_t cost_of(const struct bkt_wchunk *c)
{
    const struct bkt_dsetio *io   = c->ws->io;
    /* with the share of the map and of the set */
    uint64_t                 cost = sizeof *c + 256 + c->raw.len;
    cost += c->ws->cost / (bkt_map_count(c->ws->chunks) + 1);
    if (c->e)
        cost += c->e->len + (c->e->starts ? (c->e->n_starts + 1) * sizeof *c->e->starts : 0);
    if (c->mask)
        cost += io->chunk_elems / 8;
    if (c->task)
        cost += bkt_store_task_bytes(c->task);
    if (c->over)
        cost += c->over->bytes.cap + io->chunk_elems * sizeof *c->over->el;
    return cost;
}

bool bkt_wchunk_is_dirty(const struct bkt_wchunk *c) { return c->n_dirty || c->whole || c->is_raw; }

static void unlist(struct bkt_wchunk *c)
{
    struct bkt_write_cache *d = c->ws->cache;
    list_del(&d->list[c->list], c);
    d->used -= c->cost;
    if (c->list != BKT_LIST_IDLE)
        d->n_dirty -= c->cost;
}

void bkt_wchunk_settle(struct bkt_wchunk *c)
{
    struct bkt_write_cache *d = c->ws->cache;
    unlist(c);
    c->cost = cost_of(c);
    c->list = c->task || !bkt_wchunk_is_dirty(c) ? BKT_LIST_IDLE
              : c->whole || c->is_raw            ? BKT_LIST_FULL
                                                 : BKT_LIST_PART;
    list_add(&d->list[c->list], c);
    d->used += c->cost;
    if (c->list != BKT_LIST_IDLE)
        d->n_dirty += c->cost;
}

bool bkt_write_cache_make_room(struct bkt_write_cache *d, uint64_t need)
{
    struct bkt_wchunk *next;
    for (struct bkt_wchunk *c = d->list[BKT_LIST_IDLE].head; c && d->used + need > d->limit; c = next) {
        next = c->next;
        if (!c->task)
            bkt_wchunk_drop(c);
        else
            (void)bkt_store_task_shed(c);
    }
    return d->used + need <= d->limit;
}

/* ---- chunks ---- */

struct bkt_wchunk *bkt_wchunk_find(const struct bkt_wset *ws, const uint64_t *coord)
{
    return bkt_map_get(ws->chunks, coord, ws->io->rank * sizeof *coord);
}

static uint32_t hash_of(const struct bkt_wset *ws, const uint64_t *coord)
{
    uint64_t h = 0;
    for (unsigned i = 0; i < ws->io->rank; i++)
        h = (h ^ coord[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(h >> 32) % STORED_BITS;
}

bool bkt_wset_any_stored(const struct bkt_wset *ws) { return ws->n_few || ws->stored; }

/* Whether a chunk of that hash was noted. */
static bool is_noted(const struct bkt_wset *ws, uint32_t hash)
{
    for (size_t i = 0; i < ws->n_few; i++)
        if (ws->few[i] == hash)
            return true;
    return ws->stored && bkt_bits_get(ws->stored, hash);
}

static int note_stored(struct bkt_wset *ws, uint32_t hash)
{
    if (ws->n_few < FEW_MAX && !ws->stored) {
        if (bkt_list_room(&ws->few, ws->n_few, &ws->few_cap, sizeof *ws->few) < 0)
            return BKT_ENOMEM;
        ws->few[ws->n_few++] = hash;
        return BKT_OK;
    }
    if (!ws->stored && !(ws->stored = calloc(STORED_BITS / 64, sizeof *ws->stored)))
        return BKT_ENOMEM;
    for (size_t i = 0; i < ws->n_few; i++)
        (void)bkt_bits_set(ws->stored, ws->few[i], 1);
    free(ws->few);
    ws->few   = NULL;
    ws->n_few = ws->few_cap = 0;
    (void)bkt_bits_set(ws->stored, hash, 1);
    return BKT_OK;
}

void bkt_wset_note_stored(struct bkt_wset *ws, const uint64_t *coord)
{
    uint32_t hash = hash_of(ws, coord);
    if (!is_noted(ws, hash) && note_stored(ws, hash) < 0)
        ws->is_new = false; /* then chunks are looked for by requests */
}

/* Whether the chunk may be stored, as far as is known without a request.  A wrong guess costs only a
 * request. */
static bool may_exist(const struct bkt_wset *ws, const uint64_t *coord)
{
    bool inside = !ws->is_new;
    for (unsigned i = 0; inside && i < ws->io->rank; i++)
        inside = coord[i] * ws->io->cdims[i] < ws->known[i];
    return inside || is_noted(ws, hash_of(ws, coord));
}

int bkt_wchunk_make(struct bkt_wset *ws, const uint64_t *coord, struct bkt_wchunk **out, struct bkt_err *err)
{
    size_t             n = ws->io->rank * sizeof *coord;
    struct bkt_wchunk *c = calloc(1, sizeof *c + n);
    if (!c || bkt_map_put(ws->chunks, coord, n, c, NULL) < 0) {
        free(c);
        BKT_NOMEM(err);
    }
    memcpy(c->coord, coord, n);
    c->ws   = ws;
    c->base = may_exist(ws, coord) ? BKT_BASE_UNKNOWN : BKT_BASE_ABSENT;
    list_add(&ws->cache->list[BKT_LIST_IDLE], c);
    bkt_wchunk_settle(c);
    *out = c;
    return BKT_OK;
}

void bkt_wvar_free(struct bkt_wvar *o)
{
    if (!o)
        return;
    bkt_buf_fini(&o->bytes);
    free(o->el);
    free(o->fresh);
    free(o);
}

void bkt_wchunk_clear(struct bkt_wchunk *c)
{
    bkt_cache_entry_release(c->e);
    free(c->mask);
    bkt_wvar_free(c->over);
    bkt_buf_fini(&c->raw);
    c->e       = NULL;
    c->mask    = NULL;
    c->over    = NULL;
    c->n_dirty = 0;
    c->whole = c->complete = c->outdated = c->is_raw = false;
}

static void chunk_free(struct bkt_wchunk *c)
{
    bkt_wchunk_clear(c);
    free(c->err);
    free(c);
}

void bkt_wchunk_drop(struct bkt_wchunk *c)
{
    unlist(c);
    (void)bkt_map_del(c->ws->chunks, c->coord, c->ws->io->rank * sizeof *c->coord);
    chunk_free(c);
}

void bkt_wchunk_note(struct bkt_wchunk *c, int rc, const struct bkt_err *err)
{
    free(c->err);
    c->err = rc < 0 ? bkt_err_dup(err) : NULL;
    c->rc  = rc;
}

int bkt_wchunk_open(struct bkt_wchunk *c, struct bkt_err *err)
{
    size_t n = c->ws->io->chunk_bytes;
    if (c->e && atomic_load(&c->e->refs) == 1)
        return BKT_OK;
    struct bkt_cache_entry *e = bkt_cache_entry_scratch(n);
    BKT_NEED(err, e);
    if (c->e)
        memcpy(e->data, c->e->data, n);
    bkt_cache_entry_release(c->e);
    c->e = e;
    return BKT_OK;
}

int bkt_wchunk_mark(struct bkt_wchunk *c, uint64_t off, uint64_t n, struct bkt_err *err)
{
    if (c->whole)
        return BKT_OK;
    if (!c->mask && !(c->mask = calloc((size_t)bkt_ceil_div(c->ws->io->chunk_elems, 64), sizeof *c->mask)))
        BKT_NOMEM(err);
    c->n_dirty += bkt_bits_set(c->mask, off, n);
    return BKT_OK;
}

/* Number of elements of the chunk that lie within an extent @p dims. */
static uint64_t within(const struct bkt_dsetio *io, const uint64_t *dims, const uint64_t *coord)
{
    bool simple = io->ds->space.cls == BKT_S_SIMPLE && io->ds->space.rank;
    uint64_t n = 1;
    for (unsigned i = 0; i < io->rank; i++) {
        uint64_t org = coord[i] * io->cdims[i], end = simple ? dims[i] : 1;
        n *= end <= org ? 0 : bkt_min_u64(end - org, io->cdims[i]);
    }
    return n;
}

uint64_t bkt_chunk_reach(const struct bkt_dsetio *io, const uint64_t *coord)
{
    return within(io, io->ds->space.maxdims, coord);
}

int bkt_wchunk_fill_check(const struct bkt_wchunk *c, struct bkt_err *err)
{
    const struct bkt_dsetio *io    = c->ws->io;
    bool empty = io->ds->init == BKT_INIT_CHUNKLOCATOR &&
                 (c->whole || c->n_dirty >= within(io, io->ds->space.dims, c->coord));
    return bkt_fill_check(io, c->coord, !empty, err);
}

void bkt_wchunk_check_whole(struct bkt_wchunk *c)
{
    if (c->whole || !c->n_dirty || c->n_dirty < bkt_chunk_reach(c->ws->io, c->coord))
        return;
    c->whole = true; /* elements beyond the dataset's largest extent have no value */
    if (!c->complete && c->n_dirty == c->ws->io->chunk_elems)
        c->complete = !c->ws->io->var;
    if (c->complete) {
        free(c->mask);
        c->mask    = NULL;
        c->n_dirty = 0;
    }
}

/* Decoded chunks, and written chunks that are stored. */
void bkt_chunks_forget_stored(struct bkt_domain *dom)
{
    struct bkt_cache *c = bkt_domain_attached(dom);
    bkt_ahead_stop(dom); /* read-ahead would bring dropped entries back */
    bkt_write_cache_drop_clean(dom);
    if (c)
        bkt_cache_forget_all(c);
}
