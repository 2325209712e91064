/* Shared by all callbacks that change something: whether the change is allowed, and when it is stored. */
#pragma once

#include "schema/edit/edit.h"
#include "vol/core/vol.h"

/** Whether @p f may be changed: it was opened read-write, its store takes writes, and the domain's ACL
 *  grants @p need (BKT_ACL_…).
 *  @param what  for the message: "creating a group"
 *  @return BKT_OK; BKT_EACCES: nothing was changed, the message names the obstacle */
BKT_NODISCARD int bkt_file_may_change(struct bkt_file *f, unsigned need, const char *what,
                                      struct bkt_err *err);

/** As bkt_file_may_change(), for a change of metadata, once before it begins.  If changes take up too much
 * memory, they are stored now; so links and attributes may move in memory. */
BKT_NODISCARD int bkt_file_begin_change(struct bkt_file *f, unsigned need, const char *what,
                                        struct bkt_err *err);

/** Store everything that changed, chunks first, in this file and in the files that its external links and
 *  mounts lead to.  On failure, unstored changes stay in memory for another try. */
BKT_NODISCARD int bkt_file_flush(struct bkt_file *f, struct bkt_err *err);

/** Entries of bkt_domain_ops (see ops.h).  BKT_ACL_CREATE. */
BKT_NODISCARD int bkt_vobj_may_create(struct bkt_vobj *o, const char *what, struct bkt_err *err);
/** H5Fflush.  With scope H5F_SCOPE_GLOBAL, all files that are mounted together are stored. */
BKT_NODISCARD int bkt_file_flush_scope(struct bkt_vobj *o, H5F_scope_t scope, struct bkt_err *err);
/** H5Dflush and the like.  The whole file is stored: an object stored alone would have no
 *  link.  @p id  the program's, for its callback (H5Pset_object_flush_cb) */
BKT_NODISCARD int bkt_vobj_flush(struct bkt_vobj *o, hid_t id, struct bkt_err *err);
/** H5Drefresh and the like: load the stored state.  Changes of this process that are not yet flushed stay
 *  on top. */
BKT_NODISCARD int bkt_vobj_refresh(struct bkt_vobj *o, struct bkt_err *err);

/** Call when a file was opened for writing.  If the process ends without closing it, its unstored changes
 *  are stored then. */
void bkt_file_watch_exit(void);

/** Shared by all close callbacks: flush if @p o is a file or the last object of one, then free it.
 *  @return 0; -1, published: changes could not be stored.  @p o and the changes are kept, so that the
 *  program can close it again.  While the library ends no second try is possible: a failure is printed on
 *  stderr, and 0 returned. */
herr_t bkt_vobj_close(struct bkt_vobj *o);
