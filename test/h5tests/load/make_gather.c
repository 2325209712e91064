/* Files as a model run leaves them, a step after the other, for load_gather.py: make_gather FOLDER
 *
 * Each has a dimension time (4 steps) with a dimension scale, as netCDF-4 makes it, and lat, which all share;
 * temp[time, lat, 3000] is large enough to be linked, small[time, lat] is copied.  Some of the files don't
 * fit, and some are one file as it grows. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "h5tests/helpers/must_succeed.h"

#define STEPS 4
#define LATS  7
#define WIDE  3000

static void text(hid_t obj, const char *name, const char *value)
{
    hid_t type = TRY(H5Tcopy(H5T_C_S1)), space = TRY(H5Screate(H5S_SCALAR));
    TRY(H5Tset_size(type, strlen(value) + 1));
    hid_t attr = TRY(H5Acreate2(obj, name, type, space, H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Awrite(attr, type, value));
    TRY(H5Aclose(attr)), TRY(H5Tclose(type)), TRY(H5Sclose(space));
}

/* The result of H5DSattach_scale(): for each dimension a list of references to its scales. */
static void scales(hid_t file, hid_t dset, unsigned rank, const char *first, const char *second)
{
    const char *const names[] = {first, second};
    hobj_ref_t        refs[2];
    hvl_t             lists[3] = {{0, NULL}};
    hsize_t           n        = rank;
    hid_t             type = TRY(H5Tvlen_create(H5T_STD_REF_OBJ)), space = TRY(H5Screate_simple(1, &n, NULL));
    for (unsigned d = 0; d < rank && d < 2; d++) {
        TRY(H5Rcreate(&refs[d], file, names[d], H5R_OBJECT, -1));
        lists[d] = (hvl_t){1, &refs[d]};
    }
    hid_t attr = TRY(H5Acreate2(dset, "DIMENSION_LIST", type, space, H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Awrite(attr, type, lists));
    TRY(H5Aclose(attr)), TRY(H5Tclose(type)), TRY(H5Sclose(space));
}

static hid_t dataset(hid_t file, const char *name, unsigned rank, const hsize_t *dims, hid_t dcpl, int base)
{
    size_t n = 1;
    for (unsigned d = 0; d < rank; d++)
        n *= dims[d];
    int  *v     = malloc(n * sizeof *v);
    hid_t space = TRY(H5Screate_simple((int)rank, dims, NULL));
    hid_t dset  = TRY(H5Dcreate2(file, name, H5T_STD_I32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT));
    for (size_t i = 0; v && i < n; i++)
        v[i] = base + (int)i;
    TRY(H5Dwrite(dset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    free(v);
    TRY(H5Sclose(space));
    return dset;
}

enum oddity { NONE, UNITS, EXTERNAL, BROKEN, MASKED, CONTIGUOUS, UNFILTERED };

/* Bytes that no filter can have made. */
static void spoil(hid_t dset, uint32_t mask)
{
    static const int raw[2 * LATS] = {77, 78, 79};
    const hsize_t    at[2]         = {0, 0};
    TRY(H5Dwrite_chunk(dset, H5P_DEFAULT, mask, at, sizeof raw, raw));
}

static void make_file(const char *name, int k, hsize_t steps, enum oddity odd, hid_t fapl)
{
    const hsize_t temp[] = {steps, LATS, WIDE}, small[] = {steps, LATS}, lats = LATS;
    const hsize_t chunk[] = {2, LATS, 1000}, part[] = {2, LATS};
    hid_t         file = TRY(H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl));
    hid_t         big = TRY(H5Pcreate(H5P_DATASET_CREATE)), little = TRY(H5Pcreate(H5P_DATASET_CREATE));
    hid_t         time = dataset(file, "time", 1, &steps, H5P_DEFAULT, k * 10), lat = dataset(file, "lat", 1, &lats, H5P_DEFAULT, 50);
    text(time, "CLASS", "DIMENSION_SCALE"), text(lat, "CLASS", "DIMENSION_SCALE");
    text(time, "units", odd == UNITS ? "days since 2020-01-01" : "hours since 2020-01-01");
    scales(file, lat, 2, "lat", "time"); /* it has one dimension: a second one's index means nothing */
    text(time, "history", name); /* not part of the values' meaning: the first file's stays */
    char raw[64];
    (void)snprintf(raw, sizeof raw, "%s.bin", name);
    if (odd == EXTERNAL)
        TRY(H5Pset_external(big, raw, 0, H5F_UNLIMITED));
    else if (odd != CONTIGUOUS)
        TRY(H5Pset_chunk(big, 3, chunk));
    if (odd != EXTERNAL && odd != CONTIGUOUS && odd != UNFILTERED)
        TRY(H5Pset_deflate(big, 1));
    hid_t d = dataset(file, "temp", 3, temp, big, k * 100000);
    scales(file, d, 3, "time", "lat");
    if (odd == MASKED) {
        static int    plain[2 * LATS * 1000];
        const hsize_t at[3] = {0, 0, 0};
        for (int i = 0; i < 2 * LATS * 1000; i++)
            plain[i] = k * 100000 + i / 1000 * WIDE + i % 1000; /* the same attributes, without the filter */
        TRY(H5Dwrite_chunk(d, H5P_DEFAULT, 1, at, sizeof plain, plain));
    }
    TRY(H5Dclose(d));
    TRY(H5Pset_chunk(little, 2, part)), TRY(H5Pset_deflate(little, 1));
    d = dataset(file, "small", 2, small, little, k * 1000);
    scales(file, d, 2, "time", "lat");
    if (odd == BROKEN)
        spoil(d, 0);
    TRY(H5Dclose(d)), TRY(H5Dclose(time)), TRY(H5Dclose(lat));
    TRY(H5Pclose(big)), TRY(H5Pclose(little)), TRY(H5Fclose(file));
}

int main(int argc, char **argv)
{
    hid_t fapl = TRY(H5Pcreate(H5P_FILE_ACCESS));
    if (argc != 2 || chdir(argv[1]) != 0)
        return 2;
    for (int k = 0; k < 4; k++) {
        char name[32];
        (void)snprintf(name, sizeof name, "run%d.h5", k);
        make_file(name, k, STEPS, NONE, H5P_DEFAULT);
    }
    make_file("units.h5", 5, STEPS, UNITS, H5P_DEFAULT);
    make_file("outside.h5", 6, STEPS, EXTERNAL, H5P_DEFAULT);
    make_file("broken.h5", 7, STEPS, BROKEN, H5P_DEFAULT);
    make_file("masked.h5", 8, STEPS, MASKED, H5P_DEFAULT);
    static const struct {
        const char *name;
        enum oddity form;
    } grown[] = {{"filtered", NONE}, {"unfiltered", UNFILTERED}, {"contiguous", CONTIGUOUS}, {"external", EXTERNAL}};
    /* each as it is first, with twice the steps, and with one more */
    for (size_t i = 0; i < sizeof grown / sizeof *grown; i++)
        for (int n = 0; n < 3; n++) {
            char name[48];
            (void)snprintf(name, sizeof name, "%s%d.h5", grown[i].name, n);
            make_file(name, 11, n == 0 ? STEPS : n == 1 ? 2 * STEPS : STEPS + 1, grown[i].form, H5P_DEFAULT);
        }
    TRY(H5Pset_fapl_family(fapl, 3000, H5P_DEFAULT));
    make_file("parts%04d.h5", 9, STEPS, NONE, fapl);
    TRY(H5Pset_fapl_split(fapl, "-m.h5", H5P_DEFAULT, "-r.h5", H5P_DEFAULT));
    make_file("halves", 4, STEPS, NONE, fapl);
    TRY(H5Pclose(fapl));
    return failures != 0;
}
