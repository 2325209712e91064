/* Setting `pointers`: what a program creates by a plain name in the default bucket leaves a pointer file of that name.
 *
 * Many programs look for the file that they have just made, or write beside and rename.  With the pointer they find one, and a
 * renamed pointer leads to the same domain. */
#ifndef BKT_FILE_POINTER_H
#define BKT_FILE_POINTER_H

#include "userblock.h"

/** Before the domain is created.  BKT_EEXIST: H5F_ACC_EXCL, and there is a file of that name. */
BKT_NODISCARD int bkt_file_pointer_may(const char *name, unsigned flags, const struct bkt_settings *set, struct bkt_err *err);

/** Leave a pointer to the new domain @p dom; BKT_OK also where the setting is off, the name is no plain one, or is that of a pointer
 *  already.  A file of that name is replaced.  Whatever the setting, the pointer has a blank user block of @p user_block bytes then
 *  (0: none), as a new file has. */
BKT_NODISCARD int bkt_file_pointer_leave(const char *name, const struct bkt_settings *set, struct bkt_domain *dom, uint64_t user_block,
                                         struct bkt_err *err);

/* ---- the user block ---- */

/** The size of the user block that a program finds in the file @p name, of a domain that is open by that name: the pointer file's, where
 *  it is one, else 0. */
uint64_t bkt_file_pointer_block(const char *name);
/** A domain is opened for writing by @p name.  Programs write a file's user block past HDF5 after they have made the file: where the
 *  domain has none yet, it takes what is in the pointer file.  That it can't be stored now is no error: the pointer file has it. */
void bkt_file_pointer_take(const char *name, struct bkt_domain *dom);
/** The user block of the domain that is open by @p name: what a pointer file has, unless that is blank, else the domain's.  Outputs as
 *  of bkt_userblock_load(). */
BKT_NODISCARD int bkt_file_user_block(const char *name, struct bkt_domain *dom, uint64_t *size, struct bkt_buf *bytes, struct bkt_err *err);
/** Give the domain that was made by @p name this user block, and the pointer file of that name, where there is one. */
BKT_NODISCARD int bkt_file_user_block_set(const char *name, struct bkt_domain *dom, uint64_t size, const struct bkt_buf *bytes,
                                          struct bkt_err *err);

/** After the domain behind @p name was deleted. */
void bkt_file_pointer_remove(const char *name, const struct bkt_settings *set);

#endif
