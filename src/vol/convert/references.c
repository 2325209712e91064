/* References that are stored as text (reference_text.h): regions of datasets, and all other targets of
 * H5T_STD_REF. */
#include <stdlib.h>
#include <string.h>

#include "vol/convert/values_to_memory.h"
#include "base/num.h"
#include "vol/core/object_refs.h"
#include "vol/convert/rebuild.h"
#include "vol/core/token.h"
#include "schema/json/reference_text.h"

/* ---- text -> H5R_ref_t ---- */

static herr_t select_encoded(hid_t space, const struct bkt_regref *r)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t stored = H5I_INVALID_HID;
    if (bkt_rebuild_encoded_space(&r->space, &stored, NULL) < 0 ||
        H5Sget_simple_extent_ndims(stored) != H5Sget_simple_extent_ndims(space))
        return -1;
    return H5Sselect_copy(space, stored);
}

static herr_t select_region(hid_t space, const struct bkt_regref *r)
{
    if (r->kind == BKT_REGION_NONE || (r->n == 0 && r->kind != BKT_REGION_ALL))
        return H5Sselect_none(space);
    if (r->kind == BKT_REGION_ALL)
        return H5Sselect_all(space);
    if (r->kind == BKT_REGION_ENCODED)
        return select_encoded(space, r);
    if ((int)r->rank != H5Sget_simple_extent_ndims(space) || r->rank == 0)
        return -1;
    _Static_assert(sizeof(hsize_t) == sizeof *r->coords, "coordinates of the same kind");
    return r->kind == BKT_REGION_POINTS
               ? H5Sselect_elements(space, H5S_SELECT_SET, r->n, (const hsize_t *)r->coords)
               : bkt_rebuild_blocks(space, r->n, r->coords);
}

/* HDF5 multiplies without a check for overflow. */
static hid_t make_space(unsigned rank, const hsize_t *dims)
{
    struct bkt_space s = {.cls = rank ? BKT_S_SIMPLE : BKT_S_SCALAR, .rank = rank};
    for (unsigned d = 0; d < rank; d++)
        s.dims[d] = s.maxdims[d] = dims[d];
    if (bkt_space_check(&s, NULL) < 0)
        return H5I_INVALID_HID;
    return rank ? H5Screate_simple((int)rank, dims, NULL) : H5Screate(H5S_SCALAR);
}

/* The dataset is out of reach, and may have another extent by now.  HDF5 copies the selection when it
 * opens the dataset. */
static int open_outside_region(const struct bkt_regref *r, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t space = make_space(r->n_dims, r->dims);
    BKT_FAIL_IF(err, space < 0 || select_region(space, r) < 0, BKT_EFORMAT,
                "the region of a reference to %s of %s does not fit its shape", r->name, r->file);
    return bkt_hid_give(&space, out);
}

/* The dataset was deleted, and HDF5 still describes a reference to it: an extent that just holds the
 * region. */
static int open_lost_region(const struct bkt_regref *r, hid_t *out, struct bkt_err *err)
{
    hsize_t  dims[BKT_MAX_RANK];
    unsigned rank = r->rank && r->rank <= BKT_MAX_RANK ? r->rank : 1;
    for (unsigned d = 0; d < BKT_MAX_RANK; d++)
        dims[d] = 1;
    size_t corners = r->kind == BKT_REGION_BLOCKS ? 2 * r->n : r->kind == BKT_REGION_POINTS ? r->n : 0;
    for (size_t i = 0; i < corners * r->rank; i++)
        if (dims[i % r->rank] <= r->coords[i])
            dims[i % r->rank] = r->coords[i] < UINT64_MAX - 1 ? r->coords[i] + 1 : r->coords[i];
    BKT_CLEANUP(bkt_hid_closep) hid_t space = make_space(rank, dims);
    BKT_FAIL_IF(err, space < 0 || (r->kind != BKT_REGION_ENCODED && select_region(space, r) < 0), BKT_EFORMAT,
                "the region of a reference to %s can't be selected", r->dset.text);
    return bkt_hid_give(&space, out);
}

/* The dataset's dataspace with the region selected */
static int open_region(struct bkt_vobj *in_file, const struct bkt_regref *r, hid_t *out, struct bkt_err *err)
{
    const struct bkt_object *dset = NULL;
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5I_INVALID_HID;
    if (r->file)
        return open_outside_region(r, out, err);
    struct bkt_err quiet = {.n = 0};
    int            rc    = bkt_domain_get(in_file->file->dom, &r->dset, &dset, &quiet);
    if (rc == BKT_ENOENT)
        return open_lost_region(r, out, err);
    if (rc < 0) {
        (void)bkt_err_copy(err, rc, &quiet);
        BKT_FAIL(err, rc, "dataset of a region reference");
    }
    rc = dset->kind == BKT_DATASET
             ? bkt_convert_space(&dset->dset.space, &space, err)
             : BKT_ERR(err, BKT_EFORMAT, "region reference: object %s is not a dataset", r->dset.text);
    bkt_object_release(dset);
    if (rc < 0)
        return rc;
    BKT_FAIL_IF(err, select_region(space, r) < 0, BKT_EFORMAT,
                "the region of a reference to %s does not fit the dataset", r->dset.text);
    return bkt_hid_give(&space, out);
}

static int make_ref(struct bkt_vobj *in_file, const struct bkt_regref *r, H5R_ref_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5I_INVALID_HID;
    if (r->kind != BKT_REGION_OBJECT && r->kind != BKT_REGION_ATTR)
        BKT_PASS(open_region(in_file, r, &space, err));
    const char *attr = r->kind == BKT_REGION_ATTR ? r->attr : NULL;
    return r->file ? bkt_outside_ref(in_file, r, space, out, err)
                   : bkt_vobj_ref_make(in_file, &r->dset, space, attr, out, err);
}

int bkt_convert_region(struct bkt_vobj *in_file, const struct bkt_slice *text, H5R_ref_t *out, bool *made,
                       struct bkt_err *err)
{
    struct bkt_regref r;
    BKT_PASS(bkt_regref_parse(text->p, text->n, &r, err));
    *made  = r.kind != BKT_REGION_NULL;
    int rc = !*made ? BKT_OK : make_ref(in_file, &r, out, err);
    bkt_regref_fini(&r);
    return rc;
}

int bkt_convert_old_region(struct bkt_vobj *in_file, const struct bkt_slice *text,
                           unsigned char out[H5R_DSET_REG_REF_BUF_SIZE], struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5I_INVALID_HID;
    struct bkt_regref        r;
    const struct bkt_object *dset = NULL;
    BKT_PASS(bkt_regref_parse(text->p, text->n, &r, err));
    if (r.kind != BKT_REGION_NULL && !r.file &&
        bkt_domain_get(in_file->file->dom, &r.dset, &dset, NULL) == BKT_ENOENT) {
        bkt_regref_fini(&r);
        return BKT_ENOENT;
    }
    bkt_object_release(dset);
    int rc = r.kind == BKT_REGION_NULL ? BKT_OK
             : r.kind == BKT_REGION_OBJECT || r.kind == BKT_REGION_ATTR || r.file
                 ? BKT_ERR(err, BKT_EFORMAT, "region reference: it has no region of this file")
                 : open_region(in_file, &r, &space, err);
    if (rc == BKT_OK && space >= 0)
        rc = bkt_vobj_ref_make_old(in_file, &r.dset, space, out, err);
    bkt_regref_fini(&r);
    return rc;
}

/* ---- H5R_ref_t -> text ---- */

/* The object that a reference leads to, and its id in the domain of @p in_file.  *id stays "" if the
 * object lies in another file. */
static int target(struct bkt_vobj *in_file, const H5R_ref_t *ref, struct bkt_id *id, struct bkt_err *err)
{
    unsigned long fileno;
    H5O_token_t   token;
    BKT_CLEANUP(bkt_hid_closep) hid_t obj = H5I_INVALID_HID;
    struct bkt_err why = {.n = 0};
    int rc = BKT_PASS_H5(&why, obj = H5Ropen_object((H5R_ref_t *)(uintptr_t)ref, H5P_DEFAULT, H5P_DEFAULT),
                         "following a reference that is to be stored");
    /* the object was deleted; as in HDF5, references to it can still be moved */
    if (rc < 0 && bkt_vobj_ref_id(ref, in_file, id) == BKT_OK)
        return BKT_OK;
    if (rc < 0)
        return bkt_err_copy(err, rc, &why);
    BKT_PASS(bkt_vobj_identify(obj, &fileno, &token, err));
    /* The numbers of plain files and of domains are counted separately. */
    BKT_FAIL_IF(err,
                fileno == in_file->file->fileno && bkt_vobj_is_in_file_of(in_file, H5VLobject(obj)) &&
                    !bkt_token_id(in_file->file->dom, &token, id),
                BKT_EINVAL, "a reference leads to no object of the domain");
    return BKT_OK;
}

int bkt_convert_from_obj_ref(struct bkt_vobj *in_file, const H5R_ref_t *ref, struct bkt_id *out,
                             struct bkt_err *err)
{
    memset(out, 0, sizeof *out);
    if (bkt_ref_is_null(ref))
        return BKT_OK;
    BKT_PASS(target(in_file, ref, out, err));
    return out->text[0] ? BKT_OK
                        : BKT_ERR(err, BKT_EUNSUP,
                                  "reference of the old kind (H5T_STD_REF_OBJ): it "
                                  "leads to an object of another file; use H5T_STD_REF");
}

/* H5Sget_select_hyper_blocklist() and H5Sget_select_elem_pointlist() write what a struct bkt_regref wants. */
static int region_coords(hid_t space, struct bkt_regref *r, struct bkt_err *err)
{
    bool     blocks = r->kind == BKT_REGION_BLOCKS;
    hssize_t n      = blocks ? H5Sget_select_hyper_nblocks(space) : H5Sget_select_elem_npoints(space);
    size_t   values;
    BKT_NEED_H5(err, n >= 0, "asking for the selection of a region reference");
    _Static_assert(sizeof(hsize_t) == sizeof *r->coords, "coordinates of the same kind");
    r->coords =
        bkt_mul_size((size_t)n, 2 * (size_t)r->rank, &values) ? calloc(values + 1, sizeof *r->coords) : NULL;
    BKT_NEED(err, r->coords);
    r->n      = (size_t)n;
    herr_t rc = n == 0   ? 0
                : blocks ? H5Sget_select_hyper_blocklist(space, 0, (hsize_t)n, (hsize_t *)r->coords)
                         : H5Sget_select_elem_pointlist(space, 0, (hsize_t)n, (hsize_t *)r->coords);
    return rc < 0 ? bkt_h5err_capture(err, "asking for the selection of a region reference") : BKT_OK;
}

static int encode_region(hid_t space, struct bkt_regref *r, struct bkt_err *err)
{
    size_t n = 0;
    BKT_PASS(BKT_PASS_H5(err, H5Sencode2(space, NULL, &n, H5P_DEFAULT), "encoding a selection"));
    BKT_PASS_MEM(err, bkt_buf_resize(&r->space, n));
    return BKT_PASS_H5(err, H5Sencode2(space, r->space.ptr, &n, H5P_DEFAULT), "encoding a selection");
}

/* If the number of blocks grows with the dataset, they can't be listed. */
static bool is_unlimited(hid_t space)
{
    hsize_t start[H5S_MAX_RANK], stride[H5S_MAX_RANK], count[H5S_MAX_RANK], block[H5S_MAX_RANK];
    int     rank = H5Sget_simple_extent_ndims(space);
    if (H5Sis_regular_hyperslab(space) <= 0 ||
        H5Sget_regular_hyperslab(space, start, stride, count, block) < 0)
        return false;
    for (int i = 0; i < rank; i++)
        if (count[i] == H5S_UNLIMITED || block[i] == H5S_UNLIMITED)
            return true;
    return false;
}

int bkt_convert_from_region(hid_t space, struct bkt_regref *r, struct bkt_err *err)
{
    int rank = H5Sget_simple_extent_ndims(space);
    BKT_NEED_H5(err, rank >= 0, "asking for the extent of a region reference");
    r->rank = (unsigned)rank;
    switch (H5Sget_select_type(space)) {
        case H5S_SEL_NONE:
            r->kind = BKT_REGION_NONE;
            return BKT_OK;
        case H5S_SEL_ALL:
            r->kind = BKT_REGION_ALL;
            return BKT_OK;
        case H5S_SEL_POINTS:
            r->kind = BKT_REGION_POINTS;
            return region_coords(space, r, err);
        case H5S_SEL_HYPERSLABS:
            r->kind = is_unlimited(space) ? BKT_REGION_ENCODED : BKT_REGION_BLOCKS;
            return r->kind == BKT_REGION_ENCODED ? encode_region(space, r, err)
                                                 : region_coords(space, r, err);
        case H5S_SEL_ERROR:
        case H5S_SEL_N:
        default:
            return bkt_h5err_capture(err, "asking for the selection of a region reference");
    }
}

/* Describe the target by id, or by name in another file.  A reference into a missing file can still be
 * moved. */
static int leads_to(struct bkt_vobj *in_file, const H5R_ref_t *ref, struct bkt_regref *r, struct bkt_err *err)
{
    struct bkt_err quiet = {.n = 0};
    int            rc    = target(in_file, ref, &r->dset, &quiet);
    if (rc == BKT_OK && r->dset.text[0])
        return BKT_OK;
    int named = bkt_outside_describe(ref, r, rc < 0 ? NULL : err);
    return named < 0 && rc < 0 ? bkt_err_copy(err, rc, &quiet) : named;
}

static int shape_of(hid_t space, struct bkt_regref *r, struct bkt_err *err)
{
    int rank = H5Sget_simple_extent_dims(space, r->dims, NULL);
    BKT_NEED_H5(err, rank >= 0, "asking for the extent of a region reference");
    r->n_dims = (unsigned)rank;
    return BKT_OK;
}

static int describe(struct bkt_vobj *in_file, const H5R_ref_t *ref, struct bkt_regref *r, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5I_INVALID_HID;
    H5R_type_t kind = H5Rget_type(ref);
    BKT_PASS(leads_to(in_file, ref, r, err));
    r->kind = BKT_REGION_OBJECT;
    if (kind == H5R_ATTR) {
        r->kind = BKT_REGION_ATTR;
        return bkt_outside_text(H5Rget_attr_name, ref, "asking for the attribute of a reference", &r->attr,
                                err);
    }
    if (kind != H5R_DATASET_REGION2)
        return BKT_OK;
    space = H5Ropen_region((H5R_ref_t *)(uintptr_t)ref, H5P_DEFAULT, H5P_DEFAULT);
    BKT_NEED_H5(err, space >= 0, "opening the region of a reference");
    if (r->file)
        BKT_PASS(shape_of(space, r, err));
    return bkt_convert_from_region(space, r, err);
}

int bkt_convert_from_ref(struct bkt_vobj *in_file, const H5R_ref_t *ref, struct bkt_buf *out,
                         struct bkt_err *err)
{
    struct bkt_regref r = {.kind = BKT_REGION_NULL};
    if (bkt_ref_is_null(ref))
        return BKT_OK;
    int rc = describe(in_file, ref, &r, err);
    if (rc == BKT_OK)
        rc = bkt_regref_emit(&r, out, err);
    bkt_regref_fini(&r);
    return rc;
}
