/* The rules of the format in numbers: extents, chunks, proposed chunk caches, and the words of options. */
#include <hdf5.h>
#include <stdbool.h>
#include <string.h>

#include "chunk/filter/pipeline.h"
#include "helpers/check.h"
#include "samples/h5bucket_samples.h"
#include "samples/new_file.h"
#include "samples/numpy_type.h"
#include "samples/sample_filters.h"

#define MAX 4

static const struct {
    int format, rank;
    size_t item;
    hsize_t shape[MAX], extent[MAX], chunk[MAX]; /* of a row */
    uint64_t rdcc_nbytes, rdcc_nslots;
} cases[] = {
    {0, 2, 1, {28, 28}, {784}, {784}, 255000, 32603},
    {0, 3, 4, {3, 224, 224}, {150528}, {63750}, 100000000, 39301},
    {0, 1, 8, {31875}, {31875}, {31875}, 63750000, 25013},
    {0, 1, 8, {31876}, {31876}, {31875}, 63752000, 25111},
    {0, 0, 8, {0}, {1}, {1}, 255000, 3187507},
    {0, 2, 4, {3, 0}, {1}, {1}, 255000, 6375023},
    {1, 2, 1, {28, 28}, {28, 28}, {28, 28}, 78400, 1000003},
    {1, 0, 4, {0}, {1}, {1}, 400, 1000003},
    {1, 2, 4, {0, 5}, {1, 5}, {1, 5}, 2000, 1000003},
    {1, 3, 4, {3, 224, 224}, {3, 224, 224}, {3, 224, 224}, 60211200, 1000003},
    {1, 3, 4, {3, 512, 512}, {3, 512, 512}, {3, 512, 512}, 250000000, 1000003},
    {1, 2, 8, {700, 600}, {729, 600}, {81, 600}, 250000000, 9000011},
    {1, 3, 4, {2, 2000, 2000}, {2, 2358, 2000}, {1, 786, 2000}, 250000000, 6000011},
    {1, 1, 1, {1048575}, {1048575}, {1048575}, 104857500, 1000003},
    {1, 1, 1, {1048576}, {1179648}, {196608}, 117964800, 6000011},
    {1, 2, 8, {1, 3000000}, {1, 3145728}, {1, 786432}, 250000000, 4000037},
};

static void check_rules(void)
{
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        struct bkt_collections c;
        struct bkt_err err = {.n = 0};
        int dims = cases[i].format == 0 || cases[i].rank == 0 ? 2 : cases[i].rank + 1;
        REQUIRE(bkt_collections_init(&c, cases[i].format, cases[i].rank, cases[i].shape, cases[i].item,
                                     &err) == BKT_OK,
                "case %zu: %s", i, err.frame[0].msg);
        CHECK(c.rows == (cases[i].format == 0 ? 250 : 100) && c.extent[0] == c.rows && c.chunk[0] == 1,
              "case %zu", i);
        CHECK(c.dims == dims, "case %zu: %d", i, c.dims);
        for (int d = 1; d < dims; d++)
            CHECK(c.extent[d] == cases[i].extent[d - 1] && c.chunk[d] == cases[i].chunk[d - 1],
                  "case %zu, dimension %d: %llu in chunks of %llu", i, d, (unsigned long long)c.extent[d],
                  (unsigned long long)c.chunk[d]);
        CHECK(c.rdcc_nbytes == cases[i].rdcc_nbytes && c.rdcc_nslots == cases[i].rdcc_nslots,
              "case %zu: %llu bytes, %llu slots", i, (unsigned long long)c.rdcc_nbytes,
              (unsigned long long)c.rdcc_nslots);
    }
}

static void check_refusals(void)
{
    static const hsize_t huge[] = {(hsize_t)1 << 40, (hsize_t)1 << 40}, small[] = {4, 4};
    struct bkt_collections c;
    CHECK(bkt_collections_init(&c, 2, 2, small, 4, NULL) == BKT_EINVAL, "format 2");
    CHECK(bkt_collections_init(&c, -1, 2, small, 4, NULL) == BKT_EINVAL, "format -1");
    CHECK(bkt_collections_init(&c, 0, -1, small, 4, NULL) == BKT_EINVAL, "rank");
    CHECK(bkt_collections_init(&c, 1, H5S_MAX_RANK, small, 4, NULL) == BKT_EINVAL, "rank");
    CHECK(bkt_collections_init(&c, 0, 2, huge, 4, NULL) == BKT_EINVAL, "shape");
    CHECK(bkt_collections_init(&c, 0, 2, small, 0, NULL) == BKT_EINVAL, "elements");
}

static void check_fits(void)
{
    static const hsize_t schema[] = {3, 4}, less[] = {3, 2}, none[] = {0, 4}, more[] = {4, 4};
    struct bkt_collections c;
    uint64_t n;
    REQUIRE(bkt_collections_init(&c, 0, 2, schema, 4, NULL) == BKT_OK, "3 x 4");
    CHECK(bkt_collections_fits(&c, false, schema, &n, NULL) == BKT_OK && n == 12, "the same");
    CHECK(bkt_collections_fits(&c, true, less, &n, NULL) == BKT_OK && n == 6, "less");
    CHECK(bkt_collections_fits(&c, true, none, &n, NULL) == BKT_OK && n == 0, "none");
    CHECK(bkt_collections_fits(&c, false, less, &n, NULL) == BKT_EINVAL, "less of a fixed shape");
    CHECK(bkt_collections_fits(&c, true, more, &n, NULL) == BKT_EINVAL, "more");
}

/* ---- options ---- */

static const struct {
    const char *complib;
    int level;
    const char *shuffle;
    uint64_t bytes;
    int rc, id;
    bool h5_shuffle;
    size_t n_cd;
    unsigned cd[7];
} options[] = {
    {NULL, 0, NULL, 17, BKT_OK, BKT_FILTER_BLOSC, false, 7, {0, 0, 0, 0, 5, 1, 2}},
    {NULL, 0, NULL, 16, BKT_OK, BKT_FILTER_LZF, true, 0, {0}},
    {"blosc:blosclz", 9, "none", 99, BKT_OK, BKT_FILTER_BLOSC, false, 7, {0, 0, 0, 0, 9, 0, 0}},
    {"blosc:lz4", 0, "byte", 99, BKT_OK, BKT_FILTER_BLOSC, false, 7, {0, 0, 0, 0, 0, 1, 1}},
    {"blosc:lz4hc", 1, "bit", 9, BKT_OK, BKT_FILTER_BLOSC, false, 7, {0, 0, 0, 0, 1, 2, 2}},
    {"blosc:zlib", 3, NULL, 99, BKT_OK, BKT_FILTER_BLOSC, false, 7, {0, 0, 0, 0, 3, 1, 4}},
    {"blosc:zstd", 3, "none", 99, BKT_OK, BKT_FILTER_BLOSC, false, 7, {0, 0, 0, 0, 3, 0, 5}},
    {"lzf", 77, "none", 99, BKT_OK, BKT_FILTER_LZF, false, 0, {0}},
    {"lzf", 0, "byte", 99, BKT_OK, BKT_FILTER_LZF, true, 0, {0}},
    {"gzip", 0, "none", 99, BKT_OK, BKT_FILTER_DEFLATE, false, 1, {0}},
    {"gzip", 9, NULL, 99, BKT_OK, BKT_FILTER_DEFLATE, true, 1, {9}},
    {"none", 77, NULL, 99, BKT_OK, H5Z_FILTER_NONE, false, 0, {0}},
    {"blosc:snappy", 5, NULL, 99, BKT_EINVAL, 0, false, 0, {0}},
    {"blosc:lz4", 10, NULL, 99, BKT_EINVAL, 0, false, 0, {0}},
    {"gzip", -1, NULL, 99, BKT_EINVAL, 0, false, 0, {0}},
    {"gzip", 4, "bit", 99, BKT_EINVAL, 0, false, 0, {0}},
    {"none", 0, "byte", 99, BKT_EINVAL, 0, false, 0, {0}},
    {"", 0, NULL, 99, BKT_EINVAL, 0, false, 0, {0}},
};

static void check_options(void)
{
    for (size_t i = 0; i < BKT_COUNT(options); i++) {
        struct h5bucket_samples_schema s = {
            .complib = options[i].complib, .complevel = options[i].level, .shuffle = options[i].shuffle};
        struct bkt_sample_filters f;
        int rc = bkt_sample_filters_parse(&s, options[i].bytes, &f, NULL);
        CHECK(rc == options[i].rc, "option %zu: %d", i, rc);
        if (rc < 0)
            continue;
        CHECK(f.id == options[i].id && f.shuffle == options[i].h5_shuffle && f.n_cd == options[i].n_cd,
              "option %zu", i);
        CHECK(memcmp(f.cd, options[i].cd, f.n_cd * sizeof *f.cd) == 0, "option %zu: client data", i);
    }
}

/* ---- types ---- */

static void check_types(void)
{
    static const int numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14, 15, 16, 23};
    for (size_t i = 0; i < BKT_COUNT(numbers); i++) {
        hid_t type = bkt_numpy_type(numbers[i]);
        CHECK(type >= 0 && bkt_numpy_number(type) == numbers[i], "numpy's type %d", numbers[i]);
        (void)H5Tclose(type);
    }
    CHECK(bkt_numpy_number(H5T_STD_I64BE) == 7, "big-endian");
    CHECK(bkt_numpy_number(H5T_C_S1) < 0, "text");
    CHECK(bkt_numpy_type(17) < 0 && bkt_numpy_type(-1) < 0, "no number");
}

int main(void)
{
    check_rules();
    check_refusals();
    check_fits();
    check_options();
    check_types();
    return failures != 0;
}
