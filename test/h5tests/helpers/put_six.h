/* A small dataset to copy. */
#ifndef BKT_PUT_SIX_H
#define BKT_PUT_SIX_H

#include <hdf5.h>

/** Make a dataset of six numbers from @p v on.  Its comment is its name, which identifies a copy of another
 *  name. */
static inline void put_six(hid_t at, const char *name, int v)
{
    hsize_t n = 6;
    int     all[6] = {v, v + 1, v + 2, v + 3, v + 4, v + 5};
    hid_t   s = H5Screate_simple(1, &n, NULL), d = H5Dcreate2(at, name, H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, all);
    H5Oset_comment(d, name);
    H5Sclose(s);
    H5Dclose(d);
}

#endif
