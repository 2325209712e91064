/* The names that chunks and files are cached under: remembered while they are needed, and no longer. */
#include "chunk/dataset/chunk_cache.h"
#include "unit/chunk/read/bucket_in_memory.h"

#define N     50000 /* names, as a session that goes through as many datasets uses */
#define BOUND 1024  /* NAMES_MIN in chunk_cache.c */

static struct bkt_cache *cache;
static struct world      w;

static uint64_t space_of(unsigned i, struct bkt_cache_name **hold)
{
    char name[40];
    int  n = snprintf(name, sizeof name, "d-%u 1.000000", i);
    return bkt_cache_space(cache, name, (size_t)n, hold);
}

static void keep(uint64_t space, unsigned char what)
{
    struct bkt_cache_entry *e = bkt_cache_entry_new(8);
    memset(e->data, what, e->len);
    bkt_cache_put(cache, space, 0, e);
    bkt_cache_entry_release(e);
}

/* Opened and closed, one after the other, nothing of them kept. */
static void test_forgotten(void)
{
    size_t most = 0;
    for (unsigned i = 0; i < N; i++) {
        struct bkt_cache_name *hold = NULL;
        CHECK(space_of(i, &hold), "number %u", i);
        bkt_cache_release(cache, &hold);
        CHECK(!hold, "released");
        most = bkt_cache_n_names(cache) > most ? bkt_cache_n_names(cache) : most;
    }
    CHECK(most <= BOUND, "%zu names of %u are remembered", most, N);
}

/* A name that is held, or has entries, keeps its number, whatever else comes; no later name gets it. */
static void test_kept(void)
{
    struct bkt_cache_name *held = NULL, *again = NULL;
    uint64_t          a = space_of(N, &held), b = space_of(N + 1, &again);
    keep(b, 7);
    bkt_cache_release(cache, &again);
    for (unsigned i = 0; i < N; i++) {
        struct bkt_cache_name *hold = NULL;
        uint64_t          one  = space_of(i, &hold);
        CHECK(one && one != a && one != b, "%u has the number of another", i);
        bkt_cache_release(cache, &hold);
    }
    CHECK(space_of(N, &again) == a, "held, and another number now");
    CHECK(space_of(N + 1, &again) == b, "with an entry, and another number now"); /* lets go of the one before */
    struct bkt_cache_entry *e = bkt_cache_get(cache, b, 0);
    CHECK(e && e->data[0] == 7, "the entry is lost");
    bkt_cache_entry_release(e);
    bkt_cache_release(cache, &again);
    bkt_cache_release(cache, &held);
}

/* The number of names left after unneeded ones were forgotten, that is once there are fewer than before. */
static size_t left_over(void)
{
    size_t before = 0, now;
    for (unsigned i = 2 * N;; i++) {
        struct bkt_cache_name *hold = NULL;
        (void)space_of(i, &hold);
        bkt_cache_release(cache, &hold);
        now = bkt_cache_n_names(cache);
        if (now < before)
            return now - 1;
        before = now;
    }
}

/* As many as have entries, at most twice that. */
static void test_with_entries(void)
{
    struct bkt_cache_name *hold = NULL;
    for (unsigned i = 0; i < N; i++) {
        keep(space_of(i, &hold), (unsigned char)i);
        bkt_cache_release(cache, &hold);
    }
    size_t kept = 0;
    for (unsigned i = 0; i < N; i++) {
        struct bkt_cache_entry *e = bkt_cache_get(cache, space_of(i, &hold), 0);
        CHECK(!e || e->data[0] == (unsigned char)i, "the entry of %u is another's", i);
        kept += e != NULL;
        bkt_cache_entry_release(e);
        bkt_cache_release(cache, &hold);
    }
    CHECK(kept > BOUND && kept < N, "%zu entries: the test tests nothing", kept);
    CHECK(bkt_cache_n_names(cache) <= 2 * kept + BOUND, "%zu names for %zu entries", bkt_cache_n_names(cache), kept);
    bkt_cache_forget_all(cache);
    CHECK(left_over() == 0, "names without entries");
}

/* A dataset that is opened, read and closed again and again releases all its names, in whatever form it is
 * stored. */
static void test_datasets(void)
{
    uint32_t seed = 4;
    for (int way = 0; way < N_WAYS; way++) {
        struct array a   = {.n = 30 + 2 * (unsigned)way, .way = (enum way)way, .rank = 1, .dims = {40}, .cdims = {10}};
        int32_t      dst[40];
        array_put(&w, &a, "cache", 4, &seed);
        for (int i = 0; i < 3; i++) {
            struct bkt_err     err = {0};
            struct bkt_sel     sel = {.kind = BKT_SEL_ALL, .rank = 1, .dims = {40}, .n_elems = 40};
            struct bkt_dsetio *io  = open_io(&w, a.n);
            struct bkt_read    r   = {.io = io, .file = &sel, .dst = dst};
            CHECK(bkt_read_datasets(&r, 1, &err) == BKT_OK, "way %d: %s", way, story(&err));
            CHECK(!memcmp(dst, a.v, sizeof dst), "way %d: values", way);
            bkt_read_fini(&r);
            bkt_dsetio_close(io);
        }
        array_free(&a);
    }
    bkt_cache_forget_all(cache);
    CHECK(left_over() == 0, "names that a dataset has kept");
}

int main(void)
{
    world_open(&w, "cache", "chunk_cache=1M");
    cache = bkt_cache_of(w.dom);
    test_forgotten();
    test_kept();
    test_with_entries();
    test_datasets();
    world_close(&w);
    return failures != 0;
}
