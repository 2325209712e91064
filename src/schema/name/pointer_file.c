#include "schema/name/pointer_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "schema/name/uri.h"

static const char head[] = BKT_HDF5_SIGNATURE "h5bucket 1\n";
#define HEAD ((size_t)(sizeof head - 1))
/* bytes of the whole file, which bounds a name as a path of Linux is bounded (PATH_MAX) */
#define LONGEST 4096

/* A file that a user was sent must not make the user's client talk to just any web server. */
static bool is_allowed(const char *target)
{
    static const char *const schemes[] = {"s3://", "hsds+s3://", "hdf5:/", "file://"};
    for (size_t i = 0; i < BKT_COUNT(schemes); i++)
        if (strncasecmp(target, schemes[i], strlen(schemes[i])) == 0)
            return true;
    return !strstr(target, "://") && strncasecmp(target, "mem:", 4) != 0;
}

static bool has_control(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] < 32 || s[i] == 127)
            return true;
    return false;
}

static int check(const char *target, size_t n, struct bkt_err *err)
{
    BKT_FAIL_IF(err, n == 0 || n > LONGEST - HEAD - 1 || has_control(target, n), BKT_EFORMAT,
                "a pointer file must name one domain, on one line of at most %zu bytes", LONGEST - HEAD - 1);
    return BKT_OK;
}

/* The places where HDF5 looks for its signature: 0, and 512, 1024, 2048, ...
 * @return the place of the first signature, with *got bytes from there on in @p text; -1: none */
static off_t look(int fd, off_t size, char text[LONGEST + 1], ssize_t *got)
{
    for (off_t at = 0; at + (off_t)HEAD <= size && at <= (off_t)1 << 60; at = at ? at * 2 : 512) {
        *got = pread(fd, text, LONGEST + 1, at);
        if (*got < (ssize_t)HEAD || memcmp(text, BKT_HDF5_SIGNATURE, sizeof BKT_HDF5_SIGNATURE - 1) == 0)
            return *got < (ssize_t)HEAD ? -1 : at;
    }
    return -1;
}

/* @return the place of the pointer, with the bytes from there on; -1: not a pointer file.  More than LONGEST
 *         bytes: invalid */
static off_t find(const char *path, char text[LONGEST + 1], size_t *n)
{
    struct stat sb;
    ssize_t     got = 0;
    if (stat(path, &sb) != 0 || !S_ISREG(sb.st_mode) || sb.st_size < (off_t)HEAD)
        return -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO may have taken its place */
    if (fd < 0)
        return -1;
    off_t at = look(fd, sb.st_size, text, &got);
    (void)close(fd);
    *n = (size_t)got;
    return at >= 0 && memcmp(text, head, HEAD) == 0 ? at : -1;
}

int bkt_pointer_read(const char *path, struct bkt_buf *target, struct bkt_err *err)
{
    char   text[LONGEST + 1];
    size_t n = 0;
    if (find(path, text, &n) < 0)
        return 0;
    bool too_long        = n > LONGEST;
    text[too_long ? LONGEST : n] = 0;
    char *name           = text + HEAD;
    n                    = n - too_long - HEAD;
    while (n && (name[n - 1] == '\n' || name[n - 1] == '\r'))
        name[--n] = 0;
    BKT_TRY(err, too_long ? BKT_EFORMAT : check(name, n, err), "%s: bad pointer file", path);
    BKT_FAIL_IF(err, !is_allowed(name), BKT_EFORMAT,
                "%s: a pointer file may name s3://, hsds+s3://, hdf5:/ or file:// domains or a plain path, "
                "not %s",
                path, name);
    return bkt_buf_add(target, name, n) < 0 ? BKT_ERR(err, BKT_ENOMEM, "out of memory") : 1;
}

int bkt_pointer_follow(const char *path, const struct bkt_settings *set, struct bkt_buf *target,
                       struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name  = {0};
    const char                              *slash = strrchr(path, '/');
    int                                      rc    = bkt_pointer_read(path, &name, err);
    const char                              *to    = bkt_buf_str(&name);
    if (rc <= 0)
        return rc;
    bool beside = slash && *to != '/' && !bkt_name_has_scheme(to) && !(set->bucket && *set->bucket);
    if ((beside && bkt_buf_add(target, path, (size_t)(slash + 1 - path)) < 0) ||
        bkt_buf_add_str(target, to) < 0)
        BKT_NOMEM(err);
    return rc;
}

bool bkt_pointer_is(const char *path)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf target = {0};
    return bkt_pointer_read(path, &target, NULL) != 0;
}

/* A name with a user is refused anyway (uri.c), and everybody could read it in the file. */
static bool has_user(const char *target)
{
    const char *host = strstr(target, "://");
    return host && memchr(host + 3, '@', strcspn(host + 3, "/"));
}

int bkt_pointer_emit(const char *target, struct bkt_buf *out, struct bkt_err *err)
{
    BKT_PASS(check(target, strlen(target), err));
    BKT_FAIL_IF(err, has_user(target), BKT_EINVAL,
                "%s: a pointer file can't hold a user or password; leave them out", target);
    BKT_FAIL_IF(
        err, !is_allowed(target), BKT_EINVAL,
        "a pointer file may name s3://, hsds+s3://, hdf5:/ or file:// domains or a plain path, not %s",
        target);
    BKT_NEED(err, bkt_buf_add(out, head, HEAD) >= 0 && bkt_buf_addf(out, "%s\n", target) >= 0);
    return BKT_OK;
}

/* ---- the user block ---- */

size_t bkt_userblock_used(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    while (n && !p[n - 1])
        n--;
    return n;
}

uint64_t bkt_pointer_userblock(const char *path)
{
    char   text[LONGEST + 1];
    size_t n;
    off_t  at = find(path, text, &n);
    return at > 0 ? (uint64_t)at : 0;
}

static int read_block(int fd, size_t size, struct bkt_buf *bytes)
{
    size_t before = bytes->len;
    BKT_PASS(bkt_buf_resize(bytes, before + size));
    if (!bkt_read_at(fd, bytes->ptr + before, size, 0))
        return BKT_EIO;
    bkt_buf_cut(bytes, before + bkt_userblock_used(bytes->ptr + before, size));
    return BKT_OK;
}

int bkt_pointer_userblock_read(const char *path, uint64_t *size, struct bkt_buf *bytes, struct bkt_err *err)
{
    *size = bkt_pointer_userblock(path);
    if (*size == 0)
        return BKT_OK;
    BKT_FAIL_IF(err, *size > BKT_USERBLOCK_MAX, BKT_EUNSUP,
                "%s: a user block of %llu bytes; a domain holds at most %u", path, (unsigned long long)*size,
                BKT_USERBLOCK_MAX);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int rc = fd < 0 ? BKT_EIO : read_block(fd, (size_t)*size, bytes);
    if (fd >= 0)
        (void)close(fd);
    return rc < 0 ? BKT_ERR(err, rc, "%s: its user block can't be read", path) : BKT_OK;
}

/* ---- writing ---- */

/* The contents of a pointer file. */
struct content {
    struct bkt_buf                  text;
    const struct bkt_pointer_block *block; /* NULL: none */
};

/* Takes over the descriptor. */
static bool write_content(int fd, const struct content *c)
{
    uint64_t at = c->block ? c->block->size : 0;
    bool ok = (!at || bkt_write_at(fd, c->block->bytes, c->block->n, 0)) &&
              bkt_write_at(fd, c->text.ptr, c->text.len, at) && fsync(fd) == 0;
    int      e  = errno;
    if (close(fd) < 0 && ok)
        return false;
    errno = e;
    return ok;
}

static int failed(const char *path, int e, struct bkt_err *err)
{
    return BKT_ERR(err, e == EEXIST ? BKT_EEXIST : BKT_EIO, "%s: %s", path, strerrordesc_np(e));
}

static int write_here(const char *path, const struct content *c, bool replace, struct bkt_err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (replace ? O_TRUNC : O_EXCL), 0666);
    if (fd < 0)
        return failed(path, errno, err);
    if (write_content(fd, c))
        return BKT_OK;
    int e = errno;
    (void)unlink(path);
    return failed(path, e, err);
}

/* Make a new file beside @p real with the same owner and rights; -1: that is impossible. */
static int make_beside(const char *real, char **name)
{
    struct stat was, now;
    if (lstat(real, &was) < 0 || !S_ISREG(was.st_mode) || asprintf(name, "%s.XXXXXX", real) < 0)
        return -1;
    int fd = mkostemp(*name, O_CLOEXEC);
    if (fd < 0)
        return -1;
    bool other = fstat(fd, &now) < 0 || was.st_uid != now.st_uid || was.st_gid != now.st_gid;
    if ((!other || fchown(fd, was.st_uid, was.st_gid) == 0) && fchmod(fd, was.st_mode & 07777) == 0)
        return fd;
    (void)close(fd);
    (void)unlink(*name);
    return -1;
}

/* However the program ends, the file has its old target or the new one.  If the folder accepts no new file,
 * the file is written in place. */
static int write_beside(const char *path, const struct content *c, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *real = realpath(path, NULL), *beside = NULL;
    int                          fd   = real ? make_beside(real, &beside) : -1;
    if (fd < 0)
        return write_here(path, c, true, err);
    if (write_content(fd, c) && rename(beside, real) == 0)
        return BKT_OK;
    int e = errno;
    (void)unlink(beside);
    return failed(path, e, err);
}

int bkt_pointer_write(const char *path, const char *target, const struct bkt_pointer_block *block,
                      bool replace, struct bkt_err *err)
{
    struct content c  = {.text = {0}, .block = block};
    int            rc = bkt_pointer_emit(target, &c.text, err);
    if (rc == BKT_OK)
        rc = replace ? write_beside(path, &c, err) : write_here(path, &c, false, err);
    bkt_buf_fini(&c.text);
    return rc;
}

int bkt_pointer_reblock(const char *path, const struct bkt_pointer_block *block, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf target = {0};
    int                                      rc     = bkt_pointer_read(path, &target, err);
    if (rc <= 0)
        return rc < 0 ? rc : BKT_ERR(err, BKT_ENOENT, "%s is not a pointer file any more", path);
    return bkt_pointer_write(path, bkt_buf_str(&target), block, true, err);
}
