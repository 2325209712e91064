/* Folders: documents without a root group, which hold an owner and an access list. */
#ifndef BKT_FOLDER_H
#define BKT_FOLDER_H

#include "tools/bucket/names.h"

/** The nearest folder above @p path that has a document: out->what is FOLDER (or DOMAIN, which the caller has
 *  to judge); ABSENT: no folder has one.  @p up: its path (free()), may be NULL. */
BKT_NODISCARD int bkt_folder_above(struct bkt_store *st, const char *path, struct bkt_doc *out, char **up,
                                   struct bkt_err *err);

/** Check that setting user may create something at @p path, by the document of the nearest folder above that
 *  has one.  BKT_EACCES; BKT_EEXIST: a domain lies there instead of a folder. */
BKT_NODISCARD int bkt_folder_may_create(struct bkt_store *st, const char *path,
                                        const struct bkt_settings *set, struct bkt_err *err);

/** Make the folder @p path, and all folders above that have no document yet.  An existing folder stays
 *  unchanged.
 *  @p owner NULL: setting user, else the owner of the folder above, else admin.
 *  @return BKT_OK; BKT_EACCES; BKT_EEXIST: there is a domain; … */
BKT_NODISCARD int bkt_folder_make(struct bkt_store *st, const char *path, const char *owner,
                                  const struct bkt_settings *set, struct bkt_err *err);

#endif
