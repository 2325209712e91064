/* Many processes change one domain at once, and nothing is lost.
 *
 *   writers PROCESSES EACH FLUSHES     each process makes EACH changes of every kind, and flushes FLUSHES times
 *
 * $BKT_H5_BASE: where, a directory (its own by default) or s3://bucket/folder.  The connector is "bucket". */
#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "h5tests/helpers/must_succeed_file.h"

static int       processes, each, flushes;
static const int fill = -1;

/* The change @p i of process @p p, and its result. */
struct kind {
    const char *name;
    void (*prepare)(hid_t f);
    void (*change)(hid_t f, hid_t at, int p, int i);
    void (*check)(hid_t f);
    const char *at; /* the object that the changes are made to; opened once a process */
};

/* ---- links in one group ---- */

static void prepare_links(hid_t f) { TRY(H5Gclose(TRY(H5Gcreate2(f, "links", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)))); }

static void add_link(hid_t f, hid_t at, int p, int i)
{
    char name[40], to[40];
    (void)snprintf(name, sizeof name, "link_%d_%d", p, i);
    (void)snprintf(to, sizeof to, "/somewhere/%d/%d", p, i);
    if (i % 4 == 0)
        TRY(H5Lcreate_hard(f, "/values", at, name, H5P_DEFAULT, H5P_DEFAULT));
    else
        TRY(H5Lcreate_soft(to, at, name, H5P_DEFAULT, H5P_DEFAULT));
}

static void check_links(hid_t f)
{
    hid_t      g = TRY(H5Gopen2(f, "links", H5P_DEFAULT));
    H5G_info_t info;
    TRY(H5Gget_info(g, &info));
    CHECK((int)info.nlinks == processes * each, "%d links", (int)info.nlinks);
    for (int p = 0; p < processes; p++)
        for (int i = 0; i < each; i++) {
            char name[40], want[40], got[40] = "";
            (void)snprintf(name, sizeof name, "link_%d_%d", p, i);
            (void)snprintf(want, sizeof want, "/somewhere/%d/%d", p, i);
            CHECK(H5Lexists(g, name, H5P_DEFAULT) > 0, "%s is lost", name);
            if (i % 4)
                CHECK(H5Lget_val(g, name, got, sizeof got, H5P_DEFAULT) >= 0 && strcmp(got, want) == 0, "%s leads to %s", name, got);
        }
    TRY(H5Gclose(g));
}

/* ---- attributes of one object ---- */

static void prepare_attrs(hid_t f) { TRY(H5Gclose(TRY(H5Gcreate2(f, "attrs", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)))); }

static void add_attr(hid_t f, hid_t at, int p, int i)
{
    char  name[40];
    int   value = p * 100000 + i;
    hid_t s     = TRY(H5Screate(H5S_SCALAR));
    (void)f;
    (void)snprintf(name, sizeof name, "attr_%d_%d", p, i);
    hid_t a = TRY(H5Acreate2(at, name, H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Awrite(a, H5T_NATIVE_INT, &value));
    TRY(H5Aclose(a));
    TRY(H5Sclose(s));
}

static void check_attrs(hid_t f)
{
    hid_t       g = TRY(H5Gopen2(f, "attrs", H5P_DEFAULT));
    H5O_info2_t info;
    TRY(H5Oget_info3(g, &info, H5O_INFO_NUM_ATTRS));
    CHECK((int)info.num_attrs == processes * each, "%d attributes", (int)info.num_attrs);
    for (int p = 0; p < processes; p++)
        for (int i = 0; i < each; i++) {
            char name[40];
            int  got = -1;
            (void)snprintf(name, sizeof name, "attr_%d_%d", p, i);
            hid_t a = H5Aexists(g, name) > 0 ? TRY(H5Aopen(g, name, H5P_DEFAULT)) : -1;
            CHECK(a >= 0 && H5Aread(a, H5T_NATIVE_INT, &got) >= 0 && got == p * 100000 + i, "%s is %d", name, got);
            if (a >= 0)
                TRY(H5Aclose(a));
        }
    TRY(H5Gclose(g));
}

/* ---- parts of one chunk, and rows that are appended ---- */

static void put_row(hid_t d, hsize_t row, int value)
{
    hsize_t one = 1;
    hid_t   s = TRY(H5Dget_space(d)), m = TRY(H5Screate_simple(1, &one, NULL));
    TRY(H5Sselect_hyperslab(s, H5S_SELECT_SET, &row, NULL, &one, NULL));
    TRY(H5Dwrite(d, H5T_NATIVE_INT, m, s, H5P_DEFAULT, &value));
    TRY(H5Sclose(m));
    TRY(H5Sclose(s));
}

static void check_rows(hid_t f, const char *name)
{
    hid_t   d = TRY(H5Dopen2(f, name, H5P_DEFAULT)), s = TRY(H5Dget_space(d));
    hsize_t n = 0;
    TRY(H5Sget_simple_extent_dims(s, &n, NULL));
    CHECK((int)n == processes * each, "%s has %d rows", name, (int)n);
    int *v = calloc(n + 1, sizeof *v);
    TRY(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    for (int i = 0; i < (int)n; i++)
        CHECK(v[i] == i * 7, "%s: row %d of process %d is %d", name, i, i % processes, v[i]);
    free(v);
    TRY(H5Sclose(s));
    TRY(H5Dclose(d));
}

static void prepare_chunk(hid_t f)
{
    hsize_t n = (hsize_t)(processes * each);
    TRY(H5Dclose(make_dataset(f, "chunk", &(struct made){.dims = {n}, .chunk = {n}, .fill = &fill, .deflate = true})));
}
static void write_part(hid_t f, hid_t at, int p, int i)
{
    (void)f;
    put_row(at, (hsize_t)(i * processes + p), (i * processes + p) * 7);
}
static void check_chunk(hid_t f) { check_rows(f, "chunk"); }

static void prepare_rows(hid_t f) { TRY(H5Dclose(make_dataset(f, "rows", &(struct made){.max = {H5S_UNLIMITED}, .chunk = {1000}, .fill = &fill}))); }
static void append_row(hid_t f, hid_t at, int p, int i)
{
    hsize_t row = (hsize_t)(i * processes + p), now = 0, size = row + 1;
    hid_t   s   = TRY(H5Dget_space(at));
    (void)f;
    TRY(H5Sget_simple_extent_dims(s, &now, NULL));
    TRY(H5Sclose(s));
    if (now < size)
        TRY(H5Dset_extent(at, &size));
    put_row(at, row, (int)row * 7);
}
static void check_appended(hid_t f) { check_rows(f, "rows"); }

static const struct kind kinds[] = {
    {"links", prepare_links, add_link, check_links, "links"},
    {"attributes", prepare_attrs, add_attr, check_attrs, "attrs"},
    {"one chunk", prepare_chunk, write_part, check_chunk, "chunk"},
    {"rows", prepare_rows, append_row, check_appended, "rows"},
};

/* ---- the processes ---- */

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int one_process(const char *name, const struct kind *k, int p)
{
    hid_t f = TRY(H5Fopen(name, H5F_ACC_RDWR, H5P_DEFAULT)), at = TRY(H5Oopen(f, k->at, H5P_DEFAULT));
    for (int i = 0; i < each; i++) {
        k->change(f, at, p, i);
        if ((i + 1) % (each / flushes) == 0)
            TRY(H5Fflush(f, H5F_SCOPE_GLOBAL));
    }
    TRY(H5Oclose(at));
    TRY(H5Fclose(f));
    return 0;
}

static void run(const char *name, size_t k, char **argv)
{
    pid_t  pid[64];
    double t0 = now();
    (void)fflush(stdout);
    for (int p = 0; p < processes; p++)
        if ((pid[p] = fork()) == 0) {
            char kind[12], who[12];
            (void)snprintf(kind, sizeof kind, "%zu", k);
            (void)snprintf(who, sizeof who, "%d", p);
            (void)execl("/proc/self/exe", argv[0], argv[1], argv[2], argv[3], name, kind, who, (char *)NULL);
            _exit(127);
        }
    for (int p = 0; p < processes; p++) {
        int status = 1;
        CHECK(waitpid(pid[p], &status, 0) == pid[p] && status == 0, "%s: process %d ended with %d", kinds[k].name, p, status);
    }
    hid_t f = TRY(H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT));
    kinds[k].check(f);
    TRY(H5Fclose(f));
    (void)printf("%s: %d processes, %d changes each, %.1f s\n", kinds[k].name, processes, each, now() - t0);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    processes = (int)strtol(argv[1], NULL, 10);
    each      = (int)strtol(argv[2], NULL, 10);
    flushes   = (int)strtol(argv[3], NULL, 10);
    if (sampled() && each >= 400)
        each /= 4;
    if (processes < 1 || processes > 64 || flushes < 1 || each < flushes)
        return 2;
    if (argc == 7)
        return one_process(argv[4], &kinds[strtoul(argv[5], NULL, 10) % 4], (int)strtol(argv[6], NULL, 10));
    char        dir[] = "/tmp/bkt-writers-XXXXXX", name[300], command[80];
    const char *base = getenv("BKT_H5_BASE");
    if (!base && !mkdtemp(dir))
        return 1;
    (void)snprintf(name, sizeof name, "%s/writers-%d.h5", base ? base : dir, (int)getpid());
    hid_t   f = TRY(H5Fcreate(name, H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT));
    hsize_t n = 4;
    require_connector(f, "bucket");
    TRY(H5Dclose(make_dataset(f, "values", &(struct made){.dims = {n}, .chunk = {n}, .fill = &fill})));
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        kinds[k].prepare(f);
    TRY(H5Fclose(f));
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        run(name, k, argv);
    TRY(H5Fdelete(name, H5P_DEFAULT));
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    return (!base && system(command) != 0) || failures != 0;
}
