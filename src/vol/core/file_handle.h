/* Life of struct bkt_file: the list of open files, and the references to each. */
#ifndef BKT_FILE_HANDLE_H
#define BKT_FILE_HANDLE_H

#include "vol/core/vol.h"

/** Takes over @p dom, also on failure.  @p fapl is copied.  One reference for the caller. */
BKT_NODISCARD int bkt_file_new(struct bkt_domain *dom, const char *name, unsigned flags, hid_t fapl,
                               struct bkt_file **out, struct bkt_err *err);
/** Give a reference back; the last one closes the file and all that it keeps open. */
void bkt_file_release(struct bkt_file *f);
/** Release mounts and external files (open/linked_files.c). */
void bkt_file_drop_links(struct bkt_file *f);

/** The open file after @p f; NULL begins and ends. */
struct bkt_file *bkt_file_next(const struct bkt_file *f);

/** The root group of @p f as a new object of type @p type (H5I_FILE or H5I_GROUP). */
BKT_NODISCARD int bkt_file_root(struct bkt_file *f, H5I_type_t type, struct bkt_vobj **out,
                                struct bkt_err *err);

#endif
