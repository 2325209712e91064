/* Filters that the program registered and HDF5's filter plugins, for chunks whose filter we have no code for. */
#ifndef BKT_VOL_PLUGIN_H
#define BKT_VOL_PLUGIN_H

#include <hdf5.h>

#include "filter.h"

/** What HDF5's table of filters has for @p id: those that are registered or loaded.  False: none, or HDF5 doesn't say. */
bool bkt_plugin_class(int id, H5Z_class2_t *out);
/** Code for a filter that the program registered (H5Zregister), or else out of HDF5's filter plugins; a bkt_filter_find, for callbacks
 *  only.  NULL: none. */
bkt_filter_fn *bkt_plugin_find(int id, const char *name, void *arg);
/** Let go of the plugins; when the connector ends, after all datasets are closed. */
void bkt_plugin_close_all(void);

#endif
