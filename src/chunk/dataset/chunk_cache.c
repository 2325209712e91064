#include "chunk/dataset/chunk_cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/thread.h"
#include "base/os/fork.h"
#include "base/map.h"
#include "base/os/scratch_pool.h"

#define ENTRY_COST sizeof(struct bkt_cache_entry)

/* Bytes: longer entries take scratch memory, whose pages are used again after an eviction.  That saves page
 * faults. */
#define POOL_MIN (256u << 10)

/* Unused names are dropped when there are twice as many names as after the last time, and at least NAMES_MIN.
 * That bounds the memory of a program that opens one dataset after the other. */
#define NAMES_MIN 1024u

struct bkt_cache_name {
    uint64_t space;
    size_t   holders;
};

/* A treap: ordered by (space, pos), a heap by random prio, so its depth does not depend on what is read. */
struct bkt_cache {
    pthread_mutex_t    lock; /* guards all but limit */
    struct bkt_forkguard guard;
    uint64_t           limit, used;
    struct bkt_cache_entry *root;
    struct bkt_cache_entry  lru;  /* ring; lru.next: most recently used */
    struct bkt_map    *names; /* to struct bkt_cache_name */
    size_t             look_at; /* number of names at which unused ones are dropped */
    uint64_t           n_spaces;
    uint32_t           seed;
    struct bkt_ahead_note ahead; /* not guarded by the lock */
    void              *layer; /* NULL: there is no layer, and no `overlay` */
    const struct bkt_overlay *overlay;
};

static struct bkt_cache_entry *centry_make(size_t len, bool pooled)
{
    struct bkt_cache_entry *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    atomic_init(&e->refs, 1);
    e->len    = len;
    e->pooled = pooled;
    if (len && !(e->data = pooled ? bkt_scratch_take(len) : malloc(len))) {
        free(e);
        return NULL;
    }
    return e;
}

struct bkt_cache_entry *bkt_cache_entry_new(size_t len) { return centry_make(len, len >= POOL_MIN); }
struct bkt_cache_entry *bkt_cache_entry_scratch(size_t len) { return centry_make(len, true); }

struct bkt_cache_entry *bkt_cache_entry_indexed(size_t n)
{
    struct bkt_cache_entry *e = n < SIZE_MAX / sizeof *e->starts ? bkt_cache_entry_new(0) : NULL;
    if (!e || !(e->starts = malloc((n + 1) * sizeof *e->starts))) {
        bkt_cache_entry_release(e);
        return NULL;
    }
    e->n_starts = n;
    return e;
}

struct bkt_cache_entry *bkt_cache_entry_retain(struct bkt_cache_entry *e)
{
    (void)atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
    return e;
}

void bkt_cache_entry_release(struct bkt_cache_entry *e)
{
    if (!e || atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (e->pooled)
        bkt_scratch_give(e->data);
    else
        free(e->data);
    free(e->starts);
    free(e);
}

static uint64_t cost_of(const struct bkt_cache_entry *e)
{
    return ENTRY_COST + e->len + (e->starts ? (e->n_starts + 1) * sizeof *e->starts : 0);
}

/* ---- the tree ---- */

static bool before(uint64_t s1, uint64_t p1, uint64_t s2, uint64_t p2)
{
    return s1 != s2 ? s1 < s2 : p1 < p2;
}

static void split(struct bkt_cache_entry *t, uint64_t space, uint64_t pos, struct bkt_cache_entry **lo,
                  struct bkt_cache_entry **hi)
{
    while (t) {
        if (before(t->space, t->pos, space, pos)) {
            *lo = t;
            lo  = &t->kid[1];
            t   = *lo;
        } else {
            *hi = t;
            hi  = &t->kid[0];
            t   = *hi;
        }
    }
    *lo = *hi = NULL;
}

static void join(struct bkt_cache_entry **to, struct bkt_cache_entry *lo, struct bkt_cache_entry *hi)
{
    while (lo && hi) {
        if (lo->prio > hi->prio) {
            *to = lo;
            to  = &lo->kid[1];
            lo  = *to;
        } else {
            *to = hi;
            to  = &hi->kid[0];
            hi  = *to;
        }
    }
    *to = lo ? lo : hi;
}

static void tree_add(struct bkt_cache *c, struct bkt_cache_entry *e)
{
    struct bkt_cache_entry **at = &c->root;
    while (*at && (*at)->prio >= e->prio)
        at = &(*at)->kid[before((*at)->space, (*at)->pos, e->space, e->pos)];
    split(*at, e->space, e->pos, &e->kid[0], &e->kid[1]);
    *at = e;
}

static void tree_del(struct bkt_cache *c, const struct bkt_cache_entry *e)
{
    struct bkt_cache_entry **at = &c->root;
    while (*at != e)
        at = &(*at)->kid[before((*at)->space, (*at)->pos, e->space, e->pos)];
    join(at, e->kid[0], e->kid[1]);
}

/* The last entry of the space at or before pos. */
static struct bkt_cache_entry *tree_floor(const struct bkt_cache *c, uint64_t space, uint64_t pos)
{
    struct bkt_cache_entry *best = NULL;
    for (struct bkt_cache_entry *t = c->root; t;) {
        if (before(space, pos, t->space, t->pos)) {
            t = t->kid[0];
        } else {
            best = t;
            t    = t->kid[1];
        }
    }
    return best && best->space == space ? best : NULL;
}

/* ---- the ring ---- */

static void ring_del(struct bkt_cache_entry *e)
{
    e->prev->next = e->next;
    e->next->prev = e->prev;
}

static void ring_add(struct bkt_cache *c, struct bkt_cache_entry *e)
{
    e->prev          = &c->lru;
    e->next          = c->lru.next;
    e->next->prev    = e;
    c->lru.next      = e;
}

static void touch(struct bkt_cache *c, struct bkt_cache_entry *e)
{
    ring_del(e);
    ring_add(c, e);
}

static void drop(struct bkt_cache *c, struct bkt_cache_entry *e)
{
    tree_del(c, e);
    ring_del(e);
    c->used -= cost_of(e);
    bkt_cache_entry_release(e);
}

/* ---- a cache ---- */

static void *cache_make(struct bkt_domain *dom)
{
    struct bkt_cache *c = calloc(1, sizeof *c);
    if (!c || !(c->names = bkt_map_new())) {
        free(c);
        return NULL;
    }
    (void)pthread_mutex_init(&c->lock, NULL);
    bkt_forkguard_add(&c->guard, &c->lock, NULL);
    c->look_at  = NAMES_MIN;
    c->limit    = bkt_domain_settings(dom)->chunk_cache;
    c->lru.next = c->lru.prev = &c->lru;
    c->seed                   = 2463534242u;
    atomic_flag_clear(&c->ahead.busy);
    return c;
}

static void cache_free(void *p)
{
    struct bkt_cache *c = p;
    if (c->layer)
        c->overlay->release(c->layer);
    bkt_forkguard_remove(&c->guard);
    bkt_cache_forget_all(c);
    bkt_map_free(c->names, free);
    (void)pthread_mutex_destroy(&c->lock);
    free(c);
}

struct bkt_cache *bkt_cache_of(struct bkt_domain *dom)
{
    return bkt_domain_attach(dom, cache_make, cache_free);
}
struct bkt_ahead_note *bkt_cache_ahead(struct bkt_cache *c) { return &c->ahead; }
uint64_t          bkt_cache_limit(const struct bkt_cache *c) { return c->limit; }

void bkt_cache_forget_all(struct bkt_cache *c)
{
    BKT_HOLD(&c->lock);
    while (c->lru.next != &c->lru)
        drop(c, c->lru.next);
}

/* ---- names ---- */

static bool needed(const struct bkt_cache *c, const struct bkt_cache_name *name)
{
    return name->holders || tree_floor(c, name->space, UINT64_MAX);
}

/* Drops unused names. */
static void look_through(struct bkt_cache *c)
{
    for (struct bkt_map_at at = {0}; bkt_map_walk(c->names, &at);)
        if (!needed(c, at.value))
            free(bkt_map_del(c->names, at.key, at.n));
    c->look_at = 2 * bkt_map_count(c->names);
    c->look_at = c->look_at < NAMES_MIN ? NAMES_MIN : c->look_at;
}

static struct bkt_cache_name *name_of(struct bkt_cache *c, const void *name, size_t n)
{
    struct bkt_cache_name *known = bkt_map_get(c->names, name, n);
    if (known)
        return known;
    if (bkt_map_count(c->names) >= c->look_at)
        look_through(c);
    if (!(known = calloc(1, sizeof *known)))
        return NULL;
    known->space = c->n_spaces + 1;
    if (bkt_map_put(c->names, name, n, known, NULL) < 0) {
        free(known);
        return NULL;
    }
    c->n_spaces++;
    return known;
}

uint64_t bkt_cache_space(struct bkt_cache *c, const void *name, size_t n, struct bkt_cache_name **hold)
{
    BKT_HOLD(&c->lock);
    struct bkt_cache_name *known = name_of(c, name, n), *before = *hold;
    uint64_t          space = known ? known->space : 0;
    if (known)
        known->holders++;
    if (before)
        before->holders--;
    *hold = known;
    return space;
}

void bkt_cache_release(struct bkt_cache *c, struct bkt_cache_name **hold)
{
    if (!*hold)
        return;
    BKT_HOLD(&c->lock);
    (*hold)->holders--;
    *hold = NULL;
}

size_t bkt_cache_n_names(struct bkt_cache *c)
{
    BKT_HOLD(&c->lock);
    return bkt_map_count(c->names);
}

const struct bkt_overlay *bkt_cache_overlay(struct bkt_cache *c)
{
    if (!c)
        return NULL;
    BKT_HOLD(&c->lock);
    return c->overlay;
}

void *bkt_cache_layer(struct bkt_cache *c, const struct bkt_overlay *made, struct bkt_domain *dom)
{
    (void)pthread_mutex_lock(&c->lock);
    void *layer = c->layer;
    (void)pthread_mutex_unlock(&c->lock);
    if (layer || !made || !(layer = made->make(dom)))
        return layer;
    (void)pthread_mutex_lock(&c->lock);
    void *mine = layer;
    if (c->layer) /* another thread was quicker */
        layer = c->layer;
    else
        c->layer = layer, c->overlay = made;
    (void)pthread_mutex_unlock(&c->lock);
    if (layer != mine)
        made->release(mine);
    return layer;
}

static uint32_t next_prio(struct bkt_cache *c) /* xorshift32 */
{
    c->seed ^= c->seed << 13;
    c->seed ^= c->seed >> 17;
    c->seed ^= c->seed << 5;
    return c->seed;
}

void bkt_cache_put(struct bkt_cache *c, uint64_t space, uint64_t pos, struct bkt_cache_entry *e)
{
    uint64_t cost = cost_of(e);
    if (!space || cost > c->limit)
        return;
    BKT_HOLD(&c->lock);
    struct bkt_cache_entry *old = tree_floor(c, space, pos);
    if (old && old->pos == pos && (old->len >= e->len || old == e) && !old->missing) {
        touch(c, old); /* another thread was quicker, or has more bytes */
    } else if (!e->kept) {
        if (old && old->pos == pos)
            drop(c, old);
        while (c->used + cost > c->limit && c->lru.prev != &c->lru)
            drop(c, c->lru.prev);
        e->space = space, e->pos = pos, e->prio = next_prio(c), e->kept = true;
        tree_add(c, bkt_cache_entry_retain(e));
        ring_add(c, e);
        c->used += cost;
    }
}

struct bkt_cache_entry *bkt_cache_get(struct bkt_cache *c, uint64_t space, uint64_t pos)
{
    if (!space)
        return NULL;
    BKT_HOLD(&c->lock);
    struct bkt_cache_entry *e = tree_floor(c, space, pos);
    if (e && e->pos == pos) {
        touch(c, e);
        (void)bkt_cache_entry_retain(e);
    } else {
        e = NULL;
    }
    return e;
}

uint64_t bkt_cache_before(struct bkt_cache *c, uint64_t space, uint64_t pos)
{
    uint64_t n = 0;
    if (!space || !pos)
        return 0;
    BKT_HOLD(&c->lock);
    const struct bkt_cache_entry *e = tree_floor(c, space, pos - 1);
    if (e && pos - 1 - e->pos < e->len)
        n = e->len;
    return n;
}

/* Whether one or more entries hold bytes pos .. pos+len-1. */
static bool covered(const struct bkt_cache *c, uint64_t space, uint64_t pos, size_t len)
{
    while (len) {
        const struct bkt_cache_entry *e = tree_floor(c, space, pos);
        if (!e || pos - e->pos >= e->len)
            return false;
        size_t n = e->len - (size_t)(pos - e->pos);
        if (n >= len)
            return true;
        pos += n, len -= n;
    }
    return true;
}

static struct bkt_cache_entry *assemble(struct bkt_cache *c, uint64_t space, uint64_t pos, size_t len)
{
    struct bkt_cache_entry *out = bkt_cache_entry_new(len);
    if (!out)
        return NULL;
    for (size_t done = 0; done < len;) {
        struct bkt_cache_entry *e    = tree_floor(c, space, pos + done);
        size_t             from = (size_t)(pos + done - e->pos), n = e->len - from;
        if (n > len - done)
            n = len - done;
        memcpy(out->data + done, e->data + from, n);
        touch(c, e);
        done += n;
    }
    return out;
}

struct bkt_cache_entry *bkt_cache_cover(struct bkt_cache *c, uint64_t space, uint64_t pos, size_t len,
                                        size_t *delta)
{
    struct bkt_cache_entry *out = NULL;
    if (!space || !len)
        return NULL;
    BKT_HOLD(&c->lock);
    struct bkt_cache_entry *e = tree_floor(c, space, pos);
    if (e && pos - e->pos < e->len && e->len - (pos - e->pos) >= len) {
        touch(c, e);
        out    = bkt_cache_entry_retain(e);
        *delta = (size_t)(pos - e->pos);
    } else if (e && covered(c, space, pos, len)) {
        out    = assemble(c, space, pos, len);
        *delta = 0;
    }
    return out;
}

void bkt_cache_forget_range(struct bkt_cache *c, uint64_t space, uint64_t from, uint64_t n)
{
    struct bkt_cache_entry *e;
    if (!space || !n)
        return;
    BKT_HOLD(&c->lock);
    while ((e = tree_floor(c, space, from + n - 1)) && e->pos >= from)
        drop(c, e);
}
