/* Large requests: whole chunks go straight from the caller's memory to the store.  Workers encode them.
 * Chunks that need no encoding and lie in memory as a whole are sent from there.  The call waits for them.
 * They don't pass the cache, where data that fill it several times over would only evict each other. */
#include "base/os/thread.h"
#include "chunk/write/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/trace.h"
#include "schema/edit/agreed.h"
#include "schema/edit/edit.h"

struct bkt_uncached_write_task {
    struct bkt_job job;
    struct bkt_req req;
    struct bkt_uncached_write *call;
    const struct bkt_write_plan *p;
    uint64_t k, cost;
    uint64_t coord[BKT_MAX_RANK];
    unsigned char *tmp;
    struct bkt_buf out, key;
};

void bkt_uncached_write_init(struct bkt_uncached_write *r, uint64_t limit)
{
    memset(r, 0, sizeof *r);
    bkt_window_init(&r->window, limit);
    atomic_init(&r->cancel, false);
}

static void end(struct bkt_uncached_write_task *t, int rc, const struct bkt_err *why)
{
    struct bkt_uncached_write *r = t->call;
    uint64_t           cost = t->cost;
    struct bkt_err     err = {0};
    if (rc < 0) {
        (void)bkt_err_copy(&err, rc, why);
        (void)BKT_ERR(&err, rc, "%s: not stored", bkt_chunk_label(t->p->io, t->coord).text);
    } else {
        struct bkt_write_cache *d = t->p->ws->cache;
        (void)pthread_mutex_lock(&d->window.lock);
        bkt_wset_note_stored(t->p->ws, t->coord);
        (void)pthread_mutex_unlock(&d->window.lock);
    }
    bkt_req_fini(&t->req);
    bkt_buf_fini(&t->out);
    bkt_buf_fini(&t->key);
    free(t->tmp);
    free(t);
    (void)pthread_mutex_lock(&r->window.lock);
    if (rc < 0 && r->rc == BKT_OK) {
        r->rc  = rc;
        r->err = err;
        atomic_store(&r->cancel, true);
    }
    bkt_window_end(&r->window, cost);
    (void)pthread_mutex_unlock(&r->window.lock);
}

static void stored(struct bkt_req *q) { end(q->arg, q->rc, q->err); }

/* Gives the chunk in one piece. */
static int whole(struct bkt_uncached_write_task *t, const unsigned char **src, struct bkt_err *err)
{
    const struct bkt_dsetio *io = t->p->io;
    if ((*src = bkt_write_plan_whole(t->p, t->k)))
        return BKT_OK;
    BKT_NEED(err, (t->tmp = malloc(io->chunk_bytes)));
    *src = t->tmp;
    return bkt_write_plan_gather(t->p, t->k, t->coord, t->tmp, err);
}

/* From now on only the encoded bytes count as under way, so there is room for more. */
static void note_encoded(struct bkt_uncached_write_task *t)
{
    struct bkt_window *w = &t->call->window;
    BKT_HOLD(&w->lock);
    bkt_window_resize(w, &t->cost, bkt_max_u64(t->out.cap, BKT_TASK_COST_MIN));
}

static int prepare(struct bkt_uncached_write_task *t, struct bkt_err *err)
{
    const struct bkt_dsetio *io = t->p->io;
    const unsigned char     *src;
    BKT_FAIL_IF(err, atomic_load(&t->call->cancel), BKT_ECANCEL, "cancelled");
    BKT_PASS(bkt_chunk_key(&io->obj->id, &io->ds->layout, t->coord, &t->key));
    BKT_PASS(whole(t, &src, err));
    t->req = (struct bkt_req){.op = BKT_PUT,
                              .key = bkt_buf_str(&t->key),
                              .put = src,
                              .put_len = io->chunk_bytes,
                              .done = stored,
                              .arg = t,
                              .cancel = &t->call->cancel};
    if (bkt_chunk_object_is_unencoded(io))
        return BKT_OK;
    BKT_PASS(bkt_chunk_object_encode(io, src, io->chunk_bytes, &t->out, err));
    free(t->tmp);
    t->tmp         = NULL;
    t->req.put     = t->out.ptr;
    t->req.put_len = t->out.len;
    note_encoded(t);
    return BKT_OK;
}

static void task_job(struct bkt_job *job)
{
    struct bkt_uncached_write_task *t = BKT_OWNER(struct bkt_uncached_write_task, job, job);
    struct bkt_err          err = {0};
    int                     rc  = prepare(t, &err);
    if (rc < 0)
        end(t, rc, &err);
    else
        bkt_store_start(bkt_domain_store(t->p->io->dom), &t->req);
}

void bkt_uncached_write_wait(struct bkt_uncached_write *r)
{
    bkt_window_enter(&r->window, 0);
}

/* Drops the cached copy of a chunk that is wholly overwritten.  False: the copy isn't stored yet, and must
 * not get lost if the new values can't be stored either; or it is being stored right now.  Then the chunk is
 * left to the cache, which keeps the order. */
static bool drop_kept(const struct bkt_write_plan *p, const uint64_t *coord)
{
    struct bkt_write_cache *d = p->ws->cache;
    BKT_HOLD(&d->window.lock);
    struct bkt_wchunk *c  = bkt_wchunk_find(p->ws, coord);
    bool               ok = !c || (!c->task && !bkt_wchunk_is_dirty(c));
    if (c && ok)
        bkt_wchunk_drop(c);
    return ok;
}

int bkt_uncached_write_start(struct bkt_uncached_write *r, const struct bkt_write_plan *p, uint64_t k,
                             const uint64_t *coord, bool *started, struct bkt_err *err)
{
    const struct bkt_dsetio *io = p->io;
    *started                    = drop_kept(p, coord);
    if (!*started)
        return BKT_OK;
    struct bkt_uncached_write_task *t = calloc(1, sizeof *t);
    BKT_NEED(err, t);
    t->call = r, t->p = p, t->k = k;
    t->job.run = task_job;
    t->cost = bkt_max_u64((uint64_t)io->chunk_bytes * (bkt_chunk_object_is_unencoded(io) ? 1 : 2),
                          BKT_TASK_COST_MIN);
    memcpy(t->coord, coord, io->rank * sizeof *coord);
    r->dom = io->dom;
    /* ready: a worker has nothing to do */
    bool ready = bkt_chunk_object_is_unencoded(io) && bkt_write_plan_whole(p, k);
    bkt_window_enter(&r->window, t->cost);
    if (ready || io->pipe.by_caller)
        task_job(&t->job);
    else
        bkt_pool_submit(&t->job);
    return BKT_OK;
}

/* Stores a new domain's objects while chunks are under way: most objects don't change any more when their
 * data come. The next flush reports objects that can't be written. */
static void flush_objects(struct bkt_uncached_write *r)
{
    (void)pthread_mutex_lock(&r->window.lock);
    struct bkt_domain *dom = atomic_load(&r->window.n) && r->rc == BKT_OK ? r->dom : NULL;
    (void)pthread_mutex_unlock(&r->window.lock);
    struct bkt_err err = {.n = 0};
    if (dom && bkt_domain_is_new(dom) && !bkt_edit_is_agreed(dom) && bkt_domain_flush_new(dom, &err) < 0)
        bkt_trace(BKT_TRACE_CHUNK, "objects not written beside their chunks: %s",
                  bkt_err_reason(&err, err.code));
}

int bkt_uncached_write_finish(struct bkt_uncached_write *r, struct bkt_err *err)
{
    flush_objects(r);
    bkt_window_enter(&r->window, 0);
    int rc = bkt_err_copy(err, r->rc, &r->err);
    bkt_window_fini(&r->window);
    return rc;
}
