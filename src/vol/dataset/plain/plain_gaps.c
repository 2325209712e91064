/* Heaps between chunks.  HDF5 gives collections and chunks their places in the order in which they are made,
 * so the collections that a chunk names mostly lie before it, between other chunks.  A read of neighbouring
 * chunks takes these gaps with them, which saves the wait between a chunk and its collections.
 *
 * It is a guess, which costs bytes only.  It needs a collection that was seen beside the chunks, and ends for
 * a dataset when most of its collections were elsewhere. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/num.h"
#include "vol/dataset/plain/plain_heaps.h"
#include "vol/vfd/foresight.h"
#include "vol/vfd/store_driver_ahead.h"

#define GAP_MAX   ((uint64_t)4 << 20) /* bytes of one gap */
#define GAP_TIMES 16                  /* bytes of a gap for each byte of the chunk before it */
#define BESIDE    4                   /* pages on either side of a gap that are looked at, if they are here */
#define OBJECTS   4                   /* that follow each other in a page show a collection */
#define LOOKS     1024                /* gaps */

/* The place of the next object, if one lies at @p at, of a length that the page can show; else 0. */
static uint64_t next_object(const struct bkt_shadow *s, const unsigned char *p, uint64_t at, uint64_t n)
{
    if (at + BKT_HEAP_HEAD > n || !bkt_get_le(p + at, 2) || bkt_get_le(p + at + 4, 4))
        return 0;
    uint64_t size = bkt_get_le(p + at + 8, s->size_bytes);
    return size && size < n ? at + BKT_HEAP_HEAD + (size + 7) / 8 * 8 : 0;
}

/* Whether objects of a collection follow each other there, whose numbers ascend. */
static bool has_objects(const struct bkt_shadow *s, const unsigned char *p, uint64_t n)
{
    for (uint64_t from = 0; from + OBJECTS * BKT_HEAP_HEAD < n; from++) {
        uint64_t at = from;
        unsigned seen = 0;
        for (uint64_t next; seen < OBJECTS && (next = next_object(s, p, at, n)) != 0; seen++, at = next)
            if (seen && bkt_get_le(p + at, 2) != bkt_get_le(p + from, 2) + seen)
                break;
        if (seen == OBJECTS)
            return true;
    }
    return false;
}

static bool is_of_collection(const struct bkt_shadow *s, uint64_t page)
{
    unsigned char p[4096 + 4]; /* a signature may lie across two pages */
    uint64_t n = vfd_peek(s->file, page * 4096, sizeof p, p);
    return n && (memmem(p, n, "GCOL\1", 5) || has_objects(s, p, n));
}

/* Whether a collection lies in bytes that are here, at the gap's ends. */
static bool has_heap(const struct bkt_shadow *s, uint64_t from, uint64_t end)
{
    uint64_t first = from / 4096, last = (end - 1) / 4096;
    for (uint64_t i = 0; i < BESIDE && first + i <= last; i++)
        if (is_of_collection(s, first + i) || (last - i > first + i && is_of_collection(s, last - i)))
            return true;
    return false;
}

static bool is_gap(const struct fore_range *before, uint64_t end, uint64_t left)
{
    uint64_t from = before->off + before->len;
    return end > from && end - from <= bkt_min_u64(GAP_MAX, left) && end - from <= GAP_TIMES * before->len;
}

static int by_place(const void *a, const void *b)
{
    const struct fore_range *x = a, *y = b;
    return x->off < y->off ? -1 : x->off > y->off;
}

/* The bytes that came with the open may end with collections of the first chunks. */
static bool joins_front(const struct bkt_shadow *s, const struct fore_range *first, uint64_t left)
{
    return first->off > VFD_FIRST && first->off - VFD_FIRST <= bkt_min_u64(GAP_MAX, left) &&
           has_heap(s, VFD_FIRST - BESIDE * 4096, VFD_FIRST);
}

static bool is_proven(const struct bkt_shadow *s, const struct fore_range *r, size_t n)
{
    for (size_t i = 0; i + 1 < n && i < LOOKS; i++)
        if (is_gap(&r[i], r[i + 1].off, UINT64_MAX) && has_heap(s, r[i].off + r[i].len, r[i + 1].off))
            return true;
    return false;
}

uint64_t bkt_gaps_join(const struct bkt_shadow *s, struct fore_range *r, size_t n, uint64_t left)
{
    uint64_t joined = 0;
    if (n < 2 || s->heaps_elsewhere)
        return 0;
    qsort(r, n, sizeof *r, by_place);
    bool front = joins_front(s, &r[0], left);
    if (!front && !is_proven(s, r, n))
        return 0;
    if (front) {
        joined = r[0].off - VFD_FIRST;
        r[0] = (struct fore_range){VFD_FIRST, r[0].len + joined};
    }
    for (size_t i = 0; i + 1 < n; i++)
        if (is_gap(&r[i], r[i + 1].off, left - joined)) {
            joined += r[i + 1].off - r[i].off - r[i].len;
            r[i].len = r[i + 1].off - r[i].off;
        }
    return joined;
}
