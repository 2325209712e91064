/* Setting `pointers`: if a program creates a file by a plain name in the default bucket, a pointer file of
 * that name is left.
 *
 * Many programs look for the file that they have just made, or write to another name and rename.  With the
 * pointer they find a file, and a renamed pointer leads to the same domain. */
#pragma once

#include "schema/edit/userblock.h"

/** Call before the domain is created.  BKT_EEXIST: H5F_ACC_EXCL is set and a file of that name exists. */
BKT_NODISCARD int bkt_file_pointer_may(const char *name, unsigned flags, const struct bkt_settings *set,
                                       struct bkt_err *err);

/** Leave a pointer to the new domain @p dom.  A file of that name is replaced.  The pointer gets a blank
 *  user block of @p user_block bytes (0: none), as a new file has, whatever the setting.
 *  @return BKT_OK, also if the setting is off, the name is not plain, or a pointer has that name already */
BKT_NODISCARD int bkt_file_pointer_leave(const char *name, const struct bkt_settings *set,
                                         struct bkt_domain *dom, uint64_t user_block, struct bkt_err *err);

/* ---- the user block ---- */

/** The size of the user block that a program finds in the file @p name, for a domain open by that name.
 *  0: the file is not a pointer file. */
uint64_t bkt_file_pointer_block(const char *name);
/** Call when a domain is opened for writing by @p name.  Programs write a file's user block past HDF5
 *  after they have created the file.  If the domain has no user block yet, it takes the one in the pointer
 *  file.  A failure to store it now is ignored: the pointer file keeps it. */
void bkt_file_pointer_take(const char *name, struct bkt_domain *dom);
/** The user block of the domain that is open by @p name: the block of the pointer file, or if that is
 *  blank or missing, the domain's.  Outputs as for bkt_userblock_load(). */
BKT_NODISCARD int bkt_file_user_block(const char *name, struct bkt_domain *dom, uint64_t *size,
                                      struct bkt_buf *bytes, struct bkt_err *err);
/** Give this user block to the domain that was made by @p name, and to the pointer file of that name, if
 *  it exists. */
BKT_NODISCARD int bkt_file_user_block_set(const char *name, struct bkt_domain *dom, uint64_t size,
                                          const struct bkt_buf *bytes, struct bkt_err *err);

/** Call after the domain behind @p name was deleted. */
void bkt_file_pointer_remove(const char *name, const struct bkt_settings *set);
