/* Loading objects: requests, parsing, and prefetching for a traversal. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/os/thread.h"
#include "base/trace.h"
#include "schema/domain/object_cache_impl.h"
#include "schema/json/schema_json.h"
#include "schema/model/object_life.h"

#define MAX_TRIES     4     /* reads; their pauses are long beside writing a file of some KB */
/* Requests ahead of a traversal: four for each of 256 connections.  A traversal that ends early has made them
 * in vain. */
#define FOLLOW_WINDOW 1024
#define FOLLOW_AHEAD  65536 /* queued results of fetches ahead: bounds their memory besides their bytes */
#define FOLLOW_BATCH  64    /* begun under one lock */
#define LIKELY_BYTES  4096  /* an object's likely size once it is there: 2 KB, attributes 1 KB each */
/* Objects of the snapshot that one job parses, since a job for each would cost noticeable time to hand
 * over. */
#define SNAP_BATCH    32
/* Bytes of JSON that are parsed so quickly that they count as a small job. */
#define SMALL_JSON    (16u << 10)
#define SCAN_MIN      (64u << 10) /* bytes of JSON; shorter texts are parsed quickly anyway */

bool bkt_objects_pause(const struct bkt_store *st, unsigned tries)
{
    if (tries >= MAX_TRIES || !bkt_store_is_local(st))
        return false;
    struct timespec t = {0, 5000000L << (2 * tries)}; /* 20, 80, 320 ms */
    return nanosleep(&t, NULL) == 0;
}

/* ---- loading ---- */

static void load_free(struct bkt_object_load *l)
{
    bkt_req_fini(&l->req);
    bkt_buf_fini(&l->key);
    free(l);
}

/* ---- members of groups that a traversal is about to reach; the lock is held ----
 *
 * A traversal that asks for an object when it gets there waits a round trip per group.  So during a
 * traversal the members of each group are queued as soon as the group's JSON has come.  A bounded number of
 * them is fetched ahead. */

#define MAX_PASSED 65536 /* 10 MiB; as many objects as may be ahead (object_load.c) */

/* Ids of the hard links of a group, for push().  Out of memory: fewer of them. */
static struct bkt_ids members_of(const struct bkt_object *o)
{
    const struct bkt_link *l;
    struct bkt_ids out = {0};
    for (size_t i = 0; (l = bkt_object_next_hard(o, &i));)
        if (bkt_ids_add(&out, &l->id) < 0)
            break;
    return out;
}

static const char *skip_space(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
        p++;
    return p;
}

/* The value behind a key, if it is a string of an id's length. */
static const char *id_behind(const char *p, const char *end)
{
    p = skip_space(p, end);
    if (p == end || *p != ':')
        return NULL;
    p = skip_space(p + 1, end);
    return end - p > BKT_ID_LEN + 1 && *p == '"' && p[BKT_ID_LEN + 1] == '"' ? p + 1 : NULL;
}

/* The same out of the JSON text of a group, without parsing it.  That is much quicker for a large group, so
 * that its members are on their way while it is parsed.  Finds every "id": "<id>" but the group's own. */
static struct bkt_ids scan_members(const void *json, size_t n, const struct bkt_id *own)
{
    static const char key[] = "\"id\"";
    const char *p = json, *end = p + n;
    struct bkt_ids out = {0};
    while ((p = memmem(p, (size_t)(end - p), key, sizeof key - 1))) {
        p += sizeof key - 1;
        const char *text = id_behind(p, end);
        char copy[BKT_ID_LEN + 1];
        struct bkt_id id;
        if (!text)
            continue;
        memcpy(copy, text, BKT_ID_LEN);
        copy[BKT_ID_LEN] = 0;
        if (bkt_id_set(&id, copy) && strcmp(id.text, own->text) != 0 && bkt_ids_add(&out, &id) < 0)
            break;
        p = text + BKT_ID_LEN;
    }
    return out;
}

/* Takes the ids over.  Out of memory: they are dropped. */
static void push(struct bkt_follow *f, struct bkt_ids *ids)
{
    struct bkt_follow_part *p = ids->n ? malloc(sizeof *p) : NULL;
    struct bkt_id *v = p ? realloc(ids->v, ids->n * sizeof *v) : NULL; /* most groups need less than it has */
    if (!v) {
        free(p);
        bkt_ids_fini(ids);
        return;
    }
    *p = (struct bkt_follow_part){.ids = {v, ids->n, ids->n}};
    if (f->tail)
        f->tail->next = p;
    else
        f->head = p;
    f->tail = p;
}

static void drop_first(struct bkt_follow *f)
{
    struct bkt_follow_part *p = f->head;
    if (!(f->head = p->next))
        f->tail = NULL;
    bkt_ids_fini(&p->ids);
    free(p);
}

static bool take_next(struct bkt_follow *f, struct bkt_id *id)
{
    struct bkt_follow_part *p = f->head;
    if (!p)
        return false;
    *id = p->ids.v[p->at++];
    if (p->at == p->ids.n)
        drop_first(f);
    return true;
}

static bool next_member(struct bkt_follow *f, struct bkt_id *id)
{
    bool is;
    do
        is = take_next(f, id);
    while (is && bkt_map_del(f->passed, id->text, BKT_ID_LEN));
    if (!f->head)
        bkt_map_clear(&f->passed, NULL);
    return is;
}

bool bkt_follow_pass(struct bkt_follow *f, const struct bkt_id *id)
{
    return !f->head || (bkt_map_count(f->passed) < MAX_PASSED &&
                        bkt_map_set(&f->passed, id->text, BKT_ID_LEN, f, NULL) == BKT_OK);
}

void bkt_follow_clear(struct bkt_follow *f)
{
    while (f->head)
        drop_first(f);
    bkt_map_clear(&f->passed, NULL);
}

/* ---- ahead of a traversal ---- */

/* Entries for the next members that are worth asking for now; the lock is held.  A third of the cache may be
 * ahead.  Before the last of that is used, as much again is used and as much again is fetched.  None of it is
 * evicted before its use. */
static size_t follow_batch(struct bkt_objects *c, struct bkt_cached_object **out)
{
    struct bkt_id id;
    size_t        n = 0;
    while (n < FOLLOW_BATCH && c->in_flight < FOLLOW_WINDOW && c->n_unused < FOLLOW_AHEAD &&
           c->unused + c->in_flight * LIKELY_BYTES < c->limit / 3 && next_member(&c->follow, &id)) {
        struct bkt_cached_object *e =
            bkt_map_get(c->entries, id.text, BKT_ID_LEN) ? NULL : bkt_entry_new(c, &id);
        if (!e)
            continue;
        e->unused = true;
        c->n_unused++;
        out[n++] = e;
    }
    return n;
}

/* Ask for as many as there is room for.  One thread at a time, since a request may end, and come here, within
 * its start. */
void bkt_follow_more(struct bkt_objects *c)
{
    struct bkt_cached_object *batch[FOLLOW_BATCH];
    size_t        n;
    (void)pthread_mutex_lock(&c->lock);
    c->follow_again = true;
    while (!c->follow_busy && c->follow_again) {
        c->follow_busy  = true;
        c->follow_again = false;
        while ((n = follow_batch(c, batch)) > 0) {
            (void)pthread_mutex_unlock(&c->lock);
            bkt_load_begin(c, batch, n, false);
            (void)pthread_mutex_lock(&c->lock);
        }
        c->follow_busy = false;
    }
    (void)pthread_mutex_unlock(&c->lock);
}

/* Takes the ids over. */
static void follow_ids(struct bkt_objects *c, struct bkt_ids ids)
{
    if (!ids.n)
        return;
    (void)pthread_mutex_lock(&c->lock);
    push(&c->follow, &ids);
    (void)pthread_mutex_unlock(&c->lock);
    bkt_follow_more(c);
}

/* An object that is loaded already; NULL: it isn't.  The caller's reference. */
static const struct bkt_object *loaded(struct bkt_objects *c, const struct bkt_id *id)
{
    BKT_HOLD(&c->lock);
    const struct bkt_cached_object *e = bkt_map_get(c->entries, id->text, BKT_ID_LEN);
    return e && e->state == BKT_OBJECT_READY ? bkt_object_retain(e->object) : NULL;
}

/* Objects below @p start that aren't loaded yet: loaded groups have not queued their members.  Out of memory:
 * fewer of them. */
static struct bkt_ids missing_below(struct bkt_objects *c, const struct bkt_object *start)
{
    struct bkt_follow       q    = {0};
    struct bkt_map *seen = NULL;
    struct bkt_ids members = members_of(start), out = {0};
    struct bkt_id           id;
    push(&q, &members);
    while (next_member(&q, &id)) {
        const struct bkt_object *o = bkt_map_get(seen, id.text, BKT_ID_LEN) ? NULL : loaded(c, &id);
        if (o && bkt_map_set(&seen, id.text, BKT_ID_LEN, c, NULL) == BKT_OK) {
            members = members_of(o);
            push(&q, &members);
        } else if (!o && !bkt_map_get(seen, id.text, BKT_ID_LEN) && bkt_ids_add(&out, &id) < 0)
            bkt_follow_clear(&q);
        bkt_object_release(o);
    }
    bkt_map_free(seen, NULL);
    return out;
}

void bkt_objects_follow(struct bkt_objects *c, const struct bkt_object *start)
{
    (void)atomic_fetch_add(&c->tours, 1);
    follow_ids(c, missing_below(c, start));
}

void bkt_objects_unfollow(struct bkt_objects *c)
{
    BKT_HOLD(&c->lock);
    if (atomic_fetch_sub(&c->tours, 1) == 1)
        bkt_follow_clear(&c->follow);
}

/* Publish the outcome; takes over object and err. */
static void finish(struct bkt_object_load *l, int rc, const struct bkt_object *object, struct bkt_err *err)
{
    struct bkt_objects     *c    = l->cache;
    struct bkt_cached_object *e = l->entry;
    struct bkt_ids members = {0};
    if (rc == BKT_OK && atomic_load(&c->tours) && !l->scanned)
        members = members_of(object);
    load_free(l);
    (void)pthread_mutex_lock(&c->lock);
    e->state = rc == BKT_OK ? BKT_OBJECT_READY : BKT_OBJECT_FAILED;
    e->object = object;
    e->rc     = rc;
    e->err    = err;
    if (e->waiters)
        (void)pthread_cond_broadcast(&c->change);
    bkt_entry_settle(c, e);
    bkt_objects_evict(c);
    if (members.n || c->follow.head) { /* counts as in flight until then: the cache must not be freed */
        (void)pthread_mutex_unlock(&c->lock);
        if (members.n)
            follow_ids(c, members);
        else
            bkt_follow_more(c);
        (void)pthread_mutex_lock(&c->lock);
    }
    if (--c->in_flight == 0) /* bkt_objects_free() */
        (void)pthread_cond_broadcast(&c->change);
    (void)pthread_mutex_unlock(&c->lock);
}

static void send(struct bkt_object_load *l);

/* "" if memory is short; for messages. */
static const char *key_of(struct bkt_object_load *l)
{
    if (!l->key.len && bkt_id_key(&l->id, &l->key) < 0)
        bkt_buf_clear(&l->key);
    return bkt_buf_str(&l->key);
}

static const void *json_of(const struct bkt_object_load *l)
{
    return l->json ? l->json : l->req.body.ptr;
}
static size_t size_of(const struct bkt_object_load *l)
{
    return l->json ? l->n_json : l->req.body.len;
}

/* BKT_OK with *out NULL: the answer isn't whole JSON, and reading it again may help. */
static int parse(struct bkt_object_load *l, struct bkt_object **out, struct bkt_err *err)
{
    size_t         n     = size_of(l);
    struct bkt_err why   = {.n = 0};
    bool           whole = false;
    BKT_FAIL_IF(err, n > l->cache->max_object, BKT_EFORMAT,
                "%s has %zu bytes, more than 256 MiB and than 4 times meta_cache", key_of(l), n);
    int rc = bkt_object_load(json_of(l), n, &l->id, out, &whole, &why);
    if (rc == BKT_EFORMAT && !whole && !l->json && bkt_objects_pause(l->cache->store, l->tries))
        return BKT_OK;
    (void)bkt_err_copy(err, rc, &why);
    if (rc == BKT_OK && bkt_object_set_etag(*out, l->json ? l->etag : l->req.etag) < 0) {
        bkt_object_free(*out);
        *out = NULL;
        BKT_NOMEM(err);
    }
    BKT_TRY(err, rc, "%s in %s", key_of(l), bkt_store_uri(l->cache->store));
    return BKT_OK;
}

static void parse_one(struct bkt_object_load *l)
{
    struct bkt_object *object = NULL;
    struct bkt_err     err    = {.n = 0};
    if (size_of(l) >= SCAN_MIN && bkt_id_kind(&l->id) == BKT_GROUP && !l->scanned &&
        atomic_load(&l->cache->tours)) {
        l->scanned = true;
        follow_ids(l->cache, scan_members(json_of(l), size_of(l), &l->id));
    }
    int rc = parse(l, &object, &err);
    if (rc == BKT_EFORMAT && l->json) { /* possibly the snapshot's fault */
        l->json = NULL;
        send(l);
        return;
    }
    if (rc == BKT_OK && !object) {
        bkt_trace(BKT_TRACE_SCHEMA, "%s is incomplete and is read again", key_of(l));
        send(l);
        return;
    }
    finish(l, rc, object, rc < 0 ? bkt_err_dup(&err) : NULL);
}

static void run_parse(struct bkt_job *job)
{
    struct bkt_object_load *l = BKT_OWNER(struct bkt_object_load, job, job), *next;
    for (; l; l = next) {
        next    = l->next;
        l->next = NULL;
        parse_one(l);
    }
}

static void fetched(struct bkt_req *req)
{
    struct bkt_object_load *l = req->arg;
    if (req->rc == BKT_OK) {
        if (req->body.len < SMALL_JSON)
            bkt_pool_submit_small(&l->job);
        else
            bkt_pool_submit(&l->job);
        return;
    }
    struct bkt_err err = {.n = 0};
    int            rc  = bkt_err_copy(&err, req->rc, req->err);
    (void)BKT_ERR(&err, rc, "object %s can't be read: key %s in %s", l->id.text, key_of(l),
                  bkt_store_uri(l->cache->store));
    finish(l, rc, NULL, bkt_err_dup(&err));
}

/* If an answer was incomplete, those of other processes are as well. */
static struct bkt_node_reads *node_of(const struct bkt_object_load *l)
{
    BKT_HOLD(&l->cache->lock);
    return l->tries > 1 ? NULL : l->cache->node;
}

static void send(struct bkt_object_load *l)
{
    l->tries++;
    bkt_req_fini(&l->req);
    l->req = (struct bkt_req){
        .op = BKT_GET, .key = key_of(l), .len = BKT_WHOLE, .small = true, .done = fetched, .arg = l};
    if (!l->key.len)
        finish(l, BKT_ENOMEM, NULL, NULL);
    else
        bkt_node_reads_start(node_of(l), l->cache->store, &l->req);
}

/* From the snapshot: several to a job. */
static void parse_all(struct bkt_object_load *list)
{
    while (list) {
        struct bkt_object_load *first = list, *last = list;
        for (unsigned n = 1; n < SNAP_BATCH && last->next; n++)
            last = last->next;
        list       = last->next;
        last->next = NULL;
        bkt_pool_submit(&first->job);
    }
}

void bkt_loads_go(struct bkt_objects *c, struct bkt_object_load *list, bool wanted)
{
    parse_all(bkt_snap_take_loads(c, &list, wanted));
    while (list) {
        struct bkt_object_load *l = list;
        list           = l->next;
        l->next        = NULL;
        send(l);
    }
}

static void fail_entry(struct bkt_objects *c, struct bkt_cached_object *e)
{
    BKT_HOLD(&c->lock);
    e->state = BKT_OBJECT_FAILED;
    e->rc    = BKT_ENOMEM;
    bkt_entry_settle(c, e);
    c->in_flight--;
    (void)pthread_cond_broadcast(&c->change);
}

/* Not under the lock: a request may end before this returns. */
void bkt_load_begin(struct bkt_objects *c, struct bkt_cached_object *const *v, size_t n, bool wanted)
{
    struct bkt_object_load *list = NULL, **tail = &list;
    for (size_t i = 0; i < n; i++) {
        struct bkt_object_load *l = calloc(1, sizeof *l);
        if (!l) {
            fail_entry(c, v[i]);
            continue;
        }
        l->cache   = c;
        l->entry   = v[i];
        l->id      = v[i]->id;
        l->job.run = run_parse;
        *tail      = l;
        tail       = &l->next;
    }
    if (list)
        bkt_loads_go(c, list, wanted);
}
