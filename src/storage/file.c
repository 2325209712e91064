/* A directory as a store: key a/b is the file DIR/a/b.
 *
 * [F1] A reader sees a whole old or a whole new object: PUT writes a temporary file and renames it.
 * [F2] Read-compare-write is atomic among processes on one host: writers hold a lock file chosen by the key.
 * [F3] A key never names a file outside DIR: components "", "." and ".." are refused.
 * Scratch files live in DIR/.h5bucket, which no key can name and no list shows. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "file_list.h"
#include "pool.h"
#include "stats.h"
#include "store_impl.h"

#define SCRATCH    BKT_FILE_SCRATCH
#define N_LOCKS    256
#define WRITE_TRIES 3 /* a parent directory may vanish between mkdir and rename */

struct file_store {
    struct bkt_store base;
    int              root; /* open directory */
    uint64_t         max_object;
};

struct file_job {
    struct bkt_job     job;
    struct file_store *st;
    struct bkt_req    *req;
};

static void close_fdp(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
}

bool bkt_file_key_ok(const char *key)
{
    size_t first = strcspn(key, "/");
    if (first == strlen(SCRATCH) && strncmp(key, SCRATCH, first) == 0)
        return false;
    for (const char *p = key;; p++) {
        size_t n = strcspn(p, "/");
        if (n == 0 || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
            return false;
        p += n;
        if (!*p)
            return true;
    }
}

static int fail_errno(struct bkt_req *req, const char *what)
{
    int e    = errno;
    int code = e == ENOENT || e == ENOTDIR || e == ENAMETOOLONG ? BKT_ENOENT
               : e == EACCES || e == EPERM || e == EROFS        ? BKT_EACCES
               : e == ENOMEM                                    ? BKT_ENOMEM
                                                                : BKT_EIO;
    return BKT_REQ_FAIL(req, code, "%s %s: %s", what, req->key, strerrordesc_np(e));
}

void bkt_file_etag(const struct stat *sb, char etag[BKT_ETAG_MAX])
{
    (void)snprintf(etag, BKT_ETAG_MAX, "\"%llx-%llx-%llx\"", (unsigned long long)sb->st_ino,
                   (unsigned long long)sb->st_size,
                   (unsigned long long)sb->st_mtim.tv_sec * 1000000000ULL + (unsigned long long)sb->st_mtim.tv_nsec);
}

static void describe(struct bkt_req *req, const struct stat *sb)
{
    bkt_file_etag(sb, req->etag);
    req->size  = (uint64_t)sb->st_size;
    req->mtime = (double)sb->st_mtim.tv_sec + (double)sb->st_mtim.tv_nsec / 1e9;
}

/* ---- reading ---- */

static void read_span(struct bkt_req *req, int fd, unsigned char *to, uint64_t len)
{
    while (req->n < len) {
        ssize_t k = pread(fd, to + req->n, (size_t)(len - req->n), (off_t)(req->off + req->n));
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0) {
            (void)fail_errno(req, "read");
            return;
        }
        if (k == 0) {
            (void)BKT_REQ_FAIL(req, BKT_EFORMAT, "%s: shortened while it was read", req->key);
            return;
        }
        req->n += (uint64_t)k;
    }
    bkt_stats_add(BKT_STAT(bytes_in), len);
}

static void read_object(struct file_store *st, struct bkt_req *req)
{
    struct stat sb;
    uint64_t    len;
    /* O_NONBLOCK: a FIFO must not hang us */
    BKT_CLEANUP(close_fdp) int fd = openat(st->root, req->key, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &sb) < 0) {
        (void)fail_errno(req, bkt_op_name(req->op));
        return;
    }
    if (!S_ISREG(sb.st_mode)) {
        (void)BKT_REQ_FAIL(req, BKT_ENOENT, "%s %s: not a regular file", bkt_op_name(req->op), req->key);
        return;
    }
    describe(req, &sb);
    if (bkt_req_condition(req, req->etag) < 0 || req->op == BKT_HEAD || bkt_req_span(req, req->size, &len) < 0)
        return;
    if (req->len == BKT_WHOLE && len > st->max_object) { /* sparse files are as large as they like */
        (void)BKT_REQ_FAIL(req, BKT_EFORMAT, "GET %s: the object is larger than max_object allows", req->key);
        return;
    }
    void *to = bkt_req_room(req, len);
    if (to)
        read_span(req, fd, to, len);
}

/* ---- writing ---- */

static int make_dirs(struct file_store *st, const char *path)
{
    char dir[PATH_MAX];
    if (strlen(path) >= sizeof dir) {
        errno = ENAMETOOLONG;
        return -1;
    }
    for (const char *p = strchr(path, '/'); p; p = strchr(p + 1, '/')) {
        memcpy(dir, path, (size_t)(p - path));
        dir[p - path] = 0;
        if (mkdirat(st->root, dir, 0777) < 0 && errno != EEXIST)
            return -1;
    }
    return 0;
}

/* [F2]; the lock ends with the descriptor */
static int lock_key(struct file_store *st, const char *key)
{
    unsigned h = 2166136261U;
    for (const char *p = key; *p; p++)
        h = (h ^ (unsigned char)*p) * 16777619U;
    char name[64];
    (void)snprintf(name, sizeof name, SCRATCH "/lock/%02x", h % N_LOCKS);
    int fd = openat(st->root, name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 && errno == ENOENT && make_dirs(st, name) == 0)
        fd = openat(st->root, name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    while (fd >= 0 && flock(fd, LOCK_EX) < 0)
        if (errno != EINTR) {
            (void)close(fd);
            return -1;
        }
    return fd;
}

static int write_temp(struct file_store *st, struct bkt_req *req, const char *name)
{
    BKT_CLEANUP(close_fdp) int fd = openat(st->root, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == ENOENT && make_dirs(st, name) == 0)
        fd = openat(st->root, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return fail_errno(req, "temporary file for");
    for (size_t done = 0; done < req->put_len;) {
        ssize_t k = write(fd, (const char *)req->put + done, req->put_len - done);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return fail_errno(req, "write");
        done += (size_t)k;
    }
    /* The kernel's file times tick in milliseconds; the ETag needs a time that no two versions share. */
    struct timespec now[2];
    struct stat     sb;
    (void)clock_gettime(CLOCK_REALTIME, &now[1]);
    now[0] = now[1];
    if (futimens(fd, now) < 0 || fsync(fd) < 0 || fstat(fd, &sb) < 0)
        return fail_errno(req, "write");
    describe(req, &sb);
    return BKT_OK;
}

static int publish(struct file_store *st, struct bkt_req *req, const char *temp)
{
    bool only_new = req->if_none_match && strcmp(req->if_none_match, "*") == 0;
    int  rc       = -1;
    for (int i = 0; rc < 0 && i < WRITE_TRIES; i++) {
        if (make_dirs(st, req->key) < 0)
            break;
        rc = only_new ? linkat(st->root, temp, st->root, req->key, 0) : renameat(st->root, temp, st->root, req->key);
        if (rc < 0 && errno != ENOENT)
            break;
    }
    if (rc < 0 && only_new && errno == EEXIST)
        return BKT_REQ_FAIL(req, BKT_EPRECOND, "PUT %s: the object exists", req->key);
    if (rc < 0) {
        int code = fail_errno(req, "PUT");
        if (code == BKT_ENOENT) /* ENOTDIR: part of the key names a file; that is no absent object */
            req->rc = BKT_EIO;
    }
    return req->rc;
}

static int current_etag(struct file_store *st, const char *key, char etag[BKT_ETAG_MAX])
{
    struct stat sb;
    if (fstatat(st->root, key, &sb, 0) < 0 || !S_ISREG(sb.st_mode))
        return -1;
    bkt_file_etag(&sb, etag);
    return 0;
}

static void write_object(struct file_store *st, struct bkt_req *req)
{
    char temp[96], etag[BKT_ETAG_MAX];
    (void)snprintf(temp, sizeof temp, SCRATCH "/tmp/%ld-%016llx", (long)getpid(), (unsigned long long)bkt_random());
    if (req->op == BKT_PUT && write_temp(st, req, temp) < 0) {
        (void)unlinkat(st->root, temp, 0);
        return;
    }
    BKT_CLEANUP(close_fdp) int lock = lock_key(st, req->key);
    if (lock < 0)
        (void)fail_errno(req, "lock of");
    else if (bkt_req_condition(req, current_etag(st, req->key, etag) == 0 ? etag : NULL) == BKT_OK) {
        if (req->op == BKT_PUT && publish(st, req, temp) == BKT_OK)
            bkt_stats_add(BKT_STAT(bytes_out), req->put_len);
        else if (req->op == BKT_DELETE && unlinkat(st->root, req->key, 0) < 0 && errno != ENOENT && errno != ENOTDIR)
            (void)fail_errno(req, "DELETE"); /* as in S3, deleting what is not there succeeds */
    }
    if (req->op == BKT_PUT)
        (void)unlinkat(st->root, temp, 0);
}

/* ---- the store ---- */

static void perform(struct file_store *st, struct bkt_req *req)
{
    if (req->cancel && atomic_load(req->cancel))
        (void)BKT_REQ_FAIL(req, BKT_ECANCEL, "%s %s: cancelled", bkt_op_name(req->op), req->key);
    else if (req->op == BKT_GET || req->op == BKT_HEAD)
        read_object(st, req);
    else
        write_object(st, req);
    bkt_store_finish(&st->base, req);
}

static void run_job(struct bkt_job *job)
{
    struct file_job   *j   = (struct file_job *)job;
    struct file_store *st  = j->st;
    struct bkt_req    *req = j->req;
    free(j);
    perform(st, req);
}

static void file_start(struct bkt_store *base, struct bkt_req *req)
{
    struct file_store *st = (struct file_store *)base;
    if (!bkt_file_key_ok(req->key)) {
        (void)BKT_REQ_FAIL(req, BKT_EINVAL, "key '%.200s' has an empty, '.', '..' or reserved component", req->key);
        bkt_store_finish(base, req);
        return;
    }
    /* who waits for this one request alone does it best himself */
    struct file_job *j = req->batch && req->batch->n == 1 ? NULL : malloc(sizeof *j);
    if (!j) {
        perform(st, req);
        return;
    }
    *j = (struct file_job){.job = {.run = run_job}, .st = st, .req = req};
    bkt_pool_submit(&j->job);
}

static int file_list(struct bkt_store *base, const char *prefix, const char *delimiter,
                     int (*each)(const struct bkt_listed *entry, void *arg), void *arg, struct bkt_err *err)
{
    return bkt_file_list(((struct file_store *)base)->root, prefix, *delimiter != 0, each, arg, err);
}

static void file_close(struct bkt_store *base)
{
    struct file_store *st = (struct file_store *)base;
    (void)close(st->root);
    free(st);
}

static const struct bkt_store_ops file_ops = {
    .name = "file", .local = true, .start = file_start, .list = file_list, .close = file_close};

int bkt_file_open(const char *uri, const char *rest, const struct bkt_settings *set, struct bkt_store **out,
                  struct bkt_err *err)
{
    if (rest[0] != '/')
        BKT_FAIL(err, BKT_EINVAL, "%s: an absolute path is expected, as in file:///dir", uri);
    BKT_CLEANUP(close_fdp) int root = open(rest, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0 && (errno == ENOENT || errno == ENOTDIR))
        BKT_FAIL(err, BKT_ENOENT, "%s: no such directory", uri);
    if (root < 0)
        BKT_FAIL(err, errno == EACCES ? BKT_EACCES : BKT_EIO, "%s: %s", uri,
                 strerrordesc_np(errno));
    struct file_store *st = calloc(1, sizeof *st);
    if (!st)
        BKT_NOMEM(err);
    int rc = bkt_store_init(&st->base, &file_ops, uri, err);
    if (rc < 0) {
        free(st);
        return rc;
    }
    st->max_object = set->max_object;
    st->root       = root;
    root           = -1; /* NOLINT(clang-analyzer-deadcode.DeadStores): the cleanup reads it */
    *out     = &st->base;
    return BKT_OK;
}
