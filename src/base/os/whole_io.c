#include "base/os/whole_io.h"

#include <errno.h>
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
