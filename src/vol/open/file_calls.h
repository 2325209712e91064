/* Opening and creating files of any kind, and what callbacks ask about a domain (file_calls.c,
 * file_optional.c); open objects of a file (file_ids.c). */
#pragma once

#include "base/os/comm.h"
#include "schema/edit/agreed.h"
#include "vol/core/vol.h"

/** Open the domain @p name; one reference for the caller.  @p set: settings; @p fapl copied. */
BKT_NODISCARD int bkt_file_open_domain(const char *name, unsigned flags, hid_t fapl,
                                       const struct bkt_settings *set, struct bkt_file **out,
                                       struct bkt_err *err);
/** Whether a file access list chooses this connector. */
bool bkt_file_fapl_has_connector(hid_t fapl);
/** The settings of such a list, or without it (H5P_DEFAULT) those of the environment; bkt_settings_fini().
 *  They also set the process's workers and traces.  Errors as bkt_settings_init() and bkt_trace_set();
 *  BKT_EHDF5.  After a failure there is nothing to free. */
BKT_NODISCARD int bkt_file_settings(hid_t fapl, struct bkt_settings *set, struct bkt_err *err);

/** For h5bucket, which knows more about the files that references lead into.  While this is set and the
 *  connector opens a file, the file is the plain one whose id open() returns (the caller's).  It is known
 *  by the requested name. */
struct bkt_file_opener {
    int (*open)(void *arg, const char *name, hid_t *out, struct bkt_err *err);
    void *arg;
};
extern const struct bkt_file_opener *bkt_file_opener;

/** bkt_file_obj_count() and bkt_file_obj_ids() put the answers of H5Fget_obj_count() and H5Fget_obj_ids()
 * into @p args (file_ids.c). */
BKT_NODISCARD int bkt_file_obj_count(struct bkt_vobj *o, H5VL_file_get_args_t *args, struct bkt_err *err);
BKT_NODISCARD int bkt_file_obj_ids(struct bkt_vobj *o, H5VL_file_get_args_t *args, struct bkt_err *err);

/** Call before a file is closed: does what H5Pset_fclose_degree() demands. */
BKT_NODISCARD int bkt_file_close_others(struct bkt_vobj *o, struct bkt_err *err);
/** H5Pset_fclose_degree() of a file that the program opens or creates: the degree of @p f is made
 *  explicit.  It must equal the degree of an earlier open of that file (BKT_EINVAL). */
BKT_NODISCARD int bkt_file_settle_degree(struct bkt_file *f, struct bkt_err *err);

/** bkt_file_open_any() and bkt_file_create_any() are callbacks of files.  @p out: a new object, in a domain
 * or in a plain HDF5 file.  If the list names the mpio driver, all its processes make the call together
 * (file_together.c). */
BKT_NODISCARD int bkt_file_open_any(const char *name, unsigned flags, hid_t fapl, struct bkt_vobj **out,
                                    struct bkt_err *err);
BKT_NODISCARD int bkt_file_create_any(const char *name, unsigned flags, hid_t fcpl, hid_t fapl,
                                      struct bkt_vobj **out, struct bkt_err *err);
/** H5Fis_accessible(), together likewise: the answer goes into @p args. */
BKT_NODISCARD int bkt_file_accessible(H5VL_file_specific_args_t *args, struct bkt_err *err);
/** H5Fdelete(), together likewise: one process deletes. */
BKT_NODISCARD int bkt_file_delete_any(const char *name, hid_t fapl, struct bkt_err *err);
/** A call that opens or creates a file; all of it is borrowed. */
struct bkt_file_call {
    const char *name; /* as the program gave it */
    unsigned flags;   /* H5F_ACC_… */
    hid_t fcpl;       /* creation only */
    hid_t fapl;
    struct bkt_comm *comm;           /* processes that make the call together; NULL: this one alone */
    const struct bkt_agreed *agreed; /* creation: ids and times follow from it; NULL: from this process */
};
/** bkt_file_*_alone() do the same by this process alone; or by each process of the call's group, whose list
 * doesn't name the group. */
BKT_NODISCARD int bkt_file_open_alone(const struct bkt_file_call *c, struct bkt_vobj **out,
                                      struct bkt_err *err);
BKT_NODISCARD int bkt_file_create_alone(const struct bkt_file_call *c, struct bkt_vobj **out,
                                        struct bkt_err *err);
BKT_NODISCARD int bkt_file_accessible_alone(H5VL_file_specific_args_t *args, struct bkt_err *err);
BKT_NODISCARD int bkt_file_delete_alone(const char *name, hid_t fapl, struct bkt_err *err);

/** bkt_file_is_same() and bkt_file_optional() are entries of bkt_domain_ops (see ops.h). */
bool bkt_file_is_same(const struct bkt_vobj *a, const struct bkt_vobj *b, bool local);
int  bkt_file_optional(struct bkt_vobj *o, H5VL_optional_args_t *args, hid_t dxpl, struct bkt_err *err);
