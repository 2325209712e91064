/* Preloaded into a writer: something happens to its nth PUT into a directory (a rename out of the scratch directory).
 *   BKT_TEST_PUT  n, from 1
 *   BKT_TEST_DO   before, after: the process is killed there; full: the PUT fails, as on a full disk */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int renameat2(int olddir, const char *old, int newdir, const char *new, unsigned flags);

static bool is_put(const char *old) { return strncmp(old, ".h5bucket/tmp/", 14) == 0; }

static int around(int olddir, const char *old, int newdir, const char *new, unsigned flags)
{
    static int (*real)(int, const char *, int, const char *, unsigned);
    static atomic_uint begun, ended; /* PUTs; the first try of one fails where a directory has to be made first */
    const char        *number = getenv("BKT_TEST_PUT"), *what = getenv("BKT_TEST_DO");
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "renameat2");
    if (!number || !what || !is_put(old))
        return real(olddir, old, newdir, new, flags);
    unsigned n = (unsigned)strtoul(number, NULL, 10);
    if (strcmp(what, "after") != 0 && atomic_fetch_add(&begun, 1) + 1 == n) {
        if (strcmp(what, "full") != 0)
            (void)raise(SIGKILL);
        errno = ENOSPC;
        return -1;
    }
    int rc = real(olddir, old, newdir, new, flags);
    if (rc == 0 && atomic_fetch_add(&ended, 1) + 1 == n && strcmp(what, "after") == 0)
        (void)raise(SIGKILL);
    return rc;
}

__attribute__((visibility("default"))) int renameat2(int olddir, const char *old, int newdir, const char *new, unsigned flags)
{
    return around(olddir, old, newdir, new, flags);
}

__attribute__((visibility("default"))) int renameat(int olddir, const char *old, int newdir, const char *new)
{
    return around(olddir, old, newdir, new, 0);
}
