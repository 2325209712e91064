/* Creation property lists -> the model.  The schema's keys hold the values that they can.  If that is less
 * than the list, HDF5's own encoding of the list is stored beside them.  To find out, the list is made
 * again and compared. */
#include <stdlib.h>
#include <string.h>

#include "chunk/dataset/dataset.h"
#include "schema/json/reference_text.h"
#include "vol/convert/rebuild.h"
#include "vol/convert/values_to_memory.h"
#include "vol/core/filters.h"
#include "vol/core/memory_file.h"

static int failed(struct bkt_err *err)
{
    return bkt_h5err_capture(err, "asking about a creation property list");
}

/* ---- groups, committed types, and the part shared with datasets ---- */

static int object_properties(hid_t id, struct bkt_object *o, struct bkt_err *err)
{
    unsigned order, compact, dense;
    hbool_t  times = true;
    if (H5Pget_attr_creation_order(id, &order) < 0 || H5Pget_attr_phase_change(id, &compact, &dense) < 0 ||
        H5Pget_obj_track_times(id, &times) < 0)
        return failed(err);
    o->attr_track_order = (int)order;
    o->track_times      = times ? -1 : 0;
    o->attr_max_compact = o->attr_min_dense = -1;
    if (compact != 8 || dense != 6) { /* HDF5's defaults */
        o->attr_max_compact = (int)compact;
        o->attr_min_dense   = (int)dense;
    }
    return BKT_OK;
}

/* A program's own list class counts as the class that it derives from. */
static enum bkt_h5_list class_of(const struct bkt_object *o, hid_t id)
{
    if (o->kind == BKT_DATASET)
        return BKT_H5_DATASET_LIST;
    if (o->kind == BKT_DATATYPE)
        return BKT_H5_DATATYPE_LIST;
    return H5Pisa_class(id, H5P_FILE_CREATE) > 0 ? BKT_H5_FILE_LIST : BKT_H5_GROUP_LIST;
}

/* Bytes that a reader couldn't use are refused here. */
static int encode(hid_t id, struct bkt_object *o, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_h5plist_fini) struct bkt_h5plist l = {.has = 0};
    size_t n = 0;
    bool   found;
    BKT_PASS(BKT_PASS_H5(err, H5Pencode2(id, NULL, &n, H5P_DEFAULT), "encoding a creation property list"));
    BKT_PASS_MEM(err, bkt_buf_resize(&o->cpl, n));
    BKT_PASS(
        BKT_PASS_H5(err, H5Pencode2(id, o->cpl.ptr, &n, H5P_DEFAULT), "encoding a creation property list"));
    o->cpl.ptr[1] = (unsigned char)class_of(o, id);
    BKT_TRY(err, bkt_h5plist_of(o, &l, &found, err), "a creation property list that can't be stored");
    return BKT_OK;
}

int bkt_convert_from_ocpl(hid_t ocpl, struct bkt_object *o, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t again = H5I_INVALID_HID;
    unsigned order;
    hid_t    cls = H5Pget_class(ocpl);
    if (cls < 0)
        return failed(err);
    int rc = object_properties(ocpl, o, err);
    if (rc == BKT_OK && o->kind == BKT_GROUP) {
        rc             = H5Pget_link_creation_order(ocpl, &order) < 0 ? failed(err) : BKT_OK;
        o->track_order = rc < 0 ? 0 : (int)order;
    }
    if (rc == BKT_OK)
        rc = bkt_convert_object_ocpl(o, cls, &again, err);
    (void)H5Pclose_class(cls);
    if (rc < 0 || H5Pequal(ocpl, again) > 0)
        return rc;
    return encode(ocpl, o, err);
}

/* ---- a dataset's list as HDF5 creates it ---- */

static bool has_only_defaults(hid_t dcpl, hid_t space)
{
    H5D_fill_value_t fill = H5D_FILL_VALUE_USER_DEFINED;
    hsize_t          dims[H5S_MAX_RANK], maxdims[H5S_MAX_RANK];
    int              rank = H5Sget_simple_extent_dims(space, dims, maxdims);
    if (H5Pget_layout(dcpl) != H5D_CONTIGUOUS || H5Pget_nfilters(dcpl) != 0 ||
        H5Pget_external_count(dcpl) != 0 || H5Pfill_value_defined(dcpl, &fill) < 0 ||
        fill != H5D_FILL_VALUE_DEFAULT || rank < 0)
        return false;
    for (int i = 0; i < rank; i++)
        if (dims[i] != maxdims[i])
            return false;
    return true;
}

static bool has_pointers(const struct bkt_type *t, hid_t type)
{
    return t->is_var || H5Tdetect_class(type, H5T_REFERENCE) > 0;
}

/* HDF5's names of properties */
#define FILL          "fill_value"       /* holds the fill value, and fill and allocation time */
#define ALLOC_DEFAULT "alloc_time_state" /* 1: the program didn't ask for an allocation time */

struct fill {
    void            *value; /* NULL: no value with pointers */
    hid_t            type;
    H5D_fill_time_t  time;
    H5D_alloc_time_t alloc;
    unsigned         unasked;
};

static void fill_fini(struct fill *f)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t scalar = H5Screate(H5S_SCALAR);
    if (f->value && scalar >= 0)
        (void)H5Treclaim(f->type, scalar, H5P_DEFAULT, f->value);
    free(f->value);
}

/* Reset the fill value to the default, whose bytes own no memory.  Its time stays: HDF5 refuses
 * H5D_FILL_TIME_NEVER for types of variable length. */
static herr_t take_fill_out(hid_t list, struct fill *f)
{
    size_t size = 0;
    f->value    = calloc(1, H5Tget_size(f->type));
    if (!f->value || H5Pget_fill_value(list, f->type, f->value) < 0 || H5Pget_size(list, FILL, &size) < 0)
        return -1;
    BKT_CLEANUP(bkt_freep) void *bytes = calloc(1, size + 1);
    if (!bytes || H5Pget(H5P_DATASET_CREATE_DEFAULT, FILL, bytes) < 0)
        return -1;
    return H5Pset(list, FILL, bytes) < 0 ? -1 : H5Pset_fill_time(list, f->time);
}

/* A list for the file in memory: it must not allocate storage there.  HDF5 1.14 corrupts memory when it
 * converts a fill value with references of the new kind. */
static herr_t lighten(hid_t list, const struct bkt_type *t, struct fill *f)
{
    H5D_fill_value_t status;
    H5D_layout_t     layout = H5Pget_layout(list);
    if (H5Pfill_value_defined(list, &status) < 0 || H5Pget_alloc_time(list, &f->alloc) < 0 ||
        H5Pget_fill_time(list, &f->time) < 0 || H5Pget(list, ALLOC_DEFAULT, &f->unasked) < 0)
        return -1;
    if (status == H5D_FILL_VALUE_USER_DEFINED && has_pointers(t, f->type) && take_fill_out(list, f) < 0)
        return -1;
    if (layout == H5D_COMPACT) /* HDF5 accepts only early allocation here */
        return H5Pset_alloc_time(list, f->alloc);
    return H5Pset_alloc_time(list, layout == H5D_CONTIGUOUS ? H5D_ALLOC_TIME_LATE : H5D_ALLOC_TIME_INCR);
}

static herr_t put_back(hid_t list, const struct fill *f)
{
    if (f->value && (H5Pset_fill_value(list, f->type, f->value) < 0 || H5Pset_fill_time(list, f->time) < 0))
        return -1;
    return H5Pset_alloc_time(list, f->alloc) < 0 ? -1 : H5Pset(list, ALLOC_DEFAULT, &f->unasked);
}

static int create_and_ask(hid_t dcpl, const struct bkt_type *t, hid_t type, hid_t space, bool kept,
                          hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t file = bkt_native_in_memory(4096);
    BKT_NEED_H5(err, file >= 0, "making a file in memory");
    BKT_CLEANUP(fill_fini) struct fill f = {.type = type};
    BKT_CLEANUP(bkt_hid_closep) hid_t list = H5Pcopy(dcpl), dset = H5I_INVALID_HID;
    if (list < 0 || lighten(list, t, &f) < 0 || (kept && bkt_filters_relax(list) < 0))
        return failed(err);
    bkt_filters_unmark(list); /* HDF5 keeps the list with the dataset */
    BKT_CLEANUP(bkt_filters_releasep) struct bkt_filters_held *held = kept ? bkt_filters_hold(list) : NULL;
    (void)held; /* until the function ends */
    /* With a name: a dataset without a name is deleted when it is closed, and HDF5 1.14 can't delete it if
     * the list has shared messages in it. */
    BKT_PASS(BKT_PASS_H5(err, dset = H5Dcreate2(file, "dataset", type, space, H5P_DEFAULT, list, H5P_DEFAULT),
                         "HDF5 refuses to create such a dataset"));
    *out = H5Dget_create_plist(dset);
    if (*out < 0 || put_back(*out, &f) < 0 || (kept && bkt_filters_put_back(*out, dcpl) < 0))
        return failed(err);
    return BKT_OK;
}

/* Filters fill in their parameters when a dataset is created, and HDF5 refuses invalid lists.  To get both
 * from HDF5 itself, the dataset is created in a file in memory.  @p kept: the dataset is a copy, whose
 * filters have parameters. */
static int as_created(hid_t dcpl, const struct bkt_type *t, hid_t type, hid_t space, bool kept, hid_t *out,
                      struct bkt_err *err)
{
    /* for variable-length data HDF5 changes the fill time */
    if (!t->is_var && has_only_defaults(dcpl, space)) {
        *out = H5Pcopy(dcpl);
        if (*out < 0)
            return failed(err);
        bkt_filters_unmark(*out);
        return BKT_OK;
    }
    return create_and_ask(dcpl, t, type, space, kept, out, err);
}

/* ---- layout, filters ---- */

static int from_layout(hid_t id, struct bkt_layout *l, struct bkt_err *err)
{
    int rank;
    switch (H5Pget_layout(id)) {
        case H5D_COMPACT:
            l->user_cls = BKT_D_COMPACT;
            return BKT_OK;
        case H5D_CHUNKED:
            l->user_cls = BKT_D_CHUNKED;
            rank = H5Pget_chunk(id, BKT_MAX_RANK, l->user_dims);
            if (rank < 0 || H5Pget_chunk_opts(id, &l->chunk_opts) < 0)
                return failed(err);
            l->user_rank = (unsigned)rank;
            return BKT_OK;
        case H5D_VIRTUAL: /* the mappings are in the encoded list */
            l->user_cls = BKT_D_VIRTUAL;
            return BKT_OK;
        case H5D_CONTIGUOUS:
            l->user_cls = BKT_D_CONTIGUOUS;
            return BKT_OK;
        case H5D_LAYOUT_ERROR:
        case H5D_NLAYOUTS:
        default:
            return failed(err);
    }
}

/* ---- fill value, times ---- */

int bkt_convert_fill_of(hid_t dcpl, hid_t type, void *out)
{
    H5D_fill_value_t kind;
    if (H5Pfill_value_defined(dcpl, &kind) < 0)
        return BKT_EHDF5;
    if (kind == H5D_FILL_VALUE_UNDEFINED)
        return 0;
    return H5Pget_fill_value(dcpl, type, out) < 0 ? BKT_EHDF5 : 1;
}

/* Fill values of the list @p id, which the connector made: there too, bytes behind a string's NUL become
 * zeros. */
static int from_fill(struct bkt_vobj *in_file, hid_t id, hid_t file_type, struct bkt_dset *d,
                     struct bkt_err *err)
{
    H5D_fill_value_t status;
    if (H5Pfill_value_defined(id, &status) < 0)
        return failed(err);
    d->null_fill = status != H5D_FILL_VALUE_USER_DEFINED && bkt_type_has_strings(d->type);
    if (status != H5D_FILL_VALUE_USER_DEFINED)
        return BKT_OK;
    BKT_CLEANUP(bkt_freep) void *mem          = calloc(1, H5Tget_size(file_type));
    BKT_CLEANUP(bkt_hid_closep) hid_t scalar = H5Screate(H5S_SCALAR);
    BKT_NEED(err, mem && scalar >= 0);
    BKT_PASS(BKT_PASS_H5(err, H5Pget_fill_value(id, file_type, mem), "asking for the fill value"));
    struct bkt_conversion v = {in_file, d->type, file_type, file_type, H5P_DEFAULT};
    int rc = bkt_convert_store(&v, mem, 1, NULL, &d->fill, err);
    if (has_pointers(d->type, file_type))
        (void)H5Treclaim(file_type, scalar, H5P_DEFAULT, mem);
    d->has_fill = rc == BKT_OK;
    /* the fill value as it is stored; otherwise the list would differ from the model */
    if (rc == BKT_OK && bkt_has_tails(d->type) && !has_pointers(d->type, file_type))
        rc = bkt_convert_set_fill(id, in_file, d, file_type, err);
    return rc;
}

static int from_times(hid_t id, struct bkt_dset *d, struct bkt_err *err)
{
    H5D_fill_time_t  fill;
    H5D_alloc_time_t alloc;
    unsigned         unasked = 0;
    if (H5Pget_fill_time(id, &fill) < 0 || H5Pget_alloc_time(id, &alloc) < 0 ||
        H5Pget(id, ALLOC_DEFAULT, &unasked) < 0)
        return failed(err);
    d->fill_time  = fill == H5D_FILL_TIME_IFSET ? -1 : (int)fill;
    d->alloc_time = unasked ? -1 : (int)alloc;
    return BKT_OK;
}

/* ---- the whole list ---- */

/* H5Pencode2() writes a fill value's bytes as they are in memory, including pointers. */
static int encode_dcpl(hid_t list, hid_t file_type, struct bkt_object *o, struct bkt_err *err)
{
    const struct bkt_dset *d = &o->dset;
    BKT_CLEANUP(bkt_hid_closep) hid_t copy = H5Pcopy(list);
    if (copy < 0 ||
        (d->has_fill && has_pointers(d->type, file_type) && H5Pset_fill_value(copy, file_type, NULL) < 0))
        return failed(err);
    return encode(copy, o, err);
}

int bkt_convert_from_dcpl(struct bkt_vobj *in_file, hid_t dcpl, hid_t type, hid_t file_type, hid_t space,
                          struct bkt_object *o, struct bkt_err *err)
{
    struct bkt_dset *d = &o->dset;
    BKT_CLEANUP(bkt_hid_closep) hid_t list = H5I_INVALID_HID, again = H5I_INVALID_HID;
    const struct bkt_dset *source;
    bool                   kept = bkt_filters_marked(dcpl, type, &source);
    BKT_PASS(as_created(dcpl, d->type, file_type, space, kept, &list, err));
    BKT_PASS(object_properties(list, o, err));
    BKT_PASS(from_layout(list, &d->layout, err));
    BKT_PASS(bkt_convert_from_filters(list, &d->filters, &d->n_filters, err));
    if (source && source->n_filters != d->n_filters && /* HDF5's list has no filters that it doesn't have */
        bkt_dset_copy_filters(source, d) < 0)
        BKT_NOMEM(err);
    BKT_PASS(from_times(list, d, err));
    BKT_PASS(from_fill(in_file, list, file_type, d, err));
    BKT_PASS(bkt_convert_object_dcpl(in_file, o, file_type, &again, err));
    if (H5Pequal(list, again) > 0)
        return BKT_OK;
    return encode_dcpl(list, file_type, o, err);
}
