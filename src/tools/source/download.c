#include "tools/source/download.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/files.h"
#include "base/num.h"
#include "base/os/clock.h"
#include "base/os/thread.h"

/* ---- the file ---- */

#define HEAD  2048 /* bytes of the trailer before the marks: names are at most this long */
/* Seconds between two stores of the marks; a killed download loses the time since the last. */
#define EVERY 2.0

static int failed(const struct part_file *p, struct bkt_err *err)
{
    BKT_FAIL(err, BKT_EIO, "%s: %s", p->path, strerror(errno));
}

static int write_all(const struct part_file *p, uint64_t off, const void *bytes, uint64_t n,
                     struct bkt_err *err)
{
    return bkt_write_at(p->fd, bytes, n, off) ? BKT_OK : failed(p, err);
}

/* ---- opening ---- */

/* The first part of the trailer: equal only for the same bytes of the same file. */
static int head_of(const char *name, const struct part_file *p, const struct bkt_version *v, char head[HEAD],
                   struct bkt_err *err)
{
    memset(head, 0, HEAD);
    int n = snprintf(head, HEAD, "h5bucket-get 1\n%llu\n%llu\n%.17g\n%s\n%s\n", (unsigned long long)p->size,
                     (unsigned long long)p->block, v->mtime, v->etag, name);
    BKT_FAIL_IF(err, n < 0 || n >= HEAD, BKT_EINVAL, "%s: the name is too long", name);
    return BKT_OK;
}

static bool is_same(const struct part_file *p, const struct bkt_version *v, const char head[HEAD])
{
    char there[HEAD];
    bool known = v->etag[0] || v->mtime > 0;
    return known && bkt_read_at(p->fd, there, HEAD, p->size) && memcmp(there, head, HEAD) == 0 &&
           bkt_read_at(p->fd, p->marks, p->n_blocks, p->size + HEAD);
}

static int begin_anew(struct part_file *p, const char head[HEAD], struct bkt_err *err)
{
    memset(p->marks, 0, p->n_blocks);
    if (ftruncate(p->fd, 0) < 0)
        return failed(p, err);
    BKT_PASS(write_all(p, p->size, head, HEAD, err));
    return write_all(p, p->size + HEAD, p->marks, p->n_blocks, err);
}

/* Another process may have completed and renamed the file before this one got the lock. */
static int lock_file(const struct part_file *p, struct bkt_err *err)
{
    struct stat held, there;
    if (flock(p->fd, LOCK_EX | LOCK_NB) == 0 && fstat(p->fd, &held) == 0 && stat(p->path, &there) == 0 &&
        held.st_ino == there.st_ino && held.st_dev == there.st_dev)
        return BKT_OK;
    BKT_FAIL(err, BKT_EBUSY, "%s: another h5bucket get is at work on it; wait for its end", p->path);
}

static int open_at(struct part_file *p, const char *name, const struct bkt_version *v, struct bkt_err *err)
{
    char head[HEAD];
    BKT_PASS(head_of(name, p, v, head, err));
    p->fd = open(p->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (p->fd < 0)
        return failed(p, err);
    BKT_PASS(lock_file(p, err));
    if (!is_same(p, v, head))
        BKT_PASS(begin_anew(p, head, err));
    for (uint64_t i = 0; i < p->n_blocks; i++)
        p->marks[i] = p->marks[i] == 1;
    p->kept = part_file_done(p);
    return BKT_OK;
}

int part_file_open(const char *path, const char *name, uint64_t block, const struct bkt_version *version,
                   struct part_file *out, struct bkt_err *err)
{
    *out = (struct part_file){.fd = -1, .size = version->size, .block = block, .saved = bkt_clock_now()};
    out->n_blocks = bkt_ceil_div(out->size, block);
    BKT_FAIL_IF(err, out->size > (uint64_t)INT64_MAX / 2, BKT_EUNSUP,
                "%s: the server does not report a possible size", name);
    out->path  = strdup(path);
    out->marks = calloc(out->n_blocks + 1, 1);
    int rc = out->path && out->marks ? open_at(out, name, version, err)
                                     : BKT_ERR(err, BKT_ENOMEM, "out of memory");
    if (rc < 0)
        part_file_fini(out);
    return rc;
}

void part_file_fini(struct part_file *p)
{
    if (p->fd >= 0)
        (void)close(p->fd);
    free(p->path);
    free(p->marks);
    *p = (struct part_file){.fd = -1};
}

/* ---- blocks ---- */

int part_file_write(struct part_file *p, uint64_t off, const void *bytes, uint64_t n, struct bkt_err *err)
{
    BKT_FAIL_IF(err, off > p->size || n > p->size - off, BKT_EINVAL, "%s: bytes behind its end", p->path);
    return write_all(p, off, bytes, n, err);
}

int part_file_save(struct part_file *p, bool now, struct bkt_err *err)
{
    if (!now && bkt_clock_now() - p->saved < EVERY)
        return BKT_OK;
    if (fdatasync(p->fd) < 0)
        return failed(p, err);
    BKT_PASS(write_all(p, p->size + HEAD, p->marks, p->n_blocks, err));
    p->saved = bkt_clock_now();
    return BKT_OK;
}

uint64_t part_file_done(const struct part_file *p)
{
    uint64_t done = 0;
    for (uint64_t i = 0; i < p->n_blocks; i++)
        done += p->marks[i] ? bkt_min_u64(p->block, p->size - i * p->block) : 0;
    return done;
}

/* ---- the end ---- */

/* The new name is on the disk, too. */
static void sync_folder(const char *path)
{
    const char                  *slash  = strrchr(path, '/');
    BKT_CLEANUP(bkt_freep) char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        (void)fsync(fd);
        (void)close(fd);
    }
}

int part_file_finish(struct part_file *p, const char *to, struct bkt_err *err)
{
    struct stat sb;
    BKT_FAIL_IF(err, part_file_done(p) != p->size, BKT_EIO, "%s: it is not complete", p->path);
    if (ftruncate(p->fd, (off_t)p->size) < 0 || fsync(p->fd) < 0 || fstat(p->fd, &sb) < 0)
        return failed(p, err);
    BKT_FAIL_IF(err, (uint64_t)sb.st_size != p->size, BKT_EIO, "%s: its size is wrong", p->path);
    BKT_FAIL_IF(err, rename(p->path, to) < 0, BKT_EIO, "%s: %s", to, strerror(errno));
    sync_folder(to);
    return BKT_OK;
}

void part_file_remove(const struct part_file *p) { (void)unlink(p->path); }

/* ---- requests that have ended ---- */

#define LOOK_S 0.2 /* seconds after which the caller is asked whether to go on, though nothing arrived */

struct ended {
    pthread_mutex_t lock;
    pthread_cond_t some;
    struct bkt_req *v[DOWNLOAD_SLOTS]; /* under the lock */
    size_t n;
};

static void ended_init(struct ended *e)
{
    e->n = 0;
    (void)pthread_mutex_init(&e->lock, NULL);
    pthread_condattr_t clock;
    (void)pthread_condattr_init(&clock);
    (void)pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&e->some, &clock);
    (void)pthread_condattr_destroy(&clock);
}

static void ended_fini(struct ended *e)
{
    (void)pthread_cond_destroy(&e->some);
    (void)pthread_mutex_destroy(&e->lock);
}

static void on_done(struct bkt_req *req)
{
    struct ended *e = req->arg;
    BKT_HOLD(&e->lock);
    e->v[e->n++] = req;
    (void)pthread_cond_signal(&e->some);
}

/* Wait for an ended request.  NULL: none has ended in LOOK_S. */
static struct bkt_req *take_ended(struct ended *e)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until); /* as `some`: a set clock stretches no wait */
    until.tv_nsec += (long)(LOOK_S * 1e9);
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    BKT_HOLD(&e->lock);
    while (!e->n && pthread_cond_timedwait(&e->some, &e->lock, &until) == 0)
        ;
    return e->n ? e->v[--e->n] : NULL;
}

/* ---- blocks ---- */

struct slot {
    struct bkt_req req; /* first: an ended request leads to its slot */
    uint64_t       block;
    unsigned char *bytes;
};
struct download_run {
    const struct download *d;
    struct part_file      *p;
    struct slot            slots[DOWNLOAD_SLOTS];
    struct ended ended;
    unsigned               busy;
    uint64_t               next;  /* the block to begin with */
    atomic_bool            stop;
};

static bool take_block(struct download_run *r, uint64_t *block)
{
    while (r->next < r->p->n_blocks && r->p->marks[r->next])
        r->next++;
    *block = r->next;
    return r->next < r->p->n_blocks && ++r->next;
}

/* Start the next request in an idle slot, unless all have begun. */
static int start(struct download_run *r, struct slot *s, struct bkt_err *err)
{
    uint64_t i;
    if (!take_block(r, &i))
        return BKT_OK;
    if (!s->bytes && !(s->bytes = malloc(r->p->block)))
        BKT_NOMEM(err);
    uint64_t off  = i * r->p->block;
    uint64_t skip = i == 0 ? bkt_min_u64(r->d->n_first, r->p->block) : 0;
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
                              .arg = &r->ended};
    r->busy++;
    bkt_store_start(r->d->st, &s->req);
    return BKT_OK;
}

/* ---- answers ---- */

/* NULL: no slot has ended in LOOK_S. */
static struct slot *wait_one(struct download_run *r)
{
    struct slot *s = (struct slot *)take_ended(&r->ended);
    r->busy -= s != NULL;
    return s;
}

static int keep(struct download_run *r, struct slot *s, struct bkt_err *err)
{
    const struct bkt_req *q = &s->req;
    if (q->rc < 0)
        return bkt_err_copy(err, q->rc, q->err);
    BKT_FAIL_IF(err, q->n != q->len, BKT_ENET, "%s: %llu bytes of a range of %llu arrived", q->key,
                (unsigned long long)q->n, (unsigned long long)q->len);
    BKT_PASS(part_file_write(r->p, q->off, s->bytes, q->n, err));
    r->p->marks[s->block] = 1;
    BKT_PASS(part_file_save(r->p, false, err));
    return r->d->step(r->d->arg, q->n, err);
}

static int one_step(struct download_run *r, struct bkt_err *err)
{
    struct slot *s = wait_one(r);
    if (!s)
        return r->d->step(r->d->arg, 0, err);
    int rc = keep(r, s, err);
    bkt_req_fini(&s->req);
    return rc < 0 ? rc : start(r, s, err);
}

/* End the requests that are under way after a failure.  Blocks that arrived are kept. */
static void end_all(struct download_run *r)
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
    struct download_run *r = calloc(1, sizeof *r);
    BKT_NEED(err, r);
    r->d = d;
    r->p = p;
    ended_init(&r->ended);
    int rc = download_put_first(d, p, err);
    for (size_t i = 0; i < DOWNLOAD_SLOTS && rc == BKT_OK; i++)
        rc = start(r, &r->slots[i], err);
    while (rc == BKT_OK && r->busy)
        rc = one_step(r, err);
    if (rc < 0)
        end_all(r);
    for (size_t i = 0; i < DOWNLOAD_SLOTS; i++)
        free(r->slots[i].bytes);
    ended_fini(&r->ended);
    free(r);
    return rc;
}

/* ---- a few requests ---- */

int download_requests(struct bkt_store *st, struct bkt_req *reqs, size_t n, int (*check)(struct bkt_err *err),
                      struct bkt_err *err)
{
    struct ended ended;
    atomic_bool stop = false;
    int rc = BKT_OK;
    ended_init(&ended);
    for (size_t i = 0; i < n; i++) {
        reqs[i].cancel = &stop;
        reqs[i].done = on_done;
        reqs[i].arg = &ended;
        bkt_store_start(st, &reqs[i]);
    }
    for (size_t left = n; left;)
        if (take_ended(&ended)) {
            left--;
        } else if (rc == BKT_OK && (rc = check(err)) < 0) {
            atomic_store(&stop, true);
            bkt_store_cancelled();
        }
    ended_fini(&ended);
    for (size_t i = 0; i < n && rc == BKT_OK; i++)
        if (reqs[i].rc < 0)
            rc = bkt_err_copy(err, reqs[i].rc, reqs[i].err);
    return rc;
}
