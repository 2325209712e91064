#include "chunk/read/segments.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/num.h"
#include "chunk/dataset/dataset.h"

/* ---- targets ---- */

static int make_slices(struct bkt_target *t, struct bkt_err *err)
{
    uint64_t n = t->grid.n_elems;
    if (n > SIZE_MAX / sizeof *t->slices)
        BKT_NOMEM(err);
    t->slices = calloc((size_t)n, sizeof *t->slices);
    t->held   = calloc((size_t)t->grid.n_chunks, sizeof(struct bkt_cache_entry *));
    BKT_NEED(err, t->slices && t->held);
    return BKT_OK;
}

int bkt_target_init(struct bkt_target *t, struct bkt_read *rd, struct bkt_err *err)
{
    /* Only the members that need it: to clear all 4 KB would cost more than a small read. */
    t->rd     = rd;
    t->io     = rd->io;
    t->dst    = rd->dst;
    t->slices = NULL;
    t->held   = NULL;
    t->over   = NULL;
    bkt_grid_none(&t->grid);
    bkt_mem_layout_none(&t->mem);
    t->out_size = rd->recast ? rd->recast->dst : t->io->elem_size;
    if (rd->file->kind == BKT_SEL_NONE || t->io->where == BKT_AT_NONE)
        return BKT_OK;
    BKT_PASS(bkt_dsetio_check_extent(t->io, rd->file, err));
    /* the domain's cache, not that of `io`: it may have failed to be made when the dataset was opened */
    t->over = bkt_cache_overlay(bkt_domain_attached(t->io->dom));
    if (!t->over)
        bkt_dsetio_follow(t->io);
    else if (!t->over->space(t->io))
        t->over = NULL;
    if (t->io->bad.code)
        return rd->file->n_elems ? bkt_err_copy(err, t->io->bad.code, &t->io->bad) : BKT_OK;
    BKT_TRY(err, bkt_grid_init(&t->grid, rd->file, t->io->cdims, err), "dataset %s", t->io->obj->id.text);
    rd->touched = t->grid.n_chunks;
    if (!t->grid.n_elems)
        return BKT_OK;
    if (t->io->var)
        return make_slices(t, err);
    BKT_TRY(err, bkt_mem_layout_for(&t->mem, rd->mem, &t->grid, err), "dataset %s", t->io->obj->id.text);
    if (!t->io->elem_size) /* strings without length: nothing to fetch */
        t->grid.n_chunks = 0;
    return BKT_OK;
}

void bkt_target_fini(struct bkt_target *t)
{
    for (uint64_t k = 0; t->held && k < t->grid.n_chunks; k++)
        bkt_cache_entry_release(t->held[k]);
    free(t->held);
    free(t->slices);
    t->held   = NULL;
    t->slices = NULL;
    bkt_grid_fini(&t->grid);
    bkt_mem_layout_fini(&t->mem);
}

uint64_t bkt_target_linear(const struct bkt_target *t, uint64_t k)
{
    uint64_t coord[BKT_MAX_RANK];
    bkt_grid_coord(&t->grid, k, coord);
    return bkt_grid_linear(&t->grid, coord);
}

/* ---- segments ---- */

static int push(struct bkt_read_segments *s, const struct bkt_read_segment *x, struct bkt_err *err)
{
    BKT_PASS_MEM(err, bkt_list_room(&s->v, s->n, &s->cap, sizeof *s->v));
    s->v[s->n++] = *x;
    return BKT_OK;
}

/* One long run in parts that are fetched side by side. */
static int push_parts(struct bkt_read_segments *s, const struct bkt_read_segment *whole, uint64_t part,
                      struct bkt_err *err)
{
    size_t   es = whole->t->io->elem_size;
    uint64_t n = whole->len / es, step = bkt_max_u64(part / es, 1);
    for (uint64_t at = 0; at < n; at += step) {
        struct bkt_read_segment x = *whole;
        x.skip           = at;
        x.take           = bkt_min_u64(step, n - at);
        x.off += at * es;
        x.len = x.take * es;
        BKT_PASS(push(s, &x, err));
    }
    return BKT_OK;
}

static int add_runs(struct bkt_read_segments *s, const struct bkt_read_segment *base,
                    const struct bkt_limits *lim, struct bkt_err *err)
{
    struct bkt_grid_iter it;
    struct bkt_grid_run  run;
    struct bkt_read_segment cur = *base;
    size_t               es  = base->t->io->elem_size;
    cur.n_runs               = 0;
    bkt_grid_iter(&it, &base->t->grid, base->k, 0, UINT64_MAX);
    for (uint64_t i = 0; bkt_grid_next(&it, &run); i++) {
        uint64_t off = base->chunk_off + run.off * es, len = run.len * es, end = cur.off + cur.len;
        /* ascending, and points may be selected twice */
        if (cur.n_runs && (off <= end || off - end <= lim->gap) && off + len - cur.off <= lim->merge) {
            cur.len = bkt_max_u64(end, off + len) - cur.off;
            cur.n_runs++;
            continue;
        }
        if (cur.n_runs)
            BKT_PASS(push(s, &cur, err));
        cur.run = i, cur.n_runs = 1, cur.off = off, cur.len = len;
        if (len > lim->part) {
            BKT_PASS(push_parts(s, &cur, lim->part, err));
            cur.n_runs = 0;
        }
    }
    return cur.n_runs ? push(s, &cur, err) : BKT_OK;
}

int bkt_read_segments_add(struct bkt_read_segments *s, struct bkt_target *t, uint64_t k,
                          const struct bkt_reference *loc, const struct bkt_limits *lim, struct bkt_err *err)
{
    struct bkt_read_segment x = {.t = t,
                                 .file = loc->file,
                                 .k = k,
                                 .off = loc->off,
                                 .len = loc->size,
                                 .chunk_off = loc->off,
                                 .mask = loc->mask,
                                 .filtered = t->io->filtered};
    return x.filtered ? push(s, &x, err) : add_runs(s, &x, lim, err);
}

/* ---- parts of chunk objects ---- */

/* Ranges of one chunk.  If more are needed, the whole chunk is fetched in the same time. */
#define SLICE_MAX  4
/* Runs of one chunk: more are not looked at, since they seldom come together in SLICE_MAX ranges. */
#define SLICE_RUNS 65536

static void own_free(struct bkt_chunk_file *f)
{
    free(f->key);
    free(f);
}

static int own_add(struct bkt_read_segments *s, struct bkt_target *t, uint64_t k, struct bkt_chunk_file **out,
                   struct bkt_err *err)
{
    uint64_t                                 coord[BKT_MAX_RANK];
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    BKT_PASS_MEM(err, bkt_list_room(&s->own, s->n_own, &s->cap_own, sizeof(struct bkt_chunk_file *)));
    bkt_grid_coord(&t->grid, k, coord);
    BKT_TRY(err, bkt_chunk_key(&t->io->obj->id, &t->io->ds->layout, coord, &key), "%s",
            bkt_chunk_label(t->io, coord).text);
    struct bkt_chunk_file *f = calloc(1, sizeof *f);
    BKT_NEED(err, f);
    f->key    = bkt_buf_steal(&key);
    f->store  = bkt_domain_store(t->io->dom);
    f->space  = t->io->slice_space;
    f->object = true;
    if (!bkt_mul_u64(bkt_target_linear(t, k), t->io->chunk_bytes, &f->base) ||
        f->base > UINT64_MAX - t->io->chunk_bytes)
        f->space = 0;
    *out = s->own[s->n_own++] = f;
    return BKT_OK;
}

void bkt_read_segments_fini(struct bkt_read_segments *s)
{
    for (size_t i = 0; i < s->n_own; i++)
        own_free(s->own[i]);
    free(s->own);
    free(s->v);
}

int bkt_read_segments_add_slice(struct bkt_read_segments *s, struct bkt_target *t, uint64_t k,
                                const struct bkt_limits *lim, bool *added, struct bkt_err *err)
{
    struct bkt_chunk_file *f      = NULL;
    size_t                 before = s->n;
    uint64_t               bytes  = 0;
    *added                        = false;
    if (t->io->chunk_bytes <= BKT_SLICE_MIN || bkt_grid_n_runs(&t->grid, k) > SLICE_RUNS)
        return BKT_OK;
    BKT_PASS(own_add(s, t, k, &f, err));
    struct bkt_read_segment x = {.t = t, .file = f, .k = k, .len = t->io->chunk_bytes};
    BKT_PASS(add_runs(s, &x, lim, err));
    for (size_t i = before; i < s->n; i++)
        bytes += s->v[i].len;
    *added = s->n - before <= SLICE_MAX && bytes <= t->io->chunk_bytes / 2;
    if (!*added) {
        s->n = before;
        own_free(s->own[--s->n_own]);
    }
    return BKT_OK;
}

bool bkt_target_in_slices(const struct bkt_target *t)
{
    uint64_t k = 0;
    if (t->io->var || t->io->chunk_bytes <= BKT_SLICE_MIN || !bkt_chunk_object_is_unencoded(t->io))
        return false;
    while (k < t->grid.n_chunks && bkt_grid_n_runs(&t->grid, k) <= SLICE_MAX)
        k++;
    return k == t->grid.n_chunks;
}

/* Sorts by what one request can ask for: store, key, and required version. */
static int by_file(const struct bkt_chunk_file *a, const struct bkt_chunk_file *b)
{
    if (a == b)
        return 0;
    if (a->store != b->store)
        return a->store < b->store ? -1 : 1;
    int c = strcmp(a->key, b->key);
    return c ? c : strcmp(a->etag ? a->etag : "", b->etag ? b->etag : "");
}

static int by_place(const void *a, const void *b)
{
    const struct bkt_read_segment *x = a, *y = b;
    int                   c = by_file(x->file, y->file);
    return c ? c : x->off < y->off ? -1 : x->off > y->off;
}

/* Sort by file and offset. */
static void segs_sort(struct bkt_read_segments *s)
{
    for (size_t i = 1; i < s->n; i++)
        if (by_place(&s->v[i - 1], &s->v[i]) > 0) {
            qsort(s->v, s->n, sizeof *s->v, by_place);
            return;
        }
}

size_t bkt_read_segments_span(const struct bkt_read_segments *s, size_t i, const struct bkt_limits *lim,
                              uint64_t *len)
{
    const struct bkt_read_segment *first = &s->v[i];
    uint64_t              end   = first->off + first->len;
    size_t                n     = 1;
    for (; i + n < s->n; n++) {
        const struct bkt_read_segment *x = &s->v[i + n];
        uint64_t              next = bkt_max_u64(end, x->off + x->len);
        /* never more unneeded than needed bytes, beyond the few that cost nothing */
        uint64_t gap =
            bkt_max_u64(lim->gap, bkt_min_u64(lim->far_gap, bkt_min_u64(end - first->off, x->len)));
        if (by_file(first->file, x->file) != 0 || (x->off > end && x->off - end > gap) ||
            next - first->off > lim->merge)
            break;
        end = next;
    }
    *len = end - first->off;
    return n;
}

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
    return !bkt_store_is_local(st) || bkt_store_is_directory(st);
}

/* Bytes of the block around a small range, one of n. */
static uint64_t block_of(const struct bkt_read_segment *s, size_t n)
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
    const struct bkt_read_segment *s = r->segs;
    if (prev && same_file(prev->segs->file, s->file) && prev->need_end == s->off)
        return prev->before;
    return bkt_cache_before(s->t->io->cache, s->file->space, s->file->base + s->off);
}

/* @p next: the offset in the file at which the call's next range begins. */
static void widen(struct bkt_range *r, uint64_t next, const struct bkt_limits *lim)
{
    const struct bkt_read_segment *s = r->segs;
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

static void plan(struct bkt_ranges *out, size_t i, const struct bkt_read_segment *next,
                 const struct bkt_limits *lim)
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

int bkt_ranges_plan(struct bkt_ranges *out, struct bkt_read_segments *segs, const struct bkt_limits *lim,
                    struct bkt_err *err)
{
    uint64_t len;
    *out = (struct bkt_ranges){0};
    segs_sort(segs);
    for (size_t at = 0; at < segs->n; at += bkt_read_segments_span(segs, at, lim, &len))
        out->n++;
    if (out->n && !(out->v = calloc(out->n, sizeof *out->v)))
        BKT_NOMEM(err);
    for (size_t at = 0, i = 0, n; at < segs->n; at += n, i++) {
        struct bkt_read_segment *s = &segs->v[at];
        n = bkt_read_segments_span(segs, at, lim, &len);
        out->v[i] =
            (struct bkt_range){.segs = s, .n_segs = n, .off = s->off, .len = len, .need_end = s->off + len};
        plan(out, i, at + n < segs->n ? s + n : NULL, lim);
    }
    return BKT_OK;
}
