/* For the tests of virtual datasets: datasets and files as sources, and what is seen of a dataset. */
#ifndef BKT_VIRTUAL_TESTING_H
#define BKT_VIRTUAL_TESTING_H

#include "h5tests/helpers/compare_write.h"

static int values[4096];

static inline hid_t dataset(hid_t f, const char *name, int rank, const hsize_t *dims, const hsize_t *max, int first)
{
    hsize_t chunk[H5S_MAX_RANK], n = 1;
    for (int i = 0; i < rank; i++) {
        chunk[i] = dims[i] > 4 ? 4 : dims[i] ? dims[i] : 1;
        n *= dims[i];
    }
    for (hsize_t i = 0; i < n; i++)
        values[i] = first + (int)i;
    hid_t p = H5Pcreate(H5P_DATASET_CREATE), s = H5Screate_simple(rank, dims, max);
    H5Pset_chunk(p, rank, chunk);
    hid_t d = H5Dcreate2(f, name, H5T_STD_I32LE, s, H5P_DEFAULT, p, H5P_DEFAULT);
    H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Sclose(s);
    H5Pclose(p);
    return d;
}

static inline void source_file(const struct out *o, const char *leaf, const char *name, int rank, const hsize_t *dims, const hsize_t *max,
                        int first)
{
    hid_t fapl = new_fapl(o), f = H5Fcreate(new_name(o, leaf), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    H5Dclose(dataset(f, name, rank, dims, max, first));
    H5Fclose(f);
    H5Pclose(fapl);
}

static inline bool has_folders(void)
{
    const char *base = getenv("BKT_H5_WRITE");
    return !base || !strstr(base, "://");
}

static inline hid_t list_with_fill(int fill)
{
    hid_t p = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_fill_value(p, H5T_NATIVE_INT, &fill);
    return p;
}

/* Extent and all elements, read whole and by a part. */
static inline void say_dataset(hid_t f, const char *name, hid_t dapl, struct out *o)
{
    hid_t d = H5Dopen2(f, name, dapl), s = H5Dget_space(d);
    H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
    if (d < 0) {
        say_result(o, name, d);
        return;
    }
    hssize_t n = H5Sget_simple_extent_npoints(s);
    say(o, "status %d", (H5Dget_space_status(d, &status), (int)status));
    say(o, "%s: %lld elements", name, (long long)n);
    if (name[0] == 'v') /* other sizes depend on how small chunks are stored together */
        say(o, "%lld bytes of its own", (long long)H5Dget_storage_size(d));
    say_space(o, s);
    int *buf = calloc((size_t)n + 1, sizeof *buf);
    say_result(o, "reading", H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, buf));
    say_bytes(o, "values", buf, (size_t)n * sizeof *buf);
    hsize_t start[H5S_MAX_RANK], stride[H5S_MAX_RANK], count[H5S_MAX_RANK], dims[H5S_MAX_RANK];
    int     rank = H5Sget_simple_extent_dims(s, dims, NULL);
    for (int i = 0; i < rank; i++) {
        start[i]  = dims[i] > 1;
        stride[i] = 3;
        count[i]  = dims[i] > start[i] ? (dims[i] - start[i] + 2) / 3 : 0;
    }
    if (n > 0 && H5Sselect_hyperslab(s, H5S_SELECT_SET, start, stride, count, NULL) >= 0) {
        hsize_t  m   = (hsize_t)H5Sget_select_npoints(s);
        hid_t    mem = H5Screate_simple(1, &m, NULL);
        long long *wide = calloc(m + 1, sizeof *wide);
        say_result(o, "reading every third, as another type", H5Dread(d, H5T_NATIVE_LLONG, mem, s, H5P_DEFAULT, wide));
        say_bytes(o, "values", wide, m * sizeof *wide);
        free(wide);
        H5Sclose(mem);
    }
    free(buf);
    H5Sclose(s);
    H5Dclose(d);
}

static inline void say_created(struct out *o, const char *what, hid_t dset)
{
    say_result(o, what, dset);
    if (dset >= 0)
        H5Dclose(dset);
}

#endif
