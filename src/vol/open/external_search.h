/* The file behind an external link: how the program wants it opened, and its place. */
#pragma once

#include "vol/open/linked_files.h"

struct bkt_ext_how {
    char        prefix[1024]; /* H5Pset_elink_prefix; "" none */
    const char *env;          /* $HDF5_EXT_PREFIX, or NULL; borrowed */
    unsigned    flags;        /* H5F_ACC_RDWR or 0 */
    bool        flags_said;   /* the program set `flags`; else opened as the file that holds the link, if
                                 possible */
    hid_t       fapl;         /* H5Pset_elink_fapl, owned; H5I_INVALID_HID: as for that file */
};
/** One of the two is set. */
struct bkt_ext_found {
    struct bkt_file *domain; /* one reference */
    hid_t            native; /* a plain HDF5 file */
};

/** Fill @p how from the link access list @p lapl, for a link in @p f; its callback (H5Pset_elink_cb) is
 * called.
 * @param lapl  any list; H5P_DEFAULT, and a list that is not a link access list, have no effect
 * @return BKT_OK: bkt_ext_how_fini(); BKT_ECANCEL: the callback refused */
BKT_NODISCARD int bkt_ext_how(struct bkt_file *f, const struct bkt_ext_link *l, hid_t lapl,
                              struct bkt_ext_how *how, struct bkt_err *err);
void              bkt_ext_how_fini(struct bkt_ext_how *how);

/** Look for the file @p name of a link in @p f: under the name itself if it is absolute, under the
 *  prefixes, and beside f.  For a domain in a folder of this machine, also from the working folder and
 *  beside the file that f's name leads to.
 *  @return BKT_OK: @p found is the caller's; BKT_ENOENT, @p err untouched: not found; BKT_EACCES: the link
 *  must not be followed [I2] */
BKT_NODISCARD int bkt_ext_search(struct bkt_file *f, const char *name, const struct bkt_ext_how *how,
                                 struct bkt_ext_found *found, struct bkt_err *err);
