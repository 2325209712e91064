/* Datasets whose elements lie in the raw files that H5Pset_external() names.
 *
 * HDF5's layout of these files is their only description, so that for a domain in a folder of this machine HDF5's own code reads and
 * writes them: through a dataset of the same type and extent in a file in memory, made for the call.  Names count from the working
 * folder, or begin with the prefix of H5Pset_efile_prefix() or HDF5_EXTFILE_PREFIX ("${ORIGIN}": the domain's own folder).
 *
 * Where the domain or a raw file is elsewhere, names count from the domain's folder in its bucket, may be URIs, and the rules of
 * references hold (bkt_domain_resolve_uri(), setting `allow`): ranges are fetched, and nothing can be written.  Where none of its files
 * is there when it is made, a dataset holds its elements itself. */
#ifndef BKT_VOL_EXTERNAL_H
#define BKT_VOL_EXTERNAL_H

#include "vol.h"

static inline bool bkt_is_external(const struct bkt_vobj *dset)
{
    return dset->native_id < 0 && dset->obj->kind == BKT_DATASET && dset->obj->dset.layout.external;
}

/** Whether the elements of a dataset that is made at @p at lie in the files that its creation list names.  Those with pointers in them
 *  never do: what they point to would have no place.  Neither do those of a dataset elsewhere whose files are all absent: it holds
 *  its elements itself, so that a program which writes them finds them again. */
bool bkt_external_wanted(const struct bkt_vobj *at, hid_t dcpl, hid_t dapl, const struct bkt_type *t, hid_t file_type);
/** Datasets that are made from now on hold their elements themselves, whatever their lists say: copies of what lies elsewhere.
 *  Gives what was in force. */
bool bkt_external_inside(bool on);

/** H5Dread() or H5Dwrite() on one such dataset; the arguments are HDF5's.  @p buf is only read when @p write. */
BKT_NODISCARD int bkt_external_transfer(struct bkt_vobj *dset, bool write, hid_t mem_type, hid_t mem_space, hid_t file_space,
                                        hid_t dxpl, void *buf, struct bkt_err *err);
/** A raw file, and what of it holds the extent's elements; of a type with gaps it may be some more. */
struct bkt_external_file {
    const char *name;  /* an absolute path where @p local, else a URI */
    bool        local; /* HDF5 itself reads it, whatever the setting `allow` says */
    uint64_t    offset, size;
};
typedef int bkt_external_fn(const struct bkt_external_file *f, void *arg);
/** Each raw file of a dataset whose layout says `external`, as a program finds it that sets no prefix of its own; HDF5_EXTFILE_PREFIX
 *  counts.
 * @return BKT_OK; BKT_EFORMAT: it names none; what @p each returns, if that is negative */
BKT_NODISCARD int bkt_external_each(struct bkt_domain *dom, const struct bkt_object *obj, bkt_external_fn *each, void *arg,
                                    struct bkt_err *err);
/** What HDF5 tells of the space that such a dataset takes. */
BKT_NODISCARD int bkt_external_get(struct bkt_vobj *dset, H5VL_dataset_get_args_t *args, struct bkt_err *err);

#endif
