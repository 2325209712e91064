/* A directory over a network, and a failing disk: a list is whole or fails, and an answer that was lost
 * decides nothing.  The test intercepts the system's calls (-Wl,--wrap). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "helpers/store_testing.h"
#include "storage/store_impl.h"

static char dir[] = "/tmp/bkt-network-XXXXXX", uri[64];
static const char *failing; /* the call that fails; NULL: none */
static const char *leaf;    /* fstatat(): of this name only */
static int         why, from, times; /* errno; the calls before are good; so many calls fail */

struct dirent *__real_readdir(DIR *d);
struct dirent *__wrap_readdir(DIR *d);
int            __real_fstatat(int at, const char *name, struct stat *sb, int flags);
int            __wrap_fstatat(int at, const char *name, struct stat *sb, int flags);
int            __real_fstat(int fd, struct stat *sb);
int            __wrap_fstat(int fd, struct stat *sb);
ssize_t        __real_pread(int fd, void *p, size_t n, off_t at);
ssize_t        __wrap_pread(int fd, void *p, size_t n, off_t at);
int            __real_linkat(int a, const char *old, int b, const char *new, int flags);
int            __wrap_linkat(int a, const char *old, int b, const char *new, int flags);
int            __real_renameat(int a, const char *old, int b, const char *new);
int            __wrap_renameat(int a, const char *old, int b, const char *new);
int            __real_flock(int fd, int how);
int            __wrap_flock(int fd, int how);
int            __wrap_renameat2(int a, const char *old, int b, const char *new, unsigned flags);

static bool fails(const char *call)
{
    if (!failing || strcmp(failing, call) != 0 || from-- > 0 || times-- <= 0)
        return false;
    errno = why;
    return true;
}

static void fail(const char *call, int error, int after, int n)
{
    failing = call;
    why     = error;
    from    = after;
    times   = n;
}

struct dirent *__wrap_readdir(DIR *d) { return fails("readdir") ? NULL : __real_readdir(d); }

int __wrap_fstatat(int at, const char *name, struct stat *sb, int flags)
{
    bool ours = !leaf || strcmp(leaf, name) == 0;
    return ours && fails("fstatat") ? -1 : __real_fstatat(at, name, sb, flags);
}

int __wrap_fstat(int fd, struct stat *sb) { return fails("fstat") ? -1 : __real_fstat(fd, sb); }

ssize_t __wrap_pread(int fd, void *p, size_t n, off_t at)
{
    return fails("pread") ? -1 : __real_pread(fd, p, n, at);
}

/* The server does it, its answer is lost, and it does not know the request when that comes again. */
int __wrap_linkat(int a, const char *old, int b, const char *new, int flags)
{
    int rc = __real_linkat(a, old, b, new, flags);
    return rc == 0 && fails("linkat") ? -1 : rc;
}

int __wrap_renameat(int a, const char *old, int b, const char *new)
{
    int rc = __real_renameat(a, old, b, new);
    return rc == 0 && fails("renameat") ? -1 : rc;
}

int __wrap_flock(int fd, int how) { return fails("flock") ? -1 : __real_flock(fd, how); }

int __wrap_renameat2(int a, const char *old, int b, const char *new, unsigned flags)
{
    (void)a, (void)old, (void)b, (void)new, (void)flags;
    errno = EINVAL; /* as NFS has it */
    return -1;
}

static void fill(struct bkt_store *st)
{
    static const char *const keys[] = {"a/1", "a/2", "a/3", "b"};
    for (size_t i = 0; i < BKT_COUNT(keys); i++)
        CHECK(put_text(st, keys[i], keys[i], NULL, NULL, NULL) == BKT_OK, "%s", keys[i]);
}

/* A caller deletes what a list does not name, or takes it for absent. */
static void no_list_is_cut_short(struct bkt_store *st)
{
    static const struct {
        const char *call, *leaf;
        int         why, after, want;
    } cases[] = {
        {"readdir", NULL, EIO, 0, BKT_EIO},
        {"readdir", NULL, ESTALE, 3, BKT_EIO},
        {"readdir", NULL, ENOENT, 3, BKT_OK}, /* the directory was removed meanwhile */
        {"fstatat", "2", EIO, 0, BKT_EIO},
        {"fstatat", "2", ESTALE, 0, BKT_EIO},
        {"fstatat", "2", EACCES, 0, BKT_EACCES},
        {"fstatat", "2", ENOENT, 0, BKT_OK}, /* the object was deleted meanwhile */
    };
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        struct bkt_err err = {0};
        int            n   = 0;
        leaf = cases[i].leaf;
        fail(cases[i].call, cases[i].why, cases[i].after, 1);
        int rc  = bkt_store_list(st, "a/", "", count_listed, &n, &err);
        failing = leaf = NULL;
        CHECK(rc == cases[i].want, "case %zu: %d, %d keys: %s", i, rc, n, first_line(&err));
        CHECK(rc == BKT_OK || strstr(first_line(&err), "list of a"), "case %zu: %s", i, first_line(&err));
    }
}

/* Over NFS a file that another machine replaces is stale for those that have it open. */
static void a_replaced_object_is_read_again(struct bkt_store *st)
{
    static const char *const calls[] = {"pread", "fstat"};
    for (size_t i = 0; i < BKT_COUNT(calls); i++) {
        struct bkt_err                           err  = {0};
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf body = {0};
        fail(calls[i], ESTALE, 0, 1);
        CHECK(bkt_store_get(st, "a/1", 0, BKT_WHOLE, &body, &err) == BKT_OK && strcmp(bkt_buf_str(&body), "a/1") == 0,
              "%s: %s", calls[i], first_line(&err));
        bkt_buf_clear(&body);
        fail(calls[i], ESTALE, 0, 1);
        CHECK(bkt_store_get(st, "a/1", 1, 2, &body, &err) == BKT_OK && strcmp(bkt_buf_str(&body), "/1") == 0,
              "%s: a range: %s", calls[i], first_line(&err));
        fail(calls[i], ESTALE, 0, 1000);
        CHECK(bkt_store_get(st, "a/1", 0, BKT_WHOLE, &body, &err) == BKT_EIO, "%s: always", calls[i]);
        fail(calls[i], EIO, 0, 1);
        CHECK(bkt_store_get(st, "a/1", 0, BKT_WHOLE, &body, NULL) == BKT_EIO, "%s: a bad disk", calls[i]);
        failing = NULL;
    }
}

static int scratch_files(void)
{
    char path[80];
    int  n = 0;
    (void)snprintf(path, sizeof path, "%s/.h5bucket/tmp", dir);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = __real_readdir(d));)
        n += e->d_name[0] != '.';
    if (d)
        (void)closedir(d);
    return n;
}

static void a_lost_answer_is_no_loss(struct bkt_store *st)
{
    struct bkt_err err = {0};
    char           etag[BKT_ETAG_MAX] = "";
    fail("linkat", EEXIST, 0, 1);
    CHECK(bkt_store_put(st, "c/new", "x", 1, NULL, "*", etag, &err) == BKT_OK, "a new object: %s", first_line(&err));
    fail("renameat", ENOENT, 0, 1);
    CHECK(bkt_store_put(st, "c/new", "xy", 2, etag, NULL, etag, &err) == BKT_OK, "a newer one: %s", first_line(&err));
    failing = NULL;
    CHECK(bkt_store_put(st, "c/new", "xyz", 3, NULL, "*", NULL, NULL) == BKT_EPRECOND, "another writer's object");
    CHECK(bkt_store_put(st, "c/new", "xyz", 3, etag, NULL, NULL, NULL) == BKT_OK, "the ETag is the object's");
    CHECK(scratch_files() == 0, "%d temporary files", scratch_files());
}

/* An object that can't be examined is neither absent nor another one. */
static void an_unknown_state_is_a_failure(struct bkt_store *st)
{
    struct bkt_req r[] = {{.op = BKT_PUT, .key = "b", .put = "x", .put_len = 1, .if_match = "\"e\""},
                          {.op = BKT_PUT, .key = "b", .put = "x", .put_len = 1, .if_none_match = "*"},
                          {.op = BKT_PUT, .key = "b", .put = "x", .put_len = 1},
                          {.op = BKT_DELETE, .key = "b", .if_match = "\"e\""}};
    for (size_t i = 0; i < BKT_COUNT(r); i++) {
        leaf = "b";
        fail("fstatat", EIO, 0, 1);
        CHECK(bkt_store_perform(st, &r[i], 1, NULL) == BKT_EIO, "%zu: %d", i, r[i].rc);
        failing = leaf = NULL;
        bkt_req_fini(&r[i]);
    }
}

/* Lustre without its option flock, NFS without its daemon of locks, some file systems of user space. */
static void without_locks(void)
{
    static const int codes[] = {ENOSYS, EOPNOTSUPP, ENOLCK};
    for (size_t i = 0; i < BKT_COUNT(codes); i++) {
        struct bkt_err    err  = {0};
        struct bkt_store *many = open_store(uri, ""), *one = open_store(uri, "writers=one");
        fail("flock", codes[i], 0, 1000000);
        CHECK(bkt_store_put(many, "l/k", "x", 1, NULL, NULL, NULL, &err) == BKT_EUNSUP && strstr(first_line(&err), "writers=one"),
              "%d: %s", codes[i], first_line(&err));
        CHECK(put_text(one, "l/k", "x", NULL, NULL, NULL) == BKT_OK, "%d: the only writer", codes[i]);
        double begun = seconds();
        CHECK(bkt_store_turn(many, "l/k") == -1 && seconds() - begun < 3, "%d: a turn takes %.1f s", codes[i], seconds() - begun);
        struct bkt_req del = {.op = BKT_DELETE, .key = "l/k"};
        CHECK(bkt_store_perform(one, &del, 1, NULL) == BKT_OK, "%d: DELETE", codes[i]);
        bkt_req_fini(&del);
        fail("flock", EIO, 0, 1);
        CHECK(bkt_store_put(one, "l/k", "x", 1, NULL, NULL, NULL, &err) == BKT_EIO, "%d: another failure", codes[i]);
        failing = NULL;
        bkt_store_close(many);
        bkt_store_close(one);
    }
}

int main(void)
{
    char cmd[64];
    if (!mkdtemp(dir))
        return 1;
    (void)snprintf(uri, sizeof uri, "file://%s", dir);
    struct bkt_store *st = open_store(uri, "fsync=no");
    fill(st);
    no_list_is_cut_short(st);
    a_replaced_object_is_read_again(st);
    a_lost_answer_is_no_loss(st);
    an_unknown_state_is_a_failure(st);
    bkt_store_close(st);
    without_locks();
    bkt_store_shutdown();
    (void)snprintf(cmd, sizeof cmd, "rm -r %s", dir);
    return system(cmd) != 0 || failures != 0;
}
