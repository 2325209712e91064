/* The stored chunks of a dataset, and so the blocks that hold data. */
#include "vol/copy/written_chunks.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/num.h"
#include "vol/core/filters.h"
#include "vol/dataset/dataset_calls.h"
#include "vol/dataset/raw_files.h"
#include "vol/plain/plain_chunks.h"

void bkt_written_fini(struct bkt_written *c)
{
    free(c->v);
    c->v = NULL;
    c->n = c->cap = 0;
}

static int add(struct bkt_written *c, uint64_t index, uint64_t size, uint32_t mask)
{
    if (bkt_list_room(&c->v, c->n, &c->cap, sizeof *c->v) < 0)
        return BKT_ENOMEM;
    c->v[c->n++] = (struct bkt_written_chunk){.index = index, .size = size, .mask = mask};
    return BKT_OK;
}

static int of_file(void *arg, const struct bkt_file_chunk *at)
{
    return add(arg, at->index, at->size, at->mask);
}

static int of_domain(const hsize_t *offset, unsigned mask, haddr_t addr, hsize_t size, void *arg)
{
    struct bkt_written *c     = arg;
    uint64_t            index = 0;
    (void)addr;
    for (unsigned d = 0; d < c->rank; d++) {
        if (offset[d] / c->cdims[d] >= c->grid[d])
            return H5_ITER_CONT;
        index = index * c->grid[d] + offset[d] / c->cdims[d];
    }
    return add(c, index, size, mask) < 0 ? H5_ITER_ERROR : H5_ITER_CONT;
}

void bkt_written_offset(const struct bkt_written *c, uint64_t index, hsize_t *offset)
{
    for (unsigned d = c->rank; d-- > 0; index /= c->grid[d])
        offset[d] = index % c->grid[d] * c->cdims[d];
}

/* The shape of the listed chunks; for a domain that of its objects, if these aren't whole chunks of the
 * requested shape. */
static bool shape(hid_t dset, const struct bkt_vobj *o, struct bkt_written *c)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl  = H5Dget_create_plist(dset);
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5Dget_space(dset);
    hsize_t                      dims[H5S_MAX_RANK];
    uint64_t                     all  = 1;
    int                          rank = space < 0 ? -1 : H5Sget_simple_extent_dims(space, dims, NULL);
    if (rank <= 0 || dcpl < 0 || H5Pget_layout(dcpl) != H5D_CHUNKED ||
        H5Pget_chunk(dcpl, H5S_MAX_RANK, c->cdims) != rank)
        return false;
    c->rank = (unsigned)rank;
    for (unsigned d = 0; d < c->rank; d++) {
        uint64_t shown = o ? bkt_dataset_chunk_shown(o)[d] : c->cdims[d];
        c->other_shape |= shown != c->cdims[d];
        c->cdims[d] = shown;
        c->grid[d]  = shown ? bkt_ceil_div(dims[d], shown) : 0;
        if (!c->grid[d] || !bkt_mul_u64(all, c->grid[d], &all))
            return false;
    }
    return true;
}

/* The objects of a domain's contiguous dataset. */
static int of_object(const uint64_t *coord, const struct bkt_chunk_info *info, void *arg)
{
    struct bkt_written *c     = arg;
    uint64_t            index = 0;
    for (unsigned d = 0; d < c->rank; d++) {
        if (coord[d] >= c->grid[d])
            return BKT_OK;
        index = index * c->grid[d] + coord[d];
    }
    return add(c, index, info->size, info->filter_mask);
}

static bool list_objects(struct bkt_vobj *o, struct bkt_written *c)
{
    const struct bkt_dset *d = &o->obj->dset;
    struct bkt_dsetio     *io;
    uint64_t               all = 1;
    if (d->layout.cls != BKT_D_CHUNKED || d->layout.user_cls != BKT_D_CONTIGUOUS || d->space.rank == 0 ||
        bkt_is_external(o))
        return false;
    c->rank = d->space.rank;
    for (unsigned i = 0; i < c->rank; i++) {
        c->cdims[i] = d->layout.dims[i];
        c->grid[i]  = bkt_ceil_div(d->space.dims[i], d->layout.dims[i]);
        if (!c->grid[i] || !bkt_mul_u64(all, c->grid[i], &all))
            return false;
    }
    return bkt_dataset_io(o, &io, NULL) == BKT_OK && bkt_chunk_iter(io, of_object, c, NULL) == BKT_OK;
}

/* A dataset that isn't chunked. */
static bool list_others(hid_t dset, struct bkt_vobj *o, struct bkt_written *c)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl = H5Dget_create_plist(dset);
    H5D_space_status_t           status;
    if (dcpl >= 0 &&
        (H5Pget_layout(dcpl) == H5D_VIRTUAL || (o ? bkt_is_external(o) : H5Pget_external_count(dcpl) > 0)))
        return bkt_written_parts(dset, o, dcpl, c);
    if (dcpl < 0 || H5Pget_layout(dcpl) != H5D_CONTIGUOUS || (!o && H5Pget_external_count(dcpl) != 0))
        return false;
    if (o)
        return list_objects(o, c);
    c->no_grid = true;
    return H5Dget_space_status(dset, &status) >= 0 && status == H5D_SPACE_STATUS_NOT_ALLOCATED;
}

bool bkt_written_list(hid_t dset, struct bkt_written *c)
{
    struct bkt_vobj *o = bkt_vobj_behind(&dset);
    bool ok = shape(dset, o, c) ? (o ? H5Dchunk_iter(dset, H5P_DEFAULT, of_domain, c) >= 0
                                     : bkt_file_chunks(dset, of_file, c, NULL) == BKT_OK)
                                : list_others(dset, o, c);
    if (!ok) {
        (void)H5Eclear2(H5E_DEFAULT);
        bkt_written_fini(c);
    }
    return ok;
}

static bool v1_are_many(const struct bkt_dset *ds)
{
    uint64_t grid[BKT_MAX_RANK];
    bool     chunked = ds->layout.cls == BKT_D_CHUNKED && ds->layout.rank == ds->space.rank;
    for (unsigned d = 0; chunked && d < ds->space.rank; d++)
        grid[d] = bkt_ceil_div(ds->space.dims[d], ds->layout.dims[d]);
    return chunked && bkt_v1_are_many(grid, ds->space.rank);
}

bool bkt_written_listable(hid_t dset)
{
    const struct bkt_vobj *o = bkt_vobj_behind(&dset);
    if (!o)
        return true;
    const struct bkt_store *st = bkt_domain_store(o->file->dom);
    return (bkt_id_is_v2(&o->obj->id) || v1_are_many(&o->obj->dset)) &&
           (bkt_store_is_local(st) || !bkt_store_is_readonly(st));
}

/* False: the dataset has no chunks. */
static bool chunk_options(hid_t dset, unsigned *out)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl = H5Dget_create_plist(dset);
    return dcpl >= 0 && H5Pget_layout(dcpl) == H5D_CHUNKED && H5Pget_chunk_opts(dcpl, out) >= 0;
}

bool bkt_written_fits(hid_t from, hid_t to)
{
    const bool domains = bkt_vobj_of_id(from) && bkt_vobj_of_id(to);
    unsigned a = 0, b = 0;
    return chunk_options(from, &a) && chunk_options(to, &b) && (domains || (a == 0 && b == 0)) &&
           bkt_filters_agree(from, to, NULL) > 0;
}

int bkt_written_join(struct bkt_written *c, const struct bkt_written *other)
{
    for (size_t i = 0; i < other->n; i++)
        BKT_PASS(add(c, other->v[i].index, other->v[i].size, other->v[i].mask));
    return BKT_OK;
}

#define MOST_CELLS ((size_t)1 << 22) /* chunks; 128 MiB of them */

int bkt_written_cells(struct bkt_written *to, const hsize_t *lo, const hsize_t *hi)
{
    hsize_t at[H5S_MAX_RANK];
    memcpy(at, lo, to->rank * sizeof *at);
    for (bool more = true; more;) {
        uint64_t index = 0;
        for (unsigned d = 0; d < to->rank; d++)
            index = index * to->grid[d] + at[d];
        if (to->n >= MOST_CELLS)
            return BKT_EUNSUP;
        BKT_PASS(add(to, index, 0, 0));
        more = false;
        for (unsigned d = to->rank; d-- > 0 && !more;) {
            more = at[d]++ < hi[d];
            if (!more)
                at[d] = lo[d];
        }
    }
    return BKT_OK;
}

int bkt_written_range(struct bkt_written *c, uint64_t first, uint64_t last)
{
    if (last - first >= MOST_CELLS)
        return BKT_EUNSUP;
    for (uint64_t i = first; i <= last; i++)
        BKT_PASS(add(c, i, 0, 0));
    return BKT_OK;
}

int bkt_written_regrid(struct bkt_written *c, const struct bkt_written *grid)
{
    struct bkt_written to = {.rank = grid->rank};
    int                rc = BKT_OK;
    memcpy(to.cdims, grid->cdims, sizeof to.cdims);
    memcpy(to.grid, grid->grid, sizeof to.grid);
    for (size_t i = 0; i < c->n && rc == BKT_OK; i++) {
        hsize_t lo[H5S_MAX_RANK], hi[H5S_MAX_RANK];
        bkt_written_offset(c, c->v[i].index, lo);
        for (unsigned d = 0; d < to.rank; d++) {
            hi[d] = bkt_min_u64((lo[d] + c->cdims[d] - 1) / to.cdims[d], to.grid[d] - 1);
            lo[d] /= to.cdims[d];
        }
        rc = bkt_written_cells(&to, lo, hi);
    }
    struct bkt_written *old = rc < 0 ? &to : c;
    bkt_written_fini(old);
    if (rc == BKT_OK)
        *c = to;
    return rc;
}

static int by_index(const void *a, const void *b)
{
    const struct bkt_written_chunk *x = a, *y = b;
    return x->index < y->index ? -1 : x->index > y->index;
}

static void sort_once(struct bkt_written *c, int (*by)(const void *, const void *))
{
    size_t n = 0;
    if (c->n)
        qsort(c->v, c->n, sizeof *c->v, by);
    for (size_t i = 0; i < c->n; i++)
        if (n == 0 || c->v[i].index != c->v[n - 1].index)
            c->v[n++] = c->v[i];
    c->n = n;
}

bool bkt_written_hole(struct bkt_written *c, hsize_t *offset)
{
    uint64_t all = 1, next = 0;
    sort_once(c, by_index);
    for (size_t i = 0; i < c->n && c->v[i].index <= next; i++)
        next = c->v[i].index + 1;
    for (unsigned d = 0; d < c->rank; d++)
        all *= c->grid[d];
    if (next < all)
        bkt_written_offset(c, next, offset);
    return next < all;
}

static int by_block(const void *a, const void *b)
{
    const struct bkt_written_chunk *x = a, *y = b;
    return x->block < y->block ? -1 : x->block > y->block ? 1 : by_index(a, b);
}

void bkt_written_to_blocks(struct bkt_written *c, const struct bkt_blocks *b)
{
    for (size_t i = 0; i < c->n; i++) {
        hsize_t at[H5S_MAX_RANK];
        bkt_written_offset(c, c->v[i].index, at);
        c->v[i].block = bkt_blocks_number(b, at);
    }
    sort_once(c, by_block);
}

size_t bkt_written_of_block(const struct bkt_written *c, size_t i)
{
    size_t n = 0;
    while (i + n < c->n && c->v[i + n].block == c->v[i].block)
        n++;
    return n;
}
