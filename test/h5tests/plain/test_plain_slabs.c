/* Requests and bytes of slabs, strided points and random points in plain HDF5 files behind a web server. */
#include <hdf5.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "h5tests/plain/plain_files.h"
#include "helpers/check.h"
#include "storage/stats.h"
#include "storage/store.h"
#include "vol/dataset/plain/plain_read.h"

#define SIDE  1024 /* rows and columns of 4 bytes: 4 MiB */
#define BLOCK 128  /* rows and columns of a chunk: 64 KiB */

static char dir[] = "/tmp/bkt-plain-slabs-XXXXXX", path[100];
static const char *const names[] = {"contiguous", "chunks", "deflated"};

static int value_at(hsize_t row, hsize_t col) { return (int)(row * 100003 + col * 31); }

static void write_file(void)
{
    hsize_t dims[2] = {SIDE, SIDE}, chunk[2] = {BLOCK, BLOCK};
    hid_t file = plain_new(path, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST), space = must_id(H5Screate_simple(2, dims, NULL), "space");
    int *v = malloc(SIDE * SIDE * sizeof *v);
    REQUIRE(v, "memory");
    for (hsize_t i = 0; i < SIDE * SIDE; i++)
        v[i] = value_at(i / SIDE, i % SIDE);
    for (int k = 0; k < 3; k++) {
        hid_t dcpl = must_id(H5Pcreate(H5P_DATASET_CREATE), "list");
        if (k)
            must_do(H5Pset_chunk(dcpl, 2, chunk), "chunk");
        if (k > 1)
            must_do(H5Pset_deflate(dcpl, 1), "deflate");
        hid_t d = must_id(H5Dcreate2(file, names[k], H5T_NATIVE_INT, space, H5P_DEFAULT, dcpl, H5P_DEFAULT), names[k]);
        must_do(H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v), "H5Dwrite");
        (void)H5Dclose(d);
        (void)H5Pclose(dcpl);
    }
    free(v);
    (void)H5Sclose(space);
    must_do(H5Fclose(file), "H5Fclose");
}

/* ---- selections ---- */

typedef void select_fn(hid_t space);

static void everything(hid_t space) { must_do(H5Sselect_all(space), "all"); }

static void half(hid_t space)
{
    const hsize_t start[2] = {256, 0}, count[2] = {512, SIDE};
    must_do(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL), "slab");
}

static void strided(hid_t space)
{
    const hsize_t start[2] = {3, 5}, stride[2] = {64, 64}, count[2] = {16, 16};
    must_do(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, NULL), "slab");
}

static void points(hid_t space)
{
    hsize_t at[128];
    for (size_t i = 0; i < 128; i++)
        at[i] = (i * i * 7919 + 13 * i) % SIDE;
    must_do(H5Sselect_elements(space, H5S_SELECT_SET, 64, at), "points");
}

static void one(hid_t space)
{
    const hsize_t at[2] = {700, 300};
    must_do(H5Sselect_elements(space, H5S_SELECT_SET, 1, at), "point");
}

/* The first bytes of the file are read when it is opened, and are not counted. */
static const struct {
    const char *what;
    select_fn  *select;
    struct {
        unsigned requests; /* at most: neighbouring chunks share some */
        double   mib;
    } most[3];
} cases[] = {
    {"everything", everything, {{1, 4}, {5, 4.02}, {4, 1.75}}},
    {"half", half, {{1, 2}, {3, 2.02}, {2, 0.9}}},
    {"strided points", strided, {{16, 0.5}, {5, 3.9}, {4, 1.75}}},
    {"random points", points, {{25, 1.45}, {27, 1.05}, {4, 1.7}}},
    {"one value", one, {{1, 0.07}, {2, 0.08}, {2, 0.08}}},
};

static void test_case(const struct bkt_settings *set, const char *url, size_t c, size_t k)
{
    struct bkt_stats before, after;
    hid_t file = must_id(plain_open(url, set), "open"), d = must_id(H5Dopen2(file, names[k], H5P_DEFAULT), names[k]);
    hid_t space = must_id(H5Dget_space(d), "space");
    cases[c].select(space);
    hsize_t n = (hsize_t)H5Sget_select_npoints(space);
    hid_t mem = must_id(H5Screate_simple(1, &n, NULL), "space");
    int *v = calloc(n, sizeof *v), *want = calloc(n, sizeof *want);
    REQUIRE(v && want, "memory");
    hid_t local = must_id(H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), path), l = must_id(H5Dopen2(local, names[k], H5P_DEFAULT), names[k]);
    must_do(H5Dread(l, H5T_NATIVE_INT, mem, space, H5P_DEFAULT, want), "H5Dread");
    struct bkt_vobj *o = plain_handle(d);
    bkt_stats_get(&before);
    struct bkt_plain_counts ways = bkt_plain_counts;
    CHECK(plain_read_by(o, H5T_NATIVE_INT, mem, space, H5P_DEFAULT, v) == BKT_OK && memcmp(v, want, n * sizeof *v) == 0, "%s, %s",
          names[k], cases[c].what);
    bkt_stats_get(&after);
    unsigned requests = (unsigned)(after.get - before.get);
    double mib = (double)(after.bytes_in - before.bytes_in) / 1048576;
    if (getenv("SHOW_COSTS"))
        (void)printf("%s, %s: %u requests, %.2f MiB\n", names[k], cases[c].what, requests, mib);
    CHECK(requests <= cases[c].most[k].requests && mib <= cases[c].most[k].mib, "%s, %s: %u requests, %.2f MiB", names[k],
          cases[c].what, requests, mib);
    CHECK(bkt_plain_counts.by_chunk == ways.by_chunk + 1, "%s, %s: not by chunk", names[k], cases[c].what);
    before = after;
    CHECK(plain_read_by(o, H5T_NATIVE_INT, mem, space, H5P_DEFAULT, v) == BKT_OK, "again");
    bkt_stats_get(&after);
    CHECK(after.get == before.get, "%s, %s: %u requests for cached bytes", names[k], cases[c].what, (unsigned)(after.get - before.get));
    plain_handle_free(o);
    free(v);
    free(want);
    (void)H5Sclose(mem);
    (void)H5Sclose(space);
    (void)H5Dclose(l);
    (void)H5Fclose(local);
    (void)H5Dclose(d);
    (void)H5Fclose(file);
}

/* A program that reads slab after slab gets the next ones before it asks. */
static void test_ahead(const struct bkt_settings *set, const char *url)
{
    struct bkt_stats before, after;
    hsize_t start[2] = {0, 0}, count[2] = {BLOCK, SIDE};
    hid_t file = must_id(plain_open(url, set), "open"), d = must_id(H5Dopen2(file, "deflated", H5P_DEFAULT), "dataset");
    hid_t space = must_id(H5Dget_space(d), "space"), mem = must_id(H5Screate_simple(2, count, NULL), "space");
    struct bkt_vobj *o = plain_handle(d);
    int *v = malloc(BLOCK * SIDE * sizeof *v);
    bkt_stats_get(&before);
    for (; start[0] < SIDE; start[0] += BLOCK) {
        must_do(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL), "slab");
        CHECK(v && plain_read_by(o, H5T_NATIVE_INT, mem, space, H5P_DEFAULT, v) == BKT_OK && v[3] == value_at(start[0], 3), "row %d",
              (int)start[0]);
    }
    bkt_stats_get(&after);
    CHECK(after.ahead_used > before.ahead_used, "nothing was read ahead");
    free(v);
    plain_handle_free(o);
    (void)H5Sclose(mem);
    (void)H5Sclose(space);
    (void)H5Dclose(d);
    (void)H5Fclose(file);
}

/* A small file comes with the request that opens it, and so do its data. */
static void test_small(const struct bkt_settings *set)
{
    char name[40];
    hid_t file = plain_new(path, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST);
    for (size_t i = 0; i < 20; i++) {
        (void)snprintf(name, sizeof name, "d%zu", i);
        (void)plain_dataset(file, name, H5T_STD_I32LE, &plain_forms[i % 2 ? 5 : 0], &plain_filters[i % 2 ? i % 5 : 0], &plain_fills[0]);
    }
    must_do(H5Fclose(file), "H5Fclose");
    file = must_id(plain_open(plain_serve(path), set), "open");
    struct bkt_plain_counts ways = bkt_plain_counts;
    for (size_t i = 0; i < 20; i++) {
        static int v[1000];
        (void)snprintf(name, sizeof name, "d%zu", i);
        hid_t d = must_id(H5Dopen2(file, name, H5P_DEFAULT), name);
        struct bkt_vobj *o = plain_handle(d);
        CHECK(plain_read_by(o, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) == BKT_OK && v[0] == -300, "%s: %d", name, v[0]);
        plain_handle_free(o);
        (void)H5Dclose(d);
    }
    (void)H5Fclose(file);
    unsigned n = plain_requests();
    CHECK(n == 1 && bkt_plain_counts.by_chunk == ways.by_chunk + 20, "%u requests for a small file", n);
}

/* All ranges are of the version that was opened: bytes of another one are never returned. */
static void test_replaced(const struct bkt_settings *set, const char *url)
{
    for (int k = 0; k < 3; k++) {
        hid_t file = must_id(plain_open(url, set), "open"), d = must_id(H5Dopen2(file, names[k], H5P_DEFAULT), names[k]);
        struct bkt_vobj *o = plain_handle(d);
        struct bkt_plain_counts ways = bkt_plain_counts;
        int *v = malloc(SIDE * SIDE * sizeof *v);
        plain_replace(true);
        int rc = plain_read_by(o, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v);
        CHECK(rc == BKT_EPRECOND && bkt_plain_counts.by_native == ways.by_native, "%s: %d", names[k], rc);
        plain_replace(false);
        CHECK(plain_read_by(o, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) == BKT_OK && v[SIDE + 1] == value_at(1, 1), "%s: later",
              names[k]);
        free(v);
        plain_handle_free(o);
        (void)H5Dclose(d);
        (void)H5Fclose(file);
    }
}

int main(void)
{
    struct bkt_settings set;
    struct bkt_err err = {.n = 0};
    if (!mkdtemp(dir) || bkt_settings_init(&set, "test.hedge=0", &err) < 0)
        return 1;
    (void)snprintf(path, sizeof path, "%s/file.h5", dir);
    write_file();
    const char *url = plain_serve(path);
    for (size_t c = 0; c < BKT_COUNT(cases); c++)
        for (size_t k = 0; k < 3; k++)
            test_case(&set, url, c, k);
    test_ahead(&set, url);
    test_replaced(&set, url);
    test_small(&set);
    bkt_vfd_term();
    bkt_settings_fini(&set);
    bkt_store_shutdown();
    plain_serve_end();
    (void)unlink(path);
    (void)rmdir(dir);
    return failures != 0;
}
