/* h5read bucket|native|ros3 FILE DATASET: read a whole dataset of 4-byte numbers, by nothing but HDF5's public API.
 * Prints a checksum, so that the ways of reading can be told to agree. */
#include <hdf5.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hid_t access_list(const char *how)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), connector = H5I_INVALID_HID;
    if (strcmp(how, "bucket") == 0) {
        connector = H5VLregister_connector_by_name("bucket", H5P_DEFAULT);
        if (connector < 0 || H5Pset_vol(fapl, connector, NULL) < 0)
            exit(1);
        H5VLclose(connector);
    }
#ifdef H5_HAVE_ROS3_VFD
    if (strcmp(how, "ros3") == 0) {
        H5FD_ros3_fapl_t ros3 = {.version = H5FD_CURR_ROS3_FAPL_T_VERSION, .authenticate = 0};
        if (H5Pset_fapl_ros3(fapl, &ros3) < 0)
            exit(1);
    }
#endif
    return fapl;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return fprintf(stderr, "usage: h5read bucket|native|ros3 FILE DATASET\n"), 2;
    hid_t fapl = access_list(argv[1]), file = H5Fopen(argv[2], H5F_ACC_RDONLY, fapl);
    if (file < 0)
        return 1;
    hid_t    dset = H5Dopen2(file, argv[3], H5P_DEFAULT), space = H5Dget_space(dset);
    hssize_t n    = dset < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    float   *data = n > 0 ? malloc((size_t)n * sizeof *data) : NULL;
    if (!data || H5Dread(dset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)
        return 1;
    uint64_t sum = 0, bits = 0;
    for (hssize_t i = 0; i < n; i += 61) { /* enough to tell a wrong chunk, too little to cost time */
        memcpy(&bits, &data[i], sizeof *data);
        sum = sum * 1099511628211U + bits;
    }
    printf("%016" PRIx64 "\n", sum);
    free(data);
    H5Sclose(space);
    H5Dclose(dset);
    H5Fclose(file);
    H5Pclose(fapl);
    return 0;
}
