/* Dataspaces of the model <-> HDF5's, and encoded ones with a selection -> HDF5's. */
#include <string.h>

#include "base/num.h"
#include "vol/convert/convert.h"
#include "vol/convert/rebuild.h"

_Static_assert(BKT_UNLIMITED == H5S_UNLIMITED && BKT_MAX_RANK >= H5S_MAX_RANK, "extents are HDF5's");

int bkt_convert_space(const struct bkt_space *s, hid_t *out, struct bkt_err *err)
{
    *out = s->cls != BKT_S_SIMPLE || s->rank == 0 ? H5Screate(s->cls == BKT_S_NULL ? H5S_NULL : H5S_SCALAR)
                                                  : H5Screate_simple((int)s->rank, s->dims, s->maxdims);
    return *out < 0 ? bkt_h5err_capture(err, "making a dataspace") : BKT_OK;
}

int bkt_convert_from_space(hid_t space, struct bkt_space *out, struct bkt_err *err)
{
    H5S_class_t cls = H5Sget_simple_extent_type(space);
    memset(out, 0, sizeof *out);
    if (cls == H5S_NULL || cls == H5S_SCALAR) {
        out->cls = cls == H5S_NULL ? BKT_S_NULL : BKT_S_SCALAR;
        return BKT_OK;
    }
    int rank = H5Sget_simple_extent_dims(space, out->dims, out->maxdims);
    if (cls != H5S_SIMPLE || rank < 0)
        return bkt_h5err_capture(err, "asking about a dataspace");
    out->cls  = rank ? BKT_S_SIMPLE : BKT_S_SCALAR;
    out->rank = (unsigned)rank;
    return bkt_space_check(out, err);
}

/* ---- encoded dataspaces with a selection ---- */

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
        return H5Sselect_hyperslab(id, H5S_SELECT_SET, s->start, s->stride, s->count, s->block);
    case BKT_H5_SEL_ALL:
    default:
        return H5Sselect_all(id);
    }
}

int bkt_rebuild_space(const struct bkt_h5space *s, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5I_INVALID_HID;
    BKT_PASS(bkt_convert_space(&s->extent, &id, err));
    BKT_PASS(BKT_PASS_H5(err, select_it(id, s), "making a stored selection"));
    return bkt_hid_give(&id, out);
}

int bkt_rebuild_encoded_space(const struct bkt_buf *b, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_h5space_fini) struct bkt_h5space s = {.n = 0};
    BKT_PASS(bkt_h5space_parse(b->ptr, b->len, &s, err));
    return bkt_rebuild_space(&s, out, err);
}
