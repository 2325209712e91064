/* make_refs FILE N: references to attribute aN of dataset d (N in 5100 digits), and to regions of d: row N,
 * all but row N, element N. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 6, COLUMNS = 5 };

static int select_regions(hid_t file, hid_t space, hsize_t n, H5R_ref_t *refs)
{
    const hsize_t start[] = {n, 0}, count[] = {1, COLUMNS}, element[] = {n, 2};
    if (H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) < 0 ||
        H5Rcreate_region(file, "d", space, H5P_DEFAULT, &refs[1]) < 0)
        return -1;
    hid_t whole = H5Scopy(space);
    if (H5Sselect_all(whole) < 0 || H5Sselect_hyperslab(whole, H5S_SELECT_XOR, start, NULL, count, NULL) < 0 ||
        H5Rcreate_region(file, "d", whole, H5P_DEFAULT, &refs[2]) < 0 || H5Sclose(whole) < 0)
        return -1;
    if (H5Sselect_elements(space, H5S_SELECT_SET, 1, element) < 0)
        return -1;
    return H5Rcreate_region(file, "d", space, H5P_DEFAULT, &refs[3]);
}

int main(int argc, char **argv)
{
    const hsize_t dims[] = {ROWS, COLUMNS};
    hsize_t       n      = argc == 3 ? strtoull(argv[2], NULL, 10) : ROWS;
    H5R_ref_t     refs[4];
    char          name[5200];
    if (n >= ROWS)
        return 2;
    (void)snprintf(name, sizeof name, "a%05100d", (int)n);
    hid_t f = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), s = H5Screate_simple(2, dims, NULL);
    hid_t d = H5Dcreate2(f, "d", H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    for (int i = 0; i < ROWS; i++) {
        char one[5200];
        (void)snprintf(one, sizeof one, "a%05100d", i);
        hid_t a = H5Acreate2(d, one, H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT);
        if (a < 0 || H5Aclose(a) < 0)
            return 1;
    }
    if (H5Rcreate_attr(f, "d", name, H5P_DEFAULT, &refs[0]) < 0 || select_regions(f, s, n, refs) < 0)
        return 1;
    for (int i = 0; i < 4; i++) {
        hid_t one = H5Screate(H5S_SCALAR);
        (void)snprintf(name, sizeof name, "ref%d", i);
        hid_t r = H5Dcreate2(f, name, H5T_STD_REF, one, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        if (H5Dwrite(r, H5T_STD_REF, H5S_ALL, H5S_ALL, H5P_DEFAULT, &refs[i]) < 0 || H5Dclose(r) < 0 || H5Sclose(one) < 0 ||
            H5Rdestroy(&refs[i]) < 0)
            return 1;
    }
    return H5Dclose(d) < 0 || H5Sclose(s) < 0 || H5Fclose(f) < 0;
}
