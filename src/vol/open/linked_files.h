/* Files behind external links, which an open file keeps open. */
#pragma once

#include "vol/core/vol.h"

/** Call @p fn for each domain that external links in @p f led to or that is mounted in it.  Plain HDF5
 *  files that external links led to are flushed.  A failure doesn't stop the others; returns the first
 *  failure. */
BKT_NODISCARD int bkt_file_each_inner(struct bkt_file *f,
                                      int (*fn)(struct bkt_file *inner, struct bkt_err *err),
                                      struct bkt_err *err);

/** Whether @p f is @p to, or keeps it open by mounts and external links. */
bool bkt_file_leads_to(const struct bkt_file *f, const struct bkt_file *to);

/** Close the files behind external links that have no open objects: such a file may soon be overwritten or
 *  deleted. */
void bkt_file_drop_unused(void);

/** An external link: its stored texts, and the path of its group. */
struct bkt_ext_link {
    const char *file, *object, *group;
};
/** The file that an external link in @p f leads to.  It is opened by the link access list @p lapl, and stays
 *  open with f.  It is a domain (*domain set, borrowed) or a plain HDF5 file (*native set, borrowed id).
 *  BKT_ENOENT: there is no such file. */
BKT_NODISCARD int bkt_file_follow(struct bkt_file *f, const struct bkt_ext_link *l, hid_t lapl,
                                  struct bkt_file **domain, hid_t *native, struct bkt_err *err);
/** As bkt_file_follow(), for the source of a virtual dataset.
 *  @param env     prefixes to try, with colons between them, or NULL
 *  @param prefix  one more prefix, or "" */
BKT_NODISCARD int bkt_file_source(struct bkt_file *f, const char *name, const char *env, const char *prefix,
                                  struct bkt_file **domain, hid_t *native, struct bkt_err *err);
/** As bkt_file_follow(), for the file name in a reference. */
BKT_NODISCARD int bkt_file_external(struct bkt_file *f, const char *name, struct bkt_file **domain,
                                    hid_t *native, struct bkt_err *err);
/** Release mounts (mounted_files.h) and external files of a file that is closed: its `drop_links`. */
void bkt_file_drop_links(struct bkt_file *f);
