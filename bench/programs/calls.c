/* calls WHAT FILE [NUMBER...]: small programs that write or read by nothing but HDF5's public API, for
 * measuring a number in the sources again; README.md has examples; the table at the end lists the programs.
 * Data are float32, except strings.
 *
 * Prints the number of calls, and the seconds that they and closing the file took, without opening it. */
#include <hdf5.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "seconds.h"

#define KIB_FLOATS ((hsize_t)256) /* in 1 KiB */
#define MOST       4              /* numbers on the command line */

static hsize_t arg[MOST];
static hid_t   file;

static hid_t must(int64_t ok, const char *what)
{
    if (ok >= 0)
        return (hid_t)ok;
    fprintf(stderr, "calls: %s failed\n", what);
    exit(1);
}
#define MUST(call) must((int64_t)(call), #call)

static void *room(size_t n, size_t size)
{
    void *p = calloc(n, size);
    if (!p)
        must(-1, "memory");
    return p;
}

/* Nothing that a compressor, or a page of zeros, would make small. */
static uint32_t next_number(void)
{
    static uint32_t state = 1;
    return state = state * 1664525U + 1013904223U;
}

static float *noise(size_t n)
{
    float *v = room(n, sizeof *v);
    for (size_t i = 0; i < n; i++)
        v[i] = (float)next_number();
    return v;
}

static const char *name_of(char letter, hsize_t i)
{
    static char name[24];
    snprintf(name, sizeof name, "g/%c%06llu", letter, (unsigned long long)i);
    return name;
}

static hid_t line(hsize_t n) { return MUST(H5Screate_simple(1, &n, NULL)); }

static hid_t new_dataset(const char *name, hid_t type, hsize_t n, hsize_t chunk)
{
    hid_t dcpl = MUST(H5Pcreate(H5P_DATASET_CREATE));
    if (chunk)
        MUST(H5Pset_chunk(dcpl, 1, &chunk));
    return MUST(H5Dcreate2(file, name, type, line(n), H5P_DEFAULT, dcpl, H5P_DEFAULT));
}

static hsize_t size_of(hid_t d) { return (hsize_t)MUST(H5Sget_simple_extent_npoints(MUST(H5Dget_space(d)))); }

/* n elements from `at` on, by one call. */
static void move(hid_t d, hid_t type, hsize_t at, hsize_t n, void *v, int writes)
{
    hid_t space = MUST(H5Dget_space(d)), memory = line(n);
    MUST(H5Sselect_hyperslab(space, H5S_SELECT_SET, &at, NULL, &n, NULL));
    MUST(writes ? H5Dwrite(d, type, memory, space, H5P_DEFAULT, v) : H5Dread(d, type, memory, space, H5P_DEFAULT, v));
    H5Sclose(space);
    H5Sclose(memory);
}

/* ---- one dataset ---- */

/* MIB CHUNK_KIB STEP_KIB */
static hsize_t write_steps(void)
{
    hsize_t n = arg[0] * 1024 * KIB_FLOATS, step = arg[2] * KIB_FLOATS, calls = 0;
    hid_t   d = new_dataset("d", H5T_NATIVE_FLOAT, n, arg[1] * KIB_FLOATS);
    float  *v = noise(step);
    for (hsize_t at = 0; at + step <= n; at += step, calls++)
        move(d, H5T_NATIVE_FLOAT, at, step, v, 1);
    return calls;
}

/* MIB CHUNK_KIB PIECE_KIB CALLS: at random */
static hsize_t write_random(void)
{
    hsize_t n = arg[0] * 1024 * KIB_FLOATS, piece = arg[2] * KIB_FLOATS;
    hid_t   d = new_dataset("d", H5T_NATIVE_FLOAT, n, arg[1] * KIB_FLOATS);
    float  *v = noise(piece);
    for (hsize_t i = 0; i < arg[3]; i++)
        move(d, H5T_NATIVE_FLOAT, next_number() % (n / piece) * piece, piece, v, 1);
    return arg[3];
}

/* STEP_KIB MS: all of it in order, with so many ms of work after each step */
static hsize_t read_steps(void)
{
    hid_t           d    = MUST(H5Dopen2(file, "d", H5P_DEFAULT));
    hsize_t         step = arg[0] * KIB_FLOATS, n = size_of(d), calls = 0;
    float          *v    = room(step, sizeof *v);
    struct timespec work = {(time_t)(arg[1] / 1000), (long)(arg[1] % 1000) * 1000000};
    for (hsize_t at = 0; at + step <= n; at += step, calls++) {
        move(d, H5T_NATIVE_FLOAT, at, step, v, 0);
        nanosleep(&work, NULL);
    }
    return calls;
}

/* CHUNK_KIB COUNT STRIDE: so many elements of each chunk, by one call */
static hsize_t read_some(void)
{
    hid_t   d     = MUST(H5Dopen2(file, "d", H5P_DEFAULT)), space = MUST(H5Dget_space(d));
    hsize_t chunk = arg[0] * KIB_FLOATS, n = size_of(d), total = 0;
    MUST(H5Sselect_none(space));
    for (hsize_t at = 0; at < n; at += chunk, total += arg[1])
        MUST(H5Sselect_hyperslab(space, H5S_SELECT_OR, &at, &arg[2], &arg[1], NULL));
    MUST(H5Dread(d, H5T_NATIVE_FLOAT, line(total), space, H5P_DEFAULT, room(total, sizeof(float))));
    return 1;
}

/* ---- strings ---- */

static hid_t string_type(void)
{
    hid_t t = MUST(H5Tcopy(H5T_C_S1));
    MUST(H5Tset_size(t, H5T_VARIABLE));
    return t;
}

/* COUNT LENGTH: by one call */
static hsize_t write_strings(void)
{
    hid_t  t = string_type(), d = new_dataset("d", t, arg[0], 0);
    char **v = room(arg[0], sizeof *v);
    for (hsize_t i = 0; i < arg[0]; i++) {
        v[i] = room(arg[1] + 1, 1);
        memset(v[i], 'a' + (int)(i % 26), arg[1]);
    }
    move(d, t, 0, arg[0], v, 1);
    return 1;
}

static hsize_t read_strings(void)
{
    hid_t   d = MUST(H5Dopen2(file, "d", H5P_DEFAULT));
    hsize_t n = size_of(d);
    move(d, string_type(), 0, n, room(n, sizeof(char *)), 0);
    return 1;
}

/* ---- many objects ---- */

/* COUNT */
static hsize_t make_groups(void)
{
    H5Gclose(MUST(H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)));
    for (hsize_t i = 0; i < arg[0]; i++)
        H5Gclose(MUST(H5Gcreate2(file, name_of('g', i), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)));
    return arg[0];
}

/* COUNT: a link in each of the groups */
static hsize_t link_groups(void)
{
    for (hsize_t i = 0; i < arg[0]; i++) {
        hid_t g = MUST(H5Gopen2(file, name_of('g', i), H5P_DEFAULT));
        MUST(H5Lcreate_soft("/g", g, "link", H5P_DEFAULT, H5P_DEFAULT));
        H5Gclose(g);
    }
    return arg[0];
}

/* COUNT ELEMENTS */
static hsize_t write_datasets(void)
{
    float *v = noise(arg[1]);
    H5Gclose(MUST(H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)));
    for (hsize_t i = 0; i < arg[0]; i++) {
        hid_t d = new_dataset(name_of('d', i), H5T_NATIVE_FLOAT, arg[1], 0);
        move(d, H5T_NATIVE_FLOAT, 0, arg[1], v, 1);
        H5Dclose(d);
    }
    return arg[0];
}

/* COUNT ELEMENTS: the first so many of each dataset, in order */
static hsize_t read_datasets(void)
{
    float *v = room(arg[1], sizeof *v);
    for (hsize_t i = 0; i < arg[0]; i++) {
        hid_t d = MUST(H5Dopen2(file, name_of('d', i), H5P_DEFAULT));
        move(d, H5T_NATIVE_FLOAT, 0, arg[1], v, 0);
        H5Dclose(d);
    }
    return arg[0];
}

/* COUNT ELEMENTS WRITTEN: of the root; WRITTEN 0: made only */
static hsize_t write_attributes(void)
{
    float *v     = noise(arg[1]);
    hid_t  space = line(arg[1]);
    for (hsize_t i = 0; i < arg[0]; i++) {
        hid_t a = MUST(H5Acreate2(file, name_of('a', i) + 2, H5T_NATIVE_FLOAT, space, H5P_DEFAULT, H5P_DEFAULT));
        if (arg[2])
            MUST(H5Awrite(a, H5T_NATIVE_FLOAT, v));
        H5Aclose(a);
    }
    return arg[0];
}

/* ---- table ---- */

static const struct {
    const char *what, *args;
    enum { MAKES, CHANGES, READS } how;
    hsize_t (*run)(void);
} programs[] = {
    {"write-steps", "MIB CHUNK_KIB STEP_KIB", MAKES, write_steps},
    {"write-random", "MIB CHUNK_KIB PIECE_KIB CALLS", MAKES, write_random},
    {"read-steps", "STEP_KIB MS", READS, read_steps},
    {"read-some", "CHUNK_KIB COUNT STRIDE", READS, read_some},
    {"write-strings", "COUNT LENGTH", MAKES, write_strings},
    {"read-strings", "", READS, read_strings},
    {"make-groups", "COUNT", MAKES, make_groups},
    {"link-groups", "COUNT", CHANGES, link_groups},
    {"write-datasets", "COUNT ELEMENTS", MAKES, write_datasets},
    {"read-datasets", "COUNT ELEMENTS", READS, read_datasets},
    {"write-attributes", "COUNT ELEMENTS WRITTEN", MAKES, write_attributes},
};

/* If HDF5 finds no plugin for the connector in HDF5_VOL_CONNECTOR, it uses its own connector, which is not
 * the one to be measured. */
static void check_connector(void)
{
    const char *wanted   = getenv("HDF5_VOL_CONNECTOR");
    size_t      n        = wanted ? strcspn(wanted, " ") : 0; /* its info follows */
    char        used[64] = "";
    MUST(H5VLget_connector_name(file, used, sizeof used));
    if (n == 0 || (strlen(used) == n && strncmp(used, wanted, n) == 0))
        return;
    fprintf(stderr, "calls: HDF5 uses connector %s, not %.*s: is its plugin in HDF5_PLUGIN_PATH?\n", used, (int)n, wanted);
    exit(1);
}

static size_t words(const char *s)
{
    size_t n = 0;
    for (; *s; s += strspn(s, " "), n++)
        s += strcspn(s, " ");
    return n;
}

int main(int argc, char **argv)
{
    size_t i = 0, n = sizeof programs / sizeof *programs;
    while (i < n && (argc < 3 || strcmp(argv[1], programs[i].what) != 0))
        i++;
    if (i == n || (size_t)argc - 3 != words(programs[i].args)) {
        for (i = 0; i < n; i++)
            fprintf(stderr, "calls %s FILE %s\n", programs[i].what, programs[i].args);
        return 2;
    }
    for (int k = 3; k < argc; k++)
        arg[k - 3] = strtoull(argv[k], NULL, 10);
    file = programs[i].how == MAKES ? MUST(H5Fcreate(argv[2], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT))
                                    : MUST(H5Fopen(argv[2], programs[i].how == READS ? H5F_ACC_RDONLY : H5F_ACC_RDWR, H5P_DEFAULT));
    check_connector();
    double  begin = seconds();
    hsize_t calls = programs[i].run();
    MUST(H5Fclose(file));
    MUST(H5close()); /* an open object keeps the file open */
    printf("%llu %.4f\n", (unsigned long long)calls, seconds() - begin);
    return 0;
}
