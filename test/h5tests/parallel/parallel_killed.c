/* mpiexec -n N h5_parallel_killed write|check NAME: a process is killed while the others flush; what was flushed before
 * is there afterwards (killed.sh). */
#include "h5tests/parallel/parallel.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define N 1000

static hid_t make(hid_t f, const char *name)
{
    hsize_t n = N, chunk = 64;
    hid_t   space = H5Screate_simple(1, &n, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(dcpl, 1, &chunk);
    hid_t d = H5Dcreate2(f, name, H5T_STD_I32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    H5Pclose(dcpl);
    H5Sclose(space);
    return d;
}

static void put(hid_t d, int plus)
{
    int     v[N], n = 0;
    hsize_t start = (hsize_t)rank, stride = (hsize_t)size, count = (hsize_t)((N - rank + size - 1) / size);
    hid_t   file = H5Dget_space(d), mem = H5Screate_simple(1, &count, NULL), dxpl = H5Pcreate(H5P_DATASET_XFER);
    H5Sselect_hyperslab(file, H5S_SELECT_SET, &start, &stride, &count, NULL);
    for (int i = rank; i < N; i += size)
        v[n++] = i + plus;
    H5Pset_dxpl_mpio(dxpl, H5FD_MPIO_COLLECTIVE);
    CHECK(H5Dwrite(d, H5T_NATIVE_INT, mem, file, dxpl, v) >= 0, "process %d: %s", rank, error_text());
    H5Pclose(dxpl);
    H5Sclose(mem);
    H5Sclose(file);
}

static void write_and_die(const char *name)
{
    hid_t fapl = mpio_list(MPI_INFO_NULL), f = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl), kept = make(f, "kept");
    CHECK(f >= 0 && is_ours(f), "process %d: H5Fcreate: %s", rank, error_text());
    put(kept, 0);
    CHECK(H5Fflush(f, H5F_SCOPE_GLOBAL) >= 0, "process %d: H5Fflush: %s", rank, error_text());
    hid_t lost = make(f, "lost");
    put(lost, 5);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1)
        (void)raise(SIGKILL);
    (void)H5Fflush(f, H5F_SCOPE_GLOBAL); /* waits for the dead process, until MPI ends this one */
    printf("process %d survived: FAILED\n", rank);
}

/* @p must: the dataset was flushed.  Otherwise it may be missing, but not half there. */
static void check_dataset(hid_t f, const char *name, int plus, bool must)
{
    int   v[N] = {0}, wrong = 0;
    htri_t there = H5Lexists(f, name, H5P_DEFAULT);
    CHECK(there > 0 || !must, "%s is missing: %s", name, error_text());
    if (there <= 0)
        return;
    hid_t d = H5Dopen2(f, name, H5P_DEFAULT);
    CHECK(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0, "%s: %s", name, error_text());
    for (int i = 0; i < N; i++)
        wrong += v[i] != i + plus;
    CHECK(wrong == 0, "%s: %d of %d elements are wrong", name, wrong, N);
    H5Dclose(d);
}

static void check_all(const char *name)
{
    hid_t fapl = fapl_ours(""), f = H5Fopen(name, H5F_ACC_RDONLY, fapl);
    CHECK(f >= 0 && is_ours(f), "%s: %s", name, error_text());
    check_dataset(f, "kept", 0, true);
    check_dataset(f, "lost", 5, false);
    H5Fclose(f);
    H5Pclose(fapl);
    printf("%s after a process was killed: %s\n", name, failures ? "FAILED" : "ok");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc == 3, "mpiexec -n N h5_parallel_killed write|check NAME");
    if (strcmp(argv[1], "write") == 0)
        write_and_die(argv[2]);
    else
        check_all(argv[2]);
    int failed = all_failures();
    MPI_Finalize();
    return failed != 0;
}
