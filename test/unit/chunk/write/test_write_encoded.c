/* Chunks of which memory holds only the bytes to be sent: those that the program encoded, and those whose
 * elements were released to make room.  However their PUTs end, and whatever the program does meanwhile,
 * nothing is lost or read wrongly. */
#include <pthread.h>
#include <unistd.h>

#include "chunk/write/write_cache.h"
#include "schema/edit/edit.h"
#include "base/os/pool.h"
#include "helpers/sanitizer.h"
#include "unit/chunk/write/write_testing.h"
#include "chunk/list/raw_chunk.h"

/* A chunk as the program's filters made it: deflated; @p mask: the filters before that which were left out. */
static int write_encoded(struct model *m, struct bkt_dsetio *io, uint64_t k, uint64_t elems, int32_t value, uint32_t mask,
                         struct bkt_err *err)
{
    uint64_t       at[] = {k * elems};
    size_t         n;
    int32_t       *v = need((size_t)elems * sizeof *v);
    for (uint64_t i = 0; i < elems; i++)
        v[i] = k * elems + i < m->dims[0] ? value + (int32_t)i : WORLD_FILL;
    unsigned char *z  = deflate_of(v, (size_t)elems * sizeof *v, &n);
    int            rc = bkt_raw_chunk_write(io, at, mask, z, n, err);
    for (uint64_t i = 0; rc == BKT_OK && i < elems && k * elems + i < m->dims[0]; i++)
        m->v[k * elems + i] = v[i];
    free(z);
    free(v);
    return rc;
}

static void *release_soon(void *arg)
{
    usleep(30000); /* a reader waits by then, or finds it failed: both must work */
    bkt_fault_release(arg);
    return NULL;
}

/* Its PUT fails while a read waits for it: the read gets the written elements, not the store's error. */
static void read_while_refused(void)
{
    const struct bkt_fault f = {.op = BKT_PUT, .times = 1, .hold = 2, .code = BKT_EACCES, .carry_out = true};
    struct world           w;
    struct model           m;
    struct bkt_err         err = {0};
    struct bkt_dsetio     *io  = faulty_begin(&w, &m, "refused", "", 1000, 2, GZIP, &f);
    pthread_t              thread;
    CHECK(write_encoded(&m, io, 0, 1000, 5, 0, &err) == BKT_OK, "%s", story(&err));
    bkt_chunks_flush_begin(w.dom);
    if (pthread_create(&thread, NULL, release_soon, w.dom->store) != 0)
        abort();
    model_check(&m, io, "refused meanwhile");
    (void)pthread_join(thread, NULL);
    CHECK(bkt_fault_hits(w.dom->store, 0) == 1, "the PUT was not refused");
    CHECK(bkt_chunks_flush_end(w.dom, &err) == BKT_OK || err.n, "the flush says why");
    bkt_err_clear(&err);
    faulty_end(&w, &m, io, "stored after all");
}

static size_t bytes_and_tasks(struct bkt_domain *dom, uint64_t *most)
{
    struct bkt_write_cache *d = bkt_write_cache_of(dom, false);
    (void)pthread_mutex_lock(&d->window.lock);
    size_t n = d->window.n;
    *most    = d->used > *most ? d->used : *most;
    (void)pthread_mutex_unlock(&d->window.lock);
    return n;
}

/* An encoded chunk doesn't need its elements any more.  A store that answers nothing before HELD chunks are
 * under way gets them (else this never ends), though the elements of half as many would fill the cache.  @p
 * code: its answer then. */
static void make_room(const char *name, int code)
{
    enum { ELEMS = 1u << 14, N = 48, HELD = 32 }; /* 64 KiB each; 16 of them fit */
    const struct bkt_fault f = {.op = BKT_PUT, .times = N, .hold = HELD, .code = code, .carry_out = true};
    struct world           w;
    struct model           m;
    struct bkt_err         err  = {0};
    struct bkt_dsetio     *io   = faulty_begin(&w, &m, name, "test.write_cache=1M", ELEMS, N, SHUFFLE_GZIP, &f);
    uint64_t               most = 0;
    for (uint64_t k = 0; k < N; k++) {
        struct bkt_sel s = model_part(&m, k * ELEMS, ELEMS);
        int            rc;
        /* a cache full of chunks that were refused twice takes no more: with each such error the store has
         * refused one more of N */
        while ((rc = model_write(&m, io, &s, (int32_t)(k << 20), &err)) < 0 && rc == code)
            bkt_err_clear(&err);
        CHECK(rc == BKT_OK, "%s, chunk %llu: %s", name, (unsigned long long)k, story(&err));
        (void)bytes_and_tasks(w.dom, &most);
    }
    CHECK(most <= 3u << 19, "%s: %llu bytes were kept", name, (unsigned long long)most);
    struct bkt_sel few = model_part(&m, 100, 50); /* of a chunk that had no elements */
    CHECK(model_write(&m, io, &few, -1000, &err) == BKT_OK, "%s: %s", name, story(&err));
    model_check(&m, io, name);
    int rc = bkt_chunks_flush(w.dom, NULL);
    CHECK(rc == BKT_OK || rc == code, "%s: the first flush says %d", name, rc);
    faulty_end(&w, &m, io, name);
}

/* The elements are gone, and the PUT is under way: a reader gets them, and so does a write over a part of
 * them, whether the PUT succeeds, fails or loses to another writer's. */
static void use_while_under_way(const char *name, int code, bool write)
{
    enum { ELEMS = 1u << 14, N = 48 };
    const struct bkt_fault f = {.op = BKT_PUT, .times = N, .hold = UINT32_MAX, .code = code, .carry_out = true};
    struct world           w;
    struct model           m;
    struct bkt_err         err  = {0};
    struct bkt_dsetio     *io   = faulty_begin(&w, &m, name, "test.write_cache=1M", ELEMS, N, SHUFFLE_GZIP, &f);
    struct bkt_sel         few  = model_part(&m, 100, 50);
    pthread_t              thread;
    for (uint64_t k = 0; k < 30; k++) {
        struct bkt_sel s = model_part(&m, k * ELEMS, ELEMS);
        CHECK(model_write(&m, io, &s, (int32_t)(k << 20), &err) == BKT_OK, "%s, chunk %llu: %s", name, (unsigned long long)k, story(&err));
    }
    if (pthread_create(&thread, NULL, release_soon, w.dom->store) != 0)
        abort();
    if (write)
        CHECK(model_write(&m, io, &few, -1000, &err) == BKT_OK, "%s: %s", name, story(&err));
    model_check(&m, io, name);
    (void)pthread_join(thread, NULL);
    int rc = bkt_chunks_flush(w.dom, NULL);
    CHECK(rc == BKT_OK || rc == code, "%s: the first flush says %d", name, rc);
    faulty_end(&w, &m, io, name);
}

/* ---- everything at once ---- */

enum { SMALL = 1000, AT_MOST = 24 };

static int flush(struct bkt_domain *dom)
{
    int trim = bkt_chunks_trim(dom, NULL), rc = bkt_chunks_flush(dom, NULL);
    if (rc == BKT_OK)
        rc = bkt_domain_flush(dom, NULL);
    return trim < 0 ? trim : rc;
}

static void resize(struct model *m, struct bkt_dsetio *io, uint64_t dim)
{
    uint64_t dims[] = {dim}, before = m->dims[0];
    if (bkt_chunks_resize(io, dims, NULL) < 0)
        return; /* it is as it was */
    for (uint64_t i = dim; i < before; i++)
        m->v[i] = WORLD_FILL;
    m->dims[0] = m->n_elems = dim;
}

/* One of the program's actions; those that write touch one chunk, so that a failure has changed nothing. */
static void step(struct world *w, struct model *m, struct bkt_dsetio *io, uint32_t *seed, int32_t value)
{
    uint64_t k    = below(seed, (uint32_t)((m->dims[0] + SMALL - 1) / SMALL)), from = k * SMALL;
    uint64_t n    = m->dims[0] - from < SMALL ? m->dims[0] - from : SMALL, skip = below(seed, (uint32_t)n);
    unsigned what = below(seed, 100);
    if (what < 55) {
        struct bkt_sel s = model_part(m, from, n);
        (void)model_write(m, io, &s, value, NULL);
    } else if (what < 70) {
        struct bkt_sel s = model_part(m, from + skip, 1 + below(seed, (uint32_t)(n - skip)));
        (void)model_write(m, io, &s, value, NULL);
    } else if (what < 80) {
        (void)write_encoded(m, io, k, SMALL, value, 1, NULL);
    } else if (what < 90) {
        model_check(m, io, "while all goes on");
    } else if (what < 95) {
        bkt_chunks_flush_begin(w->dom);
    } else if (what < 98) {
        (void)flush(w->dom);
    } else {
        resize(m, io, SMALL * 4 + below(seed, SMALL * (AT_MOST - 4)));
    }
}

/* Answers come late, PUTs fail, are lost, or lose to other writers, in a cache of ten chunks. */
static void mixed(uint32_t seed)
{
    static const int codes[] = {BKT_ENET, BKT_EPRECOND, BKT_EACCES};
    struct bkt_fault f[64]   = {{.op = -1}};
    enum { N = sizeof f / sizeof *f };
    struct bkt_store *st;
    struct world      w;
    struct model      m       = {.n = 3, .rank = 1, .dims = {(uint64_t)SMALL * AT_MOST}};
    uint64_t          cdims[] = {SMALL};
    char             *name    = text("mixed-%u", (unsigned)seed);
    for (unsigned i = 0; i < N - 1; i++)
        f[i] = (struct bkt_fault){.op = BKT_PUT, .key_part = "/d/", .skip = 5 + below(&seed, 40) + i / 2, .times = 1,
                                  .code = codes[below(&seed, 3)], .carry_out = below(&seed, 2)};
    f[N - 1] = (struct bkt_fault){.op = -1, .delay_ms = 1};
    world_open(&w, name, "test.write_cache=1M");
    w.dom->set.write_cache = 40000;
    model_make(&w, &m, cdims, SHUFFLE_GZIP, true);
    if (bkt_fault_open(w.dom->store, f, N, &st, NULL) < 0)
        abort();
    w.dom->store          = st;
    struct bkt_dsetio *io = open_io(&w, m.n);
    for (int i = 0; i < FEWER(1500, 500) && !failures; i++)
        step(&w, &m, io, &seed, i * 2000);
    int rc = BKT_ENET;
    for (unsigned i = 0; rc < 0 && i < N + 2; i++) /* each rule hits once */
        rc = flush(w.dom);
    CHECK(rc == BKT_OK, "%s: the last flush says %d", name, rc);
    bkt_chunks_forget_stored(w.dom);
    model_check(&m, io, name);
    bkt_dsetio_close(io);
    world_close(&w);
    free(m.v);
    free(name);
}

int main(int argc, char **argv)
{
    read_while_refused();
    make_room("taken", BKT_OK);
    make_room("refused-all", BKT_EACCES);
    make_room("lost-all", BKT_EPRECOND);
    for (int write = 0; write < 2; write++) {
        use_while_under_way(write ? "written-taken" : "read-taken", BKT_OK, write);
        use_while_under_way(write ? "written-refused" : "read-refused", BKT_EACCES, write);
        use_while_under_way(write ? "written-lost" : "read-lost", BKT_EPRECOND, write);
    }
    for (uint32_t seed = 1; seed <= (argc > 1 ? strtoul(argv[1], NULL, 10) : 6); seed++) /* more of them: more thoroughly */
        mixed(seed);
    bkt_domain_forget_probe();
    bkt_store_shutdown();
    bkt_pool_shutdown();
    return failures != 0;
}
