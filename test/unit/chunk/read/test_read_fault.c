/* Requests that fail, come short, come changed, or come late: the error names the chunk, and the read ends
 * and leaves nothing wrong behind. */
#include <pthread.h>
#include <time.h>

#include "schema/domain/domain_impl.h"
#include "helpers/fault_store.h"
#include "base/os/pool.h"
#include "unit/chunk/read/bucket_in_memory.h"

#define DIM     4000
#define THREADS 16u

/* The sleep of a late request.  With the gate closed it lasts until a request sleeps on each thread. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t  change;
    bool            closed;
    unsigned        asleep, most;
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};

int __real_nanosleep(const struct timespec *t, struct timespec *left);
int __wrap_nanosleep(const struct timespec *t, struct timespec *left);
int __wrap_nanosleep(const struct timespec *t, struct timespec *left)
{
    struct timespec end;
    if (!gate.closed)
        return __real_nanosleep(t, left);
    (void)clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 60; /* a test that fails ends, too */
    (void)pthread_mutex_lock(&gate.lock);
    if (++gate.asleep > gate.most)
        gate.most = gate.asleep;
    (void)pthread_cond_broadcast(&gate.change);
    while (gate.most < THREADS && pthread_cond_timedwait(&gate.change, &gate.lock, &end) == 0)
        continue;
    gate.asleep--;
    (void)pthread_mutex_unlock(&gate.lock);
    return 0;
}

static const struct {
    const char      *what;
    struct bkt_fault fault;
    unsigned         ways; /* bit per way */
    int              want;
} cases[] = {
    {"first request fails", {.op = BKT_GET, .times = 1, .code = BKT_ENET}, 0xff, BKT_ENET},
    {"third fails", {.op = BKT_GET, .skip = 2, .times = 1, .code = BKT_EACCES}, 0xff, BKT_EACCES},
    {"twenty are late", {.op = BKT_GET, .times = 20, .delay_ms = 5}, 0xff, BKT_OK},
    {"the fourth comes short", {.op = BKT_GET, .skip = 3, .times = 1, .cut = 3}, 0xff, BKT_EFORMAT},
    {"a byte is another", {.op = BKT_GET, .skip = 5, .times = 1, .flip = 40, .flip_set = true},
     1u << OBJECTS_ZLIB | 1u << CHUNKS_ZLIB, BKT_EFORMAT},
};

/* The domain's requests for data go through @p st from now on. */
static void put_between(struct world *w, const struct bkt_fault *f, struct bkt_store **st)
{
    if (bkt_fault_open(w->dom->store, f, 1, st, NULL) < 0)
        abort();
    w->dom->store = *st;
}

static void one_case(size_t i, enum way way, const char *info)
{
    uint32_t          seed = 21;
    char             *name = text("fault-%zu-%d-%zu", i, way, strlen(info));
    struct world      w;
    struct array      a = {.n = 10, .way = way, .rank = 1, .dims = {DIM}, .cdims = {100}};
    struct bkt_store *st;
    struct bkt_err    err = {0};
    int32_t           dst[DIM];
    struct bkt_sel    sel = {BKT_SEL_HYPER, 1, {DIM}, {1}, {3}, {DIM / 3}, {1}, NULL, 0, DIM / 3};
    world_open(&w, name, info);
    array_put(&w, &a, name, 0, &seed);
    put_between(&w, &cases[i].fault, &st);
    struct bkt_dsetio *io = open_io(&w, a.n);
    struct bkt_read    r  = {.io = io, .file = &sel, .dst = dst};
    int                rc = bkt_read_datasets(&r, 1, &err);
    CHECK(rc == cases[i].want && bkt_fault_hits(st, 0) > 0, "%s, way %d: %d (%u hits) %s", cases[i].what, way, rc,
          bkt_fault_hits(st, 0), story(&err));
    CHECK(rc == BKT_OK || (err.n && strstr(err.frame[0].msg, "dataset d-")), "%s, way %d: names the dataset",
          cases[i].what, way);
    rc = bkt_read_datasets(&r, 1, &err);
    for (int e = 0; e < DIM / 3; e++)
        CHECK(rc == BKT_OK && dst[e] == a.v[1 + 3 * e], "%s, way %d: afterwards %d, element %d", cases[i].what, way, rc, e);
    bkt_dsetio_close(io);
    array_free(&a);
    world_close(&w);
    free(name);
}

/* 40 chunks that are late: side by side, not one after the other. */
static void test_side_by_side(void)
{
    const struct bkt_fault late = {.op = BKT_GET, .delay_ms = 25};
    uint32_t               seed = 1;
    struct world           w;
    struct array           a = {.n = 10, .way = OBJECTS, .rank = 1, .dims = {DIM}, .cdims = {100}};
    struct bkt_store      *st;
    int32_t                dst[DIM];
    struct bkt_sel         sel = {.kind = BKT_SEL_ALL, .rank = 1, .dims = {DIM}, .n_elems = DIM};
    world_open(&w, "late", "");
    array_put(&w, &a, "late", 0, &seed);
    put_between(&w, &late, &st);
    struct bkt_dsetio *io = open_io(&w, a.n);
    struct bkt_read    r  = {.io = io, .file = &sel, .dst = dst};
    gate.closed           = true;
    CHECK(bkt_read_datasets(&r, 1, NULL) == BKT_OK && !memcmp(dst, a.v, sizeof dst), "late chunks");
    gate.closed = false;
    CHECK(gate.most >= THREADS, "%u requests were under way at once", gate.most);
    bkt_dsetio_close(io);
    array_free(&a);
    world_close(&w);
}

int main(void)
{
    bkt_pool_size(THREADS); /* the function that delays sleep in */
    for (size_t i = 0; i < BKT_COUNT(cases); i++)
        for (int way = 0; way < N_WAYS; way++)
            if (cases[i].ways >> way & 1) {
                one_case(i, (enum way)way, "test.merge_gap=0");
                one_case(i, (enum way)way, "test.merge_gap=0;chunk_cache=0"); /* nothing received but where it belongs */
            }
    test_side_by_side();
    return failures != 0;
}
