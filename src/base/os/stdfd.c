#include "base/os/stdfd.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

void bkt_stdfd_take(void)
{
    int was = errno;
    for (int i = 0; i < 3; i++) {
        if (fcntl(i, F_GETFD) >= 0)
            continue;
        int fd = open("/dev/null", (i ? O_RDONLY : O_WRONLY) | O_CLOEXEC); /* opened the wrong way round, so
                                                                              that reading or writing fails
                                                                              with EBADF */
        if (fd > i) /* another thread was faster */
            (void)close(fd);
    }
    errno = was;
}
