/* Files in every form in which HDF5 stores a dataset's data, for load_forms.py: make_storage FOLDER */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "h5tests/helpers/must_succeed.h"

#define N 3000

static void fill(hid_t dset, hsize_t n, int base)
{
    int *v = malloc((size_t)n * sizeof *v);
    for (hsize_t i = 0; v && i < n; i++)
        v[i] = base + (int)i * 7 % 1000;
    TRY(H5Dwrite(dset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    free(v);
}

static void dataset(hid_t file, const char *name, hid_t dcpl, hsize_t n, int base)
{
    hid_t space = TRY(H5Screate_simple(1, &n, NULL));
    hid_t dset  = TRY(H5Dcreate2(file, name, H5T_STD_I32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT));
    fill(dset, n, base);
    TRY(H5Dclose(dset));
    TRY(H5Sclose(space));
}

static hid_t chunked(hsize_t chunk, int deflate)
{
    hid_t dcpl = TRY(H5Pcreate(H5P_DATASET_CREATE));
    TRY(H5Pset_chunk(dcpl, 1, &chunk));
    if (deflate)
        TRY(H5Pset_deflate(dcpl, 6));
    return dcpl;
}

/* Contiguous, compact, chunked with and without filters, few chunks and many: a file's address space may be
 * spread widely. */
static void usual(hid_t file)
{
    hid_t compact = TRY(H5Pcreate(H5P_DATASET_CREATE)), a = chunked(700, 0), b = chunked(100, 1), c = chunked(1000, 1);
    TRY(H5Pset_layout(compact, H5D_COMPACT));
    dataset(file, "contiguous", H5P_DEFAULT, N, 1);
    dataset(file, "compact", compact, 20, 2);
    dataset(file, "few", c, N, 3);
    dataset(file, "many", b, N, 4);
    dataset(file, "plain", a, N, 5);
    TRY(H5Pclose(compact)), TRY(H5Pclose(a)), TRY(H5Pclose(b)), TRY(H5Pclose(c));
}

/* Chunks that skip the filter, marked in HDF5's mask. */
static void masks(hid_t file)
{
    hsize_t n = 40, at;
    hid_t   dcpl = chunked(2, 1), space = TRY(H5Screate_simple(1, &n, NULL));
    for (int many = 0; many < 2; many++) {
        hsize_t m = many ? n : 8;
        TRY(H5Sset_extent_simple(space, 1, &m, NULL));
        hid_t dset = TRY(H5Dcreate2(file, many ? "masks_many" : "masks_few", H5T_STD_I32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT));
        fill(dset, m, 6);
        for (at = 0; at < m; at += 4) {
            int raw[2] = {(int)at, -(int)at};
            TRY(H5Dwrite_chunk(dset, H5P_DEFAULT, 1, &at, sizeof raw, raw));
        }
        TRY(H5Dclose(dset));
    }
    TRY(H5Sclose(space)), TRY(H5Pclose(dcpl));
}

static void make_file(const char *name, hid_t fcpl, hid_t fapl)
{
    hid_t file = TRY(H5Fcreate(name, H5F_ACC_TRUNC, fcpl, fapl));
    usual(file);
    masks(file);
    TRY(H5Fclose(file));
}

static void external(void)
{
    hid_t file = TRY(H5Fcreate("external.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    hid_t one = TRY(H5Pcreate(H5P_DATASET_CREATE)), three = TRY(H5Pcreate(H5P_DATASET_CREATE)), shorter = TRY(H5Pcreate(H5P_DATASET_CREATE));
    TRY(H5Pset_external(one, "raw1.bin", 16, N * 4));
    TRY(H5Pset_external(three, "raw2.bin", 0, 4000));
    TRY(H5Pset_external(three, "raw3.bin", 100, 1001));
    TRY(H5Pset_external(three, "raw4.bin", 8, H5F_UNLIMITED));
    TRY(H5Pset_external(shorter, "raw5.bin", 0, N * 4));
    dataset(file, "one", one, N, 11);
    dataset(file, "three", three, N, 12);
    dataset(file, "short", shorter, N, 13);
    TRY(H5Fclose(file));
    CHECK(truncate("raw5.bin", N * 2) == 0, "raw5.bin"); /* HDF5 reads zeros behind the end */
    TRY(H5Pclose(one)), TRY(H5Pclose(three)), TRY(H5Pclose(shorter));
}

/* time and v grow, lat doesn't; k: which file; steps of 4 fill chunks of 2 */
static void step(const char *name, int k, hsize_t steps, int lat)
{
    hid_t   file = TRY(H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    hsize_t dims[2] = {steps, 20000}, max[2] = {H5S_UNLIMITED, 20000}, chunk[2] = {2, 5000};
    hid_t   dcpl = TRY(H5Pcreate(H5P_DATASET_CREATE)), space = TRY(H5Screate_simple(2, dims, max));
    TRY(H5Pset_chunk(dcpl, 2, chunk)), TRY(H5Pset_deflate(dcpl, 1));
    hid_t dset = TRY(H5Dcreate2(file, "v", H5T_STD_I32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT));
    fill(dset, steps * 20000, k * 100000);
    TRY(H5Dclose(dset)), TRY(H5Sclose(space)), TRY(H5Pclose(dcpl));
    dataset(file, "time", H5P_DEFAULT, steps, k * 1000);
    dataset(file, "lat", H5P_DEFAULT, 7, lat);
    TRY(H5Fclose(file));
}

/* A virtual dataset of 4 step files, one after the other along dimension 0; `each`: a file's part there. */
static void stacked(hid_t file, const char *name, const char *from, unsigned rank, const hsize_t *dims, hsize_t each, hsize_t skip)
{
    hid_t   dcpl = TRY(H5Pcreate(H5P_DATASET_CREATE)), space = TRY(H5Screate_simple((int)rank, dims, NULL));
    hsize_t src[2] = {4, 20000}, start[3] = {0}, first[2] = {skip, 0}, count[3] = {each, dims[1], rank > 2 ? dims[2] : 0};
    hsize_t part[2] = {4 - skip, 20000};
    char    in[32];
    for (int k = 0; k < 4; k++) {
        hid_t inner = TRY(H5Screate_simple(strcmp(from, "v") == 0 ? 2 : 1, src, NULL));
        start[0]    = (hsize_t)k * each;
        TRY(H5Sselect_hyperslab(inner, H5S_SELECT_SET, first, NULL, part, NULL));
        TRY(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL));
        (void)snprintf(in, sizeof in, "step%d.h5", k);
        TRY(H5Pset_virtual(dcpl, space, in, from, inner));
        TRY(H5Sclose(inner));
    }
    TRY(H5Dclose(TRY(H5Dcreate2(file, name, H5T_STD_I32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT))));
    TRY(H5Sclose(space)), TRY(H5Pclose(dcpl));
}

/* Blocks of 4 steps without end: of files with a number, or of one source that has no end either. */
static void endless(hid_t file, const char *name, const char *in, bool numbered)
{
    hid_t   dcpl = TRY(H5Pcreate(H5P_DATASET_CREATE));
    hsize_t dims[2] = {4, 20000}, max[2] = {H5S_UNLIMITED, 20000}, start[2] = {0}, count[2] = {H5S_UNLIMITED, 1};
    hid_t   space = TRY(H5Screate_simple(2, dims, max)), inner = TRY(H5Screate_simple(2, dims, max));
    TRY(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, dims, count, dims));
    if (!numbered)
        TRY(H5Sselect_hyperslab(inner, H5S_SELECT_SET, start, dims, count, dims));
    TRY(H5Pset_virtual(dcpl, space, in, "v", inner));
    TRY(H5Dclose(TRY(H5Dcreate2(file, name, H5T_STD_I32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT))));
    TRY(H5Sclose(space)), TRY(H5Sclose(inner)), TRY(H5Pclose(dcpl));
}

/* The files' steps in turns, `block` of each at a time: the first of all, the second of all, … */
static void woven(hid_t file, const char *name, hsize_t block)
{
    const hsize_t dims[2] = {16, 20000}, src[2] = {4, 20000}, stride[2] = {4 * block, 20000}, count[2] = {4 / block, 1};
    const hsize_t size[2] = {block, 20000};
    hid_t         dcpl = TRY(H5Pcreate(H5P_DATASET_CREATE)), space = TRY(H5Screate_simple(2, dims, NULL)), inner = TRY(H5Screate_simple(2, src, NULL));
    for (int k = 0; k < 4; k++) {
        char          in[32];
        const hsize_t start[2] = {(hsize_t)k * block, 0};
        (void)snprintf(in, sizeof in, "step%d.h5", k);
        TRY(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, size));
        TRY(H5Pset_virtual(dcpl, space, in, "v", inner));
    }
    TRY(H5Dclose(TRY(H5Dcreate2(file, name, H5T_STD_I32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT))));
    TRY(H5Sclose(space)), TRY(H5Sclose(inner)), TRY(H5Pclose(dcpl));
}

static void virtuals(void)
{
    hid_t file = TRY(H5Fcreate("virtual.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    stacked(file, "rows", "v", 2, (hsize_t[]){16, 20000}, 4, 0);
    stacked(file, "frames", "v", 3, (hsize_t[]){4, 4, 20000}, 1, 0);
    stacked(file, "times", "time", 1, (hsize_t[]){16, 0}, 4, 0);
    stacked(file, "shifted", "v", 2, (hsize_t[]){12, 20000}, 3, 1);
    woven(file, "woven", 2);
    woven(file, "combed", 1); /* less than a chunk at a time */
    endless(file, "numbered", "step%b.h5", true);
    endless(file, "grown", "step1.h5", false);
    TRY(H5Fclose(file));
}

/* Many files of 100 chunks; the last one's name is much longer. */
static void many(int n)
{
    static int values[20000];
    hsize_t    dims[2] = {10, 2000}, chunk[2] = {1, 200};
    hid_t      dcpl = TRY(H5Pcreate(H5P_DATASET_CREATE)), space = TRY(H5Screate_simple(2, dims, NULL));
    TRY(H5Pset_chunk(dcpl, 2, chunk)), TRY(H5Pset_deflate(dcpl, 1));
    for (int k = 0; k < n; k++) {
        char name[200];
        (void)snprintf(name, sizeof name, "many%0*d.h5", k + 1 == n ? 150 : 5, k);
        for (int i = 0; i < 20000; i++)
            values[i] = k * 100 + i % 2000 / 200 + i / 2000 * 10; /* which chunk */
        hid_t file = TRY(H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
        hid_t dset = TRY(H5Dcreate2(file, "v", H5T_STD_I32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT));
        TRY(H5Dwrite(dset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
        TRY(H5Dclose(dset)), TRY(H5Fclose(file));
    }
    TRY(H5Sclose(space)), TRY(H5Pclose(dcpl));
}

int main(int argc, char **argv)
{
    hid_t fcpl = TRY(H5Pcreate(H5P_FILE_CREATE)), fapl = TRY(H5Pcreate(H5P_FILE_ACCESS)), latest = TRY(H5Pcreate(H5P_FILE_ACCESS));
    char  name[32];
    if (argc < 2 || chdir(argv[1]) != 0)
        return 2;
    if (argc > 2) {
        many(atoi(argv[2]));
        return failures != 0;
    }
    make_file("plain.h5", H5P_DEFAULT, H5P_DEFAULT);
    TRY(H5Pset_libver_bounds(latest, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST));
    make_file("latest.h5", H5P_DEFAULT, latest);
    TRY(H5Pset_userblock(fcpl, 1024));
    make_file("userblock.h5", fcpl, H5P_DEFAULT);
    TRY(H5Pset_fapl_family(fapl, 2500, H5P_DEFAULT));
    make_file("family%04d.h5", H5P_DEFAULT, fapl);
    TRY(H5Pset_fapl_split(fapl, "-m.h5", H5P_DEFAULT, "-r.h5", H5P_DEFAULT));
    make_file("split", H5P_DEFAULT, fapl);
    external();
    for (int k = 0; k < 4; k++) {
        (void)snprintf(name, sizeof name, "step%d.h5", k);
        step(name, k, 4, 0);
    }
    step("other.h5", 9, 4, 5);
    step("odd.h5", 8, 3, 0);
    virtuals();
    TRY(H5Pclose(fcpl)), TRY(H5Pclose(fapl)), TRY(H5Pclose(latest));
    return failures != 0;
}
