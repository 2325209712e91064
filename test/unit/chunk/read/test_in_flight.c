/* How much is under way at once, by setting in_flight.  A store of the test's own keeps all requests until
 * the reading thread waits for one of them: as both of the pool's threads are busy, it is the reading thread
 * that runs the job which answers them. */
#include "schema/domain/domain_impl.h"
#include "base/os/pool.h"
#include "storage/store_impl.h"
#include "unit/chunk/read/bucket_in_memory.h"
#include "helpers/sanitizer.h"

#define IN_FLIGHT (8u << 20) /* as much as two threads have of a directory */
#define MOST      64

static struct holder {
    struct bkt_store  base;
    struct bkt_store *inner;
    struct bkt_req   *held[MOST];
    size_t            n, most;
    struct bkt_job    answer;
} *holder;

static void answer_all(struct bkt_job *job)
{
    struct bkt_req *reqs[MOST];
    size_t          n = holder->n;
    (void)job;
    memcpy(reqs, holder->held, n * sizeof(struct bkt_req *));
    holder->n = 0;
    for (size_t i = 0; i < n; i++) {
        struct bkt_buf body = {0};
        if (bkt_store_get(holder->inner, reqs[i]->key, reqs[i]->off, reqs[i]->len, &body, NULL) < 0 || !reqs[i]->dst)
            abort();
        memcpy(reqs[i]->dst, body.ptr, body.len);
        reqs[i]->n    = body.len;
        reqs[i]->size = reqs[i]->off + body.len;
        bkt_buf_fini(&body);
        bkt_store_finish(&holder->base, reqs[i]);
    }
}

static void start(struct bkt_store *st, struct bkt_req *req)
{
    (void)st;
    if (holder->n == MOST)
        abort();
    holder->held[holder->n++] = req;
    if (holder->n > holder->most)
        holder->most = holder->n;
    if (holder->n == 1) {
        holder->answer = (struct bkt_job){.run = answer_all};
        bkt_pool_submit(&holder->answer);
    }
}

static void close_holder(struct bkt_store *st)
{
    bkt_store_close(((struct holder *)st)->inner);
    free(st);
}

static void put_between(struct world *w)
{
    static const struct bkt_store_ops ops = {.local = true, .start = start, .close = close_holder};
    holder = need(sizeof *holder);
    memset(holder, 0, sizeof *holder);
    holder->inner = w->dom->store;
    if (bkt_store_init(&holder->base, &ops, bkt_store_uri(holder->inner), NULL) < 0)
        abort();
    w->dom->store = &holder->base;
}

/* ---- the pool's threads ---- */

static atomic_uint busy;
static atomic_bool through;

static void be_busy(struct bkt_job *job)
{
    (void)job;
    (void)atomic_fetch_add(&busy, 1);
    while (!atomic_load(&through))
        usleep(1000);
}

/* ---- the reads ---- */

static const struct {
    uint64_t chunk; /* bytes */
    size_t   most;  /* of them under way */
} cases[] = {{UINT64_C(512) << 10, 16}, {UINT64_C(2) << 20, 4}, {UINT64_C(4) << 20, 2}, {UINT64_C(6) << 20, 1}};

int main(void)
{
    struct bkt_job jobs[2] = {{.run = be_busy}, {.run = be_busy}};
    bkt_pool_size(2);
    for (size_t i = 0; i < BKT_COUNT(jobs); i++)
        bkt_pool_submit(&jobs[i]);
    while (atomic_load(&busy) < 2)
        usleep(1000);
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        struct world   w;
        struct bkt_err err  = {0};
        uint32_t       seed = 3;
        uint64_t       each = cases[i].chunk / 4, n = FEWER(4, 2) * IN_FLIGHT / 4;
        n                   = n / each * each;
        struct array a      = {.n = 10, .way = OBJECTS, .rank = 1, .dims = {n}, .cdims = {each}};
        int32_t     *dst    = need((size_t)n * 4);
        world_open(&w, "flight", "test.in_flight=8M"); /* all fits the cache */
        array_put(&w, &a, "flight", 0, &seed);
        struct bkt_dsetio *io = open_io(&w, a.n);
        put_between(&w);
        struct bkt_sel  sel = {.kind = BKT_SEL_ALL, .rank = 1, .dims = {n}, .n_elems = n};
        struct bkt_read r   = {.io = io, .file = &sel, .dst = dst};
        CHECK(bkt_read_datasets(&r, 1, &err) == BKT_OK && !memcmp(dst, a.v, (size_t)n * 4), "%s",
              story(&err));
        CHECK(holder->most == cases[i].most, "%zu chunks of %llu KiB at once, %zu wanted", holder->most,
              (unsigned long long)cases[i].chunk >> 10, cases[i].most);
        bkt_dsetio_close(io);
        array_free(&a);
        world_close(&w);
        free(dst);
    }
    atomic_store(&through, true);
    bkt_pool_shutdown();
    return failures != 0;
}
