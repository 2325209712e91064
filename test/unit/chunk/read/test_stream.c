/* Filtered chunks that are decoded as they arrive.  However often a request delivers its bytes, the read
 * has the bytes that the request ended with, or fails.  A store of the test's own plays the requests. */
#include <sched.h>

#include "schema/domain/domain_impl.h"
#include "base/os/pool.h"
#include "storage/store_impl.h"
#include "chunk/read/fetch_task.h"
#include "unit/chunk/read/bucket_in_memory.h"

#define N_CHUNKS 40
#define PER      100 /* elements of a chunk */
#define DIM      (N_CHUNKS * PER)
#define N_STEPS  6

enum bytes {
    GOOD,
    OLD, /* of another version of the file, in which each chunk has the first one's elements */
    BAD, /* that can't be decoded */
};

struct script {
    const char *what;
    struct step { /* bytes that arrive: from and to the how manieth chunk, halves count */
        double     from, to;
        enum bytes bytes;
    } steps[N_STEPS];
    int         ends;    /* the result that the request ends with, after the last step */
    const char *message; /* of the read that fails; NULL: it succeeds */
} scripts[] = {
    {"in one go", {{0, N_CHUNKS, GOOD}}, BKT_OK, NULL},
    {"broken within a chunk and resumed", {{0, 2.5, GOOD}, {2.5, N_CHUNKS, GOOD}}, BKT_OK, NULL},
    {"broken between chunks and resumed", {{0, 2, GOOD}, {2, N_CHUNKS, GOOD}}, BKT_OK, NULL},
    {"begun again", {{0, 7.5, GOOD}, {0, N_CHUNKS, GOOD}}, BKT_OK, NULL},
    {"begun again before the first chunk was whole", {{0, 0.5, OLD}, {0, N_CHUNKS, GOOD}}, BKT_OK, NULL},
    {"begun again with another version", {{0, 20.5, OLD}, {0, N_CHUNKS, GOOD}}, BKT_OK, NULL},
    {"begun again at its very end", {{0, N_CHUNKS, OLD}, {0, N_CHUNKS, GOOD}}, BKT_OK, NULL},
    {"begun again thrice", {{0, 30, OLD}, {0, 20.5, BAD}, {0, 10, OLD}, {0, N_CHUNKS, GOOD}}, BKT_OK, NULL},
    {"bytes that were no file's, replaced", {{0, 20.5, BAD}, {0, N_CHUNKS, GOOD}}, BKT_OK, NULL},
    {"good ones replaced by bad", {{0, 20.5, GOOD}, {0, 5, BAD}, {5, N_CHUNKS, GOOD}}, BKT_OK, "corrupt zlib stream"},
    {"bad ones", {{0, 10, GOOD}, {10, 11, BAD}, {11, N_CHUNKS, GOOD}}, BKT_OK, "corrupt zlib stream"},
    {"bad ones of a file that has changed", {{0, 30, BAD}}, BKT_EPRECOND, "as the store reports it"},
    {"a failure within a chunk", {{0, 10.5, GOOD}}, BKT_ENET, "as the store reports it"},
    {"a failure at the end", {{0, N_CHUNKS, GOOD}}, BKT_ENET, "as the store reports it"},
    {"begun again in the middle", {{0, 20.5, GOOD}, {3, N_CHUNKS, GOOD}}, BKT_OK, "the answer lacks bytes"},
    {"begun again in the middle, then at the beginning", {{0, 20.5, OLD}, {3, 9, OLD}, {0, N_CHUNKS, GOOD}}, BKT_OK, NULL},
    {"nothing", {{0, 0, GOOD}}, BKT_EACCES, "as the store reports it"},
    {"a file that is too short", {{0, 10.5, GOOD}}, BKT_OK, "the file has"},
};

static struct player {
    struct bkt_store     base;
    struct bkt_store    *inner;
    const struct script *script;
    bool                 waits; /* for the first chunk's decoding, before the second comes */
    unsigned             n_requests, n_streamed;
    uint32_t             seed;
} *player;

static uint64_t place_of(const struct bkt_range *k, double chunk)
{
    size_t i = (size_t)chunk;
    return i == k->n_segs ? k->len : k->segs[i].off - k->off + (chunk > (double)i ? k->segs[i].len / 2 : 0);
}

static void spoil(const struct bkt_range *k, unsigned char *p, enum bytes which)
{
    const struct bkt_read_segment *first = &k->segs[0];
    for (size_t i = 0; i < k->n_segs && which != GOOD; i++) {
        unsigned char *to = p + (size_t)(k->segs[i].off - k->off);
        if (which == BAD)
            memset(to, 0xEE, (size_t)k->segs[i].len);
        else if (i && k->segs[i].len >= first->len) /* bytes behind a zlib stream are ignored */
            memcpy(to, p + (size_t)(first->off - k->off), (size_t)first->len);
    }
}

static void deliver(struct bkt_req *req, const struct step *s, const unsigned char *body)
{
    const struct bkt_receive_chunks_task *task = req->sink_arg;
    const struct bkt_range *k  = &task->task.range;
    uint64_t               at = place_of(k, s->from), end = place_of(k, s->to);
    unsigned char         *p  = need((size_t)req->len);
    memcpy(p, body, (size_t)req->len);
    spoil(k, p, s->bytes);
    while (at < end) {
        uint64_t n = 1 + xorshift32(&player->seed) % (below(&player->seed, 5) ? 90 : 9000);
        if (player->waits && at < k->segs[1].off - k->off)
            n = 1;
        n = bkt_min_u64(n, end - at);
        req->sink(req->sink_arg, at, p + at, (size_t)n);
        at += n;
        while (player->waits && at == k->segs[1].off - k->off && atomic_load(&task->pieces[0].users) != 1)
            (void)sched_yield();
    }
    free(p);
}

static void play(struct bkt_store *st, struct bkt_req *req)
{
    struct player *pl   = (struct player *)st;
    struct bkt_buf body = {0};
    player->n_requests++;
    if (bkt_store_get(pl->inner, req->key, req->off, req->len, &body, NULL) < 0)
        abort();
    if (req->sink == bkt_receive_chunks_sink) {
        player->n_streamed++;
        for (size_t i = 0; i < N_STEPS && (i == 0 || pl->script->steps[i].to > 0); i++) {
            deliver(req, &pl->script->steps[i], body.ptr);
            req->n = place_of(&((const struct bkt_receive_chunks_task *)req->sink_arg)->task.range,
                              pl->script->steps[i].to);
        }
    }
    req->rc   = pl->script->ends;
    req->size = req->off + req->n;
    if (req->rc < 0)
        (void)BKT_REQ_FAIL(req, req->rc, "as the store reports it");
    bkt_buf_fini(&body);
    bkt_store_finish(st, req);
}

static void close_player(struct bkt_store *st) { bkt_store_close(((struct player *)st)->inner); }

static void put_between(struct world *w)
{
    static const struct bkt_store_ops ops = {.start = play, .close = close_player};
    player = need(sizeof *player);
    memset(player, 0, sizeof *player);
    player->inner = w->dom->store;
    player->seed  = 1;
    if (bkt_store_init(&player->base, &ops, bkt_store_uri(player->inner), NULL) < 0)
        abort();
    w->dom->store = &player->base;
}

static void one(const struct script *s, struct bkt_dsetio *io, const struct array *a)
{
    int32_t         dst[DIM] = {0};
    struct bkt_sel  sel      = {.kind = BKT_SEL_ALL, .rank = 1, .dims = {DIM}, .n_elems = DIM};
    struct bkt_read r        = {.io = io, .file = &sel, .dst = dst};
    struct bkt_err  err      = {0};
    player->script           = s;
    player->n_requests = player->n_streamed = 0;
    bkt_domain_forget_versions(io->dom); /* those of the last script's file */
    int rc                                  = bkt_read_datasets(&r, 1, &err);
    CHECK(player->n_requests == 1 && player->n_streamed == 1, "%s: %u requests, %u streamed", s->what, player->n_requests, player->n_streamed);
    CHECK((rc == BKT_OK) == !s->message && (s->ends == BKT_OK || rc == s->ends), "%s: %d %s", s->what, rc, story(&err));
    CHECK(!s->message || strstr(story(&err), s->message), "%s: says %s", s->what, story(&err));
    CHECK(s->message || !memcmp(dst, a->v, sizeof dst), "%s: other elements", s->what);
}

int main(void)
{
    uint32_t     seed = 3;
    struct world w;
    struct array a = {.n = 10, .way = CHUNKS_ZLIB, .rank = 1, .dims = {DIM}, .cdims = {PER}};
    world_open(&w, "stream", "chunk_cache=0");
    array_put(&w, &a, "stream", 0, &seed);
    put_between(&w);
    struct bkt_dsetio *io = open_io(&w, a.n);
    for (unsigned threads = 1; threads <= 4; threads += 3) {
        bkt_pool_size(threads);
        for (size_t i = 0; i < BKT_COUNT(scripts); i++)
            one(&scripts[i], io, &a);
    }
    player->waits = true; /* for good, if the first chunk weren't decoded while the others are missing */
    one(&scripts[0], io, &a);
    bkt_dsetio_close(io);
    array_free(&a);
    world_close(&w);
    bkt_pool_shutdown();
    return failures != 0;
}
