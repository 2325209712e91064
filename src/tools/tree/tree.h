/* Copying a file's objects through HDF5's public calls, in either direction: an HDF5 file into a domain
 * (load), a domain into an HDF5 file (get).
 *
 * Groups, datasets, committed types (also those without links), links of every kind in their order,
 * attributes, comments and creation lists are made again.  An object with several links is made once.
 * References are followed in the source, and made again for the object's copy when all objects are there.
 * Data are handled by the `data` hook, or moved as stored chunks, or read and written in blocks. */
#ifndef TREE_H
#define TREE_H

#include <hdf5.h>
#include <stdbool.h>

#include "base/err.h"

struct tree_hooks {
    void *arg;
    /** Called before a dataset is made: both ids may be replaced, for another shape.  May be NULL. */
    int (*shape)(void *arg, hid_t src_dset, const char *path, hid_t *space, hid_t *dcpl, struct bkt_err *err);
    /** Called for the data of one dataset: 1: done, 0: copy them, negative: failed (BKT_EFORMAT: can't be
     *  read).  May be NULL. */
    int (*data)(void *arg, hid_t src_dset, hid_t dst_dset, const char *path, struct bkt_err *err);
    /** Called for something that could not be kept; @p what is a sentence without a full stop.  May be
     *  NULL. */
    void (*tell)(void *arg, const char *path, const char *what);
    /** Open a file that references lead into, by its name in them, with HDF5's native connector: *out is the
     *  caller's.  If that is refused or fails, the references become null references.  May be NULL. */
    int (*open_beside)(void *arg, const char *name, hid_t *out, struct bkt_err *err);
    /** Called when something unreadable was left out: an object, its attribute (@p attr) or another part.
     *  NULL: it is a failure instead. */
    void (*left_out)(void *arg, const char *path, const char *attr, const struct bkt_err *why);
    /** Called when an object is done, for progress.  May be NULL. */
    void (*done)(void *arg, const char *path, H5I_type_t type);
};
struct tree_options {
    struct tree_hooks hooks;
    bool              dst_native; /* dst is a file of HDF5's own: references are made as HDF5 stores them */
    bool              src_native;
    bool              merge;      /* existing objects of dst stay, and are reported; groups are filled up */
    bool              no_data;    /* --nodata */
};

/** Copy everything in @p src below @p dst (both open files or groups).  BKT_EFORMAT: something of the source
 *  can't be read. */
BKT_NODISCARD int tree_copy(hid_t src, hid_t dst, const struct tree_options *o, struct bkt_err *err);

#endif
