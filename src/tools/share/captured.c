#include "tools/share/captured.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/whole_io.h"

#define LONG 65536 /* bytes of text that are sent before a unit ends */

/* A stream's own file, and the memory that stands in for it. */
struct stream {
    int fd, own, memory;
};
static struct stream streams[2] = {{STDOUT_FILENO, -1, -1}, {STDERR_FILENO, -1, -1}};

static bool begin(struct stream *s)
{
    s->own = dup(s->fd);
    s->memory = memfd_create("h5bucket", MFD_CLOEXEC);
    return s->own >= 0 && s->memory >= 0 && dup2(s->memory, s->fd) >= 0;
}

int bkt_captured_begin(struct bkt_err *err)
{
    (void)fflush(stdout);
    if (begin(&streams[0]) && begin(&streams[1])) {
        (void)atexit(bkt_captured_end); /* after an early exit(), too */
        return BKT_OK;
    }
    int e = errno;
    bkt_captured_end();
    BKT_FAIL(err, BKT_EIO, "the texts of a process can't be collected: %s", strerror(e));
}

static size_t length(const struct stream *s)
{
    struct stat sb;
    return s->memory >= 0 && fstat(s->memory, &sb) == 0 ? (size_t)sb.st_size : 0;
}

static void take(struct stream *s, struct bkt_buf *out)
{
    size_t n = length(s), had = out->len;
    if (n && bkt_buf_resize(out, had + n) == BKT_OK && !bkt_read_at(s->memory, out->ptr + had, n, 0))
        bkt_buf_cut(out, had);
    if (n && ftruncate(s->memory, 0) == 0)
        (void)lseek(s->fd, 0, SEEK_SET);
}

void bkt_captured_take(struct bkt_buf *out, struct bkt_buf *errors)
{
    (void)fflush(stdout);
    take(&streams[0], out);
    take(&streams[1], errors);
}

bool bkt_captured_is_long(void)
{
    return length(&streams[0]) + length(&streams[1]) > LONG;
}

static void end(struct stream *s)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf rest = {0};
    if (s->memory >= 0)
        take(s, &rest);
    if (s->own >= 0) {
        (void)dup2(s->own, s->fd);
        (void)close(s->own);
    }
    if (s->memory >= 0)
        (void)close(s->memory);
    s->own = s->memory = -1;
    for (size_t at = 0; at < rest.len;) {
        ssize_t n = write(s->fd, rest.ptr + at, rest.len - at);
        if (n <= 0)
            break;
        at += (size_t)n;
    }
}

void bkt_captured_end(void)
{
    (void)fflush(stdout);
    end(&streams[0]);
    end(&streams[1]);
}
