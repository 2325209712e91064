/* A directory as a store, see file_impl.h: opening and reading.  storage/file/write.c writes. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/os/beneath.h"
#include "base/crc32c.h"
#include "storage/file/file_impl.h"
#include "base/num.h"
#include "base/os/pool.h"
#include "storage/stats.h"

/* Bytes that are read and then summed or passed on at once: half of a usual L2 cache. */
#define POUR_PIECE (UINT64_C(128) << 10)

struct file_job {
    struct bkt_job         job;
    struct bkt_dir_store *st;
    struct bkt_req        *req;
};

bool bkt_dir_key_ok(const char *key)
{
    size_t first = strcspn(key, "/");
    if (first == strlen(BKT_FILE_SCRATCH) && strncmp(key, BKT_FILE_SCRATCH, first) == 0)
        return false;
    size_t n = strlen(key);
    return n && *key != '/' && key[n - 1] != '/' && !strstr(key, "//") && !bkt_key_has_dots(key);
}

void bkt_file_closep(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
}

int bkt_dir_fail(const struct bkt_dir_store *st, struct bkt_req *req, const char *what)
{
    int e = errno;
    if (e == ELOOP && (!st->follow || req->op == BKT_DELETE))
        return req->rc = bkt_dir_say_link(st, bkt_op_name(req->op), req->key, bkt_req_err(req));
    int code = e == ENOENT || e == ENOTDIR || e == ENAMETOOLONG ? BKT_ENOENT
               : e == EACCES || e == EPERM || e == EROFS        ? BKT_EACCES
               : e == ENOMEM                                    ? BKT_ENOMEM
                                                                : BKT_EIO;
    return BKT_REQ_FAIL(req, code, "%s " BKT_REQ_NAME ": %s", what, BKT_REQ_NAMED(req), strerrordesc_np(e));
}

void bkt_dir_etag(const struct stat *sb, char etag[BKT_ETAG_MAX])
{
    (void)snprintf(etag, BKT_ETAG_MAX, "\"%llx-%llx-%llx\"", (unsigned long long)sb->st_ino,
                   (unsigned long long)sb->st_size,
                   (unsigned long long)sb->st_mtim.tv_sec * 1000000000ULL +
                       (unsigned long long)sb->st_mtim.tv_nsec);
}

void bkt_dir_describe(struct bkt_req *req, const struct stat *sb)
{
    bkt_dir_etag(sb, req->etag);
    req->size  = (uint64_t)sb->st_size;
    req->mtime = (double)sb->st_mtim.tv_sec + (double)sb->st_mtim.tv_nsec / 1e9;
}

/* ---- sums ---- */

/* Whether the bytes of a file are those that were stored: as in storage/http/answer.c.  The CRC-32C lies in
 * an extended attribute, set before the file gets its name, so that a copy with attributes keeps it.  Other
 * programs write into such a file in place (HSDS's POSIX driver does).  So the attribute also holds the
 * file's size and time.  If these are not the file's any more, the sum is ignored.  A file system without
 * extended attributes has no sums. */
#define SUM_NAME "user.h5bucket.crc32c"
#define SUM_TEXT 48 /* sum, size, time in ns: 8, 16 and 16 digits, and blanks */

static void text_of(uint32_t sum, const struct stat *sb, char text[SUM_TEXT])
{
    (void)snprintf(text, SUM_TEXT, "%08x %llx %llx", sum, (unsigned long long)sb->st_size,
                   (unsigned long long)sb->st_mtim.tv_sec * 1000000000ULL +
                       (unsigned long long)sb->st_mtim.tv_nsec);
}

/* Note whether the file system has no attributes, so that no further file is asked. */
static void has_none(struct bkt_dir_store *st)
{
    if (errno == EOPNOTSUPP || errno == ENOSYS)
        atomic_store(&st->no_sums, true);
}

void bkt_dir_sum_set(struct bkt_dir_store *st, int fd, uint32_t sum, const struct stat *sb)
{
    char text[SUM_TEXT];
    if (atomic_load(&st->no_sums))
        return;
    text_of(sum, sb, text);
    if (fsetxattr(fd, SUM_NAME, text, strlen(text), 0) < 0)
        has_none(st);
}

static bool sum_get(struct bkt_dir_store *st, int fd, const struct stat *sb, uint32_t *sum)
{
    char text[SUM_TEXT] = "", digits[9] = "", want[SUM_TEXT];
    if (atomic_load(&st->no_sums))
        return false;
    if (fgetxattr(fd, SUM_NAME, text, sizeof text - 1) < 0) {
        has_none(st);
        return false;
    }
    memcpy(digits, text, 8);
    if (!bkt_crc32c_parse(digits, sum))
        return false;
    text_of(*sum, sb, want);
    return strcmp(text, want) == 0;
}

/* ---- reading ---- */

/* Over NFS a file that another machine replaces or removes becomes stale for those that have it open.  It is
 * opened again so often; a second time in a row is rare. */
#define STALE_TRIES 5

/* One attempt. */
struct reading {
    struct bkt_dir_store *st;
    struct bkt_req *req;
    int fd;
    bool stale; /* the attempt has failed for that reason */
};

static void fail(struct reading *r, const char *what)
{
    r->stale = errno == ESTALE;
    (void)bkt_dir_fail(r->st, r->req, what);
}

/* Read @p len bytes from off+req->n on.  False: the failure is recorded in the request. */
static bool read_span(struct reading *r, unsigned char *to, uint64_t len)
{
    struct bkt_req *req = r->req;
    for (uint64_t got = 0; got < len;) {
        ssize_t k = pread(r->fd, to + got, (size_t)(len - got), (off_t)(req->off + req->n + got));
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0) {
            fail(r, "read");
            return false;
        }
        if (k == 0) {
            (void)BKT_REQ_FAIL(req, BKT_EFORMAT, BKT_REQ_NAME ": shortened while it was read",
                               BKT_REQ_NAMED(req));
            return false;
        }
        got += (uint64_t)k;
    }
    bkt_stats_add(BKT_STAT(bytes_in), len);
    return true;
}

/* Read all bytes in pieces that are still in the processor's cache when they are summed (unless @p sum is
 * NULL) and, without @p to, passed on. */
static void read_pieces(struct reading *r, unsigned char *to, uint64_t len, uint32_t *sum)
{
    struct bkt_req *req = r->req;
    BKT_CLEANUP(bkt_freep)
    unsigned char *piece = to ? NULL : malloc((size_t)bkt_min_u64(len, POUR_PIECE) + 1);
    if (!to && !piece) {
        (void)BKT_REQ_FAIL(req, BKT_ENOMEM, "GET %s: out of memory", req->key);
        return;
    }
    while (req->n < len) {
        uint64_t k = bkt_min_u64(len - req->n, POUR_PIECE);
        unsigned char *at = to ? to + req->n : piece;
        if (!read_span(r, at, k))
            return;
        if (sum)
            *sum = bkt_crc32c(*sum, at, (size_t)k);
        if (!to)
            req->sink(req->sink_arg, req->n, at, (size_t)k);
        req->n += k;
    }
}

/* Receive the requested bytes.  False: they are not those that were stored. */
static bool receive(struct reading *r, const struct stat *sb, uint64_t len, uint32_t *want, uint32_t *have)
{
    struct bkt_req *req = r->req;
    bool sums = req->off == 0 && len == req->size && sum_get(r->st, r->fd, sb, want);
    *have = 0;
    unsigned char *to = req->sink ? NULL : bkt_req_room(req, len);
    if (req->sink || (to && sums))
        read_pieces(r, to, len, sums ? have : NULL);
    else if (to && read_span(r, to, len))
        req->n = len;
    return req->rc < 0 || !sums || *have == *want;
}

/* Read the object.  False: it has to be read again, unless this was the @p last time. */
static bool read_once(struct reading *r, bool last)
{
    struct bkt_dir_store *st = r->st;
    struct bkt_req *req = r->req;
    struct stat sb;
    uint64_t    len;
    uint32_t    want, have;
    if (r->fd < 0 || fstat(r->fd, &sb) < 0) {
        fail(r, bkt_op_name(req->op));
        return true;
    }
    if (!S_ISREG(sb.st_mode)) {
        (void)BKT_REQ_FAIL(req, BKT_ENOENT, "%s " BKT_REQ_NAME ": not a regular file", bkt_op_name(req->op),
                           BKT_REQ_NAMED(req));
        return true;
    }
    bkt_dir_describe(req, &sb);
    if (bkt_req_condition(req, req->etag) < 0 || req->op == BKT_HEAD ||
        bkt_req_span(req, req->size, &len) < 0)
        return true;
    if (req->len == BKT_WHOLE && len > st->max_object) { /* sparse files can have any size */
        (void)BKT_REQ_FAIL(req, BKT_EFORMAT,
                           "GET " BKT_REQ_NAME
                           ": the object is larger than 256 MiB and than 4 times meta_cache",
                           BKT_REQ_NAMED(req));
        return true;
    }
    if (receive(r, &sb, len, &want, &have))
        return true;
    if (last)
        (void)BKT_REQ_FAIL(req, BKT_EFORMAT, "GET " BKT_REQ_NAME ": its bytes have CRC-32C %08x, but %08x is "
                           "recorded; the object is damaged: store it again, or restore it",
                           BKT_REQ_NAMED(req), have, want);
    return false;
}

static void read_object(struct bkt_dir_store *st, struct bkt_req *req)
{
    for (int i = 1;; i++) {
        struct reading r = {.st = st, .req = req};
        /* O_NONBLOCK: a FIFO must not block this thread */
        r.fd = bkt_dir_at(st, req->key, O_RDONLY | O_NOCTTY | O_NONBLOCK);
        bool usable = read_once(&r, i > 1);
        bkt_file_closep(&r.fd);
        if (r.stale ? i == STALE_TRIES : usable || i > 1)
            return;
        req->n = 0; /* another file may have replaced it */
        bkt_buf_clear(&req->body);
        bkt_err_clear(req->err);
        req->rc = BKT_OK;
    }
}

/* ---- the store ---- */

static const char *root_path(const struct bkt_dir_store *st)
{
    return st->base.uri + strlen("file://");
}

/* Whether the bucket's folder was deleted.  Nothing can be found or created in it then, though another folder
 * may have its name by now.  The count of links is not enough: some file systems never count a folder's
 * links.  A folder that was only moved is used where it is. */
static bool root_is_gone(const struct bkt_dir_store *st)
{
    struct stat ours = {.st_nlink = 0}, named;
    if (fstat(st->root, &ours) == 0 && ours.st_nlink > 0)
        return false;
    return stat(root_path(st), &named) < 0 || named.st_ino != ours.st_ino || named.st_dev != ours.st_dev;
}

/* Report a deleted folder as a separate failure: a missing object is often expected. */
static void say_what_is_gone(struct bkt_dir_store *st, struct bkt_req *req)
{
    if ((req->rc != BKT_ENOENT && req->rc != BKT_EIO) || !root_is_gone(st))
        return;
    bkt_err_clear(req->err);
    (void)BKT_REQ_FAIL(
        req, BKT_EIO,
        "%s %s: the bucket's folder, %s, was deleted while it was in use; restore it or make the domain "
        "again, and open it again",
        bkt_op_name(req->op), req->key, root_path(st));
}

static void perform(struct bkt_dir_store *st, struct bkt_req *req)
{
    if (req->cancel && atomic_load(req->cancel))
        (void)BKT_REQ_FAIL(req, BKT_ECANCEL, "%s %s: cancelled", bkt_op_name(req->op), req->key);
    else if (req->op == BKT_GET || req->op == BKT_HEAD)
        read_object(st, req);
    else
        bkt_dir_write(st, req);
    say_what_is_gone(st, req);
    bkt_store_finish(&st->base, req);
}

static void run_job(struct bkt_job *job)
{
    struct file_job   *j   = (struct file_job *)job;
    struct bkt_dir_store *st = j->st;
    struct bkt_req    *req = j->req;
    free(j);
    perform(st, req);
}

static void file_start(struct bkt_store *base, struct bkt_req *req)
{
    struct bkt_dir_store *st = (struct bkt_dir_store *)base;
    if (!bkt_dir_key_ok(req->key)) {
        (void)BKT_REQ_FAIL(req, BKT_EINVAL, "key '%.200s' has an empty, '.', '..' or reserved component",
                           req->key);
        bkt_store_finish(base, req);
        return;
    }
    /* a caller that waits for this request alone performs it itself */
    struct file_job *j = req->batch && req->batch->n == 1 ? NULL : malloc(sizeof *j);
    if (!j) {
        perform(st, req);
        return;
    }
    *j = (struct file_job){.job = {.run = run_job}, .st = st, .req = req};
    bkt_pool_submit(&j->job);
}

static void file_close(struct bkt_store *base)
{
    struct bkt_dir_store *st = (struct bkt_dir_store *)base;
    bkt_dir_write_fini(st);
    (void)close(st->root);
    free(st);
}

/* Check the directory that contains the object, or the one in which its directory would be created. */
static int file_may_put(struct bkt_store *base, const char *key, struct bkt_err *err)
{
    struct bkt_dir_store *st = (struct bkt_dir_store *)base;
    BKT_CLEANUP(bkt_freep) char *dir = strdup(key);
    BKT_NEED(err, dir);
    BKT_PASS(bkt_dir_check_scratch(st, err));
    BKT_PASS(bkt_dir_check_db(st, key, err));
    for (char *slash = strrchr(dir, '/');; slash = strrchr(dir, '/')) {
        *(slash ? slash : dir)              = 0;
        BKT_CLEANUP(bkt_file_closep) int fd = bkt_dir_at(st, dir, O_PATH | O_DIRECTORY);
        if (fd >= 0 && faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) == 0)
            return BKT_OK;
        if (errno == ELOOP && !st->follow)
            return bkt_dir_say_link(st, "PUT", key, err);
        BKT_FAIL_IF(err, errno == EACCES || errno == EPERM || errno == EROFS, BKT_EACCES,
                    "%s%s%s can't be written to: %s", base->uri, slash ? "/" : "", dir,
                    strerrordesc_np(errno));
        if (errno != ENOENT || !slash)
            return BKT_OK; /* a PUT reports the cause */
    }
}

static const struct bkt_store_ops file_ops = {.local = true,
                                              .directory = true,
                                              .start = file_start,
                                              .list = bkt_dir_list,
                                              .may_put = file_may_put,
                                              .turn = bkt_dir_turn,
                                              .end_turn = bkt_dir_unlock,
                                              .ahead = bkt_dir_ahead,
                                              .close = file_close};
static const struct bkt_store_ops file_ops_readonly = {.local = true,
                                                       .directory = true,
                                                       .readonly = true,
                                                       .start = file_start,
                                                       .list = bkt_dir_list,
                                                       .close = file_close};

/* Writing needs the scratch directory.  Other permissions are checked by writing, which also reports a link
 * that is in the way. */
static bool may_write(int root)
{
    BKT_CLEANUP(bkt_file_closep) int fd = bkt_beneath_open(root, BKT_FILE_SCRATCH, O_PATH | O_DIRECTORY, 0);
    return fd >= 0 ? faccessat(fd, ".", W_OK, AT_EACCESS) == 0
                   : errno == ELOOP || (errno == ENOENT && faccessat(root, ".", W_OK, AT_EACCESS) == 0);
}

int bkt_dir_open(const char *uri, const char *rest, const struct bkt_settings *set, struct bkt_store **out,
                 struct bkt_err *err)
{
    BKT_FAIL_IF(err, rest[0] != '/', BKT_EINVAL, "%s: an absolute path is expected, as in file:///dir", uri);
    BKT_CLEANUP(bkt_file_closep) int root = open(rest, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    BKT_FAIL_IF(err, root < 0 && (errno == ENOENT || errno == ENOTDIR), BKT_ENOENT, "%s: no such directory",
                uri);
    BKT_FAIL_IF(err, root < 0, errno == EACCES ? BKT_EACCES : BKT_EIO, "%s: %s", uri, strerrordesc_np(errno));
    struct bkt_dir_store *st = calloc(1, sizeof *st);
    BKT_NEED(err, st);
    int rc = bkt_store_init(&st->base, may_write(root) ? &file_ops : &file_ops_readonly, uri, err);
    if (rc < 0) {
        free(st);
        return rc;
    }
    bkt_dir_write_init(st, set);
    st->max_object = bkt_settings_max_object(set);
    st->follow     = set->links && strcmp(set->links, "follow") == 0;
    st->root       = root;
    root           = -1; /* NOLINT(clang-analyzer-deadcode.DeadStores): the cleanup reads it */
    *out           = &st->base;
    return BKT_OK;
}
