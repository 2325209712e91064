/* Memory that runs out, at every allocation of a read in turn: BKT_ENOMEM or the right values, and nothing
 * lost, held or crashed.  And a store that fails in the middle. */
#include <ftw.h>
#include <stdatomic.h>
#include <unistd.h>

#include "unit/chunk/read/bucket_in_memory.h"

static atomic_long countdown; /* 0: never fails */

static bool fails(void)
{
    long was = atomic_load(&countdown);
    while (was > 0 && !atomic_compare_exchange_weak(&countdown, &was, was == 1 ? -1 : was - 1))
        ;
    return was == 1;
}
#include "helpers/failing_alloc.h"

#define DIM 100

static void test_way(enum way way, const char *info)
{
    uint32_t     seed = 8;
    char        *name = text("memory%d-%zu", way, strlen(info));
    struct world w;
    struct array a = {.n = 10, .way = way, .rank = 2, .dims = {DIM, 20}, .cdims = {17, 20}};
    int32_t      dst[DIM * 20];
    long         n = 1, n_failed = 0;
    if (way % 2)
        a.cdims[1] = 7;
    world_open(&w, name, info);
    array_put(&w, &a, name, 4, &seed);
    struct bkt_dsetio *io = open_io(&w, a.n);
    for (bool reached = true; reached && n < 2000; n++) {
        struct bkt_err  err = {0};
        struct bkt_sel  sel = {.kind = BKT_SEL_ALL, .rank = 2, .dims = {DIM, 20}, .n_elems = DIM * 20};
        struct bkt_read r   = {.io = io, .file = &sel, .dst = dst};
        bkt_chunks_forget_stored(w.dom);
        memset(dst, 0x11, sizeof dst);
        atomic_store(&countdown, n);
        int rc  = bkt_read_datasets(&r, 1, &err);
        reached = atomic_exchange(&countdown, 0) < 0;
        CHECK(rc == BKT_OK || (rc == BKT_ENOMEM && reached), "way %d, allocation %ld: %d %s", way, n, rc, story(&err));
        CHECK(rc < 0 || !memcmp(dst, a.v, sizeof dst), "way %d, allocation %ld: values", way, n);
        n_failed += rc < 0;
        bkt_read_fini(&r);
    }
    CHECK(n < 2000 && n_failed > 5, "way %d: %ld allocations, %ld failed", way, n, n_failed);
    bkt_dsetio_close(io);
    array_free(&a);
    world_close(&w);
    free(name);
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

/* A chunk object that can't be read, among others that are missing: it is a link to itself. */
static void test_broken_store(void)
{
    const uint64_t dims[] = {40};
    char           dir[]  = "/tmp/bkt-chunk-XXXXXX";
    struct world   w      = {.st = NULL};
    struct bkt_err err    = {0};
    int32_t        dst[40];
    if (!mkdtemp(dir))
        abort();
    char *uri = text("file://%s", dir), *path = text("%s/d.h5", dir);
    char *bad = text("%s/" WORLD_DB "/d/0000-000005-abcdef/3", dir);
    if (bkt_settings_init(&w.set, "", NULL) < 0 || bkt_store_open(uri, &w.set, &w.st, &err) < 0)
        abort();
    world_fill(&w);
    put_dataset(&w, 5, I32, 1, dims, "{\"class\":\"H5D_CHUNKED\",\"dims\":[4]}", "");
    CHECK(symlink(bad, bad) == 0, "%s", bad);
    CHECK(bkt_domain_open(path, &w.set, &w.dom, &err) == BKT_OK, "%s", story(&err));
    if (w.dom) {
        struct bkt_dsetio *io  = open_io(&w, 5);
        struct bkt_sel     sel = {.kind = BKT_SEL_ALL, .rank = 1, .dims = {40}, .n_elems = 40};
        struct bkt_read    r   = {.io = io, .file = &sel, .dst = dst};
        int                rc  = bkt_read_datasets(&r, 1, &err);
        CHECK(rc < 0 && rc != BKT_ENOENT && err.n > 0 && strstr(err.frame[err.n - 1].msg, "chunk 3"), "unreadable chunk: %d %s", rc,
              story(&err));
        bkt_dsetio_close(io);
    }
    world_close(&w);
    CHECK(nftw(dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS) == 0, "%s is left over", dir);
    free(uri);
    free(path);
    free(bad);
}

int main(void)
{
    for (int way = 0; way < N_WAYS; way++)
        for (int cached = 0; cached < 2; cached++)
            test_way((enum way)way, cached ? "" : "chunk_cache=0");
    test_broken_store();
    return failures != 0;
}
