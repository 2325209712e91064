/* Small reads also fetch their neighbourhood.  Over a network, a range of 64 KiB takes hardly longer than one
 * of 4 bytes.  A program that reads a point, a row or a tiny dataset is likely to read the next one.
 *
 * The block around a small range is aligned, so that neighbours in both directions are found in it.  It grows
 * if the bytes right before it are in the cache when the call begins, which is how reading in order looks.
 * The cache itself is the memory of the pattern.  In a directory this saves system calls. */
#include <string.h>

#include "base/num.h"
#include "chunk/read/fetch_task.h"

/* Bytes: smaller blocks rarely contain a neighbour. */
#define BLOCK_MIN (4u << 10)
/* Bytes that a block grows to: longer blocks save requests in order, but fetch as much in vain at the end.
 * At most a sixteenth of the cache, so that a program that reads 16 places in turn finds each of its blocks
 * again. */
#define GROW_MAX  (8u << 20)
/* Bytes: read-ahead limits itself, so its ranges don't grow.  Growth would fetch many bytes in vain. */
#define BLIND_MAX (64u << 10)
/* Ranges of one call that get a full block each.  If there are more, they share as many bytes. */
#define N_FULL    8

/* A mem: store has no latency to save. */
static bool costs(const struct bkt_store *st) { return !bkt_store_is_local(st) || strncmp(bkt_store_uri(st), "file:", 5) == 0; }

uint64_t bkt_near_budget(const struct bkt_dsetio *io, const struct bkt_store *st, size_t n_ranges)
{
    /* a cache without room for 16 blocks would evict a block before the program has read it to its end.  A
     * program that reads one thing in order could do with room for 8 blocks */
    uint64_t near = io->set->near;
    if (!n_ranges || !io->cache || !costs(st) || near > io->set->chunk_cache / 16)
        return 0;
    uint64_t each = near <= UINT64_MAX / N_FULL ? bkt_min_u64(near, near * N_FULL / n_ranges) : near;
    return each < BLOCK_MIN ? 0 : each;
}

static bool same_file(const struct bkt_chunk_file *a, const struct bkt_chunk_file *b) { return a->space == b->space && a->base == b->base; }

/* If a range begins where another range of the call ends, both have the same bytes before them in the
 * cache. */
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
    if (next && same_file(next->file, s->file)) /* the next range fetches the bytes from there on */
        limit = bkt_min_u64(limit, next->off);
    if (k->len <= near / 2) {
        from -= from % near;
        end = bkt_min_u64(end - 1 + (near - (end - 1) % near), INT64_MAX);
    }
    if (s->before && grow > k->len && (!k->run->blind || k->len < BLIND_MAX)) { /* reading in order: grow from there */
        from = k->off;
        end  = bkt_max_u64(end, bkt_min_u64(k->off + grow, INT64_MAX));
    }
    end = bkt_min_u64(end, bkt_max_u64(limit, k->off + k->len));
    end = bkt_min_u64(end, from + k->run->lim.part > k->off + k->len ? from + k->run->lim.part : k->off + k->len);
    k->keep |= end - from > k->len;
    k->off = from;
    k->len = end - from;
}
