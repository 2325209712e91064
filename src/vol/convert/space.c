/* Dataspaces of the model -> HDF5's, and HDF5's selections -> plain structs. */
#include <string.h>

#include "base/num.h"
#include "vol/convert/convert.h"
#include "vol/convert/rebuild.h"

int bkt_convert_space(const struct bkt_space *s, hid_t *out, struct bkt_err *err)
{
    hsize_t dims[BKT_MAX_RANK], maxdims[BKT_MAX_RANK];

    if (s->cls != BKT_S_SIMPLE || s->rank == 0) {
        *out = H5Screate(s->cls == BKT_S_NULL ? H5S_NULL : H5S_SCALAR);
        return *out < 0 ? bkt_h5err_capture(err, "making a dataspace") : BKT_OK;
    }
    for (unsigned i = 0; i < s->rank; i++) {
        dims[i]    = s->dims[i];
        maxdims[i] = s->maxdims[i] == BKT_UNLIMITED ? H5S_UNLIMITED : s->maxdims[i];
    }
    *out = H5Screate_simple((int)s->rank, dims, maxdims);
    return *out < 0 ? bkt_h5err_capture(err, "making a dataspace") : BKT_OK;
}

int bkt_convert_from_space(hid_t space, struct bkt_space *out, struct bkt_err *err)
{
    hsize_t     dims[H5S_MAX_RANK], maxdims[H5S_MAX_RANK];
    H5S_class_t cls = H5Sget_simple_extent_type(space);
    memset(out, 0, sizeof *out);
    if (cls == H5S_NULL || cls == H5S_SCALAR) {
        out->cls = cls == H5S_NULL ? BKT_S_NULL : BKT_S_SCALAR;
        return BKT_OK;
    }
    int rank = H5Sget_simple_extent_dims(space, dims, maxdims);
    if (cls != H5S_SIMPLE || rank < 0)
        return bkt_h5err_capture(err, "asking about a dataspace");
    out->cls  = rank ? BKT_S_SIMPLE : BKT_S_SCALAR;
    out->rank = (unsigned)rank;
    for (int i = 0; i < rank; i++) {
        out->dims[i]    = dims[i];
        out->maxdims[i] = maxdims[i] == H5S_UNLIMITED ? BKT_UNLIMITED : maxdims[i];
    }
    return bkt_space_check(out, err);
}

static int get_extent(hid_t space, struct bkt_sel *sel, struct bkt_err *err)
{
    hsize_t dims[H5S_MAX_RANK];
    int     rank = H5Sget_simple_extent_dims(space, dims, NULL);
    BKT_NEED_H5(err, rank >= 0, "asking for a dataspace's extent");
    sel->rank = (unsigned)rank;
    for (int i = 0; i < rank; i++)
        sel->dims[i] = dims[i];
    return BKT_OK;
}

/* Turn a selection that was made on an older extent of the dataset into one of the current extent. */
static int onto_extent(hid_t space, hid_t extent, hid_t *out, struct bkt_err *err)
{
    hsize_t start[H5S_MAX_RANK] = {0}, dims[H5S_MAX_RANK];
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5Scopy(extent);
    herr_t rc = id < 0 ? -1 : H5Sget_simple_extent_dims(space, dims, NULL) < 0 ? -1 : 0;
    if (rc >= 0)
        rc = H5Sget_select_type(space) == H5S_SEL_ALL
                 ? H5Sselect_hyperslab(id, H5S_SELECT_SET, start, NULL, dims, NULL)
                 : H5Sselect_copy(id, space);
    BKT_NEED_H5(err, rc >= 0, "moving a selection to the dataset's extent");
    return bkt_hid_give(&id, out);
}

/* H5Sget_regular_hyperslab() leaves out the selection's offset (H5Soffset_simple); the bounds include it. */
static int regular(hid_t space, struct bkt_sel *sel, struct bkt_err *err)
{
    hsize_t start[H5S_MAX_RANK], stride[H5S_MAX_RANK], count[H5S_MAX_RANK], block[H5S_MAX_RANK];
    hsize_t lo[H5S_MAX_RANK], hi[H5S_MAX_RANK];
    bool    whole = true;

    BKT_NEED_H5(err,
                H5Sget_regular_hyperslab(space, start, stride, count, block) >= 0 &&
                    H5Sget_select_bounds(space, lo, hi) >= 0,
                "asking for a hyperslab");
    for (unsigned i = 0; i < sel->rank; i++) {
        sel->start[i]  = lo[i];
        sel->stride[i] = stride[i];
        sel->count[i]  = count[i];
        sel->block[i]  = block[i];
        if (stride[i] == block[i]) {
            sel->block[i] = sel->stride[i] = 1;
            sel->count[i] = count[i] * block[i];
        }
        else if (count[i] == 1) {
            sel->stride[i] = sel->block[i] = 1;
            sel->count[i]  = block[i];
        }
        whole = whole && lo[i] == 0 && sel->stride[i] == 1 && sel->count[i] == sel->dims[i];
    }
    sel->kind = whole ? BKT_SEL_ALL : BKT_SEL_HYPER;
    return BKT_OK;
}

static int add_runs(struct bkt_buf *runs, const hsize_t *off, const size_t *len, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct bkt_run *last = runs->len ? (struct bkt_run *)(void *)(runs->ptr + runs->len) - 1 : NULL;
        if (last && last->off + last->len == off[i]) {
            last->len += len[i];
            continue;
        }
        struct bkt_run run = {off[i], len[i]};
        BKT_PASS(bkt_buf_add(runs, &run, sizeof run));
    }
    return BKT_OK;
}

/* With element size 1, HDF5's byte sequences become sequences of elements. */
static int irregular(hid_t space, struct bkt_sel *sel, void **runs_out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf runs = {0};
    BKT_CLEANUP(bkt_hid_closep) hid_t iter = H5Ssel_iter_create(space, 1, 0);
    hsize_t  off[1024];
    size_t   len[1024], n, n_elems;
    uint64_t left = sel->n_elems;

    BKT_NEED_H5(err, iter >= 0, "iterating over a selection");
    while (left > 0) {
        BKT_NEED_H5(err,
                    H5Ssel_iter_get_seq_list(iter, BKT_COUNT(len), (size_t)bkt_min_u64(left, SIZE_MAX), &n,
                                             &n_elems, off, len) >= 0,
                    "iterating over a selection");
        BKT_FAIL_IF(err, n == 0 || n_elems == 0, BKT_EHDF5, "a selection ended before its last element");
        BKT_PASS_MEM(err, add_runs(&runs, off, len, n));
        left -= n_elems;
    }
    sel->kind   = BKT_SEL_RUNS;
    sel->n_runs = runs.len / sizeof(struct bkt_run);
    sel->runs   = bkt_buf_steal(&runs);
    *runs_out   = sel->runs;
    return BKT_OK;
}

static int selection_of(hid_t space, struct bkt_sel *sel, void **runs_out, struct bkt_err *err)
{
    htri_t    valid = H5Sselect_valid(space);
    hssize_t  n     = H5Sget_select_npoints(space);
    H5S_class_t cls = H5Sget_simple_extent_type(space);

    BKT_NEED_H5(err, valid >= 0 && n >= 0, "asking for a selection");
    BKT_FAIL_IF(err, !valid, BKT_EINVAL, "the selection reaches outside the dataspace's extent");
    sel->n_elems = cls == H5S_NULL ? 0 : (uint64_t)n;
    if (sel->n_elems == 0) {
        sel->kind = BKT_SEL_NONE;
        return BKT_OK;
    }
    switch (H5Sget_select_type(space)) {
        case H5S_SEL_ALL:
            sel->kind = BKT_SEL_ALL;
            return BKT_OK;
        case H5S_SEL_HYPERSLABS:
            if (H5Sis_regular_hyperslab(space) > 0)
                return regular(space, sel, err);
            return irregular(space, sel, runs_out, err);
        default:
            return irregular(space, sel, runs_out, err);
    }
}

static bool has_extent(const struct bkt_sel *sel, const struct bkt_space *s)
{
    unsigned rank = s->cls == BKT_S_SIMPLE ? s->rank : 0;
    return sel->rank == rank && memcmp(sel->dims, s->dims, rank * sizeof *s->dims) == 0;
}

/* All of an extent: HDF5 needn't be asked. */
static int all_of(const struct bkt_space *s, struct bkt_sel *sel, struct bkt_err *err)
{
    sel->rank    = s->cls == BKT_S_SIMPLE ? s->rank : 0;
    sel->n_elems = s->cls != BKT_S_NULL;
    for (unsigned d = 0; d < sel->rank; d++) {
        sel->dims[d] = s->dims[d];
        BKT_FAIL_IF(err, !bkt_mul_u64(sel->n_elems, s->dims[d], &sel->n_elems), BKT_EFORMAT,
                    "an extent of more than 2^64 elements");
    }
    sel->kind = sel->n_elems ? BKT_SEL_ALL : BKT_SEL_NONE;
    return BKT_OK;
}

int bkt_convert_selection(hid_t space, const struct bkt_space *extent, struct bkt_sel *sel, void **runs_out,
                          struct bkt_err *err)
{
    *runs_out   = NULL;
    sel->runs   = NULL; /* the arrays' 1 KB shows where a box of some elements is read */
    sel->n_runs = 0;
    if (space == H5S_ALL && extent)
        return all_of(extent, sel, err);
    BKT_PASS(get_extent(space, sel, err));
    if (!extent || has_extent(sel, extent))
        return selection_of(space, sel, runs_out, err);
    unsigned asked = sel->rank;
    BKT_CLEANUP(bkt_hid_closep) hid_t there = H5I_INVALID_HID, moved = H5I_INVALID_HID;
    BKT_PASS(bkt_convert_space(extent, &there, err));
    BKT_PASS(get_extent(there, sel, err));
    BKT_FAIL_IF(err, asked != sel->rank, BKT_EINVAL, "the file dataspace has %u dimensions, the dataset %u",
                asked, sel->rank);
    BKT_PASS(onto_extent(space, there, &moved, err));
    return selection_of(moved, sel, runs_out, err);
}

/* Dataspaces with a selection: from an encoding to HDF5's. */

static hsize_t count_of(uint64_t n)
{
    return n == BKT_UNLIMITED ? H5S_UNLIMITED : n;
}

static herr_t select_slab(hid_t id, const struct bkt_h5space *s)
{
    hsize_t start[BKT_MAX_RANK], stride[BKT_MAX_RANK], count[BKT_MAX_RANK], block[BKT_MAX_RANK];
    for (unsigned i = 0; i < s->extent.rank; i++) {
        start[i] = s->start[i];
        stride[i] = s->stride[i];
        count[i] = count_of(s->count[i]);
        block[i] = count_of(s->block[i]);
    }
    return H5Sselect_hyperslab(id, H5S_SELECT_SET, start, stride, count, block);
}

#define AT_ONCE 16 /* for each added block HDF5 goes through the whole selection */

static herr_t add_blocks(hid_t id, unsigned rank, size_t n, const uint64_t *coords)
{
    herr_t rc = 0;
    for (size_t i = 0; rc >= 0 && i < n; i++, coords += 2 * (size_t)rank) {
        hsize_t start[BKT_MAX_RANK], one[BKT_MAX_RANK], block[BKT_MAX_RANK];
        for (unsigned d = 0; d < rank; d++) {
            start[d] = coords[d];
            one[d] = 1;
            block[d] = coords[rank + d] - coords[d] + 1;
        }
        rc = H5Sselect_hyperslab(id, i ? H5S_SELECT_OR : H5S_SELECT_SET, start, NULL, one, block);
    }
    return rc;
}

/* Join two halves, so that HDF5 goes through each block only a few times. */
static herr_t join_blocks(hid_t id, unsigned rank, size_t n, const uint64_t *coords)
{
    size_t half = n / 2;
    if (n <= AT_ONCE)
        return add_blocks(id, rank, n, coords);
    BKT_CLEANUP(bkt_hid_closep) hid_t rest = H5Scopy(id);
    return rest < 0 || join_blocks(id, rank, half, coords) < 0 ||
                   join_blocks(rest, rank, n - half, coords + half * 2 * rank) < 0
               ? -1
               : H5Smodify_select(id, H5S_SELECT_OR, rest);
}

herr_t bkt_rebuild_blocks(hid_t space, size_t n, const uint64_t *coords)
{
    int rank = H5Sget_simple_extent_ndims(space);
    if (H5Sselect_none(space) < 0 || rank <= 0 || n == 0)
        return n == 0 && rank >= 0 ? 0 : -1;
    return join_blocks(space, (unsigned)rank, n, coords);
}

static herr_t select_points(hid_t id, const struct bkt_h5space *s)
{
    _Static_assert(sizeof(hsize_t) == sizeof *s->coords, "coordinates of the same kind");
    return s->n ? H5Sselect_elements(id, H5S_SELECT_SET, s->n, (const hsize_t *)s->coords)
                : H5Sselect_none(id);
}

static herr_t select_it(hid_t id, const struct bkt_h5space *s)
{
    switch (s->select) {
    case BKT_H5_SEL_NONE:
        return H5Sselect_none(id);
    case BKT_H5_SEL_POINTS:
        return select_points(id, s);
    case BKT_H5_SEL_BLOCKS:
        return bkt_rebuild_blocks(id, s->n, s->coords);
    case BKT_H5_SEL_SLAB:
        return select_slab(id, s);
    case BKT_H5_SEL_ALL:
    default:
        return H5Sselect_all(id);
    }
}

int bkt_rebuild_space(const struct bkt_h5space *s, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5I_INVALID_HID;
    BKT_PASS(bkt_convert_space(&s->extent, &id, err));
    BKT_PASS(PASS_ON(err, select_it(id, s), "making a stored selection"));
    return bkt_hid_give(&id, out);
}

int bkt_rebuild_encoded_space(const struct bkt_buf *b, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_h5space_fini) struct bkt_h5space s = {.n = 0};
    BKT_PASS(bkt_h5space_parse(b->ptr, b->len, &s, err));
    return bkt_rebuild_space(&s, out, err);
}
