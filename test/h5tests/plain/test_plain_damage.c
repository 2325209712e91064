/* Damaged plain HDF5 files: HDF5 and the connector's table make the same of each changed byte. */
#include <hdf5.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "h5tests/plain/plain_files.h"
#include "helpers/check.h"
#include "helpers/xorshift.h"
#include "storage/store.h"
#include "vol/core/vol.h"
#include "vol/vfd/store_driver.h"

#define MAX_FILE (1 << 20)

static char dir[] = "/tmp/bkt-plain-damage-XXXXXX", path[100];
static unsigned char bytes[MAX_FILE];
static size_t n_bytes;

/* ---- the file ---- */

static void add_text(hid_t file, const char *name, bool deflate)
{
    hsize_t n = 60, chunk = 16;
    char text[60][24];
    const char *v[60];
    hid_t type = must_id(H5Tcopy(H5T_C_S1), "type"), dcpl = must_id(H5Pcreate(H5P_DATASET_CREATE), "list");
    hid_t space = must_id(H5Screate_simple(1, &n, NULL), "space");
    must_do(H5Tset_size(type, H5T_VARIABLE), "type");
    must_do(H5Pset_chunk(dcpl, 1, &chunk), "chunk");
    if (deflate)
        must_do(H5Pset_deflate(dcpl, 1), "deflate");
    for (int i = 0; i < 60; i++) {
        (void)snprintf(text[i], sizeof text[i], "text number %d", i);
        v[i] = i % 7 ? text[i] : "";
    }
    hid_t d = must_id(H5Dcreate2(file, name, type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT), name);
    must_do(H5Dwrite(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, v), name);
    (void)H5Dclose(d);
    (void)H5Pclose(dcpl);
    (void)H5Sclose(space);
    (void)H5Tclose(type);
}

static const struct {
    size_t form, filter, fill;
} datasets[] = {{0, 0, 0}, {4, 1, 0}, {5, 0, 1}, {5, 3, 0}, {5, 4, 2}, {7, 2, 0}, {9, 1, 0}, {10, 8, 2}};

static void make_file(H5F_libver_t low)
{
    hid_t file = plain_new(path, low, H5F_LIBVER_LATEST);
    for (size_t i = 0; i < BKT_COUNT(datasets); i++) {
        char name[20];
        (void)snprintf(name, sizeof name, "d%zu", i);
        (void)plain_dataset(file, name, H5T_STD_I32LE, &plain_forms[datasets[i].form], &plain_filters[datasets[i].filter],
                            &plain_fills[datasets[i].fill]);
    }
    add_text(file, "text", false);
    add_text(file, "deflated text", true);
    must_do(H5Fclose(file), "H5Fclose");
    FILE *f = fopen(path, "rb");
    REQUIRE(f, "%s", path);
    n_bytes = fread(bytes, 1, sizeof bytes, f);
    (void)fclose(f);
    REQUIRE(n_bytes > 1000 && n_bytes < sizeof bytes, "%zu bytes", n_bytes);
}

/* ---- one dataset's result ---- */

struct result {
    bool     opened, read;
    unsigned hash; /* of the values */
};

static unsigned mix(unsigned h, const void *p, size_t n)
{
    const unsigned char *c = p;
    for (size_t i = 0; i < n; i++)
        h = (h ^ c[i]) * 16777619U;
    return h;
}

static void take(struct result *r, hid_t type, void *v, size_t n)
{
    char **text = v;
    bool var = H5Tis_variable_str(type) > 0;
    if (!v)
        return;
    for (size_t i = 0; var && i < n; i++)
        r->hash = text[i] ? mix(r->hash, text[i], strlen(text[i]) + 1) : mix(r->hash, "null", 4);
    if (!var)
        r->hash = mix(r->hash, v, n * H5Tget_size(type));
}

static void read_one(hid_t d, bool ours, struct result *r)
{
    hid_t type = H5Dget_type(d), space = H5Dget_space(d);
    hssize_t n = H5Sget_simple_extent_npoints(space);
    size_t size = type < 0 ? 0 : H5Tget_size(type);
    H5T_class_t cls = H5Tget_class(type);
    void *v = n > 0 && n < 1000000 && size && size < 1000 && (cls == H5T_INTEGER || cls == H5T_STRING) ? calloc((size_t)n, size) : NULL;
    if (v && ours) {
        struct bkt_vobj *o = plain_handle(d);
        r->read = plain_read_by(o, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) == BKT_OK;
        plain_handle_free(o);
    } else if (v)
        r->read = H5Dread(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0;
    if (r->read)
        take(r, type, v, (size_t)n);
    (void)H5Tclose(type);
    (void)H5Sclose(space);
}

static const char *name_of(size_t i)
{
    static char name[20];
    (void)snprintf(name, sizeof name, "d%zu", i);
    return i < BKT_COUNT(datasets) ? name : i == BKT_COUNT(datasets) ? "text" : "deflated text";
}

struct looked {
    hid_t d;
    bool  differs;
};

static int look_up(const hsize_t *at, unsigned mask, haddr_t addr, hsize_t size, void *arg)
{
    struct looked *l = arg;
    hsize_t stored = 0;
    (void)mask, (void)addr;
    l->differs |= H5Dget_chunk_storage_size(l->d, at, &stored) < 0 || stored != size;
    return 0;
}

/* Whether HDF5 lists a chunk that it doesn't find by its place: then listing and reading differ in HDF5, too. */
static bool contradicts_itself(hid_t file, size_t i)
{
    struct looked l = {.d = H5Dopen2(file, name_of(i), H5P_DEFAULT)};
    (void)H5Dchunk_iter(l.d, H5P_DEFAULT, look_up, &l);
    (void)H5Dclose(l.d);
    return l.differs;
}

/* @p out: one result for each dataset. */
static void read_all(hid_t file, bool ours, struct result *out)
{
    for (size_t i = 0; i < BKT_COUNT(datasets) + 2; i++) {
        hid_t d = H5Dopen2(file, name_of(i), H5P_DEFAULT);
        out[i].opened = d >= 0;
        if (d < 0)
            continue;
        read_one(d, ours, &out[i]);
        (void)H5Dclose(d);
    }
}

static struct result native[20], own[20];

static hid_t open_native(void)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    (void)H5Pset_vol(fapl, H5VL_NATIVE, NULL);
    return H5Fopen(path, H5F_ACC_RDONLY, fapl);
}

/* HDF5 itself may crash. */
static void read_native(void)
{
    hid_t file = open_native();
    if (file >= 0)
        read_all(file, false, native);
    (void)H5Fclose(file);
}

static bool is_same(const struct result *a, const struct result *b)
{
    return a->opened == b->opened && a->read == b->read && a->hash == b->hash;
}

static void put_in_memory(const struct bkt_settings *set)
{
    struct bkt_store *st = NULL;
    REQUIRE(bkt_store_open("mem:damage", set, &st, NULL) == BKT_OK &&
                bkt_store_put(st, "file.h5", bytes, n_bytes, NULL, NULL, NULL, NULL) == BKT_OK,
            "store");
    bkt_store_close(st);
}

static int read_both(void)
{
    struct bkt_settings set;
    struct bkt_err err = {.n = 0};
    REQUIRE(bkt_settings_init(&set, "", &err) == BKT_OK, "settings");
    failures = 0; /* those of this process count */
    put_in_memory(&set);
    hid_t file = plain_open("mem:damage/file.h5", &set);
    if (file >= 0)
        read_all(file, true, own);
    (void)H5Fclose(file);
    read_native();
    file = open_native();
    for (size_t i = 0; i < BKT_COUNT(own); i++)
        CHECK(is_same(&native[i], &own[i]) || contradicts_itself(file, i),
              "dataset %zu: HDF5 %d %d, we %d %d%s", i, native[i].opened, native[i].read, own[i].opened, own[i].read,
              native[i].hash == own[i].hash ? "" : ", other values");
    return failures != 0;
}

/* The exit code of a child; -1: it crashed or took too long. */
static int in_child(bool both)
{
    pid_t child = fork();
    REQUIRE(child >= 0, "fork");
    if (child == 0) {
        (void)alarm(60);
        (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
        if (!both)
            read_native();
        _exit(both ? read_both() : 0);
    }
    int status = 0;
    (void)waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void store(void)
{
    FILE *f = fopen(path, "wb");
    REQUIRE(f && fwrite(bytes, 1, n_bytes, f) == n_bytes, "%s", path);
    (void)fclose(f);
}

static void test_change(const char *what, size_t at, unsigned char to, unsigned *n)
{
    unsigned char was = bytes[at];
    bytes[at] = to;
    store();
    if (in_child(false) == 0) {
        CHECK(in_child(true) == 0, "%s: byte %zu: %u instead of %u", what, at, to, was);
        ++*n;
    }
    bytes[at] = was;
}

/* Cut files: HDF5 refuses most of them when they are opened. */
static void test_cut(const char *what, size_t n)
{
    size_t all = n_bytes;
    n_bytes = n;
    store();
    if (in_child(false) == 0)
        CHECK(in_child(true) == 0, "%s: the first %zu bytes", what, n);
    n_bytes = all;
}

static void test_file(const char *what, H5F_libver_t low, unsigned times, uint32_t seed)
{
    unsigned n = 0;
    make_file(low);
    CHECK(in_child(true) == 0, "%s: unchanged", what);
    for (unsigned i = 0; i < times; i++) {
        size_t at = xorshift32(&seed) % n_bytes;
        uint32_t r = xorshift32(&seed);
        test_change(what, at, r % 3 ? (unsigned char)(bytes[at] ^ (1U << r / 3 % 8)) : (unsigned char)(r >> 8), &n);
        if (i % 20 == 0)
            test_cut(what, at);
    }
    CHECK(n > times / 2, "%s: %u changes were tried", what, n);
}

int main(int argc, char **argv)
{
    unsigned times = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 60;
    uint32_t seed = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 4711;
    if (!mkdtemp(dir))
        return 1;
    (void)snprintf(path, sizeof path, "%s/file.h5", dir);
    test_file("earliest", H5F_LIBVER_EARLIEST, times, seed);
    test_file("latest", H5F_LIBVER_LATEST, times, seed + 1);
    (void)unlink(path);
    (void)rmdir(dir);
    return failures != 0;
}
