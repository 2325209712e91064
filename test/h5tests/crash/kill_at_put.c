/* Preloaded into a writer: something happens to its nth change of a directory: a PUT (a rename out of the
 * scratch directory) or a DELETE.
 *   BKT_TEST_PUT  n, from 1
 *   BKT_TEST_DO   before, after: the process is killed there; full: it fails, as on a full disk
 *   BKT_TEST_HIT  a file that is made when it happens */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether a name in an open folder lies in that folder of the bucket: the store changes files by folder and
 * last part. */
static bool lies_in(int dir, const char *name, const char *folder)
{
    char    fd[64], path[PATH_MAX];
    ssize_t n;
    (void)snprintf(fd, sizeof fd, "/proc/self/fd/%d", dir);
    n = readlink(fd, path, sizeof path - 1);
    if (n < 0 || strchr(name, '/'))
        return strstr(name, folder) != NULL;
    path[n] = 0;
    return strstr(path, folder) != NULL;
}

static bool is_put(int dir, const char *old) { return lies_in(dir, old, ".h5bucket/tmp"); }
static bool is_delete(int dir, const char *path, int flags) { return !flags && !lies_in(dir, path, ".h5bucket"); }

static bool is_asked(const char *what)
{
    const char *asked = getenv("BKT_TEST_DO");
    return getenv("BKT_TEST_PUT") && asked && strcmp(asked, what) == 0;
}

static bool is_nth(atomic_uint *count)
{
    const char *hit = getenv("BKT_TEST_HIT"), *n = getenv("BKT_TEST_PUT");
    if (!n || atomic_fetch_add(count, 1) + 1 != (unsigned)strtoul(n, NULL, 10))
        return false;
    int fd = hit ? open(hit, O_CREAT | O_WRONLY | O_CLOEXEC, 0666) : -1;
    if (fd >= 0)
        (void)close(fd);
    return true;
}

static atomic_uint begun, ended; /* the first try of a PUT fails where a directory has to be made first */

/* Whether the call is to fail. */
static bool before(void)
{
    bool kills = is_asked("before"), fails = is_asked("full");
    if ((!kills && !fails) || !is_nth(&begun))
        return false;
    if (kills)
        (void)raise(SIGKILL);
    errno = ENOSPC;
    return true;
}

static int after(int rc)
{
    if (rc == 0 && is_asked("after") && is_nth(&ended))
        (void)raise(SIGKILL);
    return rc;
}

static int around(int olddir, const char *old, int newdir, const char *new, unsigned flags)
{
    static int (*real)(int, const char *, int, const char *, unsigned);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "renameat2");
    if (!is_put(olddir, old))
        return real(olddir, old, newdir, new, flags);
    return before() ? -1 : after(real(olddir, old, newdir, new, flags));
}

__attribute__((visibility("default"))) int renameat2(int olddir, const char *old, int newdir, const char *new, unsigned flags)
{
    return around(olddir, old, newdir, new, flags);
}

__attribute__((visibility("default"))) int renameat(int olddir, const char *old, int newdir, const char *new)
{
    return around(olddir, old, newdir, new, 0);
}

__attribute__((visibility("default"))) int unlinkat(int dir, const char *path, int flags)
{
    static int (*real)(int, const char *, int);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "unlinkat");
    if (!is_delete(dir, path, flags))
        return real(dir, path, flags);
    return before() ? -1 : after(real(dir, path, flags));
}
