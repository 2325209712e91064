#include "storage/concat_store.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "storage/store_impl.h"

struct part {
    struct bkt_store *store;
    char             *key, *etag;
    uint64_t          start, off, size; /* start: in the joined object */
    struct bkt_version *version;
};
struct concat {
    struct bkt_store base;
    struct part     *parts; /* without empty parts */
    size_t           n;
    uint64_t         size;
};
/* One request under way.  The last part to arrive ends it. */
struct split {
    struct bkt_store *st;
    struct bkt_req   *outer;
    struct bkt_req   *inner;
    size_t            n;
    atomic_size_t     left;
    unsigned char *for_sink; /* the bytes, passed on at the end; NULL without a sink */
    uint64_t          len;
};

static void split_end(struct split *g)
{
    struct bkt_req   *o  = g->outer;
    struct bkt_store *st = g->st;
    for (size_t i = 0; i < g->n && o->rc == BKT_OK; i++)
        if (g->inner[i].rc < 0)
            o->rc = bkt_err_copy(bkt_req_err(o), g->inner[i].rc, g->inner[i].err);
    if (o->rc == BKT_OK)
        o->n = g->len;
    if (o->rc == BKT_OK && g->for_sink)
        o->sink(o->sink_arg, 0, g->for_sink, (size_t)g->len);
    for (size_t i = 0; i < g->n; i++)
        bkt_req_fini(&g->inner[i]);
    free(g->inner);
    free(g->for_sink);
    free(g);
    bkt_store_finish(st, o);
}

static void part_done(struct bkt_req *in)
{
    struct split *g = in->arg;
    if (atomic_fetch_sub(&g->left, 1) == 1)
        split_end(g);
}

/* The part that holds byte @p off. */
static size_t part_at(const struct concat *j, uint64_t off)
{
    size_t lo = 0, hi = j->n;
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (j->parts[mid].start <= off)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

static size_t parts_touched(const struct concat *j, uint64_t off, uint64_t len)
{
    return len ? part_at(j, off + len - 1) - part_at(j, off) + 1 : 0;
}

/* Split the request into ranges of the parts.  Zeros are written at once. */
static void split(const struct concat *j, struct split *g, uint64_t off, unsigned char *to)
{
    uint64_t len = g->len;
    for (size_t i = part_at(j, off); len; i++) {
        const struct part *p = &j->parts[i];
        uint64_t           in = off - p->start, n = bkt_min_u64(len, p->size - in);
        if (p->store)
            g->inner[g->n++] = (struct bkt_req){.op = BKT_GET,
                                                .key = p->key,
                                                .off = p->off + in,
                                                .len = n,
                                                .dst = to,
                                                .if_match = p->etag,
                                                .version = p->version,
                                                .cancel = g->outer->cancel,
                                                .done = part_done,
                                                .arg = g};
        else
            memset(to, 0, (size_t)n);
        off += n, len -= n, to += n;
    }
}

static void concat_get(struct concat *j, struct bkt_req *req)
{
    uint64_t       len;
    struct split *g = NULL;
    if (bkt_req_span(req, j->size, &len) < 0 || (g = calloc(1, sizeof *g)) == NULL) {
        if (req->rc == BKT_OK)
            (void)BKT_REQ_FAIL(req, BKT_ENOMEM, "GET %s: out of memory", req->key);
        bkt_store_finish(&j->base, req);
        return;
    }
    *g = (struct split){.st = &j->base, .outer = req, .len = len};
    g->inner          = calloc(parts_touched(j, req->off, len) + 1, sizeof *g->inner);
    g->for_sink = req->sink ? malloc((size_t)len + 1) : NULL;
    unsigned char *to = req->sink ? g->for_sink : bkt_req_room(req, len);
    if (g->inner && to)
        split(j, g, req->off, to);
    else if (req->rc == BKT_OK)
        (void)BKT_REQ_FAIL(req, BKT_ENOMEM, "GET %s: out of memory", req->key);
    size_t          n    = g->n;
    struct bkt_req *reqs = g->inner;
    if (n == 0) {
        split_end(g);
        return;
    }
    atomic_store(&g->left, n);
    /* when the last request has started, g may be freed already */
    for (size_t i = 0, at = part_at(j, req->off); i < n; at++)
        if (j->parts[at].store) {
            bkt_store_start(j->parts[at].store, &reqs[i]);
            i++;
        }
}

static void concat_start(struct bkt_store *base, struct bkt_req *req)
{
    struct concat *j = (struct concat *)base;
    if (req->op == BKT_GET) {
        concat_get(j, req);
        return;
    }
    req->size = j->size;
    if (req->op != BKT_HEAD)
        (void)BKT_REQ_FAIL(req, BKT_EUNSUP, "%s %s: parts of files are read-only", bkt_op_name(req->op),
                           req->key);
    bkt_store_finish(base, req);
}

static void concat_close(struct bkt_store *base)
{
    struct concat *j = (struct concat *)base;
    for (size_t i = 0; i < j->n; i++) {
        free(j->parts[i].key);
        free(j->parts[i].etag);
    }
    free(j->parts);
    free(j);
}

static const struct bkt_store_ops remote_ops = {
    .readonly = true, .decorator = true, .start = concat_start, .close = concat_close};
/* For joined stores with a local part: a waiting thread must help the pool. */
static const struct bkt_store_ops local_ops = {
    .local = true, .readonly = true, .decorator = true, .start = concat_start, .close = concat_close};

static int add_parts(struct concat *j, const struct bkt_concat_file *parts, size_t n, struct bkt_err *err)
{
    for (size_t i = 0; i < n; i++) {
        struct part *p = &j->parts[j->n];
        if (!parts[i].size)
            continue;
        *p =
            (struct part){parts[i].store, NULL, NULL, j->size, parts[i].off, parts[i].size, parts[i].version};
        j->n++;
        BKT_FAIL_IF(err,
                    !bkt_add_u64(j->size, p->size, &j->size) || j->size > INT64_MAX || p->off > INT64_MAX,
                    BKT_EINVAL, "parts of files that are longer than 2^63 bytes");
        if (p->store &&
            (!(p->key = strdup(parts[i].key)) || (parts[i].etag && !(p->etag = strdup(parts[i].etag)))))
            BKT_NOMEM(err);
    }
    return BKT_OK;
}

int bkt_concat_open(const struct bkt_concat_file *parts, size_t n, struct bkt_store **out,
                    struct bkt_err *err)
{
    struct concat *j = calloc(1, sizeof *j);
    bool           local = false;
    for (size_t i = 0; i < n; i++)
        local = local || (parts[i].store && bkt_store_is_local(parts[i].store));
    if (!j || !(j->parts = calloc(n + 1, sizeof *j->parts))) {
        free(j);
        BKT_NOMEM(err);
    }
    int rc = add_parts(j, parts, n, err);
    if (rc == BKT_OK)
        rc = bkt_store_init(&j->base, local ? &local_ops : &remote_ops, "joined:", err);
    if (rc < 0)
        concat_close(&j->base);
    else
        *out = &j->base;
    return rc;
}
