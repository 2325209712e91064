/* An entry is kept as the bytes that go to the other processes:
 *   length of the name, name; digest of what was put; code; n; size; mtime; etag; body; messages of the error
 * where the name has store, operation, key, range and condition.  Entries of one name follow each other. */
#include "storage/recorded_requests.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/map.h"
#include "base/num.h"
#include "base/trace.h"
#include "base/os/thread.h"
#include "storage/store_impl.h"

/* Bytes: bodies above this total aren't recorded, and each process reads them itself. */
#define RECORDING_MAX (256u << 20)

struct entry {
    struct entry *next; /* of the same name */
    bool used;
    bool met;        /* the first one of a PUT's name: other bytes were put */
    uint64_t digest; /* of a PUT's bytes */
    int rc;
    uint64_t n, size;
    double mtime;
    char etag[BKT_ETAG_MAX];
    const void *body;
    size_t body_len;
    const char *text; /* messages, each with its NUL */
    size_t text_len;
};

struct bkt_recording {
    bool every_thread;
    pthread_t owner;
    pthread_mutex_t lock; /* guards everything below */
    pthread_cond_t idle;
    size_t under_way;
    struct bkt_buf bytes;
    struct bkt_map *entries; /* name -> struct entry, the first one; playing */
    struct entry *all;
    size_t n;
};

atomic_bool bkt_recording_on;
static struct {
    pthread_mutex_t lock;
    struct bkt_recording *recording;
    bool playing;
} now = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct bkt_recording *bkt_recording_new(bool every_thread)
{
    struct bkt_recording *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    (void)pthread_mutex_init(&t->lock, NULL);
    (void)pthread_cond_init(&t->idle, NULL);
    t->every_thread = every_thread;
    t->owner = pthread_self();
    if (!(t->entries = bkt_map_new())) {
        bkt_recording_free(t);
        return NULL;
    }
    return t;
}

void bkt_recording_free(struct bkt_recording *t)
{
    if (!t)
        return;
    bkt_map_free(t->entries, NULL);
    free(t->all);
    bkt_buf_fini(&t->bytes);
    (void)pthread_cond_destroy(&t->idle);
    (void)pthread_mutex_destroy(&t->lock);
    free(t);
}

static void set_now(struct bkt_recording *t, bool playing)
{
    BKT_HOLD(&now.lock);
    now.recording = t;
    now.playing = playing;
    atomic_store(&bkt_recording_on, t != NULL);
}

void bkt_recording_record(struct bkt_recording *t)
{
    set_now(t, false);
}
void bkt_recording_play(struct bkt_recording *t)
{
    set_now(t, true);
}

void bkt_recording_stop(struct bkt_recording *t)
{
    set_now(NULL, false);
    BKT_HOLD(&t->lock);
    while (t->under_way)
        (void)pthread_cond_wait(&t->idle, &t->lock);
}

/* The recording that the calling thread's request belongs to, locked; NULL: none. */
static struct bkt_recording *recording_of(bool *playing)
{
    *playing = false;
    if (!bkt_recording_is_on())
        return NULL;
    (void)pthread_mutex_lock(&now.lock);
    struct bkt_recording *t = now.recording;
    *playing = now.playing;
    if (t && !t->every_thread && !pthread_equal(t->owner, pthread_self()))
        t = NULL;
    if (t)
        (void)pthread_mutex_lock(&t->lock);
    (void)pthread_mutex_unlock(&now.lock);
    return t;
}

/* ---- names ---- */

static int name_of(const struct bkt_store *st, const struct bkt_req *r, struct bkt_buf *out)
{
    bool put = r->op == BKT_PUT; /* found by its bytes: its condition has met the store already */
    return bkt_buf_addf(out, "%s%c%d %s%c%" PRIu64 " %" PRIu64 "%c%s%c%s", st->uri, 31, (int)r->op, r->key,
                        31, put ? 0 : r->off, put ? 0 : r->len, 31, put || !r->if_match ? "" : r->if_match,
                        31, put || !r->if_none_match ? "" : r->if_none_match);
}

static uint64_t digest_of(const struct bkt_req *r)
{
    return r->op == BKT_PUT ? bkt_digest(r->put, r->put_len, 0) : 0;
}

/* ---- recording ---- */

static int add_messages(struct bkt_buf *b, const struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf text = {0};
    BKT_PASS(bkt_err_pack(err, &text));
    return bkt_buf_add_sized(b, text.ptr, text.len);
}

static int add_entry(struct bkt_buf *b, const struct bkt_buf *name, uint64_t digest, const struct bkt_req *r,
                     const void *body, size_t body_len)
{
    uint64_t mtime;
    memcpy(&mtime, &r->mtime, sizeof mtime);
    BKT_PASS(bkt_buf_add_sized(b, name->ptr, name->len));
    BKT_PASS(bkt_buf_add_le(b, 8, digest));
    BKT_PASS(bkt_buf_add_le(b, 8, (uint64_t)-r->rc));
    BKT_PASS(bkt_buf_add_le(b, 8, r->n));
    BKT_PASS(bkt_buf_add_le(b, 8, r->size));
    BKT_PASS(bkt_buf_add_le(b, 8, mtime));
    BKT_PASS(bkt_buf_add_sized(b, r->etag, strlen(r->etag)));
    BKT_PASS(bkt_buf_add_sized(b, body, body_len));
    return add_messages(b, r->err);
}

/* The lock is held.  An entry that can't be kept is asked for by each process. */
static void keep(struct bkt_recording *t, const struct bkt_buf *name, uint64_t digest,
                 const struct bkt_req *r, const void *body, size_t len)
{
    size_t was = t->bytes.len;
    if (len > RECORDING_MAX - bkt_min_u64(RECORDING_MAX, was) ||
        add_entry(&t->bytes, name, digest, r, body, len) < 0)
        bkt_buf_cut(&t->bytes, was);
}

/* A request or list of the recording has ended.  Its entry is kept, unless @p name is empty. */
static void end(struct bkt_recording *t, const struct bkt_buf *name, const struct bkt_req *r,
                const void *body, size_t len)
{
    uint64_t digest = name->len ? digest_of(r) : 0;
    BKT_HOLD(&t->lock);
    if (name->len)
        keep(t, name, digest, r, body, len);
    if (--t->under_way == 0)
        (void)pthread_cond_broadcast(&t->idle);
}

void bkt_recording_end(struct bkt_store *st, struct bkt_req *req)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name = {0};
    struct bkt_recording *t = req->recording;
    const void *body = req->dst ? req->dst : req->body.ptr;
    size_t len = req->op != BKT_GET || req->rc < 0 ? 0 : req->dst ? (size_t)req->n : req->body.len;
    req->recording = NULL;
    if (req->rc != BKT_ECANCEL && name_of(st, req, &name) < 0)
        bkt_buf_clear(&name);
    end(t, &name, req, body, len);
}

void bkt_recording_add(struct bkt_recording *t, const struct bkt_buf *outcomes)
{
    BKT_HOLD(&t->lock);
    if (outcomes->len > RECORDING_MAX - bkt_min_u64(RECORDING_MAX, t->bytes.len) ||
        bkt_buf_add(&t->bytes, outcomes->ptr, outcomes->len) < 0)
        bkt_trace(BKT_TRACE_STORE, "%zu bytes of outcomes are left out", outcomes->len);
}

int bkt_recording_emit(const struct bkt_recording *t, struct bkt_buf *out)
{
    return t->bytes.len ? bkt_buf_add(out, t->bytes.ptr, t->bytes.len) : BKT_OK;
}

/* ---- reading a recording ---- */

static const void *read_entry(struct bkt_rd *r, struct entry *e, size_t *name_len)
{
    size_t n;
    const void *name = bkt_rd_take_sized(r, name_len);
    e->digest = bkt_rd_le(r, 8);
    e->rc = -(int)bkt_rd_le(r, 8);
    e->n = bkt_rd_le(r, 8);
    e->size = bkt_rd_le(r, 8);
    uint64_t mtime = bkt_rd_le(r, 8);
    memcpy(&e->mtime, &mtime, sizeof e->mtime);
    const void *etag = bkt_rd_take_sized(r, &n);
    memcpy(e->etag, etag, n < sizeof e->etag ? n : 0);
    e->body = bkt_rd_take_sized(r, &e->body_len);
    e->text = bkt_rd_take_sized(r, &e->text_len);
    r->ok = r->ok && n < sizeof e->etag && (!e->text_len || !e->text[e->text_len - 1]);
    return name;
}

/* Entries of one name in the order of recording. */
static int add_to_list(struct bkt_map *m, const void *name, size_t n, struct entry *e)
{
    struct entry *first = bkt_map_get(m, name, n);
    if (!first)
        return bkt_map_put(m, name, n, e, NULL);
    while (first->next)
        first = first->next;
    first->next = e;
    return BKT_OK;
}

static size_t count(const struct bkt_buf *b)
{
    struct bkt_rd r = bkt_rd_of(b->ptr, b->len);
    size_t n = 0, name;
    while (r.ok && bkt_rd_left(&r)) {
        struct entry e = {.next = NULL};
        (void)read_entry(&r, &e, &name);
        n++;
    }
    return r.ok ? n : SIZE_MAX;
}

int bkt_recording_parse(struct bkt_recording *t, const struct bkt_buf *b, struct bkt_err *err)
{
    size_t n = b->len ? count(b) : 0, name_len;
    BKT_FAIL_IF(err, n == SIZE_MAX, BKT_EFORMAT,
                "message of another process: malformed; all processes must run the same version");
    if (!n)
        return BKT_OK;
    t->all = calloc(n, sizeof *t->all);
    BKT_NEED(err, t->all && bkt_buf_add(&t->bytes, b->ptr, b->len) >= 0);
    struct bkt_rd r = bkt_rd_of(t->bytes.ptr, t->bytes.len);
    for (; t->n < n; t->n++) {
        struct entry *e = &t->all[t->n];
        const void *name = read_entry(&r, e, &name_len);
        BKT_PASS_MEM(err, add_to_list(t->entries, name, name_len, e));
    }
    return BKT_OK;
}

/* ---- playing; the lock is held ---- */

/* @return whether the request has ended: it got the outcome, or there is no memory for it */
static bool give(struct bkt_req *req, struct entry *e)
{
    if (req->op == BKT_GET && e->rc == BKT_OK) {
        void *to = req->sink || (req->dst && e->body_len > req->len) ? NULL : bkt_req_room(req, e->body_len);
        if (!to && e->body_len)
            return req->rc < 0;
        if (e->body_len)
            memcpy(to, e->body, e->body_len);
    }
    req->n = e->n;
    req->size = e->size;
    req->mtime = e->mtime;
    memcpy(req->etag, e->etag, sizeof req->etag);
    if (e->rc < 0) {
        req->rc = e->rc;
        if (e->text_len)
            bkt_err_unpack(bkt_req_err(req), e->rc, e->text, e->text_len);
    }
    e->used = true;
    return true;
}

/* The entry for a request; NULL: none. */
static struct entry *find(struct bkt_recording *t, const struct bkt_buf *name, uint64_t digest)
{
    struct entry *e = bkt_map_get(t->entries, name->ptr, name->len);
    while (e && (e->used || e->digest != digest))
        e = e->next;
    return e;
}

static bool play(struct bkt_recording *t, struct bkt_store *st, struct bkt_req *req)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name = {0};
    if (name_of(st, req, &name) < 0)
        return false;
    struct entry *e = find(t, &name, digest_of(req));
    if (e)
        return give(req, e);
    e = req->op == BKT_PUT ? bkt_map_get(t->entries, name.ptr, name.len) : NULL;
    if (!e || e->met)
        return false;
    bkt_trace(BKT_TRACE_STORE, "%s PUT %s: another process has put other bytes", st->uri, req->key);
    e->met = true; /* the next try is sent */
    (void)BKT_REQ_FAIL(req, BKT_EPRECOND, "PUT " BKT_REQ_NAME ": another process was first",
                       BKT_REQ_NAMED(req));
    return true;
}

bool bkt_recording_begin(struct bkt_store *st, struct bkt_req *req)
{
    bool playing, ended = false;
    struct bkt_recording *t = recording_of(&playing);
    if (!t)
        return false;
    if (playing) {
        ended = play(t, st, req);
    } else if (!req->sink && !st->ops->decorator) {
        req->recording = t;
        t->under_way++;
    }
    (void)pthread_mutex_unlock(&t->lock);
    return ended;
}

/* ---- lists ---- */

static int list_name(const struct bkt_store *st, const char *what, struct bkt_buf *out)
{
    return bkt_buf_addf(out, "%s%cL %s", st->uri, 31, what);
}

static int play_list(const struct entry *e, bkt_list_each_fn *each, void *arg, struct bkt_err *err)
{
    struct bkt_rd r = bkt_rd_of(e->body, e->body_len);
    size_t n;
    while (bkt_rd_left(&r)) {
        struct bkt_listed l = {.key = bkt_rd_take_sized(&r, &n)};
        l.etag = bkt_rd_take_sized(&r, &n);
        l.is_prefix = bkt_rd_le(&r, 8);
        l.size = bkt_rd_le(&r, 8);
        uint64_t mtime = bkt_rd_le(&r, 8), stored = bkt_rd_le(&r, 8);
        memcpy(&l.mtime, &mtime, sizeof l.mtime);
        memcpy(&l.stored, &stored, sizeof l.stored);
        BKT_FAIL_IF(err, !r.ok, BKT_EFORMAT,
                    "message of another process: malformed; all processes must run the same version");
        BKT_PASS(each(&l, arg));
    }
    bkt_err_unpack(err, e->rc, e->text, e->text_len);
    return e->rc;
}

bool bkt_recording_list_begin(struct bkt_recording_list *l, struct bkt_store *st, const char *what,
                              bkt_list_each_fn *each, void *arg, int *rc, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name = {0};
    bool playing;
    struct entry *e = NULL;
    struct bkt_recording *t = recording_of(&playing);
    *l = (struct bkt_recording_list){.each = each, .arg = arg};
    if (!t)
        return false;
    if (playing && list_name(st, what, &name) == BKT_OK && (e = find(t, &name, 0)))
        e->used = true;
    if (!playing && !st->ops->decorator) {
        l->recording = t;
        t->under_way++;
    }
    (void)pthread_mutex_unlock(&t->lock);
    if (e)
        *rc = play_list(e, each, arg, err);
    return e != NULL;
}

int bkt_recording_list_each(const struct bkt_listed *entry, void *list)
{
    struct bkt_recording_list *l = list;
    uint64_t mtime, stored;
    memcpy(&mtime, &entry->mtime, sizeof mtime);
    memcpy(&stored, &entry->stored, sizeof stored);
    const char *etag = entry->etag ? entry->etag : "";
    if (bkt_buf_add_sized(&l->entries, entry->key, strlen(entry->key) + 1) < 0 ||
        bkt_buf_add_sized(&l->entries, etag, strlen(etag) + 1) < 0 ||
        bkt_buf_add_le(&l->entries, 8, entry->is_prefix) < 0 ||
        bkt_buf_add_le(&l->entries, 8, entry->size) < 0 || bkt_buf_add_le(&l->entries, 8, mtime) < 0 ||
        bkt_buf_add_le(&l->entries, 8, stored) < 0)
        l->failed = true;
    return l->each(entry, l->arg);
}

void bkt_recording_list_end(struct bkt_recording_list *l, struct bkt_store *st, const char *what, int rc,
                            const struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name = {0};
    struct bkt_req r = {.rc = rc, .err = (struct bkt_err *)(uintptr_t)err};
    if (!l->failed && list_name(st, what, &name) < 0)
        bkt_buf_clear(&name);
    end(l->recording, &name, &r, l->entries.ptr, l->entries.len);
    bkt_buf_fini(&l->entries);
}
