/* Scalars that many cases of writing put into a file; failures show in the comparison. */
#ifndef BKT_PUT_SCALAR_H
#define BKT_PUT_SCALAR_H

#include <hdf5.h>

/** An open dataset of one number. */
static inline hid_t put_int(hid_t f, const char *name, int v)
{
    hid_t s = H5Screate(H5S_SCALAR), d = H5Dcreate2(f, name, H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &v);
    H5Sclose(s);
    return d;
}

static inline void put_int_closed(hid_t f, const char *name, int v) { H5Dclose(put_int(f, name, v)); }

static inline void put_int_attr(hid_t obj, const char *name, int v)
{
    hid_t s = H5Screate(H5S_SCALAR), a = H5Acreate2(obj, name, H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(a, H5T_NATIVE_INT, &v);
    H5Aclose(a);
    H5Sclose(s);
}

#endif
