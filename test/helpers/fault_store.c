#include "helpers/fault_store.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/os/pool.h"
#include "storage/store_impl.h"

struct rule {
    struct bkt_fault f;
    atomic_uint      seen, hits;
};

struct fault_store {
    struct bkt_store  base;
    struct bkt_store *inner;
    struct rule      *rules;
    size_t            n;
    pthread_mutex_t   lock; /* guards the members below */
    struct passage   *held; /* the most recent first */
    size_t            n_held;
    bool              open; /* no request is held any more */
};

/* One request on its way through the inner store. */
struct passage {
    struct bkt_job          job;
    struct bkt_req          inner; /* a copy: the outer one stays untouched until its end */
    struct bkt_req         *outer;
    struct fault_store     *st;
    const struct bkt_fault *f;
    struct passage         *next; /* held too */
};

static const struct bkt_fault *match(struct fault_store *st, const struct bkt_req *req)
{
    for (size_t i = 0; i < st->n; i++) {
        struct rule *r = &st->rules[i];
        if ((r->f.op >= 0 && r->f.op != (int)req->op) || (r->f.key_part && !strstr(req->key, r->f.key_part)))
            continue;
        unsigned k = atomic_fetch_add(&r->seen, 1);
        if (k < r->f.skip || (r->f.times && k - r->f.skip >= r->f.times))
            continue;
        atomic_fetch_add(&r->hits, 1);
        return &r->f;
    }
    return NULL;
}

static void spoil(struct bkt_req *o, const struct bkt_fault *f)
{
    unsigned char *p = o->dst ? o->dst : o->body.ptr;
    if (o->op != BKT_GET || o->rc < 0)
        return;
    if (f->flip_set && f->flip < o->n && !o->sink)
        p[f->flip] ^= 0xff;
    if (!f->cut || o->n <= f->cut)
        return;
    o->n = f->cut;
    if (!o->dst && !o->sink)
        o->body.len = (size_t)f->cut;
    if (!o->may_be_short)
        (void)BKT_REQ_FAIL(o, BKT_EFORMAT, "%s: cut by a test", o->key);
}

/* The sink between the inner store and the outer request's sink: it flips the byte. */
static void spoil_sink(void *arg, uint64_t at, const void *data, size_t n)
{
    const struct passage *p    = arg;
    const unsigned char  *d    = data;
    uint64_t              flip = p->f->flip;
    if (flip < at || flip - at >= n) {
        p->outer->sink(p->outer->sink_arg, at, d, n);
        return;
    }
    size_t        k   = (size_t)(flip - at);
    unsigned char bad = d[k] ^ 0xff;
    if (k)
        p->outer->sink(p->outer->sink_arg, at, d, k);
    p->outer->sink(p->outer->sink_arg, flip, &bad, 1);
    if (k + 1 < n)
        p->outer->sink(p->outer->sink_arg, flip + 1, d + k + 1, n - k - 1);
}

static void pass_back(struct bkt_req *in)
{
    struct passage *p = in->arg;
    struct bkt_req *o = p->outer;
    if (p->f && p->f->kill == BKT_FAULT_KILL_AFTER)
        (void)raise(SIGKILL);
    o->rc             = in->rc;
    o->err            = in->err;
    o->n              = in->n;
    o->size           = in->size;
    o->mtime          = in->mtime;
    memcpy(o->etag, in->etag, sizeof o->etag);
    if (p->f && p->f->no_etag)
        o->etag[0] = 0;
    bkt_buf_fini(&o->body);
    bkt_buf_move(&o->body, &in->body);
    if (p->f)
        spoil(o, p->f);
    if (p->f && p->f->code < 0 && o->rc == BKT_OK) {
        o->etag[0] = 0;
        (void)BKT_REQ_FAIL(o, p->f->code, "%s %s: its answer lost by a test", bkt_op_name(o->op), o->key);
    }
    struct bkt_store *st = &p->st->base;
    free(p);
    bkt_store_finish(st, o);
}

static void pass_on(struct bkt_job *job)
{
    struct passage *p = (struct passage *)job;
    if (p->f && p->f->delay_ms) {
        struct timespec t = {p->f->delay_ms / 1000, (long)(p->f->delay_ms % 1000) * 1000000};
        (void)nanosleep(&t, NULL);
    }
    bkt_store_start(p->st->inner, &p->inner);
}

/* ---- requests that wait for each other ---- */

void bkt_fault_release(struct bkt_store *base)
{
    struct fault_store *st = (struct fault_store *)base;
    (void)pthread_mutex_lock(&st->lock);
    struct passage *p = st->held;
    st->open          = true;
    st->held          = NULL;
    (void)pthread_mutex_unlock(&st->lock);
    for (struct passage *next; p; p = next) {
        next = p->next;
        pass_on(&p->job);
    }
}

/* False: the request goes at once. */
static bool hold(struct fault_store *st, struct passage *p)
{
    if (!p->f || !p->f->hold)
        return false;
    (void)pthread_mutex_lock(&st->lock);
    bool waits = !st->open, all = false;
    if (waits) {
        p->next  = st->held;
        st->held = p;
        all      = ++st->n_held >= p->f->hold;
    }
    (void)pthread_mutex_unlock(&st->lock);
    if (all)
        bkt_fault_release(&st->base);
    return waits;
}

static void fault_start(struct bkt_store *base, struct bkt_req *req)
{
    struct fault_store     *st = (struct fault_store *)base;
    const struct bkt_fault *f  = match(st, req);
    if (f && f->kill == BKT_FAULT_KILL_BEFORE)
        (void)raise(SIGKILL);
    struct passage *p = f && f->code < 0 && !f->carry_out ? NULL : malloc(sizeof *p);
    if (!p) {
        (void)BKT_REQ_FAIL(req, f && f->code < 0 ? f->code : BKT_ENOMEM, "%s %s: failed by a test",
                           bkt_op_name(req->op), req->key);
        bkt_store_finish(base, req);
        return;
    }
    *p            = (struct passage){.job = {.run = pass_on}, .inner = *req, .outer = req, .st = st, .f = f};
    p->inner.body = (struct bkt_buf){0};
    p->inner.batch = NULL;
    p->inner.err   = NULL;
    p->inner.done  = pass_back;
    p->inner.arg   = p;
    if (req->sink && f && f->flip_set) {
        p->inner.sink     = spoil_sink;
        p->inner.sink_arg = p;
    }
    if (hold(st, p))
        return;
    if (f && f->delay_ms)
        bkt_pool_submit(&p->job);
    else
        pass_on(&p->job);
}

static int fault_list(struct bkt_store *base, const struct bkt_lists *l, bkt_list_each_fn *each, void *arg,
                      struct bkt_err *err)
{
    return bkt_store_list(((struct fault_store *)base)->inner, l->prefixes[0], l->delimiter, each, arg, err);
}

static void fault_close(struct bkt_store *base)
{
    struct fault_store *st = (struct fault_store *)base;
    bkt_store_close(st->inner);
    (void)pthread_mutex_destroy(&st->lock);
    free(st->rules);
    free(st);
}

/* local: a delay runs in the pool, where the waiting thread must help */
static const struct bkt_store_ops fault_ops = {.local = true,
                                               .decorator = true,
                                               .start = fault_start,
                                               .list = fault_list,
                                               .close = fault_close};

int bkt_fault_open(struct bkt_store *inner, const struct bkt_fault *rules, size_t n, struct bkt_store **out,
                   struct bkt_err *err)
{
    struct fault_store *st = calloc(1, sizeof *st);
    if (!st || !(st->rules = calloc(n + 1, sizeof *st->rules))) {
        free(st);
        BKT_NOMEM(err);
    }
    for (size_t i = 0; i < n; i++)
        st->rules[i].f = rules[i];
    int rc = bkt_store_init(&st->base, &fault_ops, bkt_store_uri(inner), err);
    if (rc < 0) {
        free(st->rules);
        free(st);
        return rc;
    }
    (void)pthread_mutex_init(&st->lock, NULL);
    st->n     = n;
    st->inner = inner;
    *out      = &st->base;
    return BKT_OK;
}

unsigned bkt_fault_hits(struct bkt_store *st, size_t i)
{
    struct fault_store *f = (struct fault_store *)st;
    return i < f->n ? atomic_load(&f->rules[i].hits) : 0;
}
