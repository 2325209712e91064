/* load --link --flatten-vds: from a virtual dataset's mappings to a chunk table. */
#include "tools/load/flatten_vds.h"

#include <stdlib.h>

#include "base/num.h"
#include "tools/source/hdf5_glue.h"
#include "vol/convert/convert.h"
#include "vol/copy/copier.h"
#include "vol/core/hid.h"
#include "vol/dataset/virtual.h"

void load_flat_free(struct load_flat *f)
{
    if (!f)
        return;
    source_close(f->src);
    bkt_hid_closep(&f->made);
    bkt_strs_fini(&f->names);
    free(f->rows);
    free(f->file);
    free(f);
}

/* ---- mappings ---- */

struct maps {
    struct bkt_mapping *v;
    size_t              n;
};
static void maps_fini(struct maps *m) { bkt_mappings_free(m->v, m->n); }

struct origin { /* a mapping's source */
    char *file, *name;
    hid_t dset;
};

static void origin_fini(struct origin *o)
{
    free(o->file);
    free(o->name);
    bkt_hid_closep(&o->dset);
}

/* Open source number @p i.  @p o: origin_fini(), whatever is returned. */
static int open_source(struct load_flat *f, const struct bkt_mapping *m, hsize_t i, struct origin *o,
                       struct bkt_err *err)
{
    *o = (struct origin){bkt_mapping_name(m->file, i), bkt_mapping_name(m->dset, i), H5I_INVALID_HID};
    BKT_NEED(err, o->file && o->name);
    BKT_PASS(interrupt_check(err));
    BKT_PASS(load_flat_open(f, o->file, err));
    o->dset = H5Dopen2((f->src ? f->src : f->l->src)->file, o->name, H5P_DEFAULT);
    (void)H5Eclear2(H5E_DEFAULT);
    BKT_FAIL_IF(err, o->dset < 0, BKT_ENOENT, "its source %s in %s does not exist", o->name, o->file);
    return BKT_OK;
}

/* The places of a source without end. */
static int endless_places(const struct bkt_mapping *m, hid_t dset, hsize_t *n, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5Dget_space(dset);
    hsize_t dims[BKT_MAX_RANK];
    BKT_FAIL_IF(err,
                !m->src.unlimited || space < 0 || H5Sget_simple_extent_ndims(space) != (int)m->src.rank ||
                    H5Sget_simple_extent_dims(space, dims, NULL) < 0,
                BKT_EUNSUP, "another rank than its mapping");
    *n = bkt_slab_places(&m->src, dims[m->src.dim]);
    return BKT_OK;
}

static int add_numbered(struct load_flat *f, const struct bkt_mapping *m, struct bkt_err *err)
{
    hsize_t n = m->v.block[m->v.dim] ? bkt_slab_places(&m->v, f->dims[m->v.dim]) / m->v.block[m->v.dim] : 0;
    for (hsize_t i = 0; i < n; i++) {
        BKT_CLEANUP(origin_fini) struct origin o = {.dset = H5I_INVALID_HID};
        BKT_CLEANUP(bkt_hid_closep) hid_t block = bkt_slab_block(&m->v, i);
        if (block < 0)
            return h5_fail(err, "selecting a block of a virtual dataset");
        BKT_PASS(open_source(f, m, i, &o, err));
        BKT_TRY(err, load_flat_add(f, block, m->srcspace, o.dset, err), "%s in %s", o.name, o.file);
    }
    return BKT_OK;
}

static int add_endless(struct load_flat *f, const struct bkt_mapping *m, hid_t dset, struct bkt_err *err)
{
    hsize_t n;
    BKT_PASS(endless_places(m, dset, &n, err));
    n = bkt_min_u64(n, bkt_slab_places(&m->v, f->dims[m->v.dim]));
    if (n == 0)
        return BKT_OK;
    BKT_CLEANUP(bkt_hid_closep) hid_t v = bkt_slab_select(&m->v, n), s = bkt_slab_select(&m->src, n);
    return v < 0 || s < 0 ? h5_fail(err, "selecting a part of a virtual dataset")
                          : load_flat_add(f, v, s, dset, err);
}

static int add_mapping(struct load_flat *f, const struct bkt_mapping *m, struct bkt_err *err)
{
    BKT_CLEANUP(origin_fini) struct origin o = {.dset = H5I_INVALID_HID};
    if (m->printf_names)
        return add_numbered(f, m, err);
    BKT_PASS(open_source(f, m, 0, &o, err)); /* %% is % */
    BKT_TRY(err,
            m->v.unlimited ? add_endless(f, m, o.dset, err)
                           : load_flat_add(f, m->vspace, m->srcspace, o.dset, err),
            "%s in %s", o.name, o.file);
    return BKT_OK;
}

/* Length of a mapping without end, by its existing sources.  HDF5 also knows it if it can open the sources by
 * itself, which it can't in a store. */
static int reach(struct load_flat *f, const struct bkt_mapping *m, struct bkt_err *err)
{
    hsize_t *dim = &f->dims[m->v.dim], places, block = m->v.block[m->v.dim];
    for (hsize_t i = 0; m->printf_names; i++) {
        BKT_CLEANUP(origin_fini) struct origin o = {.dset = H5I_INVALID_HID};
        struct bkt_err why = {.n = 0};
        int rc = open_source(f, m, i, &o, &why);
        if (rc == BKT_ENOMEM || rc == BKT_ECANCEL)
            return bkt_err_copy(err, rc, &why);
        if (rc < 0)
            return BKT_OK;
        *dim = bkt_max_u64(*dim, m->v.start[m->v.dim] + i * m->v.stride[m->v.dim] + block);
    }
    BKT_CLEANUP(origin_fini) struct origin o = {.dset = H5I_INVALID_HID};
    BKT_PASS(open_source(f, m, 0, &o, err));
    BKT_PASS(endless_places(m, o.dset, &places, err));
    *dim = bkt_max_u64(*dim, bkt_slab_extent(&m->v, places, false));
    return BKT_OK;
}

static int plan(struct load_flat *f, hid_t src, struct bkt_err *err)
{
    BKT_CLEANUP(maps_fini) struct maps maps  = {0};
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5Dget_space(src);
    int rank = space < 0 ? -1 : H5Sget_simple_extent_dims(space, f->dims, f->max);
    if (rank < 0)
        return h5_fail(err, "asking for an extent");
    f->rank = (unsigned)rank;
    BKT_FAIL_IF(err, rank == 0, BKT_EUNSUP, "it has no dimension");
    BKT_FAIL_IF(err, bkt_convert_has_pointers(f->type), BKT_EUNSUP, "its values can't be referred to");
    BKT_PASS(bkt_mappings_load(f->dcpl, &maps.v, &maps.n, err));
    for (size_t i = 0; i < maps.n; i++)
        if (maps.v[i].v.unlimited && maps.v[i].v.dim < f->rank)
            BKT_PASS(reach(f, &maps.v[i], err));
    for (size_t i = 0; i < maps.n; i++)
        BKT_PASS(add_mapping(f, &maps.v[i], err));
    BKT_FAIL_IF(err, !f->known, BKT_EUNSUP, "nothing is mapped");
    if (f->n_rows)
        qsort(f->rows, f->n_rows, sizeof *f->rows, bkt_by_u64);
    for (size_t i = 1; i < f->n_rows; i++)
        BKT_FAIL_IF(err, f->rows[i].index == f->rows[i - 1].index, BKT_EUNSUP, "two mappings overlap");
    return BKT_OK;
}

/* Takes chunks and filters from the sources, all else from the virtual dataset. */
static int make_list(struct load_flat *f, struct bkt_err *err)
{
    unsigned                     order, most, least;
    hbool_t                      times;
    H5D_fill_value_t             kind;
    BKT_CLEANUP(bkt_freep) void *fill = calloc(1, H5Tget_size(f->type));
    BKT_NEED(err, fill);
    if (H5Pset_chunk(f->made, (int)f->rank, f->cdims) < 0 || H5Pset_chunk_opts(f->made, 0) < 0 ||
        H5Pget_attr_creation_order(f->dcpl, &order) < 0 || H5Pset_attr_creation_order(f->made, order) < 0 ||
        H5Pget_attr_phase_change(f->dcpl, &most, &least) < 0 ||
        H5Pset_attr_phase_change(f->made, most, least) < 0 || H5Pget_obj_track_times(f->dcpl, &times) < 0 ||
        H5Pset_obj_track_times(f->made, times) < 0 || H5Pfill_value_defined(f->dcpl, &kind) < 0)
        return h5_fail(err, "making a creation list");
    if (kind == H5D_FILL_VALUE_UNDEFINED)
        return H5Pset_fill_value(f->made, f->type, NULL) < 0 ? h5_fail(err, "setting the fill value")
                                                             : BKT_OK;
    if (H5Pget_fill_value(f->dcpl, f->type, fill) < 0 || H5Pset_fill_value(f->made, f->type, fill) < 0)
        return h5_fail(err, "setting the fill value");
    return BKT_OK;
}

static void report_why(struct load_job *l, const char *path, const struct bkt_err *why)
{
    progress_note(l->progress, "%s: stays virtual: %s%s%s", path, why->n > 1 ? why->frame[1].msg : "",
                  why->n > 1 ? ": " : "", why->n ? why->frame[0].msg : "unknown");
}

int load_flat_shape(struct load_job *l, hid_t src, const char *path, hid_t *space, hid_t *dcpl,
                    struct bkt_err *err)
{
    struct bkt_err               why  = {.n = 0};
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Dget_type(src);
    if (H5Pget_layout(*dcpl) != H5D_VIRTUAL)
        return BKT_OK;
    struct load_flat *f = calloc(1, sizeof *f);
    BKT_NEED(err, f);
    *f     = (struct load_flat){.l = l, .type = type, .dcpl = *dcpl, .made = H5I_INVALID_HID};
    int rc = plan(f, src, &why);
    rc = rc ? rc : make_list(f, &why);
    if (rc == BKT_OK && H5Sset_extent_simple(*space, (int)f->rank, f->dims, f->max) < 0)
        rc = h5_fail(&why, "setting an extent");
    f->type = f->dcpl = H5I_INVALID_HID; /* they were borrowed */
    if (rc == BKT_OK) {
        bkt_hid_closep(dcpl);
        *dcpl   = f->made;
        f->made = H5I_INVALID_HID;
        l->flat = f;
        return BKT_OK;
    }
    load_flat_free(f);
    if (rc == BKT_ENOMEM || rc == BKT_ECANCEL)
        return bkt_err_copy(err, rc, &why);
    report_why(l, path, &why);
    return BKT_OK;
}

/* ---- the table ---- */

static int make_table(struct load_job *l, struct load_flat *f, hid_t dst, struct bkt_err *err)
{
    struct load_rows rows = {f->n_rows, load_row_at, f->rows};
    uint64_t         max[BKT_MAX_RANK];
    for (unsigned i = 0; i < f->rank; i++)
        max[i] = f->max[i] == H5S_UNLIMITED ? BKT_UNLIMITED : bkt_ceil_div(f->max[i], f->cdims[i]);
    if (f->n_rows == 0)
        return BKT_OK; /* no source has stored chunks: so it is here */
    struct load_grid g = {f->rank, f->cdims, f->grid, max};
    return load_link_table(l, dst, &g, &rows, err);
}

int load_flat_link(struct load_job *l, hid_t dst, const char *path, struct bkt_err *err)
{
    struct load_flat            *f    = l->flat;
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Dget_type(dst);
    const struct bkt_object *o = bkt_vobj_of_id(dst)->obj;
    bool other = o->dset.type->is_var || o->dset.type->size != H5Tget_size(type);
    l->flat    = NULL;
    if (other)
        load_report(l, path, "copied: a domain stores this type in another form");
    int rc = other ? BKT_OK : make_table(l, f, dst, err);
    if (rc == BKT_OK && !other) {
        l->n_linked++;
        progress_add(l->progress, 0, f->n_rows, 0);
    }
    load_flat_free(f);
    return rc < 0 ? rc : !other;
}
