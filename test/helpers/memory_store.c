/* Stores in memory, mem:NAME, one per name and process: the reference for every backend's behaviour.  A program
 * that is linked with this file can open them. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/os/clock.h"
#include "storage/stats.h"
#include "storage/store_impl.h"

struct object {
    struct bkt_buf data;
    char           etag[BKT_ETAG_MAX];
    double         mtime;
};

/* The contents, which stay when a store is closed and opened again. */
struct space {
    struct space   *next;
    char           *name;
    struct bkt_map *objects;
    pthread_mutex_t lock; /* guards objects */
    size_t          users;
};
static struct space *spaces; /* under bkt_state_lock() */

struct mem {
    struct bkt_store base;
    struct space    *space;
};

static void free_object(void *p)
{
    struct object *o = p;
    if (o)
        bkt_buf_fini(&o->data);
    free(o);
}

static void read_object(struct bkt_req *req, const struct object *o)
{
    uint64_t len;
    memcpy(req->etag, o->etag, sizeof req->etag);
    req->mtime = o->mtime;
    req->size  = o->data.len;
    if (bkt_req_condition(req, o->etag) < 0 || req->op == BKT_HEAD ||
        bkt_req_span(req, o->data.len, &len) < 0)
        return;
    void *to = req->sink ? NULL : bkt_req_room(req, len);
    if (!to && !req->sink)
        return;
    if (req->sink)
        req->sink(req->sink_arg, 0, o->data.ptr + req->off, (size_t)len);
    else if (len)
        memcpy(to, o->data.ptr + req->off, (size_t)len);
    req->n = len;
    bkt_stats_add(BKT_STAT(bytes_in), len);
}

static void write_object(struct bkt_map *objects, struct bkt_req *req)
{
    struct object *o = calloc(1, sizeof *o);
    void          *old = NULL;
    if (!o || bkt_buf_add(&o->data, req->put, req->put_len) < 0 ||
        bkt_map_put(objects, req->key, strlen(req->key), o, &old) < 0) {
        free_object(o);
        (void)BKT_REQ_FAIL(req, BKT_ENOMEM, "PUT %s: out of memory", req->key);
        return;
    }
    free_object(old);
    o->mtime = bkt_time_of_day();
    (void)snprintf(o->etag, sizeof o->etag, "\"%016llx\"",
                   (unsigned long long)bkt_digest(req->put, req->put_len, 0));
    memcpy(req->etag, o->etag, sizeof req->etag);
    bkt_stats_add(BKT_STAT(bytes_out), req->put_len);
}

static void mem_start(struct bkt_store *st, struct bkt_req *req)
{
    struct space *sp = ((struct mem *)st)->space;
    (void)pthread_mutex_lock(&sp->lock);
    struct object *o = bkt_map_get(sp->objects, req->key, strlen(req->key));
    if (req->op == BKT_GET || req->op == BKT_HEAD) {
        if (o)
            read_object(req, o);
        else
            (void)BKT_REQ_FAIL(req, BKT_ENOENT, "%s has no %s", st->uri, req->key);
    } else if (bkt_req_condition(req, o ? o->etag : NULL) == BKT_OK) {
        if (req->op == BKT_PUT)
            write_object(sp->objects, req);
        else
            free_object(bkt_map_del(sp->objects, req->key, strlen(req->key)));
    }
    (void)pthread_mutex_unlock(&sp->lock);
    bkt_store_finish(st, req);
}

struct row {
    char    *key;
    uint64_t size;
    double   mtime;
    char     etag[BKT_ETAG_MAX];
};

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct row *)a)->key, ((const struct row *)b)->key);
}

/* A copy, so that the callback may change the store. */
static size_t snapshot(struct space *sp, const char *prefix, struct row **out)
{
    (void)pthread_mutex_lock(&sp->lock);
    struct row *rows = calloc(bkt_map_count(sp->objects) + 1, sizeof *rows);
    size_t n = 0, plen = strlen(prefix);
    for (struct bkt_map_at at = {0}; rows && bkt_map_walk(sp->objects, &at);) {
        const struct object *o = at.value;
        if (at.n < plen || (plen && memcmp(at.key, prefix, plen) != 0))
            continue;
        rows[n] = (struct row){.key = strndup(at.key, at.n), .size = o->data.len, .mtime = o->mtime};
        memcpy(rows[n].etag, o->etag, sizeof o->etag);
        if (!rows[n++].key) { /* an entry without a key must not be skipped */
            while (n)
                free(rows[--n].key);
            free(rows);
            rows = NULL;
        }
    }
    (void)pthread_mutex_unlock(&sp->lock);
    if (rows)
        qsort(rows, n, sizeof *rows, by_key);
    *out = rows;
    return n;
}

static int mem_list(struct bkt_store *st, const struct bkt_lists *l, bkt_list_each_fn *each, void *arg,
                    struct bkt_err *err)
{
    const char *prefix = l->prefixes[0];
    struct row *rows;
    size_t      n  = snapshot(((struct mem *)st)->space, prefix, &rows);
    int         rc = rows ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory");
    char       *last = NULL;
    for (size_t i = 0; rows && i < n && rc >= 0; i++) {
        struct bkt_listed e = {rows[i].key, false, rows[i].size, rows[i].mtime, rows[i].etag, false, rows[i].mtime};
        char             *cut = *l->delimiter ? strchr(rows[i].key + strlen(prefix), '/') : NULL;
        if (cut) {
            cut[1] = 0;
            if (last && strcmp(last, rows[i].key) == 0)
                continue;
            last = rows[i].key;
            e = (struct bkt_listed){.key = last, .is_prefix = true, .etag = ""};
        }
        int got = each(&e, arg);
        if (got < 0)
            rc = got;
    }
    for (size_t i = 0; rows && i < n; i++)
        free(rows[i].key);
    free(rows);
    return rc;
}

static void mem_close(struct bkt_store *st)
{
    bkt_state_lock();
    ((struct mem *)st)->space->users--;
    bkt_state_unlock();
    free(st);
}

static const struct bkt_store_ops mem_ops = {
    .local = true, .start = mem_start, .list = mem_list, .close = mem_close};

static void free_space(struct space *sp)
{
    bkt_map_free(sp->objects, free_object);
    (void)pthread_mutex_destroy(&sp->lock);
    free(sp->name);
    free(sp);
}

static struct space *find_space(const char *name) /* state locked */
{
    struct space *sp = spaces;
    while (sp && strcmp(sp->name, name) != 0)
        sp = sp->next;
    if (sp)
        return sp;
    sp = calloc(1, sizeof *sp);
    if (!sp)
        return NULL;
    (void)pthread_mutex_init(&sp->lock, NULL);
    sp->name    = strdup(name);
    sp->objects = bkt_map_new();
    if (!sp->name || !sp->objects) {
        free_space(sp);
        return NULL;
    }
    sp->next = spaces;
    spaces   = sp;
    return sp;
}

static int mem_open(const char *uri, const char *rest, const struct bkt_settings *set, struct bkt_store **out,
                 struct bkt_err *err)
{
    (void)set;
    struct mem *m = calloc(1, sizeof *m);
    if (!m)
        BKT_NOMEM(err);
    int rc = bkt_store_init(&m->base, &mem_ops, uri, err);
    if (rc < 0) {
        free(m);
        return rc;
    }
    bkt_state_lock();
    m->space = find_space(rest);
    if (m->space)
        m->space->users++;
    bkt_state_unlock();
    if (!m->space) {
        free(m->base.uri);
        free(m);
        BKT_NOMEM(err);
    }
    *out = &m->base;
    return BKT_OK;
}

static void mem_shutdown(void)
{
    bkt_state_lock();
    for (struct space **at = &spaces; *at;) {
        struct space *sp = *at;
        if (sp->users) {
            at = &sp->next;
            continue;
        }
        *at = sp->next;
        free_space(sp);
    }
    bkt_state_unlock();
}

__attribute__((constructor)) static void add(void)
{
    static const struct bkt_store_kind kind = {"mem:", 4, mem_open, mem_shutdown};
    bkt_store_add_kind(&kind);
}
