/* Mounts. */
#ifndef BKT_VOL_GROUP_H
#define BKT_VOL_GROUP_H

#include "vol/core/vol.h"



/** H5Fmount() and H5Funmount() on the group @p name, from an object of any kind of file. */
BKT_NODISCARD int bkt_group_mount(struct bkt_vobj *o, const char *name, struct bkt_vobj *child,
                                  struct bkt_err *err);
BKT_NODISCARD int bkt_group_unmount(struct bkt_vobj *o, const char *name, struct bkt_err *err);

#endif
