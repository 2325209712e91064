/* Reads of chunks that were written; datasets made and deleted; chunks that could not be stored. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/os/thread.h"
#include "chunk/read/segments.h"
#include "chunk/write/write_cache.h"
#include "schema/edit/edit.h"

#define FREE_MIN (4u << 20) /* bytes; to free less takes no noticeable time */

/* Decode the bytes that the program encoded, and keep the elements beside them.  Lock held; released while
 *  the program's filters are called, so no task may be at work on the chunk. */
static int wchunk_decode_raw(struct bkt_wchunk *c, struct bkt_err *err)
{
    const struct bkt_dsetio *io   = c->ws->io;
    pthread_mutex_t *lock = &c->ws->cache->window.lock;
    BKT_CLEANUP(bkt_cache_entry_releasep) struct bkt_cache_entry *e = bkt_cache_entry_new(io->chunk_bytes);
    BKT_NEED(err, e);
    if (io->pipe.by_caller) /* a filter may call HDF5, which may call this connector */
        (void)pthread_mutex_unlock(lock);
    int rc = bkt_chunk_object_decode(io, &io->pipe, c->raw.ptr, c->raw.len, e->data, err);
    if (io->pipe.by_caller)
        (void)pthread_mutex_lock(lock);
    BKT_PASS(rc);
    bkt_cache_entry_release(c->e);
    c->e = bkt_cache_entry_take(&e);
    c->complete = true;
    return BKT_OK;
}

int bkt_wchunk_unraw(struct bkt_wchunk *c, struct bkt_err *err)
{
    /* a task that stores the earlier content; after a lost race it takes the program's encoded bytes, too */
    while (c->ws->io->pipe.by_caller && c->task && (c->is_raw || bkt_store_task_is_raw(c->task)))
        bkt_store_tasks_wait(c->ws->cache);
    if (!c->is_raw)
        return BKT_OK;
    BKT_PASS(wchunk_decode_raw(c, err));
    bkt_buf_fini(&c->raw);
    free(c->mask);
    c->mask    = NULL;
    c->n_dirty = 0;
    c->is_raw  = false;
    c->whole   = true;
    return BKT_OK;
}

/* Makes the chunk readable, or begins a task that does. */
static int start(struct bkt_wchunk *c, struct bkt_err *err)
{
    if (c->task)
        return BKT_OK;
    if (c->is_raw && !c->complete) {
        int rc = wchunk_decode_raw(c, err);
        bkt_wchunk_settle(c);
        return rc;
    }
    if (!c->complete && !bkt_wchunk_is_dirty(c)) { /* stored as the program encoded it: to be read from the
                                                      store like any other */
        bkt_wchunk_drop(c);
        return BKT_OK;
    }
    if (!c->complete) {
        bkt_wchunk_note(c, BKT_OK, NULL);
        bkt_store_task_begin(c, false);
    }
    return BKT_OK;
}

static int finish(struct bkt_wset *ws, const uint64_t *coord, struct bkt_err *err)
{
    struct bkt_write_cache *d = ws->cache;
    for (;;) {
        struct bkt_wchunk *c = bkt_wchunk_find(ws, coord);
        if (!c || (c->complete && !c->over))
            return BKT_OK;
        if (c->complete) {
            int rc = bkt_wchunk_serialise(c, err);
            bkt_wchunk_settle(c);
            return rc;
        }
        if (c->task) {
            bkt_store_tasks_wait(d);
        } else if (c->rc < 0 && !c->is_raw) { /* if the program encoded the chunk, all of it is there */
            int rc = bkt_err_copy(err, c->rc, c->err);
            bkt_wchunk_note(c, BKT_OK, NULL); /* the failure has been reported; the next read tries again */
            return rc;
        } else {
            BKT_PASS(start(c, err));
        }
    }
}

static int prepare(struct bkt_wset *ws, struct bkt_target *t, struct bkt_err *err)
{
    uint64_t coord[BKT_MAX_RANK];
    if (!bkt_map_count(ws->chunks))
        return BKT_OK;
    for (uint64_t k = 0; k < t->grid.n_chunks; k++) {
        bkt_grid_coord(&t->grid, k, coord);
        struct bkt_wchunk *c = bkt_wchunk_find(ws, coord);
        if (c && !c->complete)
            BKT_PASS(start(c, err));
    }
    for (uint64_t k = 0; k < t->grid.n_chunks; k++) {
        bkt_grid_coord(&t->grid, k, coord);
        BKT_PASS(finish(ws, coord, err));
    }
    return BKT_OK;
}

int bkt_write_cache_prepare(struct bkt_target *t, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_write_cache_leave) struct bkt_write_cache *d = bkt_write_cache_enter(t->io->dom);
    struct bkt_wset *ws = d ? bkt_wset_find(d, &t->io->obj->id) : NULL;
    if (!ws)
        return BKT_OK;
    bkt_wset_follow(ws, t->io);
    return prepare(ws, t, err);
}

struct bkt_cache_entry *bkt_write_cache_get(const struct bkt_dsetio *io, const uint64_t *coord)
{
    BKT_CLEANUP(bkt_write_cache_leave) struct bkt_write_cache *d = bkt_write_cache_enter(io->dom);
    struct bkt_wset *ws = d ? bkt_wset_find(d, &io->obj->id) : NULL;
    struct bkt_wchunk *c = ws ? bkt_wchunk_find(ws, coord) : NULL;
    /* outdated: its task has lost a race since it was prepared */
    return c && (c->complete || c->outdated) && c->e && !c->over ? bkt_cache_entry_retain(c->e) : NULL;
}

bool bkt_write_cache_knows(const struct bkt_dsetio *io)
{
    BKT_CLEANUP(bkt_write_cache_leave) struct bkt_write_cache *d = bkt_write_cache_enter(io->dom);
    return d && bkt_wset_find(d, &io->obj->id);
}

/* ---- datasets made and deleted ---- */

void bkt_chunks_new(struct bkt_dsetio *io)
{
    struct bkt_write_cache *d = io->where == BKT_AT_OBJECTS ? bkt_write_cache_of(io->dom, true) : NULL;
    if (!d) /* then chunks are looked for by requests */
        return;
    BKT_HOLD(&d->window.lock);
    struct bkt_wset *ws = bkt_wset_of(d, io);
    if (ws)
        ws->is_new = true;
}

void bkt_wset_wait(struct bkt_wset *ws)
{
    for (;;) {
        struct bkt_map_at at = {.pos = 0};
        struct bkt_wchunk *busy = NULL;
        while (!busy && bkt_map_walk(ws->chunks, &at))
            busy = ((struct bkt_wchunk *)at.value)->task ? at.value : NULL;
        if (!busy)
            break;
        bkt_store_tasks_wait(ws->cache);
    }
}

void bkt_wset_drop(struct bkt_wset *ws)
{
    struct bkt_map_at at = {.pos = 0};
    bkt_wset_wait(ws);
    while (bkt_map_walk(ws->chunks, &at)) /* deleting doesn't disturb the walk */
        bkt_wchunk_drop(at.value);
}

static void drop_clean(struct bkt_write_cache *d)
{
    struct bkt_wchunk *next;
    for (struct bkt_wchunk *c = d->list[BKT_LIST_IDLE].head; c; c = next) {
        next = c->next;
        if (!c->task)
            bkt_wchunk_drop(c);
    }
}

void bkt_write_cache_drop_clean(struct bkt_domain *dom)
{
    BKT_CLEANUP(bkt_write_cache_leave) struct bkt_write_cache *d = bkt_write_cache_enter(dom);
    if (d)
        drop_clean(d);
}

static void free_clean(struct bkt_job *job)
{
    struct bkt_write_cache *d = BKT_OWNER(struct bkt_write_cache, freeing, job);
    BKT_HOLD(&d->window.lock);
    drop_clean(d);
    d->is_freeing = false;
    bkt_window_end(&d->window, 0);
}

/* On a worker: to free a full cache takes time, for which the program would wait at the end of H5Fclose. */
void bkt_chunks_free_begin(struct bkt_domain *dom)
{
    struct bkt_write_cache *d = bkt_write_cache_of(dom, false);
    if (!d)
        return;
    (void)pthread_mutex_lock(&d->window.lock);
    bool begin = !d->is_freeing && d->used >= FREE_MIN;
    if (begin) {
        d->freeing    = (struct bkt_job){.run = free_clean};
        d->is_freeing = true;
        bkt_window_add(&d->window, 0);
    }
    (void)pthread_mutex_unlock(&d->window.lock);
    if (begin)
        bkt_pool_submit(&d->freeing);
}

void bkt_chunks_free_end(struct bkt_domain *dom)
{
    BKT_CLEANUP(bkt_write_cache_leave) struct bkt_write_cache *d = bkt_write_cache_enter(dom);
    while (d && d->is_freeing)
        bkt_store_tasks_wait(d);
}

void bkt_chunks_forget(struct bkt_domain *dom, const struct bkt_id *dset)
{
    if (bkt_write_cache_of(dom, false))
        bkt_ahead_stop(dom);
    BKT_CLEANUP(bkt_write_cache_leave) struct bkt_write_cache *d = bkt_write_cache_enter(dom);
    struct bkt_wset *ws = d ? bkt_wset_find(d, dset) : NULL;
    if (d && d->refs)
        (void)bkt_map_del(d->refs, dset->text, BKT_ID_LEN);
    if (ws) {
        bkt_wset_drop(ws);
        (void)bkt_map_del(d->sets, dset->text, strlen(dset->text));
        bkt_wset_free(ws);
    }
}

void bkt_chunks_refresh(struct bkt_domain *dom, const struct bkt_id *dset)
{
    struct bkt_map_at at = {.pos = 0};
    BKT_CLEANUP(bkt_write_cache_leave) struct bkt_write_cache *d = bkt_write_cache_enter(dom);
    struct bkt_wset *ws = d ? bkt_wset_find(d, dset) : NULL;
    if (!ws || bkt_edit_new_object(dom, dset)) /* nobody else knows it */
        return;
    bkt_wset_wait(ws);
    ws->is_new = false;
    for (unsigned i = 0; i < ws->io->rank; i++)
        ws->known[i] = UINT64_MAX;
    while (bkt_map_walk(ws->chunks, &at)) {
        struct bkt_wchunk *c = at.value;
        if (!c->is_raw)
            bkt_wchunk_forget_base(c);
    }
}

/* ---- chunks that a flush could not store: waiting extents, and names for messages ---- */

static bool is_behind(const struct bkt_wchunk *c)
{
    return c->rc < 0 && bkt_wchunk_is_dirty(c);
}

static bool set_is_behind(const struct bkt_wset *ws)
{
    struct bkt_map_at at = {.pos = 0};
    while (bkt_map_walk(ws->chunks, &at))
        if (is_behind(at.value))
            return true;
    return false;
}

void bkt_unstored_note(struct bkt_write_cache *d, const struct bkt_wset *ws)
{
    struct bkt_map_at at = {.pos = 0};
    if (ws)
        bkt_edit_extent_waits(d->dom, &ws->id, set_is_behind(ws));
    while (!ws && bkt_map_walk(d->sets, &at))
        bkt_unstored_note(d, at.value);
}

static int add_name(struct bkt_write_cache *d, const struct bkt_wchunk *c, struct bkt_message_names *out)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf text = {0};
    struct bkt_chunk_label label = bkt_chunk_label(c->ws->io, c->coord); /* "dataset ID chunk PLACE" */
    const char *place = strstr(label.text, "chunk ");
    BKT_PASS(bkt_buf_addf(&text, "%s of ", place ? place : label.text));
    BKT_PASS(bkt_domain_path_of(d->dom, &c->ws->id, &text));
    bkt_message_names_add(out, bkt_buf_str(&text));
    return BKT_OK;
}

void bkt_unstored_names(struct bkt_domain *dom, struct bkt_message_names *out)
{
    BKT_CLEANUP(bkt_write_cache_leave) struct bkt_write_cache *d = bkt_write_cache_enter(dom);
    for (unsigned l = BKT_LIST_PART; d && l < BKT_LISTS; l++)
        for (const struct bkt_wchunk *c = d->list[l].head; c; c = c->next)
            if (is_behind(c) &&
                (strlen(out->text) + BKT_ID_LEN > sizeof out->text || add_name(d, c, out) < 0))
                out->n++;
}
