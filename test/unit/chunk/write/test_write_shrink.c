/* A shrink that fails or is cut off at any of its requests: the stored state reads as the old extent with all
 * its data, or as the new one.  A writer that lets it grow again, here or elsewhere, finds fill values. */
#include "schema/domain/domain_impl.h"
#include "chunk/dataset/dataset.h"
#include "schema/edit/edit.h"
#include "helpers/fault_store.h"
#include "base/os/pool.h"
#include "unit/chunk/write/write_testing.h"

enum { ROWS = 8, COLS = 12, FEWER_ROWS = 4, FEWER_COLS = 7 };

static const uint64_t whole[] = {ROWS, COLS}, less[] = {FEWER_ROWS, FEWER_COLS};

static struct bkt_domain *view(const char *store) /* as another process would have it */
{
    static uint64_t     differs;
    struct bkt_settings set;
    struct bkt_domain  *dom  = NULL;
    struct bkt_err      err  = {0};
    char               *name = text("mem:%s/d.h5", store);
    if (bkt_settings_init(&set, "", &err) < 0)
        abort();
    set.max_object -= ++differs;
    CHECK(bkt_domain_open(name, &set, &dom, &err) == BKT_OK, "%s", story(&err));
    bkt_settings_fini(&set);
    free(name);
    return dom;
}

static int32_t value_at(uint64_t i, uint64_t j) { return (int32_t)(1000 + i * COLS + j); }

/* The number of wrong elements: right is the value inside @p kept, the fill value outside. */
static unsigned wrong(struct bkt_dsetio *io, const uint64_t *kept, const char *when, unsigned k)
{
    const uint64_t *dims = io->ds->space.dims;
    int32_t         got[ROWS * COLS];
    struct bkt_err  err  = {0};
    struct bkt_sel  all  = {.kind = BKT_SEL_ALL, .rank = 2, .dims = {dims[0], dims[1]}, .n_elems = dims[0] * dims[1]};
    struct bkt_read r    = {.io = io, .file = &all, .dst = got};
    unsigned        bad  = 0;
    int             rc   = bkt_read_datasets(&r, 1, NULL);
    if (rc < 0) { /* the request that fails may have been one of these */
        bkt_read_fini(&r);
        rc = bkt_read_datasets(&r, 1, &err);
    }
    CHECK(rc == BKT_OK, "%s, request %u: %s", when, k, story(&err));
    for (uint64_t i = 0; rc == BKT_OK && i < dims[0]; i++)
        for (uint64_t j = 0; j < dims[1]; j++)
            bad += got[i * dims[1] + j] != (i < kept[0] && j < kept[1] ? value_at(i, j) : WORLD_FILL);
    bkt_read_fini(&r);
    return bad;
}

static bool has(const struct bkt_dsetio *io, const uint64_t *dims) { return memcmp(io->ds->space.dims, dims, 2 * sizeof *dims) == 0; }

/* A bucket with a dataset that is full of values, stored. */
static struct bkt_dsetio *filled(struct world *w, struct model *m, const char *name, const char *filters)
{
    uint64_t       cdims[] = {3, 5};
    struct bkt_err err     = {0};
    *m = (struct model){.n = 3, .rank = 2, .dims = {ROWS, COLS}};
    world_open(w, name, "");
    model_make(w, m, cdims, filters, *filters);
    struct bkt_dsetio *io  = open_io(w, m->n);
    struct bkt_sel     all = {.kind = BKT_SEL_ALL, .rank = 2, .dims = {ROWS, COLS}, .n_elems = (uint64_t)ROWS * COLS};
    CHECK(model_write(m, io, &all, 1000, &err) == BKT_OK && bkt_chunks_flush(w->dom, &err) == BKT_OK, "%s", story(&err));
    return io;
}

static struct bkt_store *with_faults(struct world *w, const struct bkt_fault *f, size_t n)
{
    struct bkt_store *st;
    if (bkt_fault_open(w->dom->store, f, n, &st, NULL) < 0)
        abort();
    return w->dom->store = st;
}

static int flush(struct bkt_domain *dom, struct bkt_err *err)
{
    int trim = bkt_chunks_trim(dom, err), rc = bkt_chunks_flush(dom, err);
    if (rc == BKT_OK)
        rc = bkt_domain_flush(dom, err);
    return trim < 0 ? trim : rc;
}

/* Another process opens the stored dataset, and lets it grow. */
static void look_and_grow(const char *name, unsigned k, bool must_be_new)
{
    struct bkt_err     err = {0};
    struct bkt_id      id  = world_id(3);
    struct world       o   = {.dom = view(name)};
    struct bkt_dsetio *io  = open_io(&o, 3);
    bool               new = has(io, less);
    CHECK(new || (!must_be_new && has(io, whole)), "request %u: an extent of %llu", k, (unsigned long long)io->ds->space.dims[0]);
    CHECK(wrong(io, new ? less : whole, "looked at", k) == 0, "request %u: values of the %s extent", k, new ? "new" : "old");
    CHECK(bkt_chunks_resize(io, whole, &err) == BKT_OK, "request %u: %s", k, story(&err));
    CHECK(wrong(io, new ? less : whole, "grown", k) == 0, "request %u: %s values are seen again", k, new ? "cut off" : "other");
    CHECK(flush(o.dom, &err) == BKT_OK, "request %u: %s", k, story(&err));
    bkt_dsetio_close(io);
    bkt_domain_close(o.dom);
    o.dom = view(name);
    io    = open_io(&o, 3);
    CHECK(has(io, whole) && !io->ds->trim, "request %u: it is stored, nothing is left to be done", k);
    CHECK(wrong(io, new ? less : whole, "grown and stored", k) == 0, "request %u: values after growing", k);
    const struct bkt_object *obj = NULL;
    CHECK(bkt_domain_get(o.dom, &id, &obj, &err) == BKT_OK, "%s", story(&err));
    bkt_object_release(obj);
    bkt_dsetio_close(io);
    bkt_domain_close(o.dom);
}

/* From the kth request on nothing goes through any more. */
static bool dies(const char *filters, unsigned k)
{
    struct world       w;
    struct model       m;
    struct bkt_err     err  = {0};
    char              *name = text("dies-%s-%u", *filters ? "z" : "", k);
    struct bkt_dsetio *io   = filled(&w, &m, name, filters);
    struct bkt_fault   dead = {.op = -1, .skip = k, .code = BKT_ENET};
    struct bkt_store  *st   = with_faults(&w, &dead, 1);
    int                rc   = bkt_chunks_resize(io, less, &err);
    CHECK(rc == BKT_OK ? has(io, less) : has(io, whole), "request %u: %d leaves an extent of its own", k, rc);
    int  later = flush(w.dom, NULL);
    bool hit   = bkt_fault_hits(st, 0) > 0;
    CHECK(hit || (rc == BKT_OK && later == BKT_OK), "request %u: %d, %d", k, rc, later);
    look_and_grow(name, k, !hit);
    bkt_dsetio_close(io);
    world_close(&w);
    free(m.v);
    free(name);
    return hit;
}

/* The kth request fails (its answer is lost, when @p lost), and no other: it can be tried again. */
static bool fails(const char *filters, unsigned k, bool lost)
{
    struct world       w;
    struct model       m;
    struct bkt_err     err  = {0};
    char              *name = text("fails-%s-%u-%d", *filters ? "z" : "", k, lost);
    struct bkt_dsetio *io   = filled(&w, &m, name, filters);
    struct bkt_fault   once = {.op = -1, .skip = k, .times = 1, .code = BKT_ENET, .carry_out = lost};
    struct bkt_store  *st   = with_faults(&w, &once, 1);
    int                rc   = bkt_chunks_resize(io, less, &err);
    if (rc < 0) {
        CHECK(has(io, whole) && wrong(io, whole, "a shrink failed", k) == 0, "request %u: it is as it was", k);
        CHECK(err.n && strstr(err.frame[err.n - 1].msg, "keeps its extent"), "%s", story(&err));
        bkt_err_clear(&err);
        CHECK(bkt_chunks_resize(io, less, &err) == BKT_OK, "again after request %u: %s", k, story(&err));
    }
    CHECK(wrong(io, less, "smaller", k) == 0, "request %u", k);
    if (k % 2) {
        CHECK(bkt_chunks_resize(io, whole, &err) == BKT_OK || bkt_chunks_resize(io, whole, &err) == BKT_OK, "request %u: %s", k, story(&err));
        CHECK(wrong(io, less, "grown again", k) == 0, "request %u: cut off values are seen again", k);
    }
    if (flush(w.dom, NULL) < 0)
        CHECK(flush(w.dom, &err) == BKT_OK, "request %u: %s", k, story(&err));
    bool hit = bkt_fault_hits(st, 0) > 0;
    if (k % 2 == 0)
        look_and_grow(name, k, true);
    bkt_chunks_forget_stored(w.dom);
    if (k % 2)
        CHECK(has(io, whole) && wrong(io, less, "stored", k) == 0, "request %u: stored", k);
    bkt_dsetio_close(io);
    world_close(&w);
    free(m.v);
    free(name);
    return hit;
}

/* A store that refuses to delete: the shrink holds, the flush reports it once, and the dataset doesn't grow
 * into old values. */
static void nothing_can_be_deleted(void)
{
    struct world       w;
    struct model       m;
    struct bkt_err     err = {0};
    struct bkt_dsetio *io  = filled(&w, &m, "undeletable", "");
    struct bkt_store  *in  = w.dom->store;
    (void)with_faults(&w, &(struct bkt_fault){.op = BKT_DELETE, .code = BKT_EACCES}, 1);
    CHECK(bkt_chunks_resize(io, less, &err) == BKT_OK && has(io, less), "%s", story(&err));
    CHECK(flush(w.dom, &err) == BKT_EACCES, "reported");
    bkt_err_clear(&err);
    CHECK(flush(w.dom, &err) == BKT_OK, "once: %s", story(&err));
    CHECK(bkt_chunks_resize(io, whole, &err) == BKT_EACCES && has(io, less), "it must not grow: %s", story(&err));
    CHECK(wrong(io, less, "undeletable", 0) == 0, "values");
    (void)in;
    bkt_dsetio_close(io);
    look_and_grow("undeletable", 0, true);
    world_close(&w);
    free(m.v);
}

/* Written elements that aren't stored yet are as safe as stored ones. */
static void dirty_data_survive(void)
{
    struct world       w;
    struct model       m;
    struct bkt_err     err  = {0};
    struct bkt_dsetio *io   = filled(&w, &m, "dirty", "");
    struct bkt_fault   puts = {.op = BKT_PUT, .times = 1, .code = BKT_ENET};
    struct bkt_sel     one  = {.kind = BKT_SEL_HYPER, .rank = 2, .dims = {ROWS, COLS}, .start = {ROWS - 1, COLS - 1}, .stride = {1, 1},
                               .count = {1, 1}, .block = {1, 1}, .n_elems = 1};
    CHECK(model_write(&m, io, &one, 4711, &err) == BKT_OK, "%s", story(&err));
    (void)with_faults(&w, &puts, 1);
    CHECK(bkt_chunks_resize(io, less, &err) == BKT_ENET && has(io, whole), "%s", story(&err));
    model_check(&m, io, "after a shrink that failed");
    bkt_err_clear(&err);
    CHECK(flush(w.dom, &err) == BKT_OK, "%s", story(&err));
    bkt_chunks_forget_stored(w.dom);
    model_check(&m, io, "stored after a shrink that failed");
    bkt_dsetio_close(io);
    world_close(&w);
    free(m.v);
}

/* No maxdims are stored where the extent was the largest one possible; it may get smaller, and large again. */
static void as_large_as_before(void)
{
    struct world   w;
    struct model   m       = {.n = 2, .rank = 2, .dims = {ROWS, COLS}};
    uint64_t       cdims[] = {3, 5};
    struct bkt_err err     = {0};
    struct bkt_id  id      = world_id(2);
    char          *key     = text(WORLD_DB "/d/%s/.dataset.json", id.text + 20);
    world_open(&w, "fixed", "");
    model_make(&w, &m, cdims, "", false);
    put_text(&w, key, text("{\"id\":\"%s\",\"root\":\"" WORLD_ROOT "\",\"created\":1,\"lastModified\":1,\"attributes\":{},\"type\":" I32
                           ",\"shape\":{\"class\":\"H5S_SIMPLE\",\"dims\":[%d,%d]},\"layout\":{\"class\":\"H5D_CHUNKED\",\"dims\":[3,5]}}",
                           id.text, ROWS, COLS));
    struct bkt_dsetio *io = open_io(&w, 2);
    CHECK(bkt_chunks_resize(io, less, &err) == BKT_OK && flush(w.dom, &err) == BKT_OK, "%s", story(&err));
    struct world       o     = {.dom = view("fixed")};
    struct bkt_dsetio *other = open_io(&o, 2);
    CHECK(has(other, less) && bkt_chunks_resize(other, whole, &err) == BKT_OK, "it was as large: %s", story(&err));
    CHECK(bkt_chunks_resize(other, (uint64_t[]){ROWS + 1, COLS}, NULL) == BKT_EINVAL, "and never larger");
    bkt_dsetio_close(other);
    bkt_domain_close(o.dom);
    bkt_dsetio_close(io);
    world_close(&w);
    free(m.v);
    free(key);
}

/* Another writer doesn't know yet that the dataset is smaller, and has old chunks in memory.  Elements that
 * it writes beyond the new extent may be seen when the dataset grows again.  Elements from before the shrink
 * never are. */
static void an_older_view_writes(bool whole_chunk, bool to_the_border)
{
    char              *name = text("older-%d-%d", whole_chunk, to_the_border);
    struct world       w;
    struct model       m;
    struct bkt_err     err   = {0};
    struct bkt_dsetio *io    = filled(&w, &m, name, to_the_border ? GZIP : "");
    struct world       b     = {.dom = view(name)}, c;
    struct bkt_dsetio *older = open_io(&b, 3);
    uint64_t           row   = to_the_border ? FEWER_ROWS : 6, col = to_the_border ? FEWER_COLS - 1 : 10;
    uint64_t           n_rows = whole_chunk ? 2 : 1, n_cols = whole_chunk ? 2 : 1; /* the last chunk has no more */
    struct bkt_sel     one   = {.kind = BKT_SEL_HYPER, .rank = 2, .dims = {ROWS, COLS}, .start = {row, col}, .stride = {1, 1},
                                .count = {n_rows, n_cols}, .block = {1, 1}, .n_elems = n_rows * n_cols};
    int32_t            v[]   = {7001, 7002, 7003, 7004};
    struct bkt_sel     near  = one;
    struct bkt_write   wr    = {.io = older, .file = &one, .src = v};
    CHECK(wrong(older, whole, "older", 0) == 0, "the older view has read all");
    near.start[0] -= 1;
    /* so that the chunk is kept with its elements */
    struct bkt_write before = {.io = older, .file = &near, .src = v};
    if (!whole_chunk && !to_the_border)
        CHECK(bkt_write_datasets(&before, 1, &err) == BKT_OK && bkt_chunks_flush(b.dom, &err) == BKT_OK, "%s", story(&err));
    CHECK(bkt_chunks_resize(io, less, &err) == BKT_OK && flush(w.dom, &err) == BKT_OK, "%s", story(&err));
    CHECK(bkt_write_datasets(&wr, 1, &err) == BKT_OK && flush(b.dom, &err) == BKT_OK, "%s", story(&err));
    bkt_dsetio_close(older);
    bkt_domain_close(b.dom);
    c.dom                 = view(name);
    struct bkt_dsetio *io3 = open_io(&c, 3);
    CHECK(has(io3, less) && wrong(io3, less, "smaller", 0) == 0, "what an older view writes doesn't make it larger");
    CHECK(bkt_chunks_resize(io3, whole, &err) == BKT_OK && flush(c.dom, &err) == BKT_OK, "%s", story(&err));
    int32_t         got[ROWS * COLS];
    struct bkt_sel  all = {.kind = BKT_SEL_ALL, .rank = 2, .dims = {ROWS, COLS}, .n_elems = (uint64_t)ROWS * COLS};
    struct bkt_read r   = {.io = io3, .file = &all, .dst = got};
    CHECK(bkt_read_datasets(&r, 1, &err) == BKT_OK, "%s", story(&err));
    for (uint64_t i = 0; i < ROWS; i++)
        for (uint64_t j = 0; j < COLS; j++) {
            bool    ours = i >= row && i < row + n_rows && j >= col && j < col + n_cols;
            int32_t want = i < FEWER_ROWS && j < FEWER_COLS ? value_at(i, j) : WORLD_FILL, is = got[i * COLS + j];
            CHECK(is == want || (ours && is == v[(i - row) * n_cols + j - col]), "%s: %d at %d, %d", name, is, (int)i, (int)j);
        }
    bkt_read_fini(&r);
    bkt_dsetio_close(io3);
    bkt_domain_close(c.dom);
    bkt_dsetio_close(io);
    world_close(&w);
    free(m.v);
    free(name);
}

int main(void)
{
    static const char *const filters[] = {"", GZIP};
    for (int i = 0; i < 2; i++) {
        unsigned k = 0;
        while (dies(filters[i], k))
            k++;
        CHECK(k > 12, "%u requests: chunks are deleted and cut", k); /* 16 chunks, 4 of which stay */
        for (k = 0; fails(filters[i], k, false); k++) {}
        for (k = 0; fails(filters[i], k, true); k++) {}
    }
    nothing_can_be_deleted();
    dirty_data_survive();
    as_large_as_before();
    an_older_view_writes(false, false);
    an_older_view_writes(true, false);
    an_older_view_writes(false, true);
    bkt_domain_forget_probe();
    bkt_store_shutdown();
    bkt_pool_shutdown();
    return failures != 0;
}
