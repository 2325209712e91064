/* Small reads bring their neighbourhood along: over a network a range of 64 KiB takes hardly longer than one of 4 bytes,
 * and who reads a point, a row or a tiny dataset tends to read the next one.
 *
 * The block around a small range is aligned, so that neighbours in both directions are found in it.  It grows when what
 * lies right before it is in the cache as the call begins, which is how reading in order looks; the cache itself is the memory of
 * the pattern.  10,000 datasets of 64 bytes read in order from one file of 6 MiB take 8 requests; 64 points far apart
 * take 64 of 64 KiB, 4 MiB in all.  In a directory it saves system calls: 20,000 boxes of 8 x 8 elements, box by box through
 * chunk after chunk, took 0.37 s of CPU without it and take 0.07. */
#include <string.h>

#include "num.h"
#include "task.h"

/* Less brings hardly a neighbour along: 256 points, one in each chunk, take 0.51 MiB instead of 0.01 with 1 KiB, and as long. */
#define BLOCK_MIN (4u << 10)
/* 64 MiB read in order, 64 KiB at a time, nothing else reading ahead, at 30 ms: 2.3 s and 71 requests with at most 1 MiB,
 * 1.4 s with 2, 0.9 s with 4, 0.7 s and 18 requests with 8 MiB; what is fetched in vain grows with it, to 8 MiB.  Nor more than a
 * sixteenth of the cache, 6 MiB by default, so that of 16 places that a program reads in turn each keeps what was fetched for it: 32
 * MiB take 0.36, 0.37, 0.40, 0.50, 1.4 s with a half, an 8th, 16th, 32nd, 128th of it; in chunks of 4 MiB, with a cache of 16 MiB, 0.94,
 * 1.0, 1.3, 2.2, 7.9 s (one run). */
#define GROW_MAX  (8u << 20)
/* Of what is read ahead, which says itself how far: longer ranges don't grow.  Rows of 16 MiB, 1 MiB in each of 16 chunks, with 50 ms
 * of work take 0.98 s at 30 ms and 256 MiB are fetched; where they grow 1.19 s and 381 MiB, with 256 KiB and 1 MiB here the same as
 * with 64 (3 runs). */
#define BLIND_MAX (64u << 10)
/* Ranges of one call that get a full block each; more share as much.  64 points far apart take 0.52 MiB and 41 ms so, 4 MiB and
 * 46 ms with a full block each. */
#define N_FULL    8

/* mem: stores have nothing that could be saved. */
static bool costs(const struct bkt_store *st) { return !bkt_store_is_local(st) || strncmp(bkt_store_uri(st), "file:", 5) == 0; }

uint64_t bkt_near_budget(const struct bkt_dsetio *io, const struct bkt_store *st, size_t n_ranges)
{
    /* of a cache that has no room for 16 blocks (1 MiB) one is gone before reading comes to its end.  Who reads just one thing in order
     * could do with 8: 4 MiB by 16 KiB and a cache of 512 KiB take 2.0 s at 30 ms, and 7.9 s so (one run) */
    uint64_t near = io->set->near;
    if (!n_ranges || !io->cache || !costs(st) || near > io->set->chunk_cache / 16)
        return 0;
    uint64_t each = near <= UINT64_MAX / N_FULL ? bkt_min_u64(near, near * N_FULL / n_ranges) : near;
    return each < BLOCK_MIN ? 0 : each;
}

static bool same_file(const struct bkt_chunk_file *a, const struct bkt_chunk_file *b) { return a->space == b->space && a->base == b->base; }

/* A range that goes on where another of the call ends has before it what that one has. */
static void look_back(struct bkt_segs *segs, const struct bkt_limits *lim)
{
    const struct bkt_seg *prev = NULL;
    uint64_t              len  = 0;
    for (size_t at = 0; at < segs->n; at += bkt_segs_span(segs, at, lim, &len)) {
        struct bkt_seg *s = &segs->v[at];
        if (prev && same_file(prev->file, s->file) && prev->off + len == s->off)
            s->before = prev->before;
        else if (s->t->io->cache)
            s->before = bkt_cache_before(s->t->io->cache, s->file->space, s->file->base + s->off);
        prev = s;
    }
}

size_t bkt_near_begin(struct bkt_segs *segs, const struct bkt_limits *lim)
{
    size_t   n = 0;
    uint64_t len;
    for (size_t at = 0; at < segs->n; at += bkt_segs_span(segs, at, lim, &len))
        n++;
    if (n && bkt_near_budget(segs->v[0].t->io, segs->v[0].file->store, n))
        look_back(segs, lim);
    return n;
}

void bkt_near_widen(struct bkt_task *k, const struct bkt_seg *next, uint64_t near)
{
    const struct bkt_seg *s    = &k->segs[0];
    uint64_t              from = k->off, end = k->off + k->len, limit = s->file->object ? s->t->io->chunk_bytes : UINT64_MAX;
    uint64_t              grow = bkt_min_u64(2 * s->before, bkt_min_u64(GROW_MAX, bkt_cache_limit(s->t->io->cache) / 16));
    if (next && same_file(next->file, s->file)) /* which that one fetches */
        limit = bkt_min_u64(limit, next->off);
    if (k->len <= near / 2) {
        from -= from % near;
        end = bkt_min_u64(end - 1 + (near - (end - 1) % near), INT64_MAX);
    }
    if (s->before && grow > k->len && (!k->run->blind || k->len < BLIND_MAX)) { /* going on from there */
        from = k->off;
        end  = bkt_max_u64(end, bkt_min_u64(k->off + grow, INT64_MAX));
    }
    end = bkt_min_u64(end, bkt_max_u64(limit, k->off + k->len));
    end = bkt_min_u64(end, from + k->run->lim.part > k->off + k->len ? from + k->run->lim.part : k->off + k->len);
    k->keep |= end - from > k->len;
    k->off = from;
    k->len = end - from;
}
