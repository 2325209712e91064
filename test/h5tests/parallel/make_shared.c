/* make_shared FOLDER FILES: the sources of shared_tool.py.  Written by native HDF5.
 *
 * FOLDER/big.h5 has datasets that are copied in each of the tool's ways: stored chunks as they are, chunks
 * that a domain stores in another shape, contiguous elements, elements that were never written, strings.  The
 * place of a deflated chunk in it is printed: offset and bytes. FOLDER/f0000.h5 and so on are FILES small
 * files. */
#include <string.h>

#include "h5tests/helpers/must_succeed_file.h"

#define SIDE 1024 /* of a square dataset */

static hid_t create(const char *folder, const char *name)
{
    char path[4096];
    REQUIRE(snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path, "%s", name);
    hid_t fapl = TRY(H5Pcreate(H5P_FILE_ACCESS));
    TRY(H5Pset_vol(fapl, H5VL_NATIVE, NULL));
    hid_t f = TRY(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl));
    TRY(H5Pclose(fapl));
    return f;
}

/* A square of numbers, of which only the first @p rows are written. */
static void square(hid_t at, const char *name, hsize_t chunk, unsigned deflate, hsize_t rows)
{
    struct made m = {.rank = 2, .dims = {SIDE, SIDE}, .chunk = {chunk, chunk}, .deflate = deflate};
    hid_t d = make_dataset(at, name, &m);
    int *v = numbers_from((hsize_t)SIDE * SIDE, (int)strlen(name), 3);
    const hsize_t n[2] = {rows, SIDE}, start[2] = {0};
    for (size_t i = 0; i < (size_t)SIDE * SIDE; i += 7)
        v[i] ^= (int)(i * 2654435761u); /* not all deflated away */
    hid_t s = TRY(H5Dget_space(d)), mem = TRY(H5Screate_simple(2, n, NULL));
    TRY(H5Sselect_hyperslab(s, H5S_SELECT_SET, start, NULL, n, NULL));
    TRY(H5Dwrite(d, H5T_NATIVE_INT, mem, s, H5P_DEFAULT, v));
    set_attr(d, "rows", (int)rows);
    if (deflate && chunk < 100) {
        haddr_t addr = 0;
        hsize_t size = 0;
        TRY(H5Dget_chunk_info(d, H5S_ALL, 200, NULL, NULL, &addr, &size));
        printf("%llu %llu\n", (unsigned long long)addr, (unsigned long long)size);
    }
    free(v);
    TRY(H5Sclose(mem));
    TRY(H5Sclose(s));
    TRY(H5Dclose(d));
}

static void texts(hid_t at)
{
    const char *v[3] = {"one", "", "three"};
    const hsize_t n = 3;
    hid_t type = TRY(H5Tcopy(H5T_C_S1)), s = TRY(H5Screate_simple(1, &n, NULL));
    TRY(H5Tset_size(type, H5T_VARIABLE));
    hid_t d = TRY(H5Dcreate2(at, "texts", type, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Dwrite(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    TRY(H5Dclose(d));
    TRY(H5Sclose(s));
    TRY(H5Tclose(type));
}

static void big(const char *folder)
{
    hid_t f = create(folder, "big.h5");
    hid_t g = TRY(H5Gcreate2(f, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    square(f, "as_they_are", 512, 4, SIDE);
    square(f, "other_shape", 64, 4, SIDE);
    square(g, "whole", 0, 0, SIDE);
    square(g, "half", 128, 0, SIDE / 2);
    square(g, "plain", 512, 0, SIDE);
    texts(g);
    TRY(H5Lcreate_hard(g, "whole", f, "again", H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Gclose(g));
    TRY(H5Fclose(f));
}

static void small(const char *folder, int i)
{
    char name[32];
    (void)snprintf(name, sizeof name, "f%04d.h5", i);
    hid_t f = create(folder, name);
    struct made m = {.dims = {4096}, .chunk = {1024}};
    hid_t d = make_dataset(f, "numbers", &m);
    write_all_numbers(d, 4096, i, 1);
    set_attr(d, "file", i);
    TRY(H5Dclose(d));
    TRY(H5Fclose(f));
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 3, "usage: make_shared FOLDER FILES");
    big(argv[1]);
    for (int i = 0; i < atoi(argv[2]); i++)
        small(argv[1], i);
    return 0;
}
