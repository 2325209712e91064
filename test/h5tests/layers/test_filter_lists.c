/* Lists of filters are compared: short memory is a failure, and not a difference of the lists. */
#include <hdf5.h>
#include <stdbool.h>

static long left = -1; /* allocations until one fails; negative: none does */

static bool fails(void)
{
    return left >= 0 && left-- == 0;
}

#include "helpers/check.h"
#include "helpers/failing_alloc.h"
#include "vol/core/filters.h"

typedef int agree_fn(hid_t a, hid_t b, struct bkt_err *err);

static hid_t list(unsigned level)
{
    const hsize_t chunk = 8;
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
    REQUIRE(H5Pset_chunk(dcpl, 1, &chunk) >= 0 && H5Pset_shuffle(dcpl) >= 0 &&
                H5Pset_deflate(dcpl, level) >= 0,
            "a creation list");
    return dcpl;
}

static hid_t dataset(hid_t file, const char *name, hid_t dcpl)
{
    const hsize_t dim = 16;
    hid_t space = H5Screate_simple(1, &dim, NULL);
    hid_t dset = H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    REQUIRE(dset >= 0, "a dataset");
    H5Sclose(space);
    return dset;
}

/* @p a and @p same agree, @p a and @p other don't; an allocation that fails is reported. */
static void compare(const char *what, agree_fn *agree, hid_t a, hid_t same, hid_t other)
{
    long n = 0;
    for (bool failed = true; failed; n++) {
        struct bkt_err err = {.n = 0};
        left = n;
        int rc = agree(a, same, &err);
        failed = left < 0;
        left = -1;
        CHECK(rc == (failed ? BKT_ENOMEM : 1) && (err.n > 0) == failed, "%s, allocation %ld: %d", what, n,
              rc);
    }
    CHECK(n > 4, "%s: %ld allocations are too few", what, n);
    CHECK(agree(a, other, NULL) == 0, "%s: other levels", what);
}

int main(void)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), a = list(4), same = list(4), other = list(5);
    REQUIRE(H5Pset_fapl_core(fapl, 4096, false) >= 0, "a file in memory");
    hid_t file = H5Fcreate("lists.h5", H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    REQUIRE(file >= 0, "a file in memory");
    hid_t x = dataset(file, "x", a), y = dataset(file, "y", same), z = dataset(file, "z", other);
    compare("lists", bkt_filters_agree_lists, a, same, other);
    compare("datasets", bkt_filters_agree, x, y, z);
    H5Dclose(x), H5Dclose(y), H5Dclose(z);
    H5Fclose(file);
    H5Pclose(a), H5Pclose(same), H5Pclose(other), H5Pclose(fapl);
    return failures > 0;
}
