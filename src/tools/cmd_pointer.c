/* h5bucket pointer DOMAIN FILE: write a pointer file (schema/pointer.h).  An existing FILE is left alone. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "jout.h"
#include "pointer.h"
#include "tool.h"

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

static int run(struct bkt_tool *t)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf text = {0};
    struct bkt_err                           err  = {.n = 0};
    if (bkt_pointer_emit(t->args[0], &text, &err) < 0)
        return bkt_tool_error(t, t->args[0], &err);
    if (write_new(t->args[1], &text) < 0)
        return bkt_tool_fail(t, "%s: %s", t->args[1], strerror(errno));
    if (t->json) {
        struct bkt_jout j;
        bkt_jout_init(&j, stdout);
        bkt_jout_open(&j, NULL, '{');
        bkt_jout_str(&j, "file", t->args[1]);
        bkt_jout_str(&j, "domain", t->args[0]);
        bkt_jout_close(&j);
    }
    return BKT_EXIT_OK;
}

const struct bkt_verb bkt_verb_pointer = {
    .name = "pointer", .args = "DOMAIN FILE", .min_args = 2, .max_args = 2,
    .help = "make FILE stand for DOMAIN, for programs that look at a file before HDF5 does",
    .text = "netCDF-C, GDAL and others read the first bytes of a file before they give its name to HDF5. FILE is a few bytes\n"
            "that look like HDF5 to them and name DOMAIN to the connector. An existing FILE is left alone.\n\n"
            "JSON: {\"file\", \"domain\"}.",
    .json = true, .run = run,
};
