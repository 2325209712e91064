/* Virtual datasets of plain HDF5 files behind a web server: HDF5 alone reads the same from disk.  The server
 * gives one file under all names, and so does a folder with links to it. */
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
#include "vol/plain/plain_file.h"
#include "vol/vfd/store_driver.h"

enum { SIDE = 256, CUT = 64, FILES = 8, BLOCK = 16 };

static char dir[] = "/tmp/bkt-plain-virtual-XXXXXX", path[100];
static const char *const links[] = {"s0.h5", "s1.h5", "s2.h5", "s3.h5", "s4.h5",
                                    "s5.h5", "s6.h5", "s7.h5", "top.h5"};

static void link_path(size_t i, char *to, size_t n)
{
    (void)snprintf(to, n, "%s/%s", dir, links[i]);
}

/* ---- sources ---- */

static hid_t chunked(hsize_t rows, hsize_t cols)
{
    hid_t dcpl = must_id(H5Pcreate(H5P_DATASET_CREATE), "list");
    hsize_t chunk[2] = {rows, cols};
    must_do(H5Pset_chunk(dcpl, 2, chunk), "chunk");
    return dcpl;
}

static void write_numbers(hid_t file, const char *name, hsize_t rows, hsize_t cols, hid_t dcpl)
{
    hsize_t dims[2] = {rows, cols}, max[2] = {H5S_UNLIMITED, cols};
    hid_t space = must_id(H5Screate_simple(2, dims, max), "space");
    hid_t d = must_id(H5Dcreate2(file, name, H5T_STD_I32BE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT), name);
    int *v = calloc(rows * cols, sizeof *v);
    REQUIRE(v, "memory");
    for (hsize_t i = 0; i < rows * cols; i++)
        v[i] = (int)(i * 2654435761U) + name[0];
    must_do(H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v), name);
    free(v);
    (void)H5Dclose(d);
    (void)H5Sclose(space);
    (void)H5Pclose(dcpl);
}

static void write_texts(hid_t file, const char *name)
{
    hsize_t dims[2] = {4, 4};
    char text[16][16], *at[16];
    hid_t space = must_id(H5Screate_simple(2, dims, NULL), "space"),
          type = must_id(H5Tcopy(H5T_C_S1), "type"), dcpl = chunked(2, 2);
    must_do(H5Tset_size(type, H5T_VARIABLE), "type");
    hid_t d = must_id(H5Dcreate2(file, name, type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT), name);
    for (int i = 0; i < 16; i++)
        (void)snprintf(at[i] = text[i], sizeof *text, "t%d", i);
    must_do(H5Dwrite(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, at), name);
    (void)H5Dclose(d);
    (void)H5Pclose(dcpl);
    (void)H5Tclose(type);
    (void)H5Sclose(space);
}

/* ---- virtual datasets ---- */

struct map {
    const char *file, *name;                         /* file NULL: no more maps */
    hsize_t start[2], stride[2], count[2], block[2]; /* in the virtual dataset; count 0: 1 */
    hsize_t rows, cols, at; /* of the source's stored extent, and its first row that is mapped */
    bool all, endless;      /* "all of the source"; without a limit along the rows */
};
struct view {
    const char *name;
    hsize_t rows, cols;
    struct map maps[8];
};
#define TILE(f, r, c)                                                                                        \
    {                                                                                                        \
        f, "numbers", {r, c}, {0}, {0}, {SIDE, SIDE}, SIDE, SIDE, 0, true, false                             \
    }
static const struct view views[] = {
    {"tiles",
     2 * SIDE,
     2 * SIDE,
     {TILE("s0.h5", 0, 0), TILE("s1.h5", 0, SIDE), TILE("s2.h5", SIDE, 0), TILE("s3.h5", SIDE, SIDE)}},
    {"rows by turns",
     SIDE,
     SIDE,
     {{"s0.h5", "numbers", {0, 0}, {2, 1}, {SIDE / 2, 1}, {1, SIDE}, SIDE, SIDE, 0, false, false},
      {"s1.h5", "other", {1, 0}, {2, 1}, {SIDE / 2, 1}, {1, SIDE}, SIDE, SIDE, SIDE / 2, false, false}}},
    {"one over the other",
     SIDE,
     SIDE,
     {{"s0.h5", "numbers", {0, 0}, {0}, {0}, {SIDE, SIDE}, SIDE, SIDE, 0, true, false},
      {"s1.h5", "other", {9, 0}, {0}, {0}, {30, SIDE}, SIDE, SIDE, 3, false, false},
      {"s0.h5", "other", {20, 0}, {0}, {0}, {30, SIDE}, SIDE, SIDE, 5, false, false}}},
    {"gaps",
     SIDE,
     SIDE,
     {{"s0.h5", "numbers", {3, 0}, {0}, {0}, {10, SIDE}, SIDE, SIDE, 0, false, false},
      {"s0.h5", "absent", {20, 0}, {0}, {0}, {10, SIDE}, SIDE, SIDE, 0, false, false}}},
    {"this file",
     SIDE,
     SIDE,
     {{".", "group/inner", {0, 0}, {0}, {0}, {16, SIDE}, 16, SIDE, 0, false, false},
      {"/s3.h5", "numbers", {50, 0}, {0}, {0}, {10, SIDE}, SIDE, SIDE, 7, false, false}}},
    {"of virtual ones",
     2 * SIDE,
     SIDE,
     {{"s4.h5", "rows by turns", {0, 0}, {0}, {0}, {SIDE, SIDE}, SIDE, SIDE, 0, true, false},
      {"s5.h5", "this file", {SIDE, 0}, {0}, {0}, {SIDE, SIDE}, SIDE, SIDE, 0, false, false}}},
    {"without a limit",
     SIDE,
     SIDE,
     {{"s6.h5", "numbers", {0, 0}, {1, 1}, {0}, {1, SIDE}, SIDE, SIDE, 0, false, true}}},
    {"numbered", 0, SIDE, {{"s1.h5", "part%b", {0, 0}, {16, 1}, {0}, {16, SIDE}, 16, SIDE, 0, true, true}}},
};

/* Files that are missing or that HDF5 refuses, all in a folder. */
static const struct view odd_views[] = {
    {"a missing file", SIDE, SIDE, {{"absent.h5", "numbers", {40, 0}, {0}, {0}, {10, SIDE}, SIDE, SIDE, 0, false, false}}},
    {"text", SIDE, SIDE, {{"text.h5", "numbers", {40, 0}, {0}, {0}, {10, SIDE}, SIDE, SIDE, 0, false, false}}},
    {"nothing", SIDE, SIDE, {{"empty.h5", "numbers", {40, 0}, {0}, {0}, {10, SIDE}, SIDE, SIDE, 0, false, false}}},
    {"half a file", SIDE, SIDE, {{"half.h5", "numbers", {40, 0}, {0}, {0}, {10, SIDE}, SIDE, SIDE, 0, false, false}}},
};
static const char *const odd_files[] = {"text.h5", "empty.h5", "half.h5"};

static void add_map(hid_t dcpl, hid_t space, const struct map *m)
{
    hsize_t dims[2] = {m->rows, m->cols}, max[2] = {H5S_UNLIMITED, m->cols}, stride[2], count[2],
            from[2] = {m->at, 0}, n[2];
    bool numbered = strchr(m->name, '%') != NULL;
    for (int d = 0; d < 2; d++) {
        stride[d] = m->stride[d] ? m->stride[d] : m->block[d];
        count[d] = m->count[d] ? m->count[d] : 1;
        n[d] = count[d] * m->block[d];
    }
    if (m->endless)
        count[0] = H5S_UNLIMITED;
    hid_t src = must_id(H5Screate_simple(2, dims, m->endless && !numbered ? max : NULL), "space");
    must_do(H5Sselect_hyperslab(space, H5S_SELECT_SET, m->start, stride, count, m->block), "mapping");
    if (m->endless && !numbered) {
        hsize_t one[2] = {1, 1}, endless[2] = {H5S_UNLIMITED, 1}, row[2] = {1, m->cols};
        must_do(H5Sselect_hyperslab(src, H5S_SELECT_SET, from, one, endless, row), "source");
    } else if (!m->all)
        must_do(H5Sselect_hyperslab(src, H5S_SELECT_SET, from, NULL, n, NULL), "source");
    must_do(H5Pset_virtual(dcpl, space, m->file, m->name, src), m->file);
    (void)H5Sclose(src);
}

static void write_view(hid_t file, const struct view *v)
{
    hsize_t dims[2] = {v->rows, v->cols}, max[2] = {H5S_UNLIMITED, v->cols};
    bool endless = v->maps[0].endless;
    hid_t dcpl = must_id(H5Pcreate(H5P_DATASET_CREATE), "list"),
          space = must_id(H5Screate_simple(2, dims, endless ? max : NULL), "space");
    const int fill = -77;
    must_do(H5Pset_fill_value(dcpl, H5T_NATIVE_INT, &fill), "fill value");
    for (const struct map *m = v->maps; m < v->maps + BKT_COUNT(v->maps) && m->file; m++)
        add_map(dcpl, space, m);
    (void)H5Sselect_all(space);
    hid_t d =
        must_id(H5Dcreate2(file, v->name, H5T_STD_I32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT), v->name);
    (void)H5Dclose(d);
    (void)H5Sclose(space);
    (void)H5Pclose(dcpl);
}

static void write_text_view(hid_t file)
{
    hsize_t dims[2] = {4, 4};
    hid_t dcpl = must_id(H5Pcreate(H5P_DATASET_CREATE), "list"),
          space = must_id(H5Screate_simple(2, dims, NULL), "space");
    hid_t type = must_id(H5Tcopy(H5T_C_S1), "type");
    must_do(H5Tset_size(type, H5T_VARIABLE), "type");
    must_do(H5Pset_virtual(dcpl, space, "s7.h5", "texts", space), "mapping");
    hid_t d =
        must_id(H5Dcreate2(file, "text view", type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT), "text view");
    (void)H5Dclose(d);
    (void)H5Tclose(type);
    (void)H5Sclose(space);
    (void)H5Pclose(dcpl);
}

static void write_all(void)
{
    hid_t file = plain_new(path, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    must_do(H5Lcreate_external("/refused/s0.h5", "/", file, "found beside", H5P_DEFAULT, H5P_DEFAULT), "link");
    must_do(H5Lcreate_external("/refused/refused.h5", "/", file, "refused", H5P_DEFAULT, H5P_DEFAULT), "link");
    (void)H5Gclose(must_id(H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "group"));
    for (size_t i = 0; i < BKT_COUNT(views); i++)
        write_view(file, &views[i]);
    for (size_t i = 0; i < BKT_COUNT(odd_views); i++)
        write_view(file, &odd_views[i]);
    write_text_view(file);
    write_texts(file, "texts");
    write_numbers(file, "group/inner", 16, SIDE, chunked(4, CUT));
    write_numbers(file, "part0", 16, SIDE, chunked(4, CUT));
    write_numbers(file, "part1", 16, SIDE, chunked(4, CUT));
    write_numbers(file, "numbers", SIDE, SIDE, chunked(CUT, CUT));
    write_numbers(file, "other", SIDE, SIDE, chunked(1, SIDE));
    must_do(H5Fclose(file), "H5Fclose");
    for (size_t i = 0; i < BKT_COUNT(links); i++) {
        char name[120];
        link_path(i, name, sizeof name);
        REQUIRE(link(path, name) == 0, "%s", name);
    }
}

/* ---- reading ---- */

static hid_t selection(hid_t d, int which, hsize_t *n)
{
    hid_t space = must_id(H5Dget_space(d), "space");
    hsize_t dims[2], start[2] = {1, 3}, stride[2] = {3, 5}, count[2];
    (void)H5Sget_simple_extent_dims(space, dims, NULL);
    for (int i = 0; i < 2; i++)
        count[i] = (dims[i] - start[i]) / stride[i];
    if (which == 1)
        must_do(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, NULL), "slab");
    if (which == 2) { /* HDF5 reads no points of a virtual dataset */
        hsize_t block[2] = {dims[0] / 2, 17}, corner[2] = {dims[0] / 3, dims[1] / 3};
        must_do(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, block, NULL), "slab");
        must_do(H5Sselect_hyperslab(space, H5S_SELECT_OR, corner, NULL, block, NULL), "slabs");
    }
    *n = (hsize_t)H5Sget_select_npoints(space);
    return space;
}

static void compare(hid_t local, hid_t remote, const char *name, hid_t type, int which)
{
    hsize_t n, n_remote;
    hid_t d[2] = {must_id(H5Dopen2(local, name, H5P_DEFAULT), name),
                  must_id(H5Dopen2(remote, name, H5P_DEFAULT), name)};
    hid_t space = selection(d[0], which, &n), same = selection(d[1], which, &n_remote);
    REQUIRE(n == n_remote && H5Sextent_equal(space, same) > 0, "%s: another extent", name);
    hid_t mem = must_id(H5Screate_simple(1, &n, NULL), "space");
    size_t size = H5Tget_size(type);
    unsigned char *want = calloc(n, size), *got = calloc(n, size);
    REQUIRE(want && got, "memory");
    must_do(H5Dread(d[0], type, mem, space, H5P_DEFAULT, want), name);
    struct bkt_vobj *o = plain_handle(d[1]);
    struct bkt_plain_counts before = bkt_plain_counts;
    for (int turn = 0; turn < 2; turn++) { /* the second time with sources that are open */
        memset(got, 1, n * size);
        CHECK(plain_read_by(o, type, mem, same, H5P_DEFAULT, got) == BKT_OK, "%s, %d", name, which);
        CHECK(memcmp(want, got, n * size) == 0, "%s, selection %d: other values", name, which);
    }
    CHECK(bkt_plain_counts.by_sources >= before.by_sources + 2 &&
              bkt_plain_counts.by_native == before.by_native,
          "%s, selection %d: HDF5 read it", name, which);
    plain_handle_free(o);
    free(want);
    free(got);
    (void)H5Sclose(mem);
    (void)H5Sclose(space);
    (void)H5Sclose(same);
    (void)H5Dclose(d[0]);
    (void)H5Dclose(d[1]);
}

static void compare_texts(hid_t remote)
{
    char *got[16] = {NULL}, want[16];
    hid_t d = must_id(H5Dopen2(remote, "text view", H5P_DEFAULT), "text view"),
          type = must_id(H5Dget_type(d), "type");
    hid_t space = must_id(H5Dget_space(d), "space");
    struct bkt_vobj *o = plain_handle(d);
    uint64_t before = bkt_plain_counts.by_sources;
    CHECK(plain_read_by(o, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, got) == BKT_OK, "texts");
    for (int i = 0; i < 16; i++) {
        (void)snprintf(want, sizeof want, "t%d", i);
        CHECK(got[i] && strcmp(got[i], want) == 0, "text %d is %s", i, got[i] ? got[i] : "NULL");
    }
    CHECK(bkt_plain_counts.by_sources == before + 1, "HDF5 read the texts");
    (void)H5Treclaim(type, space, H5P_DEFAULT, got);
    plain_handle_free(o);
    (void)H5Sclose(space);
    (void)H5Tclose(type);
    (void)H5Dclose(d);
}

static void test_values(const struct bkt_settings *set)
{
    const hid_t types[] = {H5T_NATIVE_INT, H5T_NATIVE_DOUBLE, H5T_STD_I16BE};
    char name[120];
    link_path(BKT_COUNT(links) - 1, name, sizeof name);
    hid_t local = must_id(H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT), name),
          remote = must_id(plain_open(plain_serve(path), set), "open");
    for (size_t i = 0; i < BKT_COUNT(views); i++)
        for (int which = 0; which < 3; which++)
            compare(local, remote, views[i].name, types[which], which);
    compare_texts(remote);
    (void)H5Fclose(local);
    (void)H5Fclose(remote);
}

static void write_odd_files(void)
{
    static unsigned char bytes[2000];
    char to[120];
    FILE *from = fopen(path, "rb");
    REQUIRE(from && fread(bytes, 1, sizeof bytes, from) == sizeof bytes, "%s", path);
    (void)fclose(from);
    for (size_t i = 0; i < BKT_COUNT(odd_files); i++) {
        (void)snprintf(to, sizeof to, "%s/%s", dir, odd_files[i]);
        FILE *f = fopen(to, "wb");
        size_t n = i == 1 ? 0 : sizeof bytes - 8;
        REQUIRE(f && fwrite(bytes + (i == 0 ? 8 : 0), 1, n, f) == n, "%s", to);
        (void)fclose(f);
    }
}

/* HDF5 gives fill values for a file that is missing, and fails for a file that it refuses. */
static void test_odd_files(const struct bkt_settings *set)
{
    char name[140];
    int *got = calloc((size_t)SIDE * SIDE, sizeof *got);
    REQUIRE(got, "memory");
    write_odd_files();
    hid_t local = must_id(H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), path);
    (void)snprintf(name, sizeof name, "%s/file.h5", plain_serve_folder(dir));
    hid_t remote = must_id(plain_open(name, set), name);
    for (size_t i = 0; i < BKT_COUNT(odd_views); i++) {
        hid_t d[2] = {must_id(H5Dopen2(local, odd_views[i].name, H5P_DEFAULT), "open"),
                      must_id(H5Dopen2(remote, odd_views[i].name, H5P_DEFAULT), "open")};
        struct bkt_vobj *o = plain_handle(d[1]);
        herr_t rc[2] = {BKT_OK, plain_read_by(o, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, got)};
        H5E_BEGIN_TRY { rc[0] = H5Dread(d[0], H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, got); } H5E_END_TRY
        CHECK((rc[0] < 0) == (i > 0) && (rc[1] < 0) == (i > 0), "%s: HDF5 %d, we %d", odd_views[i].name, rc[0], rc[1]);
        plain_handle_free(o);
        (void)H5Dclose(d[0]);
        (void)H5Dclose(d[1]);
    }
    free(got);
    (void)H5Fclose(local);
    (void)H5Fclose(remote);
    (void)plain_serve_folder(NULL);
}

/* ---- external links ---- */

/* HDF5 tries several names.  Only if it opens none of them, the server's refusal is the reason. */
static void test_links(const struct bkt_settings *set)
{
    static const struct {
        const char *path;
        bool opens, refused;
    } cases[] = {{"found beside/group", true, false},
                 {"found beside/none", false, false},
                 {"refused/group", false, true},
                 {"none", false, false}};
    hid_t remote = must_id(plain_open(plain_serve(path), set), "open");
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        struct bkt_err err = {.n = 0};
        hid_t o = H5I_INVALID_HID;
        int rc = bkt_native_open(remote, cases[i].path, H5P_DEFAULT, &o, &err);
        bool refused = err.n && strstr(err.frame[0].msg, "HTTP 403");
        CHECK((rc == BKT_OK) == cases[i].opens && refused == cases[i].refused, "%s: %d, %s", cases[i].path, rc,
              bkt_err_reason(&err, rc));
        if (rc == BKT_OK)
            (void)H5Oclose(o);
    }
    (void)H5Fclose(remote);
}

/* ---- requests ---- */

/* Eight files, each with 16 chunks behind the bytes that come with the open. */
static void write_far(void)
{
    hsize_t dims[2] = {FILES, SIDE * SIDE}, start[2] = {0, 0}, count[2] = {1, SIDE * SIDE};
    hid_t file = plain_new(path, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST),
          dcpl = must_id(H5Pcreate(H5P_DATASET_CREATE), "list");
    hid_t space = must_id(H5Screate_simple(2, dims, NULL), "space"),
          src = must_id(H5Screate_simple(1, &count[1], NULL), "space");
    for (size_t i = 0; i < FILES; i++) {
        start[0] = i;
        must_do(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL), "mapping");
        must_do(H5Pset_virtual(dcpl, space, links[i], "source", src), links[i]);
    }
    (void)H5Dclose(must_id(H5Dcreate2(file, "d", H5T_STD_I32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT), "d"));
    (void)H5Pclose(dcpl);
    write_numbers(file, "filler", SIDE * 2, SIDE, chunked(CUT, CUT));
    dcpl = must_id(H5Pcreate(H5P_DATASET_CREATE), "list");
    hsize_t chunk = SIDE * SIDE / BLOCK;
    must_do(H5Pset_chunk(dcpl, 1, &chunk), "chunk");
    hid_t d =
        must_id(H5Dcreate2(file, "source", H5T_STD_I32LE, src, H5P_DEFAULT, dcpl, H5P_DEFAULT), "source");
    int *v = calloc(SIDE * SIDE, sizeof *v);
    REQUIRE(v, "memory");
    for (int i = 0; i < SIDE * SIDE; i++)
        v[i] = i * 3;
    must_do(H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v), "source");
    free(v);
    (void)H5Dclose(d);
    (void)H5Pclose(dcpl);
    (void)H5Sclose(src);
    (void)H5Sclose(space);
    must_do(H5Fclose(file), "H5Fclose");
}

static void test_requests(const struct bkt_settings *set)
{
    int *got = calloc((size_t)FILES * SIDE * SIDE, sizeof *got);
    size_t wrong = 0;
    REQUIRE(got, "memory");
    write_far();
    const char *url = plain_serve(path);
    (void)plain_requests();
    /* the file; the sources' first bytes; their indexes; their chunks */
    static const unsigned ends[] = {1, 1 + FILES, 1 + 2 * FILES, 1 + 3 * FILES};
    plain_waves(ends, BKT_COUNT(ends));
    hid_t file = must_id(plain_open(url, set), "open"), d = must_id(H5Dopen2(file, "d", H5P_DEFAULT), "d");
    struct bkt_vobj *o = plain_handle(d);
    for (int turn = 0; turn < 2; turn++) {
        CHECK(plain_read_by(o, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, got) == BKT_OK, "read");
        unsigned requests = plain_requests(), want = turn ? 0 : ends[BKT_COUNT(ends) - 1];
        if (getenv("SHOW_COSTS"))
            (void)printf("virtual, turn %d: %u requests\n", turn, requests);
        CHECK(requests == want, "turn %d: %u requests", turn, requests);
    }
    for (size_t i = 0; i < (size_t)FILES * SIDE * SIDE; i++)
        wrong += got[i] != (int)(i % (SIDE * SIDE)) * 3;
    CHECK(wrong == 0, "%zu wrong values", wrong);
    plain_waves(NULL, 0);
    free(got);
    plain_handle_free(o);
    (void)H5Dclose(d);
    (void)H5Fclose(file);
}

int main(void)
{
    struct bkt_settings set;
    struct bkt_err err = {.n = 0};
    if (!mkdtemp(dir) || bkt_settings_init(&set, "test.hedge=0", &err) < 0)
        return 1;
    (void)snprintf(path, sizeof path, "%s/file.h5", dir);
    write_all();
    test_values(&set);
    test_odd_files(&set);
    test_links(&set);
    test_requests(&set);
    bkt_vfd_term();
    bkt_settings_fini(&set);
    bkt_store_shutdown();
    plain_serve_end();
    for (size_t i = 0; i < BKT_COUNT(links); i++) {
        char name[120];
        link_path(i, name, sizeof name);
        (void)unlink(name);
    }
    for (size_t i = 0; i < BKT_COUNT(odd_files); i++) {
        char name[120];
        (void)snprintf(name, sizeof name, "%s/%s", dir, odd_files[i]);
        (void)unlink(name);
    }
    (void)unlink(path);
    (void)rmdir(dir);
    return failures != 0;
}
