/* The number of a dataset's chunk objects, and their bytes. */
#include <inttypes.h>
#include <string.h>

#include "schema/domain/domain_impl.h"
#include "base/num.h"

struct bkt_usage {
    uint64_t bytes, n_chunks;
};

struct listing {
    struct bkt_usage use;
    size_t           prefix; /* length */
};

/* Chunk keys are digits and '_' below the dataset, perhaps below p<number>; other keys aren't ours to
 * count. */
static int add_listed(const struct bkt_listed *entry, void *arg)
{
    struct listing *l = arg;
    const char     *s = strlen(entry->key) > l->prefix ? entry->key + l->prefix : "";
    if (*s == 'p') {
        s = strchr(s, '/');
        s = s ? s + 1 : "";
    }
    if (!entry->is_prefix && *s && s[strspn(s, "0123456789_")] == 0) {
        l->use.n_chunks++;
        l->use.bytes += entry->size;
    }
    return BKT_OK;
}

static int by_list(struct bkt_domain *d, const struct bkt_object *o, struct bkt_usage *out,
                   struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf prefix = {0};
    BKT_PASS_MEM(err, bkt_id_key(&o->id, &prefix));
    BKT_PASS(bkt_buf_resize(&prefix, prefix.len - strlen(".dataset.json")));
    struct listing l = {.prefix = prefix.len};
    BKT_PASS(bkt_store_list(d->store, bkt_buf_str(&prefix), "", add_listed, &l, err));
    *out = l.use;
    return BKT_OK;
}

/* HEADs for all n chunks of the grid. */
static int head_all(struct bkt_domain *d, const struct bkt_object *o, const uint64_t *grid, size_t n,
                    struct bkt_usage *out, struct bkt_err *err)
{
    uint64_t       coord[BKT_MAX_RANK] = {0};
    const unsigned rank                = o->dset.layout.rank;
    BKT_CLEANUP(bkt_reqs_fini) struct bkt_reqs reqs = {0};
    BKT_PASS_MEM(err, bkt_reqs_init(&reqs, n));
    for (size_t i = 0; i < n; i++) {
        reqs.v[i].op = BKT_HEAD;
        BKT_PASS_MEM(err, bkt_chunk_key(&o->id, &o->dset.layout, coord, &reqs.keys[i]));
        for (unsigned k = rank; k-- > 0 && ++coord[k] == grid[k];)
            coord[k] = 0;
    }
    bkt_reqs_perform(d->store, &reqs);
    for (size_t i = 0; i < n; i++) {
        const struct bkt_req *r = &reqs.v[i];
        if (r->rc == BKT_ENOENT)
            continue;
        if (r->rc < 0)
            return bkt_err_copy(err, r->rc, r->err);
        out->n_chunks++;
        out->bytes += r->size == UINT64_MAX ? 0 : r->size;
    }
    return BKT_OK;
}

/* Chunks of version 1 that are asked for one by one; if there may be more, all keys of the bucket are
 * listed. */
#define V1_MOST (UINT64_C(1) << 20)

bool bkt_v1_are_many(const uint64_t *grid, unsigned rank)
{
    uint64_t n    = 1;
    bool     many = false;
    for (unsigned d = 0; d < rank; d++) {
        if (!grid[d])
            return false;
        many = many || !bkt_mul_u64(n, grid[d], &n) || n > V1_MOST;
    }
    return many;
}

/* Version 1 keys are hashes, which no list finds; a plain web server has no lists. */
static int by_heads(struct bkt_domain *d, const struct bkt_object *o, struct bkt_usage *out,
                    struct bkt_err *err)
{
    const struct bkt_dset *ds                  = &o->dset;
    uint64_t               grid[BKT_MAX_RANK]  = {1}, n = 1;
    bool                   fits                = true;
    for (unsigned i = 0; i < ds->space.rank; i++) {
        grid[i] = bkt_ceil_div(ds->space.dims[i], ds->layout.dims[i]);
        fits    = fits && bkt_mul_u64(n, grid[i], &n);
        if (grid[i] == 0)
            return BKT_OK;
    }
    BKT_FAIL_IF(err, !fits || n > BKT_REQUESTS_AT_ONCE, BKT_EUNSUP,
                "dataset %s: its chunk objects can't be listed, and up to %" PRIu64
                " are too many for single requests",
                o->id.text, fits ? n : UINT64_MAX);
    return head_all(d, o, grid, (size_t)n, out, err);
}

int bkt_domain_chunk_usage(struct bkt_domain *d, const struct bkt_object *dset, uint64_t *bytes,
                           uint64_t *n_chunks, struct bkt_err *err)
{
    struct bkt_usage  use = {0, 0};
    struct bkt_usage *kept;
    BKT_FAIL_IF(err, dset->kind != BKT_DATASET, BKT_EINVAL, "%s is not a dataset", dset->id.text);
    (void)pthread_mutex_lock(&d->lock);
    kept = bkt_map_get(d->usage, dset->id.text, BKT_ID_LEN);
    if (kept)
        use = *kept;
    (void)pthread_mutex_unlock(&d->lock);
    if (!kept && dset->dset.layout.cls == BKT_D_CHUNKED) { /* objects beside references are not read either */
        int rc = bkt_id_is_v2(&dset->id) ? by_list(d, dset, &use, err) : BKT_EUNSUP;
        if (rc == BKT_EUNSUP) {
            bkt_err_clear(err);
            rc = by_heads(d, dset, &use, err);
        }
        BKT_PASS(rc);
        (void)pthread_mutex_lock(&d->lock);
        kept = bkt_map_make(&d->usage, dset->id.text, BKT_ID_LEN, sizeof *kept);
        if (kept) /* only a cache: not required */
            *kept = use;
        (void)pthread_mutex_unlock(&d->lock);
    }
    if (bytes)
        *bytes = use.bytes;
    if (n_chunks)
        *n_chunks = use.n_chunks;
    return BKT_OK;
}
