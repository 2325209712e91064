/* Virtual datasets (H5Pset_virtual): data that lie in other datasets, stored as virtual by a key of our
 * own in the schema.
 *
 * The mappings are part of the encoded creation list.  A source is a dataset of the same domain, of
 * another domain, or of a plain HDF5 file; the rule of external links decides which files may be opened
 * (bkt_file_external()).  As in HDF5, elements without a source, or with a missing source, have the fill
 * value.  If a source can't be read, the call fails. */
#ifndef BKT_VIRTUAL_H
#define BKT_VIRTUAL_H

#include "vol/core/vol.h"

static inline bool bkt_is_virtual(const struct bkt_vobj *dset)
{
    return dset->obj && dset->obj->kind == BKT_DATASET && dset->obj->dset.layout.user_cls == BKT_D_VIRTUAL;
}

/** The dataspace as it is now: unlimited mappings reach as far as their sources do (access properties
 *  H5Pset_virtual_view, H5Pset_virtual_printf_gap).  A new id. */
BKT_NODISCARD int bkt_virtual_space(struct bkt_vobj *dset, hid_t *out, struct bkt_err *err);

/** H5Dread() or H5Dwrite() on one virtual dataset. */
BKT_NODISCARD int bkt_virtual_transfer(const struct bkt_io *io, struct bkt_err *err);
/** HDF5's answers about the space that it takes. */
BKT_NODISCARD int bkt_virtual_get(struct bkt_vobj *dset, H5VL_dataset_get_args_t *args, struct bkt_err *err);

/** Call @p each for each existing source of a virtual dataset, with the selection that it fills; @p part
 * is borrowed.
 * @param blank  nothing of the source is stored, and its fill value is the virtual dataset's: as if it
 * were absent
 * @return BKT_OK; what @p each returns, if that is negative; the error that keeps a source from being
 * opened */
typedef int bkt_virtual_fn(hid_t part, bool blank, void *arg);
BKT_NODISCARD int bkt_virtual_each(struct bkt_vobj *dset, bkt_virtual_fn *each, void *arg,
                                   struct bkt_err *err);

/* ---- virtual_blank.c ---- */

/** Whether @p source, a dataset of HDF5's own, is blank (bkt_virtual_fn) for the virtual dataset.  @p type
 * and @p dcpl: the virtual dataset's type and creation list. */
bool bkt_virtual_is_blank(hid_t source, hid_t dcpl, hid_t type);
/** The same for one of our sources, or a source of HDF5's under our connector, that has no id. */
bool bkt_virtual_is_blank_object(struct bkt_vobj *o, hid_t dcpl, hid_t type);

/* ---- virtual_clip.c ---- */

/** A source may have become smaller than its mapped part; the elements that it lacks keep the fill value.
 * @param src, mem  selections of the same elements in the source and in memory; replaced by their existing
 * parts */
BKT_NODISCARD int bkt_virtual_clip(hid_t dset, hid_t *src, hid_t *mem, struct bkt_err *err);

/* ---- virtual_map.c: one mapping, and its sources ---- */

/** A regular hyperslab that may be unlimited in one dimension. */
struct bkt_slab {
    unsigned rank, dim; /* dim: the unlimited dimension */
    bool     unlimited;
    hsize_t dims[H5S_MAX_RANK], start[H5S_MAX_RANK], stride[H5S_MAX_RANK], count[H5S_MAX_RANK],
        block[H5S_MAX_RANK];
};
struct bkt_mapping {
    hid_t           vspace, srcspace; /* selections, as H5Pget_virtual_…() give them */
    struct bkt_slab v, src;           /* set if the selection is unlimited */
    char           *file, *dset;      /* as stored; with printf forms if printf_names is set */
    bool            printf_names;
};
/** All mappings of creation list @p dcpl; free with bkt_mappings_free().  BKT_EHDF5, BKT_ENOMEM. */
BKT_NODISCARD int bkt_mappings_load(hid_t dcpl, struct bkt_mapping **out, size_t *n, struct bkt_err *err);
void              bkt_mappings_free(struct bkt_mapping *m, size_t n);

/** The number of places that the slab selects along its unlimited dimension, if the extent there is @p
 *  extent. */
hsize_t bkt_slab_places(const struct bkt_slab *s, hsize_t extent);
/** The extent that holds that many places; @p trail: including the gap behind a full last block. */
hsize_t bkt_slab_extent(const struct bkt_slab *s, hsize_t places, bool trail);
/** The first @p places of the slab as a selection in a dataspace; -1 on failure.  The caller's (H5Sclose). */
hid_t bkt_slab_select(const struct bkt_slab *s, hsize_t places);
/** Block number @p i of the slab as a selection; -1 on failure. */
hid_t bkt_slab_block(const struct bkt_slab *s, hsize_t i);
/** The name with its %b made @p i and %% made %; NULL: out of memory (free()). */
char *bkt_mapping_name(const char *form, hsize_t i);

#endif
