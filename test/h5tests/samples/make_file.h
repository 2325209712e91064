/* Files of samples for C tests, made by HDF5's public calls by the format's rules. */
#ifndef BKT_TEST_MAKE_FILE_H
#define BKT_TEST_MAKE_FILE_H

#include <h5bucket_samples.h>
#include <inttypes.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "h5tests/helpers/must_succeed.h"

#define ROWS 20

/** A new file of a few collections.  @p shape: of a row, whose chunks have @p cut elements (backend 00: rank 1). */
static inline hid_t make_file(const char *name, hid_t fapl, hid_t type, int rank, const hsize_t *shape, const hsize_t *cut,
                              unsigned collections)
{
    hsize_t dims[H5S_MAX_RANK] = {ROWS}, chunk[H5S_MAX_RANK] = {1};
    for (int i = 0; i < rank; i++) {
        dims[i + 1] = shape[i];
        chunk[i + 1] = cut[i];
    }
    hid_t file = TRY(H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl)), dcpl = TRY(H5Pcreate(H5P_DATASET_CREATE));
    hid_t space = TRY(H5Screate_simple(rank + 1, dims, NULL));
    TRY(H5Pset_chunk(dcpl, rank + 1, chunk));
    TRY(H5Pset_shuffle(dcpl));
    TRY(H5Pset_deflate(dcpl, 3));
    for (unsigned i = 0; i < collections; i++) {
        char number[16];
        (void)snprintf(number, sizeof number, "%u", i);
        TRY(H5Dclose(TRY(H5Dcreate2(file, number, type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT))));
    }
    TRY(H5Sclose(space));
    TRY(H5Pclose(dcpl));
    return file;
}

/** Write a row's first elements, all of type @p type; @p r names the place, and gets the digest. */
static inline void write_sample(hid_t file, struct h5bucket_record *r, hid_t type, const void *values)
{
    hsize_t start[H5S_MAX_RANK] = {r->row}, count[H5S_MAX_RANK] = {1}, n = 1;
    char number[16];
    for (int i = 0; i < r->rank; i++)
        n *= r->shape[i];
    if (r->format == 0)
        count[1] = n;
    else
        memcpy(count + 1, r->shape, (size_t)r->rank * sizeof *count);
    (void)snprintf(number, sizeof number, "%u", r->dataset);
    hid_t d = TRY(H5Dopen2(file, number, H5P_DEFAULT)), space = TRY(H5Dget_space(d)), mem = TRY(H5Screate_simple(1, &n, NULL));
    if (n) {
        TRY(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL));
        TRY(H5Dwrite(d, type, mem, space, H5P_DEFAULT, values));
    }
    r->has_digest = true;
    r->digest = XXH64(values, n * H5Tget_size(type), 0);
    TRY(H5Sclose(mem));
    TRY(H5Sclose(space));
    TRY(H5Dclose(d));
}

#endif
