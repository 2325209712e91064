/* Setting `pointers`: what a program creates by a plain name in the default bucket leaves a pointer file of that name.
 *
 * Many programs look for the file that they have just made, or write beside and rename.  With the pointer they find one, and a
 * renamed pointer leads to the same domain. */
#ifndef BKT_FILE_POINTER_H
#define BKT_FILE_POINTER_H

#include "domain.h"

/** Before the domain is created.  BKT_EEXIST: H5F_ACC_EXCL, and there is a file of that name. */
BKT_NODISCARD int bkt_file_pointer_may(const char *name, unsigned flags, const struct bkt_settings *set, struct bkt_err *err);

/** Leave a pointer to @p dom; BKT_OK also where the setting is off, the name is no plain one, or is that of a pointer already.
 *  A file of that name is replaced. */
BKT_NODISCARD int bkt_file_pointer_leave(const char *name, const struct bkt_settings *set, struct bkt_domain *dom, struct bkt_err *err);

/** After the domain behind @p name was deleted. */
void bkt_file_pointer_remove(const char *name, const struct bkt_settings *set);

#endif
