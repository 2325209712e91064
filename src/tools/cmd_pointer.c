/* h5bucket pointer DOMAIN FILE: write a pointer file (schema/pointer.h).  An existing FILE is left alone. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "pointer.h"

static int write_new(const char *path, const struct bkt_buf *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return -1;
    ssize_t n = write(fd, text->ptr, text->len);
    int     e = n < 0 ? errno : ENOSPC;
    if (close(fd) == 0 && n == (ssize_t)text->len)
        return 0;
    (void)unlink(path);
    errno = e;
    return -1;
}

int cmd_pointer(int argc, char **argv)
{
    if (argc != 3) {
        fputs("usage: h5bucket pointer DOMAIN FILE\n", stderr);
        return 2;
    }
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf text = {0};
    struct bkt_err                           err  = {.n = 0};
    if (bkt_pointer_emit(argv[1], &text, &err) < 0) {
        fprintf(stderr, "h5bucket: %s: %s\n", argv[1], err.n ? err.frame[0].msg : "out of memory");
        return 1;
    }
    if (write_new(argv[2], &text) < 0) {
        fprintf(stderr, "h5bucket: %s: %s\n", argv[2], strerror(errno));
        return 1;
    }
    return 0;
}
