/* Sizes and bytes of chunks, under the policy of the domain's references. */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "schema/domain/domain.h"
#include "tools/kerchunk/load_kerchunk.h"

#define STORED_MAX (KC_CHUNK_MAX + KC_CHUNK_MAX / 8) /* bytes of an encoded chunk */

/* Requests to one store. */
struct batch {
    struct bkt_store *store;
    struct bkt_reqs reqs;
    size_t *of; /* per request: the chunk's place in the caller's list */
};

static void batch_fini(struct batch *b)
{
    bkt_reqs_fini(&b->reqs);
    free(b->of);
    *b = (struct batch){.store = NULL};
}

/* The store and key of a chunk's file. */
static int place_of(struct kc_load *k, const struct kc_ref *r, struct bkt_store **store, char **key,
                    struct bkt_err *err)
{
    const char *name;
    BKT_PASS(kc_name(k, r->url, &name, err));
    return bkt_domain_resolve_uri(k->l->file->dom, name, store, key, err);
}

static int run(struct batch *b, struct bkt_err *err)
{
    if (!b->reqs.n)
        return BKT_OK;
    bkt_reqs_run(b->store, &b->reqs);
    for (size_t i = 0; i < b->reqs.n; i++)
        if (b->reqs.v[i].rc < 0)
            return bkt_err_copy(err, b->reqs.v[i].rc, b->reqs.v[i].err);
    return BKT_OK;
}

/* Runs requests for those of @p n chunks that @p wants, as many at once as lie in one store. */
static int each(struct kc_load *k, const struct kc_chunk *c, size_t n, bool (*wants)(const struct kc_ref *r),
                void (*fill)(struct bkt_req *q, const struct kc_ref *r),
                int (*take)(struct kc_load *k, const struct kc_chunk *c, size_t i, struct bkt_req *q,
                            void *arg, struct bkt_err *err),
                void *arg, struct bkt_err *err)
{
    for (size_t at = 0; at < n;) {
        BKT_CLEANUP(batch_fini) struct batch b = {.of = calloc(BKT_TOOL_BATCH, sizeof *b.of)};
        size_t m = 0;
        if (!b.of || bkt_reqs_init(&b.reqs, BKT_TOOL_BATCH) < 0)
            BKT_NOMEM(err);
        for (; at < n && m < BKT_TOOL_BATCH; at++) {
            const struct kc_ref *r = &k->set.refs[c[at].ref];
            struct bkt_store *store = NULL;
            BKT_CLEANUP(bkt_freep) char *key = NULL;
            if (!wants(r))
                continue;
            BKT_PASS(place_of(k, r, &store, &key, err));
            if (m && store != b.store)
                break;
            b.store = store;
            if (bkt_buf_add_str(&b.reqs.keys[m], key) < 0)
                BKT_NOMEM(err);
            fill(&b.reqs.v[m], r);
            b.of[m++] = at;
        }
        b.reqs.n = m;
        int rc = run(&b, err);
        for (size_t i = 0; i < m && rc == BKT_OK; i++)
            rc = take(k, c, b.of[i], &b.reqs.v[i], arg, err);
        BKT_PASS(rc);
        BKT_PASS(interrupt_check(err));
    }
    return BKT_OK;
}

/* ---- sizes ---- */

static bool is_whole(const struct kc_ref *r)
{
    return r->url != KC_INLINE && r->len == KC_WHOLE;
}

static void ask_size(struct bkt_req *q, const struct kc_ref *r)
{
    (void)r;
    q->op = BKT_HEAD;
}

static int take_size(struct kc_load *k, const struct kc_chunk *c, size_t i, struct bkt_req *q, void *arg,
                     struct bkt_err *err)
{
    (void)arg;
    if (q->size > INT64_MAX)
        BKT_FAIL(err, BKT_EUNSUP, "%s: its server doesn't send its size",
                 k->set.urls.v[k->set.refs[c[i].ref].url]);
    k->set.refs[c[i].ref].len = q->size;
    return BKT_OK;
}

int kc_sizes(struct kc_load *k, const struct kc_array *a, struct bkt_err *err)
{
    return each(k, a->chunks, a->n_chunks, is_whole, ask_size, take_size, NULL, err);
}

/* ---- bytes ---- */

static bool is_elsewhere(const struct kc_ref *r)
{
    return r->url != KC_INLINE && r->len > 0;
}

static void ask_bytes(struct bkt_req *q, const struct kc_ref *r)
{
    q->op = BKT_GET;
    q->off = r->off;
    q->len = r->len;
}

static int take_bytes(struct kc_load *k, const struct kc_chunk *c, size_t i, struct bkt_req *q, void *arg,
                      struct bkt_err *err)
{
    struct bkt_buf *out = arg;
    if (q->body.len != k->set.refs[c[i].ref].len)
        BKT_FAIL(err, BKT_EFORMAT, "%s: it ends within a chunk", k->set.urls.v[k->set.refs[c[i].ref].url]);
    bkt_buf_move(&out[i], &q->body);
    return BKT_OK;
}

int kc_fetch(struct kc_load *k, const struct kc_chunk *c, size_t n, struct bkt_buf *out, struct bkt_err *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct kc_ref *r = &k->set.refs[c[i].ref];
        if (r->len > STORED_MAX)
            BKT_FAIL(err, BKT_EFORMAT, "a chunk of %llu stored bytes; at most %llu can be copied",
                     (unsigned long long)r->len, (unsigned long long)STORED_MAX);
        if (r->url == KC_INLINE && bkt_buf_add(&out[i], k->set.bytes.ptr + r->off, (size_t)r->len) < 0)
            BKT_NOMEM(err);
    }
    return each(k, c, n, is_elsewhere, ask_bytes, take_bytes, out, err);
}
