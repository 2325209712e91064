/* Loads of objects that processes of one node share (base/node_table.h).
 *
 * A load that finds the object claimed by another process waits for it here.  One thread looks again and
 * again for all that wait: another process can't wake it. */
#include <stdlib.h>
#include <time.h>

#include "base/os/clock.h"
#include "base/trace.h"
#include "schema/domain/object_cache_impl.h"

#define LOOK_EVERY 200000 /* ns; a request takes 100 times as long */
/* Seconds that a load waits for another process: longer than retries of a request usually take. */
#define PATIENCE 10

struct bkt_node_objects {
    struct bkt_node_table *table; /* NULL: not any more */
    pthread_cond_t wake;
    bool has_thread, stop;
    pthread_t thread;
    struct load *waiting; /* by next */
};

/* ---- loads that wait ---- */

static void go_on(struct load *l, enum bkt_node_table_state state)
{
    struct bkt_node_table *t = l->cache->node->table;
    if (state == BKT_ENTRY_READY &&
        bkt_node_table_copy(t, l->shared_entry, l->id.text, l->req.etag, sizeof l->req.etag, &l->req.body)) {
        bkt_trace(BKT_TRACE_SCHEMA, "%s was read by another process of this node", l->id.text);
        bkt_load_fetched(l);
        return;
    }
    bkt_buf_clear(&l->req.body);
    bkt_load_request(l);
}

/* Take the loads out whose object is there, or won't be; the lock is held. */
static struct load *take_ready(struct bkt_node_objects *n)
{
    struct load *out = NULL, **at = &n->waiting;
    while (*at) {
        struct load *l = *at;
        enum bkt_node_table_state state = bkt_node_table_look(n->table, l->shared_entry);
        if (state == BKT_ENTRY_WAIT && !n->stop && bkt_clock_now() < l->wait_until) {
            at = &l->next;
            continue;
        }
        *at = l->next;
        l->next = out;
        out = l;
    }
    return out;
}

static void *watch(void *cache)
{
    const struct timespec pause = {0, LOOK_EVERY};
    struct bkt_objects *c = cache;
    struct bkt_node_objects *n = c->node;
    (void)pthread_mutex_lock(&c->lock);
    while (!n->stop || n->waiting) {
        if (!n->waiting) {
            (void)pthread_cond_wait(&n->wake, &c->lock);
            continue;
        }
        struct load *l = take_ready(n), *next;
        (void)pthread_mutex_unlock(&c->lock);
        if (!l)
            (void)nanosleep(&pause, NULL);
        for (; l; l = next) {
            next = l->next;
            l->next = NULL;
            go_on(l, bkt_node_table_look(n->table, l->shared_entry));
        }
        (void)pthread_mutex_lock(&c->lock);
    }
    (void)pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* The lock is held.  False: there is no thread that could wait. */
static bool wait_for_it(struct bkt_objects *c, struct load *l)
{
    struct bkt_node_objects *n = c->node;
    if (!n->has_thread && pthread_create(&n->thread, NULL, watch, c) != 0)
        return false;
    n->has_thread = true;
    l->wait_until = bkt_clock_now() + PATIENCE;
    l->next = n->waiting;
    n->waiting = l;
    (void)pthread_cond_signal(&n->wake);
    return true;
}

/* ---- for object_load.c ---- */

bool bkt_node_take(struct load *l)
{
    struct bkt_objects *c = l->cache;
    bool taken = false;
    (void)pthread_mutex_lock(&c->lock);
    struct bkt_node_table *t = c->node && !c->node->stop ? c->node->table : NULL;
    enum bkt_node_table_state state =
        t ? bkt_node_table_ask(t, l->id.text, &l->shared_entry) : BKT_ENTRY_NEVER;
    l->is_claimed = state == BKT_ENTRY_MINE;
    if (state == BKT_ENTRY_WAIT)
        taken = wait_for_it(c, l);
    (void)pthread_mutex_unlock(&c->lock);
    if (state != BKT_ENTRY_READY)
        return taken;
    go_on(l, state);
    return true;
}

void bkt_node_give(struct load *l, bool whole)
{
    struct bkt_node_table *t = l->cache->node->table;
    if (whole)
        bkt_node_table_publish(t, l->shared_entry, l->id.text, l->req.etag, l->req.body.ptr, l->req.body.len);
    else
        bkt_node_table_give_up(t, l->shared_entry);
    l->is_claimed = false;
}

void bkt_node_stop(struct bkt_objects *c)
{
    (void)pthread_mutex_lock(&c->lock);
    if (c->node && !c->node->stop) {
        c->node->stop = true;
        (void)pthread_cond_signal(&c->node->wake);
    }
    (void)pthread_mutex_unlock(&c->lock);
}

/* ---- life ---- */

bool bkt_objects_share(struct bkt_objects *c, struct bkt_node_table *t)
{
    struct bkt_node_objects *n = calloc(1, sizeof *n);
    (void)pthread_mutex_lock(&c->lock);
    bool mine = n && !c->node;
    if (mine) {
        n->table = t;
        (void)pthread_cond_init(&n->wake, NULL);
        c->node = n;
    }
    (void)pthread_mutex_unlock(&c->lock);
    if (!mine)
        free(n);
    return mine;
}

void bkt_objects_unshare(struct bkt_objects *c)
{
    struct bkt_node_objects *n = c->node;
    if (!n)
        return;
    (void)pthread_mutex_lock(&c->lock);
    bkt_objects_after_fork(c);
    n->stop = true;
    (void)pthread_cond_signal(&n->wake);
    bkt_follow_clear(&c->follow);
    while (c->in_flight) /* loads may use the table */
        (void)pthread_cond_wait(&c->change, &c->lock);
    bool joins = n->has_thread;
    (void)pthread_mutex_unlock(&c->lock);
    if (joins)
        (void)pthread_join(n->thread, NULL);
    (void)pthread_mutex_lock(&c->lock);
    c->node = NULL;
    (void)pthread_mutex_unlock(&c->lock);
    (void)pthread_cond_destroy(&n->wake);
    free(n);
}

void bkt_objects_unshare_one(struct bkt_objects *c, const struct bkt_id *id)
{
    (void)pthread_mutex_lock(&c->lock);
    if (c->node && c->node->table)
        bkt_node_table_forget(c->node->table, id->text);
    (void)pthread_mutex_unlock(&c->lock);
}

void bkt_node_after_fork(struct bkt_objects *c)
{
    struct bkt_node_objects *n = c->node;
    if (!n)
        return;
    n->table = NULL;
    n->waiting = NULL;
    n->has_thread = false;
    n->stop = true;
    (void)pthread_cond_init(&n->wake, NULL);
}
