/* Datasets whose elements lie in the raw files that H5Pset_external() names.
 *
 * HDF5's layout of these files is their only description.  So for a domain in a folder of this machine
 * HDF5's own code reads and writes them.  It does so through a dataset of the same type and extent in a
 * file in memory, made for the call.  Names count from the working folder, or begin with the prefix of
 * H5Pset_efile_prefix() or HDF5_EXTFILE_PREFIX ("${ORIGIN}": the domain's own folder).
 *
 * If the domain or a raw file is elsewhere, names count from the domain's folder in its bucket and may be
 * URIs.  The rules of references hold (bkt_domain_resolve_uri(), setting `allow`).  Ranges are fetched,
 * and nothing can be written.  If none of its files exists when such a dataset is created, the dataset
 * holds its elements itself. */
#pragma once

#include "vol/core/vol.h"

static inline bool bkt_is_external(const struct bkt_vobj *dset)
{
    return dset->obj && dset->obj->kind == BKT_DATASET && dset->obj->dset.layout.external;
}

/** Whether the elements of a dataset that is made at @p at lie in the files that its creation list names.
 *  Elements with pointers never do: the data behind the pointers would have no place.  A dataset elsewhere
 *  whose files are all absent holds its elements itself, so that a program which writes them finds them
 *  again. */
bool bkt_external_wanted(const struct bkt_vobj *at, hid_t dcpl, hid_t dapl, const struct bkt_type *t,
                         hid_t file_type);
/** Datasets that are made from now on hold their elements themselves, whatever their lists say: for copies
 *  of datasets that lie elsewhere.  Returns the previous state. */
bool bkt_external_inside(bool on);

/** H5Dread() or H5Dwrite() on one such dataset. */
BKT_NODISCARD int bkt_external_transfer(const struct bkt_io *io, struct bkt_err *err);
/** H5Dread() of one dataset of a plain HDF5 file that isn't on this machine.
 *  @param plain  stands for it (plain_read.h); its file names the domain
 *  @param dset    the native connector's */
BKT_NODISCARD int bkt_external_read_plain(struct bkt_vobj *plain, hid_t dset, const struct bkt_io *io,
                                          struct bkt_err *err);
/** A raw file, and the part of it that holds the extent's elements; for a type with gaps the part may be
 *  longer. */
struct bkt_external_file {
    const char *name;  /* an absolute path where @p local, else a URI */
    bool        local; /* HDF5 itself reads it, whatever the setting `allow` */
    uint64_t    offset, size;
};
typedef int bkt_external_fn(const struct bkt_external_file *f, void *arg);
/** Call @p each for each raw file of a dataset whose layout says `external`.  The names are those for a
 *  program that sets no prefix of its own; HDF5_EXTFILE_PREFIX counts.
 *  @return BKT_OK; BKT_EFORMAT: it names none; what @p each returns, if that is negative */
BKT_NODISCARD int bkt_external_each(struct bkt_domain *dom, const struct bkt_object *obj,
                                    bkt_external_fn *each, void *arg, struct bkt_err *err);
/** The bytes that the elements of such a dataset take. */
BKT_NODISCARD int bkt_external_size(struct bkt_vobj *dset, uint64_t *out, struct bkt_err *err);
