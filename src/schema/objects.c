#include "objects.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "domain.h"
#include "follow.h"
#include "forkguard.h"
#include "map.h"
#include "object.h"
#include "parse.h"
#include "pool.h"
#include "trace.h"

#define ENTRY_COST    512  /* bytes beside the object's own */
#define MAX_IN_FLIGHT 4096 /* prefetch asks for no more at once; what is left out is fetched when it is wanted */
#define MAX_TRIES     4
#define FOLLOW_WINDOW 1024  /* requests ahead of a traversal: four for each of 256 connections */
#define FOLLOW_AHEAD  65536 /* objects that it has not come to yet */
#define FOLLOW_BATCH  64
#define SCAN_MIN      (64u << 10) /* bytes of JSON; parsing less takes under a millisecond */
#define MAX_HELD      16   /* entries that somebody holds, looked at in one search for room */

enum state { LOADING, READY, FAILED };

struct entry {
    struct bkt_id            id;
    enum state               state;
    unsigned                 waiters;
    bool                     unused; /* fetched ahead of a traversal, not asked for yet */
    unsigned                 pins;   /* more than 0: neither in the ring nor in used */
    const struct bkt_object *object; /* READY; the cache's reference */
    int                      rc;     /* FAILED */
    struct bkt_err          *err;
    uint64_t                 cost;   /* READY and FAILED: bytes, as counted */
    struct entry            *prev, *next; /* READY and FAILED: most recently used first; both NULL: not in the ring */
};

struct bkt_objects {
    struct bkt_store *store;
    uint64_t          limit, max_object;
    void (*note)(const struct bkt_object *o, void *arg);
    void           *arg;
    pthread_mutex_t lock; /* guards what follows, and all entries */
    pthread_cond_t  change;
    struct bkt_forkguard guard;
    struct bkt_map *entries; /* by id */
    struct entry    lru;     /* ring */
    uint64_t        used;
    size_t          in_flight;
    size_t          n_unused;
    struct bkt_follow follow;
    bool            follow_busy, follow_again;
    atomic_uint     tours; /* traversals under way */
    pid_t           pid;
};

/* One request and its parsing; owned by whoever works on it, freed by finish(). */
struct load {
    struct bkt_req      req;
    struct bkt_job      job;
    struct bkt_objects *cache;
    struct entry       *entry;
    struct bkt_id       id;
    struct bkt_buf      key;
    unsigned            tries;
    bool                scanned; /* its members are queued already */
};

bool bkt_objects_pause(const struct bkt_store *st, unsigned tries)
{
    if (tries >= MAX_TRIES || !bkt_store_is_local(st))
        return false;
    struct timespec t = {0, 5000000L << (2 * tries)}; /* 20, 80, 320 ms */
    return nanosleep(&t, NULL) == 0;
}

/* ---- entries; the lock is held ---- */

static void ring_add(struct bkt_objects *c, struct entry *e)
{
    e->next       = c->lru.next;
    e->prev       = &c->lru;
    e->next->prev = e;
    c->lru.next   = e;
}

static void ring_del(struct entry *e)
{
    if (!e->next)
        return;
    e->next->prev = e->prev;
    e->prev->next = e->next;
    e->next = e->prev = NULL;
}

static void unsettle(struct bkt_objects *c, struct entry *e)
{
    c->used -= e->cost;
    e->cost = 0;
    ring_del(e);
}

/* Among those that may be evicted: it has come to an end of loading, and isn't pinned. */
static void settle(struct bkt_objects *c, struct entry *e)
{
    unsettle(c, e);
    if (e->pins)
        return;
    e->cost = ENTRY_COST + (e->object ? e->object->json_bytes : 0);
    c->used += e->cost;
    ring_add(c, e);
}

static struct entry *entry_new(struct bkt_objects *c, const struct bkt_id *id)
{
    struct entry *e = calloc(1, sizeof *e);
    if (!e || bkt_map_put(c->entries, id->text, BKT_ID_LEN, e, NULL) < 0) {
        free(e);
        return NULL;
    }
    e->id    = *id;
    e->state = LOADING;
    c->in_flight++;
    return e;
}

static void entry_free(void *p)
{
    struct entry *e = p;
    if (!e)
        return;
    bkt_object_release(e->object);
    free(e->err);
    free(e);
}

/* Take out and free; nobody waits for it. */
static void entry_drop(struct bkt_objects *c, struct entry *e)
{
    c->n_unused -= e->unused;
    unsettle(c, e);
    (void)bkt_map_del(c->entries, e->id.text, BKT_ID_LEN);
    entry_free(e);
}

static void evict(struct bkt_objects *c)
{
    unsigned held = 0;
    for (struct entry *e = c->lru.prev, *prev; c->used > c->limit && e != &c->lru && held < MAX_HELD; e = prev) {
        prev = e->prev;
        if (!e->waiters && !(e->object && bkt_object_refs(e->object) > 1)) {
            entry_drop(c, e);
        } else { /* not again at once */
            ring_del(e);
            ring_add(c, e);
            held++;
        }
    }
}

/* ---- loading ---- */

static void load_free(struct load *l)
{
    bkt_req_fini(&l->req);
    bkt_buf_fini(&l->key);
    free(l);
}

/* ---- ahead of a traversal ---- */

static void begin(struct bkt_objects *c, struct entry *e);

/* Entries for the next members that are worth asking for now; the lock is held. */
static size_t follow_batch(struct bkt_objects *c, struct entry **out)
{
    struct bkt_id id;
    size_t        n = 0;
    while (n < FOLLOW_BATCH && c->in_flight < FOLLOW_WINDOW && c->n_unused < FOLLOW_AHEAD && c->used < c->limit / 4 * 3 &&
           bkt_follow_next(&c->follow, &id)) {
        struct entry *e = bkt_map_get(c->entries, id.text, BKT_ID_LEN) ? NULL : entry_new(c, &id);
        if (!e)
            continue;
        e->unused = true;
        c->n_unused++;
        out[n++] = e;
    }
    return n;
}

/* Ask for as many as there is room for.  One thread at a time: a request may end, and come here, within its own start. */
static void follow_more(struct bkt_objects *c)
{
    struct entry *batch[FOLLOW_BATCH];
    size_t        n;
    (void)pthread_mutex_lock(&c->lock);
    c->follow_again = true;
    while (!c->follow_busy && c->follow_again) {
        c->follow_busy  = true;
        c->follow_again = false;
        while ((n = follow_batch(c, batch)) > 0) {
            (void)pthread_mutex_unlock(&c->lock);
            for (size_t i = 0; i < n; i++)
                begin(c, batch[i]);
            (void)pthread_mutex_lock(&c->lock);
        }
        c->follow_busy = false;
    }
    (void)pthread_mutex_unlock(&c->lock);
}

static void follow_part(struct bkt_objects *c, struct bkt_follow_part *p)
{
    if (!p)
        return;
    (void)pthread_mutex_lock(&c->lock);
    bkt_follow_push(&c->follow, p);
    (void)pthread_mutex_unlock(&c->lock);
    follow_more(c);
}

void bkt_objects_follow(struct bkt_objects *c, const struct bkt_object *start)
{
    (void)atomic_fetch_add(&c->tours, 1);
    follow_part(c, bkt_follow_members(start));
}

void bkt_objects_unfollow(struct bkt_objects *c)
{
    (void)pthread_mutex_lock(&c->lock);
    if (atomic_fetch_sub(&c->tours, 1) == 1)
        bkt_follow_clear(&c->follow);
    (void)pthread_mutex_unlock(&c->lock);
}

/* Publish the outcome; takes over object and err. */
static void finish(struct load *l, int rc, const struct bkt_object *object, struct bkt_err *err)
{
    struct bkt_objects     *c    = l->cache;
    struct entry           *e    = l->entry;
    struct bkt_follow_part *part = NULL;
    if (rc == BKT_OK && c->note)
        c->note(object, c->arg);
    if (rc == BKT_OK && atomic_load(&c->tours) && !l->scanned)
        part = bkt_follow_members(object);
    load_free(l);
    (void)pthread_mutex_lock(&c->lock);
    e->state  = rc == BKT_OK ? READY : FAILED;
    e->object = object;
    e->rc     = rc;
    e->err    = err;
    settle(c, e);
    evict(c);
    if (part || c->follow.head) { /* counts as in flight until then: the cache must not go away */
        (void)pthread_cond_broadcast(&c->change);
        (void)pthread_mutex_unlock(&c->lock);
        if (part)
            follow_part(c, part);
        else
            follow_more(c);
        (void)pthread_mutex_lock(&c->lock);
    }
    c->in_flight--;
    (void)pthread_cond_broadcast(&c->change);
    (void)pthread_mutex_unlock(&c->lock);
}

static void send(struct load *l);

/* BKT_OK with *out NULL: what came is no whole JSON, and reading it again may help. */
static int parse(struct load *l, struct bkt_object **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_json_decrefp) json_t *j   = NULL;
    const char                           *key = bkt_buf_str(&l->key), *uri = bkt_store_uri(l->cache->store);
    size_t                                n   = l->req.body.len;
    struct bkt_err                        why = {.n = 0};
    if (n > l->cache->max_object)
        BKT_FAIL(err, BKT_EFORMAT, "%s has %zu bytes, more than max_object allows", key, n);
    int rc = bkt_json_load(l->req.body.ptr, n, &j, &why);
    if (rc == BKT_EFORMAT && bkt_objects_pause(l->cache->store, l->tries))
        return BKT_OK;
    (void)bkt_err_copy(err, rc, &why);
    if (rc == BKT_OK)
        rc = bkt_object_from_json(j, n, &l->id, out, err);
    if (rc == BKT_OK && bkt_object_set_etag(*out, l->req.etag) < 0) {
        bkt_object_free(*out);
        BKT_NOMEM(err);
    }
    BKT_TRY(err, rc, "%s in %s", key, uri);
    return BKT_OK;
}

static void run_parse(struct bkt_job *job)
{
    struct load       *l      = (struct load *)(void *)((char *)job - offsetof(struct load, job));
    struct bkt_object *object = NULL;
    struct bkt_err     err    = {.n = 0};
    if (l->req.body.len >= SCAN_MIN && bkt_id_kind(&l->id) == BKT_GROUP && !l->scanned && atomic_load(&l->cache->tours)) {
        l->scanned = true;
        follow_part(l->cache, bkt_follow_scan(l->req.body.ptr, l->req.body.len, &l->id));
    }
    int rc = parse(l, &object, &err);
    if (rc == BKT_OK && !object) {
        bkt_trace(BKT_TRACE_SCHEMA, "%s is incomplete, reading it again", bkt_buf_str(&l->key));
        send(l);
        return;
    }
    finish(l, rc, object, rc < 0 ? bkt_err_dup(&err) : NULL);
}

static void fetched(struct bkt_req *req)
{
    struct load *l = req->arg;
    if (req->rc == BKT_OK) {
        bkt_pool_submit(&l->job);
        return;
    }
    struct bkt_err err = {.n = 0};
    int            rc  = bkt_err_copy(&err, req->rc, req->err);
    (void)BKT_ERR(&err, rc, "object %s can't be read: key %s in %s", l->id.text, bkt_buf_str(&l->key),
                  bkt_store_uri(l->cache->store));
    finish(l, rc, NULL, bkt_err_dup(&err));
}

static void send(struct load *l)
{
    l->tries++;
    bkt_req_fini(&l->req);
    l->req = (struct bkt_req){.op = BKT_GET, .key = bkt_buf_str(&l->key), .len = BKT_WHOLE, .done = fetched, .arg = l};
    bkt_store_start(l->cache->store, &l->req);
}

/* Begin to load a new entry.  Not under the lock: the request may end before this returns. */
static void begin(struct bkt_objects *c, struct entry *e)
{
    struct load *l = calloc(1, sizeof *l);
    if (!l || bkt_id_key(&e->id, &l->key) < 0) {
        if (l)
            load_free(l);
        (void)pthread_mutex_lock(&c->lock);
        e->state = FAILED;
        e->rc    = BKT_ENOMEM;
        settle(c, e);
        c->in_flight--;
        (void)pthread_cond_broadcast(&c->change);
        (void)pthread_mutex_unlock(&c->lock);
        return;
    }
    l->cache   = c;
    l->entry   = e;
    l->id      = e->id;
    l->job.run = run_parse;
    send(l);
}

/* ---- asking ---- */

/* What the parent had under way never ends in a forked child: forget it.  The lock is held. */
static void after_fork(struct bkt_objects *c)
{
    const void *key;
    size_t      pos = 0, n;
    void       *v;
    if (c->pid == getpid())
        return;
    c->pid         = getpid();
    c->in_flight   = 0;
    c->follow_busy = false;
    bkt_follow_clear(&c->follow);
    while (bkt_map_next(c->entries, &pos, &key, &n, &v)) {
        struct entry *e = v;
        if (e->state == LOADING) {
            c->n_unused -= e->unused;
            (void)bkt_map_del(c->entries, e->id.text, BKT_ID_LEN);
            pos = 0;
        }
    }
}

static void wait_for(struct bkt_objects *c, struct entry *e)
{
    e->waiters++;
    while (e->state == LOADING) {
        (void)pthread_mutex_unlock(&c->lock);
        int helped = bkt_pool_help();
        (void)pthread_mutex_lock(&c->lock);
        if (!helped && e->state == LOADING)
            (void)pthread_cond_wait(&c->change, &c->lock);
    }
    e->waiters--;
}

int bkt_objects_get(struct bkt_objects *c, const struct bkt_id *id, const struct bkt_object **out, struct bkt_err *err)
{
    if (!bkt_id_valid(id->text, NULL))
        BKT_FAIL(err, BKT_EFORMAT, "\"%.40s\" is no object id", id->text);
    (void)pthread_mutex_lock(&c->lock);
    after_fork(c);
    evict(c); /* what was held before may not be any more */
    struct entry *e = bkt_map_get(c->entries, id->text, BKT_ID_LEN);
    if (!e) {
        e = entry_new(c, id);
        if (!e) {
            (void)pthread_mutex_unlock(&c->lock);
            BKT_NOMEM(err);
        }
        e->waiters++; /* so that it isn't evicted before it is looked at */
        (void)pthread_mutex_unlock(&c->lock);
        begin(c, e);
        (void)pthread_mutex_lock(&c->lock);
        e->waiters--;
    }
    wait_for(c, e);
    bool more = e->unused && c->follow.head;
    c->n_unused -= e->unused;
    e->unused = false;
    int rc    = e->rc;
    if (e->state == READY) {
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
    evict(c);
    (void)pthread_mutex_unlock(&c->lock);
    if (more)
        follow_more(c);
    return rc;
}

void bkt_objects_prefetch(struct bkt_objects *c, const struct bkt_id *ids, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct entry *e = NULL;
        if (!bkt_id_valid(ids[i].text, NULL))
            continue;
        (void)pthread_mutex_lock(&c->lock);
        after_fork(c);
        if (c->in_flight < MAX_IN_FLIGHT && !bkt_map_get(c->entries, ids[i].text, BKT_ID_LEN))
            e = entry_new(c, &ids[i]);
        (void)pthread_mutex_unlock(&c->lock);
        if (e)
            begin(c, e);
    }
}

/* ---- under change ---- */

int bkt_objects_add(struct bkt_objects *c, struct bkt_object *o, struct bkt_err *err)
{
    (void)pthread_mutex_lock(&c->lock);
    after_fork(c);
    struct entry *e  = NULL;
    int           rc = BKT_OK;
    if (bkt_map_get(c->entries, o->id.text, BKT_ID_LEN))
        rc = BKT_ERR(err, BKT_EEXIST, "there is an object %s already", o->id.text);
    else if (!(e = entry_new(c, &o->id)))
        rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
    if (e) {
        c->in_flight--;
        e->state  = READY;
        e->object = o;
        e->pins   = 1;
    }
    (void)pthread_mutex_unlock(&c->lock);
    if (rc < 0)
        bkt_object_release(o);
    return rc;
}

static void change_pins(struct bkt_objects *c, const struct bkt_id *id, bool more)
{
    (void)pthread_mutex_lock(&c->lock);
    struct entry *e = bkt_map_get(c->entries, id->text, BKT_ID_LEN);
    if (e && more && e->pins++ == 0)
        unsettle(c, e);
    else if (e && !more && e->pins && --e->pins == 0)
        settle(c, e);
    evict(c);
    (void)pthread_mutex_unlock(&c->lock);
}

void bkt_objects_pin(struct bkt_objects *c, const struct bkt_id *id) { change_pins(c, id, true); }
void bkt_objects_unpin(struct bkt_objects *c, const struct bkt_id *id) { change_pins(c, id, false); }

void bkt_objects_drop(struct bkt_objects *c, const struct bkt_id *id, bool gone)
{
    (void)pthread_mutex_lock(&c->lock);
    struct entry *e = bkt_map_get(c->entries, id->text, BKT_ID_LEN);
    if (e)
        wait_for(c, e);
    if (e && gone) {
        unsettle(c, e);
        bkt_object_release(e->object);
        free(e->err);
        e->object = NULL;
        e->err    = NULL;
        e->state  = FAILED;
        e->rc     = BKT_ENOENT;
        e->pins   = 1;
    } else if (e) {
        entry_drop(c, e);
    }
    (void)pthread_mutex_unlock(&c->lock);
}

/* ---- life ---- */

struct bkt_objects *bkt_objects_new(struct bkt_store *st, uint64_t cache_bytes, uint64_t max_object,
                                    void (*note)(const struct bkt_object *o, void *arg), void *arg)
{
    struct bkt_objects *c = calloc(1, sizeof *c);
    if (!c || !(c->entries = bkt_map_new())) {
        free(c);
        return NULL;
    }
    c->store = st, c->limit = cache_bytes, c->max_object = max_object;
    c->note = note, c->arg = arg;
    c->lru.next = c->lru.prev = &c->lru;
    c->pid                    = getpid();
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
    while (c->in_flight)
        (void)pthread_cond_wait(&c->change, &c->lock);
    (void)pthread_mutex_unlock(&c->lock);
    bkt_forkguard_remove(&c->guard);
    bkt_map_free(c->entries, entry_free);
    (void)pthread_mutex_destroy(&c->lock);
    (void)pthread_cond_destroy(&c->change);
    free(c);
}
