/* The connector's info: the string after its name, checked when it is parsed, read when a file is opened. */
#ifndef BKT_VOL_INFO_H
#define BKT_VOL_INFO_H

#include <hdf5.h>

/** The callbacks of struct H5VL_info_class_t.  Copying what has been copied before doesn't fail: HDF5 1.14 would free what the list that
 *  it was copying from still has.  A copy is of malloc(), unless that had nothing left: H5Pget_vol_info() doesn't say how to free what
 *  it gives, and programs may take free(). */
void  *bkt_info_copy(const void *info);
herr_t bkt_info_cmp(int *cmp, const void *a, const void *b);
herr_t bkt_info_free(void *info);
herr_t bkt_info_to_str(const void *info, char **str);
herr_t bkt_info_from_str(const char *str, void **info);

#endif
