#include "file_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "list.h"

#define MAX_DEPTH 64 /* directories; also ends loops of symbolic links */

struct walk {
    int         root;
    const char *prefix;
    bool        roll_up;
    int (*each)(const struct bkt_listed *entry, void *arg);
    void           *arg;
    struct bkt_err *err;
};

/* Directory names carry a '/' at the end, so that sorting them gives the order of the keys below. */
static int names_add(struct bkt_strs *l, const char *dir, const char *name, bool is_dir)
{
    size_t n = strlen(dir) + strlen(name) + 2;
    char  *s = malloc(n);
    if (s)
        (void)snprintf(s, n, "%s%s%s", dir, name, is_dir ? "/" : "");
    return bkt_strs_take(l, s);
}

static bool is_dir(int dirfd, const struct dirent *d)
{
    struct stat sb;
    if (d->d_type != DT_UNKNOWN && d->d_type != DT_LNK)
        return d->d_type == DT_DIR;
    return fstatat(dirfd, d->d_name, &sb, 0) == 0 && S_ISDIR(sb.st_mode);
}

/* Whether keys below or equal to @p path may begin with the prefix. */
static bool in_reach(const struct walk *w, const char *path)
{
    size_t n = strlen(path), p = strlen(w->prefix);
    return strncmp(path, w->prefix, n < p ? n : p) == 0;
}

static int read_names(const struct walk *w, const char *dir, struct bkt_strs *out)
{
    int fd = openat(w->root, *dir ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return BKT_OK;
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        int e = errno;
        if (fd >= 0)
            (void)close(fd);
        BKT_FAIL(w->err, e == EACCES ? BKT_EACCES : BKT_EIO, "list of %s: %s", *dir ? dir : "the root",
                 strerror(e)); /* NOLINT(concurrency-mt-unsafe) */
    }
    int            rc = BKT_OK;
    struct dirent *e;
    while (rc == BKT_OK && (e = readdir(d))) { /* NOLINT(concurrency-mt-unsafe): a stream of our own */
        bool dots = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
        if (!dots && !(!*dir && strcmp(e->d_name, BKT_FILE_SCRATCH) == 0))
            rc = names_add(out, dir, e->d_name, is_dir(fd, e));
    }
    (void)closedir(d);
    if (rc < 0)
        BKT_NOMEM(w->err);
    bkt_strs_sort(out);
    return BKT_OK;
}

static int visit_file(const struct walk *w, const char *path)
{
    struct stat sb;
    char        etag[BKT_ETAG_MAX];
    if (fstatat(w->root, path, &sb, 0) < 0 || !S_ISREG(sb.st_mode))
        return BKT_OK; /* gone meanwhile, or no object */
    bkt_file_etag(&sb, etag);
    struct bkt_listed e = {path, false, (uint64_t)sb.st_size,
                           (double)sb.st_mtim.tv_sec + (double)sb.st_mtim.tv_nsec / 1e9, etag};
    return w->each(&e, w->arg);
}

static int walk(const struct walk *w, const char *dir, int depth) /* NOLINT(misc-no-recursion): MAX_DEPTH */
{
    if (depth > MAX_DEPTH)
        BKT_FAIL(w->err, BKT_EIO, "list of %.200s: more than %d directories deep", dir, MAX_DEPTH);
    BKT_CLEANUP(bkt_strs_fini) struct bkt_strs names = {0};
    BKT_PASS(read_names(w, dir, &names));
    size_t plen = strlen(w->prefix);
    for (size_t i = 0; i < names.n; i++) {
        const char *path = names.v[i];
        size_t      n    = strlen(path);
        if (!in_reach(w, path))
            continue;
        int rc = BKT_OK;
        if (path[n - 1] != '/') {
            if (n >= plen)
                rc = visit_file(w, path);
        } else if (w->roll_up && n > plen) {
            struct bkt_listed e = {path, true, 0, 0, ""};
            rc                  = w->each(&e, w->arg);
        } else {
            rc = walk(w, path, depth + 1);
        }
        if (rc < 0)
            return rc;
    }
    return BKT_OK;
}

int bkt_file_list(int root, const char *prefix, bool roll_up,
                  int (*each)(const struct bkt_listed *entry, void *arg), void *arg, struct bkt_err *err)
{
    struct walk w = {root, prefix, roll_up, each, arg, err};
    /* begin in the directory that the prefix names, if it may be one */
    const char             *slash = strrchr(prefix, '/');
    BKT_CLEANUP(bkt_freep) char *dir = strndup(prefix, slash ? (size_t)(slash - prefix) + 1 : 0);
    if (!dir)
        BKT_NOMEM(err);
    if (slash) {
        dir[slash - prefix] = 0;
        bool ok             = bkt_file_key_ok(dir);
        dir[slash - prefix] = '/';
        if (!ok)
            return BKT_OK; /* no key begins so */
    }
    return walk(&w, dir, 0);
}
