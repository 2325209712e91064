/* mpiexec -n N h5_parallel_collective FOLDER-OR-URI: collective writes of many forms, compared with the elements that are
 * read back.  parallel_counts.py counts requests. */
#include "h5tests/parallel/parallel.h"

#include <stdlib.h>
#include <string.h>

#define ROWS 96
#define COLS 64

static hid_t collective(void)
{
    hid_t dxpl = H5Pcreate(H5P_DATASET_XFER);
    CHECK(H5Pset_dxpl_mpio(dxpl, H5FD_MPIO_COLLECTIVE) >= 0, "H5Pset_dxpl_mpio");
    return dxpl;
}

static hid_t make(hid_t f, const char *name, hid_t type, hsize_t chunk_rows, hsize_t chunk_cols, bool deflate)
{
    hsize_t dims[2] = {ROWS, COLS}, chunk[2] = {chunk_rows, chunk_cols};
    hid_t   space = H5Screate_simple(2, dims, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    if (chunk_rows) {
        H5Pset_chunk(dcpl, 2, chunk);
        if (deflate) {
            H5Pset_shuffle(dcpl);
            H5Pset_deflate(dcpl, 3);
        }
    }
    hid_t d = H5Dcreate2(f, name, type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    CHECK(d >= 0, "process %d: %s: %s", rank, name, error_text());
    H5Pclose(dcpl);
    H5Sclose(space);
    return d;
}

static double value_of(size_t i) { return (double)(i * 7 % 100003) + 0.5; }

/* Rows rank, rank + size, ...: each process writes a part of each chunk. */
static hid_t my_rows(hid_t d, hsize_t *n)
{
    hid_t   space    = H5Dget_space(d);
    hsize_t start[2] = {(hsize_t)rank, 0}, stride[2] = {(hsize_t)size, 1}, count[2] = {(hsize_t)((ROWS - rank + size - 1) / size), COLS};
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, NULL);
    *n = count[0] * count[1];
    return space;
}

static void write_rows(hid_t d, hid_t dxpl, const char *what)
{
    hsize_t n;
    hid_t   file = my_rows(d, &n), mem = H5Screate_simple(1, &n, NULL);
    float  *v    = malloc(n * sizeof *v); /* converted to the dataset's doubles */
    for (hsize_t i = 0; i < n; i++)
        v[i] = (float)value_of(((hsize_t)rank + i / COLS * (hsize_t)size) * COLS + i % COLS);
    CHECK(H5Dwrite(d, H5T_NATIVE_FLOAT, mem, file, dxpl, v) >= 0, "process %d, %s: %s", rank, what, error_text());
    free(v);
    H5Sclose(mem);
    H5Sclose(file);
}

static void check(hid_t d, hid_t dxpl, size_t missing_from, const char *what)
{
    double *v     = calloc((size_t)ROWS * COLS, sizeof *v);
    size_t  wrong = 0;
    CHECK(H5Dread(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, dxpl, v) >= 0, "process %d, %s: %s", rank, what, error_text());
    for (size_t i = 0; i < (size_t)ROWS * COLS; i++)
        wrong += v[i] != (i < missing_from ? value_of(i) : 0);
    CHECK(wrong == 0, "process %d, %s: %zu of %d elements are wrong", rank, what, wrong, ROWS * COLS);
    free(v);
}

static void report(hid_t dxpl, H5D_mpio_actual_io_mode_t want, const char *what)
{
    H5D_mpio_actual_io_mode_t mode  = H5D_MPIO_NO_COLLECTIVE;
    uint32_t                  local = 99, global = 99;
    CHECK(H5Pget_mpio_actual_io_mode(dxpl, &mode) >= 0 && mode == want, "process %d, %s: I/O mode %d, not %d", rank, what, (int)mode, (int)want);
    CHECK(H5Pget_mpio_no_collective_cause(dxpl, &local, &global) >= 0 && local == 0 && global == 0, "process %d, %s: causes %u, %u", rank,
          what, local, global);
}

static void rows(hid_t f, hid_t dxpl)
{
    hid_t d = make(f, "rows", H5T_IEEE_F64LE, 16, 32, true);
    write_rows(d, dxpl, "rows");
    report(dxpl, H5D_MPIO_CHUNK_COLLECTIVE, "rows");
    check(d, dxpl, (size_t)ROWS * COLS, "rows");
    H5Dclose(d);
    d = make(f, "contiguous", H5T_IEEE_F64LE, 0, 0, false);
    write_rows(d, dxpl, "contiguous");
    report(dxpl, H5D_MPIO_CONTIGUOUS_COLLECTIVE, "contiguous");
    check(d, dxpl, (size_t)ROWS * COLS, "contiguous");
    H5Dclose(d);
}

/* One process writes all, the others take part with no elements; a chunk is written in part. */
static void one_writes(hid_t f, hid_t dxpl)
{
    hid_t   d = make(f, "one", H5T_IEEE_F64LE, 20, 24, true), space = H5Dget_space(d);
    hsize_t start[2] = {0, 0}, count[2] = {50, COLS}, n = count[0] * count[1];
    hid_t   mem = H5Screate_simple(1, &n, NULL);
    double *v   = malloc(n * sizeof *v);
    for (hsize_t i = 0; i < n; i++)
        v[i] = value_of(i);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    if (rank != size - 1) {
        H5Sselect_none(space);
        H5Sselect_none(mem);
    }
    CHECK(H5Dwrite(d, H5T_NATIVE_DOUBLE, mem, space, dxpl, rank == size - 1 ? v : NULL) >= 0, "process %d, one: %s", rank, error_text());
    check(d, dxpl, (size_t)n, "one");
    free(v);
    H5Sclose(mem);
    H5Sclose(space);
    H5Dclose(d);
}

/* Points in no order, all elements together. */
static void points(hid_t f, hid_t dxpl)
{
    hid_t    d = make(f, "points", H5T_IEEE_F64LE, 7, 9, false), space = H5Dget_space(d);
    hsize_t *at = malloc((size_t)ROWS * COLS * 2 * sizeof *at), n = 0;
    double  *v  = malloc((size_t)ROWS * COLS * sizeof *v);
    for (size_t k = 0; k < (size_t)ROWS * COLS; k++) {
        size_t i = k * 4099 % ((size_t)ROWS * COLS); /* 4099 is a prime */
        if (k % (size_t)size != (size_t)rank)
            continue;
        at[2 * n] = i / COLS, at[2 * n + 1] = i % COLS;
        v[n++] = value_of(i);
    }
    hid_t mem = H5Screate_simple(1, &n, NULL);
    CHECK(H5Sselect_elements(space, H5S_SELECT_SET, n, at) >= 0, "process %d: H5Sselect_elements", rank);
    CHECK(H5Dwrite(d, H5T_NATIVE_DOUBLE, mem, space, dxpl, v) >= 0, "process %d, points: %s", rank, error_text());
    check(d, dxpl, (size_t)ROWS * COLS, "points");
    free(at);
    free(v);
    H5Sclose(mem);
    H5Sclose(space);
    H5Dclose(d);
}

/* Strings of variable length; two datasets in one call. */
static void strings(hid_t f, hid_t dxpl)
{
    hid_t   type = H5Tcopy(H5T_C_S1), d[2], types[2], mems[2], files[2];
    hsize_t n    = 0;
    H5Tset_size(type, H5T_VARIABLE);
    for (int k = 0; k < 2; k++) {
        d[k]     = make(f, k ? "strings2" : "strings", type, 10, 10, k == 1);
        types[k] = type;
        files[k] = my_rows(d[k], &n);
        mems[k]  = H5Screate_simple(1, &n, NULL);
    }
    char      **v       = calloc(n, sizeof *v);
    const void *bufs[2] = {v, v};
    for (hsize_t i = 0; i < n; i++) {
        v[i] = malloc(40);
        snprintf(v[i], 40, "%.*s%d", (int)(i % 9), "xxxxxxxxxx", (int)(((hsize_t)rank + i / COLS * (hsize_t)size) * COLS + i % COLS));
    }
    CHECK(H5Dwrite_multi(2, d, types, mems, files, dxpl, bufs) >= 0, "process %d, strings: %s", rank, error_text());
    for (int k = 0; k < 2; k++) {
        char **got   = calloc((size_t)ROWS * COLS, sizeof *got);
        size_t wrong = 0;
        hid_t  space = H5Dget_space(d[k]);
        CHECK(H5Dread(d[k], type, H5S_ALL, H5S_ALL, H5P_DEFAULT, got) >= 0, "process %d, strings: %s", rank, error_text());
        for (size_t i = 0; i < (size_t)ROWS * COLS; i++)
            wrong += !got[i] || (size_t)atoi(got[i] + strspn(got[i], "x")) != i;
        CHECK(wrong == 0, "process %d: %zu strings of dataset %d are wrong", rank, wrong, k);
        H5Treclaim(type, space, H5P_DEFAULT, got);
        free(got);
        H5Sclose(space);
        H5Sclose(mems[k]);
        H5Sclose(files[k]);
        H5Dclose(d[k]);
    }
    for (hsize_t i = 0; i < n; i++)
        free(v[i]);
    free(v);
    H5Tclose(type);
}

/* Without selection I/O a conversion in one process prevents collective access in all. */
static void selection_off(hid_t f)
{
    const uint32_t conversion = H5D_MPIO_DATATYPE_CONVERSION | H5D_MPIO_NO_SELECTION_IO;
    hid_t dxpl = collective(), d = make(f, "off", H5T_IEEE_F64LE, 16, 32, true), space = H5Dget_space(d);
    double *v = malloc((size_t)ROWS * COLS * sizeof *v);
    int *ints = calloc((size_t)ROWS * COLS, sizeof *ints);
    H5D_mpio_actual_io_mode_t mode = H5D_MPIO_CHUNK_COLLECTIVE;
    uint32_t local = 99, global = 99, how = 99, why = 99;
    for (size_t i = 0; i < (size_t)ROWS * COLS; i++)
        v[i] = value_of(i);
    H5Pset_selection_io(dxpl, H5D_SELECTION_IO_MODE_OFF);
    if (rank != 0)
        H5Sselect_none(space);
    CHECK(H5Dwrite(d, rank == 0 ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT, space, space, dxpl,
                   rank == 0 ? (void *)v : ints) >= 0,
          "process %d, off: %s", rank, error_text());
    CHECK(H5Pget_mpio_actual_io_mode(dxpl, &mode) >= 0 && mode == H5D_MPIO_NO_COLLECTIVE,
          "process %d, off: I/O mode %d", rank, (int)mode);
    CHECK(H5Pget_mpio_no_collective_cause(dxpl, &local, &global) >= 0 &&
              local == (rank == 0 ? 0 : conversion) && global == conversion,
          "process %d, off: causes %x, %x", rank, local, global);
    CHECK(H5Pget_no_selection_io_cause(dxpl, &why) >= 0 && why == H5D_SEL_IO_DISABLE_BY_API,
          "process %d, off: cause %x", rank, why);
    CHECK(H5Pget_actual_selection_io_mode(dxpl, &how) >= 0 && how == (rank == 0 ? H5D_SCALAR_IO : 0),
          "process %d, off: way %u", rank, how);
    MPI_Barrier(MPI_COMM_WORLD);
    check(d, dxpl, (size_t)ROWS * COLS, "off");
    H5Pset_selection_io(dxpl, H5D_SELECTION_IO_MODE_ON);
    write_rows(d, dxpl, "on again");
    report(dxpl, H5D_MPIO_CHUNK_COLLECTIVE, "on again");
    CHECK(H5Pget_actual_selection_io_mode(dxpl, &how) >= 0 && how == H5D_VECTOR_IO,
          "process %d, on again: way %u", rank, how);
    free(v);
    free(ints);
    H5Pclose(dxpl);
    H5Sclose(space);
    H5Dclose(d);
}

/* Each process names two equal datasets in a sequence of its own, then only one of them: elements must not
 * get from one dataset into the other. */
static void other_datasets(hid_t f, hid_t dxpl)
{
    enum { N = ROWS * COLS };
    hid_t d[2], space = H5I_INVALID_HID, doubles[2] = {H5T_NATIVE_DOUBLE, H5T_NATIVE_DOUBLE};
    hid_t all[2] = {H5S_ALL, H5S_ALL}, in[2], mine[2], mem[2];
    double *v[2] = {malloc(N * sizeof(double)), malloc(N * sizeof(double))};
    hsize_t n = 0;
    size_t wrong = 0;
    for (int k = 0; k < 2; k++) {
        d[k] = make(f, k ? "other1" : "other0", H5T_IEEE_F64LE, 16, 16, false);
        for (size_t i = 0; i < N; i++)
            v[k][i] = value_of(i) + 1e6 * k;
    }
    int first = rank % 2;
    space = my_rows(d[0], &n);
    for (int k = 0; k < 2; k++) {
        in[k] = d[k ^ first];
        mine[k] = mem[k] = space;
    }
    const void *from[2] = {v[first], v[!first]};
    CHECK(H5Dwrite_multi(2, in, doubles, mem, mine, dxpl, from) >= 0, "process %d, two sequences: %s", rank,
          error_text());
    CHECK(H5Dwrite(in[0], H5T_NATIVE_DOUBLE, space, space, dxpl, v[first]) >= 0, "process %d, one each: %s",
          rank, error_text());
    MPI_Barrier(MPI_COMM_WORLD); /* after it, all have written */
    void *to[2] = {v[first], v[!first]};
    memset(v[0], 0, N * sizeof(double));
    memset(v[1], 0, N * sizeof(double));
    CHECK(H5Dread_multi(rank == 0 ? 1 : 2, in, doubles, all, all, dxpl, to) >= 0, "process %d: %s", rank,
          error_text());
    for (size_t i = 0; i < (size_t)N; i++)
        wrong += v[first][i] != value_of(i) + 1e6 * first ||
                 (rank > 0 && v[!first][i] != value_of(i) + 1e6 * !first);
    CHECK(wrong == 0, "process %d: %zu elements of two datasets are wrong", rank, wrong);
    for (int k = 0; k < 2; k++) {
        free(v[k]);
        H5Dclose(d[k]);
    }
    H5Sclose(space);
}

/* A process whose call is senseless fails, and the others with it: nothing hangs. */
static void one_fails(hid_t f, hid_t dxpl)
{
    hid_t   d = make(f, "fails", H5T_IEEE_F64LE, 16, 16, false), space = H5Dget_space(d);
    hsize_t n = rank == 0 ? 3 : (hsize_t)ROWS * COLS;
    hid_t   mem = H5Screate_simple(1, &n, NULL);
    double *v   = calloc((size_t)ROWS * COLS, sizeof *v);
    herr_t  rc;
    H5E_BEGIN_TRY
    {
        rc = H5Dwrite(d, H5T_NATIVE_DOUBLE, mem, space, dxpl, v);
    }
    H5E_END_TRY
    CHECK(rc < 0, "process %d: a write with too few elements in memory succeeds", rank);
    free(v);
    H5Sclose(mem);
    H5Sclose(space);
    H5Dclose(d);
}

int main(int argc, char **argv)
{
    char name[512];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size > 1 && argc >= 2, "mpiexec -n N h5_parallel_collective FOLDER-OR-URI, N > 1");
    own_name(argv[1], "collective", name, sizeof name);
    hid_t fapl = mpio_list(MPI_INFO_NULL), f = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl), dxpl = collective();
    CHECK(f >= 0 && is_ours(f), "process %d: H5Fcreate: %s", rank, error_text());
    rows(f, dxpl);
    one_writes(f, dxpl);
    points(f, dxpl);
    strings(f, dxpl);
    selection_off(f);
    other_datasets(f, dxpl);
    one_fails(f, dxpl);
    CHECK(H5Fclose(f) >= 0, "process %d: H5Fclose: %s", rank, error_text());
    if (rank == 0) {
        hid_t alone = fapl_ours("");
        f           = H5Fopen(name, H5F_ACC_RDONLY, alone);
        hid_t d     = H5Dopen2(f, "rows", H5P_DEFAULT);
        check(d, H5P_DEFAULT, (size_t)ROWS * COLS, "rows without MPI");
        H5Dclose(d);
        H5Fclose(f);
        H5Pclose(alone);
    }
    H5Pclose(dxpl);
    H5Pclose(fapl);
    int failed = all_failures();
    if (rank == 0)
        printf("%d processes wrote %s collectively by the connector: %s\n", size, name, failed ? "FAILED" : "ok");
    MPI_Finalize();
    return failed != 0;
}
