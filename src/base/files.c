#include "base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool bkt_write_at(int fd, const void *from, size_t n, uint64_t at)
{
    for (size_t done = 0; done < n;) {
        ssize_t k = pwrite(fd, (const char *)from + done, n - done, (off_t)(at + done));
        if (k < 0 && errno == EINTR)
            continue;
        if (k == 0)
            errno = ENOSPC;
        if (k <= 0)
            return false;
        done += (size_t)k;
    }
    return true;
}

bool bkt_read_at(int fd, void *to, size_t n, uint64_t at)
{
    for (size_t done = 0; done < n;) {
        ssize_t k = pread(fd, (char *)to + done, n - done, (off_t)(at + done));
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return false;
        done += (size_t)k;
    }
    return true;
}

static int open_plain(const char *path)
{
    struct stat sb;
    int         fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -1;
    if (fstat(fd, &sb) == 0 && (S_ISREG(sb.st_mode) || S_ISCHR(sb.st_mode)))
        return fd;
    (void)close(fd);
    errno = EMEDIUMTYPE;
    return -1;
}

int bkt_file_read_whole(const char *path, struct bkt_buf *out)
{
    char    part[4096];
    ssize_t n  = 0;
    int     rc = BKT_OK, fd = open_plain(path);
    if (fd < 0)
        return BKT_ENOENT;
    while (rc == BKT_OK && ((n = read(fd, part, sizeof part)) > 0 || (n < 0 && errno == EINTR)))
        if (n > 0)
            rc = out->len + (size_t)n > BKT_CONFIG_FILE_MAX ? BKT_ERANGE
                                                            : bkt_secret_add(out, part, (size_t)n);
    if (rc == BKT_OK && n < 0)
        rc = BKT_EIO;
    explicit_bzero(part, sizeof part);
    int was = errno;
    (void)close(fd);
    errno = was;
    return rc;
}

void bkt_stdfd_take(void)
{
    int was = errno;
    for (int i = 0; i < 3; i++) {
        if (fcntl(i, F_GETFD) >= 0)
            continue;
        /* opened the wrong way round, so that reading or writing fails with EBADF */
        int fd = open("/dev/null", (i ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
        if (fd > i) /* another thread was faster */
            (void)close(fd);
    }
    errno = was;
}
