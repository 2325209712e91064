/* read_dataset FILE DATASET first|all|rows|chunks [TIMES]: read a dataset, TIMES times in one open file: its
 * first element, or all of it, or all of it in calls of one leading index each.  Or only count its chunks.
 * The environment chooses the connector.  Prints a checksum, or the number of chunks. */
#include <hdf5.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t sum;

static int read_part(hid_t dset, hid_t type, hid_t space, const hsize_t *start, const hsize_t *count, int rank)
{
    hsize_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= count[i];
    if (rank && H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) < 0)
        return -1;
    hid_t          mem = H5Screate_simple(1, &n, NULL);
    size_t         len = (size_t)n * H5Tget_size(type);
    unsigned char *buf = malloc(len ? len : 1);
    herr_t         rc  = H5Dread(dset, type, mem, space, H5P_DEFAULT, buf);
    for (size_t i = 0; rc >= 0 && i < len; i++)
        sum = (sum ^ buf[i]) * 1099511628211U;
    free(buf);
    H5Sclose(mem);
    return rc < 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return fprintf(stderr, "usage: read_dataset FILE DATASET first|all|rows|chunks [TIMES]\n"), 2;
    hid_t file = H5Fopen(argv[1], H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0)
        return 1;
    for (long times = argc > 4 ? strtol(argv[4], NULL, 10) : 1; times > 0; times--) {
        hid_t   dset = H5Dopen2(file, argv[2], H5P_DEFAULT);
        if (dset < 0)
            return 1;
        hid_t   space = H5Dget_space(dset), stored = H5Dget_type(dset), type = H5Tget_native_type(stored, H5T_DIR_ASCEND);
        hsize_t start[H5S_MAX_RANK] = {0}, count[H5S_MAX_RANK] = {0};
        int     rank = H5Sget_simple_extent_dims(space, count, NULL), rc = 0;
        hsize_t rows = rank && strcmp(argv[3], "rows") == 0 ? count[0] : 1;
        if (strcmp(argv[3], "first") == 0)
            for (int i = 0; i < rank; i++)
                count[i] = 1;
        if (rows > 1)
            count[0] = 1;
        if (strcmp(argv[3], "chunks") == 0) {
            hsize_t n = 0;
            rc        = H5Dget_num_chunks(dset, space, &n);
            sum       = n;
            rows      = 0;
        }
        for (start[0] = 0; start[0] < rows && rc == 0; start[0]++)
            rc = read_part(dset, type, space, start, count, rank);
        H5Tclose(type);
        H5Tclose(stored);
        H5Sclose(space);
        H5Dclose(dset);
        if (rc)
            return 1;
    }
    H5Fclose(file);
    printf("%016" PRIx64 "\n", sum);
    return 0;
}
