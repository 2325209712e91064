/* Blocking calls of a store: batches of requests, one request, lists. */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/os/pool.h"
#include "base/os/thread.h"
#include "base/trace.h"
#include "storage/node_reads.h"
#include "storage/recorded_requests.h"
#include "storage/shared_puts.h"
#include "storage/stats.h"
#include "storage/store_impl.h"

/* Keys of a call whose requests are under way at once, in 0.3 MB.  Fewer make large deletions slower. */
#define DELETE_AT_ONCE 1000

void bkt_req_batch_init(struct bkt_req_batch *b, size_t n)
{
    (void)pthread_mutex_init(&b->lock, NULL);
    (void)pthread_cond_init(&b->done, NULL);
    b->n = b->left = n;
}

void bkt_req_batch_end_one(struct bkt_req_batch *b)
{
    BKT_HOLD(&b->lock);
    if (--b->left == 0)
        (void)pthread_cond_signal(&b->done);
}

void bkt_req_batch_wait(struct bkt_req_batch *b, bool help_pool)
{
    BKT_HOLD(&b->lock);
    while (b->left)
        if (help_pool)
            bkt_pool_wait(&b->done, &b->lock, NULL);
        else
            (void)pthread_cond_wait(&b->done, &b->lock);
}

void bkt_req_batch_fini(struct bkt_req_batch *b)
{
    (void)pthread_cond_destroy(&b->done);
    (void)pthread_mutex_destroy(&b->lock);
}

static void arrived(struct bkt_req *req)
{
    bkt_req_batch_end_one(&((struct bkt_await *)req->arg)->batch);
}

void bkt_await_start(struct bkt_node_reads *shared, struct bkt_store *st, struct bkt_await *w)
{
    bkt_req_batch_init(&w->batch, 1);
    w->req.done = arrived;
    w->req.arg  = w;
    bkt_node_reads_start(shared, st, &w->req);
}

bool bkt_await_arrived(struct bkt_await *w)
{
    BKT_HOLD(&w->batch.lock);
    return !w->batch.left;
}

void bkt_await(struct bkt_await *w)
{
    bkt_req_batch_wait(&w->batch, false);
}

void bkt_await_fini(struct bkt_await *w)
{
    if (!w->batch.n)
        return;
    bkt_await(w);
    bkt_req_fini(&w->req);
    bkt_req_batch_fini(&w->batch);
    w->batch.n = 0;
}

int bkt_store_perform(struct bkt_store *st, struct bkt_req *reqs, size_t n, struct bkt_err *err)
{
    return n ? bkt_store_perform_and(st, reqs, n, NULL, NULL, err) : BKT_OK;
}

static void perform_here(struct bkt_store *st, struct bkt_req *reqs, size_t n, void (*beside)(void *arg),
                         void *arg)
{
    struct bkt_req_batch b;
    bkt_req_batch_init(&b, n);
    for (size_t i = 0; i < n; i++)
        reqs[i].batch = &b;
    bkt_store_start_all(st, reqs, n);
    if (beside)
        beside(arg);
    /* local work waits in the pool: this thread helps, so that a pool thread may wait here, too */
    bkt_req_batch_wait(&b, st->ops->local);
    bkt_req_batch_fini(&b);
}

int bkt_store_perform_and(struct bkt_store *st, struct bkt_req *reqs, size_t n, void (*beside)(void *arg),
                          void *arg, struct bkt_err *err)
{
    struct bkt_shared_puts *shared_puts = beside ? NULL : st->shared_puts;
    if (!shared_puts || !bkt_shared_puts_perform(shared_puts, reqs, n))
        perform_here(st, reqs, n, beside, arg);
    for (size_t i = 0; i < n; i++)
        reqs[i].batch = NULL;
    for (size_t i = 0; i < n; i++)
        if (reqs[i].rc < 0)
            return bkt_err_copy(err, reqs[i].rc, reqs[i].err);
    return BKT_OK;
}

int bkt_reqs_init(struct bkt_reqs *r, size_t n)
{
    *r = (struct bkt_reqs){.v = calloc(n ? n : 1, sizeof *r->v), .keys = calloc(n ? n : 1, sizeof *r->keys)};
    if (!r->v || !r->keys)
        return BKT_ENOMEM;
    r->n = n;
    return BKT_OK;
}

void bkt_reqs_perform(struct bkt_store *st, struct bkt_reqs *r)
{
    for (size_t i = 0; i < r->n; i++)
        r->v[i].key = bkt_buf_str(&r->keys[i]);
    (void)bkt_store_perform(st, r->v, r->n, NULL);
}

void bkt_reqs_fini(struct bkt_reqs *r)
{
    for (size_t i = 0; i < r->n; i++) {
        bkt_req_fini(&r->v[i]);
        bkt_buf_fini(&r->keys[i]);
    }
    free(r->v);
    free(r->keys);
    *r = (struct bkt_reqs){NULL, NULL, 0};
}

static void req_finip(struct bkt_req *req) { bkt_req_fini(req); }

int bkt_store_get(struct bkt_store *st, const char *key, uint64_t off, uint64_t len, struct bkt_buf *out,
                  struct bkt_err *err)
{
    BKT_CLEANUP(req_finip) struct bkt_req req = {.op = BKT_GET, .key = key, .off = off, .len = len};
    BKT_PASS(bkt_store_perform(st, &req, 1, err));
    bkt_buf_move(out, &req.body);
    return BKT_OK;
}

int bkt_store_head(struct bkt_store *st, const char *key, uint64_t *size, struct bkt_err *err)
{
    BKT_CLEANUP(req_finip) struct bkt_req req = {.op = BKT_HEAD, .key = key};
    BKT_PASS(bkt_store_perform(st, &req, 1, err));
    if (size)
        *size = req.size;
    return BKT_OK; /* NOLINT(clang-analyzer-core.StackAddressEscape): a batch's requests are never put off */
}

int bkt_store_put(struct bkt_store *st, const char *key, const void *bytes, size_t len, const char *if_match,
                  const char *if_none_match, char *etag, struct bkt_err *err)
{
    BKT_CLEANUP(req_finip)
    struct bkt_req req = {.op = BKT_PUT, .key = key, .put = bytes, .put_len = len, .if_match = if_match,
                          .if_none_match = if_none_match};
    BKT_PASS(bkt_store_perform(st, &req, 1, err));
    if (etag)
        memcpy(etag, req.etag, sizeof req.etag);
    return BKT_OK; /* NOLINT(clang-analyzer-core.StackAddressEscape): as above */
}

int bkt_store_delete(struct bkt_store *st, const char *const *keys, size_t n, struct bkt_err *err)
{
    struct bkt_err why = {.n = 0};
    int rc = BKT_OK;
    size_t cap = bkt_min_u64(n, DELETE_AT_ONCE);
    struct bkt_req *req = calloc(cap ? cap : 1, sizeof *req);
    BKT_NEED(err, req);
    for (size_t done = 0, k; done < n; done += k) {
        k = (size_t)bkt_min_u64(cap, n - done);
        for (size_t i = 0; i < k; i++)
            req[i] = (struct bkt_req){.op = BKT_DELETE, .key = keys[done + i]};
        bkt_err_keep_first(&rc, err, bkt_store_perform(st, req, k, &why), &why);
        for (size_t i = 0; i < k; i++)
            bkt_req_fini(&req[i]);
    }
    free(req);
    return rc;
}

static int list_keys(struct bkt_store *st, const struct bkt_lists *l, bkt_list_each_fn *each, void *arg,
                     struct bkt_err *err)
{
    size_t n = l->n + l->n_cuts;
    if (!st->ops->decorator || n > 1)
        bkt_stats_add(BKT_STAT(list), n);
    bkt_store_enter(st);
    int rc = st->ops->list(st, l, each, arg, err);
    bkt_store_leave(st);
    bkt_trace(BKT_TRACE_STORE, "%s LIST %s, requests %zu: %s", st->uri, l->prefixes[0], n, bkt_err_text(rc));
    return rc;
}

static int list_by(struct bkt_store *st, const struct bkt_lists *l, bkt_list_each_fn *each, void *arg,
                   struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf what = {0};
    struct bkt_recording_list recorded;
    if (!bkt_recording_is_on())
        return list_keys(st, l, each, arg, err);
    int rc = bkt_buf_addf(&what, "%s%c%s%c%zu", l->prefixes[0], 31, l->delimiter, 31, l->n_cuts);
    for (size_t i = 1; rc == BKT_OK && i < l->n; i++)
        rc = bkt_buf_addf(&what, "%c%s", 31, l->prefixes[i]);
    BKT_PASS_MEM(err, rc);
    if (bkt_recording_list_begin(&recorded, st, bkt_buf_str(&what), each, arg, &rc, err))
        return rc;
    if (!recorded.recording)
        return list_keys(st, l, each, arg, err);
    struct bkt_err why = {.n = 0};
    rc = list_keys(st, l, bkt_recording_list_each, &recorded, &why);
    bkt_recording_list_end(&recorded, st, bkt_buf_str(&what), rc, &why);
    return rc < 0 ? bkt_err_copy(err, rc, &why) : rc;
}

int bkt_store_list(struct bkt_store *st, const char *prefix, const char *delimiter, bkt_list_each_fn *each,
                   void *arg, struct bkt_err *err)
{
    prefix    = prefix ? prefix : "";
    delimiter = delimiter ? delimiter : "";
    BKT_FAIL_IF(err, *delimiter && strcmp(delimiter, "/") != 0, BKT_EINVAL,
                "list of '%s': delimiter '%s' is not '/'", prefix, delimiter);
    BKT_FAIL_IF(err, !st->ops->list, BKT_EUNSUP, "%s: the keys of this store can't be listed", st->uri);
    return list_by(st, &(struct bkt_lists){&prefix, 1, delimiter, NULL, 0}, each, arg, err);
}

int bkt_store_list_parts(struct bkt_store *st, const char *prefix, const char *const *cuts, size_t n_cuts,
                         bkt_list_each_fn *each, void *arg, struct bkt_err *err)
{
    if (!n_cuts || !st->ops->many_lists)
        return bkt_store_list(st, prefix, "", each, arg, err);
    return list_by(st, &(struct bkt_lists){&prefix, 1, "", cuts, n_cuts}, each, arg, err);
}

int bkt_store_list_each(struct bkt_store *st, const char *const *prefixes, size_t n, bkt_list_each_fn *each,
                        void *arg, struct bkt_err *err)
{
    if (n > 1 && st->ops->many_lists)
        return list_by(st, &(struct bkt_lists){prefixes, n, "", NULL, 0}, each, arg, err);
    for (size_t i = 0; i < n; i++)
        BKT_PASS(bkt_store_list(st, prefixes[i], "", each, arg, err));
    return BKT_OK;
}

int bkt_store_uploads(struct bkt_store *st, const char *prefix, bkt_upload_each_fn *each, void *arg,
                      struct bkt_err *err)
{
    if (!st->ops->uploads)
        return BKT_OK;
    bkt_stats_add(BKT_STAT(list), 1);
    bkt_store_enter(st);
    int rc = st->ops->uploads(st, prefix, each, arg, err);
    bkt_store_leave(st);
    bkt_trace(BKT_TRACE_STORE, "%s uploads of %s: %s", st->uri, prefix, bkt_err_text(rc));
    return rc;
}

int bkt_store_abort(struct bkt_store *st, const char *key, const char *id, struct bkt_err *err)
{
    if (!st->ops->abort)
        return BKT_OK;
    bkt_stats_add(BKT_STAT(del), 1);
    bkt_store_enter(st);
    int rc = st->ops->abort(st, key, id, err);
    bkt_store_leave(st);
    bkt_trace(BKT_TRACE_STORE, "%s upload of %s given up: %s", st->uri, key, bkt_err_text(rc));
    return rc;
}
