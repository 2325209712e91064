/* Types of every kind in plain HDF5 files behind a web server: values equal those that HDF5 reads from the
 * file on disk.  Also conversions of compounds, data transforms, and many datasets in one call. */
#include <hdf5.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "h5tests/helpers/type_zoo.h"
#include "h5tests/plain/plain_files.h"
#include "helpers/check.h"
#include "storage/store.h"
#include "vol/dataset/plain/plain_read.h"

#define N 700

static char dir[] = "/tmp/bkt-plain-types-XXXXXX", path[100];
static const char *const layouts[] = {"contiguous", "chunks", "deflated"};

static void write_zoo(H5F_libver_t low, hsize_t user_block)
{
    hid_t fapl = must_id(H5Pcreate(H5P_FILE_ACCESS), "list"), fcpl = must_id(H5Pcreate(H5P_FILE_CREATE), "list");
    must_do(H5Pset_libver_bounds(fapl, low, H5F_LIBVER_LATEST), "bounds");
    must_do(H5Pset_userblock(fcpl, user_block), "user block");
    hid_t file = must_id(H5Fcreate(path, H5F_ACC_TRUNC, fcpl, fapl), path);
    hsize_t n = N, chunk = 60;
    hid_t space = must_id(H5Screate_simple(1, &n, NULL), "space");
    for (size_t t = 0; t < zoo_size; t++)
        for (int l = 0; l < 3; l++) {
            char name[100];
            (void)snprintf(name, sizeof name, "%s, %s", zoo[t].name, layouts[l]);
            hid_t type = must_id(zoo[t].make(), name), dcpl = must_id(H5Pcreate(H5P_DATASET_CREATE), "list");
            if (l)
                must_do(H5Pset_chunk(dcpl, 1, &chunk), "chunk");
            if (l > 1)
                must_do(H5Pset_deflate(dcpl, 1), "deflate");
            hid_t d = must_id(H5Dcreate2(file, name, type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT), name);
            void *v = calloc(N, H5Tget_size(type));
            REQUIRE(v, "memory");
            zoo_fill(type, v, N, (unsigned)t);
            must_do(H5Dwrite(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, v), name);
            (void)H5Treclaim(type, space, H5P_DEFAULT, v);
            free(v);
            (void)H5Dclose(d);
            (void)H5Tclose(type);
            (void)H5Pclose(dcpl);
        }
    (void)H5Sclose(space);
    must_do(H5Fclose(file), "H5Fclose");
    (void)H5Pclose(fcpl);
    (void)H5Pclose(fapl);
}

/* Whether values have neither pointers nor references, so that they are compared by the bytes. */
static bool is_flat(hid_t type)
{
    H5T_class_t cls = H5Tget_class(type);
    bool flat = cls != H5T_VLEN && cls != H5T_REFERENCE && H5Tis_variable_str(type) <= 0;
    hid_t base = cls == H5T_ARRAY ? H5Tget_super(type) : H5I_INVALID_HID;
    if (base >= 0) {
        flat = is_flat(base);
        (void)H5Tclose(base);
    }
    for (int i = 0; cls == H5T_COMPOUND && flat && i < H5Tget_nmembers(type); i++) {
        base = must_id(H5Tget_member_type(type, (unsigned)i), "member");
        flat = is_flat(base);
        (void)H5Tclose(base);
    }
    return flat;
}

static void compare_zoo(const char *what, const char *name, hid_t local, hid_t remote, bool slab)
{
    hid_t a = must_id(H5Dopen2(local, name, H5P_DEFAULT), name), b = must_id(H5Dopen2(remote, name, H5P_DEFAULT), name);
    hid_t type = must_id(H5Dget_type(a), "type"), space = must_id(H5Dget_space(a), "space"), mem = H5S_ALL;
    hsize_t start = 13, stride = 3, n = N;
    if (slab) {
        n = 200;
        must_do(H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, &stride, &n, NULL), "slab");
        mem = must_id(H5Screate_simple(1, &n, NULL), "space");
    }
    unsigned char *x = calloc(N, H5Tget_size(type)), *y = calloc(N, H5Tget_size(type));
    REQUIRE(x && y, "memory");
    struct bkt_vobj *o = plain_handle(b);
    struct bkt_plain_counts before = bkt_plain_counts;
    must_do(H5Dread(a, type, mem, space, H5P_DEFAULT, x), name);
    CHECK(plain_read_by(o, type, mem, space, H5P_DEFAULT, y) == BKT_OK, "%s, %s", what, name);
    CHECK(zoo_same(type, x, y, n), "%s, %s: other values", what, name);
    if (is_flat(type))
        CHECK(memcmp(x, y, n * H5Tget_size(type)) == 0 && bkt_plain_counts.by_chunk == before.by_chunk + 1, "%s, %s: not by chunk",
              what, name);
    plain_handle_free(o);
    hid_t used = must_id(H5Screate_simple(1, &n, NULL), "space");
    (void)H5Treclaim(type, used, H5P_DEFAULT, x);
    (void)H5Treclaim(type, used, H5P_DEFAULT, y);
    free(x);
    free(y);
    (void)H5Sclose(used);
    if (mem != H5S_ALL)
        (void)H5Sclose(mem);
    (void)H5Sclose(space);
    (void)H5Tclose(type);
    (void)H5Dclose(a);
    (void)H5Dclose(b);
}

static void test_zoo(const struct bkt_settings *set, const char *what, H5F_libver_t low, hsize_t user_block)
{
    write_zoo(low, user_block);
    hid_t local = must_id(H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), path), remote = must_id(plain_open(plain_serve(path), set), "open");
    for (size_t t = 0; t < zoo_size; t++)
        for (int l = 0; l < 3; l++) {
            char name[100];
            (void)snprintf(name, sizeof name, "%s, %s", zoo[t].name, layouts[l]);
            compare_zoo(what, name, local, remote, false);
            compare_zoo(what, name, local, remote, true);
        }
    (void)H5Fclose(local);
    (void)H5Fclose(remote);
}

/* ---- conversions ---- */

struct full {
    int a;
    double b;
    char c[5];
    short d[3];
};
struct part {
    float b;
    char gap[7];
    long a;
    int other; /* no stored field has this name */
};

static hid_t full_type(void)
{
    hsize_t three = 3;
    hid_t t = must_id(H5Tcreate(H5T_COMPOUND, sizeof(struct full)), "type"), text = must_id(H5Tcopy(H5T_C_S1), "type");
    hid_t array = must_id(H5Tarray_create2(H5T_NATIVE_SHORT, 1, &three), "type");
    must_do(H5Tset_size(text, 5), "size");
    must_do(H5Tinsert(t, "a", HOFFSET(struct full, a), H5T_NATIVE_INT), "a");
    must_do(H5Tinsert(t, "b", HOFFSET(struct full, b), H5T_NATIVE_DOUBLE), "b");
    must_do(H5Tinsert(t, "c", HOFFSET(struct full, c), text), "c");
    must_do(H5Tinsert(t, "d", HOFFSET(struct full, d), array), "d");
    (void)H5Tclose(text);
    (void)H5Tclose(array);
    return t;
}

static hid_t part_type(void)
{
    hid_t t = must_id(H5Tcreate(H5T_COMPOUND, sizeof(struct part)), "type");
    must_do(H5Tinsert(t, "b", HOFFSET(struct part, b), H5T_NATIVE_FLOAT), "b");
    must_do(H5Tinsert(t, "a", HOFFSET(struct part, a), H5T_NATIVE_LONG), "a");
    must_do(H5Tinsert(t, "other", HOFFSET(struct part, other), H5T_NATIVE_INT), "other");
    return t;
}

#define ROWS 4000

static void write_tables(void)
{
    hid_t file = plain_new(path, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST), type = full_type();
    hid_t stored = must_id(H5Tcopy(type), "type"), dcpl = must_id(H5Pcreate(H5P_DATASET_CREATE), "list");
    hsize_t n = ROWS, chunk = 300;
    hid_t space = must_id(H5Screate_simple(1, &n, NULL), "space");
    must_do(H5Tpack(stored), "pack");
    must_do(H5Pset_chunk(dcpl, 1, &chunk), "chunk");
    must_do(H5Pset_deflate(dcpl, 1), "deflate");
    struct full *v = calloc(ROWS, sizeof *v);
    double *x = calloc(ROWS, sizeof *x);
    REQUIRE(v && x, "memory");
    for (int i = 0; i < ROWS; i++) {
        v[i] = (struct full){.a = i * 3, .b = i / 7.0, .c = "text", .d = {(short)i, 5, 6}};
        x[i] = i * 1000.5;
    }
    hid_t d = must_id(H5Dcreate2(file, "table", stored, space, H5P_DEFAULT, dcpl, H5P_DEFAULT), "table");
    must_do(H5Dwrite(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, v), "H5Dwrite");
    (void)H5Dclose(d);
    d = must_id(H5Dcreate2(file, "numbers", H5T_IEEE_F32BE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT), "numbers");
    must_do(H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x), "H5Dwrite");
    (void)H5Dclose(d);
    free(v);
    free(x);
    (void)H5Sclose(space);
    (void)H5Pclose(dcpl);
    (void)H5Tclose(type);
    (void)H5Tclose(stored);
    must_do(H5Fclose(file), "H5Fclose");
}

static H5T_conv_ret_t on_overflow(H5T_conv_except_t kind, hid_t from, hid_t to, void *src, void *dst, void *arg)
{
    (void)from, (void)to, (void)src;
    short value = kind == H5T_CONV_EXCEPT_RANGE_HI ? 4711 : -1;
    ++*(int *)arg;
    memcpy(dst, &value, sizeof value);
    return H5T_CONV_HANDLED;
}

static void same_read(const char *what, hid_t local, hid_t remote, hid_t type, hid_t space, hid_t dxpl)
{
    size_t bytes = ROWS * H5Tget_size(type);
    hsize_t n = ROWS;
    hid_t mem = must_id(H5Screate_simple(1, &n, NULL), "space");
    must_do(space == H5S_ALL ? 0 : H5Sselect_copy(mem, space), "copy");
    unsigned char *x = malloc(bytes), *y = malloc(bytes);
    REQUIRE(x && y, "memory");
    memset(x, 0x77, bytes);
    memset(y, 0x77, bytes);
    struct bkt_vobj *o = plain_handle(remote);
    struct bkt_plain_counts before = bkt_plain_counts;
    must_do(H5Dread(local, type, mem, space, dxpl, x), what);
    CHECK(plain_read_by(o, type, mem, space, dxpl, y) == BKT_OK && memcmp(x, y, bytes) == 0, "%s", what);
    CHECK(bkt_plain_counts.by_chunk == before.by_chunk + 1 && bkt_plain_counts.by_native == before.by_native, "%s: not by chunk", what);
    plain_handle_free(o);
    free(x);
    free(y);
    (void)H5Sclose(mem);
}

static void test_conversions(hid_t local, hid_t remote)
{
    hid_t part = part_type(), full = full_type(), dxpl = must_id(H5Pcreate(H5P_DATASET_XFER), "list");
    hid_t a = must_id(H5Dopen2(local, "table", H5P_DEFAULT), "table"), b = must_id(H5Dopen2(remote, "table", H5P_DEFAULT), "table");
    hid_t space = must_id(H5Dget_space(a), "space");
    hsize_t start = 5, stride = 7, n = 400;
    must_do(H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, &stride, &n, NULL), "slab");
    same_read("all fields", a, b, full, H5S_ALL, H5P_DEFAULT);
    same_read("some fields", a, b, part, H5S_ALL, H5P_DEFAULT);
    same_read("some fields of some rows", a, b, part, space, H5P_DEFAULT);
    (void)H5Dclose(a);
    (void)H5Dclose(b);
    a = must_id(H5Dopen2(local, "numbers", H5P_DEFAULT), "numbers"), b = must_id(H5Dopen2(remote, "numbers", H5P_DEFAULT), "numbers");
    same_read("numbers", a, b, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT);
    must_do(H5Pset_data_transform(dxpl, "(x + 3) * 2"), "transform");
    same_read("a transform", a, b, H5T_NATIVE_DOUBLE, H5S_ALL, dxpl);
    same_read("a transform of some", a, b, H5T_NATIVE_FLOAT, space, dxpl);
    (void)H5Pclose(dxpl);
    dxpl = must_id(H5Pcreate(H5P_DATASET_XFER), "list");
    int asked = 0;
    must_do(H5Pset_type_conv_cb(dxpl, on_overflow, &asked), "callback");
    same_read("a callback for overflows", a, b, H5T_NATIVE_SHORT, H5S_ALL, dxpl);
    CHECK(asked > 100 && asked % 2 == 0, "%d overflows", asked);
    (void)H5Dclose(a);
    (void)H5Dclose(b);
    (void)H5Sclose(space);
    (void)H5Pclose(dxpl);
    (void)H5Tclose(part);
    (void)H5Tclose(full);
}

/* A family of files, each of which our driver reads: places count in all of them together. */
static void test_family(const struct bkt_settings *set)
{
    hid_t fapl = must_id(H5Pcreate(H5P_FILE_ACCESS), "list"), member = must_id(H5Pcreate(H5P_FILE_ACCESS), "list");
    struct bkt_err err = {.n = 0};
    char name[120], url[140];
    hsize_t n = 30000;
    int *v = calloc(n, sizeof *v), *got = calloc(n, sizeof *got);
    REQUIRE(v && got, "memory");
    for (hsize_t i = 0; i < n; i++)
        v[i] = (int)i * 3;
    (void)snprintf(name, sizeof name, "%s/member%%d.h5", dir);
    (void)snprintf(url, sizeof url, "file://%s", name);
    must_do(H5Pset_fapl_family(fapl, 8192, H5P_DEFAULT), "family");
    hid_t file = must_id(H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl), name), space = must_id(H5Screate_simple(1, &n, NULL), "space");
    hid_t d = must_id(H5Dcreate2(file, "d", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "d");
    must_do(H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v), "H5Dwrite");
    (void)H5Dclose(d);
    (void)H5Fclose(file);
    must_do(bkt_vfd_set(member, url, set, &err), "driver");
    must_do(H5Pset_fapl_family(fapl, 8192, member), "family");
    file = must_id(H5Fopen(url, H5F_ACC_RDONLY, fapl), url);
    d = must_id(H5Dopen2(file, "d", H5P_DEFAULT), "d");
    struct bkt_vobj *o = plain_handle(d);
    CHECK(plain_read_by(o, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, got) == BKT_OK && memcmp(v, got, n * sizeof *v) == 0, "family");
    plain_handle_free(o);
    (void)H5Dclose(d);
    (void)H5Fclose(file);
    for (int i = 0; i < 20; i++) {
        (void)snprintf(name, sizeof name, "%s/member%d.h5", dir, i);
        (void)unlink(name);
    }
    free(v);
    free(got);
    (void)H5Sclose(space);
    (void)H5Pclose(member);
    (void)H5Pclose(fapl);
}

/* Raw files that a file on a server names are on that server, and never on this machine. */
static void test_external(const struct bkt_settings *set)
{
    static const struct {
        const char *raw, *want; /* want: NULL: refused */
    } cases[] = {{"part.raw", "56789abcdefghi"},
                 {"/part.raw", "56789abcdefghi"},
                 {"http://127.0.0.2:1/x.raw", NULL},
                 {"file:///etc/passwd", NULL},
                 {"/etc/passwd", NULL}}; /* on the server */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char got[15] = "";
        hsize_t n = 14;
        hid_t file = plain_new(path, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST), dcpl = must_id(H5Pcreate(H5P_DATASET_CREATE), "list");
        hid_t space = must_id(H5Screate_simple(1, &n, NULL), "space");
        must_do(H5Pset_external(dcpl, cases[i].raw, 5, H5F_UNLIMITED), "external");
        hid_t d = must_id(H5Dcreate2(file, "d", H5T_NATIVE_CHAR, space, H5P_DEFAULT, dcpl, H5P_DEFAULT), "d");
        (void)H5Dclose(d);
        (void)H5Fclose(file);
        file = must_id(plain_open(plain_serve(path), set), "open");
        d = must_id(H5Dopen2(file, "d", H5P_DEFAULT), "d");
        struct bkt_vobj *o = plain_handle(d);
        int rc = plain_read_by(o, H5T_NATIVE_CHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, got);
        CHECK(cases[i].want ? rc == BKT_OK && strcmp(got, cases[i].want) == 0 : rc < 0 && !*got, "%s: %d, \"%s\"", cases[i].raw, rc, got);
        plain_handle_free(o);
        (void)H5Dclose(d);
        (void)H5Fclose(file);
        (void)H5Sclose(space);
        (void)H5Pclose(dcpl);
    }
}

/* Two datasets in one call: their ranges are fetched together. */
static void test_multi(hid_t remote)
{
    hid_t full = full_type(), d[2], types[2] = {full, H5T_NATIVE_FLOAT}, all[2] = {H5S_ALL, H5S_ALL};
    struct full *rows = calloc(ROWS, sizeof *rows);
    float *numbers = calloc(ROWS, sizeof *numbers);
    void *bufs[2] = {rows, numbers};
    REQUIRE(rows && numbers, "memory");
    d[0] = must_id(H5Dopen2(remote, "table", H5P_DEFAULT), "table");
    d[1] = must_id(H5Dopen2(remote, "numbers", H5P_DEFAULT), "numbers");
    struct bkt_plain_counts before = bkt_plain_counts;
    CHECK(plain_read(2, d, types, all, all, H5P_DEFAULT, bufs) == BKT_OK, "both");
    CHECK(bkt_plain_counts.by_chunk == before.by_chunk + 2, "both by chunk");
    for (int i = 0; i < ROWS; i++)
        CHECK(rows[i].a == 3 * i && rows[i].d[0] == i && strcmp(rows[i].c, "text") == 0 && numbers[i] == (float)(i * 1000.5), "row %d", i);
    free(rows);
    free(numbers);
    (void)H5Dclose(d[0]);
    (void)H5Dclose(d[1]);
    (void)H5Tclose(full);
}

/* ---- strings whose heaps are larger than what is fetched at once ---- */

#define TEXTS 40000

static size_t text_length(size_t i) { return i % 97 == 0 ? 20000 + i % 5000 : i * 37 % 900; }

static char *text_of(size_t i)
{
    size_t n    = text_length(i);
    char  *text = i % 11 ? malloc(n + 1) : NULL;
    REQUIRE(text || i % 11 == 0, "memory");
    for (size_t k = 0; text && k < n; k++)
        text[k] = (char)('a' + (i + k) % 26);
    if (text)
        text[n] = 0;
    return text;
}

/* The later half is written first, and every second chunk of each half: neighbours lie far from each other. */
static void write_texts(void)
{
    hid_t file = plain_new(path, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST), type = must_id(H5Tcopy(H5T_C_S1), "type");
    hid_t dcpl = must_id(H5Pcreate(H5P_DATASET_CREATE), "list");
    hsize_t n = TEXTS, chunk = 1000;
    hid_t space = must_id(H5Screate_simple(1, &n, NULL), "space"), mem = must_id(H5Screate_simple(1, &chunk, NULL), "space");
    must_do(H5Tset_size(type, H5T_VARIABLE), "type");
    must_do(H5Pset_chunk(dcpl, 1, &chunk), "chunk");
    hid_t d = must_id(H5Dcreate2(file, "texts", type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT), "texts");
    for (hsize_t turn = 0; turn < TEXTS / chunk; turn++) {
        hsize_t at = (turn * 2 % (TEXTS / chunk) + turn * 2 / (TEXTS / chunk) + TEXTS / chunk / 2) % (TEXTS / chunk) * chunk;
        char *texts[1000];
        for (hsize_t i = 0; i < chunk; i++)
            texts[i] = text_of(at + i);
        must_do(H5Sselect_hyperslab(space, H5S_SELECT_SET, &at, NULL, &chunk, NULL), "slab");
        must_do(H5Dwrite(d, type, mem, space, H5P_DEFAULT, texts), "H5Dwrite");
        for (hsize_t i = 0; i < chunk; i++)
            free(texts[i]);
    }
    (void)H5Dclose(d);
    (void)H5Sclose(space);
    (void)H5Sclose(mem);
    (void)H5Pclose(dcpl);
    (void)H5Tclose(type);
    must_do(H5Fclose(file), "H5Fclose");
}

static void *counted_malloc(size_t n, void *count)
{
    ++*(int *)count;
    return malloc(n);
}

static void counted_free(void *p, void *count)
{
    *(int *)count -= p != NULL;
    free(p);
}

static void read_texts(hid_t d, hsize_t start, hsize_t stride, hid_t dxpl, unsigned most)
{
    hsize_t n = (TEXTS - start + stride - 1) / stride, wrong = 0;
    hid_t type = must_id(H5Dget_type(d), "type"), space = must_id(H5Dget_space(d), "space");
    hid_t mem = must_id(H5Screate_simple(1, &n, NULL), "space");
    must_do(H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, &stride, &n, NULL), "slab");
    char **got = calloc(n, sizeof *got);
    REQUIRE(got, "memory");
    struct bkt_vobj *o = plain_handle(d);
    struct bkt_plain_counts before = bkt_plain_counts;
    (void)plain_requests();
    CHECK(plain_read_by(o, type, mem, space, dxpl, got) == BKT_OK, "texts");
    unsigned requests = plain_requests();
    CHECK(requests <= most, "%u requests for texts from %u on", requests, (unsigned)start);
    CHECK(bkt_plain_counts.by_sequences == before.by_sequences + 1, "texts were read one by one");
    for (hsize_t i = 0; i < n; i++) {
        char *want = text_of(start + i * stride);
        wrong += want ? !got[i] || strcmp(want, got[i]) != 0 : got[i] && *got[i];
        free(want);
    }
    CHECK(wrong == 0, "%u wrong texts", (unsigned)wrong);
    must_do(H5Treclaim(type, mem, dxpl, got), "H5Treclaim");
    plain_handle_free(o);
    free(got);
    (void)H5Sclose(mem);
    (void)H5Sclose(space);
    (void)H5Tclose(type);
}

static void test_texts(const struct bkt_settings *set)
{
    int   held = 0;
    hid_t dxpl = must_id(H5Pcreate(H5P_DATASET_XFER), "list");
    must_do(H5Pset_vlen_mem_manager(dxpl, counted_malloc, &held, counted_free, &held), "functions");
    write_texts();
    for (int turn = 0; turn < 3; turn++) {
        hid_t file = must_id(plain_open(plain_serve(path), set), "open"), d = must_id(H5Dopen2(file, "texts", H5P_DEFAULT), "texts");
        read_texts(d, turn == 2 ? 7 : 0, turn == 2 ? 3 : 1, turn == 1 ? dxpl : H5P_DEFAULT, 150);
        CHECK(held == 0, "%d texts are still held", held);
        (void)H5Dclose(d);
        (void)H5Fclose(file);
    }
    (void)H5Pclose(dxpl);
}

int main(void)
{
    struct bkt_settings set;
    struct bkt_err err = {.n = 0};
    if (!mkdtemp(dir) || bkt_settings_init(&set, "test.hedge=0", &err) < 0)
        return 1;
    (void)snprintf(path, sizeof path, "%s/file.h5", dir);
    test_zoo(&set, "earliest", H5F_LIBVER_EARLIEST, 0);
    test_zoo(&set, "latest, user block", H5F_LIBVER_LATEST, 2048);
    test_texts(&set);
    test_family(&set);
    test_external(&set);
    write_tables();
    hid_t local = must_id(H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), path), remote = must_id(plain_open(plain_serve(path), &set), "open");
    test_conversions(local, remote);
    test_multi(remote);
    (void)H5Fclose(local);
    (void)H5Fclose(remote);
    CHECK(bkt_plain_counts.by_heaps > 100, "%llu reads of heaps", (unsigned long long)bkt_plain_counts.by_heaps);
    bkt_vfd_term();
    bkt_settings_fini(&set);
    bkt_store_shutdown();
    plain_serve_end();
    (void)unlink(path);
    (void)rmdir(dir);
    return failures != 0;
}
