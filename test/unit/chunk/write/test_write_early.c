/* Chunks stored before a flush, memory that a close releases, and the most memory that waits for a slow
 * store. */
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "chunk/write/write_cache.h"
#include "base/os/pool.h"
#include "unit/chunk/write/write_testing.h"

/* The sleep of a slow store's requests: all of them until the program has seen half of its cache in use, then
 * for their set time. */
static atomic_bool half_seen;

int __real_nanosleep(const struct timespec *t, struct timespec *left);
int __wrap_nanosleep(const struct timespec *t, struct timespec *left);
int __wrap_nanosleep(const struct timespec *t, struct timespec *left)
{
    for (int i = 0; i < 60000 && !atomic_load(&half_seen); i++) /* a test that fails ends, too */
        usleep(1000);
    return __real_nanosleep(t, left);
}

enum { CHUNK = 1u << 18, N_CHUNKS = 16 }; /* elements: 1 MiB */

static void write_chunk(struct model *m, struct bkt_dsetio *io, uint64_t k, uint64_t elems, int32_t value)
{
    struct bkt_err err = {0};
    struct bkt_sel s   = model_part(m, k * elems, elems);
    CHECK(model_write(m, io, &s, value, &err) == BKT_OK, "chunk %llu: %s", (unsigned long long)k, story(&err));
}

/* PUTs since @p from; waits until there are @p want. */
static uint64_t puts_since(uint64_t from, uint64_t want)
{
    for (int i = 0; i < 40000 && puts_sent() - from < want; i++)
        usleep(5000);
    return puts_sent() - from;
}

/* Whole chunks are stored while the program goes on; if it writes them again, the flush stores them again. */
static void whole_chunks_go_early(void)
{
    static const struct bkt_fault none = {.op = BKT_PUT, .skip = UINT32_MAX};
    struct world                  w;
    struct model                  m;
    struct bkt_dsetio            *io   = faulty_begin(&w, &m, "early", "", CHUNK, N_CHUNKS, "", &none);
    uint64_t                      from = puts_sent();
    for (uint64_t k = 0; k < N_CHUNKS; k++)
        write_chunk(&m, io, k, CHUNK, (int32_t)(k << 20));
    uint64_t early = puts_since(from, N_CHUNKS - 4);
    CHECK(early >= N_CHUNKS - 4 && early < N_CHUNKS, "%llu of %d chunks are stored early", (unsigned long long)early, N_CHUNKS);
    for (int round = 1; round <= 5; round++)
        for (uint64_t k = 0; k < N_CHUNKS - 4; k++) /* they fit what may wait: a quarter of 96 MiB */
            write_chunk(&m, io, k, CHUNK, round * 1000 + (int32_t)k);
    usleep(50000);
    CHECK(puts_sent() - from == early, "%llu PUTs, %llu before chunks were written again",
          (unsigned long long)(puts_sent() - from), (unsigned long long)early);
    faulty_end(&w, &m, io, "early");
    CHECK(puts_sent() - from <= early + N_CHUNKS, "%llu PUTs in the end", (unsigned long long)(puts_sent() - from));
}

/* However slow the store, no more than write_cache waits in memory, and no more than in_flight is under way. */
static void memory_is_bounded(const char *settings, uint64_t cache, uint64_t flight)
{
    static const struct bkt_fault slow = {.op = BKT_PUT, .delay_ms = 10};
    enum { ELEMS = 1u << 14 }; /* 64 KiB */
    struct world       w;
    struct model       m;
    struct bkt_dsetio *io   = faulty_begin(&w, &m, settings, settings, ELEMS, N_CHUNKS, "", &slow);
    uint64_t           used = 0, under_way = 0;
    atomic_store(&half_seen, false);
    for (int round = 0; round < 4; round++)
        for (uint64_t k = 0; k < N_CHUNKS; k++) {
            write_chunk(&m, io, k, ELEMS, (int32_t)(k << 16) + round);
            struct bkt_write_cache *d = bkt_write_cache_of(w.dom, false);
            (void)pthread_mutex_lock(&d->window.lock);
            used      = d->used > used ? d->used : used;
            under_way = d->window.in_flight > under_way ? d->window.in_flight : under_way;
            (void)pthread_mutex_unlock(&d->window.lock);
            if (used > cache / 2)
                atomic_store(&half_seen, true);
        }
    CHECK(used <= cache && used > cache / 2, "%s: %llu bytes were kept", settings, (unsigned long long)used);
    CHECK(under_way < flight + ELEMS * sizeof(int32_t) + 4096, "%s: %llu bytes were under way", settings, (unsigned long long)under_way);
    faulty_end(&w, &m, io, settings);
}

/* Before a close, stored chunks give back their memory; chunks that couldn't be stored stay for another try. */
static void only_stored_chunks_are_freed(void)
{
    static const struct bkt_fault last_two = {.op = BKT_PUT, .skip = N_CHUNKS - 2, .times = 2, .code = BKT_EACCES};
    struct world                  w;
    struct model                  m;
    struct bkt_err                err = {0};
    struct bkt_dsetio            *io  = faulty_begin(&w, &m, "let-go", "", CHUNK, N_CHUNKS, "", &last_two);
    for (uint64_t k = 0; k < N_CHUNKS; k++)
        write_chunk(&m, io, k, CHUNK, (int32_t)(k << 20));
    CHECK(bkt_chunks_flush(w.dom, &err) == BKT_EACCES, "%s", story(&err));
    bkt_chunks_free_begin(w.dom);
    bkt_chunks_free_begin(w.dom); /* once is enough */
    bkt_chunks_free_end(w.dom);
    struct bkt_write_cache *d = bkt_write_cache_of(w.dom, false);
    (void)pthread_mutex_lock(&d->window.lock);
    uint64_t used = d->used;
    (void)pthread_mutex_unlock(&d->window.lock);
    CHECK(used >= 2u << 20 && used < 3u << 20, "%llu bytes were kept", (unsigned long long)used);
    model_check(&m, io, "freed");
    faulty_end(&w, &m, io, "freed");
}

int main(void)
{
    whole_chunks_go_early();
    only_stored_chunks_are_freed();
    memory_is_bounded("test.write_cache=1M", 1u << 20, 96u << 20);
    memory_is_bounded("test.write_cache=1M;test.in_flight=1M", 1u << 20, 1u << 20);
    bkt_domain_forget_probe();
    bkt_store_shutdown();
    bkt_pool_shutdown();
    return failures != 0;
}
