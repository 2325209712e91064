/* To be preloaded: files below $BKT_TEST_KEEP (a part of their paths) can't be deleted, not even by root. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether the name in directory @p dir contains @p keep.  The store names an object by its open directory and the
 * last part of its name. */
static int is_kept(int dir, const char *path, const char *keep)
{
    char    fd[64], whole[PATH_MAX];
    ssize_t n;
    if (!keep || strstr(path, keep))
        return keep != NULL;
    (void)snprintf(fd, sizeof fd, "/proc/self/fd/%d", dir);
    n = readlink(fd, whole, sizeof whole - 1);
    if (n < 0)
        return 0;
    whole[n] = 0;
    return strstr(whole, keep) != NULL;
}

__attribute__((visibility("default"))) int unlinkat(int dir, const char *path, int flags)
{
    int (*next)(int, const char *, int);
    void *p = dlsym(RTLD_NEXT, "unlinkat");
    memcpy(&next, &p, sizeof next);
    if (is_kept(dir, path, getenv("BKT_TEST_KEEP"))) {
        errno = EACCES;
        return -1;
    }
    return next(dir, path, flags);
}
