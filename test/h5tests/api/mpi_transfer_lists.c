/* mpiexec -n 2 h5_mpi_transfer_lists: every process opens a domain for reading with H5Pset_fapl_mpio.  Then a
 * collective transfer list (H5Pset_dxpl_mpio) also reads elements that HDF5 itself moves: through a data
 * transform, out of raw files, virtual datasets and the file behind an external link.  A domain that is open
 * without MPI takes such a list for writing.  One process makes the domains. */
#include <mpi.h>
#include <sys/stat.h>

#include "h5tests/helpers/compare.h"

#define N 64

static char folder[64];

/* A name in the folder. */
static const char *in(const char *leaf) { return in_folder(folder, leaf); }
static int  rank;

static hid_t list(const char *transform)
{
    hid_t dxpl = H5Pcreate(H5P_DATASET_XFER);
    CHECK(H5Pset_dxpl_mpio(dxpl, H5FD_MPIO_COLLECTIVE) >= 0, "H5Pset_dxpl_mpio");
    CHECK(!transform || H5Pset_data_transform(dxpl, transform) >= 0, "H5Pset_data_transform");
    return dxpl;
}

static void write_numbers(hid_t f, const char *name, hid_t dcpl, hid_t dxpl)
{
    int   values[N];
    hid_t space = H5Screate_simple(1, &(hsize_t){N}, NULL), d = H5Dcreate2(f, name, H5T_STD_I32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    for (int i = 0; i < N; i++)
        values[i] = i;
    CHECK(d >= 0 && H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, dxpl, values) >= 0, "writing %s: %s", name, error_text());
    H5Dclose(d);
    H5Sclose(space);
}

static void make_native(const char *name)
{
    hid_t fapl = fapl_native(), f = H5Fcreate(name, H5F_ACC_EXCL, H5P_DEFAULT, fapl);
    write_numbers(f, "d", H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(f);
    H5Pclose(fapl);
}

static void make_domain(const char *name)
{
    hid_t fapl = fapl_ours(""), f = H5Fcreate(name, H5F_ACC_EXCL, H5P_DEFAULT, fapl), dxpl = list("2*x+1"), plain = list(NULL);
    hid_t raw = H5Pcreate(H5P_DATASET_CREATE), of = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(1, &(hsize_t){N}, NULL);
    make_native(in("other.h5"));
    CHECK(H5Pset_external(raw, in("elements.raw"), 0, N * sizeof(int)) >= 0, "H5Pset_external");
    CHECK(H5Pset_virtual(of, space, in("other.h5"), "/d", space) >= 0, "H5Pset_virtual");
    write_numbers(f, "plain", H5P_DEFAULT, plain);
    write_numbers(f, "transformed", H5P_DEFAULT, dxpl);
    write_numbers(f, "raw", raw, plain);
    write_numbers(f, "virtual", of, plain);
    CHECK(H5Lcreate_external(in("other.h5"), "/d", f, "link", H5P_DEFAULT, H5P_DEFAULT) >= 0, "H5Lcreate_external: %s", error_text());
    CHECK(H5Fclose(f) >= 0, "%s: %s", name, error_text());
    hid_t ids[] = {fapl, dxpl, plain, raw, of};
    for (size_t i = 0; i < COUNT(ids); i++)
        H5Pclose(ids[i]);
    H5Sclose(space);
}

static void get(hid_t f, const char *name, const char *transform, int factor, int plus)
{
    int   got[N] = {0};
    hid_t dxpl = list(transform), d = H5Dopen2(f, name, H5P_DEFAULT);
    CHECK(d >= 0 && H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, dxpl, got) >= 0, "process %d, %s: %s", rank, name, error_text());
    for (int i = 0; i < N; i++)
        if (got[i] != i * factor + plus) {
            CHECK(false, "process %d, %s: element %d is %d, not %d", rank, name, i, got[i], i * factor + plus);
            break;
        }
    H5Dclose(d);
    H5Pclose(dxpl);
}

static void read_all(const char *name)
{
    hid_t fapl = fapl_ours("");
    CHECK(H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0, "H5Pset_fapl_mpio");
    hid_t f = H5Fopen(name, H5F_ACC_RDONLY, fapl);
    CHECK(f >= 0, "process %d: %s", rank, error_text());
    get(f, "plain", NULL, 1, 0);
    get(f, "plain", "3*x-5", 3, -5);
    get(f, "transformed", NULL, 2, 1);
    get(f, "raw", NULL, 1, 0);
    get(f, "raw", "x+7", 1, 7);
    get(f, "virtual", NULL, 1, 0);
    get(f, "link", NULL, 1, 0);
    H5Fclose(f);
    H5Pclose(fapl);
}

int main(int argc, char **argv)
{
    int failed, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size > 1, "one process shows nothing");
    if (rank == 0) {
        strcpy(folder, "/tmp/h5bucket-mpi-XXXXXX");
        CHECK(mkdtemp(folder) && mkdir(in("db"), 0777) == 0, "no folder %s", folder);
        make_domain(in("domain.h5"));
    }
    MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
    read_all(in("domain.h5"));
    int mine = failures != 0;
    MPI_Allreduce(&mine, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0) {
        char command[128];
        snprintf(command, sizeof command, "rm -rf '%s'", folder);
        CHECK(system(command) == 0, "%s", command);
        printf("%d processes: %s\n", size, failed ? "FAILED" : "ok");
    }
    MPI_Finalize();
    return failed;
}
