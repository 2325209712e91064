/* mpiexec -n N bench_parallelwrite write|first|groups HOW-MANY NAME (bench/parallel).  Process 0 prints the
 * seconds.
 *
 * write   a collective write of so many MiB of float32 rows, deflated; every process has rows of each chunk
 * first   opening that, and the first value in each process
 * groups  a new file with so many groups, made by all processes together */
#include <hdf5.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 4096
#define CHUNK   512 /* rows and columns: 1 MiB */

static void must(herr_t rc, const char *what)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "%s failed\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Smooth waves with some noise. */
static void fill(float *v, hsize_t row)
{
    uint32_t noise = (uint32_t)row * 2654435761U;
    for (int i = 0; i < COLUMNS; i++) {
        noise = noise * 1664525U + 1013904223U;
        v[i] = sinf((float)row / 300) * cosf((float)i / 200) + (float)(noise >> 20) / 1e6F;
    }
}

static void write_rows(const char *name, hid_t fapl, hsize_t rows, int rank, int size)
{
    hsize_t dims[2] = {rows, COLUMNS}, chunk[2] = {CHUNK, CHUNK}, start[2] = {(hsize_t)rank, 0},
            stride[2] = {(hsize_t)size, 1};
    hsize_t count[2] = {(rows - (hsize_t)rank + (hsize_t)size - 1) / (hsize_t)size, COLUMNS};
    float *v = malloc(count[0] * COLUMNS * sizeof *v);
    if (!v)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (hsize_t i = 0; i < count[0]; i++)
        fill(v + i * COLUMNS, (hsize_t)rank + i * (hsize_t)size);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    must((herr_t)file, "H5Fcreate");
    H5Pset_chunk(dcpl, 2, chunk);
    H5Pset_shuffle(dcpl);
    H5Pset_deflate(dcpl, 4);
    hid_t space = H5Screate_simple(2, dims, NULL), part = H5Screate_simple(2, count, NULL),
          dxpl = H5Pcreate(H5P_DATASET_XFER);
    hid_t set = H5Dcreate2(file, "rows", H5T_IEEE_F32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    must(H5Pset_dxpl_mpio(dxpl, H5FD_MPIO_COLLECTIVE), "H5Pset_dxpl_mpio");
    must(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, NULL), "H5Sselect_hyperslab");
    must(H5Dwrite(set, H5T_NATIVE_FLOAT, part, space, dxpl, v), "H5Dwrite");
    must(H5Dclose(set), "H5Dclose");
    must(H5Fclose(file), "H5Fclose");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("seconds %.3f\n", MPI_Wtime() - begin);
    free(v);
    H5Sclose(part);
    H5Sclose(space);
    H5Pclose(dxpl);
    H5Pclose(dcpl);
}

static void first_value(const char *name, hid_t fapl, int rank)
{
    float v = 0, want[COLUMNS];
    hsize_t at[2] = {0, 0}, one[2] = {1, 1};
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    hid_t file = H5Fopen(name, H5F_ACC_RDONLY, fapl), set = H5Dopen2(file, "rows", H5P_DEFAULT);
    must((herr_t)set, "opening");
    hid_t space = H5Dget_space(set), part = H5Screate_simple(2, one, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, at, NULL, one, NULL);
    must(H5Dread(set, H5T_NATIVE_FLOAT, part, space, H5P_DEFAULT, &v), "H5Dread");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("seconds %.3f\n", MPI_Wtime() - begin);
    fill(want, 0);
    must(memcmp(&v, want, sizeof v) == 0 ? 0 : -1, "comparing the first value");
    H5Sclose(part);
    H5Sclose(space);
    H5Dclose(set);
    H5Fclose(file);
}

static void groups(const char *name, hid_t fapl, int n, int rank)
{
    char path[32];
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    for (int i = 0; i < n; i++) {
        (void)snprintf(path, sizeof path, "g%d", i);
        must(H5Gclose(H5Gcreate2(file, path, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)), "H5Gcreate2");
    }
    must(H5Fclose(file), "H5Fclose");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("seconds %.3f\n", MPI_Wtime() - begin);
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 4 || atoi(argv[2]) < 1)
        MPI_Abort(MPI_COMM_WORLD, 2);
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    must(H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, MPI_INFO_NULL), "H5Pset_fapl_mpio");
    if (strcmp(argv[1], "write") == 0)
        write_rows(argv[3], fapl, (hsize_t)atoi(argv[2]) * 64, rank, size); /* 64 rows have 1 MiB */
    else if (strcmp(argv[1], "groups") == 0)
        groups(argv[3], fapl, atoi(argv[2]), rank);
    else
        first_value(argv[3], fapl, rank);
    H5Pclose(fapl);
    MPI_Finalize();
    return 0;
}
