/* Hostile folders: symbolic links below a bucket's root, and files that other users put there (file_impl.h,
 * [F3] and [F7]).  Everything is done with openat2() and without. */
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os/beneath.h"
#include "helpers/store_testing.h"

enum { OWNER = 65001, OTHER = 65002, GROUP = 65003 };

static char dir[] = "/tmp/bkt-links-XXXXXX";

static const char *path_of(const char *name)
{
    static char text[4][300];
    static int  turn;
    char       *to = text[turn++ % 4];
    (void)snprintf(to, sizeof text[0], "%s/%s", dir, name);
    return to;
}

static void shell(const char *command)
{
    char text[2000];
    (void)snprintf(text, sizeof text, "cd %s && { %s; }", dir, command);
    CHECK(system(text) == 0, "%s", text);
}

static bool exists(const char *name)
{
    struct stat sb;
    return lstat(path_of(name), &sb) == 0;
}

static struct bkt_store *open_bucket(const char *name, const char *settings)
{
    char uri[320];
    (void)snprintf(uri, sizeof uri, "file://%s", path_of(name));
    return open_store(uri, settings);
}

static int run(struct bkt_store *st, enum bkt_op op, const char *key, const char *none, char *text, struct bkt_err *err)
{
    struct bkt_req r = {.op = op, .key = key, .put = "ours", .put_len = op == BKT_PUT ? 4 : 0, .len = BKT_WHOLE, .if_none_match = none};
    err->n           = 0;
    int rc = bkt_store_perform(st, &r, 1, err);
    if (text)
        (void)snprintf(text, 40, "%.39s", bkt_buf_str(&r.body));
    bkt_req_fini(&r);
    return rc;
}

static int add_key(const struct bkt_listed *e, void *arg)
{
    char  *text = arg;
    size_t n    = strlen(text);
    (void)snprintf(text + n, 2000 - n, "%s%s", n ? " " : "", e->key);
    return BKT_OK;
}

static int list(struct bkt_store *st, const char *prefix, char text[2000], struct bkt_err *err)
{
    text[0] = 0;
    err->n  = 0;
    return bkt_store_list(st, prefix, "", add_key, text, err);
}

/* The files that must stay as they are, whatever is done in the bucket. */
static void make_outside(void)
{
    shell("rm -rf out b && mkdir -p out/d/e b/db/real/d && printf secret > out/.group.json && printf secret > out/d/e/0_0 && "
          "touch -d '3 days ago' out/notes.txt out/17-0123456789abcdef && printf mine > b/db/real/.group.json");
}
static void outside_is_whole(const char *after)
{
    char text[1000] = "";
    FILE *f = popen("find out ! -name '*.swp' | sort | tr '\\n' ' '", "r"); /* NOLINT(cert-env33-c) */
    CHECK(f && fgets(text, sizeof text, f), "find");
    (void)pclose(f);
    CHECK(strcmp(text, "out out/.group.json out/17-0123456789abcdef out/d out/d/e out/d/e/0_0 out/notes.txt ") == 0, "%s: %s", after, text);
    struct stat sb;
    CHECK(stat("out/.group.json", &sb) == 0 && sb.st_size == 6 && stat("out/d/e/0_0", &sb) == 0 && sb.st_size == 6, "%s: sizes", after);
}

/* Every way to a file outside: a link to a folder at each place of a key, and one in the place of the object. */
static const struct {
    const char *make, *key, *link;
    bool        leaf;
} ways[] = {
    {"ln -s ../out b/db", "db/d/e/0_0", "db", false},
    {"mkdir b/db && ln -s ../../out b/db/R", "db/R/.group.json", "db/R", false},
    {"mkdir b/db && ln -s ../../out b/db/R", "db/R/d/e/0_0", "db/R", false},
    {"mkdir -p b/db/R && ln -s $PWD/out/d b/db/R/d", "db/R/d/e/0_0", "db/R/d", false},
    {"mkdir -p b/db/R/d && ln -s ../../../../out/d/e b/db/R/d/e", "db/R/d/e/0_0", "db/R/d/e", false},
    {"mkdir -p b/db/R/d/e && ln -s $PWD/out/d/e/0_0 b/db/R/d/e/0_0", "db/R/d/e/0_0", "db/R/d/e/0_0", true},
    {"mkdir -p b/db/R && ln -s ../../../out/.group.json b/db/R/.group.json", "db/R/.group.json", "db/R/.group.json", true},
    {"mkdir -p b/db/R && ln -s ../../../out/new b/db/R/.group.json", "db/R/.group.json", "db/R/.group.json", true}, /* dangling */
    {"ln -s ../out b/home", "home/.group.json", "home", false},
};

static void is_refused(int rc, const struct bkt_err *err, const char *what, size_t i)
{
    char want[300];
    (void)snprintf(want, sizeof want, "%s is a symbolic link, ", path_of(ways[i].link) + 0);
    const char *in = strstr(first_line(err), "/b/");
    CHECK(rc == BKT_EACCES && in && strncmp(in + 3, ways[i].link, strlen(ways[i].link)) == 0 && strstr(first_line(err), "links=follow"),
          "way %zu, %s: %d, %s", i, what, rc, first_line(err));
}

static void links_are_not_followed(void)
{
    for (size_t i = 0; i < BKT_COUNT(ways); i++) {
        struct bkt_err err = {.n = 0};
        char           text[2000], prefix[100];
        make_outside();
        shell("rm -r b && mkdir b");
        shell(ways[i].make);
        struct bkt_store *st = open_bucket("b", "fsync=no");
        is_refused(run(st, BKT_GET, ways[i].key, NULL, NULL, &err), &err, "GET", i);
        is_refused(run(st, BKT_HEAD, ways[i].key, NULL, NULL, &err), &err, "HEAD", i);
        is_refused(run(st, BKT_PUT, ways[i].key, NULL, NULL, &err), &err, "PUT", i);
        is_refused(run(st, BKT_PUT, ways[i].key, "*", NULL, &err), &err, "PUT of a new one", i);
        if (!ways[i].leaf) {
            err.n = 0;
            is_refused(bkt_store_may_put(st, ways[i].key, &err), &err, "may put", i);
            is_refused(run(st, BKT_DELETE, ways[i].key, NULL, NULL, &err), &err, "DELETE", i);
            (void)snprintf(prefix, sizeof prefix, "%s/", ways[i].link);
            is_refused(list(st, prefix, text, &err), &err, "list", i);
        }
        CHECK(list(st, "", text, &err) == BKT_OK && strcmp(text, ways[i].link) == 0, "way %zu: the link is a key: %s", i, text);
        CHECK(run(st, BKT_DELETE, ways[i].link, NULL, NULL, &err) == BKT_OK && !exists("b/home"), "%s", first_line(&err));
        CHECK(list(st, "", text, &err) == BKT_OK && !*text, "way %zu: the link itself goes: %s", i, text);
        bkt_store_close(st);
        outside_is_whole(ways[i].make);
    }
}

/* links=follow reads, writes and lists through links, and deletes through none. */
static void links_are_followed_if_wanted(void)
{
    struct bkt_err err = {.n = 0};
    char           text[2000];
    make_outside();
    shell("ln -s ../../out b/db/R && ln -s ../../../../out/d/e/0_0 b/db/real/d/file");
    struct bkt_store *st = open_bucket("b", "links=follow;fsync=no");
    CHECK(run(st, BKT_GET, "db/R/d/e/0_0", NULL, text, &err) == BKT_OK && strcmp(text, "secret") == 0, "%s", first_line(&err));
    CHECK(run(st, BKT_GET, "db/real/d/file", NULL, text, &err) == BKT_OK && strcmp(text, "secret") == 0, "%s", first_line(&err));
    CHECK(list(st, "db/", text, &err) == BKT_OK &&
              strcmp(text, "db/R/.group.json db/R/17-0123456789abcdef db/R/d/e/0_0 db/R/notes.txt db/real/.group.json db/real/d/file") == 0,
          "%s %s", text, first_line(&err));
    CHECK(run(st, BKT_DELETE, "db/R/d/e/0_0", NULL, NULL, &err) == BKT_EACCES && strstr(first_line(&err), "b/db/R is a symbolic link, and "
          "nothing is deleted through one"), "%s", first_line(&err));
    CHECK(run(st, BKT_DELETE, "db/R/.group.json", NULL, NULL, &err) == BKT_EACCES, "%s", first_line(&err));
    outside_is_whole("DELETE with links=follow");
    CHECK(run(st, BKT_DELETE, "db/real/d/file", NULL, NULL, &err) == BKT_OK && !exists("b/db/real/d"), "the link itself");
    outside_is_whole("DELETE of a link");
    CHECK(run(st, BKT_PUT, "db/R/n/new", NULL, NULL, &err) == BKT_OK && exists("out/n/new"), "%s", first_line(&err));
    bkt_store_close(st);
}

/* Scratch files and locks: never behind a link, also with links=follow; a sweep takes nothing that isn't ours. */
static void a_scratch_file_is_not_a_link(const char *settings)
{
    static const char *const make[] = {
        "ln -s ../out b/.h5bucket",
        "mkdir b/.h5bucket && ln -s ../../out b/.h5bucket/tmp",
        "mkdir b/.h5bucket && ln -s ../../out b/.h5bucket/lock",
        "mkdir b/.h5bucket && ln -s ../../gone b/.h5bucket/lock",
    };
    for (size_t i = 0; i < BKT_COUNT(make); i++) {
        struct bkt_err err = {.n = 0};
        make_outside();
        shell(make[i]);
        struct bkt_store *st = open_bucket("b", settings);
        CHECK(!bkt_store_is_readonly(st), "%s: a PUT says it", make[i]);
        CHECK(bkt_store_may_put(st, "db/real/x", &err) == BKT_EACCES && strstr(first_line(&err), " is a symbolic link, which can't"),
              "%s: %s", make[i], first_line(&err));
        CHECK(run(st, BKT_PUT, "db/real/x", NULL, NULL, &err) == BKT_EACCES && strstr(first_line(&err), "; remove it"), "%s: %s", make[i],
              first_line(&err));
        CHECK(i == 1 || run(st, BKT_DELETE, "db/real/.group.json", NULL, NULL, &err) == BKT_EACCES, "%s: %s", make[i], first_line(&err));
        int turn = bkt_store_turn(st, "db/real/x");
        CHECK(i == 1 || turn < 0, "%s: a turn", make[i]);
        bkt_store_end_turn(st, turn);
        CHECK(!exists("gone") && !exists("b/db/real/x"), "%s", make[i]);
        bkt_store_close(st);
        outside_is_whole(make[i]);
    }
}

/* Dangling links in the place of every lock file, as FIFOs are. */
static void locks_are_files(void)
{
    for (int fifo = 0; fifo < 2; fifo++) {
        char           name[60];
        struct bkt_err err = {.n = 0};
        make_outside();
        shell("mkdir -p b/.h5bucket/lock");
        for (unsigned i = 0; i < 256; i++) {
            (void)snprintf(name, sizeof name, "b/.h5bucket/lock/%02x", i);
            CHECK((fifo ? mkfifo(name, 0600) : symlink("../../../gone", name)) == 0, "%s", name);
        }
        struct bkt_store *st = open_bucket("b", "fsync=no");
        CHECK(run(st, BKT_PUT, "db/real/x", NULL, NULL, &err) == (fifo ? BKT_EIO : BKT_EACCES) && strstr(first_line(&err), "/lock/"), "%s",
              first_line(&err));
        CHECK(!exists("gone") && !exists("b/db/real/x"), "%s", first_line(&err));
        bkt_store_close(st);
    }
}

static void a_sweep_takes_what_is_ours(void)
{
    static const struct {
        const char *name;
        bool        goes;
    } old[] = {
        {"4711-0123456789abcdef", true},   {"notes.txt", false},              {"4711-0123456789abcde", false},
        {"4711-0123456789abcdef0", false}, {"-0123456789abcdef", false},      {"4711-0123456789ABCDEF", false},
        {"results", false},                {"4711-0123456789abcdef~", false},
    };
    struct bkt_err err = {.n = 0};
    char           name[60];
    make_outside();
    shell("mkdir -p b/.h5bucket/tmp && ln -s ../../../out/17-0123456789abcdef b/.h5bucket/tmp/5-0123456789abcdef && "
          "touch -h -d '3 days ago' b/.h5bucket/tmp/5-0123456789abcdef");
    for (size_t i = 0; i < BKT_COUNT(old); i++) {
        (void)snprintf(name, sizeof name, "b/.h5bucket/tmp/%s", old[i].name);
        int fd = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        CHECK(fd >= 0 && futimens(fd, (struct timespec[]){{1, 0}, {1, 0}}) == 0 && close(fd) == 0, "%s", name);
    }
    if (geteuid() == 0)
        shell("touch -d '3 days ago' b/.h5bucket/tmp/6-0123456789abcdef && chown 65002 b/.h5bucket/tmp/6-0123456789abcdef");
    else
        puts("without another user's file in tmp: not root");
    struct bkt_store *st = open_bucket("b", "fsync=no");
    CHECK(run(st, BKT_PUT, "db/real/x", NULL, NULL, &err) == BKT_OK, "%s", first_line(&err));
    bkt_store_close(st);
    for (size_t i = 0; i < BKT_COUNT(old); i++) { /* a file's time of change can't be set: storage_file has old ones */
        (void)snprintf(name, sizeof name, "b/.h5bucket/tmp/%s", old[i].name);
        CHECK(old[i].goes || exists(name), "%s", name);
    }
    CHECK(geteuid() != 0 || exists("b/.h5bucket/tmp/6-0123456789abcdef"), "another user's");
    outside_is_whole("sweep");
}

/* ---- races ---- */

static atomic_bool over;

/* b/db/R/d is a folder, then a link, then a folder, … */
static void *swaps(void *arg)
{
    const int d = *(int *)arg;
    while (!atomic_load(&over))
        (void)renameat2(d, "db/R/d", d, "link", RENAME_EXCHANGE);
    return NULL;
}

static void swapped_folders_lead_nowhere(void)
{
    pthread_t      t;
    struct bkt_err err = {.n = 0};
    char           text[2000];
    unsigned       seen = 0, refused = 0;
    make_outside();
    shell("mkdir -p b/db/R/d/e && printf mine > b/db/R/d/e/0_0 && ln -s ../../../out/d b/link");
    atomic_store(&over, false);
    struct bkt_store *st = open_bucket("b", "fsync=no");
    int at = open(path_of("b"), O_PATH | O_DIRECTORY | O_CLOEXEC);
    CHECK(at >= 0 && pthread_create(&t, NULL, swaps, &at) == 0, "thread");
    for (double end = seconds() + 1; seconds() < end;) {
        int rc = run(st, BKT_GET, "db/R/d/e/0_0", NULL, text, &err);
        CHECK(rc != BKT_OK || strcmp(text, "mine") == 0 || strcmp(text, "ours") == 0, "read '%s'", text);
        seen += rc == BKT_OK;
        refused += rc == BKT_EACCES;
        (void)run(st, BKT_PUT, "db/R/d/e/0_0", NULL, NULL, &err);
        (void)run(st, BKT_PUT, "db/R/d/e/1_0", "*", NULL, &err);
        (void)run(st, BKT_DELETE, "db/R/d/e/1_0", NULL, NULL, &err);
        (void)run(st, BKT_DELETE, "db/R/d/e/17-0123456789abcdef", NULL, NULL, &err);
        rc = list(st, "db/", text, &err);
        CHECK(rc != BKT_OK || !strstr(text, "secret"), "%s", text);
    }
    atomic_store(&over, true);
    CHECK(pthread_join(t, NULL) == 0 && seen && refused, "%u read, %u refused", seen, refused);
    (void)close(at);
    bkt_store_close(st);
    outside_is_whole("swaps");
}

/* ---- other users ---- */

/* Runs @p what as another user and returns its result. */
static int as_user(uid_t uid, int (*what)(const void *arg), const void *arg)
{
    int status = 1;
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        gid_t group = GROUP;
        (void)umask(uid == OTHER ? 0 : 002);
        if (setgroups(1, &group) < 0 || setgid(uid) < 0 || setuid(uid) < 0)
            _exit(99);
        _exit(what(arg));
    }
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status), "user %u: %d", (unsigned)uid, status);
    return WEXITSTATUS(status);
}

struct act {
    const char *key, *says; /* NULL: it succeeds */
};

static int puts_one(const void *arg)
{
    const struct act *a   = arg;
    struct bkt_err    err = {.n = 0}, may = {.n = 0};
    struct bkt_store *st  = open_bucket("b", "fsync=no");
    int               mrc = bkt_store_may_put(st, a->key, &may);
    int               rc  = run(st, BKT_PUT, a->key, NULL, NULL, &err);
    bool              ok  = a->says ? rc == BKT_EACCES && mrc == BKT_EACCES && strstr(first_line(&err), a->says) && strstr(first_line(&may), a->says)
                                    : rc == BKT_OK && mrc == BKT_OK;
    if (!ok)
        (void)fprintf(stderr, "%s (%s): %d %s, %d %s\n", a->key, a->says ? a->says : "", rc, first_line(&err), mrc, first_line(&may));
    bkt_store_close(st);
    return !ok;
}

static void others_folders(void)
{
    static const struct {
        const char *what, *make; /* make: by root; b is the bucket */
        struct act  act;         /* by the owner's user id */
    } cases[] = {
        {"a db that somebody planted in a folder for all", "mkdir b && chmod 0777 b && mkdir -m 0777 b/db && chown 65002 b/db",
         {"db/R/.group.json", "b/db belongs to user 65002"}},
        {"the same with the sticky bit", "mkdir b && chmod 1777 b && mkdir -m 0777 b/db && chown 65002 b/db",
         {"db/R/.group.json", "b/db belongs to user 65002"}},
        {"a scratch folder", "mkdir b && chmod 1777 b && mkdir -m 0777 b/.h5bucket && chown 65002 b/.h5bucket",
         {"home/x", "b/.h5bucket belongs to user 65002"}},
        {"tmp in it", "mkdir b && chmod 1777 b && mkdir -m 0777 b/.h5bucket b/.h5bucket/tmp && chown 65001 b/.h5bucket && "
         "chown 65002 b/.h5bucket/tmp", {"home/x", "b/.h5bucket/tmp belongs to user 65002"}},
        {"locks in it", "mkdir b && chmod 1777 b && mkdir -m 0777 b/.h5bucket b/.h5bucket/lock && chown 65001 b/.h5bucket && "
         "chown 65002 b/.h5bucket/lock", {"home/x", "b/.h5bucket/lock belongs to user 65002"}},
        {"made by the folder's owner", "mkdir b && chmod 1777 b && mkdir -m 0777 b/.h5bucket b/.h5bucket/lock b/.h5bucket/tmp b/db",
         {"db/R/.group.json", NULL}},
        {"of our own", "mkdir b && chmod 1777 b && mkdir b/db && chown 65001 b/db", {"db/R/.group.json", NULL}},
        {"nothing is there", "mkdir b && chmod 0777 b", {"db/R/.group.json", NULL}},
        {"shared by a group, and used by another first", "mkdir b && chgrp 65003 b && chmod 2775 b && mkdir -m 2775 b/db b/.h5bucket "
         "b/.h5bucket/tmp b/.h5bucket/lock && chown -R 65002 b/db b/.h5bucket", {"db/R/.group.json", NULL}},
        {"a group's, with a link", "mkdir b && chgrp 65003 b && chmod 2775 b && ln -s /tmp b/.h5bucket", {"home/x", "is a symbolic link"}},
    };
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        shell("rm -rf b");
        shell(cases[i].make);
        CHECK(as_user(OWNER, puts_one, &cases[i].act) == 0, "%s", cases[i].what);
    }
}

struct swap {
    const char *name, *key, *says;
};

/* Two objects; between them another user puts a folder in the place of one that was checked. */
static int puts_around_a_swap(const void *arg)
{
    const struct swap *w   = arg;
    struct bkt_err     err = {.n = 0};
    (void)umask(0);
    struct bkt_store *st    = open_bucket("b", "fsync=no");
    int               first = run(st, BKT_PUT, w->key, NULL, NULL, &err);
    char              old[100];
    (void)snprintf(old, sizeof old, "%s.old", w->name);
    bool swapped = rename(w->name, old) == 0 && rename("b/theirs", w->name) == 0;
    int  second  = run(st, BKT_PUT, w->key, NULL, NULL, &err);
    bool ok      = first == BKT_OK && swapped && second == BKT_EACCES && strstr(first_line(&err), w->says);
    if (!ok)
        (void)fprintf(stderr, "%s: %d, %d, %d %s\n", w->name, first, swapped, second, first_line(&err));
    bkt_store_close(st);
    return !ok;
}

static void folders_are_looked_at_again(void)
{
    static const struct swap swaps[] = {
        {"b/db", "db/R/.group.json", "b/db belongs to user 65002"},
        {"b/.h5bucket", "home/x", "b/.h5bucket belongs to user 65002"},
        {"b/.h5bucket/tmp", "home/x", "b/.h5bucket/tmp belongs to user 65002"},
        {"b/.h5bucket/lock", "home/x", "b/.h5bucket/lock belongs to user 65002"},
    };
    for (size_t i = 0; i < BKT_COUNT(swaps); i++) {
        shell("rm -rf b && mkdir b && chmod 0777 b && mkdir b/theirs && chmod 0777 b/theirs && chown 65002 b/theirs");
        CHECK(as_user(OWNER, puts_around_a_swap, &swaps[i]) == 0, "%s", swaps[i].name);
    }
}

static void a_group_shares_a_bucket(void)
{
    static const struct act both = {"db/R/.group.json", NULL}, more = {"db/R/d/e/0_0", NULL};
    shell("rm -rf b && mkdir b && chgrp 65003 b && chmod 2775 b");
    for (int i = 0; i < 2; i++) {
        CHECK(as_user(OWNER, puts_one, &both) == 0 && as_user(OTHER, puts_one, &both) == 0, "the same object");
        CHECK(as_user(OTHER, puts_one, &more) == 0 && as_user(OWNER, puts_one, &more) == 0, "a chunk");
    }
}

int main(void)
{
    if (!mkdtemp(dir) || chdir(dir) < 0 || chmod(dir, 0755) < 0)
        return 1;
    for (int way = 0; way < 2; way++) {
        bkt_beneath_stepwise(way == 1);
        links_are_not_followed();
        links_are_followed_if_wanted();
        a_scratch_file_is_not_a_link("fsync=no");
        a_scratch_file_is_not_a_link("links=follow;fsync=no");
        locks_are_files();
        a_sweep_takes_what_is_ours();
        swapped_folders_lead_nowhere();
        if (geteuid() != 0) {
            puts("without other users' folders: not root");
            continue;
        }
        others_folders();
        folders_are_looked_at_again();
        a_group_shares_a_bucket();
    }
    bkt_store_shutdown();
    shell("rm -rf out b link");
    return chdir("/") < 0 || rmdir(dir) < 0 || failures != 0;
}
