/* See file_impl.h: the keys of a directory, in binary order. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os/beneath.h"
#include "storage/file/file_impl.h"
#include "base/list.h"

#define MAX_DEPTH 64 /* levels of directories; also ends loops of symbolic links, if links are followed */

struct walk {
    const struct bkt_dir_store *st;
    const char                  *prefix;
    bool        roll_up;
    bkt_list_each_fn *each;
    void           *arg;
    struct bkt_err *err;
};

static int fail(const struct walk *w, const char *path)
{
    BKT_FAIL(w->err, errno == EACCES ? BKT_EACCES : BKT_EIO, "list of %s: %s", *path ? path : "the root",
             strerrordesc_np(errno));
}

/* The state of an entry.  An entry that can't be examined is a failure: callers take a key that is not listed
 * for absent.
 * @param there  false: it was deleted since the directory was read, or it is a link without a target */
static int examine(const struct walk *w, int dirfd, const char *name, const char *path, struct stat *sb,
                   bool *there)
{
    *there = fstatat(dirfd, name, sb, w->st->follow ? 0 : AT_SYMLINK_NOFOLLOW) == 0;
    bool gone = errno == ENOENT || errno == ENOTDIR || (errno == ELOOP && w->st->follow);
    return *there || gone ? BKT_OK : fail(w, path);
}

static int is_dir(const struct walk *w, int dirfd, const struct dirent *d, const char *path, bool *is)
{
    struct stat sb;
    bool there;
    *is = d->d_type == DT_DIR;
    if (d->d_type != DT_UNKNOWN && (d->d_type != DT_LNK || !w->st->follow))
        return BKT_OK;
    BKT_PASS(examine(w, dirfd, d->d_name, path, &sb, &there));
    *is = there && S_ISDIR(sb.st_mode);
    return BKT_OK;
}

/* Whether keys below or equal to @p path may begin with the prefix. */
static bool in_reach(const struct walk *w, const char *path)
{
    size_t n = strlen(path), p = strlen(w->prefix);
    return strncmp(path, w->prefix, n < p ? n : p) == 0;
}

/* Open the directory @p path in the bucket.  With @p at >= 0 it is opened below that open directory, by the
 * part of @p path from byte @p skip on.  False: it does not exist any more, or the failure is in *rc. */
static bool open_dir(const struct walk *w, int at, size_t skip, const char *path, int *fd, int *rc)
{
    char   name[PATH_MAX];
    size_t n = strlen(path);
    n -= n && path[n - 1] == '/'; /* a '/' at the end would make the kernel follow a link */
    *rc = BKT_OK;
    if (n >= sizeof name)
        return false;
    memcpy(name, path, n);
    name[n] = 0;
    *fd = at < 0          ? bkt_dir_at(w->st, name, O_RDONLY | O_DIRECTORY)
          : w->st->follow ? openat(at, name + skip, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                          : bkt_beneath_open(at, name + skip, O_RDONLY | O_DIRECTORY, 0);
    if (*fd >= 0)
        return true;
    if (errno == ELOOP && !w->st->follow)
        *rc = bkt_dir_say_link(w->st, "list of", name, w->err);
    else if (errno != ENOENT && errno != ENOTDIR)
        *rc = fail(w, path);
    return false;
}

/* Names of directories end with '/', so that sorting them gives the order of the keys below. */
static int names_add(const struct walk *w, int fd, const char *dir, const struct dirent *e,
                     struct bkt_strs *out)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf path = {0};
    bool below;
    BKT_PASS_MEM(w->err, bkt_buf_addf(&path, "%s%s", dir, e->d_name));
    BKT_PASS(is_dir(w, fd, e, bkt_buf_str(&path), &below));
    if (below)
        BKT_PASS_MEM(w->err, bkt_buf_add_str(&path, "/"));
    BKT_PASS_MEM(w->err, bkt_strs_take(out, bkt_buf_steal(&path)));
    return BKT_OK;
}

static int read_names(const struct walk *w, int fd, const char *dir, struct bkt_strs *out)
{
    int  copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    DIR *d    = copy < 0 ? NULL : fdopendir(copy);
    if (!d) {
        int rc = fail(w, dir);
        bkt_file_closep(&copy);
        return rc;
    }
    int rc = BKT_OK;
    for (struct dirent *e; rc == BKT_OK;) {
        errno = 0;      /* the end of the directory leaves it alone */
        e = readdir(d); /* NOLINT(concurrency-mt-unsafe): a stream of this thread */
        if (!e) {
            rc = errno && errno != ENOENT /* the directory is deleted */ ? fail(w, dir) : BKT_OK;
            break;
        }
        bool dots = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
        if (!dots && !(!*dir && strcmp(e->d_name, BKT_FILE_SCRATCH) == 0))
            rc = names_add(w, fd, dir, e, out);
    }
    (void)closedir(d);
    BKT_PASS(rc);
    bkt_strs_sort(out);
    return BKT_OK;
}

/* A link to a file hides no keys.  Only the type of its target is read through the link. */
static bool hides_keys(int at, const char *name, const struct stat *link)
{
    struct stat sb;
    return S_ISLNK(link->st_mode) && (fstatat(at, name, &sb, 0) < 0 ? errno != ENOENT : S_ISDIR(sb.st_mode));
}

static double seconds(const struct timespec *t)
{
    return (double)t->tv_sec + (double)t->tv_nsec / 1e9;
}

static int visit_file(const struct walk *w, int at, const char *name, const char *path)
{
    struct stat sb;
    char        etag[BKT_ETAG_MAX];
    bool there;
    BKT_PASS(examine(w, at, name, path, &sb, &there));
    if (!there || (!S_ISREG(sb.st_mode) && !S_ISLNK(sb.st_mode)))
        return BKT_OK; /* not an object */
    bkt_dir_etag(&sb, etag);
    double mtime = seconds(&sb.st_mtim), ctime = seconds(&sb.st_ctim);
    struct bkt_listed e = {.key = path,
                           .size = (uint64_t)sb.st_size,
                           .mtime = mtime,
                           .etag = etag,
                           .is_link = hides_keys(at, name, &sb),
                           .stored = mtime > ctime ? mtime : ctime};
    return w->each(&e, w->arg);
}

/* @p at, @p skip: as for open_dir(). */
/* NOLINTNEXTLINE(misc-no-recursion): MAX_DEPTH */
static int walk(const struct walk *w, int at, size_t skip, const char *dir, int depth)
{
    int                                        rc;
    BKT_CLEANUP(bkt_file_closep) int           fd    = -1;
    BKT_CLEANUP(bkt_strs_fini) struct bkt_strs names = {0};
    BKT_FAIL_IF(w->err, depth > MAX_DEPTH, BKT_EIO, "list of %.200s: more than %d directories deep", dir,
                MAX_DEPTH);
    if (!open_dir(w, at, skip, dir, &fd, &rc))
        return rc;
    BKT_PASS(read_names(w, fd, dir, &names));
    size_t plen = strlen(w->prefix), in = strlen(dir);
    for (size_t i = 0; i < names.n && rc == BKT_OK; i++) {
        const char *path = names.v[i];
        size_t      n    = strlen(path);
        if (!in_reach(w, path))
            continue;
        if (path[n - 1] != '/') {
            if (n >= plen)
                rc = visit_file(w, fd, path + in, path);
        } else if (w->roll_up && n > plen) {
            struct bkt_listed e = {.key = path, .is_prefix = true, .etag = ""};
            rc                  = w->each(&e, w->arg);
        } else {
            rc = walk(w, fd, in, path, depth + 1);
        }
    }
    return rc;
}

int bkt_dir_list(struct bkt_store *base, const struct bkt_lists *l, bkt_list_each_fn *each, void *arg,
                 struct bkt_err *err)
{
    const char *prefix = l->prefixes[0];
    struct walk w = {(struct bkt_dir_store *)base, prefix, *l->delimiter != 0, each, arg, err};
    /* begin in the directory that the prefix names, if it may be a directory */
    const char             *slash = strrchr(prefix, '/');
    BKT_CLEANUP(bkt_freep) char *dir = strndup(prefix, slash ? (size_t)(slash - prefix) + 1 : 0);
    BKT_NEED(err, dir);
    if (slash) {
        dir[slash - prefix] = 0;
        bool ok = bkt_dir_key_ok(dir);
        dir[slash - prefix] = '/';
        if (!ok)
            return BKT_OK; /* no key has this prefix */
    }
    return walk(&w, -1, 0, dir, 0);
}
