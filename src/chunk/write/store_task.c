/* Chunks loaded and stored: one task works on a chunk at a time.
 *
 *   load    GET the stored object, put the written elements over it   (only if needed)
 *   encode  on a worker, from a snapshot: the program may go on writing to the chunk
 *   store   PUT, on condition that the object is still the loaded one, or still absent; if not, load again
 *
 * If the condition fails, another writer has stored the chunk, so one writer always makes progress.  Putting
 * the elements over the chunk again is harmless however often it happens. */
#include <stdlib.h>
#include <string.h>

#include "base/os/thread.h"
#include "chunk/write/write_cache.h"
#include "base/num.h"
#include "base/random.h"
#include "base/trace.h"

/* Bytes: if more wait to be stored, whole chunks are stored before the cache fills. */
#define EARLY (4u << 20)
#define TRIES 10000          /* lost races: each is another writer's success, so the limit only ends a race
                                that never ends */
/* Lost races before the next try waits, and the unit of its wait, which grows to eight times that.  The wait
 * is short beside a round trip to a store far away, and some times as long as one to a directory. */
#define PAUSE_FROM 3
#define PAUSE_SECONDS 0.0025

struct bkt_store_task {
    struct bkt_job     job;
    struct bkt_req     req;
    struct bkt_write_cache  *d;
    struct bkt_wchunk *c;
    struct bkt_store  *st;
    bool               store; /* store the chunk, too */
    bool               raw;
    bool               encoded; /* `out` has the bytes to store, and nothing else is needed any more */
    unsigned           tries;
    uint64_t           cost;
    /* the version that is being stored */
    struct bkt_cache_entry *e;
    uint64_t          *mask;
    uint64_t           n_dirty;
    bool               whole;
    struct bkt_buf     out;
    char               etag[BKT_ETAG_MAX]; /* condition */
    struct bkt_buf     key;
};

static void task_free(struct bkt_store_task *t)
{
    bkt_req_fini(&t->req);
    bkt_cache_entry_release(t->e);
    free(t->mask);
    bkt_buf_fini(&t->out);
    bkt_buf_fini(&t->key);
    free(t);
}

/* ---- states; the lock is held ---- */

static bool needs_load(const struct bkt_wchunk *c)
{
    return !c->complete && !c->whole && !c->is_raw && c->base == BKT_BASE_UNKNOWN;
}

/* Makes elements that could not be stored dirty again, except those written again. */
static void give_back(struct bkt_store_task *t)
{
    struct bkt_wchunk *c = t->c;
    if (t->raw && t->out.ptr) { /* nobody writes to the chunk while it is under way */
        bkt_buf_fini(&c->raw);
        bkt_buf_move(&c->raw, &t->out);
        c->is_raw = true;
    }
    bool again = c->is_raw || (c->whole && c->complete);
    c->whole |= t->whole && !c->is_raw;
    if (again) {
        /* that version is obsolete */
    } else if (t->mask && !c->mask) {
        c->mask    = t->mask;
        c->n_dirty = t->n_dirty;
        t->mask    = NULL;
    } else if (t->mask) {
        size_t n   = (size_t)bkt_ceil_div(c->ws->io->chunk_elems, 64);
        c->n_dirty = 0;
        for (size_t i = 0; i < n; i++)
            c->n_dirty += (unsigned)__builtin_popcountll(c->mask[i] |= t->mask[i]);
    }
    free(t->mask);
    t->mask  = NULL;
    t->whole = t->raw = t->encoded = false;
    bkt_cache_entry_release(t->e);
    t->e = NULL;
}

static void end(struct bkt_store_task *t, int rc, const struct bkt_err *why)
{
    struct bkt_write_cache  *d = t->d;
    struct bkt_wchunk *c = t->c;
    struct bkt_err     err = {0};
    if (rc < 0) {
        (void)bkt_err_copy(&err, rc, why);
        (void)BKT_ERR(&err, rc, "%s: %s", bkt_chunk_label(c->ws->io, c->coord).text,
                      t->store ? "not stored, kept for another try" : "could not be read");
        bkt_trace(BKT_TRACE_CHUNK, "%s: %s", bkt_chunk_label(c->ws->io, c->coord).text,
                  bkt_err_reason(&err, rc));
    }
    (void)pthread_mutex_lock(&d->window.lock);
    if (rc < 0)
        give_back(t);
    c->task = NULL;
    bkt_wchunk_note(c, rc, &err);
    bkt_wchunk_settle(c);
    bkt_window_end(&d->window, t->cost);
    (void)pthread_mutex_unlock(&d->window.lock);
    task_free(t);
}

/* ---- store ---- */

void bkt_wchunk_forget_base(struct bkt_wchunk *c)
{
    bool whole = c->complete && c->whole; /* all of it was written again: no base is needed */
    c->base     = BKT_BASE_UNKNOWN;
    c->outdated = !whole && (c->complete || c->outdated);
    c->complete = whole;
}

/* Runs a job that encodes or decodes. */
static void submit(struct bkt_store_task *t)
{
    bkt_window_submit(&t->d->window, t->c->ws->io->pipe.by_caller, &t->job);
}

static void load(struct bkt_store_task *t);
static void load_job(struct bkt_job *job);
static void encode_job(struct bkt_job *job);

static void stored(struct bkt_req *q)
{
    struct bkt_store_task  *t = q->arg;
    struct bkt_wchunk *c = t->c;
    if (q->rc == BKT_OK) {
        (void)pthread_mutex_lock(&t->d->window.lock);
        memcpy(c->etag, q->etag, sizeof c->etag);
        bkt_wset_note_stored(c->ws, c->coord);
        c->base = c->complete ? BKT_BASE_KNOWN : BKT_BASE_UNKNOWN;
        if (!q->etag[0]) /* replaced at once by an unknown writer */
            bkt_wchunk_forget_base(c);
        (void)pthread_mutex_unlock(&t->d->window.lock);
        end(t, BKT_OK, NULL);
        return;
    }
    if (q->rc != BKT_EPRECOND || ++t->tries > TRIES) {
        end(t, q->rc, q->err);
        return;
    }
    (void)pthread_mutex_lock(&t->d->window.lock);
    give_back(t);
    bkt_wchunk_forget_base(c);
    bool whole = c->complete;
    (void)pthread_mutex_unlock(&t->d->window.lock);
    t->job.run = whole ? encode_job : load_job;
    if (whole)
        submit(t);
    else if (t->tries < PAUSE_FROM)
        load(t);
    else
        bkt_pool_submit(&t->job);
}

/* Takes the version to store.  Elements written from here on are dirty again. */
static int snapshot(struct bkt_store_task *t, struct bkt_err *err)
{
    struct bkt_wchunk *c = t->c;
    t->encoded           = false;
    t->etag[0]           = 0;
    t->req.if_match = t->req.if_none_match = NULL;
    if (c->is_raw) {
        t->raw = true;
        bkt_buf_move(&t->out, &c->raw);
        c->is_raw = false;
        return BKT_OK;
    }
    if (!c->complete) /* fills the part of a whole chunk outside of the dataset */
        BKT_PASS(bkt_wchunk_merge(c, NULL, err));
    BKT_PASS(bkt_wchunk_serialise(c, err));
    t->e       = bkt_cache_entry_retain(c->e);
    t->mask    = c->mask;
    t->n_dirty = c->n_dirty;
    t->whole   = c->whole;
    c->mask    = NULL;
    c->n_dirty = 0;
    c->whole   = false;
    if (!t->whole && c->base == BKT_BASE_ABSENT) {
        t->req.if_none_match = "*";
    } else if (!t->whole && c->base == BKT_BASE_KNOWN && c->etag[0]) {
        memcpy(t->etag, c->etag, sizeof t->etag);
        t->req.if_match = t->etag;
    }
    return BKT_OK;
}

/* From here on the chunk is treated as one that the program encoded (H5Dwrite_chunk). */
bool bkt_store_task_shed(struct bkt_wchunk *c)
{
    struct bkt_store_task *t = c->task;
    if (!t->encoded || t->raw || !t->whole || c->ws->io->var || bkt_wchunk_is_dirty(c))
        return false;
    bkt_cache_entry_release(c->e);
    c->e        = NULL;
    t->raw      = true;
    c->complete = c->outdated = false;
    c->base     = BKT_BASE_UNKNOWN;
    bkt_wchunk_settle(c);
    return true;
}

/* From now on only the encoded bytes count as under way, and the elements belong to the chunk alone again. */
static void note_encoded(struct bkt_store_task *t)
{
    struct bkt_write_cache *d = t->d;
    BKT_HOLD(&d->window.lock);
    bkt_cache_entry_release(t->e);
    t->e       = NULL;
    t->encoded = true;
    bkt_wchunk_settle(t->c);
    bkt_window_resize(&d->window, &t->cost, bkt_max_u64(t->out.cap, BKT_TASK_COST_MIN));
}

static int encode(struct bkt_store_task *t, struct bkt_err *err)
{
    const struct bkt_dsetio *io = t->c->ws->io;
    struct bkt_req          *q  = &t->req;
    (void)pthread_mutex_lock(&t->d->window.lock);
    int rc = snapshot(t, err);
    (void)pthread_mutex_unlock(&t->d->window.lock);
    BKT_PASS(rc);
    if (t->raw || !bkt_chunk_object_is_unencoded(io)) {
        if (!t->raw) {
            bkt_buf_clear(&t->out);
            BKT_PASS(bkt_chunk_object_encode(io, t->e->data, t->e->len, &t->out, err));
            note_encoded(t);
        }
        q->put = t->out.ptr, q->put_len = t->out.len;
    } else {
        q->put = t->e->data, q->put_len = t->e->len;
    }
    q->op   = BKT_PUT;
    q->key  = bkt_buf_str(&t->key);
    q->done = stored;
    q->arg  = t;
    return BKT_OK;
}

static void encode_job(struct bkt_job *job)
{
    struct bkt_store_task *t = BKT_OWNER(struct bkt_store_task, job, job);
    struct bkt_err    err = {0};
    int               rc  = encode(t, &err);
    if (rc < 0)
        end(t, rc, &err);
    else
        bkt_store_start(t->st, &t->req);
}

/* ---- load ---- */

static int merge_loaded(struct bkt_store_task *t, struct bkt_err *err)
{
    struct bkt_wchunk *c    = t->c;
    struct bkt_cache_entry *base = NULL;
    if (t->req.rc == BKT_OK)
        BKT_PASS(bkt_chunk_object_read(c->ws->io, &t->req.body, &base, err));
    (void)pthread_mutex_lock(&t->d->window.lock);
    int rc = bkt_wchunk_merge(c, base, err);
    if (rc == BKT_OK) {
        c->base = base ? BKT_BASE_KNOWN : BKT_BASE_ABSENT;
        memcpy(c->etag, t->req.etag, sizeof c->etag);
    }
    (void)pthread_mutex_unlock(&t->d->window.lock);
    bkt_cache_entry_release(base);
    return rc;
}

static void loaded_job(struct bkt_job *job)
{
    struct bkt_store_task *t = BKT_OWNER(struct bkt_store_task, job, job);
    struct bkt_err    err = {0};
    int               rc  = merge_loaded(t, &err);
    bkt_buf_fini(&t->req.body);
    if (rc < 0 || !t->store)
        end(t, rc, &err);
    else
        encode_job(job);
}

static void loaded(struct bkt_req *q)
{
    struct bkt_store_task *t = q->arg;
    if (q->rc < 0 && q->rc != BKT_ENOENT) {
        end(t, q->rc, q->err);
        return;
    }
    t->job.run = loaded_job;
    submit(t);
}

static void load(struct bkt_store_task *t)
{
    struct bkt_req *q = &t->req;
    bkt_req_fini(q);
    *q = (struct bkt_req){
        .op = BKT_GET, .key = bkt_buf_str(&t->key), .len = BKT_WHOLE, .done = loaded, .arg = t};
    bkt_store_start(t->st, q);
}

static void load_job(struct bkt_job *job)
{
    struct bkt_store_task *t = BKT_OWNER(struct bkt_store_task, job, job);
    bkt_random_pause(t->tries - PAUSE_FROM, PAUSE_SECONDS);
    load(t);
}

/* ---- begin; the lock is held ---- */

void bkt_store_task_begin(struct bkt_wchunk *c, bool store)
{
    struct bkt_write_cache *d = c->ws->cache;
    struct bkt_err    err = {0};
    struct bkt_store_task *t   = calloc(1, sizeof *t);
    int rc = t ? bkt_chunk_key(&c->ws->id, &c->ws->io->ds->layout, c->coord, &t->key) : BKT_ENOMEM;
    if (rc < 0) {
        if (t)
            bkt_buf_fini(&t->key);
        free(t);
        bkt_wchunk_note(c, BKT_ERR(&err, rc, "out of memory"), &err);
        return;
    }
    t->d = d, t->c = c, t->store = store;
    t->st   = bkt_domain_store(d->dom);
    t->cost = bkt_max_u64(c->cost, BKT_TASK_COST_MIN);
    t->raw  = c->is_raw;
    c->task = t;
    bkt_window_add(&d->window, t->cost);
    bkt_wchunk_settle(c);
    bool must_load = needs_load(c), must_merge = !store && !must_load;
    /* ready: a worker has nothing to do */
    bool ready = store && (c->is_raw || (c->complete && bkt_chunk_object_is_unencoded(c->ws->io)));
    bool here      = ready || c->ws->io->pipe.by_caller;
    (void)pthread_mutex_unlock(&d->window.lock);
    t->job.run = must_merge ? loaded_job : encode_job;
    if (must_merge)
        t->req.rc = BKT_ENOENT; /* absent: the fill value */
    if (must_load)
        load(t);
    else if (here)
        t->job.run(&t->job);
    else
        bkt_pool_submit(&t->job);
    (void)pthread_mutex_lock(&d->window.lock);
}

bool bkt_store_task_is_raw(const struct bkt_store_task *t) { return t->raw; }

uint64_t bkt_store_task_bytes(const struct bkt_store_task *t) { return t->encoded ? t->out.cap : 0; }

void bkt_store_tasks_wait(struct bkt_write_cache *d)
{
    if (atomic_load(&d->window.n))
        bkt_pool_wait(&d->window.wake, &d->window.lock, &d->window.mine);
}

/* ---- which, and when ---- */

/* @p early: skip datasets whose chunks were stored too early. */
static struct bkt_wchunk *first_good(const struct bkt_wlist *l, bool early)
{
    struct bkt_wchunk *c = l->head;
    for (unsigned i = 0; c && (c->rc < 0 || (early && c->ws->again)); c = c->next)
        if (++i == 256) /* bounds the search if the store refuses everything: a full cache may have 1,536
                           chunks of 64 KiB */
            return NULL;
    return c;
}

static bool has_room(struct bkt_write_cache *d)
{
    return !bkt_window_is_full(&d->window, 1);
}

/* A wholly written chunk is unlikely to change.  It is stored at once, while the program makes the next ones;
 * with a small cache from a quarter of it on, so that the rest has room for the next ones.  @p parts: partly
 * written chunks too, until half of the cache is free. */
static void push(struct bkt_write_cache *d, bool parts)
{
    while (d->n_dirty > bkt_min_u64(d->limit / 4, EARLY) && has_room(d)) {
        bool               early = d->n_dirty <= d->limit / 4;
        struct bkt_wchunk *c     = first_good(&d->list[BKT_LIST_FULL], early);
        if (!c && parts && d->n_dirty > d->limit / 2)
            c = first_good(&d->list[BKT_LIST_PART], false);
        if (!c)
            return;
        c->early = early ? d->n_flushes + 1 : 0;
        bkt_store_task_begin(c, true);
    }
}

/* A partly written chunk is likely to be written on.  It stays until the cache is nearly full: chunks that
 * are stored earlier are often sent twice. */
void bkt_store_tasks_push(struct bkt_write_cache *d)
{
    push(d, d->n_dirty > d->limit / 8 * 7);
    while (d->window.mine.head) /* such as loaded chunks that are to be merged */
        (void)bkt_pool_help_locked(&d->window.lock, &d->window.mine);
}

/* Gives the first failed chunk.  @p forget: clears all failures. */
static struct bkt_wchunk *failed(struct bkt_write_cache *d, const struct bkt_wset *ws, bool forget)
{
    struct bkt_wchunk *first = NULL;
    for (unsigned l = BKT_LIST_PART; l < BKT_LISTS; l++)
        for (struct bkt_wchunk *c = d->list[l].head; c; c = c->next) {
            if (c->rc == BKT_OK || (ws && c->ws != ws))
                continue;
            if (!first)
                first = c;
            if (forget)
                bkt_wchunk_note(c, BKT_OK, NULL);
        }
    return first;
}

int bkt_store_tasks_wait_room(struct bkt_write_cache *d, uint64_t need, struct bkt_err *err)
{
    bool again = true;
    while (!bkt_write_cache_make_room(d, need)) {
        push(d, true);
        struct bkt_wchunk *c = d->window.n ? NULL : first_good(&d->list[BKT_LIST_FULL], false);
        if (!c && !d->window.n)
            c = first_good(&d->list[BKT_LIST_PART], false);
        if (c) {
            bkt_store_task_begin(c, true);
            continue;
        }
        if (d->window.n) {
            bkt_store_tasks_wait(d);
            continue;
        }
        struct bkt_wchunk *bad = failed(d, NULL, again);
        if (!bad) /* one chunk is larger than the cache */
            return BKT_OK;
        if (!again)
            return bkt_err_copy(err, bad->rc, bad->err);
        again = false;
    }
    return BKT_OK;
}

static struct bkt_wchunk *next_to_store(struct bkt_write_cache *d, const struct bkt_wset *ws)
{
    for (unsigned l = BKT_LISTS; l-- > BKT_LIST_PART;)
        for (struct bkt_wchunk *c = d->list[l].head; c; c = c->next)
            if (c->rc == BKT_OK && (!ws || c->ws == ws))
                return c;
    return NULL;
}

static bool under_way(const struct bkt_write_cache *d, const struct bkt_wset *ws)
{
    if (!ws || !d->window.n)
        return d->window.n > 0;
    for (const struct bkt_wchunk *c = d->list[BKT_LIST_IDLE].head; c; c = c->next)
        if (c->task && c->ws == ws)
            return true;
    return false;
}

/* Failures from here on are reported by flush_end(). */
static void flush_begin(struct bkt_write_cache *d, const struct bkt_wset *ws)
{
    struct bkt_wchunk *c;
    (void)failed(d, ws, true);
    d->n_flushes++;
    while (has_room(d) && (c = next_to_store(d, ws)))
        bkt_store_task_begin(c, true);
}

static int flush_end(struct bkt_write_cache *d, const struct bkt_wset *ws, struct bkt_err *err)
{
    for (;;) {
        struct bkt_wchunk *c = has_room(d) || !d->window.n ? next_to_store(d, ws) : NULL;
        if (c)
            bkt_store_task_begin(c, true);
        else if (under_way(d, ws))
            bkt_store_tasks_wait(d);
        else
            break;
    }
    struct bkt_wchunk *bad = failed(d, ws, false);
    bkt_unstored_note(d, ws);
    return bad ? bkt_err_copy(err, bad->rc, bad->err) : BKT_OK;
}

void bkt_chunks_flush_begin(struct bkt_domain *dom)
{
    BKT_CLEANUP(bkt_write_cache_leave) struct bkt_write_cache *d = bkt_write_cache_enter(dom);
    if (d)
        flush_begin(d, NULL);
}

int bkt_chunks_flush_end(struct bkt_domain *dom, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_write_cache_leave) struct bkt_write_cache *d = bkt_write_cache_enter(dom);
    return d ? flush_end(d, NULL, err) : BKT_OK;
}

int bkt_chunks_flush(struct bkt_domain *dom, struct bkt_err *err)
{
    bkt_chunks_flush_begin(dom);
    return bkt_chunks_flush_end(dom, err);
}

int bkt_chunks_flush_dataset(struct bkt_domain *dom, const struct bkt_id *dset, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_write_cache_leave) struct bkt_write_cache *d = bkt_write_cache_enter(dom);
    struct bkt_wset *ws = d ? bkt_wset_find(d, dset) : NULL;
    if (!ws)
        return BKT_OK;
    flush_begin(d, ws);
    return flush_end(d, ws, err);
}

bool bkt_chunks_dirty(struct bkt_domain *dom)
{
    BKT_CLEANUP(bkt_write_cache_leave) struct bkt_write_cache *d = bkt_write_cache_enter(dom);
    return d && (d->n_dirty || d->window.n || d->any_untrimmed);
}
