/* A request that finds its answer claimed by another process waits here.  One thread looks again and again
 * for all that wait, since another process can't wake it. */
#include "storage/node_reads.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/os/clock.h"
#include "base/os/fork.h"
#include "base/os/shared_memory.h"
#include "base/os/thread.h"
#include "base/trace.h"
#include "storage/store_impl.h"

#define LOOK_EVERY 200000 /* ns; a request takes 100 times as long */
/* Seconds that a request waits for another process: longer than retries usually take. */
#define PATIENCE 10

/* ---- the table ----
 *
 * An entry has the digest of its key, its state, and the place of its data:
 *   key, NUL, head, text
 * Digest 0 is a free entry.  Processes of one program write here; lengths are checked nevertheless. */

#define ENTRIES 8192u
#define PROBES  16u /* entries that a key may have */

struct node_entry {
    atomic_uint_least64_t digest;
    atomic_uint_least32_t state; /* of enum bkt_node_table_state */
    uint32_t at, n;              /* valid while state is BKT_ENTRY_READY */
};

struct bkt_node_table {
    atomic_uint_least64_t used; /* bytes of data, also those that were refused */
    struct node_entry entry[ENTRIES];
    char data[];
};

#define ROOM (BKT_NODE_TABLE_BYTES - sizeof(struct bkt_node_table))

static uint64_t digest_of(const char *key)
{
    uint64_t d = bkt_digest(key, strlen(key), 0);
    return d ? d : 1;
}

enum bkt_node_table_state bkt_node_table_look(const struct bkt_node_table *t, uint32_t entry)
{
    uint32_t s = atomic_load(&t->entry[entry % ENTRIES].state);
    return s < BKT_ENTRY_NEVER ? (enum bkt_node_table_state)s : BKT_ENTRY_NEVER;
}

enum bkt_node_table_state bkt_node_table_ask(struct bkt_node_table *t, const char *key, uint32_t *entry)
{
    uint64_t d = digest_of(key);
    for (uint32_t i = 0; i < PROBES; i++) {
        uint32_t at = (uint32_t)((d + i) % ENTRIES);
        uint64_t there = 0;
        *entry = at;
        if (atomic_compare_exchange_strong(&t->entry[at].digest, &there, d))
            return BKT_ENTRY_MINE;
        if (there == d)
            return bkt_node_table_look(t, at);
    }
    return BKT_ENTRY_NEVER;
}

void bkt_node_table_give_up(struct bkt_node_table *t, uint32_t entry)
{
    atomic_store(&t->entry[entry % ENTRIES].state, BKT_ENTRY_NEVER);
}

void bkt_node_table_publish(struct bkt_node_table *t, uint32_t entry, const char *key, const void *head,
                            size_t n_head, const void *text, size_t n)
{
    struct node_entry *e = &t->entry[entry % ENTRIES];
    size_t k = strlen(key) + 1, all = k + n_head + n;
    uint64_t at = n <= BKT_NODE_TEXT_MAX ? atomic_fetch_add(&t->used, all) : ROOM;
    uint_least32_t claimed = BKT_ENTRY_WAIT;
    if (at > ROOM || all > ROOM - at) {
        bkt_node_table_give_up(t, entry);
        return;
    }
    memcpy(t->data + at, key, k);
    if (n_head)
        memcpy(t->data + at + k, head, n_head);
    if (n)
        memcpy(t->data + at + k + n_head, text, n);
    e->at = (uint32_t)at;
    e->n = (uint32_t)all;
    /* unless it was forgotten while it was written */
    (void)atomic_compare_exchange_strong(&e->state, &claimed, BKT_ENTRY_READY);
}

void bkt_node_table_forget(struct bkt_node_table *t, const char *key)
{
    uint32_t entry;
    if (bkt_node_table_ask(t, key, &entry) != BKT_ENTRY_NEVER)
        bkt_node_table_give_up(t, entry);
}

bool bkt_node_table_copy(const struct bkt_node_table *t, uint32_t entry, const char *key, void *head,
                         size_t n_head, struct bkt_buf *out)
{
    const struct node_entry *e = &t->entry[entry % ENTRIES];
    uint32_t at = e->at, n = e->n;
    size_t k = strlen(key) + 1;
    if (at > ROOM || n > ROOM - at || k + n_head > n || memcmp(t->data + at, key, k) != 0)
        return false;
    if (n_head)
        memcpy(head, t->data + at + k, n_head);
    return bkt_buf_add(out, t->data + at + k + n_head, n - k - n_head) == BKT_OK;
}

/* ---- requests that are shared ---- */

/* It stands before an answer's bytes in the table. */
struct head {
    uint64_t size;
    double mtime;
    char etag[BKT_ETAG_MAX];
};

/* A request that other processes may have sent, or wait for. */
struct shared {
    struct bkt_node_reads *n;
    struct bkt_store *st;
    struct bkt_req *req;
    struct bkt_buf name;
    uint32_t entry;
    double until; /* bkt_clock_now(); no longer for another process */
    struct shared *next;
    void (*done)(struct bkt_req *req); /* claimed: the caller's */
    void *arg;
};

struct bkt_node_reads {
    struct bkt_node_table *table;
    pthread_mutex_t lock; /* guards the following */
    pthread_cond_t change;
    size_t under_way; /* requests that use the table */
    bool has_thread, stop, end;
    pthread_t thread;
    struct shared *waiting;
    unsigned generation; /* of the process */
};

static int name_of(const struct bkt_store *st, const char *key, uint64_t off, uint64_t len,
                   const char *if_match, struct bkt_buf *out)
{
    return bkt_buf_addf(out, "%s%c%s%c%" PRIu64 " %" PRIu64 "%c%s", st->uri, 31, key, 31, off, len, 31,
                        if_match ? if_match : "");
}

static void shared_free(struct shared *s)
{
    struct bkt_node_reads *n = s->n;
    bkt_buf_fini(&s->name);
    free(s);
    BKT_HOLD(&n->lock);
    if (--n->under_way == 0)
        (void)pthread_cond_broadcast(&n->change);
}

/* ---- answers of other processes ---- */

/* Fill in the request's outputs.  False: it has to be sent. */
static bool take(struct shared *s)
{
    struct bkt_req *req = s->req;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf body = {0};
    struct head h;
    if (!bkt_node_table_copy(s->n->table, s->entry, bkt_buf_str(&s->name), &h, sizeof h, &body))
        return false;
    h.etag[sizeof h.etag - 1] = 0;
    free(req->err);
    req->err = NULL;
    req->rc = BKT_OK;
    req->n = body.len;
    req->size = h.size;
    req->mtime = h.mtime;
    memcpy(req->etag, h.etag, sizeof req->etag);
    if ((req->dst && body.len > req->len) || (req->version && !bkt_version_fits(req->version, req)))
        return false;
    if (req->dst && body.len)
        memcpy(req->dst, body.ptr, body.len);
    bkt_buf_fini(&req->body);
    if (!req->dst)
        bkt_buf_move(&req->body, &body);
    return true;
}

static void go_on(struct shared *s)
{
    struct bkt_req *req = s->req;
    bool there = bkt_node_table_look(s->n->table, s->entry) == BKT_ENTRY_READY && take(s);
    if (there)
        bkt_trace(BKT_TRACE_STORE, "%s GET %s: read by another process of this node", s->st->uri, req->key);
    struct bkt_store *st = s->st;
    shared_free(s);
    if (there)
        req->done(req);
    else
        bkt_store_start(st, req);
}

/* Take requests out whose answer is there, or won't be; the lock is held. */
static struct shared *take_ready(struct bkt_node_reads *n)
{
    struct shared *out = NULL, **at = &n->waiting;
    while (*at) {
        struct shared *s = *at;
        bool cancelled = s->req->cancel && atomic_load(s->req->cancel);
        if (bkt_node_table_look(n->table, s->entry) == BKT_ENTRY_WAIT && !n->stop && !cancelled &&
            bkt_clock_now() < s->until) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        s->next = out;
        out = s;
    }
    return out;
}

static void *watch(void *arg)
{
    const struct timespec pause = {0, LOOK_EVERY};
    struct bkt_node_reads *n = arg;
    (void)pthread_mutex_lock(&n->lock);
    while (!n->end || n->waiting) {
        if (!n->waiting) {
            (void)pthread_cond_wait(&n->change, &n->lock);
            continue;
        }
        struct shared *s = take_ready(n), *next;
        (void)pthread_mutex_unlock(&n->lock);
        if (!s)
            (void)nanosleep(&pause, NULL);
        for (; s; s = next) {
            next = s->next;
            go_on(s);
        }
        (void)pthread_mutex_lock(&n->lock);
    }
    (void)pthread_mutex_unlock(&n->lock);
    return NULL;
}

/* False: no thread can wait. */
static bool wait_for_it(struct shared *s)
{
    struct bkt_node_reads *n = s->n;
    s->until = bkt_clock_now() + PATIENCE;
    BKT_HOLD(&n->lock);
    if (!n->has_thread)
        n->has_thread = bkt_thread_start(&n->thread, watch, n) == 0;
    bool can = n->has_thread;
    if (can) {
        s->next = n->waiting;
        n->waiting = s;
        (void)pthread_cond_broadcast(&n->change);
    }
    return can;
}

/* ---- answers for other processes ---- */

static void publish(const struct shared *s, const struct bkt_req *req)
{
    struct head h = {.size = req->size, .mtime = req->mtime};
    const void *body = req->dst ? req->dst : req->body.ptr;
    memcpy(h.etag, req->etag, sizeof h.etag);
    if (req->rc == BKT_OK)
        bkt_node_table_publish(s->n->table, s->entry, bkt_buf_str(&s->name), &h, sizeof h, body,
                               req->dst ? (size_t)req->n : req->body.len);
    else
        bkt_node_table_give_up(s->n->table, s->entry);
}

static void claimed_done(struct bkt_req *req)
{
    struct shared *s = req->arg;
    publish(s, req);
    req->done = s->done;
    req->arg = s->arg;
    shared_free(s);
    req->done(req);
}

static void send_claimed(struct shared *s)
{
    s->done = s->req->done;
    s->arg = s->req->arg;
    s->req->done = claimed_done;
    s->req->arg = s;
    bkt_store_start(s->st, s->req);
}

/* ---- requests ---- */

/* NULL: the request isn't shared. */
static struct shared *begin(struct bkt_node_reads *n, struct bkt_store *st, struct bkt_req *req)
{
    if (!n || n->generation != bkt_fork_generation() || req->op != BKT_GET || req->sink || !req->done ||
        !req->key || (req->len != BKT_WHOLE && req->len > BKT_NODE_TEXT_MAX))
        return NULL;
    struct shared *s = calloc(1, sizeof *s);
    if (!s || name_of(st, req->key, req->off, req->len, req->if_match, &s->name) < 0) {
        free(s);
        return NULL;
    }
    s->n = n;
    s->st = st;
    s->req = req;
    (void)pthread_mutex_lock(&n->lock);
    bool stopped = n->stop;
    n->under_way++;
    (void)pthread_mutex_unlock(&n->lock);
    if (!stopped)
        return s;
    shared_free(s);
    return NULL;
}

void bkt_node_reads_start(struct bkt_node_reads *n, struct bkt_store *st, struct bkt_req *req)
{
    struct shared *s = begin(n, st, req);
    enum bkt_node_table_state state =
        s ? bkt_node_table_ask(n->table, bkt_buf_str(&s->name), &s->entry) : BKT_ENTRY_NEVER;
    if (state == BKT_ENTRY_MINE) {
        send_claimed(s);
        return;
    }
    if (state == BKT_ENTRY_READY) {
        go_on(s);
        return;
    }
    if (state == BKT_ENTRY_WAIT && wait_for_it(s))
        return;
    if (s)
        shared_free(s);
    bkt_store_start(st, req);
}

void bkt_node_reads_stop(struct bkt_node_reads *n)
{
    if (!n || n->generation != bkt_fork_generation())
        return;
    BKT_HOLD(&n->lock);
    n->stop = true;
}

void bkt_node_reads_forget(struct bkt_node_reads *n, const struct bkt_store *st, const char *key)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name = {0};
    if (!n)
        return;
    if (name_of(st, key, 0, BKT_WHOLE, NULL, &name) == BKT_OK)
        bkt_node_table_forget(n->table, bkt_buf_str(&name));
    else
        bkt_node_reads_stop(n);
}

/* ---- life ---- */

struct bkt_node_reads *bkt_node_reads_new(void *memory)
{
    struct bkt_node_reads *n = memory ? calloc(1, sizeof *n) : NULL;
    if (!n) {
        bkt_shared_memory_free(memory, BKT_NODE_TABLE_BYTES);
        return NULL;
    }
    n->table = memory;
    n->generation = bkt_fork_generation();
    (void)pthread_mutex_init(&n->lock, NULL);
    (void)pthread_cond_init(&n->change, NULL);
    return n;
}

void bkt_node_reads_free(struct bkt_node_reads *n)
{
    if (!n)
        return;
    if (n->generation == bkt_fork_generation()) { /* a child has neither thread nor requests */
        (void)pthread_mutex_lock(&n->lock);
        n->stop = n->end = true;
        (void)pthread_cond_broadcast(&n->change);
        while (n->under_way)
            (void)pthread_cond_wait(&n->change, &n->lock);
        (void)pthread_mutex_unlock(&n->lock);
        if (n->has_thread)
            (void)pthread_join(n->thread, NULL);
        (void)pthread_mutex_destroy(&n->lock);
        (void)pthread_cond_destroy(&n->change);
    }
    bkt_shared_memory_free(n->table, BKT_NODE_TABLE_BYTES);
    free(n);
}
