/* mpiexec -n N h5_parallel_write FOLDER-OR-URI: several processes make, fill, change and read one domain
 * together by H5Pset_fapl_mpio, with independent transfers.  A process finds what others have written before
 * a barrier, without a flush.  At the end one process reads everything without MPI. */
#include "h5tests/parallel/parallel.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROWS  48
#define COLS  40
#define CHUNK 16 /* rows and columns of a chunk: rows of several processes lie in one */

static int value_of(int row, int col)
{
    return row * 1000 + col;
}

static hid_t make_dataset(hid_t at, const char *name, bool chunked, bool grows)
{
    hsize_t dims[2] = {ROWS, COLS}, most[2] = {grows ? H5S_UNLIMITED : ROWS, COLS}, chunk[2] = {CHUNK, CHUNK};
    hid_t space = H5Screate_simple(2, dims, most), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    if (chunked) {
        H5Pset_chunk(dcpl, 2, chunk);
        H5Pset_deflate(dcpl, 4);
    }
    hid_t d = H5Dcreate2(at, name, H5T_STD_I32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    CHECK(d >= 0, "process %d: %s: %s", rank, name, error_text());
    H5Pclose(dcpl);
    H5Sclose(space);
    return d;
}

/* Rows from..to-1, every step-th. */
static void put_rows(hid_t d, int from, int to, int step, int plus)
{
    for (int row = from; row < to; row += step) {
        int v[COLS];
        hsize_t start[2] = {(hsize_t)row, 0}, count[2] = {1, COLS};
        hid_t file = H5Dget_space(d), mem = H5Screate_simple(2, count, NULL);
        for (int col = 0; col < COLS; col++)
            v[col] = value_of(row, col) + plus;
        H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, count, NULL);
        CHECK(H5Dwrite(d, H5T_NATIVE_INT, mem, file, H5P_DEFAULT, v) >= 0, "process %d, row %d: %s", rank,
              row, error_text());
        H5Sclose(mem);
        H5Sclose(file);
    }
}

static void check_rows(hid_t d, int rows, int plus, const char *when)
{
    int *v = calloc((size_t)rows * COLS, sizeof *v), wrong = 0;
    hsize_t dims[2] = {0};
    hid_t space = H5Dget_space(d);
    H5Sget_simple_extent_dims(space, dims, NULL);
    CHECK(dims[0] == (hsize_t)rows, "process %d, %s: %d rows, not %d", rank, when, (int)dims[0], rows);
    CHECK(dims[0] == (hsize_t)rows && H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0,
          "process %d, %s: %s", rank, when, error_text());
    for (int i = 0; i < rows * COLS; i++)
        wrong += v[i] != value_of(i / COLS, i % COLS) + plus;
    CHECK(wrong == 0, "process %d, %s: %d of %d elements are wrong", rank, when, wrong, rows * COLS);
    H5Sclose(space);
    free(v);
}

static void put_attr(hid_t at, const char *name, int value)
{
    hid_t space = H5Screate(H5S_SCALAR),
          a = H5Acreate2(at, name, H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(a >= 0 && H5Awrite(a, H5T_NATIVE_INT, &value) >= 0, "process %d, attribute %s: %s", rank, name,
          error_text());
    H5Aclose(a);
    H5Sclose(space);
}

static void check_attr(hid_t at, const char *name, int value)
{
    int v = 0;
    hid_t a = H5Aopen(at, name, H5P_DEFAULT);
    CHECK(a >= 0 && H5Aread(a, H5T_NATIVE_INT, &v) >= 0 && v == value,
          "process %d, attribute %s: %d, not %d: %s", rank, name, v, value, error_text());
    H5Aclose(a);
}

/* H5Dwrite_chunk() by one process; the others find the chunk at once. */
static void put_chunk(hid_t f)
{
    hsize_t dims[1] = {CHUNK}, at[1] = {0}, n = 0;
    int v[CHUNK], got[CHUNK] = {0};
    hid_t space = H5Screate_simple(1, dims, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(dcpl, 1, dims);
    hid_t d = H5Dcreate2(f, "direct", H5T_STD_I32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    CHECK(H5Dget_num_chunks(d, H5S_ALL, &n) >= 0 && n == 0, "process %d: %d chunks of a new dataset", rank,
          (int)n);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < CHUNK; i++)
        v[i] = 3 * i;
    if (rank == size - 1)
        CHECK(H5Dwrite_chunk(d, H5P_DEFAULT, 0, at, sizeof v, v) >= 0, "H5Dwrite_chunk: %s", error_text());
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(H5Dget_num_chunks(d, H5S_ALL, &n) >= 0 && n == 1, "process %d: %d chunks, not 1", rank, (int)n);
    CHECK(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, got) >= 0 &&
              memcmp(got, v, sizeof v) == 0,
          "process %d: another process's chunk isn't there: %s", rank, error_text());
    H5Dclose(d);
    H5Pclose(dcpl);
    H5Sclose(space);
}

static void make_and_write(const char *name)
{
    hid_t fapl = mpio_list(MPI_INFO_NULL), f = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    CHECK(f >= 0, "process %d: H5Fcreate: %s", rank, error_text());
    CHECK(is_ours(f), "process %d: the connector wasn't used", rank);
    hid_t g = H5Gcreate2(f, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(g >= 0, "process %d: H5Gcreate: %s", rank, error_text());
    hid_t chunked = make_dataset(g, "chunked", true, true),
          plain = make_dataset(g, "contiguous", false, false);
    put_attr(chunked, "units", 7);
    put_attr(f, "title", 11);
    put_chunk(f);
    put_rows(chunked, rank, ROWS, size, 0);
    put_rows(plain, rank, ROWS, size, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    check_rows(chunked, ROWS, 0, "before a flush, chunked");
    check_rows(plain, ROWS, 0, "before a flush, contiguous");
    MPI_Barrier(MPI_COMM_WORLD);
    put_rows(chunked, (rank + 1) % size, ROWS, size, 5); /* over another process's rows */
    MPI_Barrier(MPI_COMM_WORLD);
    check_rows(chunked, ROWS, 5, "overwritten");
    CHECK(H5Fflush(f, H5F_SCOPE_GLOBAL) >= 0, "process %d: H5Fflush: %s", rank, error_text());
    hsize_t more[2] = {ROWS * 2, COLS};
    CHECK(H5Dset_extent(chunked, more) >= 0, "process %d: H5Dset_extent: %s", rank, error_text());
    put_rows(chunked, ROWS + rank, ROWS * 2, size, 5);
    MPI_Barrier(MPI_COMM_WORLD);
    check_rows(chunked, ROWS * 2, 5, "extended");
    MPI_Barrier(MPI_COMM_WORLD);
    hsize_t less[2] = {ROWS + 3, COLS};
    CHECK(H5Dset_extent(chunked, less) >= 0, "process %d: H5Dset_extent, smaller: %s", rank, error_text());
    check_rows(chunked, ROWS + 3, 5, "smaller");
    CHECK(H5Adelete(f, "title") >= 0, "process %d: H5Adelete: %s", rank, error_text());
    CHECK(H5Lmove(g, "contiguous", f, "moved", H5P_DEFAULT, H5P_DEFAULT) >= 0, "process %d: H5Lmove: %s",
          rank, error_text());
    hid_t unwanted = H5Gcreate2(f, "unwanted", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(unwanted);
    CHECK(H5Fflush(f, H5F_SCOPE_GLOBAL) >= 0, "process %d: H5Fflush: %s", rank, error_text());
    CHECK(H5Ldelete(f, "unwanted", H5P_DEFAULT) >= 0, "process %d: H5Ldelete: %s", rank, error_text());
    H5Dclose(chunked);
    H5Dclose(plain);
    H5Gclose(g);
    CHECK(H5Fclose(f) >= 0, "process %d: H5Fclose: %s", rank, error_text());
    H5Pclose(fapl);
}

static void check_all(hid_t f, const char *how)
{
    hid_t chunked = H5Dopen2(f, "group/chunked", H5P_DEFAULT), moved = H5Dopen2(f, "moved", H5P_DEFAULT);
    CHECK(chunked >= 0 && moved >= 0, "process %d, %s: %s", rank, how, error_text());
    check_rows(chunked, ROWS + 3, 5, how);
    check_rows(moved, ROWS, 0, how);
    check_attr(chunked, "units", 7);
    CHECK(H5Aexists(f, "title") == 0, "process %d, %s: a deleted attribute is there", rank, how);
    CHECK(H5Lexists(f, "unwanted", H5P_DEFAULT) == 0, "process %d, %s: a deleted link is there", rank, how);
    H5Dclose(chunked);
    H5Dclose(moved);
}

static void reopen(const char *name)
{
    hid_t fapl = mpio_list(MPI_INFO_NULL), f = H5Fopen(name, H5F_ACC_RDWR, fapl);
    CHECK(f >= 0 && is_ours(f), "process %d: H5Fopen: %s", rank, error_text());
    check_all(f, "opened again");
    put_attr(f, "second", 12);
    hid_t again = H5Freopen(f);
    CHECK(again >= 0, "process %d: H5Freopen: %s", rank, error_text());
    put_attr(again, "third", 13);
    CHECK(H5Fclose(again) >= 0, "process %d: H5Fclose of H5Freopen's file: %s", rank, error_text());
    check_attr(f, "third", 13);
    hid_t list = H5Fget_access_plist(f);
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Info info = MPI_INFO_NULL;
    int same = MPI_UNEQUAL;
    CHECK(H5Pget_driver(list) == H5FD_MPIO && H5Pget_fapl_mpio(list, &comm, &info) >= 0,
          "process %d: H5Fget_access_plist: %s", rank, error_text());
    if (comm != MPI_COMM_NULL) {
        MPI_Comm_compare(comm, MPI_COMM_WORLD, &same);
        MPI_Comm_free(&comm);
    }
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    CHECK(same == MPI_CONGRUENT, "process %d: the access list has another communicator", rank);
    H5Pclose(list);
    hbool_t atomic = 0;
    CHECK(H5Fset_mpi_atomicity(f, 1) >= 0 && H5Fget_mpi_atomicity(f, &atomic) >= 0 && atomic,
          "process %d: H5Fset_mpi_atomicity: %s", rank, error_text());
    CHECK(H5Fclose(f) >= 0, "process %d: H5Fclose: %s", rank, error_text());
    f = H5Fopen(name, H5F_ACC_RDONLY, fapl);
    check_attr(f, "second", 12);
    H5Fclose(f);
    if (rank == 0) {
        hid_t alone = fapl_ours("");
        f = H5Fopen(name, H5F_ACC_RDONLY, alone);
        CHECK(f >= 0, "without MPI: %s", error_text());
        check_all(f, "without MPI");
        H5Fclose(f);
        H5Pclose(alone);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    H5Pclose(fapl);
}

/* One process makes another attribute than the others: the flush fails in all of them, and nothing hangs. */
static void differ(const char *name)
{
    hid_t fapl = mpio_list(MPI_INFO_NULL), f = H5Fopen(name, H5F_ACC_RDWR, fapl);
    put_attr(f, rank == size - 1 ? "mine" : "ours", 1);
    herr_t rc;
    H5E_BEGIN_TRY
    {
        rc = H5Fflush(f, H5F_SCOPE_GLOBAL);
    }
    H5E_END_TRY
    const char *text = error_text();
    CHECK(rc < 0 && strstr(text, "process 0") && (strstr(text, "ours") || strstr(text, "mine")),
          "process %d: processes that differ aren't reported: %s", rank, text);
    CHECK(H5Adelete(f, rank == size - 1 ? "mine" : "ours") >= 0, "process %d: H5Adelete: %s", rank,
          error_text());
    CHECK(H5Fclose(f) >= 0, "process %d: H5Fclose: %s", rank, error_text());
    H5Pclose(fapl);
}

/* Settings by MPI_Info: a known one is taken, an unknown one is reported by all. */
static void hints(const char *name)
{
    static const struct {
        const char *key, *value, *words;
    } cases[] = {{"h5bucket_chunk_cache", "8M", NULL}, {"h5bucket_nonsense", "1", "nonsense"}, {"romio_cb_write", "enable", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, cases[i].key, cases[i].value);
        hid_t fapl = mpio_list(info), f;
        H5E_BEGIN_TRY
        {
            f = H5Fopen(name, H5F_ACC_RDONLY, fapl);
        }
        H5E_END_TRY
        const char *text = f < 0 ? error_text() : "";
        CHECK((f >= 0) == !cases[i].words && (f >= 0 || strstr(text, cases[i].words)), "process %d, hint %s: %s", rank, cases[i].key, text);
        if (f >= 0)
            H5Fclose(f);
        H5Pclose(fapl);
        MPI_Info_free(&info);
    }
}

static void remove_it(const char *name)
{
    hid_t fapl = mpio_list(MPI_INFO_NULL);
    CHECK(H5Fis_accessible(name, fapl) > 0, "process %d: H5Fis_accessible: %s", rank, error_text());
    CHECK(H5Fdelete(name, fapl) >= 0, "process %d: H5Fdelete: %s", rank, error_text());
    hid_t f;
    H5E_BEGIN_TRY
    {
        f = H5Fopen(name, H5F_ACC_RDONLY, fapl);
    }
    H5E_END_TRY
    CHECK(f < 0, "process %d: the deleted domain can be opened", rank);
    H5Pclose(fapl);
}

/* HDF5 asks the connector about a file that it can't open itself.  If the answer is no, the stack keeps
 * HDF5's own reason: h5py finds there that the file is missing. */
static void missing(const char *name)
{
    hid_t f;
    H5E_BEGIN_TRY
    {
        f = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
    }
    H5E_END_TRY
    const char *text = error_text();
    CHECK(f < 0 && strstr(text, "errno = 2"), "process %d: HDF5's reason for a missing file is lost: %s",
          rank, text);
}

static void make_alone(const char *name, const char *attr, hid_t alone)
{
    if (rank == 0) {
        hid_t f = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, alone);
        put_attr(f, attr, 1);
        CHECK(H5Fclose(f) >= 0, "a domain of one process: %s", error_text());
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Only some processes have written elements of a dataset when it shrinks, and the first process has not.  All
 * must go on alike, or the next object differs between them. */
static void shrink_after_some_wrote(const char *name)
{
    hid_t fapl = mpio_list(MPI_INFO_NULL), f = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    hid_t d = make_dataset(f, "shrinks", true, true);
    hsize_t few[2] = {ROWS / 4, COLS}, all[2] = {ROWS, COLS};
    if (rank > 0)
        put_rows(d, 0, ROWS, 1, 5);
    CHECK(H5Fflush(f, H5F_SCOPE_GLOBAL) >= 0, "process %d: H5Fflush: %s", rank, error_text());
    CHECK(H5Dset_extent(d, few) >= 0, "process %d: H5Dset_extent, smaller: %s", rank, error_text());
    put_attr(d, "after", 6);
    hid_t other = make_dataset(f, "other", true, true);
    CHECK(H5Fflush(f, H5F_SCOPE_GLOBAL) >= 0, "process %d: H5Fflush after a smaller extent: %s", rank,
          error_text());
    if (size > 1)
        check_rows(d, ROWS / 4, 5, "after the smaller extent");
    CHECK(H5Dset_extent(d, all) >= 0, "process %d: H5Dset_extent: %s", rank, error_text());
    H5Dclose(other);
    H5Dclose(d);
    CHECK(H5Fclose(f) >= 0, "process %d: H5Fclose: %s", rank, error_text());
    CHECK(H5Fdelete(name, fapl) >= 0, "process %d: H5Fdelete: %s", rank, error_text());
    H5Pclose(fapl);
}

/* Each process asks for a domain by itself, then one process replaces it: the group opens the new one. */
static void asked_before(const char *name)
{
    hid_t fapl = mpio_list(MPI_INFO_NULL), alone = fapl_ours("");
    make_alone(name, "older", alone);
    CHECK(H5Fis_accessible(name, alone) > 0, "process %d: H5Fis_accessible alone: %s", rank, error_text());
    MPI_Barrier(MPI_COMM_WORLD);
    make_alone(name, "newer", alone);
    hid_t f = H5Fopen(name, H5F_ACC_RDONLY, fapl);
    CHECK(H5Aexists(f, "newer") > 0, "process %d: the group opened the replaced domain", rank);
    CHECK(H5Fclose(f) >= 0, "process %d: H5Fclose: %s", rank, error_text());
    CHECK(H5Fdelete(name, fapl) >= 0, "process %d: H5Fdelete: %s", rank, error_text());
    H5Pclose(alone);
    H5Pclose(fapl);
}

int main(int argc, char **argv)
{
    char name[512];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc == 2, "mpiexec -n N h5_parallel_write FOLDER-OR-URI");
    own_name(argv[1], "parallel_write", name, sizeof name);
    make_and_write(name);
    reopen(name);
    hints(name);
    if (size > 1)
        differ(name);
    remove_it(name);
    shrink_after_some_wrote(name);
    asked_before(name);
    missing(name);
    int failed = all_failures();
    if (rank == 0)
        printf("%d processes wrote %s together by the connector: %s\n", size, name, failed ? "FAILED" : "ok");
    MPI_Finalize();
    return failed != 0;
}
