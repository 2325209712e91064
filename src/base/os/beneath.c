#include "base/os/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/files.h"

/* Linux's numbers, which headers older than the kernel lack. */
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#define RESOLVE_NO_LINKS   0x04U /* RESOLVE_NO_SYMLINKS */
#define RESOLVE_BELOW_ROOT 0x08U /* RESOLVE_BENEATH */
struct how {
    uint64_t flags, mode, resolve;
};

static atomic_bool stepwise;

void bkt_beneath_stepwise(bool on) { atomic_store(&stepwise, on); }

static void close_quietly(int fd)
{
    int e = errno;
    (void)close(fd);
    errno = e;
}

/* Open one component.  With O_PATH or O_DIRECTORY the kernel does not report that it is a link, so it is
 * examined. */
static int open_one(int dir, const char *name, int flags, mode_t mode)
{
    struct stat sb;
    int         fd = openat(dir, name, flags | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd >= 0 && flags & O_PATH && !(flags & O_DIRECTORY) && fstat(fd, &sb) == 0 && S_ISLNK(sb.st_mode)) {
        (void)close(fd);
        errno = ELOOP;
        return -1;
    }
    if (fd < 0 && errno == ENOTDIR && fstatat(dir, name, &sb, AT_SYMLINK_NOFOLLOW) == 0)
        errno = S_ISLNK(sb.st_mode) ? ELOOP : ENOTDIR;
    return fd;
}

/* Open the directory at bytes 0 .. @p len of the path, part by part.  @p made: as for
 * bkt_beneath_make_parent(); NULL: missing directories are not created. */
static int walk(int root, const char *path, size_t len, bool *made)
{
    char name[NAME_MAX + 1];
    int  at = openat(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0, n; at >= 0 && i < len; i += n + 1) {
        n = strcspn(path + i, "/");
        if (n > NAME_MAX) {
            errno = ENAMETOOLONG;
            close_quietly(at);
            return -1;
        }
        memcpy(name, path + i, n);
        name[n]  = 0;
        int next = open_one(at, name, O_PATH | O_DIRECTORY, 0);
        if (next < 0 && errno == ENOENT && made) {
            bool new = mkdirat(at, name, 0777) == 0;
            *made    = *made || new;
            next     = new || errno == EEXIST ? open_one(at, name, O_PATH | O_DIRECTORY, 0) : -1;
        }
        close_quietly(at);
        at = next;
    }
    return at;
}

static int open_stepwise(int root, const char *path, int flags, mode_t mode)
{
    const char *leaf = bkt_base_name(path);
    if (leaf == path)
        return open_one(root, path, flags, mode);
    int dir = walk(root, path, (size_t)(leaf - path) - 1, NULL);
    int fd  = dir < 0 ? -1 : open_one(dir, leaf, flags, mode);
    if (dir >= 0)
        close_quietly(dir);
    return fd;
}

int bkt_beneath_open(int root, const char *path, int flags, mode_t mode)
{
    if (!atomic_load(&stepwise)) {
        struct how how = {.flags   = (uint64_t)(unsigned)(flags | O_CLOEXEC),
                          .mode    = flags & O_CREAT ? mode : 0,
                          .resolve = RESOLVE_NO_LINKS | RESOLVE_BELOW_ROOT};
        long       fd  = syscall(SYS_openat2, root, path, &how, sizeof how);
        if (fd >= 0)
            return (int)fd;
        if (errno == ENOSYS) /* or a sandbox that does not know the call */
            atomic_store(&stepwise, true);
        else if (errno != EPERM && errno != EAGAIN && errno != EINVAL)
            return -1;
    }
    return open_stepwise(root, path, flags, mode);
}

int bkt_beneath_parent(int root, const char *path, const char **leaf)
{
    char        dir[PATH_MAX];
    const char *last = *leaf = bkt_base_name(path);
    size_t      n            = last == path ? 0 : (size_t)(last - path) - 1;
    if (n >= sizeof dir) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(dir, path, n);
    dir[n] = 0;
    return n ? bkt_beneath_open(root, dir, O_PATH | O_DIRECTORY, 0)
             : openat(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int bkt_beneath_make_parent(int root, const char *path, const char **leaf, bool *made)
{
    *leaf = bkt_base_name(path);
    return walk(root, path, *leaf == path ? 0 : (size_t)(*leaf - path) - 1, made);
}

size_t bkt_beneath_link(int root, const char *path)
{
    char part[PATH_MAX];
    if (strlen(path) >= sizeof part)
        return 0;
    for (size_t n = strcspn(path, "/");; n += 1 + strcspn(path + n + 1, "/")) {
        memcpy(part, path, n);
        part[n] = 0;
        int fd  = bkt_beneath_open(root, part, O_PATH, 0);
        if (fd < 0)
            return errno == ELOOP ? n : 0;
        (void)close(fd);
        if (!path[n])
            return 0;
    }
}
