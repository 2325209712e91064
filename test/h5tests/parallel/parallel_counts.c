/* mpiexec -n N h5_parallel_counts write|read|plain|meta|own|many|all NAME: for parallel_counts.py, which counts the requests of all processes.
 *
 * write  a new domain with one deflated dataset, by one collective H5Dwrite in which rows of all processes lie in
 *        each chunk
 * read   open it, and read its last element in each process
 * meta   a new domain with 8 groups of a dataset each; then open it with H5Pset_all_coll_metadata_ops, and open all
 * own    the same without H5Pset_all_coll_metadata_ops
 * many   a new domain with 200 datasets; then change an attribute of each, and read them all
 * plain  a plain HDF5 file, by HDF5 itself, with the dataset behind 8 MiB of others
 * all    open it, and read all of it in each process, by one collective H5Dread */
#include "h5tests/parallel/parallel.h"

#include <stdlib.h>
#include <string.h>

#define ROWS  256
#define COLS  512
#define MANY  200
#define CHUNK 64 /* rows of a chunk: a whole one has 64 x 512 doubles, 256 KiB */

static void write_it(const char *name)
{
    hsize_t dims[2] = {ROWS, COLS}, chunk[2] = {CHUNK, COLS}, start[2] = {(hsize_t)rank, 0}, stride[2] = {(hsize_t)size, 1},
            count[2] = {(hsize_t)((ROWS - rank + size - 1) / size), COLS}, n = count[0] * count[1];
    hid_t   fapl = mpio_list(MPI_INFO_NULL), f = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    hid_t   space = H5Screate_simple(2, dims, NULL), mem = H5Screate_simple(1, &n, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE),
          dxpl = H5Pcreate(H5P_DATASET_XFER);
    double *v = malloc(n * sizeof *v);
    CHECK(f >= 0 && is_ours(f), "process %d: H5Fcreate: %s", rank, error_text());
    H5Pset_chunk(dcpl, 2, chunk);
    H5Pset_deflate(dcpl, 1);
    H5Pset_dxpl_mpio(dxpl, H5FD_MPIO_COLLECTIVE);
    hid_t d = H5Dcreate2(f, "d", H5T_IEEE_F64LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    for (hsize_t i = 0; i < n; i++)
        v[i] = (double)(((hsize_t)rank + i / COLS * (hsize_t)size) * COLS + i % COLS);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, NULL);
    CHECK(H5Dwrite(d, H5T_NATIVE_DOUBLE, mem, space, dxpl, v) >= 0, "process %d: H5Dwrite: %s", rank, error_text());
    free(v);
    H5Dclose(d);
    H5Pclose(dxpl);
    H5Pclose(dcpl);
    H5Sclose(mem);
    H5Sclose(space);
    CHECK(H5Fclose(f) >= 0, "process %d: H5Fclose: %s", rank, error_text());
    H5Pclose(fapl);
}

/* Without MPI, by process 0. */
static void write_plain(const char *name)
{
    hsize_t pad = 8 << 20, dims[2] = {ROWS, COLS}, chunk[2] = {CHUNK, COLS};
    hid_t fapl = fapl_native(), f = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    hid_t bytes = H5Screate_simple(1, &pad, NULL), space = H5Screate_simple(2, dims, NULL);
    double *v = calloc((size_t)ROWS * COLS, sizeof *v);
    CHECK(f >= 0 && !is_ours(f), "H5Fcreate by HDF5 itself: %s", error_text());
    H5Pset_alloc_time(dcpl, H5D_ALLOC_TIME_EARLY);
    CHECK(H5Dclose(H5Dcreate2(f, "pad", H5T_STD_U8LE, bytes, H5P_DEFAULT, dcpl, H5P_DEFAULT)) >= 0, "pad: %s", error_text());
    H5Pset_chunk(dcpl, 2, chunk);
    H5Pset_deflate(dcpl, 1);
    hid_t d = H5Dcreate2(f, "d", H5T_IEEE_F64LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    for (size_t i = 0; i < (size_t)ROWS * COLS; i++)
        v[i] = (double)i;
    CHECK(H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0, "H5Dwrite: %s", error_text());
    free(v);
    H5Dclose(d);
    H5Pclose(dcpl);
    H5Sclose(bytes);
    H5Sclose(space);
    CHECK(H5Fclose(f) >= 0, "H5Fclose: %s", error_text());
    H5Pclose(fapl);
}

static void read_it(const char *name)
{
    hid_t   fapl = mpio_list(MPI_INFO_NULL), f = H5Fopen(name, H5F_ACC_RDONLY, fapl), d = H5Dopen2(f, "d", H5P_DEFAULT);
    hsize_t at[2] = {ROWS - 1, COLS - 1}, one = 1;
    hid_t   space = H5Dget_space(d), mem = H5Screate_simple(1, &one, NULL);
    double  v = 0;
    CHECK(f >= 0 && is_ours(f), "process %d: H5Fopen: %s", rank, error_text());
    H5Sselect_elements(space, H5S_SELECT_SET, 1, at);
    CHECK(H5Dread(d, H5T_NATIVE_DOUBLE, mem, space, H5P_DEFAULT, &v) >= 0 && v == ROWS * COLS - 1, "process %d: %g: %s", rank, v,
          error_text());
    H5Sclose(mem);
    H5Sclose(space);
    H5Dclose(d);
    H5Fclose(f);
    H5Pclose(fapl);
}

static void read_all(const char *name)
{
    hid_t   fapl = mpio_list(MPI_INFO_NULL), f = H5Fopen(name, H5F_ACC_RDONLY, fapl), d = H5Dopen2(f, "d", H5P_DEFAULT),
          dxpl = H5Pcreate(H5P_DATASET_XFER);
    double *v = malloc(sizeof *v * ROWS * COLS);
    size_t  wrong = 0;
    CHECK(f >= 0 && is_ours(f), "process %d: H5Fopen: %s", rank, error_text());
    H5Pset_dxpl_mpio(dxpl, H5FD_MPIO_COLLECTIVE);
    CHECK(H5Dread(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, dxpl, v) >= 0, "process %d: %s", rank, error_text());
    for (size_t i = 0; i < (size_t)ROWS * COLS; i++)
        wrong += v[i] != (double)i;
    CHECK(wrong == 0, "process %d: %zu elements are wrong", rank, wrong);
    free(v);
    H5Pclose(dxpl);
    H5Dclose(d);
    H5Fclose(f);
    H5Pclose(fapl);
}

static void metadata(const char *name, bool together)
{
    char  path[32];
    hid_t fapl = mpio_list(MPI_INFO_NULL), f = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl), space = H5Screate(H5S_SCALAR);
    for (int i = 0; i < 8; i++) {
        snprintf(path, sizeof path, "g%d", i);
        hid_t g = H5Gcreate2(f, path, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        hid_t d = H5Dcreate2(g, "d", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        CHECK(g >= 0 && d >= 0, "process %d, %s: %s", rank, path, error_text());
        H5Dclose(d);
        H5Gclose(g);
    }
    H5Sclose(space);
    CHECK(H5Fclose(f) >= 0, "process %d: H5Fclose: %s", rank, error_text());
    CHECK(H5Pset_all_coll_metadata_ops(fapl, together) >= 0, "H5Pset_all_coll_metadata_ops");
    f = H5Fopen(name, H5F_ACC_RDONLY, fapl);
    CHECK(f >= 0 && is_ours(f), "process %d: H5Fopen: %s", rank, error_text());
    for (int i = 0; i < 8; i++) {
        snprintf(path, sizeof path, "g%d/d", i);
        hid_t d = H5Dopen2(f, path, H5P_DEFAULT);
        CHECK(d >= 0, "process %d, %s: %s", rank, path, error_text());
        H5Dclose(d);
    }
    H5Fclose(f);
    H5Pclose(fapl);
}

static void write_attribute(hid_t d, int v)
{
    hid_t a = H5Aopen(d, "number", H5P_DEFAULT);
    CHECK(a >= 0 && H5Awrite(a, H5T_NATIVE_INT, &v) >= 0, "process %d, attribute %d: %s", rank, v, error_text());
    H5Aclose(a);
}

static void check_attribute(hid_t d, int expected)
{
    int v = -1;
    hid_t a = H5Aopen(d, "number", H5P_DEFAULT);
    CHECK(a >= 0 && H5Aread(a, H5T_NATIVE_INT, &v) >= 0 && v == expected, "process %d: attribute is %d, not %d: %s", rank, v, expected,
          error_text());
    H5Aclose(a);
}

static void create_many(hid_t f)
{
    char path[32];
    hid_t space = H5Screate(H5S_SCALAR);
    for (int i = 0; i < MANY; i++) {
        snprintf(path, sizeof path, "d%d", i);
        hid_t d = H5Dcreate2(f, path, H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        hid_t a = H5Acreate2(d, "number", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT);
        CHECK(d >= 0 && a >= 0, "process %d, %s: %s", rank, path, error_text());
        H5Aclose(a);
        write_attribute(d, i);
        H5Dclose(d);
    }
    H5Sclose(space);
}

static void each_of_many(hid_t f, void (*fn)(hid_t d, int v), int more)
{
    char path[32];
    for (int i = 0; i < MANY; i++) {
        snprintf(path, sizeof path, "d%d", i);
        hid_t d = H5Dopen2(f, path, H5P_DEFAULT);
        CHECK(d >= 0, "process %d, %s: %s", rank, path, error_text());
        fn(d, i + more);
        H5Dclose(d);
    }
}

/* New objects are PUT without, changed ones with the version that they replace. */
static void many(const char *name)
{
    hid_t fapl = mpio_list(MPI_INFO_NULL), f = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    CHECK(H5Pset_all_coll_metadata_ops(fapl, true) >= 0, "H5Pset_all_coll_metadata_ops");
    CHECK(f >= 0 && is_ours(f), "process %d: H5Fcreate: %s", rank, error_text());
    create_many(f);
    CHECK(H5Fclose(f) >= 0, "process %d: H5Fclose: %s", rank, error_text());
    f = H5Fopen(name, H5F_ACC_RDWR, fapl);
    each_of_many(f, write_attribute, 1000);
    CHECK(H5Fflush(f, H5F_SCOPE_GLOBAL) >= 0, "process %d: H5Fflush: %s", rank, error_text());
    each_of_many(f, write_attribute, 2000); /* on top of versions that other processes stored */
    CHECK(H5Fclose(f) >= 0, "process %d: H5Fclose: %s", rank, error_text());
    f = H5Fopen(name, H5F_ACC_RDONLY, fapl);
    each_of_many(f, check_attribute, 2000);
    H5Fclose(f);
    H5Pclose(fapl);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc == 3, "mpiexec -n N h5_parallel_counts write|read|plain|meta|own|many|all NAME");
    if (strcmp(argv[1], "write") == 0)
        write_it(argv[2]);
    else if (strcmp(argv[1], "meta") == 0)
        metadata(argv[2], true);
    else if (strcmp(argv[1], "own") == 0)
        metadata(argv[2], false);
    else if (strcmp(argv[1], "plain") == 0 && rank == 0)
        write_plain(argv[2]);
    else if (strcmp(argv[1], "many") == 0)
        many(argv[2]);
    else if (strcmp(argv[1], "read") == 0)
        read_it(argv[2]);
    else
        read_all(argv[2]);
    int failed = all_failures();
    MPI_Finalize();
    return failed != 0;
}
