/* Creation lists as HDF5 completed them, for datasets of the same kind that follow.  HDF5's lock guards them. */
#ifndef BKT_CREATED_LISTS_H
#define BKT_CREATED_LISTS_H

#include <hdf5.h>

/** A new list, as HDF5 made it for a dataset of this list, type and extent before.  Negative: none is known. */
hid_t bkt_created_find(hid_t dcpl, hid_t type, hid_t space);
/** Keep a list that HDF5 made.  Lists whose result may differ the next time are not kept: those with
 *  filters of plugins, with mappings or with external files.
 *  @param type  has neither references nor parts of variable length
 *  @param made  copied, as all others are */
void bkt_created_keep(hid_t dcpl, hid_t type, hid_t space, hid_t made);
/** Drop all, before the code is unloaded. */
void bkt_created_term(void);

#endif
