#include "tools/source/download.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/num.h"

#define LOOK_S 0.2 /* seconds after which the caller is asked whether to go on, though nothing arrived */

struct slot {
    struct bkt_req req;
    struct run    *run;
    struct slot   *next;   /* among the ended ones */
    uint64_t       block;
    unsigned char *bytes;
};
struct run {
    const struct download *d;
    struct part_file      *p;
    struct slot            slots[DOWNLOAD_SLOTS];
    pthread_mutex_t        lock;
    pthread_cond_t         ended_some;
    struct slot           *ended; /* under the lock */
    unsigned               busy;
    uint64_t               next;  /* the block to begin with */
    atomic_bool            stop;
};

/* ---- requests ---- */

static void on_done(struct bkt_req *req)
{
    struct slot *s = req->arg;
    (void)pthread_mutex_lock(&s->run->lock);
    s->next       = s->run->ended;
    s->run->ended = s;
    (void)pthread_cond_signal(&s->run->ended_some);
    (void)pthread_mutex_unlock(&s->run->lock);
}

static bool take_block(struct run *r, uint64_t *block)
{
    while (r->next < r->p->n_blocks && r->p->marks[r->next])
        r->next++;
    *block = r->next;
    return r->next < r->p->n_blocks && ++r->next;
}

/* Start the next request in an idle slot, unless all have begun. */
static int start(struct run *r, struct slot *s, struct bkt_err *err)
{
    uint64_t i;
    if (!take_block(r, &i))
        return BKT_OK;
    if (!s->bytes && !(s->bytes = malloc(r->p->block)))
        BKT_NOMEM(err);
    uint64_t off  = i * r->p->block;
    uint64_t skip = i == 0 ? bkt_min_u64(r->d->n_first, r->p->block) : 0;
    s->run        = r;
    s->block      = i;
    s->req = (struct bkt_req){.op = BKT_GET,
                              .key = r->d->key,
                              .off = off + skip,
                              .dst = s->bytes,
                              .len = bkt_min_u64(r->p->block, r->p->size - off) - skip,
                              .if_match = bkt_version_condition(r->d->version),
                              .version = r->d->version,
                              .cancel = &r->stop,
                              .done = on_done,
                              .arg = s};
    r->busy++;
    bkt_store_start(r->d->st, &s->req);
    return BKT_OK;
}

/* ---- answers ---- */

static struct timespec soon(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += (long)(LOOK_S * 1e9);
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

/* Wait for an ended slot.  NULL: no slot has ended in LOOK_S. */
static struct slot *wait_one(struct run *r)
{
    struct timespec until = soon();
    (void)pthread_mutex_lock(&r->lock);
    while (!r->ended && pthread_cond_timedwait(&r->ended_some, &r->lock, &until) == 0)
        ;
    struct slot *s = r->ended;
    if (s)
        r->ended = s->next;
    (void)pthread_mutex_unlock(&r->lock);
    r->busy -= s != NULL;
    return s;
}

static int keep(struct run *r, struct slot *s, struct bkt_err *err)
{
    const struct bkt_req *q = &s->req;
    if (q->rc < 0)
        return bkt_err_copy(err, q->rc, q->err);
    if (q->n != q->len)
        BKT_FAIL(err, BKT_ENET, "%s: %llu bytes of a range of %llu arrived", q->key, (unsigned long long)q->n,
                 (unsigned long long)q->len);
    BKT_PASS(part_file_write(r->p, q->off, s->bytes, q->n, err));
    r->p->marks[s->block] = 1;
    BKT_PASS(part_file_save(r->p, false, err));
    return r->d->step(r->d->arg, q->n, err);
}

static int one_step(struct run *r, struct bkt_err *err)
{
    struct slot *s = wait_one(r);
    if (!s)
        return r->d->step(r->d->arg, 0, err);
    int rc = keep(r, s, err);
    bkt_req_fini(&s->req);
    return rc < 0 ? rc : start(r, s, err);
}

/* End the requests that are under way after a failure.  Blocks that arrived are kept. */
static void end_all(struct run *r)
{
    atomic_store(&r->stop, true);
    bkt_store_cancelled();
    while (r->busy) {
        struct slot *s = wait_one(r);
        if (s && s->req.rc == BKT_OK && s->req.n == s->req.len &&
            part_file_write(r->p, s->req.off, s->bytes, s->req.n, NULL) == BKT_OK)
            r->p->marks[s->block] = 1;
        if (s)
            bkt_req_fini(&s->req);
    }
    (void)!part_file_save(r->p, true, NULL); /* without the marks, less is kept */
}

/* The first bytes are here.  They may be all of the first block. */
int download_put_first(const struct download *d, struct part_file *p, struct bkt_err *err)
{
    uint64_t n = bkt_min_u64(d->n_first, bkt_min_u64(p->block, p->size));
    if (!p->n_blocks || p->marks[0])
        return BKT_OK;
    BKT_PASS(part_file_write(p, 0, d->first, n, err));
    p->marks[0] = n == bkt_min_u64(p->block, p->size);
    return d->step(d->arg, n, err);
}

int download_run(const struct download *d, struct part_file *p, struct bkt_err *err)
{
    struct run *r = calloc(1, sizeof *r);
    if (!r)
        BKT_NOMEM(err);
    r->d = d;
    r->p = p;
    (void)pthread_mutex_init(&r->lock, NULL);
    (void)pthread_cond_init(&r->ended_some, NULL);
    int rc = download_put_first(d, p, err);
    for (size_t i = 0; i < DOWNLOAD_SLOTS && rc == BKT_OK; i++)
        rc = start(r, &r->slots[i], err);
    while (rc == BKT_OK && r->busy)
        rc = one_step(r, err);
    if (rc < 0)
        end_all(r);
    for (size_t i = 0; i < DOWNLOAD_SLOTS; i++)
        free(r->slots[i].bytes);
    (void)pthread_cond_destroy(&r->ended_some);
    (void)pthread_mutex_destroy(&r->lock);
    free(r);
    return rc;
}

/* ---- a few requests ---- */

struct group {
    pthread_mutex_t lock;
    pthread_cond_t ended_some;
    size_t left; /* under the lock */
};

static void on_one_of_group(struct bkt_req *req)
{
    struct group *g = req->arg;
    (void)pthread_mutex_lock(&g->lock);
    g->left--;
    (void)pthread_cond_signal(&g->ended_some);
    (void)pthread_mutex_unlock(&g->lock);
}

/* Whether all have ended; waits up to LOOK_S. */
static bool group_ended(struct group *g)
{
    struct timespec until = soon();
    (void)pthread_mutex_lock(&g->lock);
    while (g->left && pthread_cond_timedwait(&g->ended_some, &g->lock, &until) == 0)
        ;
    bool ended = !g->left;
    (void)pthread_mutex_unlock(&g->lock);
    return ended;
}

int download_requests(struct bkt_store *st, struct bkt_req *reqs, size_t n, int (*check)(struct bkt_err *err),
                      struct bkt_err *err)
{
    struct group g = {.left = n};
    atomic_bool stop = false;
    int rc = BKT_OK;
    (void)pthread_mutex_init(&g.lock, NULL);
    (void)pthread_cond_init(&g.ended_some, NULL);
    for (size_t i = 0; i < n; i++) {
        reqs[i].cancel = &stop;
        reqs[i].done = on_one_of_group;
        reqs[i].arg = &g;
        bkt_store_start(st, &reqs[i]);
    }
    while (!group_ended(&g))
        if (rc == BKT_OK && (rc = check(err)) < 0) {
            atomic_store(&stop, true);
            bkt_store_cancelled();
        }
    (void)pthread_cond_destroy(&g.ended_some);
    (void)pthread_mutex_destroy(&g.lock);
    for (size_t i = 0; i < n && rc == BKT_OK; i++)
        if (reqs[i].rc < 0)
            rc = bkt_err_copy(err, reqs[i].rc, reqs[i].err);
    return rc;
}
