/* Creation property lists -> HDF5's: encoded ones, property by property, and those of the model's objects. */
#include <stdlib.h>

#include "base/num.h"
#include "base/trace.h"
#include "vol/convert/filter_names.h"
#include "vol/convert/rebuild.h"

#define UNASKED                                                                                              \
    "alloc_time_state" /* HDF5's name of the property "the program didn't ask for an allocation time"; a     \
                          plain number */

static bool has(const struct bkt_h5plist *l, unsigned bits)
{
    return (l->has & bits) != 0;
}

/* ---- objects ---- */

static herr_t set_object(hid_t id, const struct bkt_h5plist *l)
{
    unsigned order = (l->flags & 4 ? H5P_CRT_ORDER_TRACKED : 0) | (l->flags & 8 ? H5P_CRT_ORDER_INDEXED : 0);
    unsigned compact, dense;
    if (has(l, BKT_H5_HAS_FLAGS) &&
        (H5Pset_attr_creation_order(id, order) < 0 || H5Pset_obj_track_times(id, (l->flags & 32) != 0) < 0))
        return -1;
    if (!has(l, BKT_H5_HAS_MAX_COMPACT | BKT_H5_HAS_MIN_DENSE) ||
        H5Pget_attr_phase_change(id, &compact, &dense) < 0)
        return has(l, BKT_H5_HAS_MAX_COMPACT | BKT_H5_HAS_MIN_DENSE) ? -1 : 0;
    if (has(l, BKT_H5_HAS_MAX_COMPACT))
        compact = l->max_compact;
    if (has(l, BKT_H5_HAS_MIN_DENSE))
        dense = l->min_dense;
    return H5Pset_attr_phase_change(id, compact, dense);
}

static herr_t set_stored_filters(hid_t id, const struct bkt_h5plist *l)
{
    for (size_t i = 0; i < l->n_filters; i++) {
        const struct bkt_h5filter *f = &l->filters[i];
        _Static_assert(sizeof(unsigned) == sizeof *f->cd, "parameters of the same kind");
        if (H5Pset_filter(id, (H5Z_filter_t)f->id, f->flags, f->n_cd, f->cd) < 0)
            return -1;
    }
    return 0;
}

/* ---- groups ---- */

static herr_t set_group(hid_t id, const struct bkt_h5plist *l)
{
    if (has(l, BKT_H5_HAS_GROUP) &&
        (H5Pset_local_heap_size_hint(id, l->heap_hint) < 0 ||
         H5Pset_link_phase_change(id, l->link_max_compact, l->link_min_dense) < 0 ||
         H5Pset_est_link_info(id, l->est_entries, l->est_name) < 0))
        return -1;
    return has(l, BKT_H5_HAS_ORDER) ? H5Pset_link_creation_order(id, l->link_order) : 0;
}

/* ---- files ---- */

static herr_t set_indexes(hid_t id, const struct bkt_h5plist *l)
{
    if (H5Pset_shared_mesg_nindexes(id, BKT_H5_INDEXES_MAX) < 0)
        return -1;
    for (unsigned i = 0; i < BKT_H5_INDEXES_MAX; i++) {
        unsigned flags, bytes;
        if (H5Pget_shared_mesg_index(id, i, &flags, &bytes) < 0)
            return -1;
        flags = has(l, BKT_H5_HAS_INDEX_TYPES) ? l->index_types[i] : flags;
        bytes = has(l, BKT_H5_HAS_INDEX_SIZES) ? l->index_sizes[i] : bytes;
        if (H5Pset_shared_mesg_index(id, i, flags, bytes) < 0)
            return -1;
    }
    return H5Pset_shared_mesg_nindexes(id, l->indexes);
}

static herr_t set_shared(hid_t id, const struct bkt_h5plist *l)
{
    unsigned most, least;
    if (set_indexes(id, l) < 0 || H5Pget_shared_mesg_phase_change(id, &most, &least) < 0)
        return -1;
    most = has(l, BKT_H5_HAS_LIST_MAX) ? l->list_max : most;
    least = has(l, BKT_H5_HAS_BTREE_MIN) ? l->btree_min : least;
    return H5Pset_shared_mesg_phase_change(id, most, least);
}

/* A strategy without a free-space manager doesn't take either setting: they are set with another strategy
 * first. */
static herr_t set_space(hid_t id, const struct bkt_h5plist *l)
{
    H5F_fspace_strategy_t strategy;
    hbool_t persist;
    hsize_t threshold;
    if (H5Pget_file_space_strategy(id, &strategy, &persist, &threshold) < 0)
        return -1;
    strategy = has(l, BKT_H5_HAS_STRATEGY) ? (H5F_fspace_strategy_t)l->strategy : strategy;
    persist = has(l, BKT_H5_HAS_PERSIST) ? l->persist : persist;
    threshold = has(l, BKT_H5_HAS_THRESHOLD) ? l->threshold : threshold;
    if (H5Pset_file_space_strategy(id, H5F_FSPACE_STRATEGY_FSM_AGGR, persist, threshold) < 0 ||
        H5Pset_file_space_strategy(id, strategy, persist, threshold) < 0)
        return -1;
    return has(l, BKT_H5_HAS_PAGE) ? H5Pset_file_space_page_size(id, l->page) : 0;
}

/* 0 leaves HDF5's own value. */
static herr_t set_file(hid_t id, const struct bkt_h5plist *l)
{
    if (has(l, BKT_H5_HAS_USERBLOCK) && H5Pset_userblock(id, l->userblock) < 0)
        return -1;
    if (H5Pset_sym_k(id, l->ranks[0], l->leaf) < 0 || (l->ranks[1] && H5Pset_istore_k(id, l->ranks[1]) < 0) ||
        H5Pset_sizes(id, l->addr, l->length) < 0)
        return -1;
    return set_shared(id, l) < 0 ? -1 : set_space(id, l);
}

/* ---- datasets ---- */

/* The extent that a selection of blocks would have by itself: {count * block, ...}, else {elements}.  If
 * the number of blocks is unlimited, each block has a source of its own ("%b"), and the extent is that of
 * one block. */
static hid_t extent_like(hid_t space)
{
    hsize_t start[BKT_MAX_RANK], stride[BKT_MAX_RANK], count[BKT_MAX_RANK], block[BKT_MAX_RANK],
        dims[BKT_MAX_RANK];
    int     rank    = H5Sget_simple_extent_ndims(space);
    bool regular = rank > 0 && H5Sget_select_type(space) == H5S_SEL_HYPERSLABS &&
                   H5Sis_regular_hyperslab(space) > 0 &&
                   H5Sget_regular_hyperslab(space, start, stride, count, block) >= 0;
    if (!regular) {
        rank    = 1;
        dims[0] = (hsize_t)H5Sget_select_npoints(space);
    }
    for (int d = 0; regular && d < rank; d++)
        if (count[d] == H5S_UNLIMITED || !bkt_mul_u64(count[d], block[d], &dims[d]))
            dims[d] = block[d] == H5S_UNLIMITED ? 1 : block[d];
    return H5Screate_simple(rank, dims, NULL);
}

/* In a file, the selection of a whole source has no extent: HDF5 takes it from the source when it reads.
 * HDF5's call for mappings needs an extent with as many elements as the other side selects. */
static int fit_whole_source(hid_t target, hid_t *source, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5I_INVALID_HID;
    if (H5Sget_select_type(*source) != H5S_SEL_ALL || H5Sget_select_npoints(target) == 0)
        return BKT_OK;
    id = extent_like(target);
    BKT_NEED_H5(err, id >= 0, "making the extent of a stored mapping's source");
    if (H5Sget_select_npoints(*source) == H5Sget_select_npoints(id))
        return BKT_OK;
    bkt_hid_closep(source);
    return bkt_hid_give(&id, source);
}

static int add_mapping(hid_t id, const struct bkt_h5mapping *m, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t source = H5I_INVALID_HID, target = H5I_INVALID_HID;
    BKT_PASS(bkt_rebuild_space(&m->source, &source, err));
    BKT_PASS(bkt_rebuild_space(&m->target, &target, err));
    BKT_PASS(fit_whole_source(target, &source, err));
    return BKT_PASS_H5(err, H5Pset_virtual(id, target, m->file, m->dset, source), "making a stored mapping");
}

static int set_stored_layout(hid_t id, const struct bkt_h5plist *l, struct bkt_err *err)
{
    static const H5D_layout_t layouts[] = {[BKT_D_COMPACT] = H5D_COMPACT,
                                           [BKT_D_CONTIGUOUS] = H5D_CONTIGUOUS,
                                           [BKT_D_CHUNKED] = H5D_CHUNKED,
                                           [BKT_D_VIRTUAL] = H5D_VIRTUAL};
    BKT_NEED_H5(
        err, (l->rank ? H5Pset_chunk(id, (int)l->rank, l->dims) : H5Pset_layout(id, layouts[l->layout])) >= 0,
        "making a stored layout");
    for (size_t i = 0; i < l->n_mappings; i++)
        BKT_TRY(err, add_mapping(id, &l->mappings[i], err), "mapping %zu", i);
    return BKT_OK;
}

/* The allocation time comes last, since setting a layout changes it. */
static herr_t set_times(hid_t id, const struct bkt_h5plist *l)
{
    unsigned unasked = l->unasked;
    if (has(l, BKT_H5_HAS_FILL) && (H5Pset_fill_time(id, (H5D_fill_time_t)l->fill.fill_time) < 0 ||
                                    H5Pset_alloc_time(id, (H5D_alloc_time_t)l->fill.alloc_time) < 0))
        return -1;
    return has(l, BKT_H5_HAS_UNASKED) ? H5Pset(id, UNASKED, &unasked) : 0;
}

static int set_fill(hid_t id, const struct bkt_h5plist *l, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5I_INVALID_HID;
    if (l->fill.type) {
        BKT_PASS(bkt_rebuild_type(l->fill.type, &type, err));
        BKT_FAIL_IF(err, H5Tget_size(type) != l->fill.value.len, BKT_EFORMAT,
                    "the encoded property list has a fill value of %zu bytes that its type does not fit",
                    l->fill.value.len);
    }
    if ((l->fill.type && H5Pset_fill_value(id, type, l->fill.value.ptr) < 0) ||
        (l->fill.undefined && H5Pset_fill_value(id, H5T_NATIVE_CHAR, NULL) < 0) || set_times(id, l) < 0)
        return bkt_h5err_capture(err, "making a stored fill value");
    return BKT_OK;
}

static int set_dataset(hid_t id, const struct bkt_h5plist *l, struct bkt_err *err)
{
    if (has(l, BKT_H5_HAS_LAYOUT))
        BKT_PASS(set_stored_layout(id, l, err));
    BKT_PASS(set_fill(id, l, err));
    for (size_t i = 0; i < l->n_files; i++)
        BKT_NEED_H5(err,
                    H5Pset_external(id, l->files[i].name, (off_t)l->files[i].offset,
                                    l->files[i].size == BKT_UNLIMITED ? H5F_UNLIMITED : l->files[i].size) >=
                        0,
                    "making a stored list of external files");
    return !has(l, BKT_H5_HAS_MINIMIZE) || H5Pset_dset_no_attrs_hint(id, l->minimize) >= 0
               ? BKT_OK
               : bkt_h5err_capture(err, "making a stored creation property list");
}

/* ---- the list ---- */

/* Set the properties of @p l that the class has.  A file's list includes a group's properties; a group's
 * list has none of a file's. */
static int set_properties(hid_t id, hid_t plist_class, const struct bkt_h5plist *l, struct bkt_err *err)
{
    bool groups = l->cls == BKT_H5_GROUP_LIST || l->cls == BKT_H5_FILE_LIST;
    if (set_object(id, l) < 0 || set_stored_filters(id, l) < 0 ||
        (groups && H5Pisa_class(id, H5P_GROUP_CREATE) > 0 && set_group(id, l) < 0) ||
        (l->cls == BKT_H5_FILE_LIST && H5Pequal(plist_class, H5P_FILE_CREATE) > 0 && set_file(id, l) < 0))
        return bkt_h5err_capture(err, "making a stored creation property list");
    return l->cls == BKT_H5_DATASET_LIST ? set_dataset(id, l, err) : BKT_OK;
}

int bkt_rebuild_plist(const struct bkt_h5plist *l, hid_t plist_class, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5Pcreate(plist_class);
    BKT_NEED_H5(err, id >= 0, "making a creation property list");
    BKT_PASS(set_properties(id, plist_class, l, err));
    return bkt_hid_give(&id, out);
}

/* The creation list of the dataset @p d; plugins' filters have the names in @p d (filter_names.c). */
static int rebuild_dcpl(const struct bkt_h5plist *l, const struct bkt_dset *d, hid_t *out,
                        struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5I_INVALID_HID, named = H5I_INVALID_HID;
    BKT_PASS(bkt_rebuild_plist(l, H5P_DATASET_CREATE, &id, err));
    BKT_PASS(bkt_filters_named(id, d, &named, err));
    if (named < 0) {
        return bkt_hid_give(&id, out);
    }
    struct bkt_h5plist rest = *l; /* its pointers are borrowed */
    rest.n_filters = 0;
    BKT_PASS(set_properties(named, H5P_DATASET_CREATE, &rest, err));
    return bkt_hid_give(&named, out);
}

int bkt_rebuild_encoded_dcpl(const struct bkt_buf *b, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_h5plist_fini) struct bkt_h5plist l = {.has = 0};
    BKT_PASS(bkt_h5plist_parse(b->ptr, b->len, &l, err));
    BKT_FAIL_IF(err, l.cls != BKT_H5_DATASET_LIST, BKT_EFORMAT,
                "the encoded property list is not a dataset's creation list");
    return bkt_rebuild_plist(&l, H5P_DATASET_CREATE, out, err);
}

/* ---- all encodings of an object ---- */

static int check_type(const struct bkt_type *t, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5I_INVALID_HID;
    return bkt_convert_type(t, &id, err);
}

static hid_t class_of(const struct bkt_h5plist *l)
{
    if (l->cls == BKT_H5_DATASET_LIST)
        return H5P_DATASET_CREATE;
    if (l->cls == BKT_H5_DATATYPE_LIST)
        return H5P_DATATYPE_CREATE;
    return l->cls == BKT_H5_FILE_LIST ? H5P_FILE_CREATE : H5P_GROUP_CREATE;
}

static int check_list(const struct bkt_object *o, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_h5plist_fini) struct bkt_h5plist l = {.has = 0};
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5I_INVALID_HID;
    bool found;
    BKT_PASS(bkt_h5plist_of(o, &l, &found, err));
    if (!found)
        return BKT_OK;
    return bkt_rebuild_plist(&l, class_of(&l), &id, err);
}

int bkt_rebuild_check(const struct bkt_object *o, struct bkt_err *err)
{
    const struct bkt_type *own = o->kind == BKT_DATASET    ? o->dset.type
                                 : o->kind == BKT_DATATYPE ? o->type
                                                           : NULL;
    if (own)
        BKT_TRY(err, check_type(own, err), "type");
    for (size_t i = 0; i < o->attrs.n; i++)
        BKT_TRY(err, check_type(o->attrs.v[i].type, err), "attribute %s", o->attrs.v[i].name);
    return check_list(o, err);
}

/* ---- lists of the model's objects, as the program that made them set their properties ---- */

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

/* Rebuild the list from its stored encoding (H5Pencode2()); *out stays invalid without an encoding. */
static int encoded_list(const struct bkt_object *obj, hid_t plist_class, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_h5plist_fini) struct bkt_h5plist l = {.has = 0};
    bool found;
    BKT_PASS(bkt_h5plist_of(obj, &l, &found, err));
    if (!found)
        return BKT_OK;
    return obj->kind == BKT_DATASET ? rebuild_dcpl(&l, &obj->dset, out, err)
                                    : bkt_rebuild_plist(&l, plist_class, out, err);
}

int bkt_convert_object_ocpl(const struct bkt_object *obj, hid_t plist_class, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5I_INVALID_HID;
    BKT_PASS(encoded_list(obj, plist_class, &id, err));
    if (id >= 0) {
        return bkt_hid_give(&id, out);
    }
    id = H5Pcreate(plist_class);
    BKT_NEED_H5(err, id >= 0 && set_object_properties(id, obj) >= 0, "making a creation property list");
    if (obj->kind == BKT_GROUP && obj->track_order > 0 &&
        H5Pset_link_creation_order(id, (unsigned)obj->track_order) < 0)
        return bkt_h5err_capture(err, "setting the order of links");
    return bkt_hid_give(&id, out);
}

/* Chunk options, which no encoded list contains */
static herr_t set_chunk_opts(hid_t id, const struct bkt_layout *l)
{
    unsigned known = l->chunk_opts & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS;
    return known && H5Pget_layout(id) == H5D_CHUNKED ? H5Pset_chunk_opts(id, known) : 0;
}

static herr_t set_layout(hid_t id, const struct bkt_dset *d)
{
    const struct bkt_layout *l = &d->layout;
    switch (l->user_cls) {
        case BKT_D_COMPACT:
            return H5Pset_layout(id, H5D_COMPACT);
        case BKT_D_CHUNKED:
        case BKT_D_CHUNKED_REF:
        case BKT_D_CHUNKED_REF_INDIRECT:
            if (d->space.cls != BKT_S_SIMPLE || l->user_rank == 0)
                return 0;
            return H5Pset_chunk(id, (int)l->user_rank, l->user_dims) < 0 ? -1 : set_chunk_opts(id, l);
        default:
            return H5Pset_layout(id, H5D_CONTIGUOUS);
    }
}

/* ---- filters ---- */

struct cd {
    unsigned v[4];
    size_t   n;
};

/* The parameters of a filter that is listed without them. */
static struct cd cd_of(const struct bkt_filter_desc *f, size_t elem_size)
{
    switch (f->id) {
        case H5Z_FILTER_DEFLATE: /* 4 is the default of h5py and h5pyd */
            return (struct cd){{f->has_level && f->level <= 9 ? f->level : 4}, 1};
        case H5Z_FILTER_SHUFFLE: /* HDF5 adds the size when it creates a dataset */
            return (struct cd){{(unsigned)elem_size}, 1};
        case H5Z_FILTER_FLETCHER32:
        case H5Z_FILTER_NBIT:
            return (struct cd){.n = 0};
        case H5Z_FILTER_SZIP:
            return (struct cd){{f->coding >= 0 ? (unsigned)f->coding : H5_SZIP_NN_OPTION_MASK,
                                f->pixels_per_block > 0 ? (unsigned)f->pixels_per_block : 16,
                                (unsigned)f->bits_per_pixel, (unsigned)f->pixels_per_scanline},
                               f->bits_per_pixel < 0 || f->pixels_per_scanline < 0 ? 2 : 4};
        case H5Z_FILTER_SCALEOFFSET:
            return (struct cd){{f->scale_type >= 0 ? (unsigned)f->scale_type : H5Z_SO_INT,
                                f->scale_offset >= 0 ? (unsigned)f->scale_offset : 0},
                               2};
        default:
            return (struct cd){{f->level}, f->has_level};
    }
}

/* Filters of plugins are optional, so that a copy of the dataset can be written if the plugin is missing. */
static herr_t set_filter(hid_t id, const struct bkt_filter_desc *f, size_t elem_size)
{
    struct cd cd = cd_of(f, elem_size);
    bool optional = f->optional || f->id != H5Z_FILTER_FLETCHER32;
    unsigned flags = f->flags >= 0 ? (unsigned)f->flags : optional ? H5Z_FLAG_OPTIONAL : H5Z_FLAG_MANDATORY;
    return f->n_cd > 0 ? H5Pset_filter(id, f->id, flags, f->n_cd, f->cd)
                       : H5Pset_filter(id, f->id, flags, cd.n, cd.v);
}

/* A filter that this HDF5 lacks is left out.  The connector decodes it all the same, but h5diff, h5repack and
 * the like look at the list, and refuse to read data that seem unreadable. */
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

/* The property list takes a copy of the value, so the value is reclaimed. */
int bkt_convert_set_fill(hid_t id, struct bkt_vobj *in_file, const struct bkt_dset *d, hid_t file_type,
                         struct bkt_err *err)
{
    struct bkt_slice       value = {d->fill.ptr, d->fill.len};
    struct bkt_conversion v = {in_file, d->type, file_type, file_type, H5P_DEFAULT};
    BKT_CLEANUP(bkt_hid_closep) hid_t scalar = H5Screate(H5S_SCALAR);
    BKT_CLEANUP(bkt_freep) void *mem = calloc(1, H5Tget_size(file_type));

    BKT_NEED(err, scalar >= 0 && mem);
    BKT_TRY(err, bkt_convert_values(&v, &value, 1, mem, err), "fill value");
    herr_t rc = H5Pset_fill_value(id, file_type, mem);
    int    code = rc < 0 ? bkt_h5err_capture(err, "setting the fill value") : BKT_OK;
    if (d->type->is_var)
        (void)H5Treclaim(file_type, scalar, H5P_DEFAULT, mem);
    return code;
}

static int make_dcpl(const struct bkt_object *obj, hid_t file_type, hid_t *out, struct bkt_err *err)
{
    const struct bkt_dset *d = &obj->dset;
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5Pcreate(H5P_DATASET_CREATE);
    BKT_NEED_H5(err,
                id >= 0 && set_object_properties(id, obj) >= 0 && set_layout(id, d) >= 0 &&
                    set_filters(id, d, file_type) >= 0,
                "making a dataset creation property list");
    /* With the default fill value, HDF5 turns "if set" into "on allocation" when it creates variable-length
     * data. */
    int fill_time = d->fill_time;
    if (d->type->is_var && !d->has_fill && (fill_time < 0 || fill_time == H5D_FILL_TIME_IFSET))
        fill_time = H5D_FILL_TIME_ALLOC;
    if ((fill_time >= 0 && H5Pset_fill_time(id, (H5D_fill_time_t)fill_time) < 0) ||
        (d->alloc_time >= 0 && H5Pset_alloc_time(id, (H5D_alloc_time_t)d->alloc_time) < 0))
        return bkt_h5err_capture(err, "setting fill and allocation time");
    return bkt_hid_give(&id, out);
}

/* An encoded list contains the fill value, unless the value has pointers (plist_from_h5.c). */
int bkt_convert_object_dcpl(struct bkt_vobj *in_file, const struct bkt_object *obj, hid_t file_type,
                            hid_t *out, struct bkt_err *err)
{
    const struct bkt_dset *d = &obj->dset;
    BKT_CLEANUP(bkt_hid_closep) hid_t id = H5I_INVALID_HID;
    BKT_PASS(encoded_list(obj, H5P_DATASET_CREATE, &id, err));
    bool encoded = id >= 0, pointers = d->type->is_var || H5Tdetect_class(file_type, H5T_REFERENCE) > 0;
    if (!encoded)
        BKT_PASS(make_dcpl(obj, file_type, &id, err));
    else if (set_chunk_opts(id, &d->layout) < 0)
        return bkt_h5err_capture(err, "making a dataset creation property list");
    if (d->has_fill && d->type->cls != BKT_T_REGREF && (!encoded || pointers))
        BKT_PASS(bkt_convert_set_fill(id, in_file, d, file_type, err));
    return bkt_hid_give(&id, out);
}

int bkt_convert_dcpl(struct bkt_vobj *dset, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t file_type = H5I_INVALID_HID;
    BKT_PASS(bkt_convert_file_type(dset, dset->obj->dset.type, &file_type, err));
    return bkt_convert_object_dcpl(dset, dset->obj, file_type, out, err);
}
