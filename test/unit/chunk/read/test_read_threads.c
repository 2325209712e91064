/* Many threads read the same datasets at once, with a cache that is too small for them: right values, no
 * race, no leak. */
#include <pthread.h>

#include "unit/chunk/read/bucket_in_memory.h"

#define N_THREADS 6
#define N_ARRAYS 4
#define ROUNDS 60

static struct world       world;
static struct array       arrays[N_ARRAYS];
static struct bkt_dsetio *ios[N_ARRAYS];
static unsigned           wrong[N_THREADS];

static void *reader(void *arg)
{
    unsigned me   = *(unsigned *)arg;
    uint32_t seed = 100 + me * 7919;
    for (int i = 0; i < ROUNDS; i++) {
        struct array   *a   = &arrays[below(&seed, N_ARRAYS)];
        struct bkt_sel  sel = {.rank = a->rank};
        struct bkt_read r   = {.io = ios[a - arrays], .file = &sel};
        struct bkt_err  err = {0};
        uint64_t        n;
        memcpy(sel.dims, a->dims, sizeof a->dims);
        random_sel(&sel, &seed);
        uint64_t *model = model_of(&sel, &n);
        int32_t  *dst   = need((size_t)n * 4);
        r.dst           = dst;
        int rc          = bkt_read_datasets(&r, 1, &err);
        for (uint64_t e = 0; rc == BKT_OK && e < n; e++)
            wrong[me] += dst[e] != a->v[model[e]];
        if (rc < 0) {
            wrong[me]++;
            fprintf(stderr, "thread %u: %s\n", me, story(&err));
        }
        if (i % 16 == 7)
            bkt_chunks_forget_stored(world.dom);
        free(dst);
        free(model);
        free(sel.runs);
    }
    return NULL;
}

int main(void)
{
    static const enum way ways[N_ARRAYS] = {OBJECTS, OBJECTS_ZLIB, CHUNKS_ZLIB, TABLE};
    uint32_t  seed = 3;
    pthread_t t[N_THREADS];
    unsigned  id[N_THREADS];
    world_open(&world, "threads", "chunk_cache=200K;test.in_flight=1M;test.merge_gap=256");
    for (unsigned i = 0; i < N_ARRAYS; i++) {
        arrays[i] = (struct array){.n = 10 + 2 * i, .way = ways[i], .rank = 2, .dims = {120, 90}, .cdims = {16, 90}};
        arrays[i].cdims[1] = i % 2 ? 90 : 17;
        array_put(&world, &arrays[i], "threads", 5, &seed);
        ios[i] = open_io(&world, arrays[i].n);
    }
    for (unsigned i = 0; i < N_THREADS; i++) {
        id[i] = i;
        if (pthread_create(&t[i], NULL, reader, &id[i]) != 0)
            abort();
    }
    for (unsigned i = 0; i < N_THREADS; i++) {
        (void)pthread_join(t[i], NULL);
        CHECK(wrong[i] == 0, "thread %u: %u values", i, wrong[i]);
    }
    for (unsigned i = 0; i < N_ARRAYS; i++) {
        bkt_dsetio_close(ios[i]);
        array_free(&arrays[i]);
    }
    world_close(&world);
    return failures != 0;
}
