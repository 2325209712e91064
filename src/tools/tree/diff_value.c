/* h5bucket diff: compares values, element by element if their bytes aren't enough. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "tools/tree/diff.h"
#include "tools/source/hdf5_glue.h"
#include "base/num.h"
#include "tools/tree/tree_impl.h"
#include "vol/core/vol.h"

static bool same(hid_t type, const char *a, const char *b);

static bool same_text(const char *a, const char *b) { return strcmp(a ? a : "", b ? b : "") == 0; }

/* Whether @p ref leads to the object that its file has under @p name.  An object may have many names. */
static bool is_named(const H5R_ref_t *ref, const char *name)
{
    BKT_CLEANUP(h5_closep) hid_t o = *name ? H5Ropen_object((H5R_ref_t *)(uintptr_t)ref, H5P_DEFAULT, H5P_DEFAULT) : H5I_INVALID_HID;
    BKT_CLEANUP(h5_closep) hid_t p = o < 0 ? H5I_INVALID_HID : H5Oopen(o, name, H5P_DEFAULT);
    H5O_info2_t                  x, y;
    int                          cmp = 1;
    if (p < 0 || H5Oget_info3(o, &x, H5O_INFO_BASIC) < 0 || H5Oget_info3(p, &y, H5O_INFO_BASIC) < 0 ||
        H5Otoken_cmp(o, &x.token, &y.token, &cmp) < 0)
        return false;
    return cmp == 0;
}

/* A selection's elements, in runs */
struct runs {
    hid_t   iter;
    hsize_t off[64];
    size_t  len[64], n, i;
};

static void runs_fini(struct runs *r)
{
    if (r->iter >= 0)
        (void)H5Ssel_iter_close(r->iter);
}

/* Whether there are more elements; if so, sets off[i] and len[i]. */
static bool go_on(struct runs *r)
{
    size_t elems = 0;
    while (r->i < r->n && r->len[r->i] == 0)
        r->i++;
    if (r->i < r->n)
        return true;
    r->i = 0;
    return H5Ssel_iter_get_seq_list(r->iter, BKT_COUNT(r->len), SIZE_MAX, &r->n, &elems, r->off, r->len) >= 0 && r->n > 0;
}

static bool same_extent(hid_t x, hid_t y)
{
    hsize_t a[H5S_MAX_RANK] = {0}, b[H5S_MAX_RANK] = {0};
    return H5Sget_simple_extent_dims(x, a, NULL) == H5Sget_simple_extent_dims(y, b, NULL) && memcmp(a, b, sizeof a) == 0;
}

/* Whether both select the same elements, however the selections were made; points in the same sequence.  HDF5
 * 1.14's own operations on selections crash, or read beyond memory, if the selections have nothing, or all,
 * in common. */
static bool same_region(const H5R_ref_t *a, const H5R_ref_t *b)
{
    BKT_CLEANUP(h5_closep) hid_t x = H5Ropen_region((H5R_ref_t *)(uintptr_t)a, H5P_DEFAULT, H5P_DEFAULT);
    BKT_CLEANUP(h5_closep) hid_t y = H5Ropen_region((H5R_ref_t *)(uintptr_t)b, H5P_DEFAULT, H5P_DEFAULT);
    hssize_t                     n = x < 0 || y < 0 ? -1 : H5Sget_select_npoints(x);
    if (n < 0)
        return x < 0 && y < 0; /* neither can be opened: compare their names */
    if (n != H5Sget_select_npoints(y) || !same_extent(x, y))
        return false;
    BKT_CLEANUP(runs_fini) struct runs p = {.iter = n ? H5Ssel_iter_create(x, 1, 0) : -1};
    BKT_CLEANUP(runs_fini) struct runs q = {.iter = n ? H5Ssel_iter_create(y, 1, 0) : -1};
    for (size_t left = (size_t)n, k; left > 0; left -= k) {
        if (!go_on(&p) || !go_on(&q) || p.off[p.i] != q.off[q.i])
            return false;
        k = p.len[p.i] < q.len[q.i] ? p.len[p.i] : q.len[q.i];
        p.off[p.i] += k, p.len[p.i] -= k;
        q.off[q.i] += k, q.len[q.i] -= k;
    }
    return true;
}

typedef ssize_t name_getter(const H5R_ref_t *ref, char *buf, size_t size);

static ssize_t object_name(const H5R_ref_t *ref, char *buf, size_t size)
{
    return H5Rget_obj_name((H5R_ref_t *)(uintptr_t)ref, H5P_DEFAULT, buf, size);
}

/* A name of any length, for free(); "" if HDF5 reports none.  HDF5 is asked twice only if the name is long,
 * since it may search the file for it. */
static char *name_of(const H5R_ref_t *ref, name_getter *get)
{
    char    room[1024] = "";
    ssize_t n          = get(ref, room, sizeof room);
    if (n < (ssize_t)sizeof room)
        return strdup(room);
    char *name = calloc(1, (size_t)n + 1);
    if (name)
        (void)get(ref, name, (size_t)n + 1);
    return name;
}

static bool same_attr(const H5R_ref_t *a, const H5R_ref_t *b)
{
    BKT_CLEANUP(bkt_freep) char *x = name_of(a, H5Rget_attr_name), *y = name_of(b, H5Rget_attr_name);
    return x && y && *x && strcmp(x, y) == 0;
}

/* Whether both refer to the same part of the object. */
static bool same_part(const H5R_ref_t *a, const H5R_ref_t *b)
{
    switch (H5Rget_type(a)) {
    case H5R_DATASET_REGION1:
    case H5R_DATASET_REGION2: return same_region(a, b);
    case H5R_ATTR: return same_attr(a, b);
    default: return true;
    }
}

/* References: the same kind to a place of the same name, and the same part of it. */
static bool same_reference(const char *a, const char *b)
{
    static const H5R_ref_t none;
    H5R_ref_t ra, rb;
    memcpy(&ra, a, sizeof ra);
    memcpy(&rb, b, sizeof rb);
    bool za = memcmp(&ra, &none, sizeof none) == 0, zb = memcmp(&rb, &none, sizeof none) == 0; /* NOLINT: null is all zeros */
    if (za || zb)
        return za == zb;
    if (H5Rget_type(&ra) != H5Rget_type(&rb))
        return false;
    BKT_CLEANUP(bkt_freep) char *na = name_of(&ra, object_name), *nb = name_of(&rb, object_name);
    bool is = na && nb && (strcmp(na, nb) == 0 || is_named(&rb, na) || is_named(&ra, nb)) && same_part(&ra, &rb);
    (void)H5Eclear2(H5E_DEFAULT);
    return is;
}

static bool same_many(hid_t type, const char *a, const char *b, size_t n)
{
    size_t size = H5Tget_size(type);
    for (size_t i = 0; i < n; i++)
        if (!same(type, a + i * size, b + i * size))
            return false;
    return true;
}

static bool same_members(hid_t type, const char *a, const char *b)
{
    for (int i = 0; i < H5Tget_nmembers(type); i++) {
        BKT_CLEANUP(h5_closep) hid_t m  = H5Tget_member_type(type, (unsigned)i);
        size_t                       at = H5Tget_member_offset(type, (unsigned)i);
        if (!same(m, a + at, b + at))
            return false;
    }
    return true;
}

static bool same_list(hid_t type, const char *a, const char *b)
{
    BKT_CLEANUP(h5_closep) hid_t base = H5Tget_super(type);
    hvl_t                        x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x.len == y.len && same_many(base, x.p, y.p, x.len);
}

static bool same_array(hid_t type, const char *a, const char *b)
{
    BKT_CLEANUP(h5_closep) hid_t base = H5Tget_super(type);
    size_t                       size = H5Tget_size(base);
    return same_many(base, a, b, size ? H5Tget_size(type) / size : 0);
}

static bool same(hid_t type, const char *a, const char *b)
{
    switch (H5Tget_class(type)) {
    case H5T_COMPOUND: return same_members(type, a, b);
    case H5T_ARRAY: return same_array(type, a, b);
    case H5T_VLEN: return same_list(type, a, b);
    case H5T_REFERENCE: return same_reference(a, b);
    case H5T_STRING:
        if (H5Tis_variable_str(type) > 0) {
            const char *x, *y;
            memcpy(&x, a, sizeof x);
            memcpy(&y, b, sizeof y);
            return same_text(x, y);
        }
        if (H5Tget_strpad(type) == H5T_STR_NULLTERM) /* in domains zeros follow the NUL */
            return strncmp(a, b, H5Tget_size(type)) == 0;
        return memcmp(a, b, H5Tget_size(type)) == 0;
    default: return memcmp(a, b, H5Tget_size(type)) == 0;
    }
}

bool bkt_diff_same(hid_t type, const void *a, const void *b) { return same(type, a, b); }

/* Number of the @p n elements that differ, and the first of them. */
static uint64_t count(const struct tree_mem *m, const char *a, const char *b, size_t n, uint64_t *first)
{
    size_t   size = H5Tget_size(m->in);
    uint64_t bad  = 0;
    if (!m->is_var && memcmp(a, b, n * size) == 0)
        return 0;
    for (size_t i = 0; i < n; i++)
        if ((m->is_var || memcmp(a + i * size, b + i * size, size) != 0) && !same(m->in, a + i * size, b + i * size)) {
            *first = bad ? *first : i;
            bad++;
        }
    return bad;
}

static int mem_type(struct bkt_diff *d, hid_t stored, struct tree_mem *m)
{
    static const struct tree_options options = {.dst_native = false};
    struct tree                      tree    = {.o = &options};
    return tree_mem_of(&tree, stored, m, d->err);
}

/* ---- attributes ---- */

int bkt_diff_attr(struct bkt_diff *d, hid_t a, hid_t b, const char *path, const char *name)
{
    BKT_CLEANUP(h5_closep) hid_t         type = H5Aget_type(a), other = H5Aget_type(b), space = H5Aget_space(a);
    BKT_CLEANUP(tree_mem_fini) struct tree_mem m = {.in = -1, .out = -1}, mb = {.in = -1, .out = -1};
    BKT_PASS(mem_type(d, type, &m));
    BKT_PASS(mem_type(d, other, &mb)); /* equal, but each bound to its file */
    hssize_t n    = H5Sget_simple_extent_npoints(space);
    size_t   size = H5Tget_size(m.in);
    if (n <= 0 || H5Sget_simple_extent_type(space) == H5S_NULL)
        return BKT_OK;
    char *x = calloc((size_t)n, size), *y = calloc((size_t)n, size);
    int   rc = x && y ? BKT_OK : BKT_ERR(d->err, BKT_ENOMEM, "out of memory");
    if (rc == BKT_OK && (H5Aread(a, m.in, x) < 0 || H5Aread(b, mb.in, y) < 0))
        rc = h5_fail(d->err, name);
    uint64_t first = 0, bad = rc == BKT_OK ? count(&m, x, y, (size_t)n, &first) : 0;
    if (bad)
        bkt_diff_tell(d, path, "attribute", "attribute %s: %llu of %llu values differ", name, (unsigned long long)bad,
                      (unsigned long long)n);
    if (m.is_var && x && y) {
        (void)H5Treclaim(m.in, space, H5P_DEFAULT, x);
        (void)H5Treclaim(mb.in, space, H5P_DEFAULT, y);
    }
    free(x);
    free(y);
    return rc;
}

/* ---- datasets ---- */

struct sides {
    hid_t             a, b;
    struct tree_mem   m, mb; /* equal, but each bound to its file */
    struct bkt_blocks at;
    uint64_t          bad, first; /* number of differences, and the first of them, row-major */
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
    BKT_CLEANUP(h5_closep) hid_t fa = H5Dget_space(k->a), fb = H5Dget_space(k->b), mem = -1;
    const struct bkt_blocks     *at   = &k->at;
    const hsize_t                n    = at->n;
    size_t                       size = H5Tget_size(k->m.in);
    if (at->rank > 0 && (H5Sselect_hyperslab(fa, H5S_SELECT_SET, at->at, NULL, at->count, NULL) < 0 ||
                         H5Sselect_hyperslab(fb, H5S_SELECT_SET, at->at, NULL, at->count, NULL) < 0))
        return h5_fail(d->err, "selecting a block");
    mem     = H5Screate_simple(1, &n, NULL);
    char *x = calloc(at->n, size), *y = calloc(at->n, size);
    int   rc = x && y ? BKT_OK : BKT_ERR(d->err, BKT_ENOMEM, "out of memory");
    if (rc == BKT_OK && (H5Dread(k->a, k->m.in, mem, fa, H5P_DEFAULT, x) < 0 || H5Dread(k->b, k->mb.in, mem, fb, H5P_DEFAULT, y) < 0))
        rc = h5_fail(d->err, "reading data");
    uint64_t first = 0, bad = rc == BKT_OK ? count(&k->m, x, y, at->n, &first) : 0;
    if (bad) {
        first    = number_of(at, first);
        k->first = k->bad ? bkt_min_u64(k->first, first) : first;
    }
    k->bad += bad;
    if (k->m.is_var && x && y) {
        (void)H5Treclaim(k->m.in, mem, H5P_DEFAULT, x);
        (void)H5Treclaim(k->mb.in, mem, H5P_DEFAULT, y);
    }
    free(x);
    free(y);
    return rc;
}

static void tell(struct bkt_diff *d, const struct sides *k, uint64_t n, const char *path)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b    = {0};
    const unsigned                           rank = k->at.rank;
    uint64_t                                 at[H5S_MAX_RANK], rest = k->first;
    for (unsigned i = rank; i-- > 0; rest /= k->at.dims[i])
        at[i] = rest % k->at.dims[i];
    for (unsigned i = 0; i < rank; i++)
        if (bkt_buf_addf(&b, "%s%llu", i ? ", " : " first at (", (unsigned long long)at[i]) < 0)
            break;
    bkt_diff_tell(d, path, "data", "%llu of %llu elements differ%s%s%s", (unsigned long long)k->bad, (unsigned long long)n,
                  rank ? "," : "", bkt_buf_str(&b), rank ? ")" : "");
}

/* ---- stored chunks ---- */

/* A plain file's, under our connector. */
static bool is_of_hdf5(hid_t dset)
{
    const struct bkt_vobj *o = H5VLobject(dset);
    return o && o->native_id >= 0;
}

/* Elements that were never written are alike, so one of them is enough. */
enum holes { HOLES_SAME, HOLES_DIFFER, HOLES_TOLD, HOLES_UNKNOWN }; /* TOLD: the same, according to the
                                                                       creation lists: HDF5 can't read them */

/* Compares the fill values of the creation lists: HDF5 can't read unwritten elements with a fill value of
 * variable length from a file that is open for reading only. */
static bool same_fills(const struct sides *k)
{
    BKT_CLEANUP(h5_closep) hid_t one = H5Screate(H5S_SCALAR);
    size_t                       n   = H5Tget_size(k->m.in);
    BKT_CLEANUP(bkt_freep) char *x = calloc(2, n + 1);
    char *y = x ? x + n + 1 : NULL;
    if (!x || !k->m.is_var || one < 0)
        return false;
    bool here = tree_fill_of(k->a, k->m.in, x), there = tree_fill_of(k->b, k->mb.in, y), is = here && there && same(k->m.in, x, y);
    if (here)
        (void)H5Treclaim(k->m.in, one, H5P_DEFAULT, x);
    if (there)
        (void)H5Treclaim(k->mb.in, one, H5P_DEFAULT, y);
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
    return same_fills(k) ? HOLES_TOLD : HOLES_UNKNOWN;
}

static double volume(const struct tree_chunks *c)
{
    double n = 1;
    for (unsigned i = 0; i < c->rank; i++)
        n *= (double)c->cdims[i];
    return n;
}

/* Brings both to one shape of chunks, the smaller one if possible, and joins them in @p a. */
static bool join(struct tree_chunks *a, struct tree_chunks *b)
{
    if (a->no_grid || b->no_grid) {
        struct tree_chunks none = *a;
        if (a->no_grid) {
            *a = *b;
            *b = none;
        }
        return true;
    }
    if (memcmp(a->cdims, b->cdims, a->rank * sizeof *a->cdims) != 0) {
        struct tree_chunks *small = volume(a) <= volume(b) ? a : b, *large = small == a ? b : a;
        if (tree_chunks_regrid(large, small) < 0 && tree_chunks_regrid(small, large) < 0)
            return false;
    }
    return tree_chunks_join(a, b) == BKT_OK;
}

/* The block of one chunk, as far as it lies in the extent. */
static void goto_chunk(struct sides *k, const struct tree_chunks *c, uint64_t index)
{
    struct bkt_blocks *b = &k->at;
    tree_chunk_offset(c, index, b->at);
    b->n = 1;
    for (unsigned i = 0; i < b->rank; i++)
        b->n *= b->count[i] = bkt_min_u64(c->cdims[i], b->dims[i] - b->at[i]);
}

/* Counts the elements that neither side has stored, if they differ. */
static void count_holes(struct sides *k, const struct tree_chunks *c, const hsize_t *hole)
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

static int compare_chunks(struct bkt_diff *d, struct sides *k, const struct tree_chunks *c, bool by_chunk)
{
    for (size_t i = 0, n; i < c->n; i += n) {
        n = by_chunk ? 1 : tree_chunks_of_block(c, i);
        if (by_chunk)
            goto_chunk(k, c, c->v[i].index);
        else
            bkt_blocks_goto(&k->at, c->v[i].block);
        BKT_PASS(compare_block(d, k));
    }
    return BKT_OK;
}

/* Compares the chunks that either side has stored, and one element that neither has.  1: done, 0: unknown. */
static int compare_stored(struct bkt_diff *d, struct sides *k, uint64_t elems)
{
    BKT_CLEANUP(tree_chunks_fini) struct tree_chunks c = {.v = NULL}, other = {.v = NULL};
    const struct bkt_blocks                          whole               = k->at;
    hsize_t                                          hole[H5S_MAX_RANK] = {0};
    if (!tree_chunks_listable(k->a, false) || !tree_chunks_listable(k->b, false) ||
        !tree_chunks_list(k->a, false, &c) || !tree_chunks_list(k->b, false, &other))
        return 0;
    if (c.absent && other.absent) /* neither has any */
        return 1;
    if (!join(&c, &other) || (!c.no_grid && !tree_chunks_hole(&c, hole)))
        return 0;
    enum holes holes = compare_hole(d, k, hole);
    if (holes == HOLES_UNKNOWN)
        return 0;
    if (!c.no_grid) {
        bkt_blocks_begin(&k->at, c.rank, whole.dims, c.cdims, elems);
        tree_chunks_to_blocks(&c, &k->at);
    }
    int rc = compare_chunks(d, k, &c, holes != HOLES_SAME);
    if (rc == BKT_OK && holes == HOLES_DIFFER)
        count_holes(k, &c, hole);
    return rc < 0 ? rc : 1;
}

/* In blocks of whole chunks. */
static int compare_all(struct bkt_diff *d, struct sides *k, hid_t space)
{
    BKT_CLEANUP(h5_closep) hid_t dcpl  = H5Dget_create_plist(k->a);
    const uint64_t               elems = BKT_TOOL_BLOCK / H5Tget_size(k->m.in);
    hsize_t                      dims[H5S_MAX_RANK], chunk[H5S_MAX_RANK];
    int                          rank = H5Sget_simple_extent_dims(space, dims, NULL);
    if (rank < 0 || dcpl < 0)
        return h5_fail(d->err, "asking for an extent");
    bool chunked = H5Pget_layout(dcpl) == H5D_CHUNKED && H5Pget_chunk(dcpl, H5S_MAX_RANK, chunk) == rank;
    bkt_blocks_begin(&k->at, (unsigned)rank, dims, chunked ? chunk : NULL, elems);
    struct bkt_blocks whole = k->at;
    if (bkt_blocks_all(&whole) > 1 || H5Pget_external_count(dcpl) > 0 ||
        (chunked && k->m.is_var && (is_of_hdf5(k->a) || is_of_hdf5(k->b)))) {
        int rc = compare_stored(d, k, elems);
        if (rc != 0)
            return rc < 0 ? rc : BKT_OK;
    }
    k->at = whole;
    do {
        BKT_PASS(compare_block(d, k));
    } while (bkt_blocks_next(&k->at));
    return BKT_OK;
}

int bkt_diff_data(struct bkt_diff *d, hid_t a, hid_t b, const char *path)
{
    BKT_CLEANUP(h5_closep) hid_t type = H5Dget_type(a), other = H5Dget_type(b), space = H5Dget_space(a);
    struct sides k  = {.a = a, .b = b, .m = {.in = -1, .out = -1}, .mb = {.in = -1, .out = -1}};
    uint64_t     n  = (uint64_t)H5Sget_simple_extent_npoints(space);
    int          rc = mem_type(d, type, &k.m);
    if (rc == BKT_OK)
        rc = mem_type(d, other, &k.mb);
    if (rc == BKT_OK && n > 0)
        rc = compare_all(d, &k, space);
    if (rc == BKT_OK && k.bad)
        tell(d, &k, n, path);
    tree_mem_fini(&k.m);
    tree_mem_fini(&k.mb);
    return rc;
}
