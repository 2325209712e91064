/* See file_impl.h, [F3] and [F7]: the directories on the way to a key. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/os/beneath.h"
#include "storage/file/file_impl.h"

int bkt_file_at(const struct bkt_file_store *st, const char *key, int flags)
{
    return st->follow || !*key ? openat(st->root, *key ? key : ".", flags | O_CLOEXEC)
                               : bkt_beneath_open(st->root, key, flags, 0);
}

static int parent_by_path(const struct bkt_file_store *st, const char *key, const char **leaf)
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

int bkt_file_holder(const struct bkt_file_store *st, const char *key, bool remove, const char **leaf)
{
    return st->follow && !remove ? parent_by_path(st, key, leaf) : bkt_beneath_parent(st->root, key, leaf);
}

static int make_by_path(const struct bkt_file_store *st, const char *path, bool *made)
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

int bkt_file_make_holder(const struct bkt_file_store *st, const char *key, const char **leaf, bool *made)
{
    if (!st->follow)
        return bkt_beneath_make_parent(st->root, key, leaf, made);
    return make_by_path(st, key, made) < 0 ? -1 : parent_by_path(st, key, leaf);
}

int bkt_file_say_link(const struct bkt_file_store *st, const char *what, const char *key, struct bkt_err *err)
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

static int refuse(const struct bkt_file_store *st, const char *in, const char *name, unsigned long owner,
                  struct bkt_err *err)
{
    const char *root = st->base.uri + strlen("file://");
    BKT_FAIL(
        err, BKT_EACCES,
        "%s%s/%s belongs to user %lu, and all users may write to its folder; to share "
        "the bucket, withdraw that right (chmod o-w %s%s); otherwise remove %s, or use a folder of your own",
        root, in, name, owner, root, in, name);
}

/* Open one of the scratch directories, in @p at, which is DIR@p in.  -1: the failure is recorded, except
 * ENOENT. */
static int open_scratch(const struct bkt_file_store *st, int at, const char *in, const char *name, bool make,
                        const struct stat *parent, const struct stat *root, struct stat *sb,
                        struct bkt_err *err)
{
    const char *dir = st->base.uri + strlen("file://");
    int         fd  = bkt_beneath_open(at, name, O_PATH | O_DIRECTORY, 0);
    if (fd < 0 && errno == ENOENT && make && (mkdirat(at, name, 0777) == 0 || errno == EEXIST))
        fd = bkt_beneath_open(at, name, O_PATH | O_DIRECTORY, 0);
    if (fd >= 0 && fstat(fd, sb) == 0 && is_trusted(sb, parent, root))
        return fd;
    int e = errno;
    if (fd >= 0)
        (void)refuse(st, in, name, (unsigned long)sb->st_uid, err);
    else if (e == ELOOP)
        (void)BKT_ERR(err, BKT_EACCES, "%s%s/%s is a symbolic link, which can't hold scratch files and "
                      "locks; remove it", dir,
                      in, name);
    else if (e != ENOENT)
        (void)BKT_ERR(err, e == EACCES || e == EROFS ? BKT_EACCES : BKT_EIO, "%s%s/%s: %s", dir, in, name,
                      strerrordesc_np(e));
    bkt_file_closep(&fd);
    errno = fd >= 0 ? EACCES : e;
    return -1;
}

int bkt_file_scratch(struct bkt_file_store *st, const char *name, bool make, struct bkt_err *err)
{
    struct stat root, top, sb;
    if (fstat(st->root, &root) < 0)
        return -1;
    BKT_CLEANUP(bkt_file_closep)
    int dir = open_scratch(st, st->root, "", BKT_FILE_SCRATCH, make, &root, &root, &top, err);
    return dir < 0 ? -1 : open_scratch(st, dir, "/" BKT_FILE_SCRATCH, name, make, &top, &root, &sb, err);
}

static bool is_same(struct bkt_file_seen *seen, const struct stat *sb)
{
    return atomic_load(&seen->ino) == sb->st_ino && atomic_load(&seen->dev) == sb->st_dev;
}

static void see(struct bkt_file_seen *seen, const struct stat *sb)
{
    atomic_store(&seen->dev, sb->st_dev);
    atomic_store(&seen->ino, sb->st_ino);
}

int bkt_file_scratch_again(struct bkt_file_store *st, const char *name, struct bkt_file_seen *seen,
                           struct bkt_err *err)
{
    char        path[sizeof BKT_FILE_SCRATCH + 10];
    struct stat sb;
    (void)snprintf(path, sizeof path, BKT_FILE_SCRATCH "/%s", name);
    int dir = atomic_load(&seen->ino) ? bkt_beneath_open(st->root, path, O_PATH | O_DIRECTORY, 0) : -1;
    if (dir >= 0 && fstat(dir, &sb) == 0 && is_same(seen, &sb))
        return dir;
    bkt_file_closep(&dir);
    dir = bkt_file_scratch(st, name, true, err);
    if (dir >= 0 && fstat(dir, &sb) == 0)
        see(seen, &sb);
    return dir;
}

int bkt_file_check_scratch(struct bkt_file_store *st, struct bkt_err *err)
{
    static const char *const names[] = {"tmp", "lock"};
    for (size_t i = 0; i < BKT_COUNT(names); i++) {
        struct bkt_err                   why = {.n = 0};
        BKT_CLEANUP(bkt_file_closep) int fd  = bkt_file_scratch(st, names[i], false, &why);
        if (fd < 0 && why.n)
            return bkt_err_copy(err, why.code, &why);
    }
    return BKT_OK;
}

int bkt_file_check_db(struct bkt_file_store *st, const char *key, struct bkt_err *err)
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
