/* Large requests, whose chunks go straight from the caller's memory: they keep their place among other
 * writes.  When they fail, earlier writes are not lost. */
#include "base/os/pool.h"
#include "storage/store_impl.h"
#include "unit/chunk/write/write_testing.h"

enum { CHUNK = 1u << 16, N_CHUNKS = 8 };

/* A small write, then a large one over it that fails: no element reads as if neither had been. */
static void earlier_writes_stay(const char *filters)
{
    const struct bkt_fault f = {.op = BKT_PUT, .key_part = "/3", .times = 1, .code = BKT_EACCES};
    struct world           w;
    struct model           m;
    struct bkt_err         err = {0};
    struct bkt_dsetio     *io  = faulty_begin(&w, &m, *filters ? "earlier-z" : "earlier", "test.write_cache=1M", CHUNK, N_CHUNKS, filters, &f);
    struct bkt_sel         few = model_part(&m, 3 * CHUNK + 100, 50), all = model_part(&m, 0, (uint64_t)CHUNK * N_CHUNKS);
    int32_t                got[50];
    struct bkt_read        r = {.io = io, .file = &few, .dst = got};
    CHECK(model_write(&m, io, &few, 100, &err) == BKT_OK, "%s", story(&err));
    int written = model_write(&m, io, &all, 1 << 20, NULL);
    CHECK(bkt_fault_hits(w.dom->store, 0) == 1 || bkt_chunks_flush(w.dom, NULL) == BKT_EACCES, "something failed, write said %d", written);
    CHECK(bkt_chunks_flush(w.dom, &err) == BKT_OK, "%s", story(&err));
    bkt_chunks_forget_stored(w.dom);
    CHECK(bkt_read_datasets(&r, 1, &err) == BKT_OK, "%s", story(&err));
    for (int i = 0; i < 50; i++)
        CHECK(got[i] == 100 + i || got[i] == (1 << 20) + 3 * CHUNK + 100 + i, "element %d is %d", i, got[i]);
    bkt_read_fini(&r);
    bkt_dsetio_close(io);
    io = NULL;
    faulty_end(&w, &m, io, "after a large write that failed");
}

static void model_put(struct model *m, uint64_t from, const int32_t *v, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        m->v[from + i] = v[i];
}

/* The same dataset several times in one request, while the first PUTs take their time: as if one after the
 * other. */
static void in_sequence(const char *filters, uint64_t from, uint64_t n)
{
    const struct bkt_fault f = {.op = BKT_PUT, .times = 2, .delay_ms = 200};
    struct world           w;
    struct model           m;
    struct bkt_err         err  = {0};
    char                  *name = text("twice-%s-%llu", *filters ? "z" : "", (unsigned long long)n);
    struct bkt_dsetio     *io   = faulty_begin(&w, &m, name, "test.write_cache=1M", CHUNK, N_CHUNKS, filters, &f);
    struct bkt_sel         all = model_part(&m, 0, (uint64_t)CHUNK * N_CHUNKS), some = model_part(&m, from, n);
    int32_t               *a = need((size_t)CHUNK * N_CHUNKS * sizeof *a), *b = need((size_t)n * sizeof *b);
    for (int i = 0; i < CHUNK * N_CHUNKS; i++)
        a[i] = i;
    for (uint64_t i = 0; i < n; i++)
        b[i] = -1 - (int32_t)i;
    struct bkt_write writes[] = {{.io = io, .file = &all, .src = a}, {.io = io, .file = &some, .src = b}};
    CHECK(bkt_write_datasets(writes, 2, &err) == BKT_OK, "%s", story(&err));
    model_put(&m, 0, a, (uint64_t)CHUNK * N_CHUNKS);
    model_put(&m, from, b, n);
    faulty_end(&w, &m, io, name);
    free(a), free(b), free(name);
}

/* ---- how much is under way ---- */

/* A store that keeps PUTs until as many are there as allowed, or all; a thread of its own answers them, one
 * by one. */
static struct holder {
    struct bkt_store  base;
    struct bkt_store *inner;
    pthread_mutex_t   lock;
    pthread_cond_t    wake;
    struct bkt_req   *held[N_CHUNKS];
    size_t            n, most, seen;
} *holder;

static void hold(struct bkt_store *st, struct bkt_req *req)
{
    (void)st;
    (void)pthread_mutex_lock(&holder->lock);
    if (holder->n == N_CHUNKS)
        abort();
    holder->held[holder->n++] = req;
    holder->seen++;
    holder->most = holder->n > holder->most ? holder->n : holder->most;
    (void)pthread_cond_signal(&holder->wake);
    (void)pthread_mutex_unlock(&holder->lock);
}

static void close_holder(struct bkt_store *st)
{
    (void)pthread_mutex_destroy(&holder->lock);
    (void)pthread_cond_destroy(&holder->wake);
    free(st);
}

static void *answer(void *arg)
{
    for (size_t ended = 0; ended < N_CHUNKS; ended++) {
        (void)pthread_mutex_lock(&holder->lock);
        while (holder->n < *(size_t *)arg && holder->seen < N_CHUNKS)
            (void)pthread_cond_wait(&holder->wake, &holder->lock);
        struct bkt_req *req = holder->held[--holder->n];
        (void)pthread_mutex_unlock(&holder->lock);
        if (bkt_store_put(holder->inner, req->key, req->put, req->put_len, NULL, NULL, NULL, NULL) < 0)
            abort();
        bkt_store_finish(&holder->base, req);
    }
    return NULL;
}

/* Never more than in_flight allows; and exactly as much, since the answering thread waits for it. */
static void as_much_as_in_flight(size_t most)
{
    static const struct bkt_store_ops ops = {.start = hold, .close = close_holder};
    struct world           w;
    struct model           m;
    struct bkt_err         err  = {0};
    pthread_t              thread;
    const struct bkt_fault none = {.op = BKT_GET, .key_part = "no such key"};
    char                  *name = text("flight-%zu", most), *set = text("test.write_cache=1M;test.in_flight=%zuK", most * 256);
    struct bkt_dsetio     *io   = faulty_begin(&w, &m, name, set, CHUNK, N_CHUNKS, "", &none);
    struct bkt_sel         all  = model_part(&m, 0, (uint64_t)CHUNK * N_CHUNKS);
    holder                      = need(sizeof *holder);
    *holder                     = (struct holder){.inner = w.dom->store};
    (void)pthread_mutex_init(&holder->lock, NULL);
    (void)pthread_cond_init(&holder->wake, NULL);
    if (bkt_store_init(&holder->base, &ops, "mem://holder", NULL) < 0 || pthread_create(&thread, NULL, answer, &most) != 0)
        abort();
    w.dom->store = &holder->base;
    CHECK(model_write(&m, io, &all, 7, &err) == BKT_OK, "%s", story(&err));
    (void)pthread_join(thread, NULL);
    CHECK(holder->most == most, "%zu chunks were under way, in_flight lets %zu", holder->most, most);
    w.dom->store = holder->inner;
    bkt_store_close(&holder->base);
    faulty_end(&w, &m, io, name);
    free(name), free(set);
}

int main(void)
{
    as_much_as_in_flight(4);
    as_much_as_in_flight(8);

    earlier_writes_stay("");
    earlier_writes_stay(GZIP);
    in_sequence("", 0, (uint64_t)CHUNK * N_CHUNKS);
    in_sequence("", 10, 100);
    in_sequence(GZIP, 0, (uint64_t)CHUNK * N_CHUNKS);
    in_sequence(GZIP, 10, CHUNK);
    bkt_domain_forget_probe();
    bkt_store_shutdown();
    bkt_pool_shutdown();
    return failures != 0;
}
