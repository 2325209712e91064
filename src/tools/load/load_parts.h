/* load of one file by the processes of an mpirun.
 *
 * The first process makes the domain and copies small datasets.  Data of large ones wait (load_parts_wait()).
 * When all objects are stored, but not yet the document that shows the domain, all processes copy parts of
 * those data: chunks as they are stored, or elements (load_parts_share()).  Then the first process ends the
 * load as always. */
#ifndef LOAD_LOAD_PARTS_H
#define LOAD_LOAD_PARTS_H

#include "tools/load/load_domain.h"

/** Begin to let datasets wait, if there are several processes and the load allows it.  Sets l->parts. */
BKT_NODISCARD int load_parts_begin(struct load *l, bool is_new, struct bkt_err *err);
/** 1: the dataset's data wait; 0: copy them now. */
BKT_NODISCARD int load_parts_wait(struct load *l, hid_t src, hid_t dst, const char *path,
                                  struct bkt_err *err);
/** Copy the data that wait. */
BKT_NODISCARD int load_parts_share(struct load *l, struct bkt_err *err);
void load_parts_free(struct load_parts *p);

/** The other processes: copy parts until the first process ends.  @p l: options and settings are set. */
BKT_NODISCARD int load_parts_serve(struct load *l, const char *source, const char *domain, hid_t fapl,
                                   struct bkt_err *err);

#endif
