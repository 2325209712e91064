/* make_run FILE: an HDF5 file like the run7.h5 of README and man pages: /wind, /coordinates, an attribute. */
#include <hdf5.h>

int main(int argc, char **argv)
{
    static float  wind[24][30][40];
    const hsize_t dims[] = {24, 30, 40}, max[] = {H5S_UNLIMITED, 30, 40}, chunk[] = {6, 30, 40};
    int           year   = 2026;
    for (int i = 0; i < 24 * 30 * 40; i++)
        wind[i / 1200][i / 40 % 30][i % 40] = (float)i / 7;
    if (argc != 2)
        return 2;
    hid_t f = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), s = H5Screate_simple(3, dims, max);
    hid_t p = H5Pcreate(H5P_DATASET_CREATE), one = H5Screate(H5S_SCALAR);
    if (H5Pset_chunk(p, 3, chunk) < 0 || H5Pset_shuffle(p) < 0 || H5Pset_deflate(p, 4) < 0)
        return 1;
    hid_t d = H5Dcreate2(f, "wind", H5T_IEEE_F32LE, s, H5P_DEFAULT, p, H5P_DEFAULT);
    hid_t c = H5Dcreate2(f, "coordinates", H5T_IEEE_F64LE, one, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t a = H5Acreate2(f, "year", H5T_STD_I32LE, one, H5P_DEFAULT, H5P_DEFAULT);
    if (H5Dwrite(d, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, wind) < 0 || H5Awrite(a, H5T_NATIVE_INT, &year) < 0)
        return 1;
    return H5Aclose(a) < 0 || H5Dclose(c) < 0 || H5Dclose(d) < 0 || H5Pclose(p) < 0 || H5Sclose(one) < 0 || H5Sclose(s) < 0 ||
           H5Fclose(f) < 0;
}
