#include "tools/samples/sample_lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *open_it(const char *name) { return strcmp(name, "-") == 0 ? stdin : fopen(name, "rbe"); }

static int end(FILE *f, const char *name, int rc, struct bkt_err *err)
{
    int code = ferror(f) ? errno : 0;
    if (f != stdin)
        (void)fclose(f);
    if (rc == BKT_OK && code)
        BKT_FAIL(err, BKT_EIO, "%s: can't be read: %s", name, strerror(code));
    return rc;
}

int sample_lines(const char *name, struct bkt_strs *out, struct bkt_err *err)
{
    FILE   *f    = open_it(name);
    char   *line = NULL;
    size_t  cap  = 0;
    ssize_t n;
    int     rc   = BKT_OK;
    if (!f)
        BKT_FAIL(err, BKT_ENOENT, "%s: can't be opened: %s", name, strerror(errno));
    while (rc == BKT_OK && (n = getline(&line, &cap, f)) >= 0) {
        while (n && strchr("\r\n", line[n - 1]))
            line[--n] = 0;
        if (n && bkt_strs_add(out, line) < 0)
            rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
    }
    free(line);
    return end(f, name, rc, err);
}

int sample_file(const char *name, struct bkt_buf *out, struct bkt_err *err)
{
    FILE *f  = open_it(name);
    int   rc = BKT_OK;
    if (!f)
        BKT_FAIL(err, BKT_ENOENT, "%s: can't be opened: %s", name, strerror(errno));
    for (size_t got = 1; rc == BKT_OK && got;) {
        rc = bkt_buf_reserve(out, (size_t)1 << 20);
        if (rc < 0)
            (void)BKT_ERR(err, rc, "out of memory");
        else {
            got = fread(out->ptr + out->len, 1, (size_t)1 << 20, f);
            out->len += got;
            out->ptr[out->len] = 0;
        }
    }
    return end(f, name, rc, err);
}
