/* make_plain DIR PARTS: HDF5 files for bench/run --plain, besides make_data's.  PARTS of 256 are made of each.
 *
 *   DIR/bucket/data/scattered.h5           20 groups of 50 chunked datasets of 256 KiB, written in turn; old format
 *   DIR/bucket/data/many_{old,latest}.h5   a group of 10,000 datasets of 4,000 bytes
 *   DIR/bucket/data/chunks_{tree1,tree2,fixed,extensible}.h5   1,000,000 chunks of 16 bytes, by kind of index
 *   DIR/bucket/data/strings_{variable,fixed}.h5                1,000,000 strings of 24 bytes
 *   DIR/bucket/data/ordered.h5             60 variables with 20 attributes, whose order of creation is kept, as netCDF-4 does */
#include <hdf5.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "variables.h"

#define GROUPS 20
#define MEMBER ((hsize_t)256 << 10)
#define ACROSS 1000U /* chunks side by side */
#define TEXT   24    /* bytes of a string */

static const char *dir;
static unsigned    parts;

static void must(int64_t rc, const char *what)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "make_plain: %s failed\n", what);
    exit(1);
}

static hid_t create(const char *name, int latest)
{
    char  path[4096];
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    snprintf(path, sizeof path, "%s/bucket/data/%s.h5", dir, name);
    if (latest)
        must(H5Pset_libver_bounds(fapl, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST), "H5Pset_libver_bounds");
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    must(file, path);
    H5Pclose(fapl);
    return file;
}

static void put(hid_t dset, hid_t type, const void *data)
{
    must(dset, "H5Dcreate");
    must(H5Dwrite(dset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), "H5Dwrite");
    must(H5Dclose(dset), "H5Dclose");
}

static void put_units(hid_t dset)
{
    hid_t scalar = H5Screate(H5S_SCALAR), type = H5Tcopy(H5T_C_S1);
    hid_t units  = H5Acreate2(dset, "units", type, scalar, H5P_DEFAULT, H5P_DEFAULT);
    must(H5Awrite(units, type, "m"), "H5Awrite");
    H5Aclose(units);
    H5Tclose(type);
    H5Sclose(scalar);
}

/* The metadata lie between the data of all groups. */
static void scattered(void)
{
    char           name[32];
    hid_t          file = create("scattered", 0), groups[GROUPS], dcpl = H5Pcreate(H5P_DATASET_CREATE);
    hsize_t        n = MEMBER, half = MEMBER / 2;
    hid_t          space = H5Screate_simple(1, &n, NULL);
    unsigned char *data  = malloc(MEMBER);
    if (!data)
        exit(1);
    H5Pset_chunk(dcpl, 1, &half);
    for (unsigned g = 0; g < GROUPS; g++) {
        snprintf(name, sizeof name, "g%02u", g);
        groups[g] = H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    }
    for (unsigned i = 0; i < 50 * parts / 256 * GROUPS; i++) {
        snprintf(name, sizeof name, "d%02u", i / GROUPS);
        memset(data, (int)(i & 255), MEMBER);
        hid_t dset = H5Dcreate2(groups[i % GROUPS], name, H5T_STD_U8LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
        put_units(dset);
        put(dset, H5T_NATIVE_UCHAR, data);
    }
    for (unsigned g = 0; g < GROUPS; g++)
        H5Gclose(groups[g]);
    free(data);
    H5Sclose(space);
    H5Pclose(dcpl);
    must(H5Fclose(file), "H5Fclose");
}

static void many(const char *name, int latest)
{
    char    member[32];
    int32_t data[1000] = {0};
    hsize_t n          = 1000;
    hid_t   file = create(name, latest), group = H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t   space = H5Screate_simple(1, &n, NULL);
    for (unsigned i = 0; i < 10000 * parts / 256; i++) {
        snprintf(member, sizeof member, "d%05u", i);
        put(H5Dcreate2(group, member, H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5T_NATIVE_INT32, data);
    }
    H5Sclose(space);
    H5Gclose(group);
    must(H5Fclose(file), "H5Fclose");
}

/* unlimited: the number of dimensions without a limit, which chooses the kind of index */
static void chunks(const char *name, int latest, int unlimited)
{
    const hsize_t rows = (hsize_t)ACROSS * parts / 256, dims[] = {2 * rows, 2 * (hsize_t)ACROSS}, chunk[] = {2, 2};
    hsize_t       most[] = {dims[0], dims[1]};
    for (int d = 0; d < unlimited; d++)
        most[d] = H5S_UNLIMITED;
    hid_t file = create(name, latest), dcpl = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(2, dims, most);
    H5Pset_chunk(dcpl, 2, chunk);
    hid_t dset = H5Dcreate2(file, "field", H5T_IEEE_F32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    must(dset, name);
    for (hsize_t i = 0; i < rows * ACROSS; i++) {
        const hsize_t at[] = {i / ACROSS * 2, i % ACROSS * 2};
        const float   v[]  = {(float)i, 1, 2, 3};
        must(H5Dwrite_chunk(dset, H5P_DEFAULT, 0, at, sizeof v, v), "H5Dwrite_chunk");
    }
    H5Dclose(dset);
    H5Sclose(space);
    H5Pclose(dcpl);
    must(H5Fclose(file), "H5Fclose");
}

static void strings(void)
{
    hsize_t n    = (hsize_t)1000000 * parts / 256, chunk = 10000;
    char   *text = calloc(n, TEXT), **at = malloc(n * sizeof *at);
    if (!text || !at)
        exit(1);
    for (hsize_t i = 0; i < n; i++) {
        at[i] = text + i * TEXT;
        snprintf(at[i], TEXT, "a string, number %06u", (unsigned)(i % 1000000));
    }
    hid_t space = H5Screate_simple(1, &n, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    hid_t variable = H5Tcopy(H5T_C_S1), fixed = H5Tcopy(H5T_C_S1);
    H5Tset_size(variable, H5T_VARIABLE);
    H5Tset_size(fixed, TEXT);
    H5Pset_chunk(dcpl, 1, &chunk);
    hid_t file = create("strings_variable", 0);
    put(H5Dcreate2(file, "text", variable, space, H5P_DEFAULT, dcpl, H5P_DEFAULT), variable, at);
    must(H5Fclose(file), "H5Fclose");
    file = create("strings_fixed", 0);
    put(H5Dcreate2(file, "text", fixed, space, H5P_DEFAULT, dcpl, H5P_DEFAULT), fixed, text);
    must(H5Fclose(file), "H5Fclose");
    H5Tclose(variable);
    H5Tclose(fixed);
    H5Sclose(space);
    H5Pclose(dcpl);
    free(at);
    free(text);
}

/* More than eight attributes lie in a heap of their own then. */
static void ordered(void)
{
    const unsigned kept = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;
    char           path[4096];
    hid_t          fapl = H5Pcreate(H5P_FILE_ACCESS), fcpl = H5Pcreate(H5P_FILE_CREATE), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_libver_bounds(fapl, H5F_LIBVER_V18, H5F_LIBVER_V18);
    H5Pset_link_creation_order(fcpl, kept);
    H5Pset_attr_creation_order(dcpl, kept);
    snprintf(path, sizeof path, "%s/bucket/data/ordered.h5", dir);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, fcpl, fapl);
    must(file, path);
    must(make_variables(file, dcpl), path);
    H5Pclose(dcpl);
    H5Pclose(fcpl);
    H5Pclose(fapl);
    must(H5Fclose(file), "H5Fclose");
}

int main(int argc, char **argv)
{
    parts = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    if (parts < 16 || parts > 256)
        return fprintf(stderr, "usage: make_plain DIR PARTS (16 to 256)\n"), 2;
    dir = argv[1];
    scattered();
    many("many_old", 0);
    many("many_latest", 1);
    chunks("chunks_tree1", 0, 0);
    chunks("chunks_tree2", 1, 2);
    chunks("chunks_fixed", 1, 0);
    chunks("chunks_extensible", 1, 1);
    strings();
    ordered();
    return 0;
}
