/* mpiexec -n N h5_parallel_failures FOLDER: one process fails, and all processes report it, with one message.
 * When the cause is gone, the same call succeeds.
 *
 * A process fails in storing by a limit for the size of its files (RLIMIT_FSIZE), so FOLDER is a folder. */
#include "h5tests/parallel/parallel.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define MANY 60
#define ROWS 64
#define COLS 4096 /* a chunk has 128 KiB; smaller ones are put together in objects */

/* Whether files that process @p who writes may have bytes. */
static void let_write(int who, bool may)
{
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0, "getrlimit");
    limit.rlim_cur = may || rank != who ? limit.rlim_max : 0;
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0, "setrlimit");
}

static char words[8192]; /* of the last failed call */

#define QUIETLY(call)                                                                                        \
    do {                                                                                                     \
        H5E_BEGIN_TRY                                                                                        \
        {                                                                                                    \
            call;                                                                                            \
        }                                                                                                    \
        H5E_END_TRY                                                                                          \
        if (rc < 0)                                                                                          \
            (void)snprintf(words, sizeof words, "%s", error_text());                                         \
    } while (0)

/* All processes failed in @p rc, with process 0's words, which have @p expected. */
static void all_fail(herr_t rc, const char *expected, const char *what)
{
    char first[sizeof words] = "";
    const char *mine = rc < 0 ? words : "success";
    if (rank == 0)
        (void)snprintf(first, sizeof first, "%s", mine);
    MPI_Bcast(first, sizeof first, MPI_CHAR, 0, MPI_COMM_WORLD);
    CHECK(rc < 0 && strstr(mine, expected), "process %d, %s: '%s' is expected in: %s", rank, what, expected,
          mine);
    CHECK(strcmp(mine, first) == 0, "%s: process %d reports\n%s\nprocess 0 reports\n%s", what, rank, mine,
          first);
}

static hid_t make(hid_t at, const char *name, hsize_t rows)
{
    hsize_t dims[2] = {rows, COLS}, max[2] = {ROWS * 2, COLS}, chunk[2] = {8, COLS};
    hid_t space = H5Screate_simple(2, dims, max), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(dcpl, 2, chunk);
    H5Pset_deflate(dcpl, 1);
    hid_t d = H5Dcreate2(at, name, H5T_STD_I32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    CHECK(d >= 0, "process %d: %s: %s", rank, name, error_text());
    H5Pclose(dcpl);
    H5Sclose(space);
    return d;
}

static int value_of(int row, int col, int plus)
{
    return row * COLS + col + plus;
}

/* Rows rank, rank + size, ... of all datasets: a part of each chunk. */
static herr_t put_rows(hid_t d, int plus, H5FD_mpio_xfer_t mode)
{
    static int v[ROWS * COLS];
    int n = 0;
    hsize_t start[2] = {(hsize_t)rank, 0}, stride[2] = {(hsize_t)size, 1},
            count[2] = {(hsize_t)((ROWS - rank + size - 1) / size), COLS}, all = count[0] * COLS;
    hid_t file = H5Dget_space(d), mem = H5Screate_simple(1, &all, NULL), dxpl = H5Pcreate(H5P_DATASET_XFER);
    herr_t rc;
    H5Sselect_hyperslab(file, H5S_SELECT_SET, start, stride, count, NULL);
    for (int row = rank; row < ROWS; row += size)
        for (int col = 0; col < COLS; col++)
            v[n++] = value_of(row, col, plus);
    H5Pset_dxpl_mpio(dxpl, mode);
    QUIETLY(rc = H5Dwrite(d, H5T_NATIVE_INT, mem, file, dxpl, v));
    H5Pclose(dxpl);
    H5Sclose(mem);
    H5Sclose(file);
    return rc;
}

static void check_rows(hid_t d, int rows, int plus, const char *what)
{
    static int v[ROWS * COLS];
    int wrong = 0;
    hsize_t start[2] = {0, 0}, count[2] = {(hsize_t)rows, COLS}, n = count[0] * COLS;
    hid_t file = H5Dget_space(d), mem = H5Screate_simple(1, &n, NULL);
    H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, count, NULL);
    CHECK(H5Dread(d, H5T_NATIVE_INT, mem, file, H5P_DEFAULT, v) >= 0, "process %d, %s: %s", rank, what,
          error_text());
    for (int i = 0; i < rows * COLS; i++)
        wrong += v[i] != value_of(i / COLS, i % COLS, plus);
    CHECK(wrong == 0, "process %d, %s: %d elements are wrong", rank, what, wrong);
    H5Sclose(mem);
    H5Sclose(file);
}

/* Each process in turn can't store its part of the structure. */
static void flush(hid_t f)
{
    char name[32];
    for (int who = 0; who < size; who++) {
        snprintf(name, sizeof name, "flush%d", who);
        hid_t g = H5Gcreate2(f, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        for (int i = 0; i < MANY; i++) {
            snprintf(name, sizeof name, "g%d", i);
            hid_t inner = H5Gcreate2(g, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
            CHECK(inner >= 0, "process %d: %s: %s", rank, name, error_text());
            H5Gclose(inner);
        }
        H5Gclose(g);
        herr_t rc;
        let_write(who, false);
        QUIETLY(rc = H5Fflush(f, H5F_SCOPE_GLOBAL));
        all_fail(rc, "File too large", "H5Fflush");
        let_write(who, true);
        CHECK(H5Fflush(f, H5F_SCOPE_GLOBAL) >= 0, "process %d: H5Fflush again: %s", rank, error_text());
    }
}

static void check_flushed(hid_t f)
{
    char name[32];
    for (int who = 0; who < size; who++)
        for (int i = 0; i < MANY; i++) {
            snprintf(name, sizeof name, "flush%d/g%d", who, i);
            CHECK(H5Lexists(f, name, H5P_DEFAULT) > 0, "process %d: %s: %s", rank, name, error_text());
        }
}

/* An owner of chunks can't store them. */
static void collective_write(hid_t f)
{
    for (int who = 0; who < size; who++) {
        char name[32];
        snprintf(name, sizeof name, "collective%d", who);
        hid_t d = make(f, name, ROWS);
        let_write(who, false);
        all_fail(put_rows(d, 1, H5FD_MPIO_COLLECTIVE), "File too large", "a collective H5Dwrite");
        let_write(who, true);
        CHECK(put_rows(d, 2, H5FD_MPIO_COLLECTIVE) >= 0, "process %d, H5Dwrite again: %s", rank,
              error_text());
        check_rows(d, ROWS, 2, name);
        H5Dclose(d);
    }
}

/* Without a collective call, only the process that fails has the error. */
static void independent_write(hid_t f)
{
    int who = size - 1;
    hid_t d = make(f, "independent", ROWS);
    let_write(who, false);
    herr_t rc = put_rows(d, 3, H5FD_MPIO_INDEPENDENT);
    CHECK(rank == who ? rc < 0 && strstr(words, "File too large") : rc >= 0,
          "process %d, an independent H5Dwrite: %d, %s", rank, (int)rc, words);
    let_write(who, true);
    if (rank == who)
        CHECK(put_rows(d, 3, H5FD_MPIO_INDEPENDENT) >= 0, "process %d, H5Dwrite again: %s", rank,
              error_text());
    MPI_Barrier(MPI_COMM_WORLD);
    check_rows(d, ROWS, 3, "independent");
    H5Dclose(d);
}

static hsize_t rows_of(hid_t d)
{
    hsize_t dims[2] = {0, 0};
    hid_t space = H5Dget_space(d);
    H5Sget_simple_extent_dims(space, dims, NULL);
    H5Sclose(space);
    return dims[0];
}

/* One process asks for other rows, more than the dataset may have; then all do, and the process that stores
 * can't. */
static void set_extent(hid_t f)
{
    herr_t rc;
    hsize_t good[2] = {ROWS - 4, COLS}, bad[2] = {rank == size - 1 ? ROWS * 3 : ROWS - 4, COLS};
    hid_t d = make(f, "extent", ROWS);
    CHECK(put_rows(d, 4, H5FD_MPIO_COLLECTIVE) >= 0, "process %d: %s", rank, error_text());
    QUIETLY(rc = H5Dset_extent(d, bad));
    all_fail(rc, "processes ask for different extents", "H5Dset_extent");
    CHECK(rows_of(d) == ROWS, "process %d: %d rows after a failure", rank, (int)rows_of(d));
    let_write(0, false);
    CHECK(H5Dset_extent(d, good) >= 0, "process %d: H5Dset_extent: %s", rank, error_text());
    check_rows(d, ROWS - 4, 4, "a smaller extent, not stored");
    QUIETLY(rc = H5Fflush(f, H5F_SCOPE_GLOBAL));
    all_fail(rc, "File too large", "H5Fflush of a smaller extent");
    let_write(0, true);
    CHECK(H5Fflush(f, H5F_SCOPE_GLOBAL) >= 0, "process %d, H5Fflush again: %s", rank, error_text());
    CHECK(rows_of(d) == ROWS - 4, "process %d: %d rows", rank, (int)rows_of(d));
    check_rows(d, ROWS - 4, 4, "a smaller extent");
    H5Dclose(d);
}

/* A file that is mounted in another one is flushed with it. */
static void mounted(hid_t f, const char *other_name)
{
    hid_t fapl = mpio_list(MPI_INFO_NULL), inner = H5Fcreate(other_name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    hid_t point = H5Gcreate2(f, "point", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(inner >= 0 && is_ours(inner), "process %d: %s: %s", rank, other_name, error_text());
    CHECK(H5Fmount(f, "point", inner, H5P_DEFAULT) >= 0, "process %d: H5Fmount: %s", rank, error_text());
    hid_t d = make(f, "point/mounted", ROWS);
    CHECK(put_rows(d, 5, H5FD_MPIO_COLLECTIVE) >= 0, "process %d: %s", rank, error_text());
    H5Dclose(d);
    herr_t rc;
    let_write(0, false);
    QUIETLY(rc = H5Fflush(f, H5F_SCOPE_GLOBAL));
    all_fail(rc, "File too large", "H5Fflush of a mounted file");
    let_write(0, true);
    CHECK(H5Fflush(f, H5F_SCOPE_GLOBAL) >= 0, "process %d: H5Fflush again: %s", rank, error_text());
    if (rank == 0) { /* stored already */
        hid_t alone = fapl_ours(""), g = H5Fopen(other_name, H5F_ACC_RDONLY, alone);
        CHECK(g >= 0 && H5Lexists(g, "mounted", H5P_DEFAULT) > 0, "a mounted file's dataset: %s",
              error_text());
        H5Fclose(g);
        H5Pclose(alone);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(H5Funmount(f, "point") >= 0, "process %d: H5Funmount: %s", rank, error_text());
    CHECK(H5Fclose(inner) >= 0, "process %d: H5Fclose: %s", rank, error_text());
    H5Gclose(point);
    H5Pclose(fapl);
}

/* A child of one process ends, with changes in memory that are its parent's. */
static void forked(hid_t f)
{
    hid_t g = H5Gcreate2(f, "forked", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    pid_t child = rank == 0 ? fork() : -1;
    int status = -1;
    if (child == 0)
        exit(0); /* through atexit(), as HDF5 ends */
    if (rank == 0)
        CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "a child's status is %d",
              status);
    H5Gclose(g);
    CHECK(H5Fflush(f, H5F_SCOPE_GLOBAL) >= 0, "process %d: H5Fflush after fork(): %s", rank, error_text());
}

/* Dataset @p d of a closed file is open still, while the file is opened and changed again. */
static void left_open(const char *name)
{
    hid_t fapl = mpio_list(MPI_INFO_NULL), f = H5Fopen(name, H5F_ACC_RDWR, fapl), d = make(f, "left", ROWS);
    CHECK(H5Fclose(f) >= 0, "process %d: H5Fclose with an open dataset: %s", rank, error_text());
    f = H5Fopen(name, H5F_ACC_RDWR, fapl);
    CHECK(f >= 0 && is_ours(f), "process %d: opened again: %s", rank, error_text());
    CHECK(put_rows(d, 6, H5FD_MPIO_COLLECTIVE) >= 0, "process %d: by the old handle: %s", rank, error_text());
    hid_t again = H5Dopen2(f, "left", H5P_DEFAULT), after = make(f, "after", ROWS);
    check_rows(again, ROWS, 6, "by the new handle");
    CHECK(put_rows(after, 7, H5FD_MPIO_COLLECTIVE) >= 0, "process %d: a new dataset: %s", rank, error_text());
    H5Dclose(again);
    H5Dclose(after);
    H5Dclose(d);
    CHECK(H5Fclose(f) >= 0, "process %d: H5Fclose: %s", rank, error_text());
    H5Pclose(fapl);
}

/* Sources of a virtual dataset are opened by all processes, in one order. */
static void virtual_source(hid_t f)
{
    hsize_t dims[2] = {ROWS, COLS};
    hid_t space = H5Screate_simple(2, dims, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    CHECK(H5Pset_virtual(dcpl, space, ".", "collective0", space) >= 0, "H5Pset_virtual: %s", error_text());
    hid_t d = H5Dcreate2(f, "virtual", H5T_STD_I32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    CHECK(d >= 0, "process %d, virtual: %s", rank, error_text());
    H5Dclose(d);
    H5Pclose(dcpl);
    H5Sclose(space);
}

static void check_all(const char *name, bool collective_metadata)
{
    static const struct {
        const char *name;
        int rows, plus;
    } sets[] = {{"collective0", ROWS, 2}, {"independent", ROWS, 3}, {"extent", ROWS - 4, 4},
                {"left", ROWS, 6},        {"after", ROWS, 7},       {"virtual", ROWS, 2}};
    hid_t fapl = mpio_list(MPI_INFO_NULL);
    CHECK(!collective_metadata || H5Pset_all_coll_metadata_ops(fapl, true) >= 0,
          "H5Pset_all_coll_metadata_ops");
    hid_t f = H5Fopen(name, H5F_ACC_RDONLY, fapl);
    CHECK(f >= 0 && is_ours(f), "process %d: H5Fopen: %s", rank, error_text());
    check_flushed(f);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        hid_t d = H5Dopen2(f, sets[i].name, H5P_DEFAULT);
        CHECK(d >= 0, "process %d: %s: %s", rank, sets[i].name, error_text());
        check_rows(d, sets[i].rows, sets[i].plus, sets[i].name);
        H5Dclose(d);
    }
    H5Fclose(f);
    H5Pclose(fapl);
}

int main(int argc, char **argv)
{
    char name[512], other[512];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size > 1 && argc == 2, "mpiexec -n N h5_parallel_failures FOLDER, N > 1");
    (void)signal(SIGXFSZ, SIG_IGN); /* a write over the limit fails with EFBIG */
    own_name(argv[1], "failures", name, sizeof name);
    own_name(argv[1], "mounted", other, sizeof other);
    hid_t fapl = mpio_list(MPI_INFO_NULL), f = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    CHECK(f >= 0 && is_ours(f), "process %d: H5Fcreate: %s", rank, error_text());
    flush(f);
    collective_write(f);
    independent_write(f);
    set_extent(f);
    mounted(f, other);
    forked(f);
    virtual_source(f);
    CHECK(H5Fclose(f) >= 0, "process %d: H5Fclose: %s", rank, error_text());
    H5Pclose(fapl);
    left_open(name);
    check_all(name, false);
    check_all(name, true);
    int failed = all_failures();
    if (rank == 0)
        printf("%d processes met failures of each one in %s by the connector: %s\n", size, name,
               failed ? "FAILED" : "ok");
    MPI_Finalize();
    return failed != 0;
}
