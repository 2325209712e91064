/* Domains that are mounted on groups of an open file (H5Fmount). */
#pragma once

#include "vol/core/vol.h"

/** A domain mounted on a group (H5Fmount). */
struct bkt_mount {
    struct bkt_id     at;    /* the group covered */
    char             *path;  /* its name; NULL: not known */
    struct bkt_file  *child; /* one reference */
    struct bkt_mount *next;
};

/** End all mounts of a file that is closed. */
void bkt_file_drop_mounts(struct bkt_file *f);
/** The file mounted on group @p id of @p f, or NULL. */
struct bkt_file *bkt_file_mounted(const struct bkt_file *f, const struct bkt_id *id);
/** Mount @p child on @p group.  While it is mounted, open objects below the group have no name
 *  (H5Iget_name).  BKT_EEXIST: @p child or another file on @p group is mounted;
 *  BKT_EINVAL: a cycle, also by files that external links keep open. */
BKT_NODISCARD int bkt_file_mount(const struct bkt_vobj *group, struct bkt_file *child, struct bkt_err *err);
/** End a mount.  Objects that were opened through it get their names in their own file.  BKT_ENOENT:
 *  nothing is mounted there. */
BKT_NODISCARD int bkt_file_unmount(struct bkt_file *f, const struct bkt_id *at, struct bkt_err *err);
/** The file that @p child is mounted in; NULL: it isn't mounted. */
struct bkt_file *bkt_file_parent(const struct bkt_file *child);
