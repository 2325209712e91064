/* Plain HDF5 files in the place of a domain: a program that creates a file exclusively is refused, as by HDF5, and
 * never hides one.  H5F_ACC_TRUNC hides it and doesn't delete it.  The stores are a scripted S3 server and a folder. */
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/files.h"
#include "h5tests/helpers/compare.h"
#include "h5tests/helpers/must_succeed_file.h"
#include "helpers/store_testing.h"
#include "http/helpers/fake_s3.h"

static struct fake_s3  fake = {.kind = FAKE_QUOTED};
static struct server  *server;
static char            dir[] = "/tmp/bkt-hidden-XXXXXX", settings[200];
static struct bkt_buf  plain;

/* The number in a file of either kind. */
static int number_of(const char *name)
{
    hid_t f = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
    int   v = f < 0 ? -1 : (int)TRY(get_attr(f, "number"));
    if (f >= 0)
        TRY(H5Fclose(f));
    (void)H5Eclear2(H5E_DEFAULT);
    return v;
}

static void make(const char *name, unsigned flags, int v)
{
    hid_t f = TRY(H5Fcreate(name, flags, H5P_DEFAULT, H5P_DEFAULT));
    set_attr(f, "number", v);
    TRY(H5Fclose(f));
}

static bool is_there(struct bkt_store *st, const char *key)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    return bkt_store_get(st, key, 0, BKT_WHOLE, &b, NULL) == BKT_OK && b.len == plain.len &&
           memcmp(b.ptr, plain.ptr, b.len) == 0;
}

static int objects(struct bkt_store *st)
{
    int n = 0;
    return bkt_store_list(st, "", "", count_objects, &n, NULL) == BKT_OK ? n : -1;
}

static void in_bucket(void)
{
    static const char name[] = "s3://buck/home/x.h5";
    struct bkt_store *st     = open_store("s3://buck", settings);
    REQUIRE(bkt_store_put(st, "home/x.h5", plain.ptr, plain.len, NULL, NULL, NULL, NULL) == BKT_OK, "%s", name);
    FAILS(H5Fcreate(name, H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT), "home/x.h5: a file with this name exists");
    FAILS(H5Fcreate(name, 0, H5P_DEFAULT, H5P_DEFAULT), "it is not a domain");
    CHECK(objects(st) == 1 && is_there(st, "home/x.h5"), "%s: a refused domain left %d objects", name, objects(st));
    CHECK(number_of(name) == 1, "%s: %d", name, number_of(name));
    make(name, H5F_ACC_TRUNC, 2);
    CHECK(number_of(name) == 2 && is_there(st, "home/x.h5"), "%s: %d", name, number_of(name));
    FAILS(H5Fcreate(name, H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT), "domain home/x.h5 exists");
    make(name, H5F_ACC_TRUNC, 3); /* replaces the domain */
    CHECK(number_of(name) == 3 && is_there(st, "home/x.h5"), "%s: %d", name, number_of(name));
    TRY(H5Fdelete(name, H5P_DEFAULT));
    CHECK(is_there(st, "home/x.h5") && number_of(name) == 1, "%s: %d", name, number_of(name));
    bkt_store_close(st);
}

static bool has_name(hid_t f, const char *name)
{
    char text[100] = "";
    return H5Fget_name(f, text, sizeof text) >= 0 && strcmp(text, name) == 0;
}

/* The file goes by the program's name, and so does another handle. */
static void names(void)
{
    (void)setenv("HS_BUCKET", "s3://buck", 1);
    hid_t f = TRY(H5Fopen("home/x.h5", H5F_ACC_RDONLY, H5P_DEFAULT)), g = TRY(H5Freopen(f));
    CHECK(has_name(f, "home/x.h5") && has_name(g, "home/x.h5"), "other names");
    TRY(H5Fclose(f));
    CHECK(has_name(g, "home/x.h5"), "another name");
    TRY(H5Fclose(g));
    (void)unsetenv("HS_BUCKET");
}

/* The document is there and can't be read: no other thing is opened in the domain's place, whoever asks
 * first. */
static void damaged(void)
{
    static const char *const all[] = {"s3://buck/home/x.h5", "home/x.h5"};
    struct bkt_store *st = open_store("s3://buck", settings);
    REQUIRE(put_text(st, "home/x.h5/.domain.json", "{\"root\": ", NULL, NULL, NULL) == BKT_OK, "a document");
    (void)setenv("HS_BUCKET", "s3://buck", 1);
    for (size_t i = 0; i < 2; i++) {
        CHECK(H5Fis_accessible(all[i], H5P_DEFAULT) <= 0, "%s is accessible", all[i]);
        CHECK(number_of(all[i]) == -1, "%s is opened", all[i]);
    }
    (void)unsetenv("HS_BUCKET");
    bkt_store_close(st);
}

/* The HEAD is one more request, in the wave of the others. */
static void requests(void)
{
    server_reset(server);
    hid_t    f = TRY(H5Fcreate("s3://buck/new.h5", H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT));
    unsigned n = server_count(server), heads = 0;
    for (unsigned i = 0; i < n; i++) {
        struct seen r;
        heads += server_seen(server, i, &r) && strcmp(r.method, "HEAD") == 0 && strstr(r.target, "/new.h5");
    }
    CHECK(heads == 1, "%u requests of H5Fcreate, %u for the file", n, heads);
    TRY(H5Fclose(f));
    server_reset(server);
    f = TRY(H5Fcreate("s3://buck/old.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    CHECK(server_count(server) == n - 1, "%u requests with H5F_ACC_TRUNC, %u without", server_count(server), n);
    TRY(H5Fclose(f));
}

/* The file is created if the server hides what has the name, and refused if the server fails. */
static void answers(void)
{
    fake.odd = (struct fake_odd){.method = "HEAD", .end = "/denied.h5", .status = 403};
    make("s3://buck/denied.h5", H5F_ACC_EXCL, 4);
    CHECK(fake.odd.count > 0 && number_of("s3://buck/denied.h5") == 4, "%u HEADs", fake.odd.count);
    fake.odd = (struct fake_odd){.method = "HEAD", .end = "/out.h5", .status = 503};
    FAILS(H5Fcreate("s3://buck/out.h5", H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT), "HTTP 503");
    fake.odd = (struct fake_odd){.method = NULL};
}

/* A file and a folder can't have one name. */
static void in_directory(const char *name)
{
    struct stat before, after;
    char path[100], below[120];
    (void)snprintf(path, sizeof path, "%s/plain.h5", dir);
    REQUIRE(stat(path, &before) == 0, "%s", path);
    FAILS(H5Fcreate(name, H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT), "a file with this name exists");
    FAILS(H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), "a file with this name exists");
    for (int i = 0; i < 2; i++) {
        (void)snprintf(below, sizeof below, "%s%s", name, i ? "/y.h5" : "/");
        FAILS(H5Fcreate(below, H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT), below);
        FAILS(H5Fcreate(below, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), below);
    }
    CHECK(stat(path, &after) == 0 && before.st_ino == after.st_ino && before.st_size == after.st_size, "%s", name);
    CHECK(number_of(name) == 1, "%s: %d", name, number_of(name));
}

int main(void)
{
    char path[100], text[300];
    server = server_start(fake_s3_handle, &fake);
    REQUIRE(server && mkdtemp(dir), "%s", dir);
    (void)snprintf(settings, sizeof settings, "endpoint=%s;anonymous=yes;test.backoff_ms=1;retries=1;test.hedge=0", server_url(server));
    (void)snprintf(text, sizeof text, "bucket %s", settings);
    (void)setenv("HDF5_VOL_CONNECTOR", text, 1);
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    (void)snprintf(path, sizeof path, "%s/plain.h5", dir);
    (void)snprintf(text, sizeof text, "native:%s", path);
    make(text, H5F_ACC_EXCL, 1);
    REQUIRE(bkt_file_read_whole(path, &plain) == BKT_OK, "%s", path);
    in_bucket();
    names();
    damaged();
    requests();
    answers();
    in_directory(path);
    (void)snprintf(text, sizeof text, "file://%s", path);
    in_directory(text);
    (void)setenv("HS_BUCKET", dir, 1);
    in_directory("plain.h5");
    in_directory("/plain.h5");
    in_directory("hdf5://plain.h5");
    TRY(H5close());
    bkt_buf_fini(&plain);
    (void)unlink(path);
    (void)rmdir(dir);
    server_stop(server);
    fake_s3_fini(&fake);
    return failures != 0;
}
