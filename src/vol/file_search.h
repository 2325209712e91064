/* The file behind an external link: how the program wants it opened, and where it is. */
#ifndef BKT_VOL_FILE_SEARCH_H
#define BKT_VOL_FILE_SEARCH_H

#include "file.h"

struct bkt_ext_how {
    char        prefix[1024]; /* H5Pset_elink_prefix; "" none */
    const char *env;          /* $HDF5_EXT_PREFIX, or NULL; not ours */
    unsigned    flags;        /* H5F_ACC_RDWR or 0 */
    bool        flags_said;   /* by the program; else as the file that holds the link, if it can be */
    hid_t       fapl;         /* H5Pset_elink_fapl, ours; H5I_INVALID_HID: as that file */
};
/** One of the two is set. */
struct bkt_ext_found {
    struct bkt_file *domain; /* one reference */
    hid_t            native; /* a plain HDF5 file */
};

/** What the link access list @p lapl says of a link in @p f; its callback (H5Pset_elink_cb) is called.
 * @param lapl  any list: what is no link access list, and H5P_DEFAULT, says nothing
 * @return BKT_OK: bkt_ext_how_fini(); BKT_ECANCEL: the callback refused */
BKT_NODISCARD int bkt_ext_how(struct bkt_file *f, const struct bkt_ext_link *l, hid_t lapl, struct bkt_ext_how *how, struct bkt_err *err);
void              bkt_ext_how_fini(struct bkt_ext_how *how);

/** Look for the file @p name of a link in @p f: as it stands where it is absolute, under the prefixes, beside f, and for a domain in a
 *  folder of this machine from the working folder and beside what f's name leads to.
 * @return BKT_OK: @p found is the caller's; BKT_ENOENT, @p err untouched: nowhere; BKT_EACCES: not to be followed [I2] */
BKT_NODISCARD int bkt_ext_search(struct bkt_file *f, const char *name, const struct bkt_ext_how *how, struct bkt_ext_found *found,
                                 struct bkt_err *err);

#endif
