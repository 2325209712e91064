/* Creation property lists, as the program that made the object set them. */
#include <stdlib.h>
#include <string.h>

#include "vol/convert/rebuild.h"
#include "base/trace.h"

static herr_t set_object_properties(hid_t id, const struct bkt_object *obj)
{
    if (obj->attr_track_order > 0 && H5Pset_attr_creation_order(id, (unsigned)obj->attr_track_order) < 0)
        return -1;
    if (obj->attr_max_compact >= 0 && obj->attr_min_dense >= 0 &&
        obj->attr_min_dense <= obj->attr_max_compact &&
        H5Pset_attr_phase_change(id, (unsigned)obj->attr_max_compact, (unsigned)obj->attr_min_dense) < 0)
        return -1;
    return obj->track_times >= 0 ? H5Pset_obj_track_times(id, obj->track_times > 0) : 0;
}

/* Rebuild the list from its stored encoding (H5Pencode2()); *out stays invalid if there is none. */
static int encoded_list(const struct bkt_object *obj, hid_t plist_class, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_h5plist_fini) struct bkt_h5plist l = {.has = 0};
    bool found;
    BKT_PASS(bkt_h5plist_of(obj, &l, &found, err));
    return found ? bkt_rebuild_plist(&l, plist_class, out, err) : BKT_OK;
}

static int encoded_dcpl(const struct bkt_object *obj, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_h5plist_fini) struct bkt_h5plist l = {.has = 0};
    bool found;
    BKT_PASS(bkt_h5plist_of(obj, &l, &found, err));
    return found ? bkt_rebuild_dcpl(&l, &obj->dset, out, err) : BKT_OK;
}

int bkt_convert_object_ocpl(const struct bkt_object *obj, hid_t plist_class, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5I_INVALID_HID;
    BKT_PASS(encoded_list(obj, plist_class, &id, err));
    if (id >= 0) {
        *out = bkt_hid_take(&id);
        return BKT_OK;
    }
    id = H5Pcreate(plist_class);
    if (id < 0 || set_object_properties(id, obj) < 0)
        return bkt_h5err_capture(err, "making a creation property list");
    if (obj->kind == BKT_GROUP && obj->track_order > 0 &&
        H5Pset_link_creation_order(id, (unsigned)obj->track_order) < 0)
        return bkt_h5err_capture(err, "setting the order of links");
    *out = bkt_hid_take(&id);
    return BKT_OK;
}

int bkt_convert_gcpl(struct bkt_vobj *group, hid_t plist_class, hid_t *out, struct bkt_err *err)
{
    return bkt_convert_object_ocpl(group->obj, plist_class, out, err);
}

/* Chunk options, which no encoded list contains */
static herr_t set_chunk_opts(hid_t id, const struct bkt_layout *l)
{
    unsigned known = l->chunk_opts & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS;
    return known && H5Pget_layout(id) == H5D_CHUNKED ? H5Pset_chunk_opts(id, known) : 0;
}

static herr_t set_chunks(hid_t id, const struct bkt_layout *l, const hsize_t *dims)
{
    return H5Pset_chunk(id, (int)l->user_rank, dims) < 0 ? -1 : set_chunk_opts(id, l);
}

static herr_t set_layout(hid_t id, const struct bkt_dset *d)
{
    const struct bkt_layout *l = &d->layout;
    hsize_t dims[BKT_MAX_RANK];

    switch (l->user_cls) {
        case BKT_D_COMPACT:
            return H5Pset_layout(id, H5D_COMPACT);
        case BKT_D_CHUNKED:
        case BKT_D_CHUNKED_REF:
        case BKT_D_CHUNKED_REF_INDIRECT:
            if (d->space.cls != BKT_S_SIMPLE || l->user_rank == 0)
                return 0;
            for (unsigned i = 0; i < l->user_rank; i++)
                dims[i] = l->user_dims[i];
            return set_chunks(id, l, dims);
        default:
            return H5Pset_layout(id, H5D_CONTIGUOUS);
    }
}

/* ---- filters ---- */
struct cd {
    unsigned v[20];
    size_t   n;
};

static void deflate_values(const struct bkt_filter_desc *f, size_t elem_size, struct cd *cd)
{
    (void)elem_size;
    cd->v[cd->n++] = f->has_level && f->level <= 9 ? f->level : 4; /* the default of h5py and h5pyd */
}

/* HDF5 adds the element's size when a dataset is created, so created datasets show it. */
static void shuffle_values(const struct bkt_filter_desc *f, size_t elem_size, struct cd *cd)
{
    (void)f;
    cd->v[cd->n++] = (unsigned)elem_size;
}

static void szip_values(const struct bkt_filter_desc *f, size_t elem_size, struct cd *cd)
{
    (void)elem_size;
    cd->v[cd->n++] = f->coding >= 0 ? (unsigned)f->coding : H5_SZIP_NN_OPTION_MASK;
    cd->v[cd->n++] = f->pixels_per_block > 0 ? (unsigned)f->pixels_per_block : 16;
    if (f->bits_per_pixel < 0 || f->pixels_per_scanline < 0)
        return;
    cd->v[cd->n++] = (unsigned)f->bits_per_pixel;
    cd->v[cd->n++] = (unsigned)f->pixels_per_scanline;
}

static void scaleoffset_values(const struct bkt_filter_desc *f, size_t elem_size, struct cd *cd)
{
    (void)elem_size;
    cd->v[cd->n++] = f->scale_type >= 0 ? (unsigned)f->scale_type : H5Z_SO_INT;
    cd->v[cd->n++] = f->scale_offset >= 0 ? (unsigned)f->scale_offset : 0;
}

static void level_value(const struct bkt_filter_desc *f, size_t elem_size, struct cd *cd)
{
    (void)elem_size;
    if (f->has_level)
        cd->v[cd->n++] = f->level;
}

static void no_values(const struct bkt_filter_desc *f, size_t elem_size, struct cd *cd)
{
    (void)f, (void)elem_size, (void)cd;
}

static const struct {
    int      id;
    unsigned flags;
    void (*values)(const struct bkt_filter_desc *f, size_t elem_size, struct cd *cd);
} filter_rows[] = {
    {H5Z_FILTER_DEFLATE, H5Z_FLAG_OPTIONAL, deflate_values},
    {H5Z_FILTER_SHUFFLE, H5Z_FLAG_OPTIONAL, shuffle_values},
    {H5Z_FILTER_FLETCHER32, H5Z_FLAG_MANDATORY, no_values},
    {H5Z_FILTER_SZIP, H5Z_FLAG_OPTIONAL, szip_values},
    {H5Z_FILTER_NBIT, H5Z_FLAG_OPTIONAL, no_values},
    {H5Z_FILTER_SCALEOFFSET, H5Z_FLAG_OPTIONAL, scaleoffset_values},
};

/* Filters of plugins are optional, so that a copy of the dataset can be written if the plugin is missing. */
static herr_t set_filter(hid_t id, const struct bkt_filter_desc *f, size_t elem_size)
{
    struct cd cd    = {.n = 0};
    unsigned  flags = H5Z_FLAG_OPTIONAL;
    size_t    row   = 0;
    while (row < BKT_COUNT(filter_rows) && filter_rows[row].id != f->id)
        row++;
    if (f->flags >= 0)
        flags = (unsigned)f->flags;
    else if (row < BKT_COUNT(filter_rows))
        flags = f->optional ? H5Z_FLAG_OPTIONAL : filter_rows[row].flags;
    if (f->n_cd > 0)
        return H5Pset_filter(id, f->id, flags, f->n_cd, f->cd);
    (row < BKT_COUNT(filter_rows) ? filter_rows[row].values : level_value)(f, elem_size, &cd);
    return H5Pset_filter(id, f->id, flags, cd.n, cd.v);
}

/* A filter that this HDF5 lacks is left out.  We decode it all the same, but h5diff, h5repack and the like
 * look at the list, and refuse to read data that seem unreadable. */
static bool to_show(const struct bkt_filter_desc *f)
{
    bool known = f->id >= 0 && H5Zfilter_avail(f->id) > 0;
    if (!known)
        bkt_trace(BKT_TRACE_VOL, "filter %d '%s' is not available to HDF5, and left out of the property list",
                  f->id, f->name);
    return known;
}

static herr_t set_filters(hid_t id, const struct bkt_dset *d, hid_t file_type)
{
    for (size_t i = 0; i < d->n_filters; i++)
        if (to_show(&d->filters[i]) && set_filter(id, &d->filters[i], H5Tget_size(file_type)) < 0)
            return -1;
    return 0;
}

/* The property list takes a copy of the value, so our value is reclaimed. */
int bkt_convert_set_fill(hid_t id, struct bkt_vobj *in_file, const struct bkt_dset *d, hid_t file_type,
                         struct bkt_err *err)
{
    struct bkt_slice       value = {d->fill.ptr, d->fill.len};
    BKT_CLEANUP(bkt_hid_closep) hid_t scalar = H5Screate(H5S_SCALAR);
    BKT_CLEANUP(bkt_freep) void *mem = calloc(1, H5Tget_size(file_type));

    if (scalar < 0 || !mem)
        BKT_NOMEM(err);
    BKT_TRY(err, bkt_convert_values(in_file, d->type, file_type, &value, 1, file_type, mem, H5P_DEFAULT, err),
            "fill value");
    herr_t rc = H5Pset_fill_value(id, file_type, mem);
    int    code = rc < 0 ? bkt_h5err_capture(err, "setting the fill value") : BKT_OK;
    if (d->type->is_var)
        (void)H5Treclaim(file_type, scalar, H5P_DEFAULT, mem);
    return code;
}

static bool has_references(hid_t type) { return H5Tdetect_class(type, H5T_REFERENCE) > 0; }

static int make_dcpl(const struct bkt_object *obj, hid_t file_type, hid_t *out, struct bkt_err *err)
{
    const struct bkt_dset *d = &obj->dset;
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5Pcreate(H5P_DATASET_CREATE);
    if (id < 0 || set_object_properties(id, obj) < 0 || set_layout(id, d) < 0 ||
        set_filters(id, d, file_type) < 0)
        return bkt_h5err_capture(err, "making a dataset creation property list");
    /* With the default fill value, HDF5 turns "if set" into "on allocation" when it creates variable-length
     * data. */
    int fill_time = d->fill_time;
    if (d->type->is_var && !d->has_fill && (fill_time < 0 || fill_time == H5D_FILL_TIME_IFSET))
        fill_time = H5D_FILL_TIME_ALLOC;
    if ((fill_time >= 0 && H5Pset_fill_time(id, (H5D_fill_time_t)fill_time) < 0) ||
        (d->alloc_time >= 0 && H5Pset_alloc_time(id, (H5D_alloc_time_t)d->alloc_time) < 0))
        return bkt_h5err_capture(err, "setting fill and allocation time");
    *out = bkt_hid_take(&id);
    return BKT_OK;
}

/* An encoded list contains the fill value, unless the value has pointers (plist_from_h5.c). */
int bkt_convert_object_dcpl(struct bkt_vobj *in_file, const struct bkt_object *obj, hid_t file_type,
                            hid_t *out, struct bkt_err *err)
{
    const struct bkt_dset *d = &obj->dset;
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5I_INVALID_HID;
    BKT_PASS(encoded_dcpl(obj, &id, err));
    bool encoded = id >= 0, pointers = d->type->is_var || has_references(file_type);
    if (!encoded)
        BKT_PASS(make_dcpl(obj, file_type, &id, err));
    else if (set_chunk_opts(id, &d->layout) < 0)
        return bkt_h5err_capture(err, "making a dataset creation property list");
    if (d->has_fill && d->type->cls != BKT_T_REGREF && (!encoded || pointers))
        BKT_PASS(bkt_convert_set_fill(id, in_file, d, file_type, err));
    *out = bkt_hid_take(&id);
    return BKT_OK;
}

int bkt_convert_dcpl(struct bkt_vobj *dset, hid_t *out, struct bkt_err *err)
{
    hid_t file_type;
    BKT_PASS(bkt_convert_file_type(dset, &file_type, err));
    return bkt_convert_object_dcpl(dset, dset->obj, file_type, out, err);
}
