/* Plain HDF5 files that the program opened or an external link led to.  Our objects only pass calls on to
 * an id of HDF5's native connector. */
#ifndef BKT_NATIVE_H
#define BKT_NATIVE_H

#include "vol/core/vol.h"

/** Make a call of HDF5 on behalf of the program.  A failure is captured (h5err.h), and HDF5 doesn't print
 *  it: the program sees it once, when our callback has failed.  Returns a bkt code. */
#define PASS_ON(err, call, what)                                                                             \
    __extension__({                                                                                          \
        int pass_rc_ = BKT_OK;                                                                               \
        H5E_BEGIN_TRY                                                                                        \
        {                                                                                                    \
            if ((call) < 0)                                                                                  \
                pass_rc_ = bkt_h5err_capture((err), (what));                                                 \
        }                                                                                                    \
        H5E_END_TRY                                                                                          \
        pass_rc_;                                                                                            \
    })

/** Open a plain HDF5 file of this machine with HDF5's native connector; a name may begin with "native:" to
 *  mark it as plain.
 *  @param like  a file access list, for its driver and the like; H5I_INVALID_HID: none
 *  @return BKT_OK; BKT_ENOENT: there is no such HDF5 file */
BKT_NODISCARD int bkt_native_file(const char *path, unsigned flags, hid_t like, hid_t *out, struct bkt_err *err);

/** A new file of HDF5's native connector that exists only in memory and grows in steps of @p step bytes;
 *  negative: the reason is on HDF5's stack.  Its name is unique: HDF5 takes two files with one name for
 *  the same file (a program's callbacks may run in between). */
hid_t bkt_native_in_memory(size_t step);

/** Whether HDF5's native connector takes @p name for a plain HDF5 file. */
bool bkt_native_is_plain(const char *name);
/** Create a plain HDF5 file with the driver and the like of @p like, if the name begins with "native:".  A
 *  file whose driver doesn't store it under its name (memory only, or the program's own driver) needs no
 *  "native:".
 *  @return BKT_OK; BKT_ENOENT: the name doesn't begin so, and the driver would store the file under it */
BKT_NODISCARD int bkt_native_create(const char *name, unsigned flags, hid_t fcpl, hid_t like, hid_t *out, struct bkt_err *err);

/** Delete one. */
BKT_NODISCARD int bkt_native_delete(const char *name, struct bkt_err *err);

/** Wrap an id; takes it over (*id becomes invalid). */
BKT_NODISCARD int bkt_native_wrap(hid_t *id, struct bkt_vobj **out, struct bkt_err *err);
BKT_NODISCARD int bkt_native_open(hid_t loc, const char *path, hid_t lapl, hid_t *out, struct bkt_err *err);
BKT_NODISCARD int bkt_native_open_by_idx(hid_t loc, const H5VL_loc_by_idx_t *at, struct bkt_vobj **out, struct bkt_err *err);
BKT_NODISCARD int bkt_native_open_by_token(hid_t loc, const H5O_token_t *token, struct bkt_vobj **out, struct bkt_err *err);

/* The group, link and object callbacks for such objects; the first argument has a native_id. */
int    bkt_native_file_get(struct bkt_vobj *o, H5VL_file_get_args_t *args, struct bkt_err *err);
int    bkt_native_reopen(struct bkt_vobj *o, H5VL_file_specific_args_t *args, struct bkt_err *err);
int    bkt_native_group_create(struct bkt_vobj *at, const char *name, hid_t lcpl, hid_t gcpl, hid_t gapl, struct bkt_vobj **out,
                               struct bkt_err *err);
int    bkt_native_datatype_commit(struct bkt_vobj *at, const char *name, hid_t type, hid_t lcpl, hid_t tcpl, struct bkt_vobj **out,
                                  struct bkt_err *err);
int    bkt_native_link_create(struct bkt_vobj *at, const char *name, H5VL_link_create_args_t *args, hid_t lcpl, struct bkt_err *err);
int    bkt_native_link_delete(struct bkt_vobj *group, const char *last, struct bkt_err *err);
int    bkt_native_group_get(struct bkt_vobj *o, H5VL_group_get_args_t *args, struct bkt_err *err);
int    bkt_native_link_get(struct bkt_vobj *group, const char *last, const H5VL_loc_params_t *loc, H5VL_link_get_args_t *args,
                           struct bkt_err *err);
herr_t bkt_native_link_iterate(struct bkt_vobj *group, const H5VL_link_iterate_args_t *a, struct bkt_err *err);
int    bkt_native_link_exists(struct bkt_vobj *group, const char *last, hbool_t *exists, struct bkt_err *err);
/** Whether the link leads to an object.  A missing link is an error unless it @p may_miss. */
int    bkt_native_object_exists(struct bkt_vobj *group, const char *last, bool may_miss, hbool_t *exists, struct bkt_err *err);
int    bkt_native_object_get(struct bkt_vobj *o, H5VL_object_get_args_t *args, struct bkt_err *err);
herr_t bkt_native_object_visit(struct bkt_vobj *o, const H5VL_object_visit_args_t *a, struct bkt_err *err);

#endif
