#include "base/plain_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int bkt_plain_file_open(const char *path)
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
