/* make_domain FILE: a domain with something of everything that HDF5 encodes, for domains.py to change.  Run
 * with the connector chosen by HDF5_VOL_CONNECTOR. */
#include <string.h>

#include "h5tests/helpers/must_succeed.h"
#include "h5tests/helpers/type_zoo.h"

#define N 4

static hid_t a_list(size_t i, size_t rank)
{
    const hsize_t chunk[2] = {2, 2};
    hid_t l = (hid_t)TRY(H5Pcreate(H5P_DATASET_CREATE));
    if (i % 3) {
        TRY(H5Pset_chunk(l, (int)rank, chunk));
        TRY(H5Pset_attr_phase_change(l, 20, 7)); /* makes an encoded list */
    }
    if (i % 3 == 2) {
        TRY(H5Pset_shuffle(l));
        TRY(H5Pset_deflate(l, 3));
        TRY(H5Pset_attr_creation_order(l, H5P_CRT_ORDER_TRACKED));
        TRY(H5Pset_dset_no_attrs_hint(l, true)); /* the schema has no key for that */
    }
    return l;
}

static void a_type(hid_t file, size_t i)
{
    const hsize_t dims[2] = {N, N}, max[2] = {H5S_UNLIMITED, N};
    hid_t type = zoo[i].make();
    hid_t space = (hid_t)TRY(H5Screate_simple(2, dims, i % 3 ? max : NULL));
    hid_t list = a_list(i, 2);
    size_t size = H5Tget_size(type);
    char *values = calloc(N * N, size);
    char name[80];
    zoo_fill(type, values, N * N, (unsigned)i);
    hid_t d = H5Dcreate2(file, zoo[i].name, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
    if (d >= 0 && H5Dwrite(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
        (void)fprintf(stderr, "%s is not written\n", zoo[i].name);
    hid_t scalar = (hid_t)TRY(H5Screate(H5S_SCALAR));
    (void)snprintf(name, sizeof name, "attribute %s", zoo[i].name);
    hid_t a = H5Acreate2(file, name, type, scalar, H5P_DEFAULT, H5P_DEFAULT);
    if (a >= 0)
        (void)H5Awrite(a, type, values);
    if (i % 4 == 0) {
        (void)snprintf(name, sizeof name, "type %s", zoo[i].name);
        TRY(H5Tcommit2(file, name, type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    }
    (void)H5Treclaim(type, space, H5P_DEFAULT, values);
    free(values);
    (void)H5Aclose(a);
    (void)H5Dclose(d);
    TRY(H5Sclose(scalar));
    TRY(H5Pclose(list));
    TRY(H5Sclose(space));
    TRY(H5Tclose(type));
}

/* In the working folder, where HDF5 looks for them */
static void a_raw_file(const char *name)
{
    FILE *f = fopen(name, "wb");
    if (!f || fwrite("0123456789abcdef0123456789abcdef", 1, 32, f) != 32 || fclose(f))
        die(name);
}

static void virtual_and_external(hid_t file)
{
    a_raw_file("a.raw");
    a_raw_file("b.raw");
    const hsize_t dims[1] = {8}, start[1] = {2}, count[1] = {2}, stride[1] = {3}, block[1] = {2};
    hid_t space = (hid_t)TRY(H5Screate_simple(1, dims, NULL)), part = (hid_t)TRY(H5Scopy(space));
    hid_t list = (hid_t)TRY(H5Pcreate(H5P_DATASET_CREATE)), raw = (hid_t)TRY(H5Pcreate(H5P_DATASET_CREATE));
    TRY(H5Sselect_hyperslab(part, H5S_SELECT_SET, start, stride, count, block));
    TRY(H5Pset_virtual(list, part, ".", "/source", part));
    TRY(H5Pset_external(raw, "a.raw", 0, 16));
    TRY(H5Pset_external(raw, "b.raw", 4, H5F_UNLIMITED));
    TRY(H5Dclose(
        TRY(H5Dcreate2(file, "source", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))));
    TRY(H5Dclose(TRY(H5Dcreate2(file, "virtual", H5T_STD_I32LE, space, H5P_DEFAULT, list, H5P_DEFAULT))));
    TRY(H5Dclose(TRY(H5Dcreate2(file, "external", H5T_STD_I32LE, space, H5P_DEFAULT, raw, H5P_DEFAULT))));
    hid_t refs = (hid_t)TRY(H5Screate_simple(1, count, NULL)), d;
    H5R_ref_t r[2];
    TRY(H5Rcreate_region(file, "source", part, H5P_DEFAULT, &r[0]));
    TRY(H5Rcreate_object(file, "virtual", H5P_DEFAULT, &r[1]));
    d = (hid_t)TRY(H5Dcreate2(file, "references", H5T_STD_REF, refs, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Dwrite(d, H5T_STD_REF, H5S_ALL, H5S_ALL, H5P_DEFAULT, r));
    TRY(H5Rdestroy(&r[0]));
    TRY(H5Rdestroy(&r[1]));
    TRY(H5Dclose(d));
}

static void groups(hid_t file)
{
    hid_t list = (hid_t)TRY(H5Pcreate(H5P_GROUP_CREATE));
    TRY(H5Pset_link_phase_change(list, 100, 50));
    TRY(H5Pset_link_creation_order(list, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED));
    hid_t g = (hid_t)TRY(H5Gcreate2(file, "group", H5P_DEFAULT, list, H5P_DEFAULT));
    TRY(H5Lcreate_soft("/source", g, "soft", H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Lcreate_hard(file, "source", g, "hard", H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Lcreate_external("other.h5", "/x", g, "external", H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Gclose(g));
}

int main(int argc, char **argv)
{
    hid_t fcpl = (hid_t)TRY(H5Pcreate(H5P_FILE_CREATE));
    TRY(H5Pset_link_phase_change(fcpl, 30, 10));
    if (argc != 2)
        return 2;
    hid_t file = (hid_t)TRY(H5Fcreate(argv[1], H5F_ACC_TRUNC, fcpl, H5P_DEFAULT));
    for (size_t i = 0; i < zoo_size; i++)
        a_type(file, i);
    virtual_and_external(file);
    groups(file);
    TRY(H5Fclose(file));
    return 0;
}
