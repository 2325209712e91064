/* The ranges of one call: the segments that are fetched together, the bytes that are fetched around them, and
 * whether the cache keeps these bytes.
 *
 * Small reads also fetch their neighbourhood.  Over a network, a range of 64 KiB takes hardly longer than one
 * of 4 bytes.  A program that reads a point, a row or a tiny dataset is likely to read the next one.
 *
 * The block around a small range is aligned, so that neighbours in both directions are found in it.  If
 * the bytes right before the block are in the cache when the call begins, the program reads in order, and
 * the block grows.  The pattern is remembered by the cache alone.  In a directory this saves system calls.
 *
 * All ranges are planned before the first is fetched.  Bytes that arrive later belong to the call itself, and
 * don't show that the program reads in order. */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "chunk/read/segments.h"

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
static bool costs(const struct bkt_store *st)
{
    return !bkt_store_is_local(st) || strncmp(bkt_store_uri(st), "file:", 5) == 0;
}

/* Bytes of the block around a small range, one of n. */
static uint64_t block_of(const struct bkt_seg *s, size_t n)
{
    /* a cache without room for 16 blocks would evict a block before the program has read it to its end.  If
     * a program reads one dataset in order, room for 8 blocks would be enough */
    const struct bkt_dsetio *io   = s->t->io;
    uint64_t                 near = io->set->near;
    if (!io->cache || !costs(s->file->store) || near > io->set->chunk_cache / 16)
        return 0;
    uint64_t each = near <= UINT64_MAX / N_FULL ? bkt_min_u64(near, near * N_FULL / (n ? n : 1)) : near;
    return each < BLOCK_MIN ? 0 : each;
}

static bool same_file(const struct bkt_chunk_file *a, const struct bkt_chunk_file *b)
{
    return a->space == b->space && a->base == b->base;
}

/* Bytes that the cache holds right before the range.  If the range begins at the end of the range before it,
 * the number is the same for both. */
static uint64_t bytes_before(const struct bkt_range *r, const struct bkt_range *prev)
{
    const struct bkt_seg *s = r->segs;
    if (prev && same_file(prev->segs->file, s->file) && prev->need_end == s->off)
        return prev->before;
    return bkt_cache_before(s->t->io->cache, s->file->space, s->file->base + s->off);
}

/* @p next: the offset in the file at which the call's next range begins. */
static void widen(struct bkt_range *r, uint64_t next, const struct bkt_limits *lim)
{
    const struct bkt_seg *s    = r->segs;
    uint64_t              from = r->off, need = r->len, end = r->need_end;
    uint64_t grow = bkt_min_u64(2 * r->before, bkt_min_u64(GROW_MAX, bkt_cache_limit(s->t->io->cache) / 16));
    uint64_t              last = bkt_min_u64(s->file->object ? s->t->io->chunk_bytes : UINT64_MAX, next);
    if (need <= r->block / 2) {
        from -= from % r->block;
        end = bkt_min_u64(end - 1 + (r->block - (end - 1) % r->block), INT64_MAX);
    }
    if (r->before && grow > need &&
        (!lim->blind || need < BLIND_MAX)) { /* reading in order: grow from there */
        from = r->off;
        end  = bkt_max_u64(end, bkt_min_u64(from + grow, INT64_MAX));
    }
    end    = bkt_max_u64(bkt_min_u64(bkt_min_u64(end, last), from + lim->part), r->need_end);
    r->off = from;
    r->len = end - from;
    r->keep |= r->len > need;
}

/* Whether most bytes of a merged range lie between the wanted ones.  A program that reads chunks in random
 * order wants them later. */
static bool is_sparse(const struct bkt_range *r)
{
    uint64_t wanted = 0;
    for (size_t i = 0; i < r->n_segs; i++)
        wanted += r->segs[i].len;
    return r->n_segs > 1 && wanted < r->len / 2 && costs(r->segs->file->store);
}

static void plan(struct bkt_ranges *out, size_t i, const struct bkt_seg *next, const struct bkt_limits *lim)
{
    struct bkt_range *r = &out->v[i];
    for (size_t j = 0; j < r->n_segs; j++)
        r->n_filtered += r->segs[j].filtered;
    /* decoded chunks are kept instead of filtered bytes */
    r->keep = lim->keep && (r->n_filtered < r->n_segs || is_sparse(r));
    if (!(r->block = block_of(r->segs, out->n)))
        return;
    r->before = bytes_before(r, i ? r - 1 : NULL);
    widen(r, next && same_file(next->file, r->segs->file) ? next->off : UINT64_MAX, lim);
}

int bkt_ranges_plan(struct bkt_ranges *out, struct bkt_segs *segs, const struct bkt_limits *lim,
                    struct bkt_err *err)
{
    uint64_t len;
    *out = (struct bkt_ranges){0};
    bkt_segs_sort(segs);
    for (size_t at = 0; at < segs->n; at += bkt_segs_span(segs, at, lim, &len))
        out->n++;
    if (out->n && !(out->v = calloc(out->n, sizeof *out->v)))
        BKT_NOMEM(err);
    for (size_t at = 0, i = 0, n; at < segs->n; at += n, i++) {
        struct bkt_seg *s = &segs->v[at];
        n                 = bkt_segs_span(segs, at, lim, &len);
        out->v[i] =
            (struct bkt_range){.segs = s, .n_segs = n, .off = s->off, .len = len, .need_end = s->off + len};
        plan(out, i, at + n < segs->n ? s + n : NULL, lim);
    }
    return BKT_OK;
}
