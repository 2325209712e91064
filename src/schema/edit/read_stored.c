/* Objects as they are stored, whatever the cache has. */
#include "schema/edit/edit_impl.h"
#include "schema/json/documents.h"

#define READ_AT_ONCE 256 /* as many as there are connections */

typedef int on_object(const struct bkt_object *o, void *arg);

static int look_at(const struct bkt_id *id, const struct bkt_req *r, const struct bkt_object *cached,
                   on_object *fn, void *arg, struct bkt_err *err)
{
    struct bkt_object *o = NULL;
    if (r->rc == BKT_ENOENT)
        return BKT_OK;
    if (r->rc < 0 && r->rc != BKT_ENOTMOD)
        return bkt_err_copy(err, r->rc, r->err);
    if (r->rc == BKT_OK)
        BKT_PASS(bkt_object_parse(r->body.ptr, r->body.len, id, &o, err));
    int rc = fn(o ? o : cached, arg);
    bkt_object_release(o);
    BKT_PASS_MEM(err, rc);
    return BKT_OK;
}

struct read_wave {
    struct bkt_reqs reqs;
    struct bkt_id ids[READ_AT_ONCE]; /* the caller's list may grow and move */
    const struct bkt_object *cached[READ_AT_ONCE];
};

static void read_wave_fini(struct read_wave *w)
{
    for (size_t i = 0; i < READ_AT_ONCE; i++)
        bkt_object_release(w->cached[i]);
    bkt_reqs_fini(&w->reqs);
}

static int read_wave(struct bkt_domain *d, const struct bkt_id *ids, size_t n, bool cache, on_object *fn,
                     void *arg, struct bkt_err *err)
{
    BKT_CLEANUP(read_wave_fini) struct read_wave w = {.reqs = {.n = 0}};
    BKT_PASS_MEM(err, bkt_reqs_init(&w.reqs, n));
    for (size_t i = 0; i < n; i++) {
        w.ids[i] = ids[i];
        w.cached[i] = cache ? bkt_objects_cached(d->objects, &ids[i]) : NULL;
        w.reqs.v[i] = (struct bkt_req){.op = BKT_GET, .len = BKT_WHOLE};
        if (w.cached[i] && w.cached[i]->etag && *w.cached[i]->etag)
            w.reqs.v[i].if_none_match = w.cached[i]->etag;
        BKT_PASS_MEM(err, bkt_id_key(&w.ids[i], &w.reqs.keys[i]));
    }
    bkt_reqs_perform(d->store, &w.reqs);
    for (size_t i = 0; i < n; i++)
        BKT_PASS(look_at(&w.ids[i], &w.reqs.v[i], w.cached[i], fn, arg, err));
    return BKT_OK;
}

int bkt_edit_read_stored(struct bkt_domain *d, const struct bkt_ids *l, bool cache, on_object *fn, void *arg,
                         struct bkt_err *err)
{
    for (size_t i = 0, n; i < l->n; i += n) {
        n = l->n - i < READ_AT_ONCE ? l->n - i : READ_AT_ONCE;
        BKT_PASS(read_wave(d, l->v + i, n, cache, fn, arg, err));
    }
    return BKT_OK;
}
