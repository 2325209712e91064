/* A domain in a folder whose disk is full, or that the program may not write to.  HDF5's call fails with the
 * reason.  Written data stay in memory until the same call succeeds, and protected files don't change. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "h5tests/helpers/compare.h"
#include "h5tests/helpers/must_succeed_file.h"
#include "helpers/own_mounts.h"

enum { N = 40000, CHUNK = 10000 }; /* ints: 160 KB in chunks of 40 KB */

static char dir[] = "/tmp/bkt-disk-XXXXXX";

static const char *in_dir(const char *name)
{
    static char path[200];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void holds(hid_t d, int base)
{
    static int v[N];
    unsigned   wrong = 0;
    TRY(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    for (int i = 0; i < N; i++)
        wrong += v[i] != base + i;
    CHECK(!wrong, "%u of %d values are not those that were written last", wrong, N);
}

static void make_domain(const char *name, int base)
{
    hid_t f = TRY(H5Fcreate(name, H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT));
    require_connector(f, "bucket");
    hid_t d = make_dataset(f, "data", &(struct made){.dims = {N}, .chunk = {CHUNK}});
    write_all_numbers(d, N, base, 1);
    TRY(H5Dclose(d));
    TRY(H5Fclose(f));
}

/* @p fill makes that nothing more can be stored, @p empty that it can. */
static void full_and_not(const char *leaf, void (*fill)(void), void (*empty)(void), const char *words)
{
    char name[200];
    (void)snprintf(name, sizeof name, "%s", in_dir(leaf));
    make_domain(name, 1);
    hid_t f = TRY(H5Fopen(name, H5F_ACC_RDWR, H5P_DEFAULT)), d = TRY(H5Dopen2(f, "data", H5P_DEFAULT));
    fill();
    write_all_numbers(d, N, 500000, 1);
    set_attr(f, "late", 5);
    TRY(H5Gclose(TRY(H5Gcreate2(f, "late", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))));
    for (int i = 0; i < 2; i++)
        FAILS(H5Fflush(f, H5F_SCOPE_GLOBAL), words);
    holds(d, 500000);
    TRY(H5Dclose(d));
    FAILS(H5Fclose(f), words);
    CHECK(H5Iis_valid(f) > 0, "the file is still open");
    empty();
    TRY(H5Fclose(f));
    f = TRY(H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT));
    d = TRY(H5Dopen2(f, "data", H5P_DEFAULT));
    holds(d, 500000);
    CHECK(H5Aexists(f, "late") > 0 && H5Lexists(f, "late", H5P_DEFAULT) > 0, "what was made last is missing");
    TRY(H5Dclose(d));
    TRY(H5Fclose(f));
}

/* ---- a limit for files, which every user can set ---- */

static void limit(rlim_t bytes)
{
    struct rlimit l;
    CHECK(getrlimit(RLIMIT_FSIZE, &l) == 0, "getrlimit");
    l.rlim_cur = bytes;
    CHECK(setrlimit(RLIMIT_FSIZE, &l) == 0, "setrlimit: %d", errno);
}
static void low(void) { limit(8000); } /* metadata, but no chunk */
static void high(void) { limit(RLIM_INFINITY); }

static void a_limit(void)
{
    (void)signal(SIGXFSZ, SIG_IGN);
    full_and_not("limit.h5", low, high, "File too large");
}

/* ---- a full disk ---- */

static void fill_disk(void)
{
    static char block[4096];
    int         fd = open(in_dir("ballast"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    while (fd >= 0 && write(fd, block, sizeof block) > 0)
        ;
    CHECK(fd >= 0 && errno == ENOSPC && close(fd) == 0, "the disk is not full: %d", errno);
}
static void empty_disk(void) { CHECK(unlink(in_dir("ballast")) == 0, "%d", errno); }

/* A file system of a megabyte over our folder, in this process's own view of files: it ends with it. */
static bool small_disk(void)
{
    return own_mounts() && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 && mount("bkt-disk", dir, "tmpfs", 0, "size=1m") == 0;
}

static void a_full_disk(void)
{
    if (!small_disk()) {
        printf("a full disk: left out, this user may mount nothing (%s)\n", strerrordesc_np(errno));
        return;
    }
    full_and_not("full.h5", fill_disk, empty_disk, "No space left");
}

/* ---- a folder of another user ---- */

static bool somebody_else(void)
{
    bool is = geteuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0);
    CHECK(is, "no other user: %d", errno);
    return is;
}

static void only_to_be_read(void)
{
    if (!somebody_else())
        return;
    hid_t f = TRY(H5Fopen(in_dir("theirs.h5"), H5F_ACC_RDONLY, H5P_DEFAULT)), d = TRY(H5Dopen2(f, "data", H5P_DEFAULT));
    holds(d, 7);
    TRY(H5Dclose(d));
    TRY(H5Fclose(f));
    FAILS(H5Fopen(in_dir("theirs.h5"), H5F_ACC_RDWR, H5P_DEFAULT), "read-only");
    FAILS(H5Fcreate(in_dir("theirs.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), "the store is read-only");
    FAILS(H5Fcreate(in_dir("mine.h5"), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT), "the store is read-only");
    FAILS(H5Fdelete(in_dir("theirs.h5"), H5P_DEFAULT), "read-only");
}

/* The scratch folder may be written to, but not the folder of the objects. */
static void objects_to_be_read(void)
{
    if (!somebody_else())
        return;
    TRY(H5Fclose(TRY(H5Fopen(in_dir("theirs.h5"), H5F_ACC_RDONLY, H5P_DEFAULT))));
    FAILS(H5Fopen(in_dir("theirs.h5"), H5F_ACC_RDWR, H5P_DEFAULT), "/db/");
    FAILS(H5Fcreate(in_dir("theirs.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), "can't be written to: Permission denied");
    FAILS(H5Fcreate(in_dir("mine.h5"), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT), "can't be written to: Permission denied");
}

/* Only deeper folders may not be written to: the first PUT finds that out. */
static void partly_to_be_read(void)
{
    if (!somebody_else())
        return;
    hid_t f = TRY(H5Fopen(in_dir("theirs.h5"), H5F_ACC_RDWR, H5P_DEFAULT)), d = TRY(H5Dopen2(f, "data", H5P_DEFAULT));
    write_all_numbers(d, N, 900000, 1);
    set_attr(f, "new", 1);
    FAILS(H5Fflush(f, H5F_SCOPE_GLOBAL), "Permission denied");
    holds(d, 900000);
    TRY(H5Dclose(d));
    FAILS(H5Fclose(f), "Permission denied");
}

/* The chunks were refused; the group, where the attribute is, was not. */
static void partly_stored(void)
{
    hid_t f = TRY(H5Fopen(in_dir("theirs.h5"), H5F_ACC_RDONLY, H5P_DEFAULT)), d = TRY(H5Dopen2(f, "data", H5P_DEFAULT));
    holds(d, 7);
    CHECK(get_attr(f, "new") == 1, "the attribute");
    TRY(H5Dclose(d));
    TRY(H5Fclose(f));
}

/* All that lies there, with its bytes. */
static char *sums(void)
{
    char   cmd[300];
    char  *text = NULL;
    size_t n    = 0;
    (void)snprintf(cmd, sizeof cmd, "cd %s && find . -name .h5bucket -prune -o -print | sort; find . -name .h5bucket -prune -o "
                   "-type f -exec sha256sum {} + | sort", dir);
    FILE *p = popen(cmd, "r");
    CHECK(p && getdelim(&text, &n, 0, p) > 100 && pclose(p) == 0, "sums");
    return text;
}

static void shell(const char *command) /* with a %s */
{
    char cmd[300];
    (void)snprintf(cmd, sizeof cmd, "%.*s%s%s", (int)(strstr(command, "%s") - command), command, dir, strstr(command, "%s") + 2);
    CHECK(system(cmd) == 0, "%s", cmd);
}

static void in_child(void (*run)(void))
{
    int status = 1;
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        failures = 0;
        run();
        (void)fflush(NULL);
        _exit(failures != 0); /* unstored changes aren't tried once more */
    }
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "status %d", status);
}

static void folders_of_others(void)
{
    make_domain(in_dir("theirs.h5"), 7);
    char *before = sums();
    shell("find %s -type d -exec chmod 0555 {} +");
    in_child(only_to_be_read);
    shell("chmod -R a+rwX %s/.h5bucket");
    in_child(objects_to_be_read);
    char *after = sums();
    CHECK(before && after && strcmp(before, after) == 0, "something has changed:\n%s\n%s", before, after);
    shell("chmod a+rwX %s/db/*-*");
    in_child(partly_to_be_read);
    shell("chmod -R u+rwX %s");
    in_child(partly_stored);
    free(before);
    free(after);
}

int main(void)
{
    if (!mkdtemp(dir) || chmod(dir, 0755) < 0)
        return 1;
    (void)umask(022);
    (void)setenv("HDF5_VOL_CONNECTOR", "bucket", 1);
    TRY(H5Eset_auto2(H5E_DEFAULT, NULL, NULL));
    folders_of_others();
    in_child(a_limit);
    in_child(a_full_disk);
    TRY(H5close());
    shell("rm -r %s");
    return failures != 0;
}
