/* See file_impl.h, [F2], [F3] and [F7]: the directories on the way to a key, and the locks. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/os/beneath.h"
#include "base/os/clock.h"
#include "storage/file/file_impl.h"

int bkt_dir_at(const struct bkt_dir_store *st, const char *key, int flags)
{
    return st->follow || !*key ? openat(st->root, *key ? key : ".", flags | O_CLOEXEC)
                               : bkt_beneath_open(st->root, key, flags, 0);
}

static int parent_by_path(const struct bkt_dir_store *st, const char *key, const char **leaf)
{
    char        dir[PATH_MAX];
    const char *slash = strrchr(key, '/');
    *leaf             = slash ? slash + 1 : key;
    if (slash && (size_t)(slash - key) >= sizeof dir) {
        errno = ENAMETOOLONG;
        return -1;
    }
    (void)snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - key) : 1, slash ? key : ".");
    return openat(st->root, dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int bkt_dir_holder(const struct bkt_dir_store *st, const char *key, bool remove, const char **leaf)
{
    return st->follow && !remove ? parent_by_path(st, key, leaf) : bkt_beneath_parent(st->root, key, leaf);
}

static int make_by_path(const struct bkt_dir_store *st, const char *path, bool *made)
{
    char dir[PATH_MAX];
    if (strlen(path) >= sizeof dir) {
        errno = ENAMETOOLONG;
        return -1;
    }
    for (const char *p = strchr(path, '/'); p; p = strchr(p + 1, '/')) {
        memcpy(dir, path, (size_t)(p - path));
        dir[p - path] = 0;
        if (mkdirat(st->root, dir, 0777) == 0)
            *made = true;
        else if (errno != EEXIST)
            return -1;
    }
    return 0;
}

int bkt_dir_make_holder(const struct bkt_dir_store *st, const char *key, const char **leaf, bool *made)
{
    if (!st->follow)
        return bkt_beneath_make_parent(st->root, key, leaf, made);
    return make_by_path(st, key, made) < 0 ? -1 : parent_by_path(st, key, leaf);
}

int bkt_dir_say_link(const struct bkt_dir_store *st, const char *what, const char *key, struct bkt_err *err)
{
    size_t n = bkt_beneath_link(st->root, key);
    BKT_FAIL(err, BKT_EACCES, "%s %s: %s/%.*s is a symbolic link, %s", what, key,
             st->base.uri + strlen("file://"), (int)(n ? n : strlen(key)), key,
             st->follow
                 ? "and nothing is deleted through one; delete its target under the target's name"
                 : "which isn't followed inside a bucket; to allow that, set links=follow (H5BUCKET_LINKS)");
}

/* ---- [F7] ---- */

/* Whether a directory in @p parent is trusted: all users that may put it there are, unless everybody may. */
static bool is_trusted(const struct stat *dir, const struct stat *parent, const struct stat *root)
{
    return !(parent->st_mode & S_IWOTH) || dir->st_uid == geteuid() || dir->st_uid == 0 ||
           dir->st_uid == root->st_uid;
}

static int refuse(const struct bkt_dir_store *st, const char *in, const char *name, unsigned long owner,
                  struct bkt_err *err)
{
    const char *root = st->base.uri + strlen("file://");
    BKT_FAIL(
        err, BKT_EACCES,
        "%s%s/%s belongs to user %lu, and all users may write to its folder; to share "
        "the bucket, withdraw that right (chmod o-w %s%s); otherwise remove %s, or use a folder of your own",
        root, in, name, owner, root, in, name);
}

/* An open directory that scratch directories are in: the store's own, or the first of them. */
struct scratch_parent {
    int fd;
    const char *path; /* below the store's directory */
    struct stat sb;
};

/* Open one of the scratch directories.  -1: the failure is recorded, except ENOENT.
 * @p root: state of the store's directory; @p sb: gets the state of the opened one */
static int open_scratch(const struct bkt_dir_store *st, const struct scratch_parent *in, const char *name,
                        bool make, const struct stat *root, struct stat *sb, struct bkt_err *err)
{
    const char *dir = st->base.uri + strlen("file://");
    int fd = bkt_beneath_open(in->fd, name, O_PATH | O_DIRECTORY, 0);
    if (fd < 0 && errno == ENOENT && make && (mkdirat(in->fd, name, 0777) == 0 || errno == EEXIST))
        fd = bkt_beneath_open(in->fd, name, O_PATH | O_DIRECTORY, 0);
    if (fd >= 0 && fstat(fd, sb) == 0 && is_trusted(sb, &in->sb, root))
        return fd;
    int e = errno;
    if (fd >= 0)
        (void)refuse(st, in->path, name, (unsigned long)sb->st_uid, err);
    else if (e == ELOOP)
        (void)BKT_ERR(err, BKT_EACCES,
                      "%s%s/%s is a symbolic link, which can't hold scratch files and "
                      "locks; remove it",
                      dir, in->path, name);
    else if (e != ENOENT)
        (void)BKT_ERR(err, e == EACCES || e == EROFS ? BKT_EACCES : BKT_EIO, "%s%s/%s: %s", dir, in->path,
                      name, strerrordesc_np(e));
    bkt_file_closep(&fd);
    errno = fd >= 0 ? EACCES : e;
    return -1;
}

int bkt_dir_scratch(struct bkt_dir_store *st, const char *name, bool make, struct bkt_err *err)
{
    struct scratch_parent root = {.fd = st->root, .path = ""}, top = {.path = "/" BKT_FILE_SCRATCH};
    struct stat sb;
    if (fstat(st->root, &root.sb) < 0)
        return -1;
    BKT_CLEANUP(bkt_file_closep)
    int dir = open_scratch(st, &root, BKT_FILE_SCRATCH, make, &root.sb, &top.sb, err);
    top.fd = dir;
    return dir < 0 ? -1 : open_scratch(st, &top, name, make, &root.sb, &sb, err);
}

static bool is_same(struct bkt_dir_seen *seen, const struct stat *sb)
{
    return atomic_load(&seen->ino) == sb->st_ino && atomic_load(&seen->dev) == sb->st_dev;
}

static void see(struct bkt_dir_seen *seen, const struct stat *sb)
{
    atomic_store(&seen->dev, sb->st_dev);
    atomic_store(&seen->ino, sb->st_ino);
}

int bkt_dir_scratch_again(struct bkt_dir_store *st, const char *name, struct bkt_dir_seen *seen,
                          struct bkt_err *err)
{
    char        path[sizeof BKT_FILE_SCRATCH + 10];
    struct stat sb;
    (void)snprintf(path, sizeof path, BKT_FILE_SCRATCH "/%s", name);
    int dir = atomic_load(&seen->ino) ? bkt_beneath_open(st->root, path, O_PATH | O_DIRECTORY, 0) : -1;
    if (dir >= 0 && fstat(dir, &sb) == 0 && is_same(seen, &sb))
        return dir;
    bkt_file_closep(&dir);
    dir = bkt_dir_scratch(st, name, true, err);
    if (dir >= 0 && fstat(dir, &sb) == 0)
        see(seen, &sb);
    return dir;
}

int bkt_dir_check_scratch(struct bkt_dir_store *st, struct bkt_err *err)
{
    static const char *const names[] = {"tmp", "lock"};
    for (size_t i = 0; i < BKT_COUNT(names); i++) {
        struct bkt_err                   why = {.n = 0};
        BKT_CLEANUP(bkt_file_closep) int fd = bkt_dir_scratch(st, names[i], false, &why);
        if (fd < 0 && why.n)
            return bkt_err_copy(err, why.code, &why);
    }
    return BKT_OK;
}

int bkt_dir_check_db(struct bkt_dir_store *st, const char *key, struct bkt_err *err)
{
    struct stat root, db;
    if (strncmp(key, "db/", 3) != 0 || fstatat(st->root, "db", &db, AT_SYMLINK_NOFOLLOW) < 0 ||
        is_same(&st->db, &db))
        return BKT_OK;
    if (fstat(st->root, &root) < 0 || !is_trusted(&db, &root, &root))
        return refuse(st, "", "db", (unsigned long)db.st_uid, err);
    see(&st->db, &db);
    return BKT_OK;
}

/* ---- [F2]: lock files, each for the keys of one hash ---- */

#define LOCKS BKT_FILE_SCRATCH "/lock/"
/* Lock files, and ns between two attempts to get the turn.  Other values make no visible difference. */
#define N_LOCKS     256
#define TURN_PAUSE_NS 2000000
/* Both limits, in seconds, bound the harm that other processes can do.  A turn takes milliseconds.  A writer
 * that holds it for TURN_PATIENCE is stopped, or hangs on the disk.  TURN_MOST is longer than many slow turns
 * together. */
#define TURN_PATIENCE 5
#define TURN_MOST     120
/* ns between two attempts to get a key's lock, at first and at most.  The lock is held only for a rename. */
#define LOCK_PAUSE_NS      50000
#define LOCK_PAUSE_MOST_NS 2000000

/* Open a lock file.  A folder that another process deletes at this moment is created again. */
static int open_lock(struct bkt_dir_store *st, const char *path, struct bkt_err *err)
{
    struct stat sb;
    int         fd = -1;
    for (int i = 0; i < 2 && fd < 0; i++) {
        BKT_CLEANUP(bkt_file_closep) int dir = bkt_dir_scratch_again(st, "lock", &st->lock, err);
        fd = dir < 0 ? -1 : bkt_beneath_open(dir, path + strlen(LOCKS), O_RDWR | O_CREAT, 0666);
        if (dir >= 0 && fd < 0 && errno == ELOOP)
            (void)BKT_ERR(err, BKT_EACCES,
                          "%s/%s is a symbolic link, which can't be used as a lock; remove it",
                          st->base.uri + strlen("file://"), path);
        if (fd < 0 && errno != ENOENT)
            break;
    }
    if (fd >= 0 && (fstat(fd, &sb) < 0 || !S_ISREG(sb.st_mode))) {
        (void)close(fd);
        (void)BKT_ERR(err, BKT_EIO, "%s/%s can't be used as a lock: it is not a regular file; remove it",
                      st->base.uri + strlen("file://"), path);
        return -1;
    }
    return fd;
}

/* close() alone is not enough: a process forked under the lock has the descriptor, too, while it runs. */
void bkt_dir_unlock(int fd)
{
    if (fd < 0)
        return;
    (void)flock(fd, LOCK_UN);
    (void)close(fd);
}

/* The time when the turn was last taken: each holder sets the lock file's time. */
static struct timespec turn_taken(int fd)
{
    struct stat sb = {0};
    (void)fstat(fd, &sb);
    return sb.st_mtim;
}

/* The file system has no locks: Lustre without its option flock, NFS without its daemon.  True: none is
 * needed. */
static bool go_without(struct bkt_dir_store *st, struct bkt_req *req, const char *name)
{
    if (!st->one_writer)
        (void)BKT_REQ_FAIL(req, BKT_EUNSUP,
                           "%s %s: %s/%s can't be locked (%s), so that writers could overwrite each other's "
                           "changes; mount with locks (flock), or set writers=one if this program is the "
                           "only one that writes",
                           bkt_op_name(req->op), req->key, st->base.uri, name, strerrordesc_np(errno));
    return st->one_writer;
}

/* A stopped holder of a key's lock cannot be passed over: it may go on any time, with the state that it has
 * read. */
static bool wait_for_lock(struct bkt_dir_store *st, struct bkt_req *req, int fd, const char *name)
{
    struct timespec pause  = {0, LOCK_PAUSE_NS};
    bool            waited = false;
    time_t          begun  = 0;
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno == EINTR)
            continue;
        if (errno == ENOSYS || errno == EOPNOTSUPP || errno == ENOLCK)
            return go_without(st, req, name);
        if (errno != EWOULDBLOCK) {
            (void)bkt_dir_fail(st, req, "lock of");
            return false;
        }
        begun  = waited ? begun : bkt_seconds_now();
        waited = true;
        if ((uint64_t)(bkt_seconds_now() - begun) * 1000 > st->deadline_ms) {
            (void)BKT_REQ_FAIL(req, BKT_ETIME,
                               "%s: another writer has kept %s/%s locked for %" PRIu64
                               " ms (deadline_ms); end it "
                               "if it is stopped",
                               req->key, st->base.uri, name, st->deadline_ms);
            return false;
        }
        (void)nanosleep(&pause, NULL);
        pause.tv_nsec = pause.tv_nsec * 2 < LOCK_PAUSE_MOST_NS ? pause.tv_nsec * 2 : LOCK_PAUSE_MOST_NS;
    }
    return true;
}

int bkt_dir_lock(struct bkt_dir_store *st, struct bkt_req *req)
{
    char           name[64];
    struct bkt_err why = {.n = 0};
    (void)snprintf(name, sizeof name, LOCKS "%02x", bkt_dir_hash(req->key) % N_LOCKS);
    int fd = open_lock(st, name, &why);
    if (fd < 0) {
        (void)(why.n ? (req->rc = bkt_err_copy(bkt_req_err(req), why.code, &why))
                     : bkt_dir_fail(st, req, "lock of"));
        return -1;
    }
    if (wait_for_lock(st, req, fd, name))
        return fd;
    bkt_file_closep(&fd);
    return -1;
}

/* The wait is limited: a stopped holder must not stop the others, and a writer without a turn is correct,
 * too.  But as long as the turn changes hands, waiting is best: a writer without a turn only loses its race
 * and does its work again. */
int bkt_dir_turn(struct bkt_store *base, const char *key)
{
    char name[64];
    (void)snprintf(name, sizeof name, LOCKS "t%02x", bkt_dir_hash(key) % N_LOCKS);
    int fd = open_lock((struct bkt_dir_store *)base, name, NULL);
    struct timespec pause = {0, TURN_PAUSE_NS}, taken = {0, 0};
    time_t          begun = bkt_seconds_now(), since = begun;
    while (fd >= 0 && bkt_seconds_now() - since <= TURN_PATIENCE && bkt_seconds_now() - begun <= TURN_MOST) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
            (void)futimens(fd, NULL);
            return fd;
        }
        if (errno != EWOULDBLOCK && errno != EINTR)
            break;
        struct timespec last = turn_taken(fd);
        if (last.tv_sec != taken.tv_sec || last.tv_nsec != taken.tv_nsec)
            since = bkt_seconds_now();
        taken = last;
        (void)nanosleep(&pause, NULL);
    }
    bkt_file_closep(&fd);
    return -1;
}
