/* The neighbourhood of small reads: it depends on the cache before the call, not on the order in which the
 * call's ranges arrive. */
#include "chunk/dataset/chunk_cache.h"
#include "chunk/read/segments.h"
#include "unit/chunk/read/bucket_in_memory.h"

#define EACH   (1u << 20)
#define RANGES 16
#define NEAR   (32u << 10)

static struct bkt_settings set;
static struct bkt_store   *far; /* never asked */
static struct bkt_cache   *cache;
static uint64_t            space;

static void arrived(uint64_t off, size_t len)
{
    struct bkt_cache_entry *e = bkt_cache_entry_new(len);
    bkt_cache_put(cache, space, off, e);
    bkt_cache_entry_release(e);
}

/* A call for ranges that lie side by side from @p first on, each there before the next is requested.  Returns
 * how many bytes more than its own the last of them brings; the others may bring none. */
static uint64_t one_by_one(uint64_t first)
{
    struct bkt_dsetio     io   = {.set = &set, .cache = cache};
    struct bkt_target     t    = {.io = &io};
    struct bkt_chunk_file file = {.store = far, .space = space};
    struct bkt_limits     lim  = {.part = 8u << 20, .merge = EACH, .gap = 65536, .far_gap = 65536};
    struct bkt_read_segment v[RANGES];
    struct bkt_read_segments segs = {.v = v, .n = RANGES};
    uint64_t              more = 0;
    for (size_t i = 0; i < RANGES; i++)
        v[i] = (struct bkt_read_segment){.t = &t, .file = &file, .off = first + i * EACH, .len = EACH};
    struct bkt_ranges ranges;
    CHECK(bkt_ranges_plan(&ranges, &segs, &lim, NULL) == BKT_OK && ranges.n == RANGES &&
              ranges.v->block == NEAR,
          "%zu ranges", ranges.n);
    for (size_t i = 0; i < RANGES; i++) {
        const struct bkt_range *k = &ranges.v[i];
        more                      = k->len - EACH;
        CHECK(k->off == v[i].off && (more == 0 || i == RANGES - 1), "range %zu is %llu bytes from %llu on", i,
              (unsigned long long)k->len, (unsigned long long)k->off);
        arrived(k->off, (size_t)k->len);
    }
    free(ranges.v);
    return more;
}

static void test_own_ranges(void)
{
    uint64_t more = one_by_one(0);
    CHECK(more == 0, "nothing was there before, and %llu bytes come along", (unsigned long long)more);
    more = one_by_one((uint64_t)RANGES * EACH);
    CHECK(more == EACH, "it goes on where the call before has ended, and %llu bytes come along", (unsigned long long)more);
}

int main(void)
{
    struct world      w;
    struct bkt_cache_name *hold = NULL;
    world_open(&w, "near", "");
    cache = bkt_cache_of(w.dom);
    space = bkt_cache_space(cache, "file", 4, &hold);
    CHECK(bkt_settings_init(&set, "", NULL) == BKT_OK && bkt_store_open("http://127.0.0.1:1/x", &set, &far, NULL) == BKT_OK, "a store");
    test_own_ranges();
    bkt_store_close(far);
    bkt_store_shutdown();
    bkt_cache_release(cache, &hold);
    bkt_settings_fini(&set);
    world_close(&w);
    return failures != 0;
}
