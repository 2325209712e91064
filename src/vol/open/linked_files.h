/* Files that an open file keeps open: behind its external links, and mounted on it. */
#pragma once

#include "vol/core/vol.h"

/** A domain mounted on a group (H5Fmount). */
struct bkt_mount {
    struct bkt_id     at;    /* the group covered */
    char             *path;  /* its name; NULL: not known */
    struct bkt_file  *child; /* one reference */
    struct bkt_mount *next;
};

/** Call @p fn for each domain that external links in @p f led to or that is mounted in it.  Plain HDF5
 *  files that external links led to are flushed.  A failure doesn't stop the others; returns the first
 *  failure. */
BKT_NODISCARD int bkt_file_each_inner(struct bkt_file *f,
                                      int (*fn)(struct bkt_file *inner, struct bkt_err *err),
                                      struct bkt_err *err);

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
/** The same for the source of a virtual dataset.
 *  @param env     prefixes to try, with colons between them, or NULL
 *  @param prefix  one more prefix, or "" */
BKT_NODISCARD int bkt_file_source(struct bkt_file *f, const char *name, const char *env, const char *prefix,
                                  struct bkt_file **domain, hid_t *native, struct bkt_err *err);
/** The same for the file name in a reference. */
BKT_NODISCARD int bkt_file_external(struct bkt_file *f, const char *name, struct bkt_file **domain,
                                    hid_t *native, struct bkt_err *err);
/** Release mounts and external files of a file that is closed: its `drop_links`. */
void bkt_file_drop_links(struct bkt_file *f);

/* ---- mounted_files.c ---- */

/** End all mounts of a file that is closed. */
void bkt_file_drop_mounts(struct bkt_file *f);
/** The file mounted on group @p id of @p f, or NULL. */
struct bkt_file *bkt_file_mounted(const struct bkt_file *f, const struct bkt_id *id);
/** Mount @p child on @p group.  While it is mounted, open objects below the group have no name
 *  (H5Iget_name). */
BKT_NODISCARD int bkt_file_mount(const struct bkt_vobj *group, struct bkt_file *child, struct bkt_err *err);
/** End a mount.  Objects that were opened through it get their names in their own file. */
BKT_NODISCARD int bkt_file_unmount(struct bkt_file *f, const struct bkt_id *at, struct bkt_err *err);
/** The file that @p child is mounted in; NULL: it isn't mounted. */
struct bkt_file *bkt_file_parent(const struct bkt_file *child);
