/* One wrong bit in stored data, on the way or in the store, through HDF5's API: never a wrong value.  The
 * store is a bucket, whose server is a scripted one on this machine, or a folder. */
#include <dirent.h>
#include <fcntl.h>
#include <hdf5.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "http/helpers/fake_s3.h"
#include "h5tests/helpers/compare.h"
#include "h5tests/helpers/must_succeed_file.h"

enum { CHUNK = 300000, N = 3 * CHUNK, VALUE = 1111111 }; /* a chunk is an object */

static struct fake_s3 fake = {.kind = FAKE_QUOTED};
static char           dir[] = "/tmp/bkt-damage-XXXXXX";
static const char    *name; /* of the domain */

/* Packed, so that a chunk is read whole, and plain, so that it goes straight to the program's memory. */
static void write_dataset(hid_t f, const char *path, bool packed)
{
    hid_t d = make_dataset(f, path, &(struct made){.dims = {N}, .chunk = {CHUNK}, .deflate = packed});
    write_all_numbers(d, N, 0, 7);
    TRY(H5Dclose(d));
}

static void make_domain(void)
{
    int   value = VALUE;
    hid_t f = TRY(H5Fcreate(name, H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT)), s = TRY(H5Screate(H5S_SCALAR));
    require_connector(f, "bucket");
    write_dataset(f, "plain", false);
    write_dataset(f, "packed", true);
    hid_t g = TRY(H5Gcreate2(f, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    hid_t a = TRY(H5Acreate2(g, "number", H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Awrite(a, H5T_NATIVE_INT, &value));
    TRY(H5Aclose(a));
    TRY(H5Gclose(g));
    TRY(H5Sclose(s));
    TRY(H5Fclose(f));
}

/* No value that is read may be wrong.  @return whether all could be read */
static bool reads(const char *what)
{
    static int v[N];
    int        value = 0;
    bool       all   = true;
    hid_t      f = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (f < 0)
        return false;
    for (int k = 0; k < 2; k++) {
        int   wrong = 0;
        hid_t d     = H5Dopen2(f, k ? "packed" : "plain", H5P_DEFAULT);
        bool  ok    = d >= 0 && H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0;
        for (int i = 0; ok && i < N; i++)
            wrong += v[i] != i * 7;
        CHECK(!wrong, "%s: %d wrong values in %s", what, wrong, k ? "packed" : "plain");
        all &= ok;
        if (d >= 0)
            TRY(H5Dclose(d));
    }
    hid_t g = H5Gopen2(f, "g", H5P_DEFAULT), a = g < 0 ? g : H5Aopen(g, "number", H5P_DEFAULT);
    bool  ok = a >= 0 && H5Aread(a, H5T_NATIVE_INT, &value) >= 0;
    CHECK(!ok || value == VALUE, "%s: the attribute is %d", what, value);
    if (a >= 0)
        TRY(H5Aclose(a));
    if (g >= 0)
        TRY(H5Gclose(g));
    TRY(H5Fclose(f));
    return all && ok;
}

/* ---- in a bucket ---- */

static void on_the_way(void)
{
    for (unsigned flips = 1; flips <= 2; flips++) {
        fake.flip_gets = flips;
        CHECK(reads("on the way"), "%u wrong answers were too much", flips);
        CHECK(fake.flip_gets == 0, "%u answers were not flipped", fake.flip_gets);
    }
    fake.flip_gets = UINT_MAX;
    CHECK(!reads("always on the way"), "read though every answer is wrong");
    fake.flip_gets = 0;
}

/* The digits of the attribute's value: another number, and as good JSON. */
static char *worst_place(char *data, size_t len)
{
    char *at = memmem(data, len, "1111111", 7);
    return at ? at + 3 : data + len / 2;
}

static void at_rest_in_a_bucket(void)
{
    unsigned n = 0;
    CHECK(reads("whole"), "not read");
    for (size_t i = 0; i < sizeof fake.object / sizeof *fake.object; i++) {
        struct fake_object *o = &fake.object[i];
        if (!o->key[0] || !o->len || !strncmp(o->key, ".h5bucket", 9))
            continue;
        CHECK(o->sum[0], "%s has no sum", o->key);
        char *at = worst_place(o->data, o->len);
        *at ^= 2;
        CHECK(!reads(o->key), "%s: read though it is damaged", o->key);
        *at ^= 2;
        n++;
    }
    CHECK(n >= 11 && reads("mended"), "%u objects", n); /* the document, four JSONs, six chunks */
}

/* ---- in a folder ---- */

static bool has_sum(const char *path)
{
    char text[100];
    return getxattr(path, "user.h5bucket.crc32c", text, sizeof text) > 0;
}

/* The bytes of a medium change without a trace.  Gives back where; @p again: there. */
static size_t flip(const char *path, const size_t *again)
{
    static char data[2 << 20];
    struct stat sb;
    int         fd = open(path, O_RDWR | O_CLOEXEC);
    ssize_t     n  = TRY(read(fd, data, sizeof data));
    size_t      at = again ? *again : (size_t)(worst_place(data, (size_t)n) - data);
    data[at] ^= 2;
    CHECK(fstat(fd, &sb) == 0 && pwrite(fd, data + at, 1, (off_t)at) == 1, "%s", path);
    CHECK(futimens(fd, (struct timespec[2]){sb.st_atim, sb.st_mtim}) == 0, "%s", path);
    (void)close(fd);
    return at;
}

static unsigned below(const char *folder)
{
    unsigned       n = 0;
    struct dirent *e;
    DIR           *d = opendir(folder);
    while (d && (e = readdir(d))) { /* NOLINT(concurrency-mt-unsafe): one thread */
        char path[PATH_MAX];
        (void)snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (e->d_type == DT_DIR && strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && strcmp(e->d_name, ".h5bucket") != 0)
            n += below(path);
        if (e->d_type != DT_REG)
            continue;
        CHECK(has_sum(path), "%s has no sum", path);
        size_t at = flip(path, NULL);
        CHECK(!reads(path), "%s: read though it is damaged", path);
        (void)flip(path, &at);
        n++;
    }
    if (d)
        (void)closedir(d);
    return n;
}

static void in_a_folder(void)
{
    char domain[200], probe[200], cmd[80];
    CHECK(mkdtemp(dir) != NULL, "no folder");
    (void)snprintf(probe, sizeof probe, "%s/probe", dir);
    FILE *p = fopen(probe, "w");
    bool has_attributes = p && fclose(p) == 0 && setxattr(probe, "user.probe", "1", 1, 0) == 0;
    (void)unlink(probe);
    (void)snprintf(domain, sizeof domain, "%s/damage.h5", dir);
    name = domain;
    make_domain();
    CHECK(reads("whole, in a folder"), "not read");
    unsigned n = has_attributes ? below(dir) : 11; /* nothing can be known without them */
    CHECK(n >= 11 && reads("mended, in a folder"), "%u objects", n);
    (void)snprintf(cmd, sizeof cmd, "rm -r %s", dir);
    CHECK(system(cmd) == 0, "%s", cmd);
}

/* The first packed chunk, as another program stores it: 1,000 bytes longer, and without a sum. */
static bool replace_chunk(void)
{
    for (size_t i = 0; i < 64; i++) {
        struct fake_object *o = &fake.object[i];
        size_t              n = strlen(o->key);
        if (n < 2 || strcmp(o->key + n - 2, "/0") != 0 || o->len >= CHUNK * sizeof(int))
            continue;
        char *longer = calloc(1, o->len + 1001);
        if (!longer)
            return false;
        memcpy(longer, o->data, o->len);
        free(o->data);
        o->data = longer;
        o->len += 1000;
        o->sum[0] = o->id[0] = 0;
        (void)snprintf(o->etag, sizeof o->etag, "\"longer\"");
        return true;
    }
    return false;
}

/* H5Dread_chunk() has no argument for the size of the program's buffer: that is the size which the program
 * got before. */
static void a_chunk_that_grows(void)
{
    hsize_t  at = 0, size = 0, again = 0;
    uint32_t mask;
    hid_t    f = TRY(H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT)), d = TRY(H5Dopen2(f, "packed", H5P_DEFAULT));
    TRY(H5Dget_chunk_storage_size(d, &at, &size));
    unsigned char *buf = malloc((size_t)size + 2000);
    CHECK(buf && replace_chunk(), "a chunk to replace");
    memset(buf, 0xAA, (size_t)size + 2000);
    CHECK(H5Dread_chunk(d, H5P_DEFAULT, &at, &mask, buf) < 0, "a chunk that grew was read");
    for (size_t i = 0; i < 2000; i++)
        CHECK(buf[size + i] == 0xAA, "byte %zu behind the program's room", i);
    TRY(H5Dget_chunk_storage_size(d, &at, &again));
    CHECK(again == size + 1000 && H5Dread_chunk(d, H5P_DEFAULT, &at, &mask, buf) >= 0, "asked again: %llu, was %llu",
          (unsigned long long)again, (unsigned long long)size);
    free(buf);
    TRY(H5Dclose(d));
    TRY(H5Fclose(f));
}

int main(void)
{
    struct server *server    = server_start(fake_s3_handle, &fake);
    char           text[200] = "";
    if (!server)
        return 1;
    (void)snprintf(text, sizeof text, "bucket endpoint=%s;anonymous=yes;test.backoff_ms=1;retries=4;test.hedge=0", server_url(server));
    (void)setenv("HDF5_VOL_CONNECTOR", text, 1);
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    name = "s3://buck/damage.h5";
    make_domain();
    on_the_way();
    at_rest_in_a_bucket();
    a_chunk_that_grows();
    in_a_folder();
    TRY(H5close());
    server_stop(server);
    fake_s3_fini(&fake);
    return failures != 0;
}
