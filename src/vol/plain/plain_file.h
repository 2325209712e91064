/* Plain HDF5 files that the program opened or an external link led to.  The connector's objects only pass
 * calls on to an id of HDF5's native connector. */
#pragma once

#include "vol/core/vol.h"

/** Open a plain HDF5 file of this machine with HDF5's native connector; a name may begin with "native:" to
 *  mark it as plain.
 *  @param like  a file access list, for its driver and the like; H5I_INVALID_HID: none
 *  @return BKT_OK; BKT_ENOENT: not an HDF5 file of this machine; BKT_EINVAL: a name with "native:" leads to
 *          nothing; BKT_EHDF5 */
BKT_NODISCARD int bkt_native_file(const char *path, unsigned flags, hid_t like, hid_t *out,
                                  struct bkt_err *err);
/** As bkt_native_file(), for the file that a link or virtual dataset names.  A file that is not HDF5's is
 * BKT_EHDF5: HDF5 fails then, too.  A file that can't be read is BKT_ENOENT: HDF5 goes on with its search. */
BKT_NODISCARD int bkt_native_linked(const char *path, unsigned flags, hid_t like, hid_t *out,
                                    struct bkt_err *err);

/** A copy of the file access list @p like (negative: a new list) that names HDF5's native connector;
 * negative: the reason is on HDF5's stack. */
hid_t bkt_native_fapl(hid_t like);

/** Whether HDF5's native connector takes @p name for a plain HDF5 file. */
bool bkt_native_is_plain(const char *name);
/** Create a plain HDF5 file with the driver and the like of @p like, if the name begins with "native:".  A
 *  file whose driver doesn't store it under its name (memory only, or the program's own driver) needs no
 *  "native:".
 *  @return BKT_OK; BKT_ENOENT: the name doesn't begin so, and the driver would store the file under it */
BKT_NODISCARD int bkt_native_create(const char *name, unsigned flags, hid_t fcpl, hid_t like, hid_t *out,
                                    struct bkt_err *err);

/** Delete one. */
BKT_NODISCARD int bkt_native_delete(const char *name, struct bkt_err *err);

/** A walk that HDF5 makes on the program's behalf.  HDF5 prints no error during it, except in the program's
 *  callbacks: each is called between bkt_native_walk_call() and bkt_native_walk_back(). */
struct bkt_native_walk {
    const void *asked; /* the arguments of the call, borrowed */
    /* The id for the program's callbacks.  If the file is in a store, the id is the connector's, so that
     * objects that are opened by it are, too.  Otherwise, and if memory is short, it is HDF5's own. */
    hid_t shown;
    struct bkt_h5err_print print;
};
/** Begin a walk: fill in @p w. */
void bkt_native_walk_begin(struct bkt_native_walk *w, struct bkt_vobj *start, const void *asked);
/** A callback of the program follows: printing is on again.  Returns what was asked. */
const void *bkt_native_walk_call(struct bkt_native_walk *w);
/** The callback has returned @p rc, which is passed on. */
herr_t bkt_native_walk_back(struct bkt_native_walk *w, herr_t rc);
/** Ends the walk and returns @p rc, HDF5's result; if it is negative, HDF5's message is captured. */
herr_t bkt_native_walk_end(struct bkt_native_walk *w, herr_t rc, const char *what, struct bkt_err *err);

/** Wrap an id; takes it over (*id becomes invalid). */
BKT_NODISCARD int bkt_native_wrap(hid_t *id, struct bkt_vobj **out, struct bkt_err *err);
/** Wrap the id that HDF5's @p call returns; if the call fails, like BKT_PASS_NATIVE(). */
#define BKT_WRAP_NATIVE(err, call, what, out)                                                                \
    __extension__({                                                                                          \
        hid_t new_id_ = H5I_INVALID_HID;                                                                     \
        int made_ = BKT_PASS_NATIVE(err, new_id_ = (call), what);                                            \
        made_ < 0 ? made_ : bkt_native_wrap(&new_id_, out, err);                                             \
    })
/** Open an object of a plain HDF5 file; @p out: a new id.  Of @p lapl only settings for links count.
 * BKT_EHDF5. */
BKT_NODISCARD int bkt_native_open(hid_t loc, const char *path, hid_t lapl, hid_t *out, struct bkt_err *err);
