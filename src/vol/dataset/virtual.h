/* Virtual datasets (H5Pset_virtual): data that lie in other datasets.  One of the connector's own keys in the
 * schema stores them as virtual.
 *
 * The mappings are part of the encoded creation list.  A source is a dataset of the same domain, of
 * another domain, or of a plain HDF5 file; the rule of external links decides which files may be opened
 * (bkt_file_external()).  As in HDF5, elements without a source, or with a missing source, have the fill
 * value.  If a source can't be read, the call fails. */
#pragma once

#include "vol/core/vol.h"

static inline bool bkt_is_virtual(const struct bkt_vobj *dset)
{
    return dset->obj && dset->obj->kind == BKT_DATASET && dset->obj->dset.layout.user_cls == BKT_D_VIRTUAL;
}

/** The dataspace as it is now: unlimited mappings reach as far as their sources do (access properties
 *  H5Pset_virtual_view, H5Pset_virtual_printf_gap).  A new id. */
BKT_NODISCARD int bkt_virtual_space(struct bkt_vobj *dset, hid_t *out, struct bkt_err *err);

/** Whether H5Dset_extent() may make it @p dims large: BKT_EINVAL if a mapping would reach beyond. */
BKT_NODISCARD int bkt_virtual_holds(struct bkt_vobj *dset, const hsize_t *dims, struct bkt_err *err);

/** H5Dread() or H5Dwrite() on one virtual dataset. */
BKT_NODISCARD int bkt_virtual_transfer(const struct bkt_io *io, struct bkt_err *err);

/** Gets the selection that a source fills.
 *  @param part   borrowed
 *  @param blank  nothing of the source is stored, and its fill value is the virtual dataset's: as if it were
 *                absent */
typedef int bkt_virtual_fn(hid_t part, bool blank, void *arg);
/** Call @p each for each existing source of a virtual dataset.
 *  @return BKT_OK; what @p each returns, if that is negative; the error that keeps a source from being
 *          opened */
BKT_NODISCARD int bkt_virtual_each(struct bkt_vobj *dset, bkt_virtual_fn *each, void *arg,
                                   struct bkt_err *err);

/** Whether @p source, a dataset of HDF5's own, is blank (bkt_virtual_fn) for the virtual dataset.  @p type
 * and @p dcpl: the virtual dataset's type and creation list. */
bool bkt_virtual_is_blank(hid_t source, hid_t dcpl, hid_t type);

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

/* ---- sources in plain HDF5 files in stores, which one call reads together ---- */

/** Sources that stay open, so that their indexes need not be read again. */
struct bkt_kept_source {
    struct bkt_kept_source *next;
    char *file, *name; /* as the mapping names them */
    hid_t in;          /* the file */
    struct bkt_vobj o; /* a handle of the dataset, which is o.native_id */
};
struct bkt_kept_sources {
    struct bkt_kept_source *first;
    size_t n;
};
/** The open source of these names, borrowed until bkt_kept_close(); NULL: not open. */
struct bkt_kept_source *bkt_kept_find(const struct bkt_kept_sources *k, const char *file, const char *name);
/** Takes over the ids, also after a failure. */
BKT_NODISCARD int bkt_kept_add(struct bkt_kept_sources *k, const char *file, const char *name, hid_t in,
                               hid_t dset, struct bkt_err *err);
void bkt_kept_close(struct bkt_kept_sources *k); /* closes all; it is empty afterwards */

/** One virtual dataset, for one call. */
struct bkt_view {
    struct bkt_vobj *o;
    hid_t dcpl, dapl; /* dapl: borrowed, H5P_DEFAULT if the program gave none */
    struct bkt_mapping *maps;
    size_t n;
    /** Open a source; a new id.  BKT_OK with a negative id: the file or dataset is missing, which is not an
     * error. */
    int (*open)(const struct bkt_view *v, const char *file, const char *name, hid_t *out,
                struct bkt_err *err);
    /** Begin to open a file that open() is asked for soon; NULL: no file can be begun. */
    void (*expect)(const struct bkt_view *v, const char *file);
    void *arg; /* of these */
};
/** A source, and the matching selections in the virtual dataset and in the source. */
struct bkt_source_selection {
    hid_t outer, inner;
    const char *file, *name;
};
/** The action for each source. */
struct bkt_visit {
    int (*source)(const struct bkt_view *v, const struct bkt_visit *how, const struct bkt_source_selection *p,
                  struct bkt_err *err);
    void *arg;
};

/** Call before a view is made.  A source may be virtual itself: BKT_EFORMAT if too many calls are nested. */
BKT_NODISCARD int bkt_view_enter(struct bkt_err *err);
/** The view of a domain's virtual dataset.  bkt_view_fini(), also after a failure. */
BKT_NODISCARD int bkt_view_init(struct bkt_view *v, struct bkt_vobj *o, struct bkt_err *err);
/** Frees the view, and ends what bkt_view_enter() began. */
void bkt_view_fini(struct bkt_view *v);
/** The dataspace as it is now; a new id. */
BKT_NODISCARD int bkt_view_space(const struct bkt_view *v, hid_t *out, struct bkt_err *err);
/** Call the action for each source that a mapping leads to, for an extent of @p space. */
BKT_NODISCARD int bkt_view_visit(const struct bkt_view *v, const struct bkt_visit *how, hid_t space,
                                 struct bkt_err *err);

/** Read or write through a view (virtual_transfer.c).
 *  @param kept  sources that stay open, or NULL */
BKT_NODISCARD int bkt_view_transfer(const struct bkt_view *v, const struct bkt_io *io,
                                    struct bkt_kept_sources *kept, struct bkt_err *err);
