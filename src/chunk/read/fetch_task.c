/* Tasks: made, started, reported, ended. */
#include "chunk/read/fetch_task.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "chunk/dataset/chunk_object.h"

/* Bytes that a chunk of unknown length counts for: with more, too few chunks are under way. */
#define VAR_COST (256u << 10)

/* ---- ends ---- */

void bkt_run_fail(struct bkt_run_state *run, int rc, const struct bkt_err *err)
{
    (void)pthread_mutex_lock(&run->window.lock);
    bool first = run->rc == BKT_OK; /* cancellations caused by the first failure are not reported */
    if (first) {
        run->rc = rc;
        if (err)
            run->err = *err;
        atomic_store(run->cancel, true);
    }
    (void)pthread_mutex_unlock(&run->window.lock);
    if (first)
        bkt_store_cancelled();
}

static void task_free(struct bkt_task *k)
{
    for (size_t i = 0; i < k->n_reqs; i++)
        bkt_req_fini(&k->reqs[i]);
    free(k->reqs);
    free(k->pours);
    free(k->pieces);
    bkt_centry_release(k->e);
    bkt_buf_fini(&k->key_buf);
    free(k);
}

void bkt_task_end(struct bkt_task *k)
{
    struct bkt_run_state *run  = k->run;
    uint64_t              cost = k->cost;
    task_free(k);
    bkt_window_leave(&run->window, cost);
}

void bkt_task_leave(struct bkt_task *k)
{
    if (atomic_fetch_sub(&k->users, 1) == 1)
        bkt_task_end(k);
}

void bkt_task_fail(struct bkt_task *k, const struct bkt_seg *s, int rc, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    uint64_t                                 coord[BKT_MAX_RANK];
    bkt_grid_coord(&s->t->grid, s->k, coord);
    const struct bkt_chunk_label chunk = bkt_chunk_label(s->t->io, coord);
    int told = k->is_native ? bkt_buf_addf(&b, "%s, object %s/%s", chunk.text, bkt_store_uri(k->store), k->key)
                            : bkt_buf_addf(&b, "%s, bytes %llu+%llu of %s/%s", chunk.text, (unsigned long long)s->off,
                                           (unsigned long long)s->len, bkt_store_uri(k->store), k->key);
    bkt_err_name(err, rc, told < 0 ? chunk.text : bkt_buf_str(&b));
    bkt_run_fail(k->run, rc, err);
}

/* ---- arrivals: on the store's thread, so nothing here takes long ---- */

static int check_native(struct bkt_task *k, struct bkt_err *err)
{
    const struct bkt_req *q    = &k->reqs[0];
    uint64_t              want = k->native.t->io->chunk_bytes;
    if (q->rc == BKT_ENOENT) {
        k->missing = true;
        return BKT_OK;
    }
    if (q->rc == BKT_ERANGE)
        BKT_FAIL(err, BKT_EFORMAT, "chunk object is empty instead of %llu bytes", (unsigned long long)want);
    if (q->rc < 0)
        return bkt_err_copy(err, q->rc, q->err);
    /* a checksum of 4 bytes may follow, which HSDS accepts */
    if (k->plain && (q->n != want || (q->size != UINT64_MAX && q->size != want && q->size != want + 4)))
        BKT_FAIL(err, BKT_EFORMAT, "chunk object has %llu bytes instead of %llu",
                 (unsigned long long)(q->n < want || q->size == UINT64_MAX ? q->n : q->size), (unsigned long long)want);
    return BKT_OK;
}

/* Reports that the file ends before the end of one part. */
static int too_short(const struct bkt_task *k, const struct bkt_req *q, struct bkt_err *err)
{
    uint64_t off = bkt_max_u64(q->off, k->segs[0].off), last = bkt_min_u64(q->off + q->len, k->need_end) - 1;
    if (k->segs[0].file->object)
        return BKT_OK; /* check_slice() has compared its size */
    if (q->size == UINT64_MAX)
        BKT_FAIL(err, BKT_EFORMAT, "the file ends before byte %llu that the reference needs", (unsigned long long)(last + 1));
    BKT_FAIL(err, BKT_EFORMAT, "the file has %llu bytes, the reference needs %llu..%llu", (unsigned long long)q->size,
             (unsigned long long)off, (unsigned long long)last);
}

/* Checks the answer for a part of a chunk object, which may be missing, of the chunk's size, or 4 bytes
 * longer (a checksum). */
static int check_slice(struct bkt_task *k, const struct bkt_req *q, struct bkt_err *err)
{
    uint64_t want = k->segs[0].t->io->chunk_bytes;
    k->missing |= q->rc == BKT_ENOENT;
    if (k->missing || (q->rc < 0 && q->rc != BKT_ERANGE))
        return BKT_OK;
    if (q->rc == BKT_ERANGE || q->n < bkt_min_u64(q->len, k->need_end - bkt_min_u64(q->off, k->need_end)) ||
        (q->size != UINT64_MAX && q->size != want && q->size != want + 4))
        BKT_FAIL(err, BKT_EFORMAT, "chunk object has %llu bytes instead of %llu",
                 (unsigned long long)(q->size == UINT64_MAX ? q->n : q->size), (unsigned long long)want);
    return BKT_OK;
}

static int check_ref(struct bkt_task *k, struct bkt_err *err)
{
    bool object = k->segs[0].file->object;
    for (size_t i = 0; i < k->n_reqs; i++) {
        const struct bkt_req *q = &k->reqs[i];
        if (object)
            BKT_PASS(check_slice(k, q, err));
        if (q->rc == BKT_ERANGE || (q->rc == BKT_OK && q->n < q->len && q->off + q->n < k->need_end))
            BKT_PASS(too_short(k, q, err));
        if (q->rc == BKT_ENOENT && !object) {
            (void)bkt_err_copy(err, q->rc, q->err);
            BKT_FAIL(err, q->rc, "the file that the dataset refers to does not exist");
        }
        if (q->rc < 0 && q->rc != BKT_ENOENT)
            return bkt_err_copy(err, q->rc, q->err);
    }
    /* widened beyond the end of the file */
    if (k->e && k->n_reqs == 1 && !k->missing)
        k->e->len = (size_t)k->reqs[0].n;
    return BKT_OK;
}

static void task_arrived(struct bkt_task *k)
{
    struct bkt_err err;
    bkt_err_clear(&err);
    int rc = k->is_native ? check_native(k, &err) : check_ref(k, &err);
    if (rc == BKT_OK && k->streamed)
        rc = bkt_stream_check(k, &err);
    if (rc < 0)
        bkt_task_fail(k, k->segs, rc, &err);
    if (k->streamed)
        bkt_stream_end(k);
    else if (rc < 0 || atomic_load(k->run->cancel))
        bkt_task_end(k);
    else
        bkt_task_ready(k);
}

static void part_done(struct bkt_req *q)
{
    struct bkt_task *k = q->arg;
    if (atomic_fetch_sub(&k->parts, 1) == 1)
        task_arrived(k);
}

/* ---- tasks ---- */

static struct bkt_req *add_req(struct bkt_task *k, uint64_t off, uint64_t len, void *dst)
{
    struct bkt_req *q = &k->reqs[k->n_reqs++];
    q->op             = BKT_GET;
    q->key            = k->key;
    q->off            = off;
    q->len            = len;
    q->dst            = dst;
    q->may_be_short   = len != BKT_WHOLE; /* our own message has more details */
    q->if_match       = k->etag;
    q->version        = k->version;
    q->cancel         = k->run->cancel;
    q->done           = part_done;
    q->arg            = k;
    return q;
}

void bkt_task_start(struct bkt_task *k)
{
    struct bkt_store *store = k->store;
    struct bkt_req   *reqs  = k->reqs;
    size_t            n     = k->n_reqs; /* the task is freed once its last part is done */
    if (!n) {
        bkt_task_ready(k);
        return;
    }
    atomic_store(&k->parts, n);
    for (size_t i = 0; i < n; i++)
        bkt_store_start(store, &reqs[i]);
}

/* Adds a request whose body goes to the caller's memory run by run. */
static void add_poured(struct bkt_task *k, uint64_t off, uint64_t len)
{
    struct bkt_pour *c = &k->pours[k->n_reqs];
    struct bkt_req  *q = add_req(k, off, len, NULL);
    c->segs            = k->segs;
    c->n_segs          = k->n_segs;
    c->off             = off;
    q->sink            = bkt_pour;
    q->sink_arg        = c;
}

static struct bkt_task *task_new(struct bkt_run_state *run, size_t n_reqs)
{
    struct bkt_task *k = calloc(1, sizeof *k);
    if (!k || !(k->reqs = calloc(n_reqs + 1, sizeof *k->reqs))) {
        free(k);
        return NULL;
    }
    k->run  = run;
    k->keep = run->keep;
    return k;
}

/* Decides where unfiltered bytes go: straight to the caller in one piece, or run by run, or into memory of
 * ours. */
static int place_bytes(struct bkt_task *k, size_t n_parts, uint64_t len, unsigned char *direct)
{
    if ((k->direct = direct))
        return BKT_OK;
    if (!k->keep && bkt_pour_fits(k->segs, k->n_segs))
        return (k->pours = calloc(n_parts, sizeof *k->pours)) ? BKT_OK : BKT_ENOMEM;
    /* filtered bytes are kept only if more were fetched than needed */
    bool cached = k->keep && (!k->segs[0].filtered || k->off + len > k->need_end || k->off < k->segs[0].off);
    k->e        = cached ? bkt_centry_new((size_t)len) : bkt_centry_scratch((size_t)len);
    return k->e ? BKT_OK : BKT_ENOMEM;
}

int bkt_task_native(struct bkt_run_state *run, struct bkt_target *t, uint64_t n, struct bkt_task **out, struct bkt_err *err)
{
    uint64_t     coord[BKT_MAX_RANK];
    struct bkt_task *k = task_new(run, 1);
    if (!k)
        BKT_NOMEM(err);
    bkt_grid_coord(&t->grid, n, coord);
    k->is_native = true;
    k->plain     = bkt_stored_is_plain(t->io);
    k->native    = (struct bkt_seg){.t = t, .k = n, .len = t->io->chunk_bytes, .n_runs = UINT64_MAX};
    k->segs      = &k->native;
    k->n_segs    = 1;
    k->store     = bkt_domain_store(t->io->dom);
    k->space     = t->io->space;
    int rc       = bkt_chunk_key(&t->io->obj->id, &t->io->ds->layout, coord, &k->key_buf);
    if (rc == BKT_OK && k->plain)
        rc = place_bytes(k, 1, t->io->chunk_bytes, bkt_scatter_whole(t, n));
    if (rc < 0) {
        task_free(k);
        BKT_FAIL(err, rc, "%s", bkt_chunk_label(t->io, coord).text);
    }
    k->key  = bkt_buf_str(&k->key_buf);
    k->cost = t->io->var ? VAR_COST : t->io->chunk_bytes;
    if (k->plain && k->pours)
        add_poured(k, 0, t->io->chunk_bytes);
    else if (k->plain)
        (void)add_req(k, 0, t->io->chunk_bytes, k->direct ? k->direct : k->e->data);
    else
        (void)add_req(k, 0, BKT_WHOLE, NULL);
    *out = k;
    return BKT_OK;
}

static void set_range(struct bkt_task *k, const struct bkt_seg *next, uint64_t len, uint64_t near)
{
    const struct bkt_seg        *s = &k->segs[0];
    const struct bkt_chunk_file *f = s->file;
    k->store    = f->store;
    k->key      = f->key;
    k->etag     = f->etag;
    k->version  = f->version;
    k->space    = f->space;
    k->base     = f->base;
    k->off      = s->off;
    k->len      = len;
    k->need_end = k->off + len;
    if (s->t->io->cache && (!s->filtered || near))
        k->e = bkt_cache_cover(s->t->io->cache, k->space, k->base + k->off, (size_t)len, &k->delta);
    if (k->e && k->run->passing)
        bkt_cache_forget(s->t->io->cache, k->space, k->base + k->off, len);
    if (!k->e && near)
        bkt_near_widen(k, next, near);
}

/* Whether chunks can be decoded as they arrive.  Not if a cache will keep them, since the bytes must be
 * certain first; and not from a directory, where a range is read in one piece anyway. */
static bool can_stream(const struct bkt_task *k)
{
    return !k->run->keep && !k->keep && k->len <= k->run->lim.part && !bkt_store_is_local(k->store) && bkt_stream_fits(k->segs, k->n_segs);
}

int bkt_task_range(struct bkt_run_state *run, struct bkt_segs *segs, size_t at, size_t n, uint64_t len, uint64_t near,
                   struct bkt_task **out, struct bkt_err *err)
{
    struct bkt_seg  *s          = &segs->v[at];
    size_t           n_filtered = 0, n_parts = (size_t)bkt_ceil_div(len, run->lim.part) + 1;
    struct bkt_task *k          = task_new(run, n_parts);
    if (!k)
        BKT_NOMEM(err);
    k->segs = s, k->n_segs = n;
    set_range(k, at + n < segs->n ? s + n : NULL, len, near);
    k->cost = k->len; /* the decoded elements go to memory of a few workers, of the cache, or of the caller */
    for (size_t i = 0; i < n; i++)
        n_filtered += s[i].filtered;
    bool found = k->e != NULL, stream = !found && can_stream(k);
    int  rc    = found || stream ? BKT_OK : place_bytes(k, n_parts, k->len, k->len == len ? bkt_segs_direct(s, n) : NULL);
    if (rc == BKT_OK && n_filtered && !(k->pieces = calloc(n_filtered, sizeof *k->pieces)))
        rc = BKT_ENOMEM;
    if (rc < 0) {
        task_free(k);
        BKT_FAIL(err, rc, "out of memory for %llu bytes of %s", (unsigned long long)len, s->file->key);
    }
    if (stream) {
        struct bkt_req *q = add_req(k, k->off, k->len, NULL);
        q->sink           = bkt_stream;
        q->sink_arg       = k;
        bkt_stream_begin(k);
    }
    unsigned char *dst = k->direct ? k->direct : k->e ? k->e->data : NULL;
    for (uint64_t o = 0; !found && !stream && o < k->len; o += run->lim.part)
        if (k->pours)
            add_poured(k, k->off + o, bkt_min_u64(run->lim.part, k->len - o));
        else
            (void)add_req(k, k->off + o, bkt_min_u64(run->lim.part, k->len - o), dst + o);
    *out = k;
    return BKT_OK;
}
