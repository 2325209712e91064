/* Copies objects by HDF5's public calls, between domains and plain files in either direction: for H5Ocopy
 * (copy.h), and for `h5bucket load` and `get`.
 *
 * Groups, datasets, committed types (also those without links), links of every kind in their order,
 * attributes, comments and creation lists are made again.  An object with several links is made once.  Data
 * are handled by the `data` hook, or moved as stored chunks, or read and written in blocks. */
#pragma once

#include <hdf5.h>
#include <stdbool.h>

#include "base/bytes.h"
#include "base/err.h"

struct bkt_copier_hooks {
    void *arg;
    /** Record the failed HDF5 call of the moment; the result is its code.  @p what: the attempted action.
     *  NULL: the message names the copy that H5Ocopy makes. */
    int (*fail)(struct bkt_err *err, const char *what);
    /** Called between steps: negative ends the copy.  May be NULL. */
    int (*check)(struct bkt_err *err);
    /** Called before a dataset is made: both ids may be replaced, for another shape.  May be NULL. */
    int (*shape)(void *arg, hid_t src_dset, const char *path, hid_t *space, hid_t *dcpl, struct bkt_err *err);
    /** Called for the data of one dataset: 1: done, 0: copy them, negative: failed (BKT_EFORMAT: can't be
     *  read).  May be NULL. */
    int (*data)(void *arg, hid_t src_dset, hid_t dst_dset, const char *path, struct bkt_err *err);
    /** Called for a part that could not be kept; @p what is a sentence without a full stop.  May be NULL. */
    void (*report)(void *arg, const char *path, const char *what);
    /** Open a file that references lead into, by its name in them, with HDF5's native connector: *out is the
     *  caller's.  If that is refused or fails, the references become null references.  May be NULL. */
    int (*open_beside)(void *arg, const char *name, hid_t *out, struct bkt_err *err);
    /** Make a file access list of the connector, for that file.  NULL without open_beside. */
    int (*connector)(const char *info, hid_t *fapl, struct bkt_err *err);
    /** Called when an unreadable part was left out: an object, its attribute (@p attr) or another part.
     *  NULL: an unreadable part is a failure. */
    void (*left_out)(void *arg, const char *path, const char *attr, const struct bkt_err *why);
    /** Called when an object is done, for progress.  May be NULL. */
    void (*done)(void *arg, const char *path, H5I_type_t type);
};
enum bkt_copier_refs {
    BKT_REFS_KEPT,   /* both ends are one file: references mean the same */
    BKT_REFS_NULL,   /* they become null references */
    BKT_REFS_FOLLOW, /* they lead to the copies of their targets, once all objects exist */
};
struct bkt_copier_options {
    struct bkt_copier_hooks hooks;
    enum bkt_copier_refs    refs;
    unsigned                flags;      /* H5O_COPY_…, as H5Pset_copy_object() has them */
    bool                    merge;      /* existing objects stay, and are reported; groups are filled up */
    bool                    no_data;    /* no elements of datasets */
    bool                    sparse;     /* copy stored chunks only, whatever requests it takes to find them;
                                           those without filters many at once */
    bool                    same_files; /* a copy has its source's external files, if it can reach them */
};

/** A type for reading: @p stored with H5R_ref_t for every reference.  The caller's; negative:
 *  HDF5 refuses. */
hid_t bkt_copier_memory_type(hid_t stored);

struct bkt_written;
/** Copy the elements of some chunks of a dataset that is made already; for parts of a copy that another
 *  process makes.  The type must have no pointers (bkt_convert_has_pointers()), and both extents must be
 *  equal.  In two processes the elements go to memory, and from there to the copy.  Both have the same @p w.
 *  @param w      by index, each once; no element of the dataset outside of them is touched
 *  @param read   if @p to is H5I_INVALID_HID: the elements are appended; else NULL
 *  @param wrote  if @p from is H5I_INVALID_HID: they are read from the place where it is; else NULL
 *  @return BKT_OK; BKT_EFORMAT: too few bytes; ... */
BKT_NODISCARD int bkt_copier_chunks(hid_t from, hid_t to, const struct bkt_written *w,
                                    const struct bkt_copier_options *o, struct bkt_buf *read,
                                    struct bkt_rd *wrote, struct bkt_err *err);

/** Copy everything in @p src below @p dst (both open files or groups).  BKT_EFORMAT: something of the source
 *  can't be read. */
BKT_NODISCARD int bkt_copier_tree(hid_t src, hid_t dst, const struct bkt_copier_options *o,
                                  struct bkt_err *err);
