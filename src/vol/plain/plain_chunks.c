#include "vol/plain/plain_chunks.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/list.h"
#include "base/num.h"
#include "vol/core/h5err.h"
#include "vol/core/hid.h"

struct listing {
    unsigned rank;
    hsize_t  dims[H5S_MAX_RANK], max[H5S_MAX_RANK], cdims[H5S_MAX_RANK];
    uint64_t grid[H5S_MAX_RANK];     /* chunks per dimension of the extent */
    uint64_t max_grid[H5S_MAX_RANK]; /* the largest possible; for an unlimited dimension: any */
    unsigned unlimited; /* the dimension that the index puts first; 0: the coordinates are right */
    bool unfiltered_edges; /* partial chunks skip the filters */
    unsigned n_filters;
    int (*each)(void *arg, const struct bkt_file_chunk *c);
    void *arg;
    int   rc; /* of each() */
};

/* HDF5 1.14's extensible array lists its chunks in the order of its index, in which the unlimited
 * dimension is the slowest.  But it counts coordinates as if the last dimension were the fastest.  This
 * computes the place in the index, and from it the chunk. */
static void unswizzle(const struct listing *l, uint64_t *coord)
{
    uint64_t place = 0, others = 1;
    for (unsigned d = l->unlimited; d < l->rank; d++)
        place = place * (d > l->unlimited ? l->max_grid[d] : 1) + coord[d];
    for (unsigned d = 0; d < l->rank; d++)
        others *= d == l->unlimited ? 1 : l->max_grid[d];
    coord[l->unlimited] = others ? place / others : 0;
    place               = others ? place % others : 0;
    for (unsigned d = l->rank; d-- > 0;)
        if (d != l->unlimited && l->max_grid[d]) {
            coord[d] = place % l->max_grid[d];
            place /= l->max_grid[d];
        }
}

/* Whether the chunk extends beyond the extent. */
static bool is_partial(const struct listing *l, const uint64_t *coord)
{
    for (unsigned d = 0; d < l->rank; d++)
        if ((coord[d] + 1) * l->cdims[d] > l->dims[d])
            return true;
    return false;
}

static int one_chunk(const hsize_t *offset, unsigned mask, haddr_t addr, hsize_t size, void *arg)
{
    struct listing       *l = arg;
    uint64_t              coord[H5S_MAX_RANK];
    struct bkt_file_chunk c = {.index = 0, .offset = addr, .size = size, .mask = mask};
    if (addr == HADDR_UNDEF || size == 0) /* an index also lists places of missing chunks */
        return H5_ITER_CONT;
    for (unsigned d = 0; d < l->rank; d++)
        coord[d] = offset[d] / l->cdims[d];
    if (l->unlimited)
        unswizzle(l, coord);
    for (unsigned d = 0; d < l->rank; d++) {
        if (coord[d] >= l->grid[d]) /* remains from before the dataset shrank */
            return H5_ITER_CONT;
        c.index = c.index * l->grid[d] + coord[d];
    }
    if (l->unfiltered_edges && is_partial(l, coord))
        c.mask = l->n_filters < 32 ? (1U << l->n_filters) - 1 : UINT32_MAX;
    l->rc = l->each(l->arg, &c);
    return l->rc < 0 ? H5_ITER_ERROR : H5_ITER_CONT;
}

/* ---- whether this HDF5 counts wrong ---- */

static int see_coord(const hsize_t *offset, unsigned mask, haddr_t addr, hsize_t size, void *arg)
{
    (void)mask, (void)addr, (void)size;
    *(bool *)arg = offset[0] != 0 || offset[1] != 1;
    return H5_ITER_CONT;
}

/* Write one chunk, at 0, 1, to a file in memory whose second dimension is unlimited, and look where HDF5
 * reports it. */
static int try_it(bool *wrong)
{
    static const char       value   = 0;
    const hsize_t           dims[2] = {2, 2}, max[2] = {2, H5S_UNLIMITED}, chunk[2] = {1, 1}, at[2] = {0, 1};
    BKT_CLEANUP(bkt_hid_closep) hid_t fapl  = H5Pcreate(H5P_FILE_ACCESS);
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl  = H5Pcreate(H5P_DATASET_CREATE);
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5Screate_simple(2, dims, max);
    if (fapl < 0 || dcpl < 0 || space < 0 || H5Pset_vol(fapl, H5VL_NATIVE, NULL) < 0 ||
        H5Pset_fapl_core(fapl, 4096, false) < 0 ||
        H5Pset_libver_bounds(fapl, H5F_LIBVER_V110, H5F_LIBVER_LATEST) < 0 ||
        H5Pset_chunk(dcpl, 2, chunk) < 0)
        return -1;
    BKT_CLEANUP(bkt_hid_closep)
    hid_t file = H5Fcreate("h5bucket-chunk-order", H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    BKT_CLEANUP(bkt_hid_closep)
    hid_t dset =
        file < 0 ? -1 : H5Dcreate2(file, "d", H5T_NATIVE_CHAR, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    if (dset < 0 || H5Dwrite_chunk(dset, H5P_DEFAULT, 0, at, 1, &value) < 0)
        return -1;
    return H5Dchunk_iter(dset, H5P_DEFAULT, see_coord, wrong);
}

static int counts_wrong(bool *out, struct bkt_err *err)
{
    static bool known, wrong; /* under HDF5's global lock, like everything that calls it */
    if (!known && try_it(&wrong) < 0)
        return bkt_h5err_capture(err, "trying how HDF5 lists chunks");
    known = true;
    *out  = wrong;
    return BKT_OK;
}

/* ---- listing ---- */

static int learn(hid_t dset, struct listing *l, struct bkt_err *err)
{
    H5D_chunk_index_t                 type;
    unsigned                          opts = 0;
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl  = H5Dget_create_plist(dset);
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5Dget_space(dset);
    int                               n     = dcpl < 0 ? -1 : H5Pget_nfilters(dcpl);
    int rank = space < 0 ? -1 : H5Sget_simple_extent_dims(space, l->dims, l->max);
    uint64_t                          chunks = 1;
    bool                              wrong  = false;
    if (n < 0 || rank < 0 || H5Pget_chunk(dcpl, H5S_MAX_RANK, l->cdims) != rank ||
        H5Pget_chunk_opts(dcpl, &opts) < 0 || H5Dget_chunk_index_type(dset, &type) < 0)
        return bkt_h5err_capture(err, "asking how chunks are stored");
    l->rank        = (unsigned)rank;
    l->unfiltered_edges = opts & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS;
    l->n_filters   = (unsigned)n;
    for (unsigned d = 0; d < l->rank; d++) {
        l->grid[d]     = bkt_ceil_div(l->dims[d], l->cdims[d]);
        l->max_grid[d] = l->max[d] == H5S_UNLIMITED ? UINT64_MAX : bkt_ceil_div(l->max[d], l->cdims[d]);
        BKT_FAIL_IF(err, l->grid[d] && !bkt_mul_u64(chunks, l->grid[d], &chunks), BKT_EFORMAT,
                    "the chunk grid is too large");
        if (type == H5D_CHUNK_IDX_EARRAY && l->max[d] == H5S_UNLIMITED)
            l->unlimited = d;
    }
    if (l->unlimited)
        BKT_PASS(counts_wrong(&wrong, err));
    l->unlimited = wrong ? l->unlimited : 0;
    return BKT_OK;
}

int bkt_file_chunks(hid_t dset, int (*each)(void *arg, const struct bkt_file_chunk *c), void *arg,
                    struct bkt_err *err)
{
    struct listing l = {.each = each, .arg = arg, .rc = BKT_OK};
    BKT_PASS(learn(dset, &l, err));
    if (H5Dchunk_iter(dset, H5P_DEFAULT, one_chunk, &l) >= 0)
        return BKT_OK;
    if (l.rc >= 0)
        return bkt_h5err_capture(err, "listing the chunks");
    (void)H5Eclear2(H5E_DEFAULT);
    return l.rc == BKT_ENOMEM ? BKT_ERR(err, BKT_ENOMEM, "out of memory") : l.rc;
}

struct found {
    struct bkt_file_chunk *v;
    size_t n, cap, most;
};

static int add_found(void *arg, const struct bkt_file_chunk *c)
{
    struct found *f = arg;
    if (f->n == f->most)
        return BKT_EFORMAT;
    BKT_PASS(bkt_list_room(&f->v, f->n, &f->cap, sizeof *f->v));
    f->v[f->n++] = *c;
    return BKT_OK;
}

int bkt_file_chunks_found(hid_t dset, size_t most, struct bkt_file_chunk **out, size_t *n,
                          struct bkt_err *err)
{
    struct found f = {.v = calloc(1, sizeof *f.v), .cap = 1, .most = most};
    int rc = f.v ? bkt_file_chunks(dset, add_found, &f, err) : BKT_ERR(err, BKT_ENOMEM, "out of memory");
    if (rc < 0) {
        free(f.v);
        return rc;
    }
    *out = f.v;
    *n = f.n;
    return BKT_OK;
}
