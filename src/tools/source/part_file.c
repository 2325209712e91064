#include "tools/source/part_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/num.h"
#include "base/os/clock.h"
#include "base/os/whole_io.h"

#define HEAD  2048 /* bytes of the trailer before the marks: names are at most this long */
/* Seconds between two stores of the marks; a killed download loses the time since the last. */
#define EVERY 2.0

static int failed(const struct part_file *p, struct bkt_err *err)
{
    BKT_FAIL(err, BKT_EIO, "%s: %s", p->path, strerror(errno));
}

static int write_all(const struct part_file *p, uint64_t off, const void *bytes, uint64_t n,
                     struct bkt_err *err)
{
    return bkt_write_at(p->fd, bytes, n, off) ? BKT_OK : failed(p, err);
}

/* ---- opening ---- */

/* The first part of the trailer: equal only for the same bytes of the same file. */
static int head_of(const char *name, const struct part_file *p, const struct bkt_version *v, char head[HEAD],
                   struct bkt_err *err)
{
    memset(head, 0, HEAD);
    int n = snprintf(head, HEAD, "h5bucket-get 1\n%llu\n%llu\n%.17g\n%s\n%s\n", (unsigned long long)p->size,
                     (unsigned long long)p->block, v->mtime, v->etag, name);
    if (n < 0 || n >= HEAD)
        BKT_FAIL(err, BKT_EINVAL, "%s: the name is too long", name);
    return BKT_OK;
}

static bool is_same(const struct part_file *p, const struct bkt_version *v, const char head[HEAD])
{
    char there[HEAD];
    bool known = v->etag[0] || v->mtime > 0;
    return known && bkt_read_at(p->fd, there, HEAD, p->size) && memcmp(there, head, HEAD) == 0 &&
           bkt_read_at(p->fd, p->marks, p->n_blocks, p->size + HEAD);
}

static int begin_anew(struct part_file *p, const char head[HEAD], struct bkt_err *err)
{
    memset(p->marks, 0, p->n_blocks);
    if (ftruncate(p->fd, 0) < 0)
        return failed(p, err);
    BKT_PASS(write_all(p, p->size, head, HEAD, err));
    return write_all(p, p->size + HEAD, p->marks, p->n_blocks, err);
}

/* Another process may have completed and renamed the file before this one got the lock. */
static int lock(const struct part_file *p, struct bkt_err *err)
{
    struct stat ours, there;
    if (flock(p->fd, LOCK_EX | LOCK_NB) == 0 && fstat(p->fd, &ours) == 0 && stat(p->path, &there) == 0 &&
        ours.st_ino == there.st_ino && ours.st_dev == there.st_dev)
        return BKT_OK;
    BKT_FAIL(err, BKT_EBUSY, "%s: another h5bucket get is at work on it; wait for its end", p->path);
}

static int open_at(struct part_file *p, const char *name, const struct bkt_version *v, struct bkt_err *err)
{
    char head[HEAD];
    BKT_PASS(head_of(name, p, v, head, err));
    p->fd = open(p->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (p->fd < 0)
        return failed(p, err);
    BKT_PASS(lock(p, err));
    if (!is_same(p, v, head))
        BKT_PASS(begin_anew(p, head, err));
    for (uint64_t i = 0; i < p->n_blocks; i++)
        p->marks[i] = p->marks[i] == 1;
    p->kept = part_file_done(p);
    return BKT_OK;
}

int part_file_open(const char *path, const char *name, uint64_t block, const struct bkt_version *version,
                   struct part_file *out, struct bkt_err *err)
{
    *out = (struct part_file){.fd = -1, .size = version->size, .block = block, .saved = bkt_clock_now()};
    out->n_blocks = bkt_ceil_div(out->size, block);
    if (out->size > (uint64_t)INT64_MAX / 2)
        BKT_FAIL(err, BKT_EUNSUP, "%s: the server does not report a possible size", name);
    out->path  = strdup(path);
    out->marks = calloc(out->n_blocks + 1, 1);
    int rc = out->path && out->marks ? open_at(out, name, version, err)
                                     : BKT_ERR(err, BKT_ENOMEM, "out of memory");
    if (rc < 0)
        part_file_fini(out);
    return rc;
}

void part_file_fini(struct part_file *p)
{
    if (p->fd >= 0)
        (void)close(p->fd);
    free(p->path);
    free(p->marks);
    *p = (struct part_file){.fd = -1};
}

/* ---- blocks ---- */

int part_file_write(struct part_file *p, uint64_t off, const void *bytes, uint64_t n, struct bkt_err *err)
{
    if (off > p->size || n > p->size - off)
        BKT_FAIL(err, BKT_EINVAL, "%s: bytes behind its end", p->path);
    return write_all(p, off, bytes, n, err);
}

int part_file_save(struct part_file *p, bool now, struct bkt_err *err)
{
    if (!now && bkt_clock_now() - p->saved < EVERY)
        return BKT_OK;
    if (fdatasync(p->fd) < 0)
        return failed(p, err);
    BKT_PASS(write_all(p, p->size + HEAD, p->marks, p->n_blocks, err));
    p->saved = bkt_clock_now();
    return BKT_OK;
}

uint64_t part_file_done(const struct part_file *p)
{
    uint64_t done = 0;
    for (uint64_t i = 0; i < p->n_blocks; i++)
        done += p->marks[i] ? bkt_min_u64(p->block, p->size - i * p->block) : 0;
    return done;
}

/* ---- the end ---- */

/* The new name is on the disk, too. */
static void sync_folder(const char *path)
{
    const char                  *slash  = strrchr(path, '/');
    BKT_CLEANUP(bkt_freep) char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        (void)fsync(fd);
        (void)close(fd);
    }
}

int part_file_finish(struct part_file *p, const char *to, struct bkt_err *err)
{
    struct stat sb;
    if (part_file_done(p) != p->size)
        BKT_FAIL(err, BKT_EIO, "%s: it is not complete", p->path);
    if (ftruncate(p->fd, (off_t)p->size) < 0 || fsync(p->fd) < 0 || fstat(p->fd, &sb) < 0)
        return failed(p, err);
    if ((uint64_t)sb.st_size != p->size)
        BKT_FAIL(err, BKT_EIO, "%s: its size is wrong", p->path);
    if (rename(p->path, to) < 0)
        BKT_FAIL(err, BKT_EIO, "%s: %s", to, strerror(errno));
    sync_folder(to);
    return BKT_OK;
}

void part_file_remove(const struct part_file *p) { (void)unlink(p->path); }
