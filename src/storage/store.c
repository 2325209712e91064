/* Stores in general: argument checks, completions, tracing.  See store_open.c for the kinds of stores.
 *
 * A completion may arrive while the same thread runs another completion.  It is deferred until the other one
 * returns.  So a done() that starts the next request never nests, however long the chain. */
#include "storage/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/os/fork.h"
#include "base/os/thread.h"
#include "base/trace.h"
#include "storage/recorded_requests.h"
#include "storage/stats.h"
#include "storage/store_impl.h"

static const struct {
    const char *name;
    size_t      stat;
} ops[] = {
    [BKT_GET]    = {"GET", BKT_STAT(get)},
    [BKT_HEAD]   = {"HEAD", BKT_STAT(head)},
    [BKT_PUT]    = {"PUT", BKT_STAT(put)},
    [BKT_DELETE] = {"DELETE", BKT_STAT(del)},
};

static pthread_mutex_t state = PTHREAD_MUTEX_INITIALIZER;

void bkt_state_lock(void)
{
    (void)pthread_mutex_lock(&state);
}
void bkt_state_unlock(void)
{
    (void)pthread_mutex_unlock(&state);
}

const char *bkt_op_name(enum bkt_op op) { return ops[op].name; }

/* ---- requests ---- */

struct bkt_err *bkt_req_err(struct bkt_req *req)
{
    if (!req->err)
        req->err = calloc(1, sizeof *req->err);
    return req->err;
}

void bkt_req_fini(struct bkt_req *req)
{
    if (!req)
        return;
    bkt_buf_fini(&req->body);
    free(req->err);
    req->err = NULL;
}

int bkt_req_span(struct bkt_req *req, uint64_t size, uint64_t *len)
{
    req->size = size;
    if (req->len == BKT_WHOLE) {
        *len = size;
        return BKT_OK;
    }
    if (req->off >= size)
        return BKT_REQ_FAIL(req, BKT_ERANGE,
                            BKT_REQ_NAME ": bytes from %" PRIu64 " requested, the object has %" PRIu64,
                            BKT_REQ_NAMED(req), req->off, size);
    *len = bkt_min_u64(req->len, size - req->off);
    if (*len < req->len && !req->may_be_short)
        return BKT_REQ_FAIL(req, BKT_EFORMAT,
                            BKT_REQ_NAME ": %" PRIu64 " bytes at %" PRIu64
                                         " requested, the object has only %" PRIu64,
                            BKT_REQ_NAMED(req), req->len, req->off, size);
    return BKT_OK;
}

void *bkt_req_room(struct bkt_req *req, uint64_t len)
{
    if (req->dst)
        return req->dst;
    size_t at = req->body.len;
    if (len > SIZE_MAX / 4 || bkt_buf_reserve(&req->body, (size_t)len) < 0 ||
        bkt_buf_resize(&req->body, at + (size_t)len) < 0) {
        (void)BKT_REQ_FAIL(req, BKT_ENOMEM, "%s: no memory for %" PRIu64 " bytes", req->key, len);
        return NULL;
    }
    return req->body.ptr + at;
}

int bkt_req_condition(struct bkt_req *req, const char *etag)
{
    if (req->if_match && (!etag || (strcmp(req->if_match, "*") != 0 && strcmp(req->if_match, etag) != 0)))
        return BKT_REQ_FAIL(req, BKT_EPRECOND, "%s " BKT_REQ_NAME ": the object %s", bkt_op_name(req->op),
                            BKT_REQ_NAMED(req), etag ? "has changed" : "is gone");
    if (!req->if_none_match || !etag ||
        (strcmp(req->if_none_match, "*") != 0 && strcmp(req->if_none_match, etag) != 0))
        return BKT_OK;
    if (req->op == BKT_GET || req->op == BKT_HEAD)
        return BKT_REQ_FAIL(req, BKT_ENOTMOD, "%s: not modified", req->key);
    return BKT_REQ_FAIL(req, BKT_EPRECOND, "%s " BKT_REQ_NAME ": the object exists", bkt_op_name(req->op),
                        BKT_REQ_NAMED(req));
}

bool bkt_key_has_dots(const char *key)
{
    for (const char *p = key;; p++) {
        size_t n = strcspn(p, "/");
        if ((n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
            return true;
        p += n;
        if (!*p)
            return false;
    }
}

static bool bad_header(const char *s)
{
    return s && (!*s || strlen(s) >= BKT_ETAG_MAX || strpbrk(s, "\r\n"));
}

static int check(struct bkt_store *st, struct bkt_req *req)
{
    uint64_t end;
    if (!req->key || !*req->key || *req->key == '/')
        return BKT_REQ_FAIL(req, BKT_EINVAL, "key '%s' is empty or begins with '/'",
                            req->key ? req->key : "");
    if (req->op == BKT_GET &&
        (req->len == 0 || (req->len == BKT_WHOLE && (req->off || req->dst || req->sink)) ||
         (req->len != BKT_WHOLE && !bkt_add_u64(req->off, req->len, &end))))
        return BKT_REQ_FAIL(req, BKT_EINVAL, "%s: bad range of %" PRIu64 " bytes at %" PRIu64, req->key,
                            req->len, req->off);
    if ((req->op == BKT_PUT || req->op == BKT_DELETE) && bkt_store_is_readonly(st))
        return BKT_REQ_FAIL(req, BKT_EACCES, "%s %s: %s: the store is read-only", bkt_op_name(req->op),
                            req->key, st->uri);
    if (req->op == BKT_PUT && !req->put && req->put_len)
        return BKT_REQ_FAIL(req, BKT_EINVAL, "PUT %s: no data given", req->key);
    if (bad_header(req->if_match) || bad_header(req->if_none_match))
        return BKT_REQ_FAIL(req, BKT_EINVAL, "%s: an ETag in a condition is malformed", req->key);
    return BKT_OK;
}

/* Requests that the parent had under way at fork() never end in the child. */
void bkt_store_enter(struct bkt_store *st)
{
    if (st->generation != bkt_fork_generation()) {
        bkt_state_lock();
        if (st->generation != bkt_fork_generation()) {
            st->under_way = 0;
            (void)pthread_mutex_init(&st->lock, NULL);
            (void)pthread_cond_init(&st->idle, NULL);
            st->generation = bkt_fork_generation();
        }
        bkt_state_unlock();
    }
    BKT_HOLD(&st->lock);
    st->under_way++;
}

void bkt_store_leave(struct bkt_store *st)
{
    BKT_HOLD(&st->lock);
    if (--st->under_way == 0)
        (void)pthread_cond_broadcast(&st->idle);
}

/* Reset outputs and check arguments.  False: the request has ended, and may have been freed. */
static bool begin(struct bkt_store *st, struct bkt_req *req)
{
    bkt_store_enter(st);
    free(req->err);
    req->err = NULL;
    bkt_buf_clear(&req->body);
    req->rc      = BKT_OK;
    req->n       = 0;
    req->size    = UINT64_MAX;
    req->mtime   = 0;
    req->etag[0] = 0;
    req->uri     = st->uri;
    req->impl    = NULL;
    req->next    = NULL;
    req->recording = NULL;
    if (check(st, req) == BKT_OK && !(bkt_recording_is_on() && bkt_recording_begin(st, req)))
        return true;
    bkt_store_finish(st, req);
    return false;
}

void bkt_store_start(struct bkt_store *st, struct bkt_req *req)
{
    if (!begin(st, req))
        return;
    if (!st->ops->decorator)
        bkt_stats_add(ops[req->op].stat, 1);
    if (req->cancel && atomic_load(req->cancel)) {
        (void)BKT_REQ_FAIL(req, BKT_ECANCEL, "%s %s: cancelled", bkt_op_name(req->op), req->key);
        bkt_store_finish(st, req);
        return;
    }
    bool change = req->op == BKT_PUT || req->op == BKT_DELETE;
    (change && st->ops->change ? st->ops->change : st->ops->start)(st, req);
}

static bool unconditional_deletes(const struct bkt_req *reqs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (reqs[i].op != BKT_DELETE || reqs[i].if_match || reqs[i].if_none_match || reqs[i].cancel)
            return false;
    return true;
}

void bkt_store_start_all(struct bkt_store *st, struct bkt_req *reqs, size_t n)
{
    BKT_CLEANUP(bkt_freep) struct bkt_req **v = NULL;
    size_t                                  m = 0;
    if (st->ops->delete_many && n > 1 && unconditional_deletes(reqs, n))
        v = calloc(n, sizeof(struct bkt_req *));
    for (size_t i = 0; i < n; i++)
        if (!v)
            bkt_store_start(st, &reqs[i]);
        else if (begin(st, &reqs[i]))
            v[m++] = &reqs[i];
    if (m)
        st->ops->delete_many(st, v, m);
}

static void note(const struct bkt_store *st, const struct bkt_req *req)
{
    if (!st->ops->decorator && req->rc < 0 && req->rc != BKT_ENOENT && req->rc != BKT_ENOTMOD &&
        req->rc != BKT_EPRECOND)
        bkt_stats_add(BKT_STAT(failures), 1);
    if (bkt_trace_on(BKT_TRACE_STORE))
        bkt_trace(BKT_TRACE_STORE, "%s %s %s off %" PRIu64 " len %" PRId64 ": %s, %" PRIu64 " bytes", st->uri,
                  bkt_op_name(req->op), req->key ? req->key : "", req->off,
                  req->len == BKT_WHOLE ? INT64_C(-1) : (int64_t)req->len, bkt_err_text(req->rc),
                  req->op == BKT_PUT ? (uint64_t)req->put_len : req->n);
}

static void compare_version(const struct bkt_store *st, struct bkt_req *req)
{
    if (!bkt_version_fits(req->version, req))
        (void)BKT_REQ_FAIL(req, BKT_EPRECOND, "the file %s/%s " BKT_WHY_REPLACED, st->uri, req->key);
}

static _Thread_local struct {
    bool            busy;
    struct bkt_req *head, *tail;
} turn;

static void deliver(struct bkt_store *st, struct bkt_req *req)
{
    req->done(req);
    bkt_store_leave(st);
}

void bkt_store_finish(struct bkt_store *st, struct bkt_req *req)
{
    if (req->version && req->rc == BKT_OK)
        compare_version(st, req);
    if (req->recording)
        bkt_recording_end(st, req);
    note(st, req);
    if (req->batch) {
        bkt_req_batch_end_one(req->batch);
        bkt_store_leave(st);
        return;
    }
    if (turn.busy) {
        req->impl = st;
        req->next = NULL;
        if (turn.head)
            turn.tail->next = req;
        else
            turn.head = req;
        turn.tail = req;
        return;
    }
    turn.busy = true;
    deliver(st, req);
    while ((req = turn.head)) {
        turn.head = req->next;
        deliver(req->impl, req);
    }
    turn.busy = false;
}

/* ---- stores ---- */

int bkt_store_init(struct bkt_store *st, const struct bkt_store_ops *o, const char *uri, struct bkt_err *err)
{
    st->uri = strdup(uri);
    BKT_NEED(err, st->uri);
    st->ops = o;
    (void)pthread_mutex_init(&st->lock, NULL);
    (void)pthread_cond_init(&st->idle, NULL);
    st->under_way  = 0;
    st->generation = bkt_fork_generation();
    atomic_init(&st->holders, 0);
    st->shared_puts = NULL;
    return BKT_OK;
}

struct bkt_store *bkt_store_share(struct bkt_store *st)
{
    (void)atomic_fetch_add(&st->holders, 1);
    return st;
}

void bkt_store_close(struct bkt_store *st)
{
    if (!st)
        return;
    for (unsigned n = atomic_load(&st->holders); n > 0;)
        if (atomic_compare_exchange_weak(&st->holders, &n, n - 1))
            return;
    bkt_store_enter(st);
    bkt_store_leave(st);
    (void)pthread_mutex_lock(&st->lock);
    while (st->under_way)
        (void)pthread_cond_wait(&st->idle, &st->lock);
    (void)pthread_mutex_unlock(&st->lock);
    (void)pthread_cond_destroy(&st->idle);
    (void)pthread_mutex_destroy(&st->lock);
    char *uri = st->uri;
    st->ops->close(st);
    free(uri);
}

void bkt_store_will_write(struct bkt_store *st, const char *key)
{
    if (st->ops->will_write)
        st->ops->will_write(st, key);
}

void bkt_store_pace(struct bkt_store *st, double *first_byte_s, double *bytes_per_s)
{
    *first_byte_s = *bytes_per_s = 0;
    if (st->ops->pace)
        st->ops->pace(st, first_byte_s, bytes_per_s);
}

void bkt_store_facts(struct bkt_store *st, struct bkt_store_facts *out)
{
    *out = (struct bkt_store_facts){.endpoint = ""};
    if (st->ops->facts)
        st->ops->facts(st, out);
}

int64_t bkt_store_ahead(struct bkt_store *st) { return st->ops->ahead ? st->ops->ahead(st) : 0; }

const char *bkt_store_uri(const struct bkt_store *st) { return st->uri; }
bool        bkt_store_is_local(const struct bkt_store *st) { return st->ops->local; }
bool        bkt_store_is_directory(const struct bkt_store *st) { return st->ops->directory; }
bool        bkt_store_is_readonly(const struct bkt_store *st) { return st->ops->readonly; }

int bkt_store_turn(struct bkt_store *st, const char *key)
{
    return st->ops->turn ? st->ops->turn(st, key) : -1;
}

void bkt_store_end_turn(struct bkt_store *st, int held)
{
    if (held >= 0)
        st->ops->end_turn(held);
}

int bkt_store_need_writable(const struct bkt_store *st, struct bkt_err *err)
{
    BKT_FAIL_IF(err, bkt_store_is_readonly(st), BKT_EACCES, "%s: the store is read-only", bkt_store_uri(st));
    return BKT_OK;
}

int bkt_store_may_put(struct bkt_store *st, const char *key, struct bkt_err *err)
{
    BKT_PASS(bkt_store_need_writable(st, err));
    return st->ops->may_put ? st->ops->may_put(st, key, err) : BKT_OK;
}
