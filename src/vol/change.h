/* What all callbacks that change something share: whether they may, and when it is stored. */
#ifndef BKT_VOL_CHANGE_H
#define BKT_VOL_CHANGE_H

#include "edit.h"
#include "vol.h"

/** Whether @p f may be changed: opened read-write, its store takes writes, the domain's ACL grants @p need (BKT_ACL_…).
 *  @param what  for the message: "creating a group"
 *  @return BKT_OK; BKT_EACCES: nothing was changed, the message says what stands in the way */
BKT_NODISCARD int bkt_change_may(struct bkt_file *f, unsigned need, const char *what, struct bkt_err *err);

/** Store everything that changed, chunks first, in this file and in those that its external links and mounts lead to.  On
 *  failure what could not be stored stays in memory for another try. */
BKT_NODISCARD int bkt_change_flush(struct bkt_file *f, struct bkt_err *err);

/** Before a change is begun (@p f NULL: nothing): where changes take up too much memory, store them early, in the order of a flush.
 *  What fails stays, and the next flush tells. */
void bkt_change_relieve(struct bkt_file *f);

/** H5Dflush and the like, on any object.  The whole file is stored: an object alone would be one that nothing links.
 *  @p id  the program's, for its callback (H5Pset_object_flush_cb) */
BKT_NODISCARD int bkt_change_flush_object(struct bkt_vobj *o, hid_t id, struct bkt_err *err);
/** H5Drefresh and the like: see what is stored now; what this process changed and didn't flush stays on top. */
BKT_NODISCARD int bkt_change_refresh(struct bkt_vobj *o, struct bkt_err *err);

/** A file was opened for writing: what is left unstored when the process ends without closing it is stored then. */
void bkt_change_watch(void);

/** What every close callback does: flush when @p o is a file or the last object of one, then free it.
 *  @return 0; -1, published: changes could not be stored; @p o and they are kept, so that the program can close it again.
 *          While the library ends there is no other time: it is said on stderr, and 0. */
herr_t bkt_change_close(struct bkt_vobj *o);

#endif
