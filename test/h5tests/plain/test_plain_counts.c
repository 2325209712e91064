/* Requests, round trips and bytes of reads from plain HDF5 files behind a web server. */
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
#include "vol/vfd/foresight.h"

static char dir[] = "/tmp/bkt-plain-counts-XXXXXX", path[100];

/* Everything that one open file cost, from H5Fopen() to H5Fclose(). */
struct cost {
    unsigned requests, round_trips;
    double   mib;
};

static struct bkt_stats stats_before;
static struct bkt_fore_counts fore_before;

static void begin(void)
{
    bkt_stats_get(&stats_before);
    fore_before = bkt_foresight_counts();
}

/* The file is closed.  @p reads: round trips of the reads by chunk, one each; the first bytes are another one. */
static struct cost cost(unsigned reads)
{
    struct bkt_stats now;
    bkt_stats_get(&now);
    return (struct cost){(unsigned)(now.get - stats_before.get),
                         1 + reads + (unsigned)(bkt_foresight_counts().round_trips - fore_before.round_trips),
                         (double)(now.bytes_in - stats_before.bytes_in) / 1048576};
}

/* ---- one value of many chunks ---- */

struct index {
    const char  *name;
    H5F_libver_t low;
    unsigned     unlimited; /* dimensions */
    bool         filtered;
    unsigned later; /* requests of each read after the first one, the chunk's among them */
};
static const struct index indexes[] = {
    {"B-tree of version 1", H5F_LIBVER_EARLIEST, 0, false, 3},
    {"B-tree of version 1, filtered", H5F_LIBVER_EARLIEST, 1, true, 3},
    {"B-tree of version 2", H5F_LIBVER_LATEST, 2, false, 3},
    {"B-tree of version 2, filtered", H5F_LIBVER_LATEST, 2, true, 3},
    {"fixed array", H5F_LIBVER_LATEST, 0, false, 2},
    {"fixed array, filtered", H5F_LIBVER_LATEST, 0, true, 2},
    {"extensible array", H5F_LIBVER_LATEST, 1, false, 3},
    {"extensible array, filtered", H5F_LIBVER_LATEST, 1, true, 3},
};

static unsigned char value_at(hsize_t row, hsize_t col) { return (unsigned char)(row * 7 + col * 13 + 5); }

/* side x side bytes in chunks of cut x cut. */
static void write_bytes(const struct index *x, hsize_t side, hsize_t cut)
{
    hsize_t dims[2] = {side, side}, max[2] = {x->unlimited ? H5S_UNLIMITED : side, x->unlimited > 1 ? H5S_UNLIMITED : side};
    hsize_t chunk[2] = {cut, cut};
    hid_t file = plain_new(path, x->low, H5F_LIBVER_LATEST), dcpl = must_id(H5Pcreate(H5P_DATASET_CREATE), "list");
    hid_t space = must_id(H5Screate_simple(2, dims, max), "space");
    unsigned char *v = malloc(side * side);
    REQUIRE(v, "memory");
    for (hsize_t i = 0; i < side * side; i++)
        v[i] = value_at(i / side, i % side);
    must_do(H5Pset_chunk(dcpl, 2, chunk), "chunk");
    if (x->filtered)
        must_do(H5Pset_fletcher32(dcpl), "filter");
    hid_t d = must_id(H5Dcreate2(file, "d", H5T_NATIVE_UCHAR, space, H5P_DEFAULT, dcpl, H5P_DEFAULT), "dataset");
    must_do(H5Dwrite(d, H5T_NATIVE_UCHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, v), "H5Dwrite");
    free(v);
    (void)H5Dclose(d);
    (void)H5Pclose(dcpl);
    (void)H5Sclose(space);
    must_do(H5Fclose(file), "H5Fclose");
}

static void read_points(hid_t file, const char *what, const hsize_t *at, size_t n)
{
    unsigned char got[64] = {0};
    hsize_t dim = n;
    hid_t d = must_id(H5Dopen2(file, "d", H5P_DEFAULT), "dataset"), space = must_id(H5Dget_space(d), "space");
    hid_t mem = must_id(H5Screate_simple(1, &dim, NULL), "space");
    must_do(H5Sselect_elements(space, H5S_SELECT_SET, n, at), "points");
    struct bkt_vobj *o = plain_handle(d);
    CHECK(plain_read_by(o, H5T_NATIVE_UCHAR, mem, space, H5P_DEFAULT, got) == BKT_OK, "%s", what);
    for (size_t i = 0; i < n; i++)
        CHECK(got[i] == value_at(at[2 * i], at[2 * i + 1]), "%s: point %zu is %u", what, i, got[i]);
    plain_handle_free(o);
    (void)H5Sclose(mem);
    (void)H5Sclose(space);
    (void)H5Dclose(d);
}

static void check(const char *what, struct cost c, unsigned round_trips, double mib)
{
    if (getenv("SHOW_COSTS"))
        (void)printf("%s: %u round trips, %u requests, %.2f MiB\n", what, c.round_trips, c.requests, c.mib);
    CHECK(c.round_trips <= round_trips && c.mib <= mib, "%s: %u round trips, %u requests, %.2f MiB", what, c.round_trips,
          c.requests, c.mib);
}

static void test_turns(const struct bkt_settings *set, const struct index *x, hsize_t side);

static void test_index(const struct bkt_settings *set, const struct index *x, hsize_t side)
{
    struct bkt_plain_counts before = bkt_plain_counts;
    const hsize_t one[2] = {side / 2 + 3, side / 3};
    hsize_t some[20];
    for (size_t i = 0; i < 20; i++)
        some[i] = (i * i * 7919 + i) % side;
    write_bytes(x, side, 1);
    const char *url = plain_serve(path);
    begin();
    hid_t file = must_id(plain_open(url, set), "open");
    read_points(file, x->name, one, 1);
    must_do(H5Fclose(file), "H5Fclose");
    check(x->name, cost(1), 8, 2);
    CHECK(bkt_plain_counts.by_chunk == before.by_chunk + 1 && bkt_plain_counts.looked_up == before.looked_up + 1 &&
              bkt_plain_counts.listed == before.listed,
          "%s: the chunk was not looked up", x->name);
    begin();
    file = must_id(plain_open(url, set), "open");
    read_points(file, x->name, some, 10);
    must_do(H5Fclose(file), "H5Fclose");
    check("ten points", cost(1), 40, 6);
    test_turns(set, x, side);
}

/* ---- single values, one call after another ---- */

enum { TURNS = 12 };

/* The program keeps the dataset open.  Later reads find the nodes that earlier ones have fetched, and fetch
 * no others than those on their own path. */
static void test_turns(const struct bkt_settings *set, const struct index *x, hsize_t side)
{
    unsigned n[TURNS] = {0}, deep = side >= 1000; /* a level more */
    hid_t file = must_id(plain_open(plain_serve(path), set), "open"),
          d = must_id(H5Dopen2(file, "d", H5P_DEFAULT), "dataset");
    hid_t space = must_id(H5Dget_space(d), "space"),
          mem = must_id(H5Screate_simple(1, (hsize_t[]){1}, NULL), "space");
    struct bkt_vobj *o = plain_handle(d);
    (void)plain_requests();
    for (hsize_t i = 0; i < TURNS; i++) {
        const hsize_t at[2] = {(i * 2654435761U + 77) % side, (i * 40503U + 13) % side};
        unsigned char got = 0;
        must_do(H5Sselect_elements(space, H5S_SELECT_SET, 1, at), "point");
        CHECK(plain_read_by(o, H5T_NATIVE_UCHAR, mem, space, H5P_DEFAULT, &got) == BKT_OK, "%s", x->name);
        CHECK(got == value_at(at[0], at[1]), "%s: point %u is %u", x->name, (unsigned)i, got);
        n[i] = plain_requests();
        CHECK(!i || n[i] <= x->later + deep, "%s: %u requests of read %u", x->name, n[i], (unsigned)i);
    }
    if (getenv("SHOW_COSTS")) {
        (void)printf("%s, one after another:", x->name);
        for (size_t i = 0; i < TURNS; i++)
            (void)printf(" %u", n[i]);
        (void)printf("\n");
    }
    plain_handle_free(o);
    (void)H5Sclose(mem);
    (void)H5Sclose(space);
    (void)H5Dclose(d);
    (void)H5Fclose(file);
}

/* ---- a row of each of many datasets ---- */

enum { MANY = 12, MANY_ROWS = 250, MANY_LONG = 4096 };

/* Their headers come first; each index lies between the chunks, as it is made with the first one. */
static void write_many(void)
{
    hsize_t dims[2] = {MANY_ROWS, MANY_LONG}, chunk[2] = {1, MANY_LONG};
    hid_t file = plain_new(path, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST), dcpl = must_id(H5Pcreate(H5P_DATASET_CREATE), "list");
    hid_t space = must_id(H5Screate_simple(2, dims, NULL), "space"), d[MANY];
    unsigned char *v = calloc(MANY_ROWS, MANY_LONG);
    REQUIRE(v, "memory");
    must_do(H5Pset_chunk(dcpl, 2, chunk), "chunk");
    for (int i = 0; i < MANY; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "%d", i);
        d[i] = must_id(H5Dcreate2(file, name, H5T_NATIVE_UCHAR, space, H5P_DEFAULT, dcpl, H5P_DEFAULT), name);
    }
    for (int i = 0; i < MANY; i++) {
        for (size_t j = 0; j < (size_t)MANY_ROWS * MANY_LONG; j++)
            v[j] = value_at(j / MANY_LONG, (hsize_t)i);
        must_do(H5Dwrite(d[i], H5T_NATIVE_UCHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, v), "H5Dwrite");
        (void)H5Dclose(d[i]);
    }
    free(v);
    (void)H5Pclose(dcpl);
    (void)H5Sclose(space);
    must_do(H5Fclose(file), "H5Fclose");
}

/* One call for a row of each.  All indexes come side by side. */
static void test_many(const struct bkt_settings *set)
{
    static unsigned char got[MANY][MANY_LONG];
    hid_t d[MANY], types[MANY], spaces[MANY], mem[MANY];
    void *bufs[MANY];
    hsize_t start[2] = {0, 0}, count[2] = {1, MANY_LONG};
    write_many();
    begin();
    hid_t file = must_id(plain_open(plain_serve(path), set), "open");
    for (int i = 0; i < MANY; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "%d", i);
        start[0] = (hsize_t)i * 17;
        d[i] = must_id(H5Dopen2(file, name, H5P_DEFAULT), name);
        types[i] = H5T_NATIVE_UCHAR;
        spaces[i] = must_id(H5Dget_space(d[i]), "space");
        mem[i] = must_id(H5Screate_simple(1, &count[1], NULL), "space");
        must_do(H5Sselect_hyperslab(spaces[i], H5S_SELECT_SET, start, NULL, count, NULL), "row");
        bufs[i] = got[i];
    }
    CHECK(plain_read(MANY, d, types, mem, spaces, H5P_DEFAULT, bufs) == BKT_OK, "rows");
    for (int i = 0; i < MANY; i++) {
        CHECK(got[i][MANY_LONG - 1] == value_at((hsize_t)i * 17, (hsize_t)i), "row of dataset %d", i);
        (void)H5Sclose(spaces[i]);
        (void)H5Sclose(mem[i]);
        (void)H5Dclose(d[i]);
    }
    must_do(H5Fclose(file), "H5Fclose");
    /* 5 as a rule; late answers add some.  Indexes that come one after another take more than 12. */
    check("a row of each of 12 datasets", cost(1), 9, 20);
}

/* ---- the first value ---- */

/* Metadata at the front, chunks of 1 MiB: the question for a domain of that name is a fourth request. */
static void test_first(const struct bkt_settings *set)
{
    const struct index formats[] = {{"first value, old format", H5F_LIBVER_EARLIEST, 0, false, 0},
                                    {"first value, latest format", H5F_LIBVER_LATEST, 0, false, 0},
                                    {"first value, extensible", H5F_LIBVER_LATEST, 1, false, 0}};
    const hsize_t first[2] = {0, 0};
    for (size_t i = 0; i < BKT_COUNT(formats); i++) {
        write_bytes(&formats[i], 4096, 1024);
        begin();
        hid_t file = must_id(plain_open(plain_serve(path), set), "open");
        read_points(file, formats[i].name, first, 1);
        must_do(H5Fclose(file), "H5Fclose");
        struct cost c = cost(1);
        check(formats[i].name, c, 3, 1);
        CHECK(c.requests <= 3, "%s: %u requests", formats[i].name, c.requests);
    }
}

/* ---- strings of variable length ---- */

enum { STRINGS = 140000, STRINGS_CHUNK = 2000, STRING_LONG = 32 };

static void string_at(size_t i, char *to)
{
    (void)snprintf(to, STRING_LONG, "a string, number %07zu", i);
}

/* 70 chunks, two nodes of a B-tree.  HDF5 gives heaps and chunks their places by turns. */
static void write_strings(H5F_libver_t low)
{
    hsize_t n = STRINGS, chunk = STRINGS_CHUNK;
    hid_t file = plain_new(path, low, H5F_LIBVER_LATEST),
          dcpl = must_id(H5Pcreate(H5P_DATASET_CREATE), "list");
    hid_t space = must_id(H5Screate_simple(1, &n, NULL), "space"), type = must_id(H5Tcopy(H5T_C_S1), "type");
    char *bytes = calloc(STRINGS, STRING_LONG), **at = calloc(STRINGS, sizeof *at);
    REQUIRE(bytes && at, "memory");
    for (size_t i = 0; i < STRINGS; i++)
        string_at(i, at[i] = bytes + i * STRING_LONG);
    must_do(H5Tset_size(type, H5T_VARIABLE), "type");
    must_do(H5Pset_chunk(dcpl, 1, &chunk), "chunk");
    hid_t d = must_id(H5Dcreate2(file, "d", type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT), "dataset");
    must_do(H5Dwrite(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, at), "H5Dwrite");
    free(bytes);
    free(at);
    (void)H5Dclose(d);
    (void)H5Tclose(type);
    (void)H5Pclose(dcpl);
    (void)H5Sclose(space);
    must_do(H5Fclose(file), "H5Fclose");
}

static void read_strings(hid_t file)
{
    hid_t d = must_id(H5Dopen2(file, "d", H5P_DEFAULT), "dataset"), type = must_id(H5Dget_type(d), "type");
    hid_t space = must_id(H5Dget_space(d), "space");
    char **got = calloc(STRINGS, sizeof *got), want[STRING_LONG];
    size_t wrong = 0;
    REQUIRE(got, "memory");
    struct bkt_vobj *o = plain_handle(d);
    CHECK(plain_read_by(o, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, got) == BKT_OK, "strings");
    for (size_t i = 0; i < STRINGS; i++) {
        string_at(i, want);
        wrong += !got[i] || strcmp(got[i], want) != 0;
    }
    CHECK(wrong == 0, "%zu wrong strings", wrong);
    must_do(H5Treclaim(type, space, H5P_DEFAULT, got), "H5Treclaim");
    plain_handle_free(o);
    free(got);
    (void)H5Sclose(space);
    (void)H5Tclose(type);
    (void)H5Dclose(d);
}

/* The first bytes, the index, and one wave for chunks and heaps. */
static void test_strings(const struct bkt_settings *set)
{
    static const struct {
        const char *name;
        H5F_libver_t low;
        unsigned round_trips, requests;
    } formats[] = {{"strings, old format", H5F_LIBVER_EARLIEST, 3, 7},
                   {"strings, latest format", H5F_LIBVER_LATEST, 2, 5}};
    for (size_t i = 0; i < BKT_COUNT(formats); i++) {
        struct bkt_plain_counts before = bkt_plain_counts;
        write_strings(formats[i].low);
        begin();
        hid_t file = must_id(plain_open(plain_serve(path), set), "open");
        read_strings(file);
        must_do(H5Fclose(file), "H5Fclose");
        struct cost c = cost(0);
        check(formats[i].name, c, formats[i].round_trips, 9);
        CHECK(c.requests == formats[i].requests, "%s: %u requests", formats[i].name, c.requests);
        CHECK(bkt_plain_counts.by_sequences == before.by_sequences + 1, "%s: HDF5 read them",
              formats[i].name);
    }
}

int main(int argc, char **argv)
{
    struct bkt_settings set;
    struct bkt_err err = {.n = 0};
    hsize_t side = argc > 1 ? strtoul(argv[1], NULL, 10) : 400;
    if (!mkdtemp(dir) || bkt_settings_init(&set, "test.hedge=0", &err) < 0)
        return 1;
    (void)snprintf(path, sizeof path, "%s/file.h5", dir);
    for (size_t i = 0; i < BKT_COUNT(indexes); i++)
        test_index(&set, &indexes[i], side);
    test_many(&set);
    test_first(&set);
    test_strings(&set);
    bkt_vfd_term();
    bkt_settings_fini(&set);
    bkt_store_shutdown();
    plain_serve_end();
    (void)unlink(path);
    (void)rmdir(dir);
    return failures != 0;
}
