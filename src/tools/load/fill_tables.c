/* chunks --fill: makes and stores the chunk tables that `hsload --fastlink` left to be made at the first
 * read. */
#include "tools/load/fill_tables.h"

#include <stdlib.h>
#include <string.h>

#include "tools/load/load_domain.h"
#include "base/num.h"
#include "tools/source/hdf5_glue.h"

struct fill {
    struct load    l; /* for load_open_id() */
    struct bkt_err *err;
    int             rc;
    unsigned        n;
};
struct rows {
    unsigned char  *v;
    size_t          row, off, size, size_n;
    unsigned        rank;
    const uint64_t *cdims;
    hsize_t         grid[BKT_MAX_RANK];
};

static int put_row(const hsize_t *offset, unsigned mask, haddr_t addr, hsize_t size, void *arg)
{
    struct rows *r     = arg;
    uint64_t     index = 0;
    (void)mask;
    for (unsigned d = 0; d < r->rank; d++) {
        uint64_t at = offset[d] / r->cdims[d];
        if (at >= r->grid[d])
            return H5_ITER_CONT;
        index = index * r->grid[d] + at;
    }
    if (r->size_n < 8 && size > INT32_MAX)
        return H5_ITER_ERROR;
    bkt_put_le(r->v + index * r->row + r->off, 8, addr);
    bkt_put_le(r->v + index * r->row + r->size, (unsigned)r->size_n, size);
    return H5_ITER_CONT;
}

static int write_table(struct fill *f, hid_t dset, const struct bkt_dset *ds, struct bkt_err *err)
{
    BKT_CLEANUP(h5_closep) hid_t table = H5I_INVALID_HID;
    BKT_PASS(load_open_id(&f->l, &ds->layout.chunk_table, &table, err));
    BKT_CLEANUP(h5_closep) hid_t type = H5Dget_type(table), space = H5Dget_space(table);
    BKT_CLEANUP(h5_closep) hid_t first = H5Tget_member_type(type, 0), second = H5Tget_member_type(type, 1);
    struct rows r = {.row = H5Tget_size(type),
                     .off = H5Tget_member_offset(type, 0),
                     .size = H5Tget_member_offset(type, 1),
                     .size_n = H5Tget_size(second),
                     .cdims = ds->layout.dims};
    hssize_t    n    = H5Sget_simple_extent_npoints(space);
    int         rank = H5Sget_simple_extent_dims(space, r.grid, NULL);
    if (rank <= 0 || n < 0 || H5Tget_size(first) != 8 || H5Tget_nmembers(type) != 2)
        BKT_FAIL(err, BKT_EUNSUP, "the chunk table doesn't have hsload's form");
    r.rank                                 = (unsigned)rank;
    BKT_CLEANUP(bkt_freep) unsigned char *v = calloc((size_t)n + 1, r.row);
    r.v                                    = v;
    if (!v)
        BKT_NOMEM(err);
    if (H5Dchunk_iter(dset, H5P_DEFAULT, put_row, &r) < 0)
        return h5_fail(err, "looking for the chunks");
    return H5Dwrite(table, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) < 0
               ? h5_fail(err, "storing the chunk table")
               : BKT_OK;
}

static int fill_one(struct fill *f, hid_t dset, struct bkt_err *err)
{
    const struct bkt_vobj   *o     = load_vobj(dset);
    const struct bkt_dset   *ds    = &o->obj->dset;
    const struct bkt_object *table = NULL;
    if (ds->layout.cls != BKT_D_CHUNKED_REF_INDIRECT)
        return BKT_OK;
    BKT_PASS(bkt_domain_get(f->l.file->dom, &ds->layout.chunk_table, &table, err));
    bool     wanted = table->kind == BKT_DATASET && table->dset.init == BKT_INIT_CHUNKLOCATOR;
    uint64_t stored = 0;
    int      rc     = wanted ? bkt_domain_chunk_usage(f->l.file->dom, table, NULL, &stored, err) : BKT_OK;
    bkt_object_release(table);
    if (rc < 0 || !wanted || stored)
        return rc;
    BKT_PASS(write_table(f, dset, ds, err));
    f->n++;
    return BKT_OK;
}

static herr_t visit(hid_t root, const char *name, const H5O_info2_t *info, void *arg)
{
    struct fill *f = arg;
    if (info->type != H5O_TYPE_DATASET)
        return 0;
    BKT_CLEANUP(h5_closep) hid_t dset = H5Dopen2(root, name, H5P_DEFAULT);
    f->rc = dset < 0 ? h5_fail(f->err, name) : fill_one(f, dset, f->err);
    if (f->rc < 0)
        f->rc = BKT_ERR(f->err, f->rc, "/%s", name);
    return f->rc < 0 ? -1 : 0;
}

int chunks_fill(const char *domain, hid_t fapl, unsigned *n, struct bkt_err *err)
{
    struct fill f = {.err = err};
    f.l.dst       = H5Fopen(domain, H5F_ACC_RDWR, fapl);
    if (f.l.dst < 0)
        return h5_fail(err, domain);
    f.l.file = load_vobj(f.l.dst)->file;
    if (H5Ovisit3(f.l.dst, H5_INDEX_NAME, H5_ITER_INC, visit, &f, H5O_INFO_BASIC) < 0 && f.rc >= 0)
        f.rc = h5_fail(err, "going through the domain");
    if (f.rc >= 0 && H5Fflush(f.l.dst, H5F_SCOPE_GLOBAL) < 0)
        f.rc = h5_fail(err, "storing chunk tables");
    h5_closep(&f.l.dst);
    *n = f.n;
    return f.rc;
}
