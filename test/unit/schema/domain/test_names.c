/* The meaning of file names. */
#include "unit/schema/json/json_testing.h"
#include "schema/domain/domain.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* path NULL: an error, code in want.  %s in name is the test's own directory. */
static const struct {
    const char *what, *bucket, *name;
    int want;
    const char *uri, *path;
    bool search, local;
} cases[] = {
    {"S3", NULL, "s3://bucket/a/b.h5", BKT_OK, "s3://bucket", "a/b.h5", false, false},
    {"S3 for HDF5 2.x tools", NULL, "hsds+s3://bucket/a/b.h5", BKT_OK, "s3://bucket", "a/b.h5", false, false},
    {"file URI for the connector", NULL, "hsds+file://%s/home/b.h5", BKT_OK, "file:///", "%s/home/b.h5", true, true},
    {"slashes", NULL, "s3://bucket//a/./b.h5//", BKT_OK, "s3://bucket", "a/b.h5", false, false},
    {"up and down", NULL, "s3://bucket/a/../b.h5", BKT_OK, "s3://bucket", "b.h5", false, false},
    {"out of the bucket", NULL, "s3://bucket/a/../../b.h5", BKT_EINVAL, NULL, NULL, false, false},
    {"no domain", NULL, "s3://bucket/", BKT_EINVAL, NULL, NULL, false, false},
    {"no bucket", NULL, "s3:///a", BKT_EINVAL, NULL, NULL, false, false},
    {"odd characters", NULL, "s3://bucket/a b/\303\251%20+.h5", BKT_OK, "s3://bucket", "a b/\303\251%20+.h5",
     false, false},
    {"default bucket by name", "nrel", "/home/b.h5", BKT_OK, "s3://nrel", "home/b.h5", false, false},
    {"default bucket, relative", "nrel", "home/b.h5", BKT_OK, "s3://nrel", "home/b.h5", false, false},
    {"default bucket, hdf5://", "nrel", "hdf5://home/b.h5", BKT_OK, "s3://nrel", "home/b.h5", false, false},
    {"default bucket, hdf5:/", "nrel", "hdf5:/home/b.h5", BKT_OK, "s3://nrel", "home/b.h5", false, false},
    {"default bucket as URI", "s3://nrel/", "b.h5", BKT_OK, "s3://nrel", "b.h5", false, false},
    {"default bucket with prefix", "s3://nrel/pre", "/b.h5", BKT_OK, "s3://nrel", "pre/b.h5", false, false},
    {"default bucket does not matter for URIs", "nrel", "s3://other/b.h5", BKT_OK, "s3://other", "b.h5",
     false, false},
    {"out of the default bucket", "nrel", "../b.h5", BKT_EINVAL, NULL, NULL, false, false},
    {"default bucket in memory", "mem:x", "a/b.h5", BKT_OK, "mem:x", "a/b.h5", false, true},
    {"default bucket on a web server", "https://host/bk", "a/b.h5", BKT_OK, "https://host", "bk/a/b.h5", true,
     false},
    {"default bucket a directory", "file://%s", "home/b.h5", BKT_OK, "file://%s", "home/b.h5", false, true},
    {"default bucket a plain directory", "%s", "hdf5://home/b.h5", BKT_OK, "file://%s", "home/b.h5", false,
     true},
    {"default directory without it", "file://%s", "home/c.h5", BKT_ENOENT, NULL, NULL, false, false},
    {"hdf5:// without default bucket", NULL, "hdf5://home/b.h5", BKT_EINVAL, NULL, NULL, false, false},
    {"memory", NULL, "mem:x/a/b.h5", BKT_OK, "mem:x", "a/b.h5", false, true},
    {"file URI", NULL, "file://%s/home/b.h5", BKT_OK, "file:///", "%s/home/b.h5", true, true},
    {"file URI of a host", NULL, "file://host/b.h5", BKT_EINVAL, NULL, NULL, false, false},
    {"file URI of nothing", NULL, "file://%s/none.h5", BKT_ENOENT, NULL, NULL, false, false},
    {"absolute path", NULL, "%s/home/b.h5/", BKT_OK, "file:///", "%s/home/b.h5", true, true},
    {"relative path", NULL, "home/b.h5", BKT_OK, "file:///", "%s/home/b.h5", true, true},
    {"relative path with ..", NULL, "home/../home/./b.h5", BKT_OK, "file:///", "%s/home/b.h5", true, true},
    {"a path to nothing", NULL, "home/c.h5", BKT_ENOENT, NULL, NULL, false, false},
    {"a path up to nothing", NULL, "../nowhere/b.h5", BKT_ENOENT, NULL, NULL, false, false},
    {"a directory that is no domain", NULL, "home", BKT_ENOENT, NULL, NULL, false, false},
    {"a plain file", NULL, "plain.h5", BKT_ENOENT, NULL, NULL, false, false},
    {"empty", NULL, "", BKT_ENOENT, NULL, NULL, false, false},
    {"foreign scheme", NULL, "gs://bucket/b.h5", BKT_ENOENT, NULL, NULL, false, false},
    {"https", NULL, "https://Host:8443/bk/a%20b.h5", BKT_OK, "https://host:8443", "bk/a b.h5", true, false},
    {"http", NULL, "HTTP://h/b.h5", BKT_OK, "http://h", "b.h5", true, false},
    {"https with a user", NULL, "https://me:pw@host/b.h5", BKT_EINVAL, NULL, NULL, false, false},
    {"https with a query", NULL, "https://host/b.h5?x", BKT_EINVAL, NULL, NULL, false, false},
    {"https, bad escape", NULL, "https://host/b%2", BKT_EINVAL, NULL, NULL, false, false},
    {"https, escaped NUL", NULL, "https://host/b%00", BKT_EINVAL, NULL, NULL, false, false},
    {"https, escaped way out", NULL, "https://host/%2e%2e/b", BKT_EINVAL, NULL, NULL, false, false},
};

static char dir[4096];

static void expand(const char *text, char *out, size_t n)
{
    const char *at = text ? strstr(text, "%s") : NULL;
    bool bare = text && at == text && strncmp(text, "%s/home", 7) == 0; /* paths have no leading '/' */
    if (!at)
        (void)snprintf(out, n, "%s", text ? text : "");
    else
        (void)snprintf(out, n, "%.*s%s%s", (int)(at - text), text, bare ? dir + 1 : dir, at + 2);
}

static void check_case(size_t i)
{
    struct bkt_settings set;
    struct bkt_name n;
    struct bkt_err err = {.n = 0};
    char name[8192], uri[8192], path[8192], bucket[8192];
    memset(&set, 0, sizeof set);
    expand(cases[i].bucket, bucket, sizeof bucket);
    (void)snprintf(name, sizeof name, "%s", cases[i].name);
    if (strstr(name, "%s"))
        (void)snprintf(name, sizeof name, "%.*s%s%s", (int)(strstr(cases[i].name, "%s") - cases[i].name),
                       cases[i].name, dir, strstr(cases[i].name, "%s") + 2);
    expand(cases[i].uri, uri, sizeof uri);
    expand(cases[i].path, path, sizeof path);
    set.bucket = cases[i].bucket ? bucket : NULL;
    int rc = bkt_name_parse(name, &set, BKT_NAME_OPEN, &n, &err);
    CHECK(rc == cases[i].want, "%s: %d %s", cases[i].what, rc, err.n ? err.frame[0].msg : "");
    CHECK((rc == BKT_OK) == (err.n == 0), "%s: says why it fails", cases[i].what);
    CHECK(!strstr(err.frame[0].msg, "me:pw"), "%s: a password in a message", cases[i].what);
    if (rc == BKT_OK) {
        CHECK(strcmp(n.store_uri, uri) == 0 && strcmp(n.path, path) == 0, "%s: %s | %s", cases[i].what,
              n.store_uri, n.path);
        CHECK(n.search == cases[i].search && n.local == cases[i].local, "%s: %d %d", cases[i].what, n.search,
              n.local);
        bkt_name_fini(&n);
    }
}

/* A child, since root may look everywhere. */
static void hidden(void)
{
    pid_t child = fork();
    if (child == 0) {
        struct bkt_settings set;
        struct bkt_name     n;
        memset(&set, 0, sizeof set);
        _exit(chmod("home/b.h5", 0) == 0 &&
                      (geteuid() != 0 || (chmod(".", 0755) == 0 && setuid(65534) == 0)) &&
                      bkt_name_parse("home/b.h5", &set, BKT_NAME_OPEN, &n, NULL) == BKT_EACCES
                  ? 0
                  : 1);
    }
    int status = 1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "a folder that can't be looked into: %d", status);
    CHECK(chmod("home/b.h5", 0777) == 0, "chmod");
}

int main(void)
{
    char tmp[] = "/tmp/bkt-names-XXXXXX";
    if (!mkdtemp(tmp) || chdir(tmp) != 0 || !getcwd(dir, sizeof dir) || mkdir("home", 0777) ||
        mkdir("home/b.h5", 0777))
        return 1;
    FILE *f = fopen("home/b.h5/.domain.json", "w"), *g = fopen("plain.h5", "w");
    if (!f || !g || fclose(f) || fclose(g))
        return 1;
    for (size_t i = 0; i < BKT_COUNT(cases); i++)
        check_case(i);
    hidden();
    (void)unlink("home/b.h5/.domain.json");
    (void)unlink("plain.h5");
    (void)rmdir("home/b.h5");
    (void)rmdir("home");
    (void)chdir("/");
    (void)rmdir(tmp);
    return failures != 0;
}
