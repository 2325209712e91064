/* h5write HOW FILE raw|zip MIB STEP | rows | groups N | attributes N: write by nothing but HDF5's public API.
 *   HOW        bucket: through the connector; native: a local file; synced: a local file that is on disk at the end (fsync)
 *   raw, zip   MIB of float32 in chunks of 1 MiB, STEP of them with each H5Dwrite; zip: deflate level 1
 *   rows       1,000 rows of 4 KiB, appended one by one, flushed every 100
 * Prints seconds from H5Fcreate to H5Fclose, CPU seconds of that time, peak memory in MiB without the
 * program's own data, and when H5Fcreate began and ended, and H5Fclose began and ended, by the clock of the
 * server's log. */
#include <fcntl.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "field.h"
#include "seconds.h"

static void must(int64_t ok, const char *what)
{
    if (ok >= 0)
        return;
    fprintf(stderr, "%s failed\n", what);
    exit(1);
}

static double peak_mib(void)
{
    struct rusage u;
    (void)getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_maxrss / 1024;
}

static double marks[4];
static int    n_marks;

static void mark(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    marks[n_marks++] = (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Seconds of processor time of all threads. */
static double cpu(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void write_field(hid_t file, int zip, hsize_t mib, hsize_t step, const float *data)
{
    hsize_t dims[] = {mib, SIDE, SIDE}, chunk[] = {1, SIDE, SIDE};
    hid_t   space = H5Screate_simple(3, dims, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    must(H5Pset_chunk(dcpl, 3, chunk), "chunk");
    if (zip)
        must(H5Pset_deflate(dcpl, 1), "deflate");
    hid_t dset = H5Dcreate2(file, "field", H5T_IEEE_F32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    must(dset, "H5Dcreate");
    for (hsize_t at = 0; at < mib; at += step) {
        hsize_t from[] = {at, 0, 0}, n[] = {at + step < mib ? step : mib - at, SIDE, SIDE};
        hid_t   mem    = H5Screate_simple(3, n, NULL);
        must(H5Sselect_hyperslab(space, H5S_SELECT_SET, from, NULL, n, NULL), "select");
        must(H5Dwrite(dset, H5T_NATIVE_FLOAT, mem, space, H5P_DEFAULT, data + at * SIDE * SIDE), "H5Dwrite");
        H5Sclose(mem);
    }
    H5Dclose(dset);
    H5Sclose(space);
    H5Pclose(dcpl);
}

static void write_rows(hid_t file, const float *data)
{
    hsize_t dims[] = {0, 1024}, max[] = {H5S_UNLIMITED, 1024}, chunk[] = {256, 1024}, one[] = {1, 1024};
    hid_t   space = H5Screate_simple(2, dims, max), dcpl = H5Pcreate(H5P_DATASET_CREATE), mem = H5Screate_simple(2, one, NULL);
    must(H5Pset_chunk(dcpl, 2, chunk), "chunk");
    hid_t dset = H5Dcreate2(file, "rows", H5T_IEEE_F32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    must(dset, "H5Dcreate");
    for (hsize_t r = 0; r < 1000; r++) {
        hsize_t from[] = {r, 0}, grown[] = {r + 1, 1024};
        must(H5Dset_extent(dset, grown), "H5Dset_extent");
        hid_t at = H5Dget_space(dset);
        must(H5Sselect_hyperslab(at, H5S_SELECT_SET, from, NULL, one, NULL), "select");
        must(H5Dwrite(dset, H5T_NATIVE_FLOAT, mem, at, H5P_DEFAULT, data + r * 1024), "H5Dwrite");
        H5Sclose(at);
        if (r % 100 == 99)
            must(H5Fflush(file, H5F_SCOPE_GLOBAL), "H5Fflush");
    }
    H5Dclose(dset);
    H5Sclose(space);
    H5Sclose(mem);
    H5Pclose(dcpl);
}

static void make_many(hid_t file, int groups, int n)
{
    hid_t space = H5Screate(H5S_SCALAR);
    for (int i = 0; i < n; i++) {
        char  name[32];
        hid_t id;
        snprintf(name, sizeof name, "item%05d", i);
        if (groups) {
            must(id = H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "H5Gcreate");
            H5Gclose(id);
        } else {
            must(id = H5Acreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT), "H5Acreate");
            must(H5Awrite(id, H5T_NATIVE_INT, &i), "H5Awrite");
            H5Aclose(id);
        }
    }
    H5Sclose(space);
}

static hid_t access_list(const char *how)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    if (strcmp(how, "bucket") == 0) {
        hid_t connector = H5VLregister_connector_by_name("bucket", H5P_DEFAULT);
        must(connector, "the connector");
        must(H5Pset_vol(fapl, connector, NULL), "H5Pset_vol");
        H5VLclose(connector);
    }
    return fapl;
}

static void to_disk(const char *name)
{
    int fd = open(name, O_RDONLY);
    must(fd, "open");
    must(fsync(fd), "fsync");
    (void)close(fd);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return fprintf(stderr, "usage: h5write bucket|native|synced FILE raw|zip MIB STEP | rows | groups N | attributes N\n"), 2;
    const char *how = argv[1], *name = argv[2], *what = argv[3];
    int         bulk = !strcmp(what, "raw") || !strcmp(what, "zip");
    hsize_t     n    = argc > 4 ? strtoull(argv[4], NULL, 10) : 4, step = argc > 5 ? strtoull(argv[5], NULL, 10) : 1;
    float      *data = field((size_t)(bulk ? n : 4) * SIDE * SIDE);
    hid_t       fapl = access_list(how);
    double      before = peak_mib(), worked = cpu(), begin = seconds();
    mark();
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    must(file, "H5Fcreate");
    mark();
    if (bulk)
        write_field(file, !strcmp(what, "zip"), n, step, data);
    else if (!strcmp(what, "rows"))
        write_rows(file, data);
    else
        make_many(file, !strcmp(what, "groups"), (int)n);
    mark();
    must(H5Fclose(file), "H5Fclose");
    mark();
    if (strcmp(how, "synced") == 0)
        to_disk(name);
    printf("%.3f %.3f %.0f", seconds() - begin, cpu() - worked, peak_mib() - before);
    for (int i = 0; i < n_marks; i++)
        printf(" %.4f", marks[i]);
    printf("\n");
    free(data);
    H5Pclose(fapl);
    return 0;
}
