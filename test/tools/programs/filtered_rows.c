/* filtered_rows make NAME: make a file with a dataset of 2 x 64 numbers per pipeline of filters, a row a
 *     chunk.
 * filtered_rows check NAME DATASET CHANGED [WRITE]: check its elements.  The first row has CHANGED at 5
 *     (-1: the original number).  WRITE is written at 7 of the first row, and checked in the reopened file.
 * filtered_rows integers NAME: make a file with a dataset per kind of integer.
 * filtered_rows see NAME: check the types and values of these datasets. */
#include <hdf5.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 2, COLS = 64 };

static const struct {
    const char *name;
    struct {
        int      id;
        unsigned n, cd[8];
    } f[4];
} pipelines[] = {
    {"deflate", {{1, 1, {6}}}},
    {"shuffle_deflate", {{2, 0, {0}}, {1, 1, {6}}}},
    {"shuffle_deflate_fletcher32", {{2, 0, {0}}, {1, 1, {6}}, {3, 0, {0}}}},
    {"fletcher32_deflate", {{3, 0, {0}}, {1, 1, {6}}}},
    {"shuffle", {{2, 0, {0}}}},
    {"fletcher32", {{3, 0, {0}}}},
    {"shuffle_fletcher32", {{2, 0, {0}}, {3, 0, {0}}}},
    {"szip", {{4, 2, {32, 8}}}},
    {"shuffle_szip", {{2, 0, {0}}, {4, 2, {32, 8}}}},
    {"scaleoffset", {{6, 2, {2, 0}}}},
    {"scaleoffset_deflate", {{6, 2, {2, 0}}, {1, 1, {6}}}},
    {"nbit", {{5, 0, {0}}}},
    {"bzip2", {{307, 1, {9}}}},
    {"shuffle_bzip2", {{2, 0, {0}}, {307, 1, {9}}}},
    {"lzf", {{32000, 3, {4, 256, COLS * 4}}}},
    {"shuffle_lzf_fletcher32", {{2, 0, {0}}, {32000, 3, {4, 256, COLS * 4}}, {3, 0, {0}}}},
    {"blosc_zstd", {{32001, 7, {2, 2, 4, COLS * 4, 5, 1, 5}}}},
    {"shuffle_blosc_lz4", {{2, 0, {0}}, {32001, 7, {2, 2, 4, COLS * 4, 5, 0, 1}}}},
    {"lz4", {{32004, 0, {0}}}},
    {"zstd", {{32015, 1, {3}}}},
    {"bitshuffle", {{32008, 5, {0, 5, 4, 0, 0}}}},
    {"bitshuffle_lz4", {{32008, 5, {0, 5, 4, 0, 2}}}},
    {"bitshuffle_deflate", {{32008, 5, {0, 5, 4, 0, 0}}, {1, 1, {6}}}},
};

static int fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    return 1;
}

static int value(size_t i) { return (int)(i % 7) + (int)(i / 20); }

/* Numbers of 20 bits, for nbit's sake */
static int make_one(hid_t f, size_t k, hid_t space, hid_t type)
{
    hsize_t chunk[2] = {1, COLS};
    int     v[ROWS * COLS];
    hid_t   dcpl = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(dcpl, 2, chunk);
    for (size_t i = 0; i < 4 && pipelines[k].f[i].id; i++)
        if (H5Pset_filter(dcpl, pipelines[k].f[i].id, H5Z_FLAG_OPTIONAL, pipelines[k].f[i].n, pipelines[k].f[i].cd) < 0)
            return fail("H5Pset_filter");
    for (size_t i = 0; i < ROWS * COLS; i++)
        v[i] = value(i);
    hid_t d  = H5Dcreate2(f, pipelines[k].name, type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    int   rc = d < 0 || H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) < 0 ? fail(pipelines[k].name) : 0;
    if (d >= 0)
        rc |= H5Dclose(d) < 0;
    H5Pclose(dcpl);
    return rc;
}

static int make_file(const char *name)
{
    hsize_t dims[2] = {ROWS, COLS};
    hid_t   f = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), space = H5Screate_simple(2, dims, NULL);
    hid_t   few = H5Tcopy(H5T_STD_I32LE);
    int     rc  = f < 0;
    H5Tset_precision(few, 20);
    for (size_t k = 0; !rc && k < sizeof pipelines / sizeof *pipelines; k++)
        rc = make_one(f, k, space, strcmp(pipelines[k].name, "nbit") == 0 ? few : H5T_STD_I32LE);
    H5Tclose(few);
    H5Sclose(space);
    return rc || H5Fclose(f) < 0;
}

static int look(hid_t d, int changed, int written)
{
    int v[ROWS * COLS];
    if (H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) < 0)
        return fail("H5Dread");
    for (size_t i = 0; i < ROWS * COLS; i++) {
        int want = i == 5 && changed >= 0 ? changed : i == 7 && written >= 0 ? written : value(i);
        if (v[i] != want) {
            fprintf(stderr, "element %zu is %d instead of %d\n", i, v[i], want);
            return 1;
        }
    }
    return 0;
}

static int write_one(hid_t d, int v)
{
    hsize_t at[2] = {0, 7}, one = 1;
    hid_t   space = H5Dget_space(d), mem = H5Screate_simple(1, &one, NULL);
    H5Sselect_elements(space, H5S_SELECT_SET, 1, at);
    herr_t rc = H5Dwrite(d, H5T_NATIVE_INT, mem, space, H5P_DEFAULT, &v);
    H5Sclose(space);
    H5Sclose(mem);
    return rc < 0;
}

static int check(const char *name, const char *dset, int changed, int written)
{
    for (int again = 0; again < (written >= 0 ? 2 : 1); again++) {
        hid_t f = H5Fopen(name, written >= 0 ? H5F_ACC_RDWR : H5F_ACC_RDONLY, H5P_DEFAULT), d = H5Dopen2(f, dset, H5P_DEFAULT);
        if (d < 0 || look(d, changed, again ? written : -1) || (written >= 0 && !again && write_one(d, written)))
            return 1;
        H5Dclose(d);
        if (H5Fclose(f) < 0)
            return 1;
    }
    return 0;
}

/* ---- integers ---- */

static const struct {
    const char *name;
    bool        is_signed;
    unsigned    precision, offset;
} kinds[] = {
    {"whole", true, 32, 0},           {"unsigned_20", false, 20, 0},  {"signed_20", true, 20, 0},
    {"unsigned_20_at_4", false, 20, 4}, {"signed_20_at_4", true, 20, 4},
};

static hid_t type_of(size_t k)
{
    hid_t t = H5Tcopy(kinds[k].is_signed ? H5T_STD_I32LE : H5T_STD_U32LE);
    H5Tset_precision(t, kinds[k].precision);
    H5Tset_offset(t, kinds[k].offset);
    return t;
}

static int numbers(const char *name, bool make_them)
{
    hsize_t n = 3;
    hid_t   f = make_them ? H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT) : H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t   space = H5Screate_simple(1, &n, NULL);
    int     rc    = f < 0;
    for (size_t k = 0; !rc && k < sizeof kinds / sizeof *kinds; k++) {
        int   v[3] = {1, kinds[k].is_signed ? -2 : 2, 5000}, got[3] = {0};
        hid_t t = type_of(k), d = make_them ? H5Dcreate2(f, kinds[k].name, t, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)
                                            : H5Dopen2(f, kinds[k].name, H5P_DEFAULT);
        hid_t is = H5Dget_type(d);
        rc = d < 0 || H5Tequal(is, t) <= 0 || (make_them && H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) < 0) ||
             H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, got) < 0 || memcmp(v, got, sizeof v) != 0;
        if (rc)
            (void)fail(kinds[k].name);
        H5Tclose(is);
        H5Tclose(t);
        H5Dclose(d);
    }
    H5Sclose(space);
    return rc || H5Fclose(f) < 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && (strcmp(argv[1], "integers") == 0 || strcmp(argv[1], "see") == 0))
        return numbers(argv[2], argv[1][0] == 'i');
    if (argc >= 3 && strcmp(argv[1], "make") == 0)
        return make_file(argv[2]);
    if (argc >= 5 && strcmp(argv[1], "check") == 0)
        return check(argv[2], argv[3], atoi(argv[4]), argc > 5 ? atoi(argv[5]) : -1);
    return fail("filtered_rows make NAME | filtered_rows check NAME DATASET CHANGED [WRITE]");
}
