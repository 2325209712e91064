/* two_refs FILE: a dataset of one number, and an object reference to it.  It is stored through filter 305 if
 *   HDF5 has that filter.
 * two_refs FILE COPY: while both are open, the reference in each file leads to the file's own dataset. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>

static int make_file(const char *name)
{
    const hsize_t n = 1;
    hobj_ref_t    ref;
    hid_t         dcpl = H5Pcreate(H5P_DATASET_CREATE);
    if (H5Zfilter_avail(305) > 0 && (H5Pset_chunk(dcpl, 1, &n) < 0 || H5Pset_filter(dcpl, 305, H5Z_FLAG_MANDATORY, 0, NULL) < 0))
        return 1;
    hid_t      one = H5Screate_simple(1, &n, NULL), f = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t      d   = H5Dcreate2(f, "d", H5T_STD_I32LE, one, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t      r   = H5Dcreate2(f, "r", H5T_STD_REF_OBJ, one, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    if (H5Rcreate(&ref, f, "d", H5R_OBJECT, -1) < 0 || H5Dwrite(r, H5T_STD_REF_OBJ, H5S_ALL, H5S_ALL, H5P_DEFAULT, &ref) < 0)
        return 1;
    return H5Dclose(d) < 0 || H5Dclose(r) < 0 || H5Sclose(one) < 0 || H5Pclose(dcpl) < 0 || H5Fclose(f) < 0;
}

static void write_where_it_leads(hid_t f, int value)
{
    hobj_ref_t ref = 0;
    hid_t      r   = H5Dopen2(f, "r", H5P_DEFAULT);
    if (H5Dread(r, H5T_STD_REF_OBJ, H5S_ALL, H5S_ALL, H5P_DEFAULT, &ref) < 0)
        exit(1);
    hid_t d = H5Rdereference2(f, H5P_DEFAULT, H5R_OBJECT, &ref);
    if (H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value) < 0 || H5Dclose(d) < 0 || H5Dclose(r) < 0)
        exit(1);
}

static int value_of(hid_t f)
{
    int   value = -1;
    hid_t d     = H5Dopen2(f, "d", H5P_DEFAULT);
    if (H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value) < 0 || H5Dclose(d) < 0)
        exit(1);
    return value;
}

int main(int argc, char **argv)
{
    if (argc == 2)
        return make_file(argv[1]);
    hid_t f[2];
    for (int i = 0; i < 2; i++)
        f[i] = H5Fopen(argv[1 + i], H5F_ACC_RDWR, H5P_DEFAULT);
    for (int i = 0; i < 2; i++)
        write_where_it_leads(f[i], 10 + i);
    int first = value_of(f[0]), second = value_of(f[1]);
    if (first != 10 || second != 11)
        (void)fprintf(stderr, "the values are %d and %d, not 10 and 11\n", first, second);
    return first != 10 || second != 11 || H5Fclose(f[0]) < 0 || H5Fclose(f[1]) < 0;
}
