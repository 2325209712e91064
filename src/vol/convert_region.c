/* Region references: a dataset and a selection in it. */
#include <stdlib.h>

#include "convert_value.h"
#include "num.h"
#include "value.h"

static herr_t select_points(hid_t space, const struct bkt_regref *r)
{
    hsize_t *coords = calloc(r->n * r->rank, sizeof *coords);
    if (!coords)
        return -1;
    for (size_t i = 0; i < r->n * r->rank; i++)
        coords[i] = r->coords[i];
    herr_t rc = H5Sselect_elements(space, H5S_SELECT_SET, r->n, coords);
    free(coords);
    return rc;
}

static herr_t select_blocks(hid_t space, const struct bkt_regref *r)
{
    herr_t rc = H5Sselect_none(space);
    for (size_t i = 0; rc >= 0 && i < r->n; i++) {
        const uint64_t *from = r->coords + i * 2 * r->rank, *to = from + r->rank;
        hsize_t         start[BKT_MAX_RANK], size[BKT_MAX_RANK];
        for (unsigned d = 0; d < r->rank; d++) {
            if (to[d] < from[d])
                return -1;
            start[d] = from[d];
            size[d]  = to[d] - from[d] + 1;
        }
        rc = H5Sselect_hyperslab(space, H5S_SELECT_OR, start, NULL, size, NULL);
    }
    return rc;
}

static herr_t select_region(hid_t space, const struct bkt_regref *r)
{
    if (r->kind == BKT_REGION_NONE || (r->n == 0 && r->kind != BKT_REGION_ALL))
        return H5Sselect_none(space);
    if (r->kind == BKT_REGION_ALL)
        return H5Sselect_all(space);
    if ((int)r->rank != H5Sget_simple_extent_ndims(space) || r->rank == 0)
        return -1;
    return r->kind == BKT_REGION_POINTS ? select_points(space, r) : select_blocks(space, r);
}

static int make(struct bkt_vobj *in_file, const struct bkt_regref *r, H5R_ref_t *out, struct bkt_err *err)
{
    const struct bkt_object *dset = NULL;
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5I_INVALID_HID;
    BKT_TRY(err, bkt_domain_get(in_file->file->dom, &r->dset, &dset, err), "dataset of a region reference");
    int rc = dset->kind == BKT_DATASET ? bkt_convert_space(&dset->dset.space, &space, err)
                                       : BKT_ERR(err, BKT_EFORMAT, "a region reference to %s, which is no dataset", r->dset.text);
    bkt_object_release(dset);
    if (rc < 0)
        return rc;
    if (select_region(space, r) < 0)
        BKT_FAIL(err, BKT_EFORMAT, "the region of a reference to %s does not fit the dataset", r->dset.text);
    return bkt_object_make_region(in_file, &r->dset, space, out, err);
}

int bkt_convert_region(struct bkt_vobj *in_file, const struct bkt_slice *text, H5R_ref_t *out, bool *made,
                       struct bkt_err *err)
{
    struct bkt_regref r;
    BKT_PASS(bkt_regref_parse(text->p, text->n, &r, err));
    *made  = r.kind != BKT_REGION_NULL;
    int rc = !*made ? BKT_OK : make(in_file, &r, out, err);
    bkt_regref_fini(&r);
    return rc;
}
