/* select DIR [MIB [CASE]]: the cost of conversions and odd selections, through the connector and in a native
 * file.
 *
 * The same datasets are written to DIR/native.h5 and to the domain DIR/bucket/domain.h5, then each case reads
 * both in turns, opened again each time, from the page cache.  Prints the processor time of each, the best of
 * three, and the ratio.  Exits with 1 if the values read differ, or a ratio is over 1.5. */
#include <errno.h>
#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#define SIDE   512 /* chunks are SIDE x SIDE */
#define ACROSS 8   /* of them side by side */
#define COLS   (SIDE * ACROSS)
#define POINTS 1000000
#define ROUNDS 3
#define LIMIT  1.5

static hsize_t rows;

static void die(const char *what)
{
    fprintf(stderr, "select: %s failed\n", what);
    exit(2);
}

static hid_t must(hid_t id, const char *what)
{
    if (id < 0)
        die(what);
    return id;
}

static uint32_t seed;

static uint32_t noise(void)
{
    uint32_t x = seed;
    x ^= x << 13, x ^= x >> 17, x ^= x << 5;
    return seed = x;
}

/* ---- types ---- */

struct record { /* without gaps, which are not the same for both */
    double  value;
    int32_t id;
    float   x, y;
    int16_t flag, other;
};

static hid_t record_type(void)
{
    hid_t t = H5Tcreate(H5T_COMPOUND, sizeof(struct record));
    H5Tinsert(t, "id", offsetof(struct record, id), H5T_NATIVE_INT32);
    H5Tinsert(t, "x", offsetof(struct record, x), H5T_NATIVE_FLOAT);
    H5Tinsert(t, "y", offsetof(struct record, y), H5T_NATIVE_FLOAT);
    H5Tinsert(t, "value", offsetof(struct record, value), H5T_NATIVE_DOUBLE);
    H5Tinsert(t, "flag", offsetof(struct record, flag), H5T_NATIVE_INT16);
    H5Tinsert(t, "other", offsetof(struct record, other), H5T_NATIVE_INT16);
    return t;
}

static hid_t value_only(void)
{
    hid_t t = H5Tcreate(H5T_COMPOUND, sizeof(double));
    H5Tinsert(t, "value", 0, H5T_NATIVE_DOUBLE);
    return t;
}

static hid_t two_fields(void)
{
    hid_t t = H5Tcreate(H5T_COMPOUND, 16);
    H5Tinsert(t, "value", 0, H5T_NATIVE_DOUBLE);
    H5Tinsert(t, "x", 8, H5T_NATIVE_DOUBLE);
    return t;
}

static hid_t f32(void) { return H5Tcopy(H5T_NATIVE_FLOAT); }
static hid_t f64(void) { return H5Tcopy(H5T_NATIVE_DOUBLE); }
static hid_t i16(void) { return H5Tcopy(H5T_NATIVE_INT16); }
static hid_t i32(void) { return H5Tcopy(H5T_NATIVE_INT32); }
static hid_t i64(void) { return H5Tcopy(H5T_NATIVE_INT64); }
static hid_t f32be(void) { return H5Tcopy(H5T_IEEE_F32BE); }
static hid_t i16be(void) { return H5Tcopy(H5T_STD_I16BE); }

static hid_t string12(void)
{
    hid_t t = H5Tcopy(H5T_C_S1);
    H5Tset_size(t, 12);
    return t;
}

static hid_t string16(void)
{
    hid_t t = H5Tcopy(H5T_C_S1);
    H5Tset_size(t, 16);
    return t;
}

static hid_t vlen_string(void)
{
    hid_t t = H5Tcopy(H5T_C_S1);
    H5Tset_size(t, H5T_VARIABLE);
    return t;
}

static hid_t triple(void)
{
    hsize_t three = 3;
    return H5Tarray_create2(H5T_NATIVE_FLOAT, 1, &three);
}

static hid_t triple_f64(void)
{
    hsize_t three = 3;
    return H5Tarray_create2(H5T_NATIVE_DOUBLE, 1, &three);
}

/* ---- the data ---- */

static void fill_f32(void *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((float *)p)[i] = (float)(noise() >> 12) / 64;
}

static void fill_f64(void *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((double *)p)[i] = (double)(noise() >> 12) / 64;
}

static void fill_i16(void *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((int16_t *)p)[i] = (int16_t)noise();
}

static void fill_i32(void *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((int32_t *)p)[i] = (int32_t)noise();
}

static void fill_record(void *p, size_t n)
{
    memset(p, 0, n * sizeof(struct record));
    for (size_t i = 0; i < n; i++)
        ((struct record *)p)[i] = (struct record){(double)noise() / 3, (int32_t)i, (float)(noise() >> 20), 2, (int16_t)i, 7};
}

static void fill_string(void *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        snprintf((char *)p + i * 12, 12, "s%u", noise() >> 8);
}

static void fill_triple(void *p, size_t n) { fill_f32(p, 3 * n); }

static void fill_vlen(void *p, size_t n)
{
    static char text[256][24];
    for (size_t i = 0; i < 256; i++)
        snprintf(text[i], sizeof text[i], "%.*s", (int)(noise() >> 28), "abcdefghijklmnopqrstuvw");
    for (size_t i = 0; i < n; i++)
        ((char **)p)[i] = text[noise() >> 24];
}

static const struct dataset {
    const char *name;
    hid_t (*stored)(void), (*given)(void); /* types in the file, and of the values from fill */
    void (*fill)(void *p, size_t n);
    int share; /* of the rows, 1/share */
} datasets[] = {
    {"f32", f32, f32, fill_f32, 1},          {"f64", f64, f64, fill_f64, 2},
    {"i16", i16, i16, fill_i16, 2},          {"i32", i32, i32, fill_i32, 1},
    {"f32be", f32be, f32, fill_f32, 1},      {"i16be", i16be, i16, fill_i16, 2},
    {"record", record_type, record_type, fill_record, 8}, {"string", string12, string12, fill_string, 8},
    {"triple", triple, triple, fill_triple, 4}, {"vlen", vlen_string, vlen_string, fill_vlen, 16},
};
#define N_DATASETS (sizeof datasets / sizeof *datasets)

static hsize_t rows_of(const struct dataset *d) { return rows / (hsize_t)d->share < SIDE ? SIDE : rows / (hsize_t)d->share / SIDE * SIDE; }

static void make_one(hid_t file, const struct dataset *d)
{
    const hsize_t dims[2] = {rows_of(d), COLS}, chunk[2] = {SIDE, SIDE}, slab[2] = {SIDE, COLS};
    hid_t         type = d->stored(), given = d->given(), space = H5Screate_simple(2, dims, NULL);
    hid_t         mem = H5Screate_simple(2, slab, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    size_t        n   = SIDE * COLS;
    void         *buf = malloc(n * H5Tget_size(given));
    H5Pset_chunk(dcpl, 2, chunk);
    hid_t dset = must(H5Dcreate2(file, d->name, type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT), "H5Dcreate");
    for (hsize_t at = 0; at < dims[0]; at += SIDE) {
        const hsize_t start[2] = {at, 0};
        d->fill(buf, n);
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, slab, NULL);
        if (H5Dwrite(dset, given, mem, space, H5P_DEFAULT, buf) < 0)
            die("H5Dwrite");
    }
    free(buf);
    H5Dclose(dset);
    H5Pclose(dcpl);
    H5Sclose(mem);
    H5Sclose(space);
    H5Tclose(given);
    H5Tclose(type);
}

static hid_t access_list(bool bucket)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    if (bucket) {
        hid_t connector = must(H5VLregister_connector_by_name("bucket", H5P_DEFAULT), "the connector");
        H5Pset_vol(fapl, connector, NULL);
        H5VLclose(connector);
    }
    return fapl;
}

/* The same data for both: the noise begins again. */
static void make(const char *name, bool bucket)
{
    struct stat sb;
    char        done[4096];
    snprintf(done, sizeof done, "%s.made.%llu", name, (unsigned long long)rows);
    if (stat(done, &sb) == 0)
        return;
    seed       = 2463534242U;
    hid_t fapl = access_list(bucket), file = must(H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl), "H5Fcreate");
    for (size_t i = 0; i < N_DATASETS; i++)
        make_one(file, &datasets[i]);
    if (H5Fclose(file) < 0)
        die("H5Fclose");
    H5Pclose(fapl);
    FILE *f = fopen(done, "w");
    if (!f || fclose(f))
        die(done);
}

/* ---- selections: in the file's dataspace and in memory's, which each makes ---- */

typedef hid_t select_fn(hid_t space, const hsize_t *dims);

static hid_t flat(hid_t space)
{
    hsize_t n = (hsize_t)H5Sget_select_npoints(space);
    return H5Screate_simple(1, &n, NULL);
}

static hid_t everything(hid_t space, const hsize_t *dims)
{
    (void)space;
    return H5Screate_simple(2, dims, NULL);
}

/* Memory of the selection's shape: native HDF5 is slow where it differs. */
static hid_t slab_of(hid_t space, const hsize_t *start, const hsize_t *stride, const hsize_t *count, const hsize_t *block)
{
    const hsize_t shape[2] = {count[0] * (block ? block[0] : 1), count[1] * (block ? block[1] : 1)};
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, block);
    return H5Screate_simple(2, shape, NULL);
}

static hid_t every_second(hid_t space, const hsize_t *dims)
{
    const hsize_t start[2] = {0, 1}, stride[2] = {2, 2}, count[2] = {dims[0] / 2, dims[1] / 2};
    return slab_of(space, start, stride, count, NULL);
}

static hid_t into_a_row(hid_t space, const hsize_t *dims)
{
    (void)dims;
    return flat(space);
}

static hid_t every_second_column(hid_t space, const hsize_t *dims)
{
    const hsize_t start[2] = {0, 1}, stride[2] = {1, 2}, count[2] = {dims[0], dims[1] / 2};
    return slab_of(space, start, stride, count, NULL);
}

static hid_t two_of_three(hid_t space, const hsize_t *dims)
{
    const hsize_t start[2] = {0, 0}, stride[2] = {3, 3}, count[2] = {dims[0] / 3, dims[1] / 3}, block[2] = {2, 2};
    return slab_of(space, start, stride, count, block);
}

static hid_t narrow_columns(hid_t space, const hsize_t *dims)
{
    const hsize_t start[2] = {0, 0}, stride[2] = {1, 64}, count[2] = {dims[0], dims[1] / 64};
    return slab_of(space, start, stride, count, NULL);
}

static hid_t off_the_chunks(hid_t space, const hsize_t *dims)
{
    const hsize_t start[2] = {1, 1}, count[2] = {dims[0] - 2, dims[1] - 2};
    return slab_of(space, start, NULL, count, NULL);
}

/* One row of chunks, into every second place of memory */
static hid_t spread_in_memory(hid_t space, const hsize_t *dims)
{
    const hsize_t mdims[2] = {SIDE, 2 * dims[1]}, start[2] = {0, 1}, zero[2] = {0, 0}, stride[2] = {1, 2}, count[2] = {SIDE, dims[1]};
    hid_t         mem = H5Screate_simple(2, mdims, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, zero, NULL, count, NULL);
    H5Sselect_hyperslab(mem, H5S_SELECT_SET, start, stride, count, NULL);
    return mem;
}

/* A box with borders left free around it in memory */
static hid_t framed_in_memory(hid_t space, const hsize_t *dims)
{
    (void)space;
    const hsize_t mdims[2] = {dims[0] + 2, dims[1] + 2}, start[2] = {1, 1};
    hid_t         mem = H5Screate_simple(2, mdims, NULL);
    H5Sselect_hyperslab(mem, H5S_SELECT_SET, start, NULL, dims, NULL);
    return mem;
}

static int by_place(const void *a, const void *b)
{
    const hsize_t *x = a, *y = b;
    return x[0] != y[0] ? (x[0] < y[0] ? -1 : 1) : (x[1] > y[1]) - (x[1] < y[1]);
}

static hid_t points_of(hid_t space, const hsize_t *dims, bool sorted)
{
    hsize_t(*at)[2] = malloc(POINTS * sizeof *at);
    uint64_t x      = 4711;
    for (size_t i = 0; i < POINTS; i++)
        for (int d = 0; d < 2; d++) {
            x        = x * 6364136223846793005U + 1442695040888963407U;
            at[i][d] = (x >> 33) % dims[d];
        }
    if (sorted)
        qsort(at, POINTS, sizeof *at, by_place);
    H5Sselect_elements(space, H5S_SELECT_SET, POINTS, at[0]);
    free(at);
    return flat(space);
}

static hid_t points(hid_t space, const hsize_t *dims) { return points_of(space, dims, false); }
static hid_t sorted_points(hid_t space, const hsize_t *dims) { return points_of(space, dims, true); }

static hid_t union_of_boxes(hid_t space, const hsize_t *dims)
{
    H5Sselect_none(space);
    for (hsize_t i = 0; i < 200; i++) {
        const hsize_t start[2] = {i * 7919 % (dims[0] - 40), i * 104729 % (dims[1] - 40)}, count[2] = {40, 40};
        H5Sselect_hyperslab(space, H5S_SELECT_OR, start, NULL, count, NULL);
    }
    return flat(space);
}

/* ---- the cases ---- */

static const struct test {
    const char *what, *dataset;
    hid_t (*type)(void);
    select_fn *select;
    unsigned   each; /* not 0: that many H5Dreads of a small box each */
} tests[] = {
    {"float32, as it is stored", "f32", f32, everything, 0},
    {"float32, into one dimension", "f32", f32, into_a_row, 0},
    {"float32 as float64", "f32", f64, everything, 0},
    {"float64 as float32", "f64", f32, everything, 0},
    {"int16 as float32", "i16", f32, everything, 0},
    {"int32 as int64", "i32", i64, everything, 0},
    {"int32 as int16 (clipped)", "i32", i16, everything, 0},
    {"float32 as int32", "f32", i32, everything, 0},
    {"big-endian float32", "f32be", f32, everything, 0},
    {"big-endian float32 as float64", "f32be", f64, everything, 0},
    {"big-endian int16", "i16be", i16, everything, 0},
    {"compound, as it is stored", "record", record_type, everything, 0},
    {"one field of a compound", "record", value_only, everything, 0},
    {"two fields, one converted", "record", two_fields, everything, 0},
    {"strings of 12 as of 16", "string", string16, everything, 0},
    {"arrays of 3 float32 as float64", "triple", triple_f64, everything, 0},
    {"variable-length strings", "vlen", vlen_string, everything, 0},
    {"every second element of both", "f32", f32, every_second, 0},
    {"every second column", "f32", f32, every_second_column, 0},
    {"2 x 2 of every 3 x 3", "f32", f32, two_of_three, 0},
    {"every 64th column", "f32", f32, narrow_columns, 0},
    {"a box that chunks don't fit", "f32", f32, off_the_chunks, 0},
    {"every second element, as float64", "f32", f64, every_second, 0},
    {"to every second place in memory", "f32", f32, spread_in_memory, 0},
    {"into a frame in memory", "f32", f32, framed_in_memory, 0},
    {"into a frame, as float64", "f32", f64, framed_in_memory, 0},
    {"1,000,000 points in any order", "f32", f32, points, 0},
    {"1,000,000 points in order", "f32", f32, sorted_points, 0},
    {"a union of 200 boxes", "f32", f32, union_of_boxes, 0},
    {"20,000 boxes of 8 x 8, one by one", "f32", f32, NULL, 20000},
};

struct taken {
    double cpu, wall;
};

static struct taken now(void)
{
    struct rusage   u;
    struct timespec t;
    getrusage(RUSAGE_SELF, &u);
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (struct taken){(double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6,
                          (double)t.tv_sec + (double)t.tv_nsec / 1e9};
}

static void one_by_one(const struct test *t, hid_t dset, hid_t type, hid_t space, const hsize_t *dims, unsigned char *buf)
{
    const hsize_t count[2] = {8, 8};
    hid_t         mem      = H5Screate_simple(2, count, NULL);
    for (unsigned i = 0; i < t->each; i++) { /* walks over a chunk before it goes to the next */
        const hsize_t chunk = i / 1000, in = i % 1000, side = SIDE / 8;
        const hsize_t start[2] = {chunk / ACROSS % (dims[0] / SIDE) * SIDE + in / side * 8, chunk % ACROSS * SIDE + in % side * 8};
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
        if (H5Dread(dset, type, mem, space, H5P_DEFAULT, buf + (size_t)i * 64 * sizeof(float)) < 0)
            die(t->what);
    }
    H5Sclose(mem);
}

/* The read; *buf gets the elements, *size their bytes. */
static struct taken run(const struct test *t, const char *name, bool bucket, void **buf, size_t *size)
{
    hid_t   fapl = access_list(bucket), file = must(H5Fopen(name, H5F_ACC_RDONLY, fapl), "H5Fopen");
    hid_t   dset = must(H5Dopen2(file, t->dataset, H5P_DEFAULT), "H5Dopen"), space = H5Dget_space(dset), type = t->type();
    hsize_t dims[2];
    H5Sget_simple_extent_dims(space, dims, NULL);
    hid_t mem = t->select ? t->select(space, dims) : H5Screate(H5S_SCALAR);
    *size     = t->select ? (size_t)H5Sget_simple_extent_npoints(mem) * H5Tget_size(type) : (size_t)t->each * 64 * sizeof(float);
    *buf      = calloc(1, *size);
    memset(*buf, 1, *size); /* faults of its pages are not to be measured */
    struct taken a = now();
    if (!t->select)
        one_by_one(t, dset, type, space, dims, *buf);
    else if (H5Dread(dset, type, mem, space, H5P_DEFAULT, *buf) < 0)
        die(t->what);
    struct taken b = now();
    H5Sclose(mem);
    H5Sclose(space);
    H5Dclose(dset);
    H5Fclose(file);
    H5Pclose(fapl);
    H5Tclose(type);
    return (struct taken){b.cpu - a.cpu, b.wall - a.wall};
}

static bool same(const struct test *t, void *const *buf, size_t size)
{
    if (t->type != vlen_string)
        return memcmp(buf[0], buf[1], size) == 0;
    for (size_t i = 0; i < size / sizeof(char *); i++)
        if (strcmp(((char **)buf[0])[i], ((char **)buf[1])[i]) != 0)
            return false;
    return true;
}

static void give_back(const struct test *t, void *buf, size_t size)
{
    if (t->type == vlen_string)
        for (size_t i = 0; i < size / sizeof(char *); i++)
            H5free_memory(((char **)buf)[i]);
    free(buf);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return fprintf(stderr, "usage: select DIR [MIB [CASE]]\n"), 2;
    char names[2][4096];
    rows = (hsize_t)(argc > 2 ? strtoul(argv[2], NULL, 10) : 64) * 1048576 / (COLS * 4) / SIDE * SIDE;
    if (!rows)
        return fprintf(stderr, "select: %d MiB at least\n", SIDE * COLS * 4 >> 20), 2;
    snprintf(names[0], sizeof names[0], "%s/bucket", argv[1]);
    if ((mkdir(argv[1], 0777) < 0 && errno != EEXIST) || (mkdir(names[0], 0777) < 0 && errno != EEXIST))
        die(argv[1]);
    snprintf(names[0], sizeof names[0], "%s/native.h5", argv[1]);
    snprintf(names[1], sizeof names[1], "%s/bucket/domain.h5", argv[1]);
    make(names[0], false);
    make(names[1], true);
    printf("| read | native CPU s | vol-bucket CPU s | ratio | native wall s | vol-bucket wall s |\n|---|---:|---:|---:|---:|---:|\n");
    bool good = true;
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        const struct test *t       = &tests[i];
        struct taken       best[2] = {{1e9, 1e9}, {1e9, 1e9}};
        if (argc > 3 && !strstr(t->what, argv[3]))
            continue;
        for (int round = 0; round < ROUNDS; round++) {
            void  *buf[2];
            size_t size = 0;
            for (int k = 0; k < 2; k++) {
                struct taken x = run(t, names[k], k, &buf[k], &size);
                best[k].cpu    = x.cpu < best[k].cpu ? x.cpu : best[k].cpu;
                best[k].wall   = x.wall < best[k].wall ? x.wall : best[k].wall;
            }
            if (!same(t, buf, size)) {
                printf("%s: they differ\n", t->what);
                good = false;
            }
            give_back(t, buf[0], size);
            give_back(t, buf[1], size);
        }
        double ratio = best[1].cpu / (best[0].cpu > 0.001 ? best[0].cpu : 0.001);
        printf("| %s | %.3f | %.3f | %s%.2f%s | %.3f | %.3f |\n", t->what, best[0].cpu, best[1].cpu, ratio > LIMIT ? "**" : "", ratio,
               ratio > LIMIT ? "**" : "", best[0].wall, best[1].wall);
        fflush(stdout);
        good &= ratio <= LIMIT;
    }
    return good ? 0 : 1;
}
