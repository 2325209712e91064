/* The connector's info: the string after its name, checked when it is parsed, read when a file is opened. */
#pragma once

#include <hdf5.h>

/** bkt_info_*() are the callbacks of struct H5VL_info_class_t.  Copying a copy doesn't fail: on failure HDF5
 * 1.14 would free the info that the source list still holds.  A copy comes from malloc(), unless memory was
 * short: H5Pget_vol_info() doesn't document how to free its result, and programs may use free(). */
void  *bkt_info_copy(const void *info);
herr_t bkt_info_cmp(int *cmp, const void *a, const void *b);
herr_t bkt_info_free(void *info);
herr_t bkt_info_to_str(const void *info, char **str);
herr_t bkt_info_from_str(const char *str, void **info);
