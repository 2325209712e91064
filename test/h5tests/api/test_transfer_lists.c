/* A program's transfer list with collective access (H5Pset_dxpl_mpio), if HDF5 itself moves the elements in a
 * file of ours or in one that no MPI driver opened: data transforms, raw files, sources of virtual datasets,
 * files behind external links.
 *
 * An HDF5 without MPI takes such a list.  So this program has its own H5Dread() and H5Dwrite(), which replace
 * HDF5's for the plugin, too.  They refuse the same as an HDF5 with MPI: a collective list for a file that
 * was opened without MPI. */
#include <dlfcn.h>
#include <unistd.h>

#include "h5tests/helpers/compare_write.h"

#define N 64
#define MODE "io_xfer_mode" /* HDF5's name of the property that H5Pset_dxpl_mpio() sets */

static unsigned depth, refused, inner; /* inner: calls that the connector made */

static bool is_collective(hid_t dxpl)
{
    H5FD_mpio_xfer_t mode = H5FD_MPIO_INDEPENDENT;
    return dxpl != H5P_DEFAULT && H5Pget(dxpl, MODE, &mode) >= 0 && mode == H5FD_MPIO_COLLECTIVE;
}

static bool refuses(hid_t dxpl)
{
    bool yes = depth > 0 && is_collective(dxpl);
    refused += yes;
    inner += depth > 0;
    return yes;
}

__attribute__((visibility("default"))) herr_t H5Dread(hid_t dset, hid_t mem_type, hid_t mem_space, hid_t file_space, hid_t dxpl, void *buf)
{
    herr_t (*hdf5s)(hid_t, hid_t, hid_t, hid_t, hid_t, void *);
    *(void **)&hdf5s = dlsym(RTLD_NEXT, "H5Dread");
    if (refuses(dxpl))
        return -1;
    depth++;
    herr_t rc = hdf5s(dset, mem_type, mem_space, file_space, dxpl, buf);
    depth--;
    return rc;
}

__attribute__((visibility("default"))) herr_t H5Dwrite(hid_t dset, hid_t mem_type, hid_t mem_space, hid_t file_space, hid_t dxpl, const void *buf)
{
    herr_t (*hdf5s)(hid_t, hid_t, hid_t, hid_t, hid_t, const void *);
    *(void **)&hdf5s = dlsym(RTLD_NEXT, "H5Dwrite");
    if (refuses(dxpl))
        return -1;
    depth++;
    herr_t rc = hdf5s(dset, mem_type, mem_space, file_space, dxpl, buf);
    depth--;
    return rc;
}

static hid_t collective(const char *transform)
{
    const H5FD_mpio_xfer_t mode = H5FD_MPIO_COLLECTIVE;
    hid_t                  dxpl = H5Pcreate(H5P_DATASET_XFER);
    CHECK(H5Pset(dxpl, MODE, &mode) >= 0, "setting %s: %s", MODE, error_text());
    CHECK(!transform || H5Pset_data_transform(dxpl, transform) >= 0, "H5Pset_data_transform");
    return dxpl;
}

static void expect(const int *got, int factor, int plus, const char *what)
{
    for (int i = 0; i < N; i++)
        if (got[i] != i * factor + plus) {
            CHECK(false, "%s: element %d is %d, not %d", what, i, got[i], i * factor + plus);
            return;
        }
}

/* Written and read back with collective lists.  The connector makes calls of its own, and none of them is
 * refused. */
static void move(hid_t dset, const char *what, hid_t to, hid_t from, int factor, int plus)
{
    int values[N], got[N] = {0};
    for (int i = 0; i < N; i++)
        values[i] = i;
    refused = inner = 0;
    CHECK(dset >= 0 && H5Dwrite(dset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, to, values) >= 0, "%s: writing: %s", what, error_text());
    CHECK(H5Dread(dset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, from, got) >= 0, "%s: reading: %s", what, error_text());
    expect(got, factor, plus, what);
    CHECK(refused == 0 && inner > 0, "%s: %u of the connector's %u calls have a collective list", what, refused, inner);
    CHECK(is_collective(to) && is_collective(from), "%s: the program's own list is another one now", what);
    H5Dclose(dset);
}

static hid_t space_of_all(void) { return H5Screate_simple(1, &(hsize_t){N}, NULL); }

static void transforms(const struct out *o, hid_t f)
{
    hid_t space = space_of_all(), plain = collective(NULL), both = collective("2*x+1");
    (void)o;
    move(H5Dcreate2(f, "written", H5T_STD_I32BE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "a transform of what is written", both, plain,
         2, 1);
    move(H5Dcreate2(f, "read", H5T_STD_I32BE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "a transform of what is read", plain, both, 2,
         1);
    H5Pclose(both);
    H5Pclose(plain);
    H5Sclose(space);
}

static void raw_files(const struct out *o, hid_t f)
{
    hid_t space = space_of_all(), plain = collective(NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    CHECK(H5Pset_external(dcpl, new_name(o, "elements.raw"), 0, N * sizeof(int)) >= 0, "H5Pset_external");
    move(H5Dcreate2(f, "raw", H5T_NATIVE_INT, space, H5P_DEFAULT, dcpl, H5P_DEFAULT), "a raw file", plain, plain, 1, 0);
    H5Pclose(dcpl);
    H5Pclose(plain);
    H5Sclose(space);
}

static hid_t native_file(const char *name)
{
    hid_t fapl = fapl_native(), f = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl), space = space_of_all();
    H5Dclose(H5Dcreate2(f, "d", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
    H5Pclose(fapl);
    return H5Fclose(f);
}

static void other_files(const struct out *o, hid_t f)
{
    hid_t space = space_of_all(), plain = collective(NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    CHECK(native_file(new_name(o, "other.h5")) >= 0, "making a file of HDF5's: %s", error_text());
    CHECK(H5Lcreate_external(new_name(o, "other.h5"), "/d", f, "link", H5P_DEFAULT, H5P_DEFAULT) >= 0, "H5Lcreate_external");
    move(H5Dopen2(f, "link", H5P_DEFAULT), "a file behind an external link", plain, plain, 1, 0);
    CHECK(H5Pset_virtual(dcpl, space, new_name(o, "other.h5"), "/d", space) >= 0, "H5Pset_virtual");
    move(H5Dcreate2(f, "virtual", H5T_NATIVE_INT, space, H5P_DEFAULT, dcpl, H5P_DEFAULT), "the source of a virtual dataset", plain, plain, 1,
         0);
    H5Pclose(dcpl);
    H5Pclose(plain);
    H5Sclose(space);
}

static void run(const struct out *side)
{
    struct out o    = *side;
    hid_t      fapl = new_fapl(&o), f = H5Fcreate(new_name(&o, "lists.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    CHECK(f >= 0, "%s", error_text());
    transforms(&o, f);
    raw_files(&o, f);
    other_files(&o, f);
    H5Fclose(f);
    H5Pclose(fapl);
}

int main(void)
{
    const struct out o = {.ours = true};
    compare_write_extra(run, &o);
    compare_write_end();
    return failures != 0;
}
