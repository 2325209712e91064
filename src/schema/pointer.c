#include "pointer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "domain.h"

static const char head[] = BKT_HDF5_SIGNATURE "h5bucket 1\n";
#define HEAD ((size_t)(sizeof head - 1))
#define LONGEST 4096 /* of the whole file: a name in it has as many bytes as a path of Linux (PATH_MAX) */

/* A file that somebody was sent must not make their client talk to just any web server. */
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
    if (n == 0 || n > LONGEST - HEAD - 1 || has_control(target, n))
        BKT_FAIL(err, BKT_EFORMAT, "a pointer file names one domain, on one line of at most %zu bytes", LONGEST - HEAD - 1);
    return BKT_OK;
}

int bkt_pointer_read(const char *path, struct bkt_buf *target, struct bkt_err *err)
{
    char        text[LONGEST + 1];
    struct stat sb;
    if (stat(path, &sb) != 0 || !S_ISREG(sb.st_mode) || sb.st_size < (off_t)HEAD)
        return 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t got = pread(fd, text, sizeof text - 1, 0);
    (void)close(fd);
    if (got < (ssize_t)HEAD || memcmp(text, head, HEAD) != 0)
        return 0;
    text[got]   = 0;
    char  *name = text + HEAD;
    size_t n    = (size_t)got - HEAD;
    while (n && (name[n - 1] == '\n' || name[n - 1] == '\r'))
        name[--n] = 0;
    BKT_TRY(err, sb.st_size > LONGEST ? BKT_EFORMAT : check(name, n, err), "%s: bad pointer file", path);
    if (!is_allowed(name))
        BKT_FAIL(err, BKT_EFORMAT, "%s: a pointer file may name s3://, hsds+s3://, hdf5:/ or file:// domains or a plain path, not %s", path,
                 name);
    return bkt_buf_add(target, name, n) < 0 ? BKT_ERR(err, BKT_ENOMEM, "out of memory") : 1;
}

int bkt_pointer_follow(const char *path, const struct bkt_settings *set, struct bkt_buf *target, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name  = {0};
    const char                              *slash = strrchr(path, '/');
    int                                      rc    = bkt_pointer_read(path, &name, err);
    const char                              *to    = bkt_buf_str(&name);
    if (rc <= 0)
        return rc;
    bool beside = slash && *to != '/' && !bkt_name_has_scheme(to) && !(set->bucket && *set->bucket);
    if ((beside && bkt_buf_add(target, path, (size_t)(slash + 1 - path)) < 0) || bkt_buf_add_str(target, to) < 0)
        BKT_NOMEM(err);
    return rc;
}

bool bkt_pointer_is(const char *path)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf target = {0};
    return bkt_pointer_read(path, &target, NULL) != 0;
}

int bkt_pointer_emit(const char *target, struct bkt_buf *out, struct bkt_err *err)
{
    BKT_PASS(check(target, strlen(target), err));
    if (!is_allowed(target))
        BKT_FAIL(err, BKT_EINVAL, "a pointer file may name s3://, hsds+s3://, hdf5:/ or file:// domains or a plain path, not %s", target);
    if (bkt_buf_add(out, head, HEAD) < 0 || bkt_buf_addf(out, "%s\n", target) < 0)
        BKT_NOMEM(err);
    return BKT_OK;
}

int bkt_pointer_write(const char *path, const char *target, bool replace, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf text = {0};
    BKT_PASS(bkt_pointer_emit(target, &text, err));
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (replace ? O_TRUNC : O_EXCL), 0666);
    if (fd < 0)
        BKT_FAIL(err, errno == EEXIST ? BKT_EEXIST : BKT_EIO, "%s: %s", path, strerrordesc_np(errno));
    ssize_t n = write(fd, text.ptr, text.len);
    int     e = n < 0 ? errno : ENOSPC;
    if (close(fd) == 0 && n == (ssize_t)text.len)
        return BKT_OK;
    (void)unlink(path);
    BKT_FAIL(err, BKT_EIO, "%s: %s", path, strerrordesc_np(e));
}
