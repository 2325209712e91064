/* LZF and blosc in HDF5's own files: HDF5 writes and reads chunks with this build's code, and damaged chunks
 * are errors. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "h5tests/helpers/must_succeed_file.h"
#include "samples/sample_filters.h"

#define N 5000 /* elements of a chunk */

static const struct {
    H5Z_filter_t id;
    size_t n_cd;
    unsigned cd[7], want[7]; /* client data: given, and stored */
    size_t n_want;
} filters[] = {
    {32000, 0, {0}, {4, 0x105, 4 * N}, 3},
    {32001, 0, {0}, {2, 2, 4, 4 * N}, 4},
    {32001, 7, {0, 0, 0, 0, 9, 2, 1}, {2, 2, 4, 4 * N, 9, 2, 1}, 7},
    {32001, 7, {0, 0, 0, 0, 3, 1, 5}, {2, 2, 4, 4 * N, 3, 1, 5}, 7},
};

static hid_t make(hid_t f, const char *name, size_t i)
{
    hsize_t dims = 3 * N, chunk = N;
    hid_t s = TRY(H5Screate_simple(1, &dims, NULL)), p = TRY(H5Pcreate(H5P_DATASET_CREATE));
    TRY(H5Pset_chunk(p, 1, &chunk));
    TRY(H5Pset_filter(p, filters[i].id, H5Z_FLAG_OPTIONAL, filters[i].n_cd, filters[i].cd));
    hid_t d = TRY(H5Dcreate2(f, name, H5T_STD_I32LE, s, H5P_DEFAULT, p, H5P_DEFAULT));
    TRY(H5Sclose(s));
    TRY(H5Pclose(p));
    return d;
}

static void check_client_data(hid_t d, size_t i)
{
    unsigned flags, cd[10] = {0};
    size_t n = 10;
    hid_t p = TRY(H5Dget_create_plist(d));
    TRY(H5Pget_filter_by_id2(p, filters[i].id, &flags, &n, cd, 0, NULL, NULL));
    CHECK(n == filters[i].n_want && memcmp(cd, filters[i].want, n * sizeof *cd) == 0,
          "filter %zu: %zu client data", i, n);
    TRY(H5Pclose(p));
}

/* The first chunk can be compressed, the second not; the third is not written. */
static void fill(int *v)
{
    unsigned x = 1;
    memset(v, 0, 3 * N * sizeof *v);
    for (int k = 0; k < 2 * N; k++) {
        x = x * 1664525 + 1013904223;
        v[k] = k < N ? k / 9 : (int)(x ^ x >> 15);
    }
}

static void round_trip(const char *path, size_t i)
{
    static int v[3 * N], got[3 * N];
    hsize_t size = 0, at = 0;
    unsigned mask = 0;
    hid_t f = TRY(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)), d = make(f, "d", i);
    fill(v);
    write_elements(d, H5T_NATIVE_INT, 0, 1, 2 * N, v);
    TRY(H5Dclose(d));
    TRY(H5Fclose(f));
    f = TRY(H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT));
    d = TRY(H5Dopen2(f, "d", H5P_DEFAULT));
    check_client_data(d, i);
    TRY(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, got));
    CHECK(memcmp(v, got, sizeof v) == 0, "filter %zu: other values", i);
    TRY(H5Dget_chunk_storage_size(d, &at, &size));
    CHECK(size < 2 * N, "filter %zu: %d bytes", i, (int)size);
    at = N;
    TRY(H5Dget_chunk_info_by_coord(d, &at, &mask, NULL, &size));
    CHECK((size == 4 * N && mask == 1) || size <= 4 * N, "filter %zu: %d bytes, mask %u", i, (int)size, mask);
    TRY(H5Dclose(d));
    TRY(H5Fclose(f));
}

static bool reads(hid_t d)
{
    static int got[3 * N];
    herr_t rc;
    H5E_BEGIN_TRY
    {
        rc = H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, got);
    }
    H5E_END_TRY
    return rc >= 0;
}

/* Its first chunk is replaced; each case in a dataset of its own. */
static void damaged(const char *path, size_t i)
{
    hid_t f = TRY(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    unsigned x = 7;
    int refused = 0, n = 200;
    for (int k = 0; k < n; k++) {
        static unsigned char stored[8 * N], chunk[8 * N];
        int v[N];
        hsize_t at = 0, size;
        unsigned mask = 0;
        char name[20];
        (void)snprintf(name, sizeof name, "d%d", k);
        hid_t d = make(f, name, i);
        for (int e = 0; e < N; e++)
            v[e] = e / 9 + k;
        write_elements(d, H5T_NATIVE_INT, 0, 1, N, v);
        TRY(H5Dflush(d));
        TRY(H5Dget_chunk_storage_size(d, &at, &size));
        REQUIRE(size < sizeof stored, "the chunk");
        TRY(H5Dread_chunk(d, H5P_DEFAULT, &at, &mask, stored));
        memcpy(chunk, stored, sizeof chunk);
        x = x * 1664525 + 1013904223;
        if (k % 4 == 0)
            size = size * (x >> 16) / 65536 + 1;
        else
            for (int e = 0; e < k % 4; e++, x = x * 1664525 + 1013904223)
                chunk[(x >> 8) % (k % 2 ? 16 : size)] ^= (unsigned char)(1u << (x >> 28) % 8);
        TRY(H5Dwrite_chunk(d, H5P_DEFAULT, 0, &at, size, chunk));
        TRY(H5Dclose(d));
        d = TRY(H5Dopen2(f, name, H5P_DEFAULT));
        refused += !reads(d);
        TRY(H5Dclose(d));
    }
    CHECK(refused > n / 4, "filter %zu: %d of %d damaged chunks are refused", i, refused, n);
    TRY(H5Fclose(f));
}

/* A chunk of another length than the dataset's. */
static void other_length(const char *path, size_t i)
{
    static unsigned char stored[8 * N];
    static int v[N];
    hsize_t at = 0, size;
    unsigned mask = 0;
    hid_t f = TRY(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)), a = make(f, "a", i);
    hsize_t dims = N / 2, chunk = N / 2;
    hid_t s = TRY(H5Screate_simple(1, &dims, NULL)), p = TRY(H5Pcreate(H5P_DATASET_CREATE));
    TRY(H5Pset_chunk(p, 1, &chunk));
    TRY(H5Pset_filter(p, filters[i].id, H5Z_FLAG_OPTIONAL, filters[i].n_cd, filters[i].cd));
    hid_t b = TRY(H5Dcreate2(f, "b", H5T_STD_I32LE, s, H5P_DEFAULT, p, H5P_DEFAULT));
    write_elements(b, H5T_NATIVE_INT, 0, 1, N / 2, v);
    TRY(H5Dflush(b));
    TRY(H5Dget_chunk_storage_size(b, &at, &size));
    REQUIRE(size < sizeof stored, "the chunk");
    TRY(H5Dread_chunk(b, H5P_DEFAULT, &at, &mask, stored));
    TRY(H5Dwrite_chunk(a, H5P_DEFAULT, 0, &at, size, stored));
    CHECK(!reads(a), "filter %zu: half a chunk is read", i);
    TRY(H5Dclose(a));
    TRY(H5Dclose(b));
    TRY(H5Sclose(s));
    TRY(H5Pclose(p));
    TRY(H5Fclose(f));
}

int main(void)
{
    char dir[] = "/tmp/bkt-registered-XXXXXX", path[100];
    struct bkt_err err = {.n = 0};
    REQUIRE(H5Zfilter_avail(32000) == 0 && H5Zfilter_avail(32001) == 0, "HDF5 has them already");
    REQUIRE(bkt_sample_filters_register(&err) == BKT_OK, "%s", err.frame[0].msg);
    REQUIRE(H5Zfilter_avail(32000) > 0 && H5Zfilter_avail(32001) > 0, "not registered");
    REQUIRE(mkdtemp(dir), "a folder");
    (void)snprintf(path, sizeof path, "%s/f.h5", dir);
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        round_trip(path, i);
        damaged(path, i);
        other_length(path, i);
    }
    (void)unlink(path);
    (void)rmdir(dir);
    return failures != 0;
}
