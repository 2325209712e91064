/* Loading objects: requests and parsing. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/os/thread.h"
#include "base/trace.h"
#include "schema/domain/object_cache_impl.h"
#include "schema/json/schema_json.h"
#include "schema/model/object_life.h"

#define MAX_TRIES     4     /* reads; their pauses are long beside writing a file of some KB */
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

/* Publish the outcome; takes over object and err. */
static void finish(struct bkt_object_load *l, int rc, const struct bkt_object *object, struct bkt_err *err)
{
    struct bkt_objects     *c    = l->cache;
    struct bkt_cached_object *e = l->entry;
    struct bkt_ids members = {0};
    if (rc == BKT_OK && atomic_load(&c->tours) && !l->scanned)
        members = bkt_follow_members_of(object);
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
            bkt_follow_ids(c, members);
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
        bkt_follow_ids(l->cache, bkt_follow_scan(json_of(l), size_of(l), &l->id));
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
