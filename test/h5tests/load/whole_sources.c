/* Virtual datasets whose sources are used whole (H5S_ALL), of two dimensions.
 *
 *   whole_sources make DIR     native files source0.h5, source1.h5, virtual.h5 there
 *   whole_sources print FILE   the mappings of each virtual dataset, and its elements */
#include <string.h>

#include "h5tests/helpers/must_succeed.h"

enum { ROWS = 4, COLS = 6 };

static void make_source(hid_t f, int k)
{
    hsize_t dims[2] = {ROWS, COLS};
    int v[ROWS * COLS];
    for (int i = 0; i < ROWS * COLS; i++)
        v[i] = 100 * k + i + 1;
    hid_t s = TRY(H5Screate_simple(2, dims, NULL)),
          d = TRY(H5Dcreate2(f, "d", H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    TRY(H5Dclose(d));
    TRY(H5Sclose(s));
}

static void make_source_file(const char *name, int k)
{
    hid_t f = TRY(H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    make_source(f, k);
    TRY(H5Fclose(f));
}

/* One source is all of it. */
static void make_all(hid_t f, const char *as, const char *source)
{
    hsize_t dims[2] = {ROWS, COLS};
    hid_t s = TRY(H5Screate_simple(2, dims, NULL)), p = TRY(H5Pcreate(H5P_DATASET_CREATE));
    TRY(H5Pset_virtual(p, s, source, "d", s));
    TRY(H5Dclose(TRY(H5Dcreate2(f, as, H5T_STD_I32LE, s, H5P_DEFAULT, p, H5P_DEFAULT))));
    TRY(H5Pclose(p));
    TRY(H5Sclose(s));
}

/* @p n sources below each other, or (across) beside each other. */
static void make_virtual(hid_t f, const char *as, hsize_t n, int across)
{
    hsize_t one[2] = {ROWS, COLS}, all[2] = {across ? ROWS : n * ROWS, across ? n * COLS : COLS};
    hid_t whole = TRY(H5Screate_simple(2, one, NULL)), s = TRY(H5Screate_simple(2, all, NULL)),
          p = TRY(H5Pcreate(H5P_DATASET_CREATE));
    for (hsize_t k = 0; k < n; k++) {
        hsize_t start[2] = {across ? 0 : k * ROWS, across ? k * COLS : 0};
        char name[32];
        (void)snprintf(name, sizeof name, "source%d.h5", (int)k);
        TRY(H5Sselect_hyperslab(s, H5S_SELECT_SET, start, NULL, one, NULL));
        TRY(H5Pset_virtual(p, s, name, "d", whole));
    }
    TRY(H5Sselect_all(s));
    TRY(H5Dclose(TRY(H5Dcreate2(f, as, H5T_STD_I32LE, s, H5P_DEFAULT, p, H5P_DEFAULT))));
    TRY(H5Pclose(p));
    TRY(H5Sclose(s));
    TRY(H5Sclose(whole));
}

static void make_files(const char *dir)
{
    if (chdir(dir) != 0)
        die(dir);
    make_source_file("source0.h5", 0);
    make_source_file("source1.h5", 1);
    hid_t f = TRY(H5Fcreate("virtual.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    make_virtual(f, "below", 2, 0);
    make_virtual(f, "beside", 2, 1);
    make_virtual(f, "one", 1, 0);
    make_all(f, "all", "source0.h5");
    make_source(f, 2);
    make_all(f, "own", "."); /* a source in the same file */
    TRY(H5Fclose(f));
}

/* A whole source has no extent of its own in a file: the extent that HDF5 makes up for it isn't the
 * mapping's. */
static void print_space(const char *what, hid_t s)
{
    hsize_t from[2], to[2];
    H5S_sel_type type = H5Sget_select_type(s);
    (void)printf(" %s %d", what, (int)type);
    if (type != H5S_SEL_ALL) {
        TRY(H5Sget_select_bounds(s, from, to));
        (void)printf(": %d elements from %d,%d to %d,%d", (int)H5Sget_select_npoints(s), (int)from[0],
                     (int)from[1], (int)to[0], (int)to[1]);
    }
    TRY(H5Sclose(s));
}

/* Reads from the first source, and no other. */
static void print_part(hid_t d, hid_t s)
{
    hsize_t from[2] = {1, 2}, n[2] = {2, 3};
    int v[6] = {0};
    hid_t m = TRY(H5Screate_simple(2, n, NULL));
    TRY(H5Sselect_hyperslab(s, H5S_SELECT_SET, from, NULL, n, NULL));
    TRY(H5Dread(d, H5T_NATIVE_INT, m, s, H5P_DEFAULT, v));
    (void)printf(" of them %d %d %d, %d %d %d\n", v[0], v[1], v[2], v[3], v[4], v[5]);
    TRY(H5Sclose(m));
}

static void print_dataset(hid_t f, const char *name)
{
    size_t n = 0;
    int v[2 * ROWS * COLS] = {0};
    hid_t d = TRY(H5Dopen2(f, name, H5P_DEFAULT)), p = TRY(H5Dget_create_plist(d)), s = TRY(H5Dget_space(d));
    TRY(H5Pget_virtual_count(p, &n));
    (void)printf("%s: layout %d, %zu mappings\n", name, (int)H5Pget_layout(p), n);
    for (size_t i = 0; i < n; i++) {
        char file[100], dset[100];
        TRY(H5Pget_virtual_filename(p, i, file, sizeof file));
        TRY(H5Pget_virtual_dsetname(p, i, dset, sizeof dset));
        (void)printf("%s %s", file, dset);
        print_space("source", TRY(H5Pget_virtual_srcspace(p, i)));
        print_space("target", TRY(H5Pget_virtual_vspace(p, i)));
        (void)printf("\n");
    }
    TRY(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    for (int i = 0; i < (int)H5Sget_simple_extent_npoints(s); i++)
        (void)printf(" %d", v[i]);
    (void)printf("\n");
    print_part(d, s);
    TRY(H5Sclose(s));
    TRY(H5Pclose(p));
    TRY(H5Dclose(d));
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "make") == 0) {
        make_files(argv[2]);
        return 0;
    }
    if (argc != 3 || strcmp(argv[1], "print") != 0)
        return 2;
    hid_t f = TRY(H5Fopen(argv[2], H5F_ACC_RDONLY, H5P_DEFAULT));
    print_dataset(f, "below");
    print_dataset(f, "beside");
    print_dataset(f, "one");
    print_dataset(f, "all");
    print_dataset(f, "own");
    TRY(H5Fclose(f));
    return 0;
}
