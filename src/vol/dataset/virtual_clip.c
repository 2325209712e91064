/* Sources of virtual datasets that have grown or shrunk since they were mapped. */
#include "vol/core/hid.h"
#include "vol/dataset/virtual.h"

/* The stored extent of a source is that of the time when the dataset was mapped.  If the source has grown
 * since, an endless selection leads beyond it, and HDF5 refuses such a selection in a plain file. */
static int grow(hid_t src, int rank, const hsize_t *dims, const hsize_t *last, hsize_t *mapped,
                struct bkt_err *err)
{
    bool outgrown = false;
    for (int d = 0; d < rank; d++)
        outgrown = outgrown || (last[d] >= mapped[d] && dims[d] > mapped[d]);
    if (!outgrown)
        return BKT_OK;
    for (int d = 0; d < rank; d++)
        mapped[d] = dims[d] > mapped[d] ? dims[d] : mapped[d];
    return H5Sset_extent_simple(src, rank, mapped, NULL) < 0
               ? bkt_h5err_capture(err, "the extent of a source")
               : BKT_OK;
}

int bkt_virtual_clip(hid_t dset, hid_t *src, hid_t *mem, struct bkt_err *err)
{
    hsize_t zero[H5S_MAX_RANK] = {0}, dims[H5S_MAX_RANK], mapped[H5S_MAX_RANK], first[H5S_MAX_RANK],
            last[H5S_MAX_RANK];
    bool    beyond = false;
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5Dget_space(dset);
    int     rank = space < 0 ? -1 : H5Sget_simple_extent_dims(space, dims, NULL);
    if (rank < 0 || H5Sget_select_bounds(*src, first, last) < 0)
        return bkt_h5err_capture(err, "asking a source for its extent");
    if (rank == 0 || rank != H5Sget_simple_extent_dims(*src, mapped, NULL))
        return BKT_OK; /* HDF5 reports the error */
    BKT_PASS(grow(*src, rank, dims, last, mapped, err));
    for (int d = 0; d < rank; d++) {
        beyond  = beyond || last[d] >= dims[d];
        dims[d] = dims[d] < mapped[d] ? dims[d] : mapped[d];
    }
    if (!beyond)
        return BKT_OK;
    BKT_CLEANUP(bkt_hid_closep) hid_t there = H5Scopy(*src);
    if (there < 0 || H5Sselect_hyperslab(there, H5S_SELECT_SET, zero, NULL, dims, NULL) < 0)
        return bkt_h5err_capture(err, "selecting what a source has");
    hid_t part_mem = H5Sselect_project_intersection(*src, *mem, there), part_src = H5Scopy(*src);
    /* not by H5Scombine_select(): HDF5 1.14 crashes in it if the two are disjoint */
    herr_t cut = part_src < 0 ? -1 : H5Sselect_hyperslab(part_src, H5S_SELECT_AND, zero, NULL, dims, NULL);
    bkt_hid_closep(mem);
    bkt_hid_closep(src);
    *mem = part_mem;
    *src = part_src;
    return part_mem < 0 || cut < 0 ? bkt_h5err_capture(err, "selecting what a source has") : BKT_OK;
}
