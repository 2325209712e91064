/* Filters that the program registered, and HDF5's filter plugins, for chunks with a filter that we have no
 * code for. */
#ifndef BKT_VOL_PLUGIN_H
#define BKT_VOL_PLUGIN_H

#include <hdf5.h>

#include "chunk/filter/pipeline.h"

/** The entry for @p id in HDF5's table of filters, which holds registered and loaded ones.  False: no
 *  entry, or the table can't be read. */
bool bkt_plugin_class(int id, H5Z_class2_t *out);
/** Code for a filter that the program registered (H5Zregister), or else from HDF5's filter plugins; a
 *  bkt_filter_find, for callbacks only.  NULL: none found. */
bkt_filter_fn *bkt_plugin_find(int id, const char *name, void *arg);
/** Release the plugins; call when the connector ends, after all datasets are closed. */
void bkt_plugin_close_all(void);

#endif
