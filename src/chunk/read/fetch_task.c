/* Tasks: made, started, reported, ended. */
#include "chunk/read/fetch_task.h"

#include <stdlib.h>

#include "base/num.h"
#include "chunk/dataset/dataset.h"

/* Bytes that a chunk of unknown length counts for: with more, too few chunks are under way. */
#define VAR_COST (256u << 10)

/* ---- ends ---- */

void bkt_fetch_fail(struct bkt_read_call *call, int rc, const struct bkt_err *err)
{
    (void)pthread_mutex_lock(&call->window.lock);
    bool first = call->rc == BKT_OK; /* cancellations caused by the first failure are not reported */
    if (first) {
        call->rc = rc;
        if (err)
            call->err = *err;
        atomic_store(call->cancel, true);
    }
    (void)pthread_mutex_unlock(&call->window.lock);
    if (first)
        bkt_store_cancelled();
}

static void task_free(struct bkt_fetch_task *k)
{
    bkt_cache_entry_release(k->e);
    for (size_t i = 0; i < k->n_reqs; i++)
        bkt_req_fini(&k->reqs[i]);
    free(k->reqs);
    free(k->key);
    free(k);
}

void bkt_fetch_task_end(struct bkt_fetch_task *k)
{
    struct bkt_read_call *call = k->call;
    uint64_t              cost = k->cost;
    task_free(k);
    bkt_window_leave(&call->window, cost);
}

void bkt_fetch_task_leave(struct bkt_fetch_task *k)
{
    if (atomic_fetch_sub(&k->users, 1) == 1)
        bkt_fetch_task_end(k);
}

static bool is_whole(const struct bkt_fetch_task *k) { return k->range.segs == &k->whole; }

void bkt_fetch_task_fail(struct bkt_fetch_task *k, const struct bkt_read_segment *s, int rc,
                         struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    uint64_t                                 coord[BKT_MAX_RANK];
    const char                              *store = bkt_store_uri(s->file->store), *key = s->file->key;
    bkt_grid_coord(&s->t->grid, s->k, coord);
    const struct bkt_chunk_label chunk = bkt_chunk_label(s->t->io, coord);
    int reported = is_whole(k)
                       ? bkt_buf_addf(&b, "%s, object %s/%s", chunk.text, store, key)
                       : bkt_buf_addf(&b, "%s, bytes %llu+%llu of %s/%s", chunk.text,
                                      (unsigned long long)s->off, (unsigned long long)s->len, store, key);
    bkt_err_name(err, rc, reported < 0 ? chunk.text : bkt_buf_str(&b));
    bkt_fetch_fail(k->call, rc, err);
}

/* ---- arrivals: on the store's thread, so nothing here takes long ---- */

/* Reports that the file ends before the end of one part. */
static int too_short(const struct bkt_fetch_task *k, const struct bkt_req *q, struct bkt_err *err)
{
    uint64_t off = bkt_max_u64(q->off, k->range.segs->off),
             last = bkt_min_u64(q->off + q->len, k->range.need_end) - 1;
    if (k->range.segs->file->object)
        return BKT_OK; /* check_object() has compared its size */
    BKT_FAIL_IF(err, q->size == UINT64_MAX, BKT_EFORMAT,
                "the file ends before byte %llu that the reference needs", (unsigned long long)(last + 1));
    BKT_FAIL(err, BKT_EFORMAT, "the file has %llu bytes, the reference needs %llu..%llu",
             (unsigned long long)q->size, (unsigned long long)off, (unsigned long long)last);
}

/* Checks the answer for bytes of a chunk object.  The object may be missing, have the chunk's size, or be 4
 * bytes longer: HSDS accepts a checksum there. */
static int check_object(struct bkt_fetch_task *k, const struct bkt_req *q, struct bkt_err *err)
{
    uint64_t want = k->range.segs->t->io->chunk_bytes, end = k->range.need_end;
    k->missing |= q->rc == BKT_ENOENT;
    if (k->missing || (q->rc < 0 && q->rc != BKT_ERANGE))
        return BKT_OK;
    BKT_FAIL_IF(err, q->rc == BKT_ERANGE && is_whole(k), BKT_EFORMAT,
                "chunk object is empty instead of %llu bytes", (unsigned long long)want);
    if (k->way->encoded)
        return BKT_OK;
    BKT_FAIL_IF(err,
                q->rc == BKT_ERANGE || q->n < bkt_min_u64(q->len, end - bkt_min_u64(q->off, end)) ||
                    (q->size != UINT64_MAX && q->size != want && q->size != want + 4),
                BKT_EFORMAT, "chunk object has %llu bytes instead of %llu",
                (unsigned long long)(q->size == UINT64_MAX ? q->n : q->size), (unsigned long long)want);
    return BKT_OK;
}

static int check(struct bkt_fetch_task *k, struct bkt_err *err)
{
    bool object = k->range.segs->file->object;
    for (size_t i = 0; i < k->n_reqs; i++) {
        const struct bkt_req *q = &k->reqs[i];
        if (object)
            BKT_PASS(check_object(k, q, err));
        if (q->rc == BKT_ERANGE || (q->rc == BKT_OK && q->n < q->len && q->off + q->n < k->range.need_end))
            BKT_PASS(too_short(k, q, err));
        if (q->rc == BKT_ENOENT && !object) {
            (void)bkt_err_copy(err, q->rc, q->err);
            BKT_FAIL(err, q->rc, "the file that the dataset refers to does not exist");
        }
        if (q->rc < 0 && q->rc != BKT_ENOENT)
            return bkt_err_copy(err, q->rc, q->err);
    }
    return BKT_OK;
}

static void arrived(struct bkt_fetch_task *k, bool ok)
{
    const struct bkt_way *way = k->way;
    if (way->arrived) {
        way->arrived(k, ok);
    } else if (ok && (way->owns_bytes || k->missing || k->range.keep)) {
        atomic_store(&k->users, 1);
        bkt_decode_use(k, way->encoded && !k->missing ? UINT64_MAX : k->range.len);
    } else {
        bkt_fetch_task_end(k);
    }
}

static void check_arrived(struct bkt_fetch_task *k)
{
    struct bkt_err err;
    bkt_err_clear(&err);
    int rc = check(k, &err);
    if (rc == BKT_OK && k->way->check)
        rc = k->way->check(k, &err);
    if (rc < 0)
        bkt_fetch_task_fail(k, k->range.segs, rc, &err);
    arrived(k, rc == BKT_OK && !atomic_load(k->call->cancel));
}

static void part_done(struct bkt_req *q)
{
    struct bkt_fetch_task *k = q->arg;
    if (atomic_fetch_sub(&k->parts, 1) == 1)
        check_arrived(k);
}

void bkt_fetch_task_start(struct bkt_fetch_task *k)
{
    struct bkt_store *store = k->range.segs->file->store;
    struct bkt_req   *reqs  = k->reqs;
    size_t            n     = k->n_reqs; /* the task is freed once its last part is done */
    if (!n) {
        arrived(k, true);
        return;
    }
    atomic_store(&k->parts, n);
    for (size_t i = 0; i < n; i++)
        bkt_store_start(store, &reqs[i]);
}

/* ---- tasks made ---- */

/* Adds n requests for the range, of @p part bytes each. */
static void add_reqs(struct bkt_fetch_task *k, size_t n, uint64_t part)
{
    const struct bkt_range      *r = &k->range;
    const struct bkt_chunk_file *f = r->segs->file;
    for (uint64_t o = 0; k->n_reqs < n; o += part) {
        struct bkt_req *q = &k->reqs[k->n_reqs];
        q->op             = BKT_GET;
        q->key            = f->key;
        q->off            = r->off + o;
        q->len            = bkt_min_u64(part, r->len - o);
        q->may_be_short   = true; /* the message made here has more details */
        q->if_match       = f->etag;
        q->version        = f->version;
        q->cancel         = k->call->cancel;
        q->done           = part_done;
        q->arg            = k;
        if (k->way->encoded)
            q->len = BKT_WHOLE, q->may_be_short = false;
        else if (k->way->aim)
            k->way->aim(k, q);
        else
            q->dst = k->bytes + (size_t)o;
        k->n_reqs++;
    }
}

/* @p part: bytes of one request at most; BKT_WHOLE: the range is a whole chunk object, whose description is
 * copied. NULL: out of memory.  Takes `found` of the place over. */
static struct bkt_fetch_task *task_new(struct bkt_read_call *call, const struct bkt_range *r,
                                       const struct bkt_body_target *place, uint64_t part)
{
    size_t           n = place->found ? 0 : bkt_max_u64(bkt_ceil_div(r->len, part), 1);
    struct bkt_fetch_task *k =
        calloc(1, place->way->size + n * place->way->per_request + r->n_filtered * place->way->per_chunk);
    if (!k) {
        bkt_cache_entry_release(place->found);
        return NULL;
    }
    k->call  = call;
    k->way   = place->way;
    k->range = *r;
    k->bytes = place->dst;
    k->cost = r->len; /* the decoded elements go to memory of a few workers, of the cache, or of the caller */
    if (part == BKT_WHOLE) {
        k->object     = *r->segs->file;
        k->whole      = *r->segs;
        k->whole.file = &k->object;
        k->range.segs = &k->whole;
    }
    k->e = place->found;
    if (k->way->in_entry && !k->e)
        k->e = r->keep ? bkt_cache_entry_new((size_t)r->len) : bkt_cache_entry_scratch((size_t)r->len);
    if (k->e)
        k->bytes = k->e->data + place->delta;
    if ((k->way->in_entry && !k->e) || (n && !(k->reqs = calloc(n, sizeof *k->reqs)))) {
        task_free(k);
        return NULL;
    }
    if (k->way->begin)
        k->way->begin(k);
    add_reqs(k, n, part);
    return k;
}

/* @p dst: the memory to which the bytes can go unchanged; NULL: there is no such memory. */
static struct bkt_body_target place_of(const struct bkt_read_call *call, const struct bkt_range *r,
                                       unsigned char *dst)
{
    /* Whether chunks can be decoded as they arrive.  If a cache will keep the chunks, the bytes must be
     * certain first.  From a directory a range is read in one piece anyway. */
    if (!call->lim.keep && !r->keep && r->len <= call->lim.part &&
        !bkt_store_is_local(r->segs->file->store) && bkt_receive_chunks_fit(r->segs, r->n_segs))
        return (struct bkt_body_target){.way = &bkt_way_chunks};
    if (dst)
        return (struct bkt_body_target){.way = &bkt_way_straight, .dst = dst};
    return (struct bkt_body_target){
        .way = !r->keep && bkt_receive_runs_fit(r->segs, r->n_segs) ? &bkt_way_runs : &bkt_way_memory};
}

int bkt_fetch_task_object(struct bkt_read_call *call, struct bkt_target *t, uint64_t n,
                          struct bkt_fetch_task **out, struct bkt_err *err)
{
    uint64_t                                 coord[BKT_MAX_RANK], len = t->io->chunk_bytes;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    bkt_grid_coord(&t->grid, n, coord);
    BKT_TRY(err, bkt_chunk_key(&t->io->obj->id, &t->io->ds->layout, coord, &key), "%s",
            bkt_chunk_label(t->io, coord).text);
    struct bkt_chunk_file file = {.store = bkt_domain_store(t->io->dom),
                                  .key = (char *)key.ptr,
                                  .object = true,
                                  .space = t->io->space,
                                  .base = bkt_grid_linear(&t->grid, coord)};
    struct bkt_read_segment seg = {.t = t, .file = &file, .k = n, .len = len, .n_runs = UINT64_MAX};
    struct bkt_range r = {.segs = &seg, .n_segs = 1, .len = len, .need_end = len, .keep = call->lim.keep};
    struct bkt_body_target place = {.way = &bkt_way_body};
    if (bkt_chunk_object_is_unencoded(t->io))
        place = place_of(call, &r, bkt_scatter_whole(t, n));
    struct bkt_fetch_task *k = task_new(call, &r, &place, BKT_WHOLE);
    BKT_FAIL_IF(err, !k, BKT_ENOMEM, "%s", bkt_chunk_label(t->io, coord).text);
    k->key = bkt_buf_steal(&key);
    if (t->io->var)
        k->cost = VAR_COST;
    *out = k;
    return BKT_OK;
}

/* The range's bytes in the cache; they are all that the task uses then. */
static struct bkt_cache_entry *find(const struct bkt_read_call *call, struct bkt_range *r, size_t *delta)
{
    const struct bkt_read_segment *s = r->segs;
    const struct bkt_chunk_file *f    = s->file;
    struct bkt_cache            *c    = s->t->io->cache;
    uint64_t                     pos  = f->base + s->off, len = r->need_end - s->off;
    struct bkt_cache_entry *e =
        c && (!s->filtered || r->block) ? bkt_cache_cover(c, f->space, pos, (size_t)len, delta) : NULL;
    if (!e)
        return NULL;
    if (call->passing)
        bkt_cache_forget_range(c, f->space, pos, len);
    r->off  = s->off;
    r->len  = len;
    r->keep = false;
    return e;
}

int bkt_fetch_task_range(struct bkt_read_call *call, const struct bkt_range *range,
                         struct bkt_fetch_task **out, struct bkt_err *err)
{
    struct bkt_range      r     = *range;
    const struct bkt_read_segment *s = r.segs;
    struct bkt_body_target place = {.way = &bkt_way_memory};
    uint64_t              need  = r.need_end - s->off;
    if (!(place.found = find(call, &r, &place.delta)))
        place = place_of(call, &r, r.len == need ? bkt_scatter_direct(s, r.n_segs) : NULL);
    BKT_FAIL_IF(err, !(*out = task_new(call, &r, &place, call->lim.part)), BKT_ENOMEM,
                "out of memory for %llu bytes of %s", (unsigned long long)need, s->file->key);
    return BKT_OK;
}
