/* The calls by which a PUT in a directory outlives a power cut, and their order; each failure of such a call
 * is reported.  The test intercepts the system's calls (-Wl,--wrap). */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helpers/store_testing.h"

static char dir[] = "/tmp/bkt-sync-XXXXXX", uri[64];
static char done[4000]; /* "data", "name" and "dir PATH", in their order */
static const char *failing; /* the call that fails from now on */
static int         why;

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_renameat(int a, const char *from, int b, const char *to);
int __wrap_renameat(int a, const char *from, int b, const char *to);
int __real_renameat2(int a, const char *from, int b, const char *to, unsigned flags);
int __wrap_renameat2(int a, const char *from, int b, const char *to, unsigned flags);
ssize_t __real_write(int fd, const void *p, size_t n);
ssize_t __wrap_write(int fd, const void *p, size_t n);

int __real_close(int fd);
int __wrap_close(int fd);
int __real_unlinkat(int at, const char *path, int flags);
int __wrap_unlinkat(int at, const char *path, int flags);

static void say(const char *what, const char *path)
{
    size_t n = strlen(done);
    (void)snprintf(done + n, sizeof done - n, "%s%s%s%s", n ? ", " : "", what, *path ? " " : "", path);
}

/* A call that waits in the middle until the test lets it go on. */
static _Atomic(const char *) held;
static int                   entered[2], go_on[2]; /* pipes */

static void wait_if_held(const char *what)
{
    const char *which = atomic_load(&held);
    char        c     = 'x';
    if (!which || strcmp(which, what) != 0)
        return;
    atomic_store(&held, NULL);
    CHECK(__real_write(entered[1], &c, 1) == 1 && read(go_on[0], &c, 1) == 1, "%s", what);
}

static bool fails(const char *what)
{
    if (!failing || !strstr(failing, what))
        return false;
    errno = why;
    return true;
}

int __wrap_fsync(int fd)
{
    struct stat sb;
    char        link[40], path[PATH_MAX] = "";
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (fstat(fd, &sb) < 0 || readlink(link, path, sizeof path - 1) < 0)
        return -1;
    bool is_dir = S_ISDIR(sb.st_mode);
    if (is_dir)
        say("dir", strncmp(path, dir, strlen(dir)) == 0 && path[strlen(dir)] ? path + strlen(dir) + 1 : ".");
    else
        say("data", "");
    wait_if_held(is_dir ? "dir" : "data");
    return fails(is_dir ? "dir" : "data") ? -1 : __real_fsync(fd);
}

static const char *meanwhile; /* made by another program, which uses no locks, just before the name is given */

static void another_program(int in, const char *to)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d/%s", in, to);
    int fd = meanwhile ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
    if (meanwhile)
        CHECK(fd >= 0 && __real_write(fd, meanwhile, strlen(meanwhile)) == (ssize_t)strlen(meanwhile) && close(fd) == 0, "%s", path);
}

int __wrap_renameat(int a, const char *from, int b, const char *to)
{
    say("name", "");
    wait_if_held("name");
    another_program(b, to);
    return fails("name") ? -1 : __real_renameat(a, from, b, to);
}

int __wrap_renameat2(int a, const char *from, int b, const char *to, unsigned flags)
{
    say("name", "");
    wait_if_held("name");
    another_program(b, to);
    return fails("name") || fails("renameat2") ? -1 : __real_renameat2(a, from, b, to, flags);
}

static bool interrupted;
ssize_t __wrap_write(int fd, const void *p, size_t n)
{
    if (fails("write"))
        return -1;
    if (n > 1 && (interrupted = !interrupted)) { /* every other one by a signal, and the rest short */
        errno = EINTR;
        return -1;
    }
    return __real_write(fd, p, n > 3 ? n / 2 : n);
}

int __wrap_close(int fd)
{
    int e = errno;
    (void)__real_close(fd);
    errno = e;
    return fails("close") ? -1 : 0;
}

int __wrap_unlinkat(int at, const char *path, int flags) { return fails("unlinkat") ? -1 : __real_unlinkat(at, path, flags); }

static int put(struct bkt_store *st, const char *key, const char *text, const char *none, struct bkt_err *err)
{
    done[0] = 0;
    return bkt_store_put(st, key, text, strlen(text), NULL, none, NULL, err);
}

static void data_first_then_the_name(struct bkt_store *st)
{
    static const struct {
        const char *key, *none, *want;
    } cases[] = {
        {"top", NULL, "data, name, dir ."},
        {"top", NULL, "data, name, dir ."},
        {"a/b/new", "*", "data, name, dir a/b, dir a, dir ."}, /* the way to it had to be made */
        {"a/b/new", NULL, "data, name, dir a/b"},
        {"a/b/other", "*", "data, name, dir a/b"},
        {"a/c", NULL, "data, name, dir a"},
    };
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        struct bkt_err err = {0};
        CHECK(put(st, cases[i].key, "some text", cases[i].none, &err) == BKT_OK, "%s: %s", cases[i].key, first_line(&err));
        CHECK(strcmp(done, cases[i].want) == 0, "%s (%zu): %s", cases[i].key, i, done);
    }
}

static int del(struct bkt_store *st, const char *key, struct bkt_err *err)
{
    done[0] = 0;
    return bkt_store_delete(st, &key, 1, err);
}

/* A PUT that finds a directory can't know whether its maker has synchronised it: the first PUT of a store
 * checks all directories above. */
static void the_way_to_it_too(struct bkt_store *st)
{
    char path[PATH_MAX];
    for (int i = 0; i < 2; i++) { /* by another program */
        (void)snprintf(path, sizeof path, "%s/%s", dir, i ? "made/by" : "made");
        CHECK(mkdir(path, 0777) == 0, "%s", path);
    }
    CHECK(put(st, "made/by/another", "x", NULL, NULL) == BKT_OK, "put");
    bool known = strcmp(done, "data, name, dir made/by, dir made, dir .") == 0; /* the file system keeps times of birth */
    CHECK(known || strcmp(done, "data, name, dir made/by") == 0, "%s", done);
    printf("the file system keeps %s of birth\n", known ? "times" : "no times");
    CHECK(put(st, "made/by/another", "y", NULL, NULL) == BKT_OK && strcmp(done, "data, name, dir made/by") == 0, "again: %s", done);
    struct bkt_store *other = open_store(uri, "");
    CHECK(put(other, "made/by/too", "x", NULL, NULL) == BKT_OK, "put");
    CHECK(!known || strcmp(done, "data, name, dir made/by, dir made, dir .") == 0, "another process: %s", done);
    bkt_store_close(other);
    /* one that is removed and made again is another */
    static const char again[] = "data, name, dir db/z, dir db";
    for (int i = 0; i < 3; i++) {
        CHECK(put(st, "db/z/k", "x", NULL, NULL) == BKT_OK && strncmp(done, again, strlen(again)) == 0, "%d: %s", i, done);
        CHECK(del(st, "db/z/k", NULL) == BKT_OK && strcmp(done, "") == 0, "below db/ what comes back is an orphan: %s", done);
    }
}

static void deleted_objects_stay_away(struct bkt_store *st)
{
    struct bkt_err err = {0};
    CHECK(put(st, "del/k", "x", NULL, NULL) == BKT_OK && put(st, "del/l", "x", NULL, NULL) == BKT_OK, "put");
    CHECK(del(st, "del/k", NULL) == BKT_OK && strcmp(done, "dir del") == 0, "%s", done);
    CHECK(del(st, "del/l", NULL) == BKT_OK && strcmp(done, "dir .") == 0, "with its directory: %s", done);
    CHECK(del(st, "del/l", NULL) == BKT_OK && strcmp(done, "") == 0, "it is not there: %s", done);
    CHECK(put(st, "del/k", "x", NULL, NULL) == BKT_OK, "put");
    failing = "dir";
    why     = EIO;
    CHECK(del(st, "del/k", &err) == BKT_EIO && strstr(first_line(&err), "del/k: "), "%s", first_line(&err));
    failing = NULL;
}

static void *put_held(void *arg) { return put(arg, "fork/k", "from a thread", NULL, NULL) == BKT_OK ? arg : NULL; }

/* fork() while another thread is in the middle of a PUT, held at @p call; then the child, or with @p
 * child_waits the parent, PUTs the same object. */
static void fork_amid(struct bkt_store *st, const char *call, bool child_waits)
{
    pthread_t t;
    void     *good   = NULL;
    char      c      = 'x';
    int       status = 1, rest[2];
    atomic_store(&held, call);
    CHECK(pipe(rest) == 0 && pthread_create(&t, NULL, put_held, st) == 0 && read(entered[0], &c, 1) == 1, "thread");
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        (void)alarm(200); /* a lock for ever */
        (void)close(rest[1]);
        _exit(child_waits ? read(rest[0], &c, 1) != 0 : put(st, "fork/k", "from a child", NULL, NULL) != BKT_OK);
    }
    (void)close(rest[0]);
    if (!child_waits)
        CHECK(waitpid(pid, &status, 0) == pid && status == 0, "%s: the child: %d", call, status);
    CHECK(__real_write(go_on[1], &c, 1) == 1 && pthread_join(t, &good) == 0 && good, "%s: the thread", call);
    (void)alarm(200);
    CHECK(put(st, "fork/k", "from the parent", NULL, NULL) == BKT_OK, "put");
    (void)alarm(0);
    (void)__real_close(rest[1]);
    if (child_waits)
        CHECK(waitpid(pid, &status, 0) == pid && status == 0, "%s: the child: %d", call, status);
}

static void holds(struct bkt_store *st, const char *key, const char *want)
{
    struct bkt_buf out = {0};
    int            rc  = bkt_store_get(st, key, 0, BKT_WHOLE, &out, NULL);
    CHECK(want ? rc == BKT_OK && strcmp(bkt_buf_str(&out), want) == 0 : rc == BKT_ENOENT, "%s: %s '%s'", key, bkt_err_text(rc),
          bkt_buf_str(&out));
    bkt_buf_fini(&out);
}

static int scratch_files(void)
{
    char uri_tmp[100];
    int  n = 0;
    (void)snprintf(uri_tmp, sizeof uri_tmp, "file://%s/.h5bucket/tmp", dir);
    struct bkt_store *tmp = open_store(uri_tmp, "");
    CHECK(bkt_store_list(tmp, "", "", count_listed, &n, NULL) == BKT_OK, "list");
    bkt_store_close(tmp);
    return n;
}

/* It reports that, the old object is whole, and nothing is left over. */
static void failures_are_reported(struct bkt_store *st)
{
    static const struct {
        const char *what;
        int         why, want;
        bool        is_there; /* all the same */
    } cases[] = {
        {"write", ENOSPC, BKT_EIO, false}, {"write", EDQUOT, BKT_EIO, false}, {"data", EIO, BKT_EIO, false},
        {"data", ENOSPC, BKT_EIO, false},  {"name", ENOSPC, BKT_EIO, false},  {"name", EACCES, BKT_EACCES, false},
        {"dir", EIO, BKT_EIO, true},
    };
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        struct bkt_err err = {0};
        CHECK(put(st, "x/k", "old", NULL, NULL) == BKT_OK, "put");
        failing = cases[i].what;
        why     = cases[i].why;
        int rc  = put(st, "x/k", "newer", NULL, &err);
        CHECK(rc == cases[i].want && strstr(first_line(&err), "x/k: ") && strstr(first_line(&err), strerrordesc_np(cases[i].why)),
              "%s: %s (%s)", cases[i].what, bkt_err_text(rc), first_line(&err));
        rc = put(st, "x/absent", "newer", "*", NULL);
        CHECK(rc == cases[i].want, "%s: %s", cases[i].what, bkt_err_text(rc));
        failing = NULL;
        holds(st, "x/k", cases[i].is_there ? "newer" : "old");
        holds(st, "x/absent", cases[i].is_there ? "newer" : NULL);
        CHECK(scratch_files() == 0, "%s: %d temporary files", cases[i].what, scratch_files());
        const char *key = "x/absent";
        CHECK(bkt_store_delete(st, &key, 1, NULL) == BKT_OK, "delete");
    }
}

/* Nor is anything replaced that wasn't there when we looked, also where the file system has no such rename
 * (NFS). */
static void objects_of_other_writers_stay(struct bkt_store *st)
{
    for (int old = 0; old < 2; old++) {
        const char *key = old ? "m/old" : "m/new";
        failing   = old ? "renameat2" : NULL;
        why       = EINVAL;
        meanwhile = NULL;
        CHECK(put(st, "m/there", "x", "*", NULL) == (old ? BKT_EPRECOND : BKT_OK), "%d: put", old);
        CHECK(!old || put(st, "m/also", "x", "*", NULL) == BKT_OK, "%d: put", old);
        meanwhile = "theirs";
        CHECK(put(st, key, "ours", "*", NULL) == BKT_EPRECOND, "%d: a new object", old);
        meanwhile = NULL;
        failing   = NULL;
        holds(st, key, "theirs");
    }
    CHECK(scratch_files() == 0, "%d temporary files", scratch_files());
}

static void without_the_setting(void)
{
    struct bkt_store *st = open_store(uri, "fsync=no");
    struct bkt_err    err = {0};
    CHECK(put(st, "q/v", "old", NULL, NULL) == BKT_OK, "put");
    failing = "close";
    why     = EDQUOT;
    CHECK(put(st, "q/v", "newer", NULL, &err) == BKT_EIO && strstr(first_line(&err), "Disk quota"), "at close(): %s", first_line(&err));
    failing = NULL;
    holds(st, "q/v", "old");
    why     = EINVAL; /* of renameat2; then the name is a second one for a moment */
    failing = "renameat2 unlinkat";
    CHECK(put(st, "q/u", "text", "*", NULL) == BKT_OK, "it is stored");
    failing = NULL;
    CHECK(put(st, "q/w", "text", NULL, NULL) == BKT_OK && !strstr(done, "data") && !strstr(done, "dir"), "fsync=no: %s", done);
    bkt_store_close(st);
}

int main(void)
{
    char cmd[64];
    if (!mkdtemp(dir))
        return 1;
    (void)snprintf(uri, sizeof uri, "file://%s", dir);
    if (pipe(entered) < 0 || pipe(go_on) < 0)
        return 1;
    struct bkt_store *st = open_store(uri, "");
    data_first_then_the_name(st);
    the_way_to_it_too(st);
    deleted_objects_stay_away(st);
    fork_amid(st, "dir", false);
    fork_amid(st, "name", true);
    failures_are_reported(st);
    objects_of_other_writers_stay(st);
    bkt_store_close(st);
    without_the_setting();
    bkt_store_shutdown();
    (void)snprintf(cmd, sizeof cmd, "rm -r %s", dir);
    return system(cmd) != 0 || failures != 0;
}
