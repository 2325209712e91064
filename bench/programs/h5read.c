/* h5read HOW FILE DATASET WHAT [NUMBER [NUMBER]]: one scenario of bench/run, by nothing but HDF5's public API.
 *
 *   HOW   bucket, native, ros3, paged (ROS3 with a page buffer of 64 MiB)
 *   WHAT  see the table at the end
 *
 * Prints a checksum, which shows that the ways of reading agree.  Prints the seconds of the reading itself,
 * without opening the file. */
#include <dirent.h>
#include <hdf5.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "seconds.h"

static uint64_t sum;
static hid_t    file;
static long     arg[2];
static hid_t    transfer = H5P_DEFAULT, number; /* the type of the values read */

static void die(const char *what)
{
    fprintf(stderr, "h5read: %s failed\n", what);
    exit(1);
}

/* Every step-th 32 bits of n: enough to notice a wrong chunk, too few to cost time. */
static void add(const void *data, size_t n, size_t step)
{
    uint32_t bits;
    for (size_t i = 0; i < n; i += step) {
        memcpy(&bits, (const char *)data + i * sizeof bits, sizeof bits);
        sum = sum * 1099511628211U + bits;
    }
}

static hid_t access_list(const char *how)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), connector;
    if (strcmp(how, "bucket") == 0) {
        connector = H5VLregister_connector_by_name("bucket", H5P_DEFAULT);
        if (connector < 0 || H5Pset_vol(fapl, connector, NULL) < 0)
            die("the connector");
        H5VLclose(connector);
    }
#ifdef H5_HAVE_ROS3_VFD
    if (strcmp(how, "ros3") == 0 || strcmp(how, "paged") == 0) {
        H5FD_ros3_fapl_t ros3 = {.version = H5FD_CURR_ROS3_FAPL_T_VERSION, .authenticate = 0};
        if (H5Pset_fapl_ros3(fapl, &ros3) < 0)
            die("ROS3");
        if (strcmp(how, "paged") == 0)
            H5Pset_page_buffer_size(fapl, (size_t)64 << 20, 0, 0);
    }
#endif
    return fapl;
}

struct field {
    hid_t    dset, space;
    int      rank;
    hsize_t  dims[H5S_MAX_RANK];
    size_t   n;
};

static struct field open_field(const char *name)
{
    struct field f = {.dset = H5Dopen2(file, name, H5P_DEFAULT)};
    if (f.dset < 0)
        die("H5Dopen");
    f.space = H5Dget_space(f.dset);
    f.rank  = H5Sget_simple_extent_dims(f.space, f.dims, NULL);
    f.n     = (size_t)H5Sget_simple_extent_npoints(f.space);
    return f;
}

static void close_field(struct field *f)
{
    H5Sclose(f->space);
    H5Dclose(f->dset);
}

static void read_into(const struct field *f, hid_t mem, hid_t space, void *data)
{
    if (H5Dread(f->dset, number, mem, space, transfer, data) < 0)
        die("H5Dread");
}

static void *room(size_t n)
{
    void *p = malloc(n * H5Tget_size(number));
    if (!p)
        die("malloc");
    return p;
}

/* The whole dataset; NUMBER times, the last of which is timed */
static double whole(const char *name)
{
    struct field f    = open_field(name);
    float       *data = room(f.n);
    double       t    = 0;
    for (long i = 0; i < (arg[0] ? arg[0] : 1); i++) {
        t = seconds();
        read_into(&f, H5S_ALL, H5S_ALL, data);
        t = seconds() - t;
    }
    add(data, f.n * H5Tget_size(number) / sizeof(uint32_t), 61);
    free(data);
    close_field(&f);
    return t;
}

/* The same through a data transform, which HDF5 does: no faster way leads around it */
static double transformed(const char *name)
{
    transfer = H5Pcreate(H5P_DATASET_XFER);
    if (H5Pset_data_transform(transfer, "1*x") < 0)
        die("H5Pset_data_transform");
    double t = whole(name);
    H5Pclose(transfer);
    return t;
}

/* The same as float64 */
static double doubled(const char *name)
{
    number = H5T_NATIVE_DOUBLE;
    return whole(name);
}

/* One value of it */
static double first(const char *name)
{
    double       t = seconds();
    struct field f = open_field(name);
    hsize_t      zero[H5S_MAX_RANK] = {0}, one = 1;
    float        value;
    hid_t        mem = H5Screate_simple(1, &one, NULL);
    H5Sselect_elements(f.space, H5S_SELECT_SET, 1, zero);
    read_into(&f, mem, f.space, &value);
    add(&value, 1, 1);
    H5Sclose(mem);
    close_field(&f);
    return seconds() - t;
}

/* One value of each chunk of NUMBER x NUMBER, one H5Dread */
static double strided(const char *name)
{
    struct field f = open_field(name);
    hsize_t      start[2] = {0, 0}, stride[2] = {(hsize_t)arg[0], (hsize_t)arg[1]}, count[2], n;
    for (int d = 0; d < 2; d++)
        count[d] = f.dims[d] / stride[d];
    n            = count[0] * count[1];
    float *data  = room(n);
    hid_t  mem   = H5Screate_simple(1, &n, NULL);
    H5Sselect_hyperslab(f.space, H5S_SELECT_SET, start, stride, count, NULL);
    double t = seconds();
    read_into(&f, mem, f.space, data);
    t = seconds() - t;
    add(data, n, 1);
    free(data);
    H5Sclose(mem);
    close_field(&f);
    return t;
}

#define POINTS 64
static void random_points(const struct field *f, hsize_t (*at)[2])
{
    uint32_t seed = 4711;
    for (int i = 0; i < POINTS; i++)
        for (int d = 0; d < 2; d++) {
            seed     = seed * 1664525U + 1013904223U;
            at[i][d] = (hsize_t)(((uint64_t)seed * f->dims[d]) >> 32);
        }
}

/* 64 points: an H5Dread each (0), one selection (1), H5Dread_multi (2) */
static double points(const char *name)
{
    struct field f = open_field(name);
    hsize_t      at[POINTS][2], n = arg[0] == 1 ? POINTS : 1;
    float        data[POINTS];
    hid_t        mem = H5Screate_simple(1, &n, NULL), dsets[POINTS], types[POINTS], mems[POINTS], spaces[POINTS];
    void        *to[POINTS];
    random_points(&f, at);
    for (int i = 0; i < POINTS; i++) {
        dsets[i]  = f.dset;
        types[i]  = H5T_NATIVE_FLOAT;
        mems[i]   = mem;
        spaces[i] = H5Scopy(f.space);
        to[i]     = &data[i];
        H5Sselect_elements(spaces[i], H5S_SELECT_SET, 1, at[i]);
    }
    H5Sselect_elements(f.space, H5S_SELECT_SET, POINTS, at[0]);
    double t = seconds();
    if (arg[0] == 1)
        read_into(&f, mem, f.space, data);
    else if (arg[0] == 2 && H5Dread_multi(POINTS, dsets, types, mems, spaces, H5P_DEFAULT, to) < 0)
        die("H5Dread_multi");
    for (int i = 0; arg[0] == 0 && i < POINTS; i++)
        read_into(&f, mem, spaces[i], &data[i]);
    t = seconds() - t;
    add(data, POINTS, 1);
    for (int i = 0; i < POINTS; i++)
        H5Sclose(spaces[i]);
    H5Sclose(mem);
    close_field(&f);
    return t;
}

/* Slabs of NUMBER rows one after the other, with NUMBER ms of work on each */
static double slabs(const char *name)
{
    struct field f        = open_field(name);
    hsize_t      start[2] = {0, 0}, count[2] = {(hsize_t)arg[0], f.dims[1]}, n = count[0] * count[1];
    float       *data     = room(n);
    hid_t        mem      = H5Screate_simple(1, &n, NULL);
    double       t        = seconds();
    for (; start[0] + count[0] <= f.dims[0]; start[0] += count[0]) {
        H5Sselect_hyperslab(f.space, H5S_SELECT_SET, start, NULL, count, NULL);
        read_into(&f, mem, f.space, data);
        add(data, n, 61);
        struct timespec work = {arg[1] / 1000, arg[1] % 1000 * 1000000};
        nanosleep(&work, NULL); /* leaves the two processors to client and server */
    }
    t = seconds() - t;
    free(data);
    H5Sclose(mem);
    close_field(&f);
    return t;
}

/* Members dNNNNN of the group, NUMBER of them: each opened, read, closed */
static double tiny(const char *name)
{
    double t = seconds();
    char   path[256];
    float  data[64];
    for (long i = 0; i < arg[0]; i++) {
        snprintf(path, sizeof path, "%s/d%05ld", name, i);
        struct field f = open_field(path);
        if (f.n > 64)
            die("a tiny dataset");
        read_into(&f, H5S_ALL, H5S_ALL, data);
        add(data, f.n, 1);
        close_field(&f);
    }
    return seconds() - t;
}

static herr_t attribute(hid_t o, const char *name, const H5A_info_t *info, void *ctx)
{
    char  buf[4096];
    hid_t a = H5Aopen(o, name, H5P_DEFAULT), type = H5Aget_type(a), space = H5Aget_space(a);
    (void)info, (void)ctx;
    if (H5Tget_size(type) * (size_t)H5Sget_simple_extent_npoints(space) > sizeof buf || H5Aread(a, type, buf) < 0)
        die("an attribute");
    for (size_t i = 0; i < H5Tget_size(type); i++)
        sum = sum * 1099511628211U + (unsigned char)buf[i];
    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(a);
    return 0;
}

static herr_t variable(hid_t group, const char *name, const H5L_info2_t *info, void *ctx)
{
    hid_t o = H5Oopen(group, name, H5P_DEFAULT);
    (void)info, (void)ctx;
    if (o < 0 || H5Aiterate2(o, H5_INDEX_NAME, H5_ITER_INC, NULL, attribute, NULL) < 0)
        die("a variable");
    H5Oclose(o);
    return 0;
}

/* The same reads as ncdump -h: members of the root and all their attributes */
static double header(const char *name)
{
    double t = seconds();
    (void)name;
    if (H5Literate2(file, H5_INDEX_NAME, H5_ITER_INC, NULL, variable, NULL) < 0)
        die("H5Literate");
    return seconds() - t;
}

/* The place of chunk (NUMBER, NUMBER) */
static double lookup(const char *name)
{
    struct field f     = open_field(name);
    hsize_t      at[2] = {(hsize_t)arg[0], (hsize_t)arg[1]}, size = 0;
    unsigned     mask;
    haddr_t      addr = 0;
    double       t    = seconds();
    if (H5Dget_chunk_info_by_coord(f.dset, at, &mask, &addr, &size) < 0)
        die("H5Dget_chunk_info_by_coord");
    t   = seconds() - t;
    sum = addr * 31 + size;
    close_field(&f);
    return t;
}

/* One value, of chunk (NUMBER, NUMBER) */
static double at(const char *name)
{
    struct field f        = open_field(name);
    hsize_t      place[2] = {(hsize_t)arg[0], (hsize_t)arg[1]}, one = 1;
    float        value;
    hid_t        mem = H5Screate_simple(1, &one, NULL);
    H5Sselect_elements(f.space, H5S_SELECT_SET, 1, place);
    double t = seconds();
    read_into(&f, mem, f.space, &value);
    t = seconds() - t;
    add(&value, 1, 1);
    H5Sclose(mem);
    close_field(&f);
    return t;
}

static void add_texts(char **texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (const char *p = texts[i]; *p; p++)
            sum = sum * 1099511628211U + (unsigned char)*p;
}

/* All strings of the dataset, which may have a fixed length. */
static double strings(const char *name)
{
    struct field f = open_field(name);
    number         = H5Dget_type(f.dset);
    void  *data    = room(f.n);
    double t       = seconds();
    read_into(&f, H5S_ALL, H5S_ALL, data);
    t = seconds() - t;
    if (H5Tis_variable_str(number) > 0) {
        add_texts(data, f.n);
        H5Dvlen_reclaim(number, f.space, H5P_DEFAULT, data);
    } else
        add(data, f.n * H5Tget_size(number) / sizeof(uint32_t), 1);
    free(data);
    H5Tclose(number);
    close_field(&f);
    return t;
}

/* The most memory that the process ever had. wait4() reports more to a parent: the count begins with the
 * parent's own at the fork. */
static void print_peak(void)
{
    char  line[200];
    long  kib = 0;
    FILE *f   = fopen("/proc/self/status", "r");
    while (f && !kib && fgets(line, sizeof line, f))
        if (strncmp(line, "VmHWM:", 6) == 0)
            kib = strtol(line + 6, NULL, 10);
    if (f)
        fclose(f);
    fprintf(stderr, "peak %ld KiB\n", kib);
}

static void first_line(const char *folder, const char *name, char *line, int n)
{
    char path[300];
    snprintf(path, sizeof path, "/proc/self/task/%.20s/%s", folder, name);
    FILE *f = fopen(path, "r");
    if (!f || !fgets(line, n, f))
        *line = 0;
    if (f)
        fclose(f);
    line[strcspn(line, "\n")] = 0;
}

/* Name and processor time, in seconds, of each thread (proc(5), schedstat). */
static void print_threads(void)
{
    struct dirent *e;
    DIR           *d = opendir("/proc/self/task");
    while (d && (e = readdir(d))) {
        char name[40], ns[60];
        if (e->d_name[0] == '.')
            continue;
        first_line(e->d_name, "comm", name, sizeof name);
        first_line(e->d_name, "schedstat", ns, sizeof ns);
        fprintf(stderr, "thread %s %.6f\n", name, (double)strtoull(ns, NULL, 10) / 1e9);
    }
    if (d)
        closedir(d);
}

static const struct {
    const char *name;
    double (*run)(const char *dataset);
} modes[] = {
    {"whole", whole}, {"first", first}, {"strided", strided}, {"points", points}, {"slabs", slabs},
    {"tiny", tiny}, {"header", header}, {"lookup", lookup}, {"at", at}, {"transformed", transformed}, {"doubled", doubled},
    {"strings", strings},
};

int main(int argc, char **argv)
{
    if (argc < 5)
        return fprintf(stderr, "usage: h5read HOW FILE DATASET WHAT [NUMBER [NUMBER]]\n"), 2;
    for (int i = 5; i < argc && i < 7; i++)
        arg[i - 5] = strtol(argv[i], NULL, 10);
    number     = H5T_NATIVE_FLOAT;
    hid_t fapl = access_list(argv[1]);
    file       = H5Fopen(argv[2], H5F_ACC_RDONLY, fapl);
    if (file < 0)
        die("H5Fopen");
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strcmp(modes[i].name, argv[4]) == 0) {
            double t = modes[i].run(argv[3]);
            printf("%016" PRIx64 " %.6f\n", sum, t);
            if (getenv("H5READ_THREADS"))
                print_threads();
            H5Fclose(file);
            H5Pclose(fapl);
            if (getenv("H5READ_PEAK"))
                print_peak();
            return 0;
        }
    return fprintf(stderr, "h5read: no scenario %s\n", argv[4]), 2;
}
