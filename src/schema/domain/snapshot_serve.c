/* Objects out of the domain's snapshot (snapshot.h).
 *
 * If enough objects are about to be loaded, a thread reads the snapshot and lists the domain's keys.  Loads
 * that begin before it has ended are held, which costs them two round trips.  Then each object that is
 * current is parsed from there, once, and all others are requested as usual.
 *
 * An object of the snapshot is as fresh as the list was.  So it is used for the first load of that object
 * only, within a minute of the list.  An object that this process has changed or refreshed is requested. */
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/os/thread.h"
#include "base/trace.h"
#include "schema/domain/domain_impl.h"
#include "schema/domain/object_cache_impl.h"
#include "schema/snapshot/snapshot.h"

#define GOOD_FOR 60 /* seconds: long for a traversal, short for another writer whose changes it hides */

/* The outcome is there; held loads go on, in the order in which they came. */
static void publish(struct bkt_objects *c, struct bkt_snapshot *s)
{
    struct bkt_object_load *l, *first = NULL;
    (void)pthread_mutex_lock(&c->lock);
    if (atomic_load(&c->snap_stop)) {
        bkt_snapshot_free(s);
        s = NULL;
    }
    c->snap       = s;
    c->snap_state = s ? BKT_SNAPSHOT_READY : BKT_SNAPSHOT_OVER;
    c->snap_until = bkt_clock_now() + GOOD_FOR;
    while ((l = c->held)) {
        c->held = l->next;
        l->next = first;
        first   = l;
    }
    (void)pthread_mutex_unlock(&c->lock);
    if (first)
        bkt_loads_go(c, first, false);
}

static void *run(void *arg)
{
    struct bkt_objects  *c   = arg;
    struct bkt_snapshot *s   = NULL;
    struct bkt_err       err = {.n = 0};
    size_t               current = 0;
    (void)pthread_setname_np(pthread_self(), "h5bucket-meta");
    int rc = bkt_snapshot_load(c->store, &c->root, c->snap_trust, &c->snap_hint, &c->snap_stop, &s, &err);
    if (rc == BKT_OK && bkt_trace_on(BKT_TRACE_SCHEMA)) {
        size_t n = bkt_snapshot_count(s, &current);
        bkt_trace(BKT_TRACE_SCHEMA, "snapshot of %s: %zu objects, %zu of them current", c->root.text, n,
                  current);
    } else if (rc < 0) { /* harmless: all objects are requested */
        bkt_trace(BKT_TRACE_SCHEMA, "snapshot of %s can't be used: %s", c->root.text,
                  bkt_err_reason(&err, rc));
    }
    publish(c, rc == BKT_OK ? s : NULL);
    return NULL;
}

void bkt_objects_snapshot(struct bkt_objects *c, const struct bkt_id *root,
                          const struct bkt_snapshot_hint *hint, bool trust)
{
    BKT_HOLD(&c->lock);
    c->root         = *root;
    c->snap_hint    = *hint;
    c->snap_trust   = trust;
}

static bool worth_while(const struct bkt_objects *c)
{
    return c->snap_state == BKT_SNAPSHOT_NONE && c->snap_hint.objects &&
           bkt_snapshot_pays(c->expected, c->snap_trust ? 0 : c->snap_hint.keys);
}

void bkt_objects_expect(struct bkt_objects *c, uint64_t n)
{
    (void)pthread_mutex_lock(&c->lock);
    n = n < c->snap_hint.objects ? n : c->snap_hint.objects;
    c->expected += n;
    bool begin = worth_while(c);
    if (begin)
        c->snap_state = BKT_SNAPSHOT_COMING;
    (void)pthread_mutex_unlock(&c->lock);
    if (!begin)
        return;
    bool ok = bkt_thread_start(&c->snap_thread, run, c) == 0;
    (void)pthread_mutex_lock(&c->lock);
    c->snap_joinable = ok;
    (void)pthread_mutex_unlock(&c->lock);
    if (!ok)
        publish(c, NULL);
}

/* The outcome isn't there yet: these loads wait for it, the last one first. */
static void hold(struct bkt_objects *c, struct bkt_object_load **list)
{
    struct bkt_object_load *l;
    while ((l = *list)) {
        *list   = l->next;
        l->next = c->held;
        c->held = l;
    }
}

/* Take current objects, in their order; the others stay in *list. */
static struct bkt_object_load *take(struct bkt_objects *c, struct bkt_object_load **list)
{
    struct bkt_object_load *found = NULL, **tail = &found, **left = list, *next;
    if (bkt_clock_now() >= c->snap_until)
        return NULL;
    for (struct bkt_object_load *l = *list; l; l = next) {
        bool current = bkt_snapshot_take(c->snap, &l->id, &l->json, &l->n_json, &l->etag);
        next         = l->next;
        if (current) {
            *tail = l;
            tail  = &l->next;
        } else {
            l->json = NULL;
            *left   = l;
            left    = &l->next;
        }
    }
    *tail = NULL;
    *left = NULL;
    return found;
}

struct bkt_object_load *bkt_snap_take_loads(struct bkt_objects *c, struct bkt_object_load **list, bool wanted)
{
    struct bkt_object_load *found = NULL;
    BKT_HOLD(&c->lock);
    if (c->snap_state == BKT_SNAPSHOT_COMING && !wanted)
        hold(c, list);
    else if (c->snap_state == BKT_SNAPSHOT_READY)
        found = take(c, list);
    return found;
}

void bkt_snap_use_up(struct bkt_objects *c, const struct bkt_id *id)
{
    const void *json;
    const char *etag;
    size_t      n;
    if (c->snap_state == BKT_SNAPSHOT_READY)
        (void)bkt_snapshot_take(c->snap, id, &json, &n, &etag);
    else if (c->snap_state == BKT_SNAPSHOT_NONE)
        c->snap_state = BKT_SNAPSHOT_OVER;
    else
        atomic_store(&c->snap_stop, true); /* the list may be older than the change */
}

void bkt_snap_drop_if_old(struct bkt_objects *c)
{
    if (c->in_flight || bkt_clock_now() < c->snap_until)
        return;
    bkt_snapshot_free(c->snap);
    c->snap       = NULL;
    c->snap_state = BKT_SNAPSHOT_OVER;
}

void bkt_snap_after_fork(struct bkt_objects *c)
{
    c->held          = NULL; /* the parent's */
    c->snap_joinable = false;
    if (c->snap_state == BKT_SNAPSHOT_COMING)
        c->snap_state = BKT_SNAPSHOT_OVER;
}

void bkt_snap_fini(struct bkt_objects *c)
{
    if (c->snap_joinable)
        (void)pthread_join(c->snap_thread, NULL);
    bkt_snapshot_free(c->snap);
}

/* ---- objects that were stored here, kept for a snapshot of them: none has to be read again ---- */

struct recorded {
    size_t n;
    char etag[BKT_ETAG_MAX]; /* "": the server has none; then the object is read again */
    char json[];
};

void bkt_domain_record(struct bkt_domain *d)
{
    d->recording = true;
}

static void forget(struct bkt_domain *d, const struct bkt_id *id)
{
    struct recorded *old = bkt_map_del(d->recorded, id->text, BKT_ID_LEN);
    d->recorded_bytes -= old ? old->n : 0;
    free(old);
}

void bkt_domain_record_one(struct bkt_domain *d, const struct bkt_id *id, const char *etag,
                           const struct bkt_buf *json)
{
    forget(d, id);
    if (strlen(etag) >= BKT_ETAG_MAX || json->len > BKT_SNAPSHOT_MAX - d->recorded_bytes)
        return;
    struct recorded *x = malloc(sizeof *x + json->len);
    if (!x)
        return;
    x->n = json->len;
    memcpy(x->etag, etag, strlen(etag) + 1);
    if (json->len)
        memcpy(x->json, json->ptr, json->len);
    if (bkt_map_set(&d->recorded, id->text, BKT_ID_LEN, x, NULL) < 0)
        free(x);
    else
        d->recorded_bytes += x->n;
}

size_t bkt_domain_n_recorded(const struct bkt_domain *d)
{
    return bkt_map_count(d->recorded);
}

bool bkt_domain_recorded(const struct bkt_domain *d, const struct bkt_id *id, const char **etag,
                         const void **json, size_t *n)
{
    const struct recorded *x = bkt_map_get(d->recorded, id->text, BKT_ID_LEN);
    if (!x)
        return false;
    *etag = x->etag;
    *json = x->json;
    *n = x->n;
    return true;
}
