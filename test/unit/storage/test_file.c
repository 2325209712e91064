/* A directory store's promises beyond the contract: versions, processes, killed writers, empty directories. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "helpers/store_testing.h"

#define LEFT "4711-0123456789abcdef" /* as a temporary file is called */

static char dir[] = "/tmp/bkt-file-XXXXXX", uri[64];

static const char *path_of(const char *name)
{
    static char text[200];
    (void)snprintf(text, sizeof text, "%s/%s", dir, name);
    return text;
}

static bool exists(const char *name) { return access(path_of(name), F_OK) == 0; }

static int del(struct bkt_store *st, const char *key)
{
    struct bkt_req r  = {.op = BKT_DELETE, .key = key};
    int rc = bkt_store_perform(st, &r, 1, NULL);
    bkt_req_fini(&r);
    return rc;
}

static struct timespec time_of(const char *name)
{
    struct stat sb = {0};
    CHECK(stat(path_of(name), &sb) == 0, "%s", name);
    return sb.st_mtim;
}

/* A clock that was set back: inodes are used again, sizes are equal, and still no two versions look alike. */
static void no_two_versions_share_an_etag(struct bkt_store *st)
{
    enum { N = 200 };
    static char     etag[N][BKT_ETAG_MAX];
    struct timespec last = {0};
    for (int i = 0; i < N; i++) {
        CHECK(put_text(st, "v/same", i % 2 ? "abc" : "xyz", NULL, NULL, etag[i]) == BKT_OK, "put");
        struct timespec now = time_of("v/same");
        CHECK(now.tv_sec > last.tv_sec || (now.tv_sec == last.tv_sec && now.tv_nsec > last.tv_nsec), "version %d is not newer", i);
        last = now;
        if (i == N / 2) { /* from here on the clock is an hour behind */
            struct timespec ahead[2] = {{now.tv_sec + 3600, 5}, {now.tv_sec + 3600, 5}};
            CHECK(utimensat(AT_FDCWD, path_of("v/same"), ahead, 0) == 0, "utimens");
            last = ahead[1];
        }
        for (int k = 0; k < i; k++)
            CHECK(strcmp(etag[i], etag[k]) != 0, "versions %d and %d are both %s", k, i, etag[i]);
    }
    CHECK(put_text(st, "v/same", "new", etag[0], NULL, NULL) == BKT_EPRECOND, "an old ETag");
    CHECK(put_text(st, "v/same", "new", etag[N - 1], NULL, NULL) == BKT_OK, "the last ETag");
}

static int add_one(struct bkt_store *st, int times)
{
    for (int i = 0; i < times;) {
        struct bkt_req r = {.op = BKT_GET, .key = "p/counter", .len = BKT_WHOLE};
        char           text[32];
        if (bkt_store_perform(st, &r, 1, NULL) != BKT_OK)
            return 1;
        (void)snprintf(text, sizeof text, "%05d", (int)strtol(bkt_buf_str(&r.body), NULL, 10) + 1);
        int rc = put_text(st, "p/counter", text, r.etag, NULL, NULL);
        bkt_req_fini(&r);
        if (rc != BKT_OK && rc != BKT_EPRECOND)
            return 1;
        i += rc == BKT_OK;
    }
    return 0;
}

static pid_t child(int times)
{
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid)
        return pid;
    struct bkt_store *st = open_store(uri, "");
    int               rc = add_one(st, times);
    bkt_store_close(st);
    _exit(rc);
}

static int counted(struct bkt_store *st)
{
    struct bkt_buf out = {0};
    int            n   = bkt_store_get(st, "p/counter", 0, BKT_WHOLE, &out, NULL) == BKT_OK
                             ? (int)strtol(bkt_buf_str(&out), NULL, 10) : -1;
    CHECK(out.len == 5, "a torn object of %zu bytes", out.len);
    bkt_buf_fini(&out);
    return n;
}

static void processes_lose_no_update(struct bkt_store *st)
{
    enum { N = 6, EACH = 100 };
    pid_t pid[N];
    CHECK(put_text(st, "p/counter", "00000", NULL, NULL, NULL) == BKT_OK, "put");
    for (int i = 0; i < N; i++)
        pid[i] = child(EACH);
    for (int i = 0; i < N; i++) {
        int status = 1;
        CHECK(waitpid(pid[i], &status, 0) == pid[i] && status == 0, "process %d: %d", i, status);
    }
    CHECK(counted(st) == N * EACH, "counted to %d", counted(st));
}

/* At any moment of the kill, the object is whole, and no lock is left. */
static void killed_writers_do_not_matter(struct bkt_store *st)
{
    for (int i = 0; i < 20; i++) {
        pid_t pid = child(1000000);
        (void)usleep(2000 + 1000 * (useconds_t)i);
        CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid, "kill");
        int before = counted(st);
        CHECK(add_one(st, 1) == 0 && counted(st) == before + 1, "after a killed writer: %d", counted(st));
    }
}

/* Days by which clocks are ahead, and since the one temporary file was changed. */
static struct {
    int ours, server, writer, age;
} days;

time_t __real_time(time_t *out);
time_t __wrap_time(time_t *out);
time_t __wrap_time(time_t *out)
{
    time_t t = __real_time(NULL) + 86400 * (time_t)days.ours;
    return out ? *out = t : t;
}

static atomic_uint fstats; /* calls of fstat(); some for each scratch file */

int __real_fstat(int fd, struct stat *sb);
int __wrap_fstat(int fd, struct stat *sb);
int __wrap_fstat(int fd, struct stat *sb)
{
    int rc = __real_fstat(fd, sb);
    fstats++;
    sb->st_ctim.tv_sec += 86400 * (time_t)days.server;
    return rc;
}

int __real_fstatat(int at, const char *name, struct stat *sb, int flags);
int __wrap_fstatat(int at, const char *name, struct stat *sb, int flags);
int __wrap_fstatat(int at, const char *name, struct stat *sb, int flags)
{
    int rc = __real_fstatat(at, name, sb, flags);
    if (strcmp(name, LEFT) == 0) {
        sb->st_ctim.tv_sec += 86400 * (time_t)(days.server - days.age);
        sb->st_mtim.tv_sec += 86400 * (time_t)(days.writer - days.age);
    }
    return rc;
}

static void files_of_killed_writers_are_removed(void)
{
    static const struct {
        const char *what;
        int         ours, server, writer, age;
        bool        goes;
    } cases[] = {
        {"old", 0, 0, 0, 2, true},
        {"fresh", 0, 0, 0, 0, false},
        {"old, by clocks that are ahead", 3, 3, 3, 2, true},
        {"old, by clocks that are behind", -3, -3, -3, 2, true},
        {"fresh, our clock is ahead", 2, 0, 0, 0, false},
        {"fresh, our clock is ahead of a server's that is behind", 2, -2, 0, 0, false},
        {"fresh, the server's clock is ahead", 0, 2, 0, 0, false},
        {"fresh, its writer's clock is behind", 0, 0, -2, 0, false},
        {"fresh, its writer's clock is behind and ours ahead", 2, 0, -2, 0, false},
        {"old, our clock is ahead", 2, 0, 0, 2, true},
        {"perhaps old, our clock is behind", -2, 0, 0, 2, false},
    };
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        int fd = open(path_of(".h5bucket/tmp/" LEFT), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        CHECK(fd >= 0 && futimens(fd, NULL) == 0 && close(fd) == 0, "a file left behind");
        days.ours = cases[i].ours, days.server = cases[i].server, days.writer = cases[i].writer, days.age = cases[i].age;
        struct bkt_store *st = open_store(uri, "");
        CHECK(put_text(st, "p/x", "1", NULL, NULL, NULL) == BKT_OK && exists(".h5bucket/tmp/" LEFT) != cases[i].goes, "%s: it %s",
              cases[i].what, cases[i].goes ? "stays" : "goes");
        CHECK(bkt_store_ahead(st) == 86400 * (cases[i].server - cases[i].ours), "%s: ahead by %lld s", cases[i].what,
              (long long)bkt_store_ahead(st));
        bkt_store_close(st);
        days.ours = days.server = days.writer = days.age = 0;
    }
    (void)unlink(path_of(".h5bucket/tmp/" LEFT));
    struct dirent *e;
    DIR           *d = opendir(path_of(".h5bucket/tmp"));
    while (d && (e = readdir(d))) /* NOLINT(concurrency-mt-unsafe): a stream of our own */
        CHECK(e->d_name[0] == '.', "%s is left", e->d_name);
    CHECK(d && closedir(d) == 0, "a folder");
}

static bool is_ahead(struct bkt_store *st, int64_t seconds) { return llabs(bkt_store_ahead(st) - seconds) <= 1; }

/* A caller that lists many files may ask for each of them.  A scratch file shows the folder's clock once a second,
 * and once more if the local clock was set. */
static void clocks_are_compared_once_a_second(struct bkt_store *st)
{
    double from = bkt_clock_always();
    unsigned before = fstats;
    CHECK(is_ahead(st, 0), "the same clock");
    unsigned each = fstats - before;
    for (int i = 0; i < 1000; i++)
        CHECK(is_ahead(st, 0), "the same clock");
    CHECK(each > 0 && fstats - before <= each * (2 + bkt_clock_always() - from),
          "%u calls, %u for each scratch file", fstats - before, each);
    days.ours = -1;
    CHECK(is_ahead(st, 86400), "the local clock was set back");
    days.ours = 0;
    CHECK(is_ahead(st, 0), "and forward");
    days.server = 1;
    (void)usleep(1100000);
    CHECK(is_ahead(st, 86400), "the folder's clock was set");
    days.server = 0;
}

static void empty_directories_go(struct bkt_store *st)
{
    CHECK(put_text(st, "mine/out/x.h5/.domain.json", "{}", NULL, NULL, NULL) == BKT_OK && exists("mine/out/x.h5"), "put");
    CHECK(del(st, "mine/out/x.h5/.domain.json") == BKT_OK && !exists("mine/out/x.h5") && exists("mine/out"),
          "the domain's directory goes, the one that it lay in stays");
    CHECK(put_text(st, "db/u/d/e/.dataset.json", "{}", NULL, NULL, NULL) == BKT_OK, "put");
    CHECK(put_text(st, "db/u/d/e/0_0", "c", NULL, NULL, NULL) == BKT_OK, "put");
    CHECK(put_text(st, "db/w/.group.json", "c", NULL, NULL, NULL) == BKT_OK, "put");
    CHECK(del(st, "db/u/d/e/0_0") == BKT_OK && exists("db/u/d/e"), "not while something is left");
    CHECK(del(st, "db/u/d/e/.dataset.json") == BKT_OK && !exists("db/u") && exists("db/w"), "all of the domain's goes");
    CHECK(del(st, "db/w/.group.json") == BKT_OK && !exists("db/w") && exists("db"), "but not db");
}

/* Directories vanish under a writer that is about to write into them. */
static void *in_and_out(void *arg)
{
    char key[40];
    (void)snprintf(key, sizeof key, "db/busy/d/%lx", (unsigned long)pthread_self());
    for (int i = 0; i < 200; i++)
        if (put_text(arg, key, "x", NULL, i % 2 ? "*" : NULL, NULL) != BKT_OK || del(arg, key) != BKT_OK)
            return arg;
    return NULL;
}
static void writing_and_deleting_at_once(struct bkt_store *st)
{
    pthread_t t[6];
    void     *bad = NULL;
    for (int i = 0; i < 6; i++)
        CHECK(pthread_create(&t[i], NULL, in_and_out, st) == 0, "thread");
    for (int i = 0; i < 6; i++)
        CHECK(pthread_join(t[i], &bad) == 0 && !bad, "thread %d failed", i);
}

static void a_directory_without_permission_is_read_only(void)
{
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        if (geteuid() == 0 && (chmod(dir, 0755) < 0 || setgid(65534) < 0 || setuid(65534) < 0))
            _exit(2);
        struct bkt_store *st = open_store("file:///usr", "");
        bool              ok = bkt_store_is_readonly(st) && put_text(st, "k", "x", NULL, NULL, NULL) == BKT_EACCES;
        bkt_store_close(st);
        _exit(!ok);
    }
    int status = 1;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0, "status %d", status);
}

/* The permission for a PUT is known before one is made: the nearest directory on the way to the key shows it. */
static void permissions_show_what_can_be_put(void)
{
    static const struct {
        const char *key;
        int         want;
    } cases[] = {
        {"may/yes/k", BKT_OK},         {"may/yes/new/folders/k", BKT_OK}, {"may/no/k", BKT_EACCES},
        {"may/no/new/k", BKT_EACCES},
    };
    CHECK(mkdir(path_of("may"), 0777) == 0 && mkdir(path_of("may/yes"), 0777) == 0 && mkdir(path_of("may/no"), 0777) == 0, "mkdir");
    CHECK(chmod(path_of("may/yes"), 0777) == 0 && chmod(path_of("may/no"), 0555) == 0, "chmod");
    CHECK((exists(".h5bucket") || mkdir(path_of(".h5bucket"), 0777) == 0) && chmod(path_of(".h5bucket"), 0777) == 0, "scratch");
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        if (geteuid() == 0 && (chmod(dir, 0755) < 0 || setgid(65534) < 0 || setuid(65534) < 0))
            _exit(2);
        struct bkt_store *st = open_store(uri, "");
        int               bad = bkt_store_is_readonly(st) ? 1 : 0;
        for (size_t i = 0; i < BKT_COUNT(cases); i++) {
            struct bkt_err why = {.n = 0};
            int            got = bkt_store_may_put(st, cases[i].key, &why);
            if (got != cases[i].want || (got < 0 && !strstr(why.frame[0].msg, "/may/no can't be written to"))) {
                (void)printf("%s: %d, %s\n", cases[i].key, got, why.n ? why.frame[0].msg : "");
                bad = 1;
            }
        }
        (void)fflush(stdout);
        _exit(bad);
    }
    int status = 1;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0, "status %d", status);
}

/* The error names the folder, not one missing object or temporary file of many.  @p way: 0 it is deleted, 1
 * and made again, 2 moved. */
static void a_deleted_folder_is_named(int way)
{
    static const struct {
        const char *what, *key;
        enum bkt_op op;
        int         moved; /* its result if the folder was only moved */
    } cases[] = {
        {"PUT", "db/a/b", BKT_PUT, BKT_OK},   {"PUT of a new one", "db/x/y", BKT_PUT, BKT_OK}, {"GET", "db/a/b", BKT_GET, BKT_OK},
        {"HEAD", "db/a/b", BKT_HEAD, BKT_OK}, {"GET of none", "db/a/no", BKT_GET, BKT_ENOENT}, {"DELETE", "db/a/b", BKT_DELETE, BKT_OK},
    };
    char name[100], cmd[300];
    (void)snprintf(name, sizeof name, "%s/del", uri);
    CHECK(mkdir(path_of("del"), 0777) == 0, "mkdir");
    struct bkt_store *st = open_store(name, "");
    CHECK(put_text(st, "db/a/b", "1", NULL, NULL, NULL) == BKT_OK, "put");
    (void)snprintf(cmd, sizeof cmd, way == 2 ? "mv %s/del %s/moved" : "rm -r %s/del", dir, dir);
    CHECK(system(cmd) == 0, "%s", cmd);
    CHECK(!way || mkdir(path_of("del"), 0777) == 0, "mkdir");
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        struct bkt_req r   = {.op = cases[i].op, .key = cases[i].key, .put = "2", .put_len = 1, .len = BKT_WHOLE};
        struct bkt_err err = {.n = 0};
        int rc = bkt_store_perform(st, &r, 1, &err);
        CHECK(rc == (way == 2 ? cases[i].moved : BKT_EIO), "way %d, %s: %d, %s", way, cases[i].what, rc, first_line(&err));
        CHECK(way == 2 || (strstr(first_line(&err), path_of("del, was deleted while it was in use")) && err.n == 1), "way %d, %s: %s", way,
              cases[i].what, first_line(&err));
        bkt_req_fini(&r);
    }
    bkt_store_close(st);
    (void)snprintf(cmd, sizeof cmd, "rm -rf %s/del %s/moved", dir, dir);
    CHECK(system(cmd) == 0, "%s", cmd);
}

/* The clock stands still, except for the time that the test lets pass: a process that is stopped on a busy
 * machine loses no time. */
static atomic_long passed, looks; /* seconds; how often a waiting process looked */

int __real_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
    if (id != CLOCK_MONOTONIC)
        return __real_clock_gettime(id, t);
    *t = (struct timespec){1000 + atomic_load(&passed), 0};
    atomic_fetch_add(&looks, 1);
    return 0;
}

static atomic_bool came; /* to its end */

static void *takes_a_turn(void *arg)
{
    int held = bkt_store_turn(arg, "db/turns");
    bkt_store_end_turn(arg, held);
    atomic_store(&came, true);
    return held < 0 ? NULL : arg;
}

/* And each waiting process has seen it: it looks at the clock two or three times each time round. */
static void let_pass(long seconds)
{
    atomic_fetch_add(&passed, seconds);
    for (long seen = atomic_load(&looks) + 8; atomic_load(&looks) < seen && !atomic_load(&came);)
        (void)usleep(1000);
}

/* A process that waits for a turn goes on waiting as long as others come and go, but not for one that keeps
 * it. */
static void turns_come(struct bkt_store *st)
{
    pthread_t waits, late;
    void     *got = NULL;
    int       held = bkt_store_turn(st, "db/turns");
    CHECK(held >= 0, "the first");
    CHECK(pthread_create(&waits, NULL, takes_a_turn, st) == 0, "thread");
    let_pass(0);
    for (int i = 0; i < 2; i++) {
        let_pass(3);
        (void)usleep(20000); /* the marks of two turns differ: file systems count in milliseconds */
        bkt_store_end_turn(st, held);
        held = i ? -1 : bkt_store_turn(st, "db/turns");
        if (!i)
            let_pass(0);
    }
    CHECK(pthread_join(waits, &got) == 0 && got, "it got its turn after 6 s");
    held = bkt_store_turn(st, "db/turns");
    atomic_store(&came, false);
    CHECK(pthread_create(&late, NULL, takes_a_turn, st) == 0, "thread");
    let_pass(0);
    let_pass(5);
    CHECK(!atomic_load(&came), "it waits for 5 s");
    let_pass(1);
    CHECK(pthread_join(late, &got) == 0 && !got, "it goes on without");
    bkt_store_end_turn(st, held);
}

/* In a program that runs without standard input nothing of the store's takes its place. */
static void no_file_is_standard_input(void)
{
    int kept = fcntl(0, F_DUPFD_CLOEXEC, 10);
    (void)close(0);
    struct bkt_store *st   = open_store(uri, "");
    int               next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    CHECK(fcntl(0, F_GETFD) >= 0 && next > 2, "descriptor %d is free", next);
    (void)close(next);
    bkt_store_close(st);
    if (kept >= 0)
        (void)dup2(kept, 0);
    (void)close(kept);
}

static void *puts_one(void *arg)
{
    struct bkt_req r = {.op = BKT_PUT, .key = "p/kept", .put = "x", .put_len = 1};
    static int     rc;
    rc = bkt_store_perform(arg, &r, 1, NULL);
    CHECK(rc == BKT_OK || (r.err && strstr(r.err->frame[0].msg, "end it if it is stopped")), "it says why");
    bkt_req_fini(&r);
    atomic_store(&came, true);
    return &rc;
}

/* A process that is stopped with a key's lock may go on any time, and others can't go past it: they get an
 * error, and can try again. */
static void stopped_writers_are_reported(void)
{
    struct bkt_store *st = open_store(uri, "deadline_ms=3000");
    pthread_t         t;
    void             *rc = NULL;
    int               kept[256];
    char              name[40];
    for (int i = 0; i < 256; i++) {
        (void)snprintf(name, sizeof name, ".h5bucket/lock/%02x", (unsigned)i);
        kept[i] = open(path_of(name), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
        CHECK(kept[i] >= 0 && flock(kept[i], LOCK_EX) == 0, "%s", name);
    }
    for (int i = 0; i < 2; i++) {
        atomic_store(&came, false);
        CHECK(pthread_create(&t, NULL, puts_one, st) == 0, "thread");
        let_pass(0);
        let_pass(3);
        CHECK(!atomic_load(&came), "it waits for deadline_ms");
        if (i)
            for (int k = 0; k < 256; k++)
                (void)close(kept[k]);
        else
            let_pass(1);
        CHECK(pthread_join(t, &rc) == 0 && *(int *)rc == (i ? BKT_OK : BKT_ETIME), "%d", *(int *)rc);
    }
    CHECK(exists("p/kept") && del(st, "p/kept") == BKT_OK, "the second one is stored");
    bkt_store_close(st);
}

/* ---- sums ---- */

static int read_at(struct bkt_store *st, const char *key, uint64_t off, uint64_t len, char *to, struct bkt_err *err)
{
    struct bkt_req r  = {.op = BKT_GET, .key = key, .off = off, .len = len, .dst = len == BKT_WHOLE ? NULL : to};
    int rc = bkt_store_perform(st, &r, 1, err);
    if (rc == BKT_OK && len == BKT_WHOLE && r.n <= 100)
        memcpy(to, r.body.ptr, r.n);
    bkt_req_fini(&r);
    return rc;
}

/* @p keep: as if the medium had changed it; else as another writer does it, in the same inode */
static void write_in_place(const char *name, const char *text, bool keep)
{
    struct timespec t  = time_of(name);
    int             fd = open(path_of(name), O_WRONLY | O_CLOEXEC);
    CHECK(fd >= 0 && pwrite(fd, text, strlen(text), 0) == (ssize_t)strlen(text), "%s", name);
    t.tv_sec += !keep;
    CHECK(futimens(fd, (struct timespec[2]){t, t}) == 0, "%s", name);
    (void)close(fd);
}

static void bytes_are_compared_with_their_sum(struct bkt_store *st)
{
    char           sum[100] = "", got[101] = "";
    struct bkt_err err = {0};
    for (int i = 0; i < 3; i++) /* also of one whose time had to be moved on */
        CHECK(put_text(st, "s/a", "123456789", NULL, NULL, NULL) == BKT_OK, "put");
    if (getxattr(path_of("s/a"), "user.h5bucket.crc32c", sum, sizeof sum - 1) < 0) {
        CHECK(errno == EOPNOTSUPP, "no sum");
        return;
    }
    CHECK(strncmp(sum, "e3069283 9 ", 11) == 0, "'%s'", sum);
    CHECK(read_at(st, "s/a", 0, BKT_WHOLE, got, &err) == BKT_OK && strcmp(got, "123456789") == 0, "%s", got);
    write_in_place("s/a", "12345678X", true);
    CHECK(read_at(st, "s/a", 0, BKT_WHOLE, got, &err) == BKT_EFORMAT && strstr(first_line(&err), "s/a") &&
          strstr(first_line(&err), "e3069283"), "whole: %s", first_line(&err));
    bkt_err_clear(&err);
    CHECK(read_at(st, "s/a", 0, 9, got, &err) == BKT_EFORMAT && strstr(first_line(&err), "s/a"), "as a range: %s", first_line(&err));
    CHECK(read_at(st, "s/a", 1, 4, got, NULL) == BKT_OK && strncmp(got, "2345", 4) == 0, "a part");
    write_in_place("s/a", "by HSDS", false);
    CHECK(read_at(st, "s/a", 0, BKT_WHOLE, got, NULL) == BKT_OK && strcmp(got, "by HSDS8X") == 0, "in place: %s", got);
    CHECK(put_text(st, "s/a", "new", NULL, NULL, NULL) == BKT_OK && put_text(st, "s/a", "", NULL, NULL, NULL) == BKT_OK, "put");
    CHECK(read_at(st, "s/a", 0, BKT_WHOLE, got, NULL) == BKT_OK, "empty");
}

/* A clock that was set back: make_newer() moves the file's time on, and the sum with it. */
static void a_sum_goes_with_the_file_s_time(struct bkt_store *st)
{
    char            got[101] = "";
    struct timespec ahead    = {time(NULL) + 5000, 0};
    CHECK(put_text(st, "s/t", "123456789", NULL, NULL, NULL) == BKT_OK, "put");
    CHECK(utimensat(AT_FDCWD, path_of("s/t"), (struct timespec[2]){ahead, ahead}, 0) == 0, "time");
    CHECK(put_text(st, "s/t", "123456789", NULL, NULL, NULL) == BKT_OK && time_of("s/t").tv_sec >= ahead.tv_sec, "put");
    write_in_place("s/t", "x", true);
    if (getxattr(path_of("s/t"), "user.h5bucket.crc32c", got, 1) >= 0 || errno != EOPNOTSUPP)
        CHECK(read_at(st, "s/t", 0, BKT_WHOLE, got, NULL) == BKT_EFORMAT, "not compared");
}

int main(void)
{
    char cmd[64];
    if (!mkdtemp(dir))
        return 1;
    (void)snprintf(uri, sizeof uri, "file://%s", dir);
    a_directory_without_permission_is_read_only();
    permissions_show_what_can_be_put();
    no_file_is_standard_input();
    for (int way = 0; way < 3; way++)
        a_deleted_folder_is_named(way);
    struct bkt_store *st = open_store(uri, "");
    no_two_versions_share_an_etag(st);
    processes_lose_no_update(st);
    killed_writers_do_not_matter(st);
    files_of_killed_writers_are_removed();
    clocks_are_compared_once_a_second(st);
    empty_directories_go(st);
    turns_come(st);
    bytes_are_compared_with_their_sum(st);
    a_sum_goes_with_the_file_s_time(st);
    stopped_writers_are_reported();
    writing_and_deleting_at_once(st);
    bkt_store_close(st);
    st = open_store(uri, "fsync=no");
    writing_and_deleting_at_once(st);
    bkt_store_close(st);
    bkt_store_shutdown();
    (void)snprintf(cmd, sizeof cmd, "rm -r %s", dir);
    return system(cmd) != 0 || failures != 0;
}
