/* For the tests of writing: datasets of int32 in a bucket in memory, each with an array beside it that holds
 * its expected contents. */
#ifndef BKT_WRITE_TESTING_H
#define BKT_WRITE_TESTING_H

#include "schema/domain/domain_impl.h"
#include "helpers/fault_store.h"
#include "unit/chunk/read/bucket_in_memory.h"
#include "chunk/write/write.h"

static inline uint64_t puts_sent(void)
{
    struct bkt_stats s;
    bkt_stats_get(&s);
    return s.put;
}

struct model {
    unsigned n, rank;
    uint64_t dims[8], n_elems;
    int32_t *v;
};

/** Dataset @p n of int32 with fill value WORLD_FILL and filters @p filters (JSON list, may be empty); max:
 *  NULL as dims. */
static inline void model_make(struct world *w, struct model *m, const uint64_t *cdims, const char *filters, bool hdf5)
{
    struct bkt_id id = world_id(m->n);
    char         *ds = dims_text(m->dims, m->rank), *cs = dims_text(cdims, m->rank);
    char         *key = text(WORLD_DB "/d/%s/.dataset.json", id.text + 20);
    char         *max = text("%s", "[0");
    for (unsigned d = 1; d < m->rank; d++) {
        char *t = text("%s,%llu", max, (unsigned long long)m->dims[d]);
        free(max);
        max = t;
    }
    put_text(w, key, text("{\"id\":\"%s\",\"root\":\"" WORLD_ROOT "\",\"created\":1,\"lastModified\":1,\"attributes\":{},\"type\":" I32
                          ",\"shape\":{\"class\":\"H5S_SIMPLE\",\"dims\":%s,\"maxdims\":%s%s},"
                          "\"layout\":{\"class\":\"H5D_CHUNKED\",\"dims\":%s%s},\"creationProperties\":{\"fillValue\":%d%s%s}}",
                          id.text, ds, m->n % 2 ? max : ds, m->n % 2 ? "]" : "", cs, hdf5 ? ",\"chunk_encoding\":\"hdf5\"" : "",
                          WORLD_FILL, *filters ? ",\"filters\":" : "", filters));
    m->n_elems = 1;
    for (unsigned d = 0; d < m->rank; d++)
        m->n_elems *= m->dims[d];
    m->v = need((size_t)m->n_elems * sizeof *m->v);
    for (uint64_t i = 0; i < m->n_elems; i++)
        m->v[i] = WORLD_FILL;
    free(ds), free(cs), free(key), free(max);
}

static inline void model_check(const struct model *m, struct bkt_dsetio *io, const char *when)
{
    struct bkt_sel all = {.kind = BKT_SEL_ALL, .rank = m->rank, .n_elems = m->n_elems};
    struct bkt_err err = {0};
    int32_t       *got = need((size_t)m->n_elems * sizeof *got);
    memcpy(all.dims, m->dims, sizeof m->dims);
    struct bkt_read r  = {.io = io, .file = &all, .dst = got};
    int             rc = bkt_read_datasets(&r, 1, &err);
    uint64_t        bad = 0, first = 0;
    CHECK(rc == BKT_OK, "dataset %u, %s: %s", m->n, when, story(&err));
    for (uint64_t i = 0; rc == BKT_OK && i < m->n_elems; i++)
        if (got[i] != m->v[i] && !bad++)
            first = i;
    CHECK(!bad, "dataset %u, %s: %llu of %llu values are wrong, first %llu: %d instead of %d", m->n, when, (unsigned long long)bad,
          (unsigned long long)m->n_elems, (unsigned long long)first, got[first], m->v[first]);
    bkt_read_fini(&r);
    free(got);
}

/** Write a selection with new values, into the dataset and the model. */
static inline int model_write(struct model *m, struct bkt_dsetio *io, const struct bkt_sel *sel, int32_t value, struct bkt_err *err)
{
    uint64_t         n;
    uint64_t        *at  = model_of(sel, &n);
    int32_t         *src = need((size_t)n * sizeof *src);
    struct bkt_write wr  = {.io = io, .file = sel, .src = src};
    for (uint64_t i = 0; i < n; i++)
        src[i] = value + (int32_t)i;
    int rc = bkt_write_datasets(&wr, 1, err);
    for (uint64_t i = 0; rc == BKT_OK && i < n; i++)
        m->v[at[i]] = src[i];
    memset(src, 0x77, (size_t)n * sizeof *src); /* it is ours again */
    free(at);
    free(src);
    return rc;
}

/** Elements from .. from+n-1 of a model of one dimension. */
static inline struct bkt_sel model_part(const struct model *m, uint64_t from, uint64_t n)
{
    return (struct bkt_sel){.kind = BKT_SEL_HYPER, .rank = 1, .dims = {m->dims[0]}, .start = {from}, .stride = {1}, .count = {1},
                            .block = {n}, .n_elems = n};
}

/** A world with one dataset of @p n_chunks chunks of @p elems, in a store that behaves as @p f. */
static inline struct bkt_dsetio *faulty_begin(struct world *w, struct model *m, const char *name, const char *settings, uint64_t elems,
                                              uint64_t n_chunks, const char *filters, const struct bkt_fault *f)
{
    struct bkt_store *st;
    *m = (struct model){.n = 2, .rank = 1, .dims = {elems * n_chunks}};
    world_open(w, name, settings);
    model_make(w, m, &elems, filters, *filters);
    if (bkt_fault_open(w->dom->store, f, 1, &st, NULL) < 0)
        abort();
    w->dom->store = st;
    return open_io(w, m->n);
}

/** A flush stores everything, and the store equals the model; @p io NULL: no comparison. */
static inline void faulty_end(struct world *w, struct model *m, struct bkt_dsetio *io, const char *when)
{
    struct bkt_err err = {0};
    CHECK(bkt_chunks_flush(w->dom, &err) == BKT_OK, "%s: %s", when, story(&err));
    bkt_chunks_forget_stored(w->dom);
    if (io)
        model_check(m, io, when);
    bkt_dsetio_close(io);
    world_close(w);
    free(m->v);
}

#define GZIP "[{\"class\":\"H5Z_FILTER_DEFLATE\",\"id\":1,\"name\":\"gzip\",\"level\":1}]"
#define SHUFFLE_GZIP                                                                                              \
    "[{\"class\":\"H5Z_FILTER_SHUFFLE\",\"id\":2,\"name\":\"shuffle\"},{\"class\":\"H5Z_FILTER_DEFLATE\",\"id\":1,\"name\":\"gzip\",\"level\":4}]"

#endif
