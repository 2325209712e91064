/* Names of attributes that neither load nor export passes on. */
#ifndef KERCHUNK_ZATTRS_H
#define KERCHUNK_ZATTRS_H

#include <stdbool.h>

/** Whether HDF5's dimension scales, netCDF-4 or Zarr's dimensions own the name. */
bool kc_attr_is_reserved(const char *name);

#endif
