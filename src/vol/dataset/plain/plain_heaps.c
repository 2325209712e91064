/* Reads of elements with heap addresses: their chunks are fetched, then the collections that they name, and
 * then HDF5 reads. */
#include "vol/dataset/plain/plain_heaps.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/list.h"
#include "base/num.h"
#include "chunk/dataset/dataset.h"
#include "chunk/read/references.h"
#include "vol/core/transfer_list.h"
#include "vol/vfd/foresight.h"
#include "vol/vfd/store_driver_ahead.h"

/* ---- heaps between chunks ----
 *
 * HDF5 gives collections and chunks their places in the order in which they are made, so the collections that
 * a chunk names mostly lie before it, between other chunks.  A read of neighbouring chunks takes these gaps
 * with them, which saves the wait between a chunk and its collections.
 *
 * It is a guess, which costs bytes only.  It needs a collection that was seen beside the chunks, and ends for
 * a dataset when most of its collections were elsewhere. */

#define GAP_MAX   ((uint64_t)4 << 20) /* bytes of one gap */
#define GAP_TIMES 16                  /* bytes of a gap for each byte of the chunk before it */
#define BESIDE    4                   /* pages on either side of a gap that are looked at, if they are here */
#define OBJECTS   4                   /* that follow each other in a page show a collection */
#define LOOKS     1024                /* gaps */

/* The place of the next object, if one lies at @p at, of a length that the page can show; else 0. */
static uint64_t next_object(const struct bkt_plain_dataset *s, const unsigned char *p, uint64_t at,
                            uint64_t n)
{
    if (at + BKT_HEAP_HEAD > n || !bkt_get_le(p + at, 2) || bkt_get_le(p + at + 4, 4))
        return 0;
    uint64_t size = bkt_get_le(p + at + 8, s->size_bytes);
    return size && size < n ? at + BKT_HEAP_HEAD + (size + 7) / 8 * 8 : 0;
}

/* Whether objects of a collection follow each other there, whose numbers ascend. */
static bool has_objects(const struct bkt_plain_dataset *s, const unsigned char *p, uint64_t n)
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

static bool is_of_collection(const struct bkt_plain_dataset *s, uint64_t page)
{
    unsigned char p[4096 + 4]; /* a signature may lie across two pages */
    uint64_t n = bkt_page_cache_copy(s->pages, page * 4096, sizeof p, p);
    return n && (memmem(p, n, "GCOL\1", 5) || has_objects(s, p, n));
}

/* Whether a collection lies in bytes that are here, at the gap's ends. */
static bool has_heap(const struct bkt_plain_dataset *s, uint64_t from, uint64_t end)
{
    uint64_t first = from / 4096, last = (end - 1) / 4096;
    for (uint64_t i = 0; i < BESIDE && first + i <= last; i++)
        if (is_of_collection(s, first + i) || (last - i > first + i && is_of_collection(s, last - i)))
            return true;
    return false;
}

static bool is_gap(const struct bkt_fore_range *before, uint64_t end, uint64_t left)
{
    uint64_t from = before->off + before->len;
    return end > from && end - from <= bkt_min_u64(GAP_MAX, left) && end - from <= GAP_TIMES * before->len;
}

static bool is_proven(const struct bkt_plain_dataset *s, const struct bkt_fore_range *r, size_t n)
{
    for (size_t i = 0; i + 1 < n && i < LOOKS; i++)
        if (is_gap(&r[i], r[i + 1].off, UINT64_MAX) && has_heap(s, r[i].off + r[i].len, r[i + 1].off))
            return true;
    return false;
}

/* Extend ranges of chunks over the gaps between them, if the chunks' collections seem to lie there.
 *  @param r     @p n of them, sorted here by place
 *  @param left  bytes of gaps, at most
 *  @return the bytes of these gaps; 0: none is wanted */
static uint64_t gaps_join(const struct bkt_plain_dataset *s, struct bkt_fore_range *r, size_t n,
                          uint64_t left)
{
    uint64_t joined = 0;
    if (n < 2 || s->heaps_elsewhere)
        return 0;
    qsort(r, n, sizeof *r, bkt_by_u64);
    /* The bytes that came with the open may end with collections of the first chunks. */
    bool front = r[0].off > BKT_VFD_FIRST && r[0].off - BKT_VFD_FIRST <= bkt_min_u64(GAP_MAX, left) &&
                 has_heap(s, BKT_VFD_FIRST - BESIDE * 4096, BKT_VFD_FIRST);
    if (!front && !is_proven(s, r, n))
        return 0;
    if (front) {
        joined = r[0].off - BKT_VFD_FIRST;
        r[0] = (struct bkt_fore_range){BKT_VFD_FIRST, r[0].len + joined};
    }
    for (size_t i = 0; i + 1 < n; i++)
        if (is_gap(&r[i], r[i + 1].off, left - joined)) {
            joined += r[i + 1].off - r[i].off - r[i].len;
            r[i].len = r[i + 1].off - r[i].off;
        }
    return joined;
}

/* ---- limits ---- */

/* Bytes that are fetched before a piece is read.  The driver keeps somewhat more. */
#define BUDGET     ((uint64_t)60 << 20)
/* The share of it for collections that are fetched while chunks still arrive, in bytes. */
#define EARLY ((uint64_t)24 << 20)
/* Bytes of stored elements in a piece; their heaps are larger. */
#define STORED_PIECE ((uint64_t)16 << 20)

/* ---- addresses ---- */

/* Addresses of collections that elements name. */
struct addresses {
    uint64_t *v;
    size_t    n, cap;
    size_t    begun; /* of the n: they are fetched, or too many */
    uint64_t  last; /* neighbours mostly name one collection */
    const struct bkt_plain_dataset *s;
    uint64_t  size; /* of the file */
    size_t n_near;           /* of the n: they were under way already, mostly as parts of gaps */
    struct bkt_sequences *q; /* NULL: not wanted */
    uint64_t joined, n_given, n_missed; /* bytes of gaps; elements for q: given at once, and others */
};

static int add_address(struct addresses *a, const unsigned char *p)
{
    uint64_t at = bkt_get_le(p, a->s->addr_bytes), full;
    if (!at || at == a->last || !bkt_add_u64(at, a->s->user_block, &full) || full >= a->size ||
        a->size - full < BKT_HEAP_HEAD)
        return BKT_OK;
    if (bkt_list_room(&a->v, a->n, &a->cap, sizeof *a->v) < 0)
        return BKT_ENOMEM;
    a->last     = at;
    a->n_near += a->joined && bkt_page_cache_state(a->s->pages, full, BKT_HEAP_HEAD) != BKT_PAGE_ABSENT;
    a->v[a->n++] = full;
    return BKT_OK;
}

/* Add the addresses in @p n stored elements. */
static int scan_addresses(struct addresses *a, const struct bkt_heap_addresses *addresses,
                          const unsigned char *p, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++, p += addresses->size)
        for (size_t k = 0; k < addresses->n; k++)
            BKT_PASS(add_address(a, p + addresses->at[k]));
    return BKT_OK;
}

static void make_unique(struct addresses *a)
{
    size_t n = 0;
    if (a->n)
        qsort(a->v, a->n, sizeof *a->v, bkt_by_u64);
    for (size_t i = 0; i < a->n; i++)
        if (!n || a->v[i] != a->v[n - 1])
            a->v[n++] = a->v[i];
    a->n = n;
}

/* ---- elements ---- */

/* The bytes of a chunk that hold the selected elements. */
static struct bkt_fore_range wanted(const struct bkt_plain_dataset *s, const struct bkt_grid *g, uint64_t k,
                                    const struct bkt_reference *ref)
{
    const struct bkt_dsetio *io = s->v.io;
    struct bkt_grid_iter     it;
    struct bkt_grid_run      first, last;
    if (io->filtered)
        return (struct bkt_fore_range){ref->off, ref->size};
    bkt_grid_iter(&it, g, k, 0, 1);
    (void)bkt_grid_next(&it, &first);
    bkt_grid_iter(&it, g, k, bkt_grid_n_runs(g, k) - 1, 1);
    (void)bkt_grid_next(&it, &last);
    uint64_t from = first.off * io->elem_size;
    return (struct bkt_fore_range){ref->off + from, (last.off + last.len) * io->elem_size - from};
}

/* A run of elements: for the values, or for the addresses in it. */
static int scan_run(struct addresses *a, const struct bkt_grid_run *run, const unsigned char *p,
                    struct bkt_err *err)
{
    size_t given = 0, each = a->s->addresses.size;
    if (a->q)
        BKT_PASS(bkt_sequences_take(a->q, (size_t)run->seq, p, (size_t)run->len, &given, err));
    a->n_given += given;
    a->n_missed += run->len - given;
    return scan_addresses(a, &a->s->addresses, p + given * each, run->len - given) < 0
               ? BKT_ERR(err, BKT_ENOMEM, "out of memory")
               : BKT_OK;
}

/* A chunk's bytes from @p r on, as elements: in place, or in @p own, which the caller frees.  NULL: they
 * can't be had, and HDF5 reports that. */
static const unsigned char *elements(const struct addresses *a, const struct bkt_reference *ref,
                                     const struct bkt_fore_range *r, unsigned char **own)
{
    const struct bkt_dsetio *io = a->s->v.io;
    const unsigned char *raw =
        a->q && !io->filtered ? NULL : bkt_page_cache_view(a->s->pages, r->off, r->len);
    BKT_CLEANUP(bkt_freep) unsigned char *copy = raw ? NULL : malloc(r->len + 1);
    if (!raw && (!copy || bkt_page_cache_copy(a->s->pages, r->off, r->len, copy) < r->len))
        return NULL;
    if (!io->filtered) {
        *own = BKT_TAKE(copy);
        return raw ? raw : *own;
    }
    *own = malloc(io->chunk_bytes + 1);
    if (!*own ||
        bkt_pipeline_decode(&io->pipe, ref->mask, raw ? raw : copy, r->len, *own, io->chunk_bytes, NULL) < 0)
        return NULL;
    return *own;
}

/* Scan the selected elements of a chunk whose bytes are here. */
static int scan_chunk(struct addresses *a, const struct bkt_grid *g, uint64_t k,
                      const struct bkt_reference *ref, const struct bkt_fore_range *r, struct bkt_err *err)
{
    struct bkt_grid_iter it;
    struct bkt_grid_run run;
    uint64_t skipped = r->off - ref->off;
    size_t each = a->s->v.io->elem_size;
    BKT_CLEANUP(bkt_freep) unsigned char *own = NULL;
    const unsigned char *p = elements(a, ref, r, &own);
    int rc = BKT_OK;
    bkt_grid_iter(&it, g, k, 0, UINT64_MAX);
    while (p && rc == BKT_OK && bkt_grid_next(&it, &run))
        rc = scan_run(a, &run, p + run.off * each - skipped, err);
    if (a->q)
        bkt_sequences_pause(a->q);
    return rc;
}

/* The bytes of the first chunks, as many as the budget allows.  r[k].len 0: chunk k doesn't exist. */
static size_t ranges_of(const struct bkt_plain_dataset *s, const struct bkt_grid *g,
                        const struct bkt_references_find *q, struct bkt_fore_range *r, uint64_t *left)
{
    size_t n = 0;
    for (; n < q->n; n++) {
        if (q->out[n].file)
            r[n] = wanted(s, g, n, &q->out[n]);
        if (r[n].len > *left)
            break;
        *left -= r[n].len;
    }
    return n;
}

/* Begin to fetch the collections that were found since the last call. */
static int begin_new(struct addresses *a, uint64_t *early, struct bkt_err *err)
{
    size_t n = bkt_min_u64(a->n - a->begun, *early / BKT_HEAP_SMALLEST);
    BKT_CLEANUP(bkt_freep) struct bkt_fore_range *r = calloc(n + 1, sizeof *r);
    BKT_NEED(err, r);
    for (size_t i = 0; i < n; i++)
        r[i] = (struct bkt_fore_range){a->v[a->begun + i], BKT_HEAP_SMALLEST};
    *early -= n * BKT_HEAP_SMALLEST;
    a->begun = a->n;
    return bkt_foresight_begin(a->s->fore, r, n, err);
}

/* Chunks are scanned as they arrive. */
static int scan_chunks(struct addresses *a, const struct bkt_grid *g, const struct bkt_references_find *q,
                       uint64_t *left, struct bkt_err *err)
{
    struct bkt_fore_range *r = calloc(2 * q->n + 1, sizeof *r), *sorted = r + q->n;
    size_t n = r ? ranges_of(a->s, g, q, r, left) : 0, m = 0;
    for (size_t k = 0; k < n; k++)
        if (r[k].len)
            sorted[m++] = r[k];
    a->joined = m ? gaps_join(a->s, sorted, m, *left) : 0;
    uint64_t early = bkt_min_u64(EARLY, *left - a->joined);
    int rc = r ? bkt_foresight_begin(a->s->fore, sorted, m, err) : BKT_ERR(err, BKT_ENOMEM, "out of memory");
    for (size_t k = 0; rc == BKT_OK && k < n; k++) {
        if (!r[k].len)
            continue;
        rc = bkt_foresight_fetch(a->s->fore, &r[k], 1, err);
        if (rc == BKT_OK)
            rc = scan_chunk(a, g, k, &q->out[k], &r[k], err);
        if (rc == BKT_OK)
            rc = begin_new(a, &early, err);
    }
    free(r);
    return rc;
}

static int scan_elements(struct addresses *a, const struct bkt_sel *sel, uint64_t *left, struct bkt_err *err)
{
    struct bkt_dsetio         *io = a->s->v.io;
    struct bkt_grid            g;
    struct bkt_references_find q = {.io = io};
    bkt_grid_none(&g);
    int rc = bkt_grid_init(&g, sel, io->cdims, err);
    q.n    = rc == BKT_OK && g.n_chunks < 65536 ? (size_t)g.n_chunks : 0;
    uint64_t *coords = calloc(q.n + 1, io->rank * sizeof *coords);
    q.coords = coords;
    q.out    = calloc(q.n + 1, sizeof *q.out);
    if (rc == BKT_OK && (!q.coords || !q.out))
        rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
    for (size_t k = 0; rc == BKT_OK && k < q.n; k++)
        bkt_grid_coord(&g, k, coords + k * io->rank);
    if (rc == BKT_OK)
        rc = bkt_references_find(&q, 1, err);
    if (rc == BKT_OK)
        rc = scan_chunks(a, &g, &q, left, err);
    free(coords);
    free(q.out);
    bkt_grid_fini(&g);
    return rc;
}

/* ---- collections ---- */

uint64_t bkt_heap_size(const struct bkt_plain_dataset *s, uint64_t at)
{
    unsigned char head[BKT_HEAP_HEAD];
    if (bkt_page_cache_copy(s->pages, at, sizeof head, head) < sizeof head || memcmp(head, "GCOL\1", 5) != 0)
        return 0;
    uint64_t size = bkt_get_le(head + 8, s->size_bytes);
    return size <= BKT_HEAP_LARGEST && size <= s->size - at ? size : 0;
}

/* First the usual length of all, then the rest of longer ones. */
static int fetch_collections(const struct addresses *a, uint64_t *left, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) struct bkt_fore_range *r = calloc(a->n + 1, sizeof *r);
    size_t n = 0;
    BKT_NEED(err, r);
    for (; n < a->n && *left >= BKT_HEAP_SMALLEST; n++, *left -= BKT_HEAP_SMALLEST)
        r[n] = (struct bkt_fore_range){a->v[n], BKT_HEAP_SMALLEST};
    BKT_PASS(bkt_foresight_fetch(a->s->fore, r, n, err));
    size_t longer = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t size = bkt_heap_size(a->s, a->v[i]);
        if (size <= BKT_HEAP_SMALLEST || size - BKT_HEAP_SMALLEST > *left)
            continue;
        *left -= size - BKT_HEAP_SMALLEST;
        r[longer++] = (struct bkt_fore_range){a->v[i] + BKT_HEAP_SMALLEST, size - BKT_HEAP_SMALLEST};
    }
    return bkt_foresight_fetch(a->s->fore, r, longer, err);
}

/* Scan the objects of a collection for further addresses. */
static int scan_collection(struct addresses *a, const struct bkt_heap_addresses *inner,
                           const unsigned char *p, uint64_t n)
{
    uint64_t at = BKT_HEAP_HEAD;
    while (at + BKT_HEAP_HEAD <= n && bkt_get_le(p + at, 2)) {
        uint64_t size = bkt_get_le(p + at + 8, a->s->size_bytes);
        if (size > n - at - BKT_HEAP_HEAD)
            break;
        if (size % inner->size == 0)
            BKT_PASS(scan_addresses(a, inner, p + at + BKT_HEAP_HEAD, size / inner->size));
        at += BKT_HEAP_HEAD + (size + 7) / 8 * 8;
    }
    return BKT_OK;
}

static int fetch_level(const struct addresses *a, const struct bkt_heap_addresses *addresses, uint64_t *left,
                       struct bkt_err *err);

static int fetch_inner(const struct addresses *outer, const struct bkt_heap_addresses *inner, uint64_t *left,
                       struct bkt_err *err)
{
    struct addresses a = {.s = outer->s, .size = outer->size};
    int rc = BKT_OK;
    for (size_t i = 0; rc == BKT_OK && i < outer->n; i++) {
        uint64_t size = bkt_heap_size(outer->s, outer->v[i]);
        BKT_CLEANUP(bkt_freep) unsigned char *p = size ? malloc(size) : NULL;
        if (p && bkt_page_cache_copy(outer->s->pages, outer->v[i], size, p) == size)
            rc = scan_collection(&a, inner, p, size);
    }
    if (rc == BKT_OK)
        rc = fetch_level(&a, inner, left, err);
    free(a.v);
    return rc == BKT_ENOMEM ? BKT_ERR(err, rc, "out of memory") : rc;
}

static int fetch_level(const struct addresses *found, const struct bkt_heap_addresses *addresses,
                       uint64_t *left, struct bkt_err *err)
{
    struct addresses a = *found;
    make_unique(&a);
    BKT_PASS(fetch_collections(&a, left, err));
    for (size_t i = 0; i < addresses->n_inner; i++)
        BKT_PASS(fetch_inner(&a, &addresses->inner[i], left, err));
    return BKT_OK;
}

/* Fetch the bytes that HDF5 will read for the selection, within a budget: the chunks, and the collections
 * that they name.  The places of the chunks are known.  Damaged elements are left to HDF5.
 *  @param q  NULL, or it gets the elements; if it gets all, it fetches their collections */
static int heaps_fetch(struct bkt_plain_dataset *s, const struct bkt_sel *sel, struct bkt_sequences *q,
                       struct bkt_err *err)
{
    struct addresses a = {.s = s, .size = s->size, .q = q};
    uint64_t left = BUDGET;
    if (sel->kind == BKT_SEL_NONE)
        return BKT_OK;
    int rc = scan_elements(&a, sel, &left, err);
    s->heaps_elsewhere |= a.joined && a.n - a.n_near > a.n_near + a.n_given;
    if (rc == BKT_OK && (!q || a.n_given + a.n_missed != sel->n_elems))
        rc = fetch_level(&a, &s->addresses, &left, err);
    free(a.v);
    return rc;
}

/* ---- reading ---- */

/* The selection of a piece, in the dataset. */
static int piece_space(const struct bkt_sel *p, hid_t *out, struct bkt_err *err)
{
    *out = H5Screate_simple((int)p->rank, p->dims, NULL);
    BKT_NEED_H5(err,
                *out >= 0 &&
                    H5Sselect_hyperslab(*out, H5S_SELECT_SET, p->start, p->stride, p->count, p->block) >= 0,
                "selecting a piece");
    return BKT_OK;
}

struct target {
    struct bkt_plain_dataset *s;
    hid_t  mem_type, dxpl;
    unsigned char *to;
    bool gives; /* the program's values can be made without HDF5 (bkt_sequences_new()) */
};

static int read_piece(const struct target *t, const struct bkt_sel *piece, uint64_t first,
                      struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t file = H5I_INVALID_HID;
    hsize_t n = piece->n_elems;
    BKT_PASS(piece_space(piece, &file, err));
    BKT_CLEANUP(bkt_hid_closep) hid_t mem = H5Screate_simple(1, &n, NULL);
    return BKT_PASS_NATIVE(
        err, H5Dread(t->s->dset, t->mem_type, mem, file, t->dxpl, t->to + first * H5Tget_size(t->mem_type)),
        "reading a dataset of another file");
}

/* Fetch, and make the values at @p to if that is possible.  HDF5 itself reports a fault of the file. */
static int fetch(const struct target *t, const struct bkt_sel *sel, unsigned char *to, bool *given,
                 struct bkt_err *err)
{
    size_t n = (size_t)sel->n_elems;
    struct bkt_sequences *q = NULL;
    *given = false;
    int rc = t->gives && to && n <= 2 * STORED_PIECE / t->s->addresses.size
                 ? bkt_sequences_new(t->s, n, t->dxpl, to, &q, err)
                 : BKT_OK;
    if (rc == BKT_OK)
        rc = heaps_fetch(t->s, sel, q, err);
    if (rc == BKT_OK && q)
        rc = bkt_sequences_end(q, given, err);
    bkt_plain_counts.by_sequences += *given;
    bkt_sequences_free(q);
    if (!bkt_plain_is_format(rc))
        return rc;
    bkt_err_clear(err);
    return BKT_OK;
}

static int read_pieces(const struct target *t, const struct bkt_dsel *sel, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_pieces_fini) struct bkt_pieces p;
    struct bkt_sel piece;
    uint64_t       first = sel->flat_at;
    size_t         each  = H5Tget_size(t->mem_type);
    bool           given;
    bkt_pieces_init(&p, &sel->file, t->s->v.obj->dset.layout.dims, STORED_PIECE / t->s->addresses.size + 1);
    for (int more; (more = bkt_pieces_next(&p, &piece)) != 0; first += piece.n_elems) {
        BKT_PASS_MEM(err, more);
        BKT_PASS(fetch(t, &piece, t->to + first * each, &given, err));
        if (!given)
            BKT_PASS(read_piece(t, &piece, first, err));
    }
    return BKT_OK;
}

/* Packed values -> the places that the program selected. */
static int spread(const struct target *t, const struct bkt_dsel *sel, unsigned char *packed,
                  struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t iter = H5Ssel_iter_create(sel->mem_space, H5Tget_size(t->mem_type), 0);
    BKT_NEED_H5(err, iter >= 0, "iterating over the memory selection");
    return bkt_dsel_move(iter, t->to, packed, (size_t)sel->file.n_elems, true, err);
}

/* A selection that isn't cut. */
static int read_whole(const struct target *t, const struct bkt_dsel *sel, bool *given, struct bkt_err *err)
{
    size_t each = H5Tget_size(t->mem_type), bytes;
    if (sel->flat)
        return fetch(t, &sel->file, t->to ? t->to + sel->flat_at * each : NULL, given, err);
    BKT_CLEANUP(bkt_freep) unsigned char *packed = NULL;
    if (t->gives && bkt_mul_size((size_t)sel->file.n_elems, each, &bytes))
        packed = malloc(bytes + 1);
    BKT_PASS(fetch(t, &sel->file, packed, given, err));
    return *given ? spread(t, sel, packed, err) : BKT_OK;
}

int bkt_heaps_read(struct bkt_plain_dataset *s, const struct bkt_io *io, size_t i, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t     list = H5I_INVALID_HID, type = H5I_INVALID_HID;
    BKT_CLEANUP(bkt_dsel_fini) struct bkt_dsel sel;
    bool given = false;
    bkt_plain_counts.by_heaps++;
    memset(&sel, 0, sizeof sel);
    BKT_PASS(bkt_xfer_for(s->dset, io->dxpl, &list, err));
    struct target t = {s, io->mem_types[i], list, io->bufs[i], false};
    if (bkt_plain_is_sequence(s))
        BKT_PASS(bkt_convert_file_type(&s->v, s->v.obj->dset.type, &type, err));
    t.gives = bkt_plain_is_sequence(s) && H5Tequal(type, t.mem_type) > 0 && !bkt_dsel_has_transform(list);
    int rc = bkt_dsel_init(&sel, &s->v, io->mem_spaces[i], io->file_spaces[i], err);
    /* Only regular selections into one stretch of memory are cut.  Other selections
     * fetch one budget's bytes. */
    if (rc == BKT_OK && (t.to && sel.flat && sel.file.rank &&
                         (sel.file.kind == BKT_SEL_ALL || sel.file.kind == BKT_SEL_HYPER) &&
                         sel.file.n_elems > STORED_PIECE / s->addresses.size + 1))
        return read_pieces(&t, &sel, err);
    if (rc == BKT_OK && sel.file.n_elems)
        BKT_PASS(read_whole(&t, &sel, &given, err));
    if (given)
        return BKT_OK;
    bkt_err_clear(err); /* HDF5 itself reports a selection that doesn't fit */
    return BKT_PASS_NATIVE(err,
                           H5Dread(s->dset, t.mem_type, io->mem_spaces[i], io->file_spaces[i], list, t.to),
                           "reading a dataset of another file");
}
