/* Chunks far larger than the extent, as HDF5 lets programs choose them if a dimension may grow: the made and
 * stored bytes stay in proportion.  And a foreign domain that claims such chunks: its datasets are refused.
 *
 *   huge_chunks
 *
 * The connector is "bucket". */
#include <ftw.h>
#include <hdf5.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "h5tests/helpers/must_succeed.h"

#define HUGE_CHUNK 1073741823 /* ints; 4 bytes more, and HDF5 refuses them */
#define MOST_KIB   (400 * 1024)
#define FAR        40000000 /* elements: further than the first object of a chunk reaches */

static char dir[] = "/tmp/bkt-huge-XXXXXX", name[100];

static void write_point(hid_t d, hsize_t at, int value)
{
    hsize_t one = 1;
    hid_t s = TRY(H5Dget_space(d)), m = TRY(H5Screate_simple(1, &one, NULL));
    TRY(H5Sselect_elements(s, H5S_SELECT_SET, 1, &at));
    TRY(H5Dwrite(d, H5T_NATIVE_INT, m, s, H5P_DEFAULT, &value));
    TRY(H5Sclose(s));
    TRY(H5Sclose(m));
}

static int read_point(hid_t d, hsize_t at)
{
    hsize_t one = 1;
    int value = -1;
    hid_t s = TRY(H5Dget_space(d)), m = TRY(H5Screate_simple(1, &one, NULL));
    TRY(H5Sselect_elements(s, H5S_SELECT_SET, 1, &at));
    TRY(H5Dread(d, H5T_NATIVE_INT, m, s, H5P_DEFAULT, &value));
    TRY(H5Sclose(s));
    TRY(H5Sclose(m));
    return value;
}

static hid_t create(hid_t f, const char *as, hsize_t chunk, bool deflate, bool checksum)
{
    hsize_t one = 1, max = H5S_UNLIMITED;
    hid_t s = TRY(H5Screate_simple(1, &one, &max)), p = TRY(H5Pcreate(H5P_DATASET_CREATE));
    TRY(H5Pset_chunk(p, 1, &chunk));
    if (deflate)
        TRY(H5Pset_deflate(p, 1));
    if (checksum)
        TRY(H5Pset_fletcher32(p));
    hid_t d = H5Dcreate2(f, as, H5T_STD_I32LE, s, H5P_DEFAULT, p, H5P_DEFAULT);
    if (d < 0) /* HDF5's messages are checked */
        return d;
    TRY(H5Pclose(p));
    TRY(H5Sclose(s));
    return d;
}

static hid_t open_it(const char *as, unsigned flags, hid_t *f)
{
    char connector[64] = "";
    *f = TRY(H5Fopen(name, flags, H5P_DEFAULT));
    TRY(H5VLget_connector_name(*f, connector, sizeof connector));
    REQUIRE(strcmp(connector, "bucket") == 0, "connector %s", connector);
    return TRY(H5Dopen2(*f, as, H5P_DEFAULT));
}

/* The last failed call's message must have these words. */
static void said(const char *what)
{
    static char text[16000];
    FILE *to = tmpfile();
    TRY(H5Eprint2(H5E_DEFAULT, to));
    rewind(to);
    text[fread(text, 1, sizeof text - 1, to)] = 0;
    (void)fclose(to);
    REQUIRE(strstr(text, what), "the error doesn't say %s:\n%s", what, text);
}

/* ---- chunks that a program may make ---- */

static void make_domain(void)
{
    hid_t f = TRY(H5Fcreate(name, H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT));
    for (int deflate = 0; deflate < 2; deflate++) {
        hid_t d = TRY(create(f, deflate ? "deflated" : "plain", HUGE_CHUNK, deflate, false));
        write_point(d, 0, 7);
        TRY(H5Dclose(d));
    }
    TRY(H5Dclose(TRY(create(f, "small", 1000, false, false))));
    H5E_BEGIN_TRY
    REQUIRE(create(f, "checksums", HUGE_CHUNK, false, true) < 0, "chunks that can't be divided");
    said("at most 1 GiB");
    H5E_END_TRY
    TRY(H5Fclose(f));
}

static void grow(void)
{
    hsize_t far = FAR + 1;
    for (int deflate = 0; deflate < 2; deflate++) {
        hid_t f, d = open_it(deflate ? "deflated" : "plain", H5F_ACC_RDWR, &f);
        TRY(H5Dset_extent(d, &far));
        write_point(d, FAR, 8);
        TRY(H5Dclose(d));
        TRY(H5Fclose(f));
    }
}

static void check(void)
{
    for (int deflate = 0; deflate < 2; deflate++) {
        hsize_t chunk = 0;
        hid_t f, d = open_it(deflate ? "deflated" : "plain", H5F_ACC_RDONLY, &f),
                 p = TRY(H5Dget_create_plist(d));
        TRY(H5Pget_chunk(p, 1, &chunk));
        REQUIRE(chunk == HUGE_CHUNK, "chunks of %llu", (unsigned long long)chunk);
        REQUIRE(read_point(d, 0) == 7 && read_point(d, FAR) == 8 && read_point(d, FAR / 2) == 0, "%d %d %d", read_point(d, 0), read_point(d, FAR),
             read_point(d, FAR / 2));
        TRY(H5Pclose(p));
        TRY(H5Dclose(d));
        TRY(H5Fclose(f));
    }
}

/* ---- chunks that a foreign domain may claim ---- */

static char small[300];

static int find_small(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    char text[8000];
    FILE *from = flag == FTW_F && st->st_size < (off_t)sizeof text && strstr(path, ".dataset.json")
                     ? fopen(path, "rb")
                     : NULL;
    (void)ftw;
    if (!from)
        return 0;
    text[fread(text, 1, sizeof text - 1, from)] = 0;
    (void)fclose(from);
    if (strstr(text, "[1000]"))
        (void)snprintf(small, sizeof small, "%s", path);
    return 0;
}

/* The stored shape of "small" becomes a huge one. */
static void lie(void)
{
    char command[500];
    TRY(nftw(dir, find_small, 16, FTW_PHYS));
    REQUIRE(*small, "no dataset with chunks of 1000 below %s", dir);
    (void)snprintf(
        command, sizeof command,
        "sed -i 's/\"layout\": *{[^{}]*}/\"layout\": {\"class\": \"H5D_CHUNKED\", \"dims\": [%d]}/g' %s",
        HUGE_CHUNK, small);
    REQUIRE(system(command) == 0, "%s", command);
}

static void read_lie(void)
{
    int value = -1;
    hid_t f, d = open_it("small", H5F_ACC_RDONLY, &f), t = TRY(H5Dget_type(d));
    H5E_BEGIN_TRY
    REQUIRE(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value) < 0, "it is believed: %d", value);
    said("more than 256 MiB");
    H5E_END_TRY
    TRY(H5Tclose(t));
    TRY(H5Dclose(d));
    TRY(H5Fclose(f));
}

static void write_lie(void)
{
    int value = 1;
    hid_t f, d = open_it("small", H5F_ACC_RDWR, &f);
    H5E_BEGIN_TRY
    REQUIRE(H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value) < 0, "it is believed");
    said("more than 256 MiB");
    H5E_END_TRY
    TRY(H5Dclose(d));
    TRY(H5Fclose(f));
}

/* ---- the costs ---- */

static off_t stored;

static int add_size(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)path, (void)ftw;
    stored += flag == FTW_F ? st->st_size : 0;
    return 0;
}

/* In a process of its own, so that its memory is measured.  @p mib: the most that may be stored afterwards. */
static void in_process(const char *what, void (*fn)(void), long mib)
{
    int status = 1;
    struct rusage use;
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        fn();
        exit(0);
    }
    REQUIRE(wait4(pid, &status, 0, &use) == pid && status == 0, "%s: %x", what, (unsigned)status);
    REQUIRE(use.ru_maxrss < MOST_KIB, "%s takes %ld MiB", what, use.ru_maxrss / 1024);
    stored = 0;
    TRY(nftw(dir, add_size, 16, FTW_PHYS));
    REQUIRE(stored < (off_t)mib << 20, "%s: %lld MiB are stored", what, (long long)(stored >> 20));
}

int main(void)
{
    char command[80];
    if (!mkdtemp(dir))
        return 1;
    (void)snprintf(name, sizeof name, "%s/huge.h5", dir);
    in_process("a program that writes an element", make_domain, 66);
    in_process("one that lets the datasets grow", grow, 132);
    in_process("a reader", check, 132);
    lie();
    in_process("the reader of a lie", read_lie, 132);
    in_process("its writer", write_lie, 132);
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command) != 0;
}
