/* h5bucket diff: compares values, element by element if their bytes aren't enough. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/num.h"
#include "tools/cmd/diff.h"
#include "tools/source/hdf5_glue.h"
#include "vol/convert/convert.h"
#include "vol/copy/copier.h"
#include "vol/copy/same_value.h"
#include "vol/copy/written_chunks.h"
#include "vol/core/hid.h"
#include "vol/core/vol.h"

/* A type in memory */
struct mem {
    hid_t a, b;   /* equal, but each bound to its file */
    bool  is_var; /* memory hangs off the values */
};
struct values { /* of both */
    const struct mem *m;
    hid_t             space;
    char             *a, *b;
};

/* Number of the @p n elements that differ, and the first of them. */
static uint64_t count(const struct mem *m, const char *a, const char *b, size_t n, uint64_t *first)
{
    size_t   size = H5Tget_size(m->a);
    uint64_t bad  = 0;
    if (!m->is_var && memcmp(a, b, n * size) == 0)
        return 0;
    for (size_t i = 0; i < n; i++)
        if ((m->is_var || memcmp(a + i * size, b + i * size, size) != 0) &&
            !bkt_same_value(m->a, a + i * size, b + i * size)) {
            *first = bad ? *first : i;
            bad++;
        }
    return bad;
}

static int mem_types(const struct bkt_diff *d, hid_t a, hid_t b, struct mem *m)
{
    m->a      = bkt_copier_memory_type(a);
    m->b      = bkt_copier_memory_type(b);
    m->is_var = m->a >= 0 && bkt_convert_has_pointers(m->a);
    return m->a < 0 || m->b < 0 ? h5_fail(d->err, "making a memory type") : BKT_OK;
}

static void mem_fini(struct mem *m)
{
    bkt_hid_closep(&m->a);
    bkt_hid_closep(&m->b);
}

static int values_make(const struct bkt_diff *d, struct values *v, const struct mem *m, hid_t space, size_t n)
{
    size_t size = H5Tget_size(m->a);
    *v = (struct values){m, space, calloc(n, size), calloc(n, size)};
    return BKT_MADE(d->err, v->a && v->b);
}

static void values_fini(struct values *v)
{
    if (v->a && v->b && v->m->is_var) {
        (void)H5Treclaim(v->m->a, v->space, H5P_DEFAULT, v->a);
        (void)H5Treclaim(v->m->b, v->space, H5P_DEFAULT, v->b);
    }
    free(v->a);
    free(v->b);
}

/* ---- attributes ---- */

int bkt_diff_attr(struct bkt_diff *d, hid_t a, hid_t b, const char *path, const char *name)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Aget_type(a), other = H5Aget_type(b), space = H5Aget_space(a);
    BKT_CLEANUP(mem_fini) struct mem m = {.a = -1, .b = -1};
    BKT_CLEANUP(values_fini) struct values v = {.a = NULL};
    BKT_PASS(mem_types(d, type, other, &m));
    hssize_t n = H5Sget_simple_extent_npoints(space);
    if (n <= 0 || H5Sget_simple_extent_type(space) == H5S_NULL)
        return BKT_OK;
    BKT_PASS(values_make(d, &v, &m, space, (size_t)n));
    if (H5Aread(a, m.a, v.a) < 0 || H5Aread(b, m.b, v.b) < 0)
        return h5_fail(d->err, name);
    uint64_t first = 0, bad = count(&m, v.a, v.b, (size_t)n, &first);
    if (bad)
        (void)bkt_diff_report(d, path, "attribute", "attribute %s: %llu of %llu values differ", name,
                              (unsigned long long)bad, (unsigned long long)n);
    return BKT_OK;
}

/* ---- datasets ---- */

struct sides {
    hid_t             a, b;
    struct mem        m;
    struct bkt_blocks at;
    uint64_t          bad, first; /* number of differences, and the first of them, row-major */
    size_t number;                /* of its line, if its blocks are shared */
};

/* The number of an element of the block in its dataset. */
static uint64_t number_of(const struct bkt_blocks *b, uint64_t i)
{
    uint64_t n = 0, stride = 1;
    for (unsigned d = b->rank; d-- > 0; i /= b->count[d]) {
        n += (b->at[d] + i % b->count[d]) * stride;
        stride *= b->dims[d];
    }
    return n;
}

static int compare_block(struct bkt_diff *d, struct sides *k)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t fa = H5Dget_space(k->a), fb = H5Dget_space(k->b), mem = -1;
    const struct bkt_blocks     *at   = &k->at;
    BKT_CLEANUP(values_fini) struct values v = {.a = NULL};
    const hsize_t n = at->n;
    if (at->rank > 0 && (H5Sselect_hyperslab(fa, H5S_SELECT_SET, at->at, NULL, at->count, NULL) < 0 ||
                         H5Sselect_hyperslab(fb, H5S_SELECT_SET, at->at, NULL, at->count, NULL) < 0))
        return h5_fail(d->err, "selecting a block");
    mem = H5Screate_simple(1, &n, NULL);
    BKT_PASS(values_make(d, &v, &k->m, mem, at->n));
    if (H5Dread(k->a, k->m.a, mem, fa, H5P_DEFAULT, v.a) < 0 ||
        H5Dread(k->b, k->m.b, mem, fb, H5P_DEFAULT, v.b) < 0)
        return h5_fail(d->err, "reading data");
    uint64_t first = 0, bad = count(&k->m, v.a, v.b, at->n, &first);
    if (bad) {
        first    = number_of(at, first);
        k->first = k->bad ? bkt_min_u64(k->first, first) : first;
    }
    k->bad += bad;
    return BKT_OK;
}

void bkt_diff_report_data(struct bkt_diff *d, const char *path, const struct bkt_blocks *whole, uint64_t bad,
                          uint64_t first, uint64_t n)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b    = {0};
    const unsigned rank = whole->rank;
    uint64_t at[H5S_MAX_RANK], rest = first;
    for (unsigned i = rank; i-- > 0; rest /= whole->dims[i])
        at[i] = rest % whole->dims[i];
    for (unsigned i = 0; i < rank; i++)
        if (bkt_buf_addf(&b, "%s%llu", i ? ", " : " first at (", (unsigned long long)at[i]) < 0)
            break;
    (void)bkt_diff_report(d, path, "data", "%llu of %llu elements differ%s%s%s", (unsigned long long)bad,
                          (unsigned long long)n, rank ? "," : "", bkt_buf_str(&b), rank ? ")" : "");
}

/* ---- blocks that several processes share ---- */

#define SHARED_LEAST 65536 /* bytes of a block; a smaller one is compared sooner than passed on */

/* One block, by this process or by another. */
static int compare_next(struct bkt_diff *d, struct sides *k)
{
    if (!d->shared || k->at.n * H5Tget_size(k->m.a) < SHARED_LEAST)
        return compare_block(d, k);
    return bkt_diff_shared_block(d, k->number, &k->at);
}

/* The dataset that this process compares for another one. */
struct bkt_diff_pair {
    char *path;
    struct sides k;
};

void bkt_diff_pair_free(struct bkt_diff *d)
{
    struct bkt_diff_pair *p = d->pair;
    if (!p)
        return;
    mem_fini(&p->k.m);
    bkt_hid_closep(&p->k.a);
    bkt_hid_closep(&p->k.b);
    free(p->path);
    free(p);
    d->pair = NULL;
}

static int open_pair(struct bkt_diff *d, const char *path)
{
    if (d->pair && strcmp(d->pair->path, path) == 0)
        return BKT_OK;
    bkt_diff_pair_free(d);
    struct bkt_diff_pair *p = d->pair = calloc(1, sizeof *p);
    if (!p || !(p->path = strdup(path)))
        return BKT_ERR(d->err, BKT_ENOMEM, "out of memory");
    struct sides *k = &p->k;
    k->m.a = k->m.b = H5I_INVALID_HID;
    k->a = H5Oopen(d->fa, path, H5P_DEFAULT), k->b = H5Oopen(d->fb, path, H5P_DEFAULT);
    BKT_CLEANUP(bkt_hid_closep)
    hid_t ta = k->a < 0 ? -1 : H5Dget_type(k->a),
          tb = k->b < 0 ? -1 : H5Dget_type(k->b);
    BKT_CLEANUP(bkt_hid_closep) hid_t sa = k->a < 0 ? -1 : H5Dget_space(k->a);
    int rank = sa < 0 ? -1 : H5Sget_simple_extent_dims(sa, k->at.dims, NULL);
    if (ta < 0 || tb < 0 || rank < 0)
        return h5_fail(d->err, path);
    k->at.rank = (unsigned)rank;
    return mem_types(d, ta, tb, &k->m);
}

int bkt_diff_one_block(struct bkt_diff *d, const char *path, const struct bkt_blocks *at, uint64_t *bad,
                       uint64_t *first)
{
    int rc = open_pair(d, path);
    struct sides *k = rc < 0 ? NULL : &d->pair->k;
    if (k && at->rank != k->at.rank)
        rc = BKT_ERR(d->err, BKT_EINVAL, "the dataset has changed during the comparison");
    if (rc < 0) {
        bkt_diff_pair_free(d);
        return rc;
    }
    memcpy(k->at.at, at->at, sizeof at->at);
    memcpy(k->at.count, at->count, sizeof at->count);
    k->at.n = at->n;
    k->bad = k->first = 0;
    BKT_PASS(compare_block(d, k));
    *bad = k->bad;
    *first = k->first;
    return BKT_OK;
}

/* ---- stored chunks ---- */

/* Elements that were never written are alike, so one of them is enough.  HOLES_SAME_BY_LISTS: equal by
 * the creation lists, since HDF5 can't read them. */
enum holes { HOLES_SAME, HOLES_DIFFER, HOLES_SAME_BY_LISTS, HOLES_UNKNOWN };

/* Compares the fill values of the creation lists: HDF5 can't read unwritten elements with a fill value of
 * variable length from a file that is open for reading only. */
static bool same_fills(const struct sides *k)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t one = H5Screate(H5S_SCALAR);
    size_t                       n   = H5Tget_size(k->m.a);
    BKT_CLEANUP(bkt_freep) char *x = calloc(2, n + 1);
    char *y = x ? x + n + 1 : NULL;
    if (!x || !k->m.is_var || one < 0)
        return false;
    bool here = bkt_same_fill_of(k->a, k->m.a, x), there = bkt_same_fill_of(k->b, k->m.b, y);
    bool is   = here && there && bkt_same_value(k->m.a, x, y);
    if (here)
        (void)H5Treclaim(k->m.a, one, H5P_DEFAULT, x);
    if (there)
        (void)H5Treclaim(k->m.b, one, H5P_DEFAULT, y);
    (void)H5Eclear2(H5E_DEFAULT);
    return is;
}

static enum holes compare_hole(const struct bkt_diff *d, const struct sides *k, const hsize_t *at)
{
    struct bkt_err  why   = {.n = 0};
    struct bkt_diff quiet = {.t = d->t, .quiet = true, .err = &why};
    struct sides    one   = *k;
    one.bad               = 0;
    one.at.n              = 1;
    memcpy(one.at.at, at, one.at.rank * sizeof *at);
    for (unsigned i = 0; i < one.at.rank; i++)
        one.at.count[i] = 1;
    if (compare_block(&quiet, &one) == BKT_OK)
        return one.bad ? HOLES_DIFFER : HOLES_SAME;
    return same_fills(k) ? HOLES_SAME_BY_LISTS : HOLES_UNKNOWN;
}

static double volume(const struct bkt_written *c)
{
    double n = 1;
    for (unsigned i = 0; i < c->rank; i++)
        n *= (double)c->cdims[i];
    return n;
}

/* Brings both to one shape of chunks, the smaller one if possible, and joins them in @p a. */
static bool join(struct bkt_written *a, struct bkt_written *b)
{
    if (a->no_grid || b->no_grid) {
        struct bkt_written none = *a;
        if (a->no_grid) {
            *a = *b;
            *b = none;
        }
        return true;
    }
    if (memcmp(a->cdims, b->cdims, a->rank * sizeof *a->cdims) != 0) {
        struct bkt_written *small = volume(a) <= volume(b) ? a : b, *large = small == a ? b : a;
        if (bkt_written_regrid(large, small) < 0 && bkt_written_regrid(small, large) < 0)
            return false;
    }
    return bkt_written_join(a, b) == BKT_OK;
}

/* The block of one chunk, as far as it lies in the extent. */
static void goto_chunk(struct sides *k, const struct bkt_written *c, uint64_t index)
{
    struct bkt_blocks *b = &k->at;
    bkt_written_offset(c, index, b->at);
    b->n = 1;
    for (unsigned i = 0; i < b->rank; i++)
        b->n *= b->count[i] = bkt_min_u64(c->cdims[i], b->dims[i] - b->at[i]);
}

/* Counts the elements that neither side has stored, if they differ. */
static void count_holes(struct sides *k, const struct bkt_written *c, const hsize_t *hole)
{
    uint64_t n = 1, first;
    for (unsigned i = 0; i < k->at.rank; i++)
        n *= k->at.dims[i];
    for (size_t i = 0; i < c->n; i++) {
        goto_chunk(k, c, c->v[i].index);
        n -= k->at.n;
    }
    memcpy(k->at.at, hole, k->at.rank * sizeof *hole);
    first    = number_of(&k->at, 0);
    k->first = k->bad ? bkt_min_u64(k->first, first) : first;
    k->bad += n;
}

static int compare_chunks(struct bkt_diff *d, struct sides *k, const struct bkt_written *c, bool by_chunk)
{
    for (size_t i = 0, n; i < c->n; i += n) {
        n = by_chunk ? 1 : bkt_written_of_block(c, i);
        if (by_chunk)
            goto_chunk(k, c, c->v[i].index);
        else
            bkt_blocks_goto(&k->at, c->v[i].block);
        BKT_PASS(compare_next(d, k));
    }
    return BKT_OK;
}

/* Compares the chunks that either side has stored, and one element that neither has.  1: done, 0: unknown. */
static int compare_stored(struct bkt_diff *d, struct sides *k, uint64_t elems)
{
    BKT_CLEANUP(bkt_written_fini) struct bkt_written c = {.v = NULL}, other = {.v = NULL};
    const struct bkt_blocks                          whole               = k->at;
    hsize_t                                          hole[H5S_MAX_RANK] = {0};
    if (!bkt_written_listable(k->a) || !bkt_written_listable(k->b) ||
        !bkt_written_list(k->a, &c) || !bkt_written_list(k->b, &other))
        return 0;
    if (c.absent && other.absent) /* neither has any */
        return 1;
    if (!join(&c, &other) || (!c.no_grid && !bkt_written_hole(&c, hole)))
        return 0;
    enum holes holes = compare_hole(d, k, hole);
    if (holes == HOLES_UNKNOWN)
        return 0;
    if (!c.no_grid) {
        bkt_blocks_begin(&k->at, c.rank, whole.dims, c.cdims, elems);
        bkt_written_to_blocks(&c, &k->at);
    }
    int rc = compare_chunks(d, k, &c, holes != HOLES_SAME);
    if (rc == BKT_OK && holes == HOLES_DIFFER)
        count_holes(k, &c, hole);
    return rc < 0 ? rc : 1;
}

/* In blocks of whole chunks. */
static int compare_all(struct bkt_diff *d, struct sides *k, hid_t space, const char *path)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl = H5Dget_create_plist(k->a);
    const uint64_t               elems = BKT_TOOL_BLOCK / H5Tget_size(k->m.a);
    hsize_t                      dims[H5S_MAX_RANK], chunk[H5S_MAX_RANK];
    int                          rank = H5Sget_simple_extent_dims(space, dims, NULL);
    if (rank < 0 || dcpl < 0)
        return h5_fail(d->err, "asking for an extent");
    bool chunked = H5Pget_layout(dcpl) == H5D_CHUNKED && H5Pget_chunk(dcpl, H5S_MAX_RANK, chunk) == rank;
    bkt_blocks_begin(&k->at, (unsigned)rank, dims, chunked ? chunk : NULL, elems);
    struct bkt_blocks whole = k->at;
    if (d->shared)
        BKT_PASS(bkt_diff_shared_dataset(d, path, &whole, (uint64_t)H5Sget_simple_extent_npoints(space),
                                         &k->number));
    if (bkt_blocks_all(&whole) > 1 || H5Pget_external_count(dcpl) > 0 ||
        (chunked && k->m.is_var && (bkt_vobj_id_is_plain(k->a) || bkt_vobj_id_is_plain(k->b)))) {
        int rc = compare_stored(d, k, elems);
        if (rc != 0)
            return rc < 0 ? rc : BKT_OK;
    }
    k->at = whole;
    do {
        BKT_PASS(compare_next(d, k));
    } while (bkt_blocks_next(&k->at));
    return BKT_OK;
}

int bkt_diff_data(struct bkt_diff *d, hid_t a, hid_t b, const char *path)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Dget_type(a), other = H5Dget_type(b), space = H5Dget_space(a);
    struct sides k  = {.a = a, .b = b, .m = {.a = -1, .b = -1}};
    uint64_t     n  = (uint64_t)H5Sget_simple_extent_npoints(space);
    int          rc = mem_types(d, type, other, &k.m);
    if (rc == BKT_OK && n > 0)
        rc = compare_all(d, &k, space, path);
    if (rc == BKT_OK && n > 0 && d->shared)
        bkt_diff_shared_done(d, k.number, k.bad, k.first);
    else if (rc == BKT_OK && k.bad)
        bkt_diff_report_data(d, path, &k.at, k.bad, k.first, n);
    mem_fini(&k.m);
    return rc;
}
