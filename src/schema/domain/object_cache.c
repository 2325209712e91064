#include "schema/domain/object_cache.h"

#include <stdlib.h>

#include "base/os/fork.h"
#include "base/os/thread.h"
#include "schema/domain/object_cache_impl.h"
#include "schema/model/object_life.h"

#define MAP_COST      96   /* bytes of a place in the map, beside its key: it grows by doubling */
/* Requests that prefetch has under way at once; the rest is fetched when it is wanted. */
#define MAX_IN_FLIGHT 4096
#define PREFETCH_BATCH 64 /* begun under one lock */
/* held entries that are looked at in one search for room, so that it ends */
#define MAX_HELD      16

/* ---- entries; the lock is held ---- */

static void ring_add(struct bkt_objects *c, struct bkt_cached_object *e)
{
    e->next       = c->lru.next;
    e->prev       = &c->lru;
    e->next->prev = e;
    c->lru.next   = e;
}

static void ring_del(struct bkt_cached_object *e)
{
    if (!e->next)
        return;
    e->next->prev = e->prev;
    e->prev->next = e->next;
    e->next = e->prev = NULL;
}

static void unsettle(struct bkt_objects *c, struct bkt_cached_object *e)
{
    c->used -= e->cost;
    c->unused -= e->unused ? e->cost : 0;
    e->cost = 0;
    ring_del(e);
}

/* Put an entry among those that may be evicted: its loading has ended.  A pinned entry is left out. */
void bkt_entry_settle(struct bkt_objects *c, struct bkt_cached_object *e)
{
    unsettle(c, e);
    if (e->pins)
        return;
    e->cost = bkt_block_bytes(sizeof *e) + bkt_block_bytes(BKT_ID_LEN) + MAP_COST +
              (e->object ? bkt_object_bytes(e->object) : 0) + (e->err ? bkt_block_bytes(sizeof *e->err) : 0);
    c->used += e->cost;
    c->unused += e->unused ? e->cost : 0;
    ring_add(c, e);
}

struct bkt_cached_object *bkt_entry_new(struct bkt_objects *c, const struct bkt_id *id)
{
    struct bkt_cached_object *e = bkt_map_make(&c->entries, id->text, BKT_ID_LEN, sizeof *e);
    if (!e)
        return NULL;
    e->id    = *id;
    e->state = BKT_OBJECT_LOADING;
    c->in_flight++;
    return e;
}

static void entry_free(void *p)
{
    struct bkt_cached_object *e = p;
    if (!e)
        return;
    bkt_object_release(e->object);
    free(e->err);
    free(e);
}

/* Take out and free an entry that no thread waits for. */
static void entry_drop(struct bkt_objects *c, struct bkt_cached_object *e)
{
    c->n_unused -= e->unused;
    unsettle(c, e);
    (void)bkt_map_del(c->entries, e->id.text, BKT_ID_LEN);
    entry_free(e);
}

void bkt_objects_evict(struct bkt_objects *c)
{
    unsigned held = 0;
    for (struct bkt_cached_object *e = c->lru.prev, *prev;
         c->used > c->limit && e != &c->lru && held < MAX_HELD; e = prev) {
        prev = e->prev;
        if (!e->waiters && !(e->object && bkt_object_refs(e->object) > 1)) {
            entry_drop(c, e);
        } else { /* held: looked at again later */
            ring_del(e);
            ring_add(c, e);
            held++;
        }
    }
}

/* ---- asking ---- */

/* The parent's requests never end in a forked child: forget them.  The lock is held. */
static void after_fork(struct bkt_objects *c)
{
    if (c->generation == bkt_fork_generation())
        return;
    c->generation  = bkt_fork_generation();
    c->in_flight   = 0;
    c->follow_busy = false;
    bkt_follow_clear(&c->follow);
    bkt_snap_after_fork(c);
    for (struct bkt_map_at at = {0}; bkt_map_walk(c->entries, &at);) {
        struct bkt_cached_object *e = at.value;
        if (e->state == BKT_OBJECT_LOADING) {
            c->n_unused -= e->unused;
            (void)bkt_map_del(c->entries, e->id.text, BKT_ID_LEN);
        }
    }
}

static void wait_for(struct bkt_objects *c, struct bkt_cached_object *e)
{
    e->waiters++;
    while (e->state == BKT_OBJECT_LOADING)
        bkt_pool_wait(&c->change, &c->lock, NULL);
    e->waiters--;
}

int bkt_objects_get(struct bkt_objects *c, const struct bkt_id *wanted, const struct bkt_object **out,
                    struct bkt_err *err)
{
    struct bkt_id own = *wanted, *id = &own; /* it may lie in an object that is released here */
    (void)pthread_mutex_lock(&c->lock);
    after_fork(c);
    if (c->snap_state == BKT_SNAPSHOT_READY)
        bkt_snap_drop_if_old(c);
    bkt_objects_evict(c); /* objects may have been released since the last call */
    struct bkt_cached_object *e = bkt_map_get(c->entries, id->text, BKT_ID_LEN);
    if (!e) {
        bool valid = bkt_id_valid(id->text); /* as the ids of all entries are */
        e = valid ? bkt_entry_new(c, id) : NULL;
        if (!e) {
            (void)pthread_mutex_unlock(&c->lock);
            BKT_FAIL_IF(err, !valid, BKT_EFORMAT, "\"%.40s\" is not an object id", id->text);
            BKT_NOMEM(err);
        }
        e->waiters++; /* so that it isn't evicted before this thread looks at it */
        (void)bkt_follow_pass(&c->follow, id);
        (void)pthread_mutex_unlock(&c->lock);
        bkt_load_begin(c, &e, 1, true);
        (void)pthread_mutex_lock(&c->lock);
        e->waiters--;
    }
    wait_for(c, e);
    bool more = e->unused && c->follow.head;
    c->n_unused -= e->unused;
    c->unused -= e->unused ? e->cost : 0;
    e->unused = false;
    int rc    = e->rc;
    if (e->state == BKT_OBJECT_READY) {
        *out = bkt_object_retain(e->object);
        if (!e->pins) {
            ring_del(e);
            ring_add(c, e);
        }
    } else {
        if (e->err)
            (void)bkt_err_copy(err, rc, e->err);
        else
            (void)BKT_ERR(err, rc, "object %s: %s", id->text, bkt_err_text(rc));
        if (!e->waiters && !e->pins)
            entry_drop(c, e);
    }
    bkt_objects_evict(c);
    (void)pthread_mutex_unlock(&c->lock);
    if (more)
        bkt_follow_more(c);
    return rc;
}

int bkt_objects_find(struct bkt_objects *c, const struct bkt_id *id, const struct bkt_object **out,
                     struct bkt_err *err)
{
    struct bkt_err why = {.n = 0};
    int rc = bkt_objects_get(c, id, out, &why);
    if (rc < 0)
        *out = NULL;
    return rc < 0 && rc != BKT_ENOENT ? bkt_err_copy(err, rc, &why) : BKT_OK;
}

void bkt_objects_prefetch(struct bkt_objects *c, const struct bkt_id *ids, size_t n)
{
    size_t fresh = 0;
    (void)pthread_mutex_lock(&c->lock);
    for (size_t i = 0; c->snap_state == BKT_SNAPSHOT_NONE && c->snap_hint.objects && i < n; i++)
        fresh += !bkt_map_get(c->entries, ids[i].text, BKT_ID_LEN);
    (void)pthread_mutex_unlock(&c->lock);
    if (fresh)
        bkt_objects_expect(c, fresh);
    while (n) {
        struct bkt_cached_object *batch[PREFETCH_BATCH];
        size_t        n_batch = 0;
        (void)pthread_mutex_lock(&c->lock);
        after_fork(c);
        for (; n && n_batch < PREFETCH_BATCH; ids++, n--) {
            if (!bkt_id_valid(ids->text) || c->in_flight >= MAX_IN_FLIGHT ||
                bkt_map_get(c->entries, ids->text, BKT_ID_LEN))
                continue;
            batch[n_batch] = bkt_entry_new(c, ids);
            n_batch += batch[n_batch] != NULL;
        }
        (void)pthread_mutex_unlock(&c->lock);
        bkt_load_begin(c, batch, n_batch, false);
    }
}

/* ---- under change ---- */

int bkt_objects_add(struct bkt_objects *c, const struct bkt_object *o, struct bkt_err *err)
{
    BKT_HOLD(&c->lock);
    after_fork(c);
    BKT_FAIL_IF(err, bkt_map_get(c->entries, o->id.text, BKT_ID_LEN), BKT_EEXIST, "object %s exists already",
                o->id.text);
    struct bkt_cached_object *e = bkt_entry_new(c, &o->id);
    BKT_NEED(err, e);
    c->in_flight--;
    e->state = BKT_OBJECT_READY;
    e->object = bkt_object_retain(o);
    e->pins = 1;
    return BKT_OK;
}

void bkt_objects_pin(struct bkt_objects *c, const struct bkt_id *id, bool more)
{
    BKT_HOLD(&c->lock);
    if (more && c->node)
        bkt_node_reads_stop(c->node);
    bkt_snap_use_up(c, id);
    struct bkt_cached_object *e = bkt_map_get(c->entries, id->text, BKT_ID_LEN);
    if (e && more && e->pins++ == 0)
        unsettle(c, e);
    else if (e && !more && e->pins && --e->pins == 0)
        bkt_entry_settle(c, e);
    bkt_objects_evict(c);
}

void bkt_objects_drop(struct bkt_objects *c, const struct bkt_id *id, bool gone)
{
    BKT_HOLD(&c->lock);
    struct bkt_cached_object *e = bkt_map_get(c->entries, id->text, BKT_ID_LEN);
    bkt_snap_use_up(c, id);
    if (e)
        wait_for(c, e);
    if (e && gone) {
        unsettle(c, e);
        bkt_object_release(e->object);
        free(e->err);
        e->object = NULL;
        e->err    = NULL;
        e->state = BKT_OBJECT_FAILED;
        e->rc     = BKT_ENOENT;
        e->pins   = 1;
    } else if (e) {
        entry_drop(c, e);
    }
}

void bkt_objects_await(struct bkt_objects *c, const struct bkt_id *id)
{
    BKT_HOLD(&c->lock);
    after_fork(c);
    struct bkt_cached_object *e = bkt_map_get(c->entries, id->text, BKT_ID_LEN);
    if (e)
        wait_for(c, e);
}

const struct bkt_object *bkt_objects_cached(struct bkt_objects *c, const struct bkt_id *id)
{
    BKT_HOLD(&c->lock);
    const struct bkt_cached_object *e = bkt_map_get(c->entries, id->text, BKT_ID_LEN);
    return e && e->state == BKT_OBJECT_READY ? bkt_object_retain(e->object) : NULL;
}

int bkt_objects_each(struct bkt_objects *c, int (*fn)(const struct bkt_object *o, void *arg), void *arg)
{
    int rc = BKT_OK;
    BKT_HOLD(&c->lock);
    for (struct bkt_map_at at = {0}; rc >= 0 && bkt_map_walk(c->entries, &at);) {
        const struct bkt_cached_object *e = at.value;
        if (e->state == BKT_OBJECT_READY)
            rc = fn(e->object, arg);
    }
    return rc;
}

int bkt_objects_rename(struct bkt_objects *c, const struct bkt_id *from, const struct bkt_id *to)
{
    BKT_HOLD(&c->lock);
    struct bkt_cached_object *e = bkt_map_get(c->entries, from->text, BKT_ID_LEN),
                             *other = bkt_map_get(c->entries, to->text, BKT_ID_LEN);
    bkt_snap_use_up(c, to);
    if (other)
        wait_for(c, other);
    if (!e || e->state != BKT_OBJECT_READY)
        return BKT_ENOENT;
    if (other && (other->waiters || other->pins || (other->object && bkt_object_refs(other->object) > 1)))
        return BKT_EBUSY;
    if (other)
        entry_drop(c, other);
    BKT_PASS(bkt_map_set(&c->entries, to->text, BKT_ID_LEN, e, NULL));
    (void)bkt_map_del(c->entries, from->text, BKT_ID_LEN);
    e->id = *to;
    return BKT_OK;
}

/* ---- processes of one node ---- */

void bkt_objects_share(struct bkt_objects *c, struct bkt_node_reads *n)
{
    BKT_HOLD(&c->lock);
    after_fork(c);
    c->node = n;
    if (!n)
        bkt_follow_clear(&c->follow);
    while (!n && c->in_flight) /* loads may use it */
        (void)pthread_cond_wait(&c->change, &c->lock);
}

void bkt_objects_unshare(struct bkt_objects *c, const struct bkt_id *id)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    bool named = bkt_id_key(id, &key) == BKT_OK;
    BKT_HOLD(&c->lock);
    if (named)
        bkt_node_reads_forget(c->node, c->store, bkt_buf_str(&key));
    else
        bkt_node_reads_stop(c->node);
}

/* ---- life ---- */

struct bkt_objects *bkt_objects_new(struct bkt_store *st, uint64_t cache_bytes, uint64_t max_object)
{
    struct bkt_objects *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->store = st, c->limit = cache_bytes, c->max_object = max_object;
    c->lru.next = c->lru.prev = &c->lru;
    c->generation             = bkt_fork_generation();
    (void)pthread_mutex_init(&c->lock, NULL);
    (void)pthread_cond_init(&c->change, NULL);
    bkt_forkguard_add(&c->guard, &c->lock, &c->change);
    return c;
}

void bkt_objects_free(struct bkt_objects *c)
{
    if (!c)
        return;
    (void)pthread_mutex_lock(&c->lock);
    after_fork(c);
    bkt_follow_clear(&c->follow);
    if (!c->held) /* no load waits for it */
        atomic_store(&c->snap_stop, true);
    while (c->in_flight)
        (void)pthread_cond_wait(&c->change, &c->lock);
    (void)pthread_mutex_unlock(&c->lock);
    bkt_snap_fini(c);
    bkt_forkguard_remove(&c->guard);
    bkt_map_free(c->entries, entry_free);
    (void)pthread_mutex_destroy(&c->lock);
    (void)pthread_cond_destroy(&c->change);
    free(c);
}
